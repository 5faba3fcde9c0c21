//! `cargo x trial NAME`: one experiment, theory beside measurement; exit 1 when a figure is out of bounds.
//!
//! Seeds are fixed: a trial prints the same figures every time, but for seconds and memory.

mod block_list;

use anyhow::Result;
use clap::Subcommand;

/// Which trial.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Subcommand)]
enum Trial {
    /// 4·10^7 addresses blocked and 4·10^6 allowed: a classic filter's rate, then both lists without error.
    BlockList,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match arguments.trial {
        Trial::BlockList => block_list::run(),
    }
}
