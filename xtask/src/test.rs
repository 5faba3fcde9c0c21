//! `cargo x test`: the libraries, the engine, the command line, the Rust code in the pages, and the golden files read by a
//! Python script. `cargo x test python`: the Python package. `cargo x test redis`: the module for Redis and Valkey, with the servers that it needs.
//! `cargo x test spark`: the Python package on Spark. `cargo x test summary-cache`: proxies with summaries.
//! `cargo x test squid`: `examples/squid-peer` between two Squid servers. `cargo x test page`: the explorer, in a browser.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{page, proxies, redis, side_by_side, spark, squid, wheel};
use xtask::python::READER;
use xtask::run::{self, cargo, root, target};

/// How much to test.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests of one more front end instead.
    #[arg(value_enum)]
    door: Option<Door>,
    /// Also run what takes minutes: long statistics, every cap with every number of threads, hundreds of kills, threads in
    /// every order.
    #[arg(long)]
    full: bool,
    /// With the door `python`: another Python than `python3`.
    #[arg(long, value_name = "INTERPRETER")]
    python: Option<PathBuf>,
    /// Compile for a processor, such as `native` or `x86-64-v3`, in a folder of its own under the target folder;
    /// callers are then compiled for vectors, too.
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
}

/// A front end with tests of its own.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Door {
    /// The Python package, with NumPy, pyarrow, pandas, Polars and DuckDB.
    Python,
    /// The module, in Redis 7.0, Redis 8.2 and Valkey 8.1, and the filter in front of PostgreSQL.
    Redis,
    /// The Python package on Spark, with two workers on this machine. Needs a JDK, 17 or later.
    Spark,
    /// Caching proxies that know from summaries which peer has a page.
    SummaryCache,
    /// A proxy that exchanges cache digests with Squid, between two servers of Squid.
    Squid,
    /// The explorer, in Node and in a browser that npm brings along; in full also in Firefox and WebKit.
    Page,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match arguments.door {
        Some(Door::Python) => wheel::run(arguments.full, arguments.python.as_deref()),
        Some(Door::Redis) => redis::run(arguments.full),
        Some(Door::Spark) => spark::run(arguments.full),
        Some(Door::SummaryCache) => proxies::summary_cache(),
        Some(Door::Squid) => squid::squid(),
        Some(Door::Page) => page::test(arguments.full),
        None => libraries(arguments),
    }
}

/// Threads in every order, by a model checker that is compiled for nothing else.
fn interleavings() -> Result<()> {
    let mut tests =
        cargo(&["test", "--quiet", "--locked", "--package", "umbel", "--lib", "shared"]);
    tests.env("RUSTFLAGS", "--cfg umbel_loom").env("CARGO_TARGET_DIR", target().join("loom"));
    run::run(&mut tests)
}

/// How many cases the tests of a property draw that do not say it themselves: 256, or as this says.
const CASES: &str = "PROPTEST_CASES";

fn libraries(arguments: &Arguments) -> Result<()> {
    let crates = [
        "umbel",
        "umbel-tests",
        "umbel-foreign",
        "umbel-net",
        "umbel-numbers",
        "umbel-sets",
        "umbel-share",
        "umbel-io",
        "umbel-find",
        "umbel-parquet",
        "umbel-report",
        "umbel-cli",
        "xtask-pages",
    ];
    let mut options: Vec<&str> = crates.iter().flat_map(|name| ["--package", name]).collect();
    let mut environment = Vec::new();
    if let Some(cpu) = &arguments.target_cpu {
        let flags = format!("-Ctarget-cpu={cpu}");
        environment.extend(["RUSTFLAGS", "RUSTDOCFLAGS"].map(|name| (name, flags.clone().into())));
        environment.push(("CARGO_TARGET_DIR", target().join(cpu).into_os_string()));
    }
    if arguments.full {
        options.extend(["--package", "xtask-library"]);
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
