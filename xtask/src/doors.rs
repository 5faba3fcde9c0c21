//! `cargo x test NAME`: the front ends with their own tests, one row each: what it needs, and what runs.
//!
//! All use what [`programs`] builds with the features of the library tests, so shared code is compiled once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use xtask::python::{PIP_INSTALL, Python};
use xtask::run::{self, EXTENSION, cargo, programs, target};
use xtask::servers::{self, SERVERS};

use crate::{page, squid};

/// A front end.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(crate) enum Door {
    /// The Python package, with NumPy, pyarrow, pandas, Polars and DuckDB.
    Python,
    /// The module, in Redis 7.0, Redis 8.2 and Valkey 8.1, and the filter in front of PostgreSQL.
    Redis,
    /// The Python package on Spark, with two workers on this machine. Needs a JDK, 17 or later.
    Spark,
    /// Filters to other systems, running here, and back. Needs Java, and downloads 500 MB once.
    Formats,
    /// Caching proxies that exchange summaries, or cache digests with Squid.
    Proxy,
    /// The explorer, in Node and in a browser that npm brings along; in full also in Firefox and WebKit.
    Page,
    /// The npm package, in Node, with TypeScript, and in a browser that npm brings along.
    Javascript,
}

/// The commands in one Python: arguments, one command each.
struct Tests {
    python: &'static Python,
    runs: &'static [&'static str],
}

const PYTHON: Tests = Tests {
    python: &Python {
        name: "wheel",
        packages: "numpy==2.4.6 pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 \
                   datafusion==55.0.0 fsspec==2026.9.0 matplotlib==3.11.2 tqdm==4.70.1 \
                   typing_extensions==4.16.0 mypy==2.4.1 pytest==9.2.0 \
                   hypothesis==6.170.15",
    },
    runs: &[
        "pytest crates/umbel-py/tests",
        // Code for Spark is checked where Spark is installed.
        "mypy --strict --exclude umbel/spark/ crates/umbel-py/python/umbel",
        "mypy.stubtest umbel._umbel",
    ],
};

const REDIS: Tests = Tests { python: &SERVERS, runs: &["pytest crates/umbel-redis/tests/server"] };

/// PySpark brings Spark, whose version 4.3 does not work with pandas 3.
const SPARK: Tests = Tests {
    python: &Python {
        name: "spark",
        packages: "pyspark==4.3.0 numpy==2.4.6 pyarrow==26.0.1 pandas==2.3.3 \
                   venv-pack==0.2.0 setuptools==80.9.0 mypy==2.4.1 pytest==9.2.0 \
                   pytest-xdist==3.8.0",
    },
    runs: &[
        "mypy --strict --follow-imports silent crates/umbel-py/python/umbel/spark",
        // Two clusters, one test file each: a single one leaves half of two processors idle, waiting for its driver.
        "pytest crates/umbel-py/tests_spark -n 2 --dist loadfile",
    ],
};

/// Other versions for long tests, with the packages that they need in addition.
const OTHERS: [(&str, &[&str]); 2] = [
    ("UMBEL_PANDAS", &["pandas==2.2.3 pytz==2026.6", "pandas==2.3.3 pytz==2026.6"]),
    ("UMBEL_DUCKDB", &["duckdb==1.5.6", "duckdb==2.0.1"]),
];

/// The oldest Java that Spark 4 runs on.
const JAVA: u32 = 17;

impl Door {
    /// Runs its tests; with `full` also those that take minutes. `interpreter` replaces `python3`.
    pub(crate) fn test(self, full: bool, interpreter: Option<&Path>) -> Result<()> {
        let tests = match self {
            Self::Python => PYTHON,
            Self::Redis => REDIS,
            Self::Spark => SPARK,
            Self::Formats => return formats(),
            Self::Proxy => {
                let mut tests = run::apart("test", "examples/proxy");
                if full {
                    tests.args(["--", "--include-ignored"]);
                }
                return run::run(squid::with(&mut tests)?);
            }
            Self::Page => return page::test(full),
            Self::Javascript => return page::test_package(),
        };
        if self == Self::Spark {
            java()?;
        }
        if self == Self::Redis {
            let mut build = run::apart("build", "examples/cache");
            run::run(build.args(["--workspace", "--bins", "--examples"]))?;
        }
        install(tests.python, interpreter, "dev")?;
        let python = || -> Result<Command> {
            let mut python =
                servers::with_programs(tests.python.command_with(interpreter)?, "debug");
            if self == Self::Redis {
                // The wheel of a server brings a plugin that starts a server.
                python.env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
            }
            python.env("MYPY_CACHE_DIR", target().join(tests.python.name).join("mypy"));
            if full {
                python.env("UMBEL_TEST_FULL", "1");
            }
            Ok(python)
        };
        let others: &[_] = if full && self == Self::Python { &OTHERS } else { &[] };
        let mut folders = Vec::new();
        for (variable, versions) in others {
            let versions = versions.iter().map(|version| other(python()?, version));
            let versions = versions.collect::<Result<Vec<_>>>()?;
            folders.push((variable, std::env::join_paths(versions)?));
        }
        for arguments in tests.runs {
            let mut python = python()?;
            python.arg("-m").args(arguments.split(' ')).envs(folders.clone());
            if arguments.starts_with("pytest") {
                python.args(["--quiet", "-p", "no:cacheprovider"]);
            }
            run::run(&mut python)?;
        }
        Ok(())
    }
}

