//! `cargo x trial NAME`: runs the trial of an example; exit 1 if a figure is out of bounds.

mod penetration;

use std::ffi::OsString;

use anyhow::Result;
use clap::Subcommand;

/// Which trial.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    trial: Trial,
}

/// The options of a trial that another program runs.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct PassedOn {
    /// `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

#[derive(Subcommand)]
enum Trial {
    /// Requests for absent keys in front of PostgreSQL: which reach it, through filters of Redis, with servers that fail.
    Penetration(PassedOn),
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.trial {
        Trial::Penetration(arguments) => penetration::run(arguments),
    }
}
