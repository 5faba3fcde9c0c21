//! `umbel plan` as a black box: situations people come with, and what they are told.

use serde_json::Value;

use crate::util::{Folder, here};

/// The choices, and the advice under them.
fn plan(question: &str) -> (Vec<Value>, Value) {
    let folder = Folder::new();
    // Whether a kind fits is its exit status, too; the advice says it as well.
    let run = folder.umbel(&format!("plan --json {question}")).run();
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

#[test]
fn a_rate_below_that_of_a_hash_is_refused() {
    let folder = Folder::new();
    let words = ["below what a hash of 128 bits keeps", "2.9e-33"];
    folder.umbel("plan --keys 1M --fpp 1e-300").run().fails(&words);
    folder.umbel("build -o f --keys 1M --fpp 1e-300").stdin("a\n").run().fails(&words);
    folder.umbel("plan --keys 1M --fpp 1e-30").run().done();
}

#[test]
fn situations_and_their_answers() {
    for (question, take) in [
        // A block list of four billion addresses, with those that must get through.
        ("--keys 4e9 --fpp 0.013 --known --except 1e6", "cascade"),
        // Five billion lines in 4 GiB.
        ("--keys 5e9 --memory 4GiB", "blocked"),
        // Requests for rows that a database has not.
        ("--keys 1e8 --fpp 0.01 --lookup 1ms --absent 0.9", "blocked"),
        ("--keys 1e8 --fpp 0.01 --lookup 1ms --absent 0.9 --deletes", "counting"),
        // A crawler, over runs without end; one that goes back to pages after a while.
        ("--keys 1e8 --fpp 1e-4 --grows", "scalable"),
        ("--keys 1e8 --fpp 1e-4 --ages", "window"),
        // A list that is sent to phones.
        ("--keys 1e7 --known --ship 12MB", "bloomier"),
        ("--keys 1e7 --ship 12.1MB --fpp 0.01", "classic"),
    ] {
        let (rows, advice) = plan(question);
        assert_eq!(advice["take"], take, "{question}");
        assert_eq!(rows[0]["variant"], take);
        assert_eq!((&rows[0]["rank"], &rows[0]["fits"]), (&1.into(), &true.into()));
    }
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

#[test]
fn not_to_filter_is_an_answer() {
    for question in ["--lookup 50ns --absent 0.1", "--lookup 1ms --absent 0", "--lookup 0"] {
        let (_, advice) = plan(&format!("--keys 1e6 --fpp 0.01 {question}"));
        assert_eq!(
            (&advice["take"], &advice["filter"]),
            (&Value::Null, &false.into()),
            "{question}"
        );
        let text =
            Folder::new().umbel(&format!("plan --keys 1e6 --fpp 0.01 {question}")).run().text();
        assert!(text.starts_with("Use no filter: a look-up costs "), "{text}");
    }
    // A false answer that costs more than all that is spared.
    let (_, advice) = plan("--keys 1e6 --fpp 0.01 --lookup 1us --false-answer 1ms --absent 0.5");
    assert_eq!(advice["filter"], false);
}

#[test]
fn sizes_are_limits_when_keys_and_rate_are_given() {
    let (rows, advice) = plan("--keys 1e6 --fpp 0.01 --memory 1.3MiB");
    assert_eq!(advice["take"], "blocked");
    let counting = rows.iter().find(|row| row["kind"] == "counting").unwrap();
    let why = counting["obstacles"][0].as_str().unwrap();
    assert!(why.starts_with("needs 4.84 MiB of memory; the limit is 1.30 MiB"), "{why}");
    let folder = Folder::new();
    let run = folder.umbel("plan --keys 1e6 --fpp 0.01 --memory 1KiB").run();
    assert_eq!(run.status.code(), Some(1), "none fits");
    assert!(run.stdout.starts_with(b"No kind fits.\n"));
}

#[test]
fn formulas_stand_with_their_numbers() {
    let folder = Folder::new();
    let text = folder.umbel("plan --keys 1000000 --fpp 0.01 --explain --lookup 1ms").run().text();
    for words in [
        "(1 - e^(-kn/m))^k = 0.0098",
        "sum over L of Poisson(L; 512 n/m)·f(L)",
        "log2(1/p) = 6.6",
        "t + (1 - a)·W + a·p·F = ",
        " + 0.500·1,000,000 + 0.500·0.009760·1,000,000 = ",
        "Do not fit:\n",
        "AMD EPYC",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (rows, _) = plan("--keys 1000000 --fpp 0.01 --explain");
    assert!(rows[0]["explain"].as_array().unwrap().len() >= 3);
}

#[test]
fn goals_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    for (question, words) in [
        ("--keys 10", "give two of keys, fpp and a size"),
        ("", "give two of keys, fpp and a size"),
        ("--keys 10 --fpp 0.1 --lookup 3h", "is not a time such as 50ns, 100us or 5ms"),
        ("--keys 10 --fpp 0.1 --lookup=-3", "is not a time such as"),
        ("--keys 10 --fpp 0.1 --lookup 3 --absent 2", "is not a share from 0 to 1"),
        ("--keys 10 --fpp 0.1 --absent 0.5", "--lookup"),
        ("--keys 10 --fpp 0.1 --except 5", "--known"),
    ] {
        folder.umbel(&format!("plan {question}")).run().fails(&[words]);
    }
}

#[test]
fn two_of_keys_fpp_and_a_size_give_the_third() {
    for row in plan("--keys 5e9 --fpp 0.001").0 {
        assert_eq!(
            (&row["type"], &row["keys"], &row["fpp"]),
            (&"plan".into(), &5_000_000_000u64.into(), &0.001.into())
        );
        assert!(row["predicted_fpp"].as_f64().unwrap() <= 0.001, "{row}");
        // What the bytes are planned for is what they hold, and back.
        let bytes = row["bytes"].as_u64().unwrap();
        let same = |rows: Vec<Value>| {
            rows.into_iter().find(|other| other["variant"] == row["variant"]).unwrap()
        };
        let rate = same(plan(&format!("--keys 5e9 --memory {bytes}")).0);
        assert!(rate["predicted_fpp"].as_f64().unwrap() <= 0.001, "{rate}");
        assert!(rate["bytes"].as_u64().unwrap() <= bytes, "{rate}");
        let keys = same(plan(&format!("--fpp 0.001 --memory {bytes}")).0);
        assert!(keys["keys"].as_u64().unwrap() >= 5_000_000_000, "{keys}");
        assert!(keys["bytes"].as_u64().unwrap() <= bytes, "{keys}");
    }
}

#[test]
fn a_plan_is_a_row_for_each_kind() {
    let text = Folder::new().umbel("plan --keys 1_000_000 --fpp 0.01").run().text();
    let row = |kind: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.split(' ').next() == Some(kind));
        line.unwrap_or_else(|| panic!("no {kind}: {text}")).split_whitespace().collect()
    };
    let take = "Choose blocked: 1.21 MiB in memory, 1.21 MiB to send. The next, ";
    assert!(text.starts_with(take), "{text}");
    let classic = row("classic");
    assert_eq!((classic[1], &classic[3..5]), ("1,000,000", &["1.15", "MiB"][..]));
    let rate: f64 = classic[2].parse().unwrap();
    assert!(rate > 0.0098 && rate <= 0.01, "{text}");
    // The promise of a filter that grows is for all growth; its first link has half of it.
    assert_eq!(row("scalable")[1..3], ["1,000,000", "0.0100"]);
    assert_eq!(row("window")[1..], ["forgets", "old", "keys"]);
    for &kind in umbel::Kind::ALL {
        row(kind.name());
    }
}

