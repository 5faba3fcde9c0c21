//! `cargo x trial`: measured experiments, theory beside measurement; exit 1 when chance does not explain
//! the difference.

mod rows;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Subcommand)]
enum Trial {
    /// Rows of three attributes: how many pass before they are inserted, and recombined ones with and without tags.
    Rows,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match arguments.trial {
        Trial::Rows => rows::run(),
    }
}
