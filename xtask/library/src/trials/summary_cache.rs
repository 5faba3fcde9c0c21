//! Proxies that find pages in each other's caches by asking everyone or by summaries, and what becomes of them while
//! proxies and links fail. `examples/summary-cache` does it; docs/summary-cache.md has the result.

use anyhow::Result;
use xtask::run::{self, cargo, target};

use super::PassedOn;

pub(super) fn run(arguments: &PassedOn) -> Result<()> {
    run::run(
        cargo(&["run", "--release", "--quiet", "--locked", "--manifest-path"])
            .arg("examples/summary-cache/Cargo.toml")
            .env("CARGO_TARGET_DIR", target().join("summary-cache"))
            .args(["--", "trial"])
            .args(&arguments.options),
    )
}
