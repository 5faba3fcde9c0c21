//! The commands that need the library: builds and runs the package `xtask-library`.

use std::ffi::OsString;

use anyhow::Result;

use xtask::run::{self, cargo};

/// The options of such a command, passed on as they are.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

pub(crate) fn run(name: &str, arguments: &Arguments) -> Result<()> {
    let program = ["run", "--release", "--quiet", "--package", "xtask-library", "--"];
    run::run(cargo(&program).arg(name).args(&arguments.options))
}
