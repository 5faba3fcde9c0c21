//! Requests for keys that do not exist, in front of PostgreSQL: how many reach it with a filter and without, and whether a
//! filter ever denies a row while servers fail. `examples/cache/trial` does it; docs/cache.md has the result.

use std::ffi::OsString;

use anyhow::Result;

/// The options of the trial.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    /// `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut trial = xtask::servers::with_example(true)?;
    xtask::run::run(trial.arg("examples/cache/trial/penetration.py").args(&arguments.options))
}
