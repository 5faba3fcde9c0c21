//! What umbel says when asked for help.

use crate::util::Folder;

const VERBS: [&str; 14] = [
    "common",
    "build",
    "add",
    "remove",
    "query",
    "info",
    "merge",
    "compare",
    "convert",
    "parquet",
    "plan",
    "show",
    "completions",
    "man",
];

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

#[test]
fn numbers_are_understood_as_people_write_them() {
    let folder = Folder::new();
    folder.write("lines", "a\nb\n");
    let plan = |arguments: &str| folder.umbel(&format!("plan --json {arguments}")).run().text();
    let expected = plan("--keys 1000000 --fpp 0.01");
    for keys in ["1M", "1,000,000", "1_000_000", "1e6", "1000k", "0.001G"] {
        assert_eq!(plan(&format!("--keys {keys} --fpp 1%")), expected, "{keys}");
    }
    assert_eq!(plan("--keys 5G --fpp 0.1%"), plan("--keys 5e9 --fpp 0.001"));
    let sizes = ["4294967296", "4,294,967,296", "4GiB", "4G", "4_294_967_296"];
    for size in sizes {
        assert_eq!(plan(&format!("--keys 5e9 --memory {size}")), plan("--keys 5e9 --memory 4GiB"));
    }
    let share = |share: &str| plan(&format!("--keys 1e8 --fpp 1% --lookup 1ms --absent {share}"));
    assert_eq!(share("90%"), share("0.9"));
    assert_eq!(plan("--sizes --rates 5%,1%"), plan("--sizes --rates 0.05,0.01"));
    folder.umbel("common --at-least 1 --threads 1 --memory 64M lines lines").run().done();
    folder.umbel("dedup --seen seen --keys 1k --fpp 0.1% --checkpoint 5min lines").run().done();
}

#[test]
fn what_is_no_number_is_refused_in_plain_words() {
    let folder = Folder::new();
    folder.write("lines", "a\n");
    for (arguments, words) in [
        ("dedup --threads 0", "\"0\" is not a whole number from 1 to"),
        ("dedup --threads -2", "\"-2\" is not a whole number"),
        ("dedup --threads many", "\"many\" is not a whole number"),
        ("common --at-least x", "\"x\" is not a whole number"),
        ("common --at-least 1.5", "\"1.5\" is not a whole number"),
        ("dedup --seen f --checkpoint soon", "\"soon\" is not a time such as 60, 0.5s or 5min"),
        ("dedup --seen f --checkpoint -1", "\"-1\" is not a time"),
        ("dedup --fpp 1,5", "\"1,5\" is not a probability such as 0.01, 1e-6 or 1%"),
        ("dedup --fpp 100%", "1"),
        ("dedup --memory 1,5G", "\"1,5G\" is not a size such as 64MiB"),
        ("build -o f --keys 1,5", "\"1,5\" is not a number of keys"),
        ("build -o f --seed x", "\"x\" is not a whole number from 0 on"),
        ("plan --keys 1e6 --fpp 1% --lookup 1ms --absent x", "\"x\" is not a share from 0 to 1"),
        ("plan --keys 1e6 --fpp 1% --lookup 1ms --absent 110%", "\"110%\" is not a share"),
        ("show --bits 99", "\"99\" is not a whole number from 2 to 64"),
        ("show --probes x", "\"x\" is not a whole number from 1 to 16"),
    ] {
        let message = folder.umbel(&format!("{arguments} lines")).run().fails(&[words]);
        for parser in ["invalid digit", "invalid float", "non-zero type", "out of range"] {
            assert!(!message.contains(parser), "{message}");
        }
    }
}
