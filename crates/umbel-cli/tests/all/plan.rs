//! `umbel filter plan`: what `cases/plan.md` cannot show.

use serde_json::Value;

use crate::util::Folder;

/// The choices, and the advice under them.
fn plan(question: &str) -> (Vec<Value>, Value) {
    let folder = Folder::new();
    // Whether a kind fits is its exit status, too; the advice says it as well.
    let run = folder.umbel(&format!("filter plan --json {question}")).run();
    let text = String::from_utf8(run.stdout).unwrap();
    let mut rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let advice = rows.pop().expect("advice comes last");
    assert_eq!(advice["type"], "advice");
    assert!(rows.len() >= 11, "every kind: {text}");
    for row in &rows {
        assert_eq!(row["fits"].as_bool().unwrap(), row["obstacles"] == serde_json::json!([]));
    }
    (rows, advice)
}

/// The goals of `testdata/plans.json`, which the other front ends are tested with too.
#[test]
fn the_table_of_goals() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/plans.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(cases.len(), 40);
    for case in &cases {
        let option = |(name, value): (&String, &Value)| match value.as_str() {
            Some(value) => format!("--{} {value}", name.replace('_', "-")),
            None => format!("--{name}"),
        };
        let goal: Vec<_> = case["goal"].as_object().unwrap().iter().map(option).collect();
        let (rows, advice) = plan(&goal.join(" "));
        for name in ["take", "filter", "ranked_by"] {
            assert_eq!(advice[name], case[name], "{goal:?}");
        }
        let expected = case["rows"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(expected) {
            for (name, expected) in expected.as_object().unwrap() {
                let close = match (row[name].as_f64(), expected.as_f64()) {
                    (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 1e-9,
                    _ => row[name] == *expected,
                };
                assert!(close, "{goal:?}: {name} of {}: {}", row["variant"], row[name]);
            }
        }
    }
}
