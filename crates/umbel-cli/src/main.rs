//! `umbel` on the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    umbel_cli::run()
}
