//! `cargo x test spark`: the wheel on Spark, as a cluster of two workers on this machine.
//!
//! PySpark comes from PyPI, in a Python of its own under the target folder, and brings Spark; Java has to be installed.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::wheel;
use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

/// Spark, and what builds and tests the wheel there. Spark 4.3 does not work with pandas 3.
const PYTHON: Python = Python {
    name: "spark",
    packages: &[
        ("maturin", "1.16.0"),
        ("pyspark", "4.3.0"),
        ("numpy", "2.4.6"),
        ("pyarrow", "26.0.1"),
        ("pandas", "2.3.3"),
        ("venv-pack", "0.2.0"),
        ("setuptools", "80.9.0"),
        ("mypy", "2.4.1"),
        ("pytest", "9.2.0"),
        ("pytest-xdist", "3.8.0"),
    ],
};
/// The oldest Java that Spark 4 runs on.
const JAVA: u32 = 17;
const HOW: &str = "get it as with `apt-get install openjdk-17-jre-headless`";

pub(crate) fn run(full: bool) -> Result<()> {
    java()?;
    let program = format!("umbel{}", std::env::consts::EXE_SUFFIX);
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--package", "umbel-cli"]))?;
    wheel::install(&PYTHON, None, "dev")?;
    let mut types = PYTHON.command()?;
    // The rest of the package is checked by `cargo x test python`, where its libraries are.
    types.args(["-m", "mypy", "--strict", "--follow-imports", "silent"]);
    types.arg("crates/umbel-py/python/umbel/spark");
    run::run(types.env("MYPY_CACHE_DIR", target().join(PYTHON.name).join("mypy")))?;
    let mut tests = PYTHON.command()?;
    tests.env("UMBEL", target().join("debug").join(program)).env("PYTHONDONTWRITEBYTECODE", "1");
    if full {
        tests.env("UMBEL_TEST_FULL", "1");
    }
    tests.args([
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "crates/umbel-py/tests_spark",
    ]);
    // Two clusters, with a file of tests each: one alone leaves half of two processors idle, waiting for its driver.
    run::run(tests.args(["-n", "2", "--dist", "loadfile"]))
}

/// `cargo x bench --spark`: Spark pruned by umbel next to Spark alone.
pub(crate) fn bench(options: &[std::ffi::OsString]) -> Result<()> {
    java()?;
    run::run(&mut cargo(&["build", "--release", "--locked", "--package", "umbel-cli"]))?;
    wheel::install(&PYTHON, None, "dist")?;
    let mut bench = PYTHON.command()?;
    bench.arg(root().join("bench/spark/bench.py"));
    run::run(bench.arg("--umbel").arg(target().join("release/umbel")).args(options))
}

/// Fails unless a Java is there that Spark runs on.
fn java() -> Result<()> {
    let output = Command::new("java").arg("-version").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("Spark needs Java {JAVA} or later; {HOW}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // openjdk version "17.0.15" 2025-04-15
    let version = text.split('"').nth(1).and_then(|version| version.split(['.', '-']).next());
    let version = version.and_then(|version| version.parse::<u32>().ok());
    ensure!(
        version.is_some_and(|version| version >= JAVA),
        "Spark needs Java {JAVA} or later, found {}; {HOW}",
        text.lines().next().unwrap_or("none")
    );
    Ok(())
}
