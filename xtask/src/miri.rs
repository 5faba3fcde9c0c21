//! `cargo x miri`: the library's tests in Miri, which finds undefined behaviour in its unsafe code, on processors of every
//! kind that the code tells apart.
//!
//! Miri is a part of nightly compilers, and interprets a program for any processor, some thousand times slower than it runs:
//! tests take smaller cases there (`cfg!(miri)`). It knows the vector intrinsics of the kernels but NEON's variable shift,
//! in whose place plain code is run; neither assembly (`bits/arch/inline.rs`), whose twins are compared by the other tests,
//! nor mapped files, so the library is tested without the feature `mmap`. What only calculates, as a size for a rate does, is left to the other tests too: it
//! takes minutes.

use anyhow::{Context, Result};
use xtask::nightly;
use xtask::run::{self, target};

/// The options: for which targets.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The targets, such as `s390x-unknown-linux-gnu`; by default all.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// Targets and the features that their processors have: Miri reports those that the program is compiled for.
const TARGETS: &[(&str, &str)] = &[
    // AVX2 and AVX-512 in turn, next to plain code.
    ("x86_64-unknown-linux-gnu", "+avx2,+bmi2,+avx512f"),
    // NEON.
    ("aarch64-unknown-linux-gnu", "+neon"),
    // Big-endian.
    ("s390x-unknown-linux-gnu", ""),
    // 32-bit.
    ("i686-unknown-linux-gnu", ""),
];

/// The modules with unsafe code, those above it, those that read files, and rates that must be exact.
const MODULES: &[&str] = &["bits::", "filter::", "format::", "hash::", "plan::bloomier::"];

/// Tests from outside that reach what those do not: threads.
const OUTSIDE: &[&str] = &["shared::"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let known = |name: &String| {
        let found = TARGETS.iter().find(|(triple, _)| triple == name);
        let names = TARGETS.iter().map(|(triple, _)| *triple).collect::<Vec<_>>().join(", ");
        found.with_context(|| format!("no target {name}; there are {names}"))
    };
    let chosen: Vec<_> = arguments.targets.iter().map(known).collect::<Result<_>>()?;
    let targets = if chosen.is_empty() { TARGETS.iter().collect() } else { chosen };
    for &(triple, features) in targets {
        let options = ["--package=umbel", "--lib", "--no-default-features", "--features=std"];
        test(triple, features, &options, MODULES)?;
        test(triple, features, &["--package=umbel-tests", "--test=library"], OUTSIDE)?;
    }
    Ok(())
}

fn test(triple: &str, features: &str, options: &[&str], names: &[&str]) -> Result<()> {
    let mut command = nightly::command("cargo", "miri")?;
    command.args(["miri", "test", "--locked", "--target", triple]);
    command.args(options).arg("--").args(names);
    command.env("CARGO_TARGET_DIR", target().join("miri"));
    command.env("RUSTFLAGS", format!("-Ctarget-feature={features}")).env("PROPTEST_CASES", "1");
    // Without isolation for the files of proptest; and addresses are not numbers, nor aligned by luck.
    let flags = ["disable-isolation", "strict-provenance", "symbolic-alignment-check"];
    command.env("MIRIFLAGS", flags.map(|flag| format!("-Zmiri-{flag}")).join(" "));
    run::run(&mut command)
}
