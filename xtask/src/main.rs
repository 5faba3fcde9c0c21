//! The commands that people and CI both run: `cargo x check`, `test`, `bench` and more.
//!
//! Each does its own set-up, and fails instead of skipping what it cannot do. This program has few dependencies, so it
//! builds in seconds; commands that need the library are in the package `xtask-library`, which is built when one of
//! them is called.

mod bench;
mod check;
mod cross;
mod dist;
mod doors;
mod faults;
mod first;
mod library;
mod page;
mod parts;
mod portable;
mod release;
mod side_by_side;
mod site;
mod squid;
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
    /// The tests of library, engine, command line and documentation, then the golden files read by a Python script;
    /// or the tests of one more front end.
    Test(test::Arguments),
    /// The library for other processors, tested in emulators or built; the command line on Windows, in Wine, and linked for
    /// macOS. Needs cross compilers.
    Portable(portable::Arguments),
    /// Measure speed: filters compared with other filters and with memory, or with --files whole commands.
    Bench(bench::Arguments),
    /// Measure the README's commands from an empty target folder, next to the build of ripgrep.
    First(first::Arguments),
    /// Build the explorer, a page that runs the library in a browser, into target/page; with --open serve it here.
    Page(page::Arguments),
    /// Build the site into target/site/html: all pages, the interfaces of libraries and Python package, the explorer, a search; and
    /// check its links.
    Site,
    /// Build the Python package as it is handed out, into target/handed-out: a wheel and a source archive.
    Wheel,
    /// Build all that is handed out, into target/dist-out: programs for each system, packages, crates, the Python package;
    /// each is used once.
    Dist(dist::Arguments),
    /// Check everything before a release, build all that is handed out, and print the commands that publish; publishes
    /// nothing.
    Release(release::Arguments),
    /// Write the golden files and their manifest; they change only with the format.
    Golden(library::Arguments),
    /// Let the command line's system calls fail, one at a time, and check that nothing is lost; exit 1 on a finding.
    Faults(faults::Arguments),
    /// Fuzz the decoders and operations, target by target; exit 1 on a finding. Needs a nightly compiler.
    Fuzz(library::Arguments),
}

fn main() -> ExitCode {
    xtask::run::exit(run(&Arguments::parse().chore))
}

fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Check(arguments) => check::run(arguments),
        Chore::Test(arguments) => test::run(arguments),
        Chore::Portable(arguments) => portable::run(arguments),
        Chore::Bench(arguments) => bench::run_bench(arguments),
        Chore::First(arguments) => first::run(arguments),
        Chore::Page(arguments) => page::run(arguments),
        Chore::Site => site::run(),
        Chore::Wheel => dist::wheel::run(),
        Chore::Dist(arguments) => dist::run(arguments),
        Chore::Release(arguments) => release::run(arguments),
        Chore::Golden(arguments) => library::run("golden", arguments),
        Chore::Faults(arguments) => faults::run(arguments),
        Chore::Fuzz(arguments) => library::run("fuzz", arguments),
    }
}
