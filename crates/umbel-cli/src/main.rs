//! `umbel` on the command line.

use std::process::ExitCode;

use umbel_io::Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    umbel_cli::run()
}
