//! Compiles for other processors and systems: with the Rust that runs this if rustup has installed the target, else
//! with Debian's, and the standard library from source. Missing tools are an error; nothing is skipped.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

/// A file that exists if a Debian package is installed; without a slash, a program.
pub(crate) type Need = (&'static str, &'static str);

/// The Rust of Debian.
const DEBIAN: &[Need] = &[
    ("/usr/bin/rustc", "rustc-web"),
    ("/usr/bin/cargo", "cargo-web"),
    ("/usr/lib/rustlib/src/rust/library/Cargo.lock", "rust-web-src"),
];

/// Zig's C compiler and linker, with the libraries of all systems, and the tool that passes them to Cargo.
const ZIG: Python = Python { name: "zig", packages: "cargo-zigbuild==0.24.0 ziglang==0.17.1" };

/// Whether the Rust that runs this has the standard library for a target.
pub(crate) fn is_installed(triple: &str) -> Result<bool> {
    let mut rustc = Command::new("rustc");
    let output = rustc.args(["--print", "sysroot"]).current_dir(root()).output();
    let output = output.context("cannot run rustc")?.stdout;
    let sysroot = String::from_utf8(output).context("the path of rustc is not UTF-8")?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(triple).join("lib").is_dir())
}

/// Lets rustup add the standard library for a target, if it is missing.
pub(crate) fn install(triple: &str) -> Result<()> {
    if is_installed(triple)? {
        return Ok(());
    }
    if Command::new("rustup").arg("--version").output().is_err() {
        bail!("this needs Rust's target {triple}, which rustup installs: https://rustup.rs");
    }
    run::run(Command::new("rustup").args(["target", "add", triple]))
}

/// Fails, naming the packages to install, if anything that these targets need in addition to Rust is missing.
pub(crate) fn require<'a>(targets: impl IntoIterator<Item = (&'a str, &'a [Need])>) -> Result<()> {
    let mut missing = Vec::new();
    for (triple, needs) in targets {
        let rust = if is_installed(triple)? { &[][..] } else { DEBIAN };
        for (file, package) in rust.iter().chain(needs) {
            if !missing.contains(package) && !is_there(file) {
                missing.push(*package);
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "missing: apt-get install --no-install-recommends {} (on Debian; targets of rustup need none of its Rust)",
        missing.join(" ")
    );
    Ok(())
}

/// Whether this file or program exists.
fn is_there(file: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A path from the root stays as it is when joined.
    std::env::split_paths(&path).any(|folder| folder.join(file).is_file())
}

/// A cargo that compiles for a target, for one of its commands; with the whole standard library, or without.
pub(crate) fn cargo_for(triple: &str, command: &str, has_std: bool) -> Result<Command> {
    let mut cargo = if is_installed(triple)? {
        cargo(&[command])
    } else {
        let mut cargo = Command::new("/usr/bin/cargo");
        let built = if has_std { "std,panic_unwind,panic_abort,test" } else { "core,alloc" };
        cargo.args([command, &format!("-Zbuild-std={built}")]);
        // Building the standard library is unstable. Libraries of the Rust that runs this do not work with another.
        cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
        cargo.env_remove("LD_LIBRARY_PATH").env("CARGO", "/usr/bin/cargo");
        cargo
    };
    cargo.args(["--quiet", "--locked", "--target", triple]);
    cargo.env("CARGO_TARGET_DIR", target().join("portable"));
    Ok(cargo)
}

/// As [`cargo_for`] its command `build`, linked by Zig. `triple` may end with a version of glibc, as in `….2.17`. A `caller` is a
/// program that calls the tool, with its own arguments.
pub(crate) fn zigbuild(triple: &str, caller: Option<Command>) -> Result<Command> {
    let python = ZIG.command()?;
    let programs = Path::new(python.get_program()).parent().expect("it is in a folder");
    let mut parts = triple.splitn(2, '.');
    let cargo = cargo_for(parts.next().expect("one part"), "build", true)?;
    let mut command = caller.unwrap_or_else(|| Command::new(programs.join("cargo-zigbuild")));
    command.arg("zigbuild").args(cargo.get_args().skip(1).map(|argument| {
        // Only Zig needs the version.
        let is_triple = argument.to_str().is_some_and(|text| triple.starts_with(text));
        if is_triple { triple.as_ref() } else { argument }
    }));
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = [programs.to_owned()].into_iter().chain(std::env::split_paths(&others));
    command.env("PATH", std::env::join_paths(path)?);
    Ok(command)
}
