//! `cargo x sanitize`: tests in which each access to memory is watched, for what is freed, out of bounds or raced for.
//!
//! The sanitizers run the code at a half to a tenth of its speed, so with the vector kernels, mapped files and threads that
//! Miri has to leave out; the standard library is built with them, too, so that they see into it. Assembly they do not see;
//! Valgrind does, which interprets the finished program, as a processor with AVX2 and without AVX-512.
//! The module and the Python package run inside of programs that are not built this way, and are left to the tests of their
//! libraries. Tests of documentation would each be a program of 100 MB.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::nightly;
use xtask::run::{self, cargo, target};

/// The options: what watches.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// `address`, `thread`, `valgrind`; by default all.
    #[arg(value_name = "SANITIZER")]
    sanitizers: Vec<String>,
}

const VALGRIND: &str = "valgrind";
const SANITIZERS: &[&str] = &["address", "thread", VALGRIND];
/// Those for which Rust has the sanitizers; the one that this runs on is the one to build for.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What has unsafe code, threads, or reads what others wrote.
const TESTS: &[&[&str]] = &[
    &["--package=umbel", "--lib"],
    &["--package=umbel-tests", "--test=library"],
    &["--package=umbel-io", "--package=umbel-sets", "--lib"],
    &["--package=umbel-share", "--package=umbel-foreign", "--package=umbel-find", "--lib"],
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let known = |name: &String| {
        let found = SANITIZERS.iter().find(|sanitizer| *sanitizer == name);
        found.with_context(|| format!("no sanitizer {name}; there are {}", SANITIZERS.join(", ")))
    };
    let chosen: Vec<_> = arguments.sanitizers.iter().map(known).collect::<Result<_>>()?;
    for sanitizer in if chosen.is_empty() { SANITIZERS.iter().collect() } else { chosen } {
        if *sanitizer == VALGRIND {
            valgrind()?;
            continue;
        }
        for options in TESTS {
            let mut tests = nightly::command("cargo", "rust-src")?;
            tests.args(["test", "--quiet", "--locked", "-Zbuild-std", "--target", TARGET]);
            tests.args(*options).env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
            // A folder for each: what one has built is no use to the other.
            tests.env("CARGO_TARGET_DIR", target().join("sanitize").join(sanitizer));
            // Some tests ask for more memory than there is: as elsewhere, the answer is no.
            let refuse = "allocator_may_return_null=1";
            tests.env("ASAN_OPTIONS", refuse).env("TSAN_OPTIONS", refuse);
            run::run(tests.env("PROPTEST_CASES", "32"))?;
        }
    }
    Ok(())
}

/// What has assembly, as it is handed out.
fn valgrind() -> Result<()> {
    let version = Command::new(VALGRIND).arg("--version").stdout(Stdio::null()).status();
    ensure!(version.is_ok(), "valgrind is missing: get it as with `apt-get install valgrind`");
    // What a test leaves behind is no fault.
    let watch = "valgrind --quiet --error-exitcode=9 --leak-check=no";
    for options in &TESTS[..2] {
        let mut tests = cargo(&["test", "--quiet", "--locked", "--release", "--target", TARGET]);
        tests.args(*options).env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", watch);
        // So that a finding has lines.
        tests
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
            .env("CARGO_PROFILE_RELEASE_STRIP", "none");
        tests.env("CARGO_TARGET_DIR", target().join("sanitize").join(VALGRIND));
        run::run(tests.env("PROPTEST_CASES", "8"))?;
    }
    Ok(())
}