/// Below 1e-6 the kinds follow docs/choosing.md: blocked filters pay for their full blocks.
#[test]
fn low_rates_choose_small_kinds() {
    for (fpp, take, known) in [
        ("1e-6", "blocked", "blocked"),
        ("1e-7", "classic", "bloomier"),
        ("1e-9", "coded", "bloomier"),
        ("1e-12", "classic", "bloomier"),
    ] {
        let (_, advice) = plan(&format!("--keys 1e6 --fpp {fpp}"));
        assert_eq!(advice["take"], take, "{fpp}");
        assert_eq!(advice["ranked_by"], if fpp == "1e-6" { "time_space" } else { "space" });
        assert_eq!(plan(&format!("--keys 1e6 --fpp {fpp} --known")).1["take"], known, "{fpp}");
    }
    let text = Folder::new().umbel("plan --keys 1e6 --fpp 1e-12").run().text();
    assert!(text.contains(" 1,778.38 "), "numbers have one separator: {text}");
    let text = Folder::new().umbel("plan --keys 1e6 --fpp 1e-7").run().text();
    assert!(text.contains("Ranked by x bound alone, as for every fpp below 1e-6."), "{text}");
}

/// A rate of 1 is no advice.
#[test]
fn too_little_memory_for_so_many_keys_fits_no_kind() {
    let run = Folder::new().umbel("plan --keys 1e8 --memory 1MiB").run();
    assert_eq!(run.status.code(), Some(1));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.starts_with("No kind fits.\n"), "{text}");
    let words = "blocked    100,000,000 keys in 8,388,608 bits: every key would pass; \
                 give the filter at least one bit per key";
    assert!(text.lines().any(|line| line == words), "{text}");
    let run = Folder::new().umbel("plan --keys 1e8 --memory 1MiB --json").run();
    assert_eq!(run.status.code(), Some(1));
    let text = String::from_utf8(run.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["take"], &last["filter"]), (&Value::Null, &true.into()));
    let run = Folder::new().umbel("plan --keys 1e8 --memory 1MiB --plot p").run();
    assert_eq!(run.status.code(), Some(1));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.ends_with("\nNo pictures: there is no plan to draw.\n"), "{text}");
}

