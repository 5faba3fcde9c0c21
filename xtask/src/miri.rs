//! `cargo x miri`: the library's own tests in Miri, which finds undefined behaviour in its unsafe code.
//!
//! Miri is a part of nightly compilers. It reports no AVX2 and no AVX-512, so that the plain kernels run, and neither
//! assembly (`bits/arch/inline.rs`) nor intrinsics; their twins are compared by the other tests. It cannot map files or make
//! pages of their own, so the library is tested without the feature `mmap`.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::run::{self, root, target};

/// The modules with unsafe code, and those above it.
const TESTED: &[&str] = &["bits::", "filter::", "hash::"];

/// Tests left out, by parts of their names, because each takes more than a minute there.
const SLOW: &[&str] =
    &["bits::arch::counters::", "bits::arch::planes::", "bits::arch::storage::", "every_kernel"];

pub(crate) fn run() -> Result<()> {
    let miri =
        Command::new("rustup").args(["run", "nightly", "cargo", "miri", "--version"]).output();
    ensure!(
        miri.is_ok_and(|output| output.status.success()),
        "Miri is missing; `rustup toolchain install nightly --profile minimal --component miri,rust-src` gets it"
    );
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "miri", "test", "--package=umbel", "--lib"]);
    command.args(["--no-default-features", "--features=std", "--"]).args(TESTED);
    command.args(SLOW.iter().flat_map(|name| ["--skip", name]));
    // Otherwise those of the cargo that runs this would override the nightly ones.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.current_dir(root()).env("CARGO_TARGET_DIR", target().join("miri"));
    command.env("PROPTEST_CASES", "4").env("MIRIFLAGS", "-Zmiri-disable-isolation");
    run::run(&mut command)
}
