//! `cargo x dist`: all release files, in `target/dist-out`, each tried once; and a table of them.

mod build;
mod crates;
mod module;
mod packages;
mod programs;
pub(crate) mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use xtask::run::{self, root, target};

use crate::page;

/// The options: which pieces.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The pieces: `programs` (with packages and manifests), `crates`, `wheel`, `module`, `javascript`; by default all.
    #[arg(value_name = "PIECE", value_parser = ["programs", "crates", "wheel", "module", "javascript"])]
    pieces: Vec<String>,

    /// Only programs, wheels and modules for these targets, such as `x86_64-unknown-linux-musl`.
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,

    /// Build programs and modules twice, in two folders, and compare them byte for byte.
    #[arg(long)]
    twice: bool,
}

/// A release file.
struct Piece {
    file: PathBuf,
    took: Duration,
    /// How it was tried.
    used: String,
}

impl Piece {
    /// Makes one, and reports how long that took.
    fn make(make: impl FnOnce() -> Result<(PathBuf, String)>) -> Result<Self> {
        let start = Instant::now();
        let (file, used) = make()?;
        Ok(Self { file, took: start.elapsed(), used })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let out = out();
    run::empty(&out)?;
    let wanted =
        |piece: &str| arguments.pieces.is_empty() || arguments.pieces.iter().any(|p| p == piece);
    let mut pieces = Vec::new();
    if wanted("programs") {
        pieces.extend(programs::all(&out, &arguments.target, arguments.twice)?);
    }
    if wanted("crates") {
        pieces.extend(crates::all(&out)?);
    }
    if wanted("wheel") {
        pieces.extend(wheel::all(&out, &arguments.target)?);
    }
    if wanted("module") {
        pieces.extend(module::all(&out, &arguments.target, arguments.twice)?);
    }
    if wanted("javascript") {
        let make = || Ok((page::package(&out)?, "used in Node".to_owned()));
        pieces.push(Piece::make(make)?);
    }
    fs::write(out.join("NOTES.md"), notes()?)?;
    sums(&out)?;
    println!("{:58} {:>10} {:>7}  used", "piece", "bytes", "s");
    for Piece { file, took, used } in &pieces {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::metadata(file)?.len();
        println!("{name:58} {bytes:>10} {:>7.1}  {used}", took.as_secs_f64());
    }
    Ok(())
}

/// The folder of all pieces.
fn out() -> PathBuf {
    target().join("dist-out")
}

/// The version of all crates.
pub(crate) fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    Ok(line
        .and_then(|rest| rest.strip_suffix('"'))
        .context("Cargo.toml has no version")?
        .to_owned())
}

/// The changelog's text for this version; before its release, the text on unreleased changes.
pub(crate) fn notes() -> Result<String> {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let mut sections = changelog.split("\n## ").skip(1);
    let version = version()?;
    let of_version = |section: &&str| section.starts_with(&version);
    let section = sections.clone().find(of_version).or_else(|| sections.next());
    let section = section.context("CHANGELOG.md has no section")?;
    Ok(section.split_once('\n').map_or("", |(_, text)| text).trim().to_owned() + "\n")
}

/// The time of the last commit, which all files of all pieces get, so they are the same whenever they are made.
fn epoch() -> Result<String> {
    let output =
        Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()).output()?;
    ensure!(output.status.success(), "git does not tell the time of the last commit");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Writes the SHA-256 sums of all files.
fn sums(folder: &Path) -> Result<()> {
    let mut text = String::new();
    for file in run::entries(folder)? {
        let name =
            file.file_name().and_then(|name| name.to_str()).context("a name is not UTF-8")?;
        text += &format!("{}  {name}\n", sha256(&file)?);
    }
    Ok(fs::write(folder.join("SHA256SUMS"), text)?)
}

/// The SHA-256 of a file.
fn sha256(file: &Path) -> Result<String> {
    let output = Command::new("sha256sum").arg(file).output().context("cannot run sha256sum")?;
    let text = String::from_utf8(output.stdout)?;
    match text.split_once(' ') {
        // The backslash marks an unusual name.
        Some((sum, _)) if output.status.success() => Ok(sum.trim_start_matches('\\').to_owned()),
        _ => bail!("{}: sha256sum fails", file.display()),
    }
}

/// Lets a program find the lines that two files share.
fn check_runs(command: &mut Command) -> Result<String> {
    command.args(["common", "examples/monday.txt", "examples/tuesday.txt"]);
    let lines = run::printed(command)?.lines().count();
    let told = format!("common of two files: {lines} lines");
    // The number that README.md shows.
    if lines == 78 { Ok(told) } else { bail!("{told}, and there are 78") }
}
