//! `cargo x faults`: builds umbel and the tool that lets its system calls fail or the power, and runs it.

use anyhow::Result;
use xtask::run::{self, cargo, root, target};

/// The options are the tool's.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--release", "--features", "group"]))?;
    let manifest = root().join("faults/Cargo.toml");
    let mut tool = cargo(&["run", "--quiet", "--locked", "--release", "--manifest-path"]);
    tool.arg(manifest).env("CARGO_TARGET_DIR", target().join("faults"));
    run::run(
        tool.arg("--")
            .arg("--umbel")
            .arg(target().join("release/umbel"))
            .args(&arguments.arguments),
    )
}