#[test]
fn pictures_that_were_written_are_named() {
    let folder = Folder::new();
    let text = folder.umbel("plan --keys 1000 --fpp 0.1 --plot p").run().text();
    let (_, written) = text.split_once("\nPictures written:\n").expect("it says so");
    assert_eq!(written.lines().count(), 5, "{text}");
    assert!(
        written.contains(&here("  p/rate-by-keys.svg    the false-positive rate by keys")),
        "{text}"
    );
    let json = folder.umbel("plan --keys 1000 --fpp 0.1 --plot p -f --json").run().text();
    let rows: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let files = rows.iter().filter(|row| row["type"] == "picture");
    let files: Vec<_> = files.map(|row| row["file"].as_str().unwrap()).collect();
    assert_eq!(files.len(), 5);
    assert!(files.iter().all(|file| folder.path(file).exists()), "{files:?}");
}

#[test]
fn advice_goes_to_a_file() {
    let folder = Folder::new();
    for arguments in ["--keys 1000 --fpp 0.1", "--keys 1000 --fpp 0.1 --json", "--table", "--sizes"]
    {
        let text = folder.umbel(&format!("plan {arguments}")).run().text();
        assert_eq!(folder.umbel(&format!("plan {arguments} -o advice")).run().text(), "");
        assert_eq!(folder.read("advice"), text.as_bytes(), "{arguments}");
    }
    folder
        .umbel("plan --keys 1000 --fpp 0.1 -o no/advice")
        .run()
        .fails(&["no/advice", "the folder no does not exist"]);
    folder.umbel("plan --keys 1000 -o advice").run().fails(&["give two of"]);
    assert!(folder.read("advice").starts_with(b"     rate"), "it stays");
}
