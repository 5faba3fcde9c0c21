//! `cargo x test python`: the wheel, built and installed into a Python of its own under the target folder, and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

/// What builds and tests the wheel.
const PYTHON: Python = Python {
    name: "wheel",
    packages: &[
        ("maturin", "1.16.0"),
        ("numpy", "2.4.6"),
        ("pyarrow", "26.0.1"),
        ("pandas", "3.1.1"),
        ("polars", "2.1.0"),
        ("duckdb", "2.0.0"),
        ("fsspec", "2026.9.0"),
        ("matplotlib", "3.11.2"),
        ("tqdm", "4.70.1"),
        ("typing_extensions", "4.16.0"),
        ("mypy", "2.4.1"),
        ("pytest", "9.2.0"),
        ("hypothesis", "6.170.15"),
    ],
};

/// Other versions of pandas and DuckDB that are tested too, in long tests, and what they need beyond the packages above.
const PANDAS: [&str; 2] = ["2.2.3", "2.3.3"];
const OF_PANDAS: [&str; 2] = ["pytz==2026.6", "tzdata==2026.6"];
const DUCKDB: [&str; 2] = ["1.5.6", "2.0.1"];

/// Examples of each of the four properties of arrays of any form, in long tests: 100,000 in all.
const MANY_EXAMPLES: &str = "25000";
/// Keys and probes of filters that the command line and Python exchange, in long tests.
const MANY_PROBES: &str = "1000000";

pub(crate) fn run(full: bool, interpreter: Option<&Path>) -> Result<()> {
    let program = format!("umbel{}", std::env::consts::EXE_SUFFIX);
    // Built as the tests of other crates are, so that what they share is compiled once.
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--package", "umbel-cli"]))?;
    install(&PYTHON, interpreter, "dev")?;
    let folder = PYTHON.folder(interpreter)?;
    let python = || PYTHON.command_with(interpreter);
    let mut tests = python()?;
    tests.env("UMBEL", target().join("debug").join(program)).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "crates/umbel-py/tests"]);
    if full {
        tests.env("UMBEL_PROBES", MANY_PROBES).env("UMBEL_EXAMPLES", MANY_EXAMPLES);
        for (variable, name, versions, others) in [
            ("UMBEL_PANDAS", "pandas", PANDAS, &OF_PANDAS[..]),
            ("UMBEL_DUCKDB", "duckdb", DUCKDB, &[]),
        ] {
            let versions = versions.map(|version| other(&python, &folder, name, version, others));
            let folders = versions.into_iter().collect::<Result<Vec<_>>>()?;
            tests.env(variable, std::env::join_paths(folders)?);
        }
    }
    run::run(&mut tests)?;
    for arguments in [
        // What runs on Spark is checked where Spark is.
        &["-m", "mypy", "--strict", "--exclude", "umbel/spark/", "crates/umbel-py/python/umbel"][..],
        &["-m", "mypy.stubtest", "umbel._umbel"],
    ] {
        run::run(python()?.args(arguments).env("MYPY_CACHE_DIR", folder.join("mypy")))?;
    }
    Ok(())
}

/// A folder with this version of a package and with others, for the path of modules.
fn other(
    python: &dyn Fn() -> Result<Command>,
    folder: &Path,
    name: &str,
    version: &str,
    others: &[&str],
) -> Result<PathBuf> {
    let folder = folder.join(format!("{name}-{version}"));
    if !folder.exists() {
        let mut pip = python()?;
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.arg("--target").arg(&folder).arg(format!("{name}=={version}"));
        run::run(pip.args(others))?;
    }
    Ok(folder)
}

/// Builds the wheel with a profile of Cargo, and installs it into this Python.
pub(crate) fn install(python: &Python, interpreter: Option<&Path>, profile: &str) -> Result<()> {
    let wheels = python.folder(interpreter)?.join("wheels");
    let python = || python.command_with(interpreter);
    let mut build = python()?;
    build.args(["-m", "maturin", "build", "--quiet", "--locked", "--profile", profile, "--out"]);
    build.arg(&wheels).arg("--manifest-path").arg(root().join("crates/umbel-py/Cargo.toml"));
    build.arg("--interpreter").arg(python()?.get_program());
    run::run(&mut build)?;
    let mut pip = python()?;
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    run::run(pip.args(["--no-deps", "--force-reinstall", "umbel", "--find-links"]).arg(&wheels))
}