/// Java's systems come with the jars of PySpark: Guava, Spark, DataSketches, Hadoop, Hive, parquet-java. The other
/// Python has the last pybloom-live version with the older hash.
const FORMATS: [Python; 2] = [
    Python {
        name: "formats",
        packages: "pyspark==4.3.0 numpy==2.4.6 pyarrow==26.0.1 pybloom-live==4.0.0 \
                   duckdb==2.0.0 datafusion==55.0.0 polars==2.1.0 chdb==4.4.0 \
                   pytest==9.2.0",
    },
    Python { name: "formats-pybloom-3", packages: "pybloom-live==3.1.0 numpy==2.4.6" },
];

fn formats() -> Result<()> {
    java()?;
    for python in &FORMATS {
        install(python, None, "dev")?;
        run::run(python.command()?.arg("testdata/roundtrip.py"))?;
    }
    // Engines look into Parquet files with umbel's filters: here ClickHouse too, which is large.
    run::run(FORMATS[0].command()?.args([
        "-m",
        "pytest",
        "crates/umbel-py/tests/test_parquet_types.py",
    ]))
}

/// A folder with another version of a package, for the path of modules.
fn other(mut python: Command, packages: &str) -> Result<PathBuf> {
    let folder = target().join("other").join(packages.replace(' ', "-"));
    if !folder.exists() {
        python.args(PIP_INSTALL).args(["--no-deps", "--target"]);
        run::run(python.arg(&folder).args(packages.split(' ')))?;
    }
    Ok(folder)
}

/// Copies the package, with the library in it, to where this Python finds it.
const COPY: &str = include_str!("install.py");

/// Builds the Python package with a Cargo profile, and copies it into this Python. For releases: `cargo x wheel`.
pub(crate) fn install(python: &Python, interpreter: Option<&Path>, profile: &str) -> Result<()> {
    let folder = if profile == "dev" { "debug" } else { profile };
    if profile == "dev" {
        programs(&["--lib"])?;
    } else {
        let mut build = cargo(&["build", "--quiet", "--locked", "--package", "umbel-py"]);
        run::run(build.args(["--profile", profile]).env(EXTENSION.0, EXTENSION.1))?;
    }
    let mut copy = python.command_with(interpreter)?;
    copy.args(["-c", COPY]).arg(target().join(folder).join(servers::library("_umbel")));
    run::run(&mut copy)
}

/// `cargo x bench --spark`: Spark pruned by umbel next to Spark alone.
pub(crate) fn bench_spark(options: &[std::ffi::OsString]) -> Result<()> {
    java()?;
    run::run(&mut cargo(&["build", "--release", "--locked", "--package", "umbel-cli"]))?;
    install(SPARK.python, None, "dist")?;
    let mut bench = SPARK.python.command()?;
    bench.arg("bench/spark/bench.py").arg("--umbel").arg(target().join("release/umbel"));
    run::run(bench.args(options))
}

/// Fails unless a Java that Spark supports is installed.
fn java() -> Result<()> {
    const HOW: &str = "get it as with `apt-get install openjdk-17-jre-headless`";
    let output = Command::new("java").arg("-version").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("Spark needs Java {JAVA} or later; {HOW}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // openjdk version "17.0.15" 2025-04-15
    let version = text.split('"').nth(1).and_then(|version| version.split(['.', '-']).next());
    let version = version.and_then(|version| version.parse::<u32>().ok());
    let found = text.lines().next().unwrap_or("none");
    ensure!(version >= Some(JAVA), "Spark needs Java {JAVA} or later, found {found}; {HOW}");
    Ok(())
}
