//! `cargo x mutants`: changes the libraries' code in one place at a time, by cargo-mutants, and sees whether a test fails.

use std::process::Command;

use anyhow::{Result, ensure};

use xtask::run::{self, root, target};

/// What makes and tries mutants, pinned.
const CARGO_MUTANTS: &str = "27.1.0";
/// What is changed.
const CHANGED: [&str; 4] = ["umbel", "umbel-foreign", "umbel-sets", "umbel-share"];
/// Whose tests should notice.
const TESTS: [&str; 6] =
    ["umbel", "umbel-foreign", "umbel-sets", "umbel-share", "umbel-tests", "umbel-cli"];
/// Files that other processors and systems compile.
const ELSEWHERE: &[&str] = if cfg!(target_arch = "x86_64") {
    &["**/aarch64*", "**/neon*", "**/windows*"]
} else {
    &["**/x86*", "**/windows*"]
};

/// How many mutants, which, and how many at a time.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// About so many, from all over the code. On two processors, one takes some minutes.
    #[arg(long, default_value_t = 30)]
    count: usize,
    /// Others for each number.
    #[arg(long, default_value_t = 1)]
    seed: usize,
    /// Build and test this many side by side, each in a copy of the sources.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let tools = target().join("tools");
    let driver = run::tool("cargo-mutants", CARGO_MUTANTS, &tools, &["mutants", "--version"], &[])?;
    let mutants = || {
        let mut command = Command::new(&driver);
        command.current_dir(root()).arg("mutants");
        command.args(CHANGED.map(|package| format!("--package={package}")));
        command.args(ELSEWHERE.iter().map(|files| format!("--exclude={files}")));
        command
    };
    let all = run::printed(mutants().arg("--list"))?.lines().count();
    ensure!(all > 0, "cargo-mutants finds nothing to change");
    let shards = (all / arguments.count.max(1)).max(1);
    let mut some = mutants();
    some.arg(format!("--shard={}/{shards}", arguments.seed % shards)).arg("--sharding=round-robin");
    some.arg(format!("--jobs={}", arguments.jobs)).arg("--output").arg(target());
    some.args(TESTS.map(|package| format!("--test-package={package}")));
    some.args(["--features=umbel-foreign/tables", "--minimum-test-timeout=300"]);
    run::run(some.args(["--", "--tests"]))
}
