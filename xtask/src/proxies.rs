//! `cargo x test summary-cache`: the caching proxies of `examples/summary-cache`, whose tests run the trial in its
//! quick form.

use anyhow::Result;

use xtask::run::{self, cargo, target};

pub(crate) fn summary_cache() -> Result<()> {
    run::run(
        cargo(&["test", "--quiet", "--locked", "--manifest-path"])
            .arg("examples/summary-cache/Cargo.toml")
            .env("CARGO_TARGET_DIR", target().join("summary-cache")),
    )
}
