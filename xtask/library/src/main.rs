//! The commands of `cargo x` that need the library: `golden`, `fuzz`.

mod fuzz;
mod golden;

#[path = "../../../crates/umbel-share/tests/all/made.rs"]
mod made;
#[path = "../../../crates/umbel-foreign/tests/all/small.rs"]
mod parameters;
#[allow(dead_code)]
#[path = "../../../crates/umbel/tests/all/statistics.rs"]
mod statistics;
#[allow(dead_code)]
#[path = "../../../crates/umbel/tests/all/vectors.rs"]
mod vectors;

use std::process::ExitCode;

use clap::Parser;

/// Chores of the umbel repository that need the library.
#[derive(Parser)]
#[command(bin_name = "cargo x")]
enum Chore {
    /// Write the golden files and their manifest; they change only with the format.
    Golden,
    /// Fuzz the decoders and operations, target by target; exit 1 on a finding. Needs a nightly compiler.
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    xtask::run::exit(match Chore::parse() {
        Chore::Golden => golden::run(),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
    })
}
