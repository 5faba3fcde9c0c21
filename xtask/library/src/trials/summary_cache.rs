//! Proxies that find pages in each other's caches by asking everyone or by summaries, and what becomes of them while
//! proxies and links fail. `examples/summary-cache` does it; docs/summary-cache.md has the result.

use std::ffi::OsString;

use anyhow::Result;
use xtask::run::{self, cargo, target};

/// The options of the trial.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    /// `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    run::run(
        cargo(&["run", "--release", "--quiet", "--locked", "--manifest-path"])
            .arg("examples/summary-cache/Cargo.toml")
            .env("CARGO_TARGET_DIR", target().join("summary-cache"))
            .args(["--", "trial"])
            .args(&arguments.options),
    )
}
