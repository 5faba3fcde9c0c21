//! The commands that people and CI both run: `cargo x check`, `test`, `bench` and more.
//!
//! Each does all its own set-up, and fails rather than skips what it cannot do. This program depends on next to
//! nothing, so that it is built in seconds; what needs the library is in the package `xtask-library`, which is built
//! when one of its commands is called.

mod bench;
mod check;
mod library;
mod portable;
mod test;

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
    /// Formatting, lints, docs, links, dependencies, and every other workspace: locked and compiling.
    Check(check::Arguments),
    /// The tests of library, engine and command line, then the golden files read by a Python script.
    Test(test::Arguments),
    /// The library for other processors and systems, tested in emulators or built. Needs cross compilers.
    Portable(portable::Arguments),
    /// Measure speed: filters beside other filters and memory, or with --files whole commands.
    Bench(bench::Arguments),
    /// Write the golden files and their manifest; they change only with the format.
    Golden(library::Arguments),
    /// Measure error rates and compare them with what was promised; exit 1 when one is out of bounds.
    Rates(library::Arguments),
    /// Run a measured experiment, theory beside measurement; exit 1 when out of bounds.
    Trial(library::Arguments),
    /// Filters to other systems and back, with those systems running here: needs Java, and downloads 500 MB once.
    Roundtrip(library::Arguments),
    /// Fuzz the decoders and operations, one target after the other; exit 1 on a finding. Needs a nightly compiler.
    Fuzz(library::Arguments),
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
        Chore::Check(arguments) => check::run(arguments),
        Chore::Test(arguments) => test::run(arguments),
        Chore::Portable(arguments) => portable::run(arguments),
        Chore::Bench(arguments) => bench::run_bench(arguments),
        Chore::Golden(arguments) => library::run("golden", arguments),
        Chore::Rates(arguments) => library::run("rates", arguments),
        Chore::Trial(arguments) => library::run("trial", arguments),
        Chore::Roundtrip(arguments) => library::run("roundtrip", arguments),
        Chore::Fuzz(arguments) => library::run("fuzz", arguments),
    }
}
