//! The words that people and CI both use: `cargo x check`, `test`, `golden`, `rates`, `bench`, `trial`, `roundtrip`,
//! `fuzz`.
//!
//! Each does all its own set-up, and fails rather than skips what it cannot do.

mod bench;
mod check;
mod fuzz;
mod golden;
mod python;
mod rates;
mod roundtrip;
mod run;
mod test;
mod trials;

#[allow(dead_code)]
#[path = "../../crates/umbel/tests/statistics/mod.rs"]
mod statistics;
#[allow(dead_code)]
#[path = "../../crates/umbel/tests/vectors/mod.rs"]
mod vectors;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Chores of the umbel repository.
#[derive(Parser)]
#[command(bin_name = "cargo x")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Formatting, lints and docs, without a warning.
    Check,
    /// Every test: those of the workspace, then the golden files read by a Python script.
    Test,
    /// Write the golden files and their manifest; they change only with the format.
    Golden,
    /// Measure error rates and compare them with what was promised; exit 1 when one is out of bounds.
    Rates(rates::Arguments),
    /// Filters to other systems and back, with those systems running here: needs Java, and downloads 500 MB once.
    Roundtrip,
    /// Run a measured experiment, theory beside measurement; exit 1 when out of bounds.
    Trial(trials::Arguments),
    /// Measure speed: filters beside other filters and memory, or with --files whole commands.
    Bench(bench::Arguments),
    /// Fuzz the decoders and operations, one target after the other; exit 1 on a finding. Needs a nightly compiler.
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo x: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Check => check::run(),
        Chore::Test => test::run(),
        Chore::Golden => golden::run(),
        Chore::Rates(arguments) => rates::run(arguments),
        Chore::Roundtrip => roundtrip::run(),
        Chore::Trial(arguments) => trials::run(arguments),
        Chore::Bench(arguments) => bench::run_bench(arguments),
        Chore::Fuzz(arguments) => fuzz::run(arguments),
    }
}
