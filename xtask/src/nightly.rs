//! The nightly compiler, next to the stable one that runs this.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::run::root;

/// A command of the nightly toolchain, such as `cargo`, in the root; fails unless the toolchain has a component.
pub fn command(program: &str, component: &str) -> Result<Command> {
    let list = ["component", "list", "--toolchain", "nightly", "--installed"];
    let list = Command::new("rustup").args(list).output();
    let is_installed = list.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with(component))
    });
    ensure!(
        is_installed,
        "{component} of a nightly compiler is missing; `rustup toolchain install nightly --profile minimal --component miri,rust-src,llvm-tools` gets it"
    );
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(root());
    // Otherwise the variables of the cargo that runs this would override the nightly ones.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    Ok(command)
}
