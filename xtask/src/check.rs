//! `cargo x check`: formatting, lints, docs.

use anyhow::Result;

use crate::run::{self, cargo};

pub(crate) fn run() -> Result<()> {
    run::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run::run(&mut cargo(&[
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    run::run(
        cargo(&["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
    )
}
