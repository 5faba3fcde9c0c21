//! `cargo x release`: the pre-release checks. It publishes nothing, and prints the commands that do.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use xtask::run::{self, cargo, root, target};

use crate::dist;

/// The options: which version.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The version to release, such as 0.1.0.
    version: String,

    /// Only check what takes seconds: versions, changelog, tree and Rust version.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let version = arguments.version.as_str();
    let failed: Vec<_> = [
        ("versions", versions(version)),
        ("changelog", changelog(version)),
        ("tree", tree(version)),
        ("Rust version", oldest_rust()),
    ]
    .into_iter()
    .filter_map(|(what, result)| match result {
        Ok(told) => {
            println!("{what}: {told}");
            None
        }
        Err(error) => Some(format!("{what}: {error:#}")),
    })
    .collect();
    ensure!(failed.is_empty(), "not ready:\n  {}", failed.join("\n  "));
    if !arguments.quick {
        // The interface of each library is compared with its `api.txt`, whose changes are in the changelog.
        run::run(Command::new("bash").arg(".ci/run"))?;
        run::run(&mut cargo(&["x", "dist", "--twice"]))?;
    }
    println!(
        "\nReady. What publishes {version}, in this order:\n\
         \x20 git tag --sign v{version} --message 'umbel {version}'\n\
         \x20 git push origin v{version}\n\
         The workflow `release` then builds, uses and attests all pieces, and waits for an approval. Without it:\n\
         \x20 cargo publish --workspace --locked\n\
         \x20 python3 -m twine upload target/dist-out/*.whl target/dist-out/umbel-{version}.tar.gz\n\
         \x20 gh release create v{version} --verify-tag --notes-file target/dist-out/NOTES.md target/dist-out/*\n\
         Afterwards: copy umbel.rb to the tap and umbel.json to the bucket, and begin \"Unreleased\" in CHANGELOG.md."
    );
    Ok(())
}

/// Checks that everything with a version has this one.
fn versions(version: &str) -> Result<String> {
    let numbers = version.split('.').map(str::parse::<u32>);
    ensure!(
        numbers.clone().count() == 3 && numbers.clone().all(|number| number.is_ok()),
        "{version} is no version such as 0.1.0"
    );
    let found = dist::version()?;
    ensure!(
        found == version,
        "Cargo.toml has {found}: change it there, and in [workspace.dependencies]"
    );
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    for line in manifest.lines().filter(|line| line.contains("path = \"crates/")) {
        ensure!(line.contains(&format!("version = \"{version}\"")), "Cargo.toml: {line}");
    }
    Ok(version.to_owned())
}

/// Checks that the changelog has a section for this version, with a date.
fn changelog(version: &str) -> Result<String> {
    let text = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let heading = text.lines().find(|line| line.starts_with(&format!("## {version}")));
    let heading = heading.with_context(|| {
        format!("CHANGELOG.md has no section \"## {version} (YYYY-MM-DD)\": rename \"Unreleased\"")
    })?;
    let date = heading.split_once('(').and_then(|(_, date)| date.strip_suffix(')'));
    ensure!(date.is_some_and(|date| date.len() == 10), "{heading}: without its date");
    Ok(heading.to_owned())
}

/// Checks that everything is committed, and that the tag is free.
fn tree(version: &str) -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git").args(arguments).current_dir(root()).output()?;
        ensure!(output.status.success(), "git {} fails", arguments.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changes = git(&["status", "--porcelain"])?;
    ensure!(changes.is_empty(), "not committed:\n{changes}");
    ensure!(
        git(&["tag", "--list", &format!("v{version}")])?.is_empty(),
        "the tag v{version} exists"
    );
    git(&["rev-parse", "--short", "HEAD"])
}

/// Compiles the crates with the oldest Rust that they promise to support.
fn oldest_rust() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    let oldest = oldest.context("Cargo.toml has no rust-version")?.trim_end_matches('"');
    let mut version = Command::new("rustup");
    let there = version.args(["run", oldest, "rustc", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        bail!(
            "Rust {oldest} is not installed: rustup toolchain install {oldest} --profile minimal"
        );
    }
    let mut check = Command::new("rustup");
    check.args(["run", oldest, "cargo", "check", "--quiet", "--locked", "--package", "umbel-cli"]);
    run::run(check.env("CARGO_TARGET_DIR", target().join("oldest")))?;
    Ok(format!("compiles with {oldest}"))
}
