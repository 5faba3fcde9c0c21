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
