//! `cargo x trial NAME`: runs one experiment and compares it with theory; exit 1 if a figure is out of bounds.
//!
//! Seeds are fixed: a trial prints the same figures every time, except for seconds and memory, and what happens while servers fail.

mod admission;
mod block_list;
mod growth;
mod mathematics;
mod penetration;
mod rows;
mod states;
mod summary_cache;
mod window;

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
    /// 10^8 keys through windows of 10^6 and 10^7: nothing inside missed, the rate kept, memory flat.
    Window,
    /// A cache and a trace of requests, three quarters of whose objects are requested once, with and without admission.
    Admission,
    /// Scalable filters grown to 10^7 keys, the rate at each step; draws docs/scalable-growth.svg.
    Growth,
    /// Statements of texts on Bloom filters, the formulas here, and measured filters.
    Mathematics,
    /// Rows of three attributes: how many pass before they are inserted, and recombined rows with and without tags.
    Rows,
    /// Flows followed through tables of states: errors by kind, full buckets, the timing wheel, and speed next to a hash map.
    States,
    /// Requests for absent keys in front of PostgreSQL: which reach it, through filters of Redis, with servers that fail.
    Penetration(PassedOn),
    /// Caching proxies that ask all peers, or their summaries: hits and messages, then proxies and links that fail.
    SummaryCache(PassedOn),
    /// 4·10^7 addresses blocked and 4·10^6 allowed: a classic filter's rate, then both lists without error.
    BlockList,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.trial {
        Trial::Window => window::run(),
        Trial::Admission => admission::run(),
        Trial::Growth => growth::run(),
        Trial::Mathematics => mathematics::run(),
        Trial::Rows => rows::run(),
        Trial::States => states::run(),
        Trial::Penetration(arguments) => penetration::run(arguments),
        Trial::SummaryCache(arguments) => summary_cache::run(arguments),
        Trial::BlockList => block_list::run(),
    }
}
