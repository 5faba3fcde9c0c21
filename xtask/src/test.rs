//! `cargo x test`: the libraries, the engine, the command line, the Rust code of the front ends and in the
//! documentation, and the golden files read by a Python script; or one front end, by [`doors`](crate::doors).

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::doors::Door;
use crate::side_by_side;
use xtask::python::READER;
use xtask::run::{self, PACKAGES, cargo, root, target};

/// How much to test.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests of one more front end instead.
    #[arg(value_enum)]
    door: Option<Door>,
    /// Also run tests that take minutes: long statistics, every cap with every number of threads, hundreds of kills,
    /// threads in every order.
    #[arg(long)]
    full: bool,
    /// With the door `python`: another Python than `python3`.
    #[arg(long, value_name = "INTERPRETER")]
    python: Option<PathBuf>,
    /// Compile for a processor, such as `native` or `x86-64-v3`, in a folder of its own under the target folder;
    /// callers then also get vector instructions.
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match arguments.door {
        Some(door) => door.test(arguments.full, arguments.python.as_deref()),
        None => libraries(arguments),
    }
}

/// Threads in every order, by a model checker in a build of its own.
fn interleavings() -> Result<()> {
    let test = ["test", "--quiet", "--locked", "--package", "umbel", "--lib", "shared"];
    let mut tests = cargo(&test);
    tests.env("RUSTFLAGS", "--cfg umbel_loom").env("CARGO_TARGET_DIR", target().join("loom"));
    run::run(&mut tests)
}

/// The number of cases of property tests that do not set one: 256, or this variable's value.
const CASES: &str = "PROPTEST_CASES";

fn libraries(arguments: &Arguments) -> Result<()> {
    let mut options = PACKAGES.to_vec();
    let mut environment = Vec::new();
    if let Some(cpu) = &arguments.target_cpu {
        let flags = format!("-Ctarget-cpu={cpu}");
        environment.extend(["RUSTFLAGS", "RUSTDOCFLAGS"].map(|name| (name, flags.clone().into())));
        environment.push(("CARGO_TARGET_DIR", target().join(cpu).into_os_string()));
    }
    if arguments.full {
        options.retain(|option| *option != "--exclude=xtask-library");
        environment.push(("UMBEL_TEST_FULL", "1".into()));
    } else if std::env::var_os(CASES).is_none() {
        environment.push((CASES, "64".into()));
    }
    let tests = || {
        let mut tests = cargo(&["test", "--quiet", "--locked"]);
        tests.args(&options).envs(environment.clone());
        tests
    };
    let with = |program: &mut Command| {
        program.arg("--quiet").envs(environment.clone());
        if arguments.full {
            program.arg("--include-ignored");
        }
    };
    let mut documented = tests();
    documented.arg("--doc").current_dir(root());
    side_by_side::run(&mut tests(), with, documented)?;
    if arguments.full {
        interleavings()?;
    }
    for [script, manifest] in [
        ["testdata/reader.py", "testdata/golden/manifest.json"],
        ["testdata/unpack.py", "testdata/shared/manifest.json"],
        ["testdata/prefixes.py", "testdata/prefixes/manifest.json"],
        ["testdata/find.py", "testdata/find/manifest.json"],
    ] {
        run::run(READER.command()?.args([script, manifest]))?;
    }
    Ok(())
}
