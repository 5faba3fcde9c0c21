//! What umbel says when asked for plans and help.

mod util;

use serde_json::Value;

use util::Folder;

const VERBS: [&str; 12] = [
    "common",
    "build",
    "add",
    "remove",
    "query",
    "info",
    "merge",
    "convert",
    "plan",
    "show",
    "completions",
    "man",
];

/// The rows of `umbel plan`, split at white space, without their head.
fn rows(question: &str) -> Vec<Vec<String>> {
    let text = Folder::new().umbel(&format!("plan {question}")).run().text();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut lines = text.lines();
    let head = words(lines.next().unwrap());
    let columns = "kind keys fpp memory probes bits per key x classic";
    assert_eq!(head, words(columns));
    lines.map(words).collect()
}

fn plans(question: &str) -> Vec<Value> {
    let text = Folder::new().umbel(&format!("plan {question} --json")).run().text();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_plan_is_a_row_for_each_kind() {
    let rows = rows("--keys 1_000_000 --fpp 0.01");
    let kinds: Vec<_> = rows.iter().map(|row| &*row[0]).collect();
    assert_eq!(kinds, umbel::Kind::ALL.map(umbel::Kind::name));
    let scalable = rows.iter().find(|row| row[0] == "scalable").unwrap();
    assert_eq!(rows[1][1], "1,000,000");
    let rate: f64 = rows[1][2].parse().unwrap();
    assert!(rate > 0.0098 && rate <= 0.01, "{rows:?}");
    assert_eq!(rows[1][3..6], ["1.14", "MiB", "7"]);
    // The promise of a filter that grows is for all growth; its first link has half of it.
    assert_eq!(scalable[1..3], ["1,000,000", "0.0100"]);
    // So is that of one that forgets.
    let window = rows.iter().find(|row| row[0] == "window").unwrap();
    assert_eq!(window[1..3], ["1,000,000", "0.0100"]);
    assert!(rows[1][6].starts_with("9.5") || rows[1][6].starts_with("9.6"), "{rows:?}");
}

#[test]
fn two_of_keys_fpp_and_memory_give_the_third() {
    for plan in plans("--keys 5e9 --fpp 0.001") {
        assert_eq!(plan["type"], "plan");
        assert_eq!(plan["keys"], 5_000_000_000u64);
        assert_eq!(plan["fpp"], 0.001);
        assert!(plan["predicted_fpp"].as_f64().unwrap() <= 0.001, "{plan}");
        // What the bytes are planned for is what they hold, and back.
        let bytes = plan["bytes"].as_u64().unwrap();
        let same = |plans: Vec<Value>| {
            plans.into_iter().find(|other| other["kind"] == plan["kind"]).unwrap()
        };
        let rate = same(plans(&format!("--keys 5e9 --memory {bytes}")));
        assert!(rate["predicted_fpp"].as_f64().unwrap() <= 0.001, "{rate}");
        assert!(rate["bytes"].as_u64().unwrap() <= bytes, "{rate}");
        let keys = same(plans(&format!("--fpp 0.001 --memory {bytes}")));
        assert!(keys["keys"].as_u64().unwrap() >= 5_000_000_000, "{keys}");
        assert!(keys["bytes"].as_u64().unwrap() <= bytes, "{keys}");
    }
}

#[test]
fn a_plan_as_json_is_one_object_a_line() {
    let plans = plans("--keys 1000 --memory 4KiB");
    assert!(plans.len() >= 3, "{plans:?}");
    for plan in plans {
        assert!(plan["kind"].is_string(), "{plan}");
        for field in ["keys", "bytes", "bits", "probes"] {
            assert!(plan[field].is_u64(), "{field} in {plan}");
        }
        for field in ["fpp", "predicted_fpp", "bits_per_key", "times_classic"] {
            assert!(plan[field].is_f64(), "{field} in {plan}");
        }
    }
}

#[test]
fn one_or_three_goals_are_no_question() {
    let folder = Folder::new();
    for goals in ["", "--keys 10", "--fpp 0.1", "--memory 1GiB", "--json --keys 7"] {
        let words = &["give two of --keys, --fpp and --memory; the third is computed"];
        folder.umbel(&format!("plan {goals}")).run().fails(words);
    }
    let words = &["two of them give the third; leave one out"];
    folder.umbel("plan --keys 10 --fpp 0.1 --memory 1GiB").run().fails(words);
}

#[test]
fn every_verb_has_help() {
    let folder = Folder::new();
    let help = folder.umbel("--help").run().text();
    for verb in VERBS {
        assert!(help.contains(&format!("\n  {verb} ")), "no {verb} in {help}");
        for flag in ["--help", "-h"] {
            let run = folder.umbel(&format!("{verb} {flag}")).run();
            assert_eq!(run.stderr, "");
            let text = run.text();
            assert!(text.contains(&format!("Usage: umbel {verb}")), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
    assert!(help.contains("Exit status: 0 done or found, 1 nothing found, 2 error."), "{help}");
}

#[test]
fn the_version_is_told() {
    let folder = Folder::new();
    let expected = concat!("umbel ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(folder.umbel("--version").run().text(), expected);
    assert_eq!(folder.umbel("-V").run().text(), expected);
}

#[test]
fn without_a_verb_the_help_comes_and_it_is_an_error() {
    let run = Folder::new().umbel("").run();
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stderr.contains("Usage: umbel"), "{}", run.stderr);
    assert_eq!(run.stdout, b"");
}

#[test]
fn completions_know_the_verbs() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.umbel(&format!("completions {shell}")).run().text();
        for word in VERBS.iter().chain(&["at-least", "secret-file"]) {
            assert!(script.contains(word), "no {word} for {shell}");
        }
    }
    folder.umbel("completions tcsh").run().fails(&["bash", "fish", "zsh"]);
}

#[test]
fn there_are_manual_pages() {
    let folder = Folder::new();
    let page = folder.umbel("man").run().text();
    assert!(page.contains(".TH umbel 1") && page.contains(".SH NAME"), "{page}");
    folder.umbel("man --dir pages/man1").run().done();
    for verb in VERBS {
        let page = folder.read(&format!("pages/man1/umbel-{verb}.1"));
        assert!(page.starts_with(b".ie") && page.len() > 200, "{verb}");
    }
    assert!(folder.path("pages/man1/umbel.1").exists());
    folder.write("file", "");
    folder.umbel("man --dir file").run().fails(&["umbel: file: "]);
}
