//! The nightly compiler, beside the stable one that runs this.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::run::root;

/// Fails unless a nightly toolchain has a component.
pub(crate) fn has(component: &str) -> Result<()> {
    let list = Command::new("rustup")
        .args(["component", "list", "--toolchain", "nightly", "--installed"])
        .output();
    let installed = list.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with(component))
    });
    ensure!(
        installed,
        "{component} of a nightly compiler is missing; `rustup toolchain install nightly --profile minimal --component miri,rust-src` gets it"
    );
    Ok(())
}

/// `cargo` of the nightly toolchain, in the root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(root());
    // Otherwise those of the cargo that runs this would override the nightly ones.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command
}
