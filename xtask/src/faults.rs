//! `cargo x faults`: builds umbel and the tool that simulates failing system calls or power, and runs it.

use anyhow::Result;
use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

use crate::doors;

/// The Python for the Python jobs.
const PYTHON: Python = Python { name: "faults-python", packages: "numpy==2.4.6" };

/// The options are the tool's.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--release", "--features", "parquet"]))?;
    doors::install(&PYTHON, None, "release")?;
    let mut tool = cargo(&["run", "--quiet", "--locked", "--release", "--manifest-path"]);
    tool.arg(root().join("faults/Cargo.toml")).env("CARGO_TARGET_DIR", target().join("faults"));
    tool.args(["--", "--umbel"]).arg(target().join("release/umbel"));
    tool.arg("--python").arg(PYTHON.command()?.get_program());
    run::run(tool.args(&arguments.arguments))
}
