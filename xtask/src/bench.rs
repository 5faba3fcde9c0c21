//! `cargo x bench`: starts the benchmarks, which are a separate workspace. `bench/README.md` describes what they
//! measure.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{doors, page};
use xtask::python::Python;
use xtask::run::{cargo, root, run, target};
use xtask::servers::{self, SERVERS};

/// The Python package, built as for a release, and its peers.
const PYTHON: Python = Python {
    name: "bench-python",
    packages: "numpy==2.4.6 pyarrow==26.0.1 rbloom==1.5.4 fastbloom-rs==0.5.10 \
               pybloom-live==4.0.0 pyprobables==0.7.0",
};

/// The bench to run, and its options.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// `--files [OPTIONS]` for whole commands over files, `--prefixes
    /// [OPTIONS]` for longest prefixes next to tries, `--python
    /// [OPTIONS]` for the Python package next to others, `--python --corpus [OPTIONS]` for its corpus recipe, `--python --sizes [OPTIONS]` next to rbloom at every size, `--redis
    /// [OPTIONS]` for the module next to RedisBloom, `--redis --snapshot [OPTIONS]` for the time and memory that loading a large filter takes, `--spark [OPTIONS]` for Spark pruned by umbel, `--page [OPTIONS]` for the explorer's core next to the same code without a
    /// browser, else the options of the
    /// filter benchmark, such as `--kinds` for a table of every kind; add `--help` to see them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

pub(crate) fn run_bench(arguments: &Arguments) -> Result<()> {
    match arguments.options.split_first() {
        Some((first, options)) if first == "--files" => {
            run(&mut cargo(&["build", "--release"]))?;
            let script = root().join("bench/files");
            let umbel = target().join("release/umbel");
            run(Command::new("python3").arg(script).arg("--umbel").arg(umbel).args(options))
        }
        Some((first, options)) if first == "--python" => {
            doors::install(&PYTHON, None, "dist")?;
            let (script, options) = match options.split_first() {
                Some((first, options)) if first == "--corpus" => ("corpus.py", options),
                Some((first, options)) if first == "--sizes" => ("sizes.py", options),
                _ => ("bench.py", options),
            };
            let mut bench = PYTHON.command()?;
            bench.arg(root().join("bench/python").join(script)).args(options);
            if script == "bench.py" {
                let built = build("bench/python/rust")?;
                bench.arg("--rust").arg(built.join(format!("bench-python-rust{EXE_SUFFIX}")));
            }
            run(&mut bench)
        }
        Some((first, options)) if first == "--redis" => {
            let module = ["build", "--profile", "dist", "--quiet", "--locked", "--package"];
            run(cargo(&module).arg("umbel-redis"))?;
            let built = build("bench/redis")?;
            let mut bench = servers::with_programs(SERVERS.command()?, "dist");
            bench.env("UMBEL_LOAD", built.join(format!("redis-load{EXE_SUFFIX}")));
            bench.env("UMBEL_LIMIT", built.join(servers::library("redis_limit")));
            let (script, options) = match options.split_first() {
                Some((first, options)) if first == "--snapshot" => ("snapshot.py", options),
                _ => ("bench.py", options),
            };
            run(bench.arg(root().join("bench/redis").join(script)).args(options))
        }
        Some((first, options)) if first == "--page" => page::bench(options),
        Some((first, options)) if first == "--spark" => doors::bench_spark(options),
        Some((first, options)) if first == "--prefixes" => program("bench/prefixes", options),
        _ => program("bench/filters/run", &arguments.options),
    }
}

/// Builds the program in a folder, and returns its path.
fn build(folder: &str) -> Result<PathBuf> {
    let to = target().join(folder.replace('/', "-"));
    let build = ["build", "--release", "--quiet", "--locked", "--manifest-path"];
    let manifest = root().join(folder).join("Cargo.toml");
    run(cargo(&build).arg(manifest).env("CARGO_TARGET_DIR", &to))?;
    Ok(to.join("release"))
}

/// Builds and runs the program of a folder.
fn program(folder: &str, options: &[OsString]) -> Result<()> {
    let mut program = cargo(&["run", "--release", "--quiet", "--locked", "--manifest-path"]);
    run(program.arg(root().join(folder).join("Cargo.toml")).arg("--").args(options))
}
