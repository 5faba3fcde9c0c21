//! The command line for each system: an archive with the program, its manual pages, completions and licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, root, target};

use super::build::{self, Build};
use super::{Piece, epoch, packages, version};
use crate::cross::{self, Need};
use crate::{parts, portable};

/// Programs for Linux are static. The workflow `release` runs the others before anything is published.
const TARGETS: &[&str] = &[
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
];
/// The features of the released command line.
const FEATURES: &str = "parquet";
/// The largest allowed archive, in bytes.
const LARGEST: u64 = 6_000_000;
/// Makes a zip file of sorted names that is the same whenever it is made.
const ZIP: &str = include_str!("zip.py");

/// Makes the programs, and packages of the Linux ones.
pub(super) fn all(out: &Path, only: &[String], twice: bool) -> Result<Vec<Piece>> {
    let wanted = |triple: &&&str| only.is_empty() || only.iter().any(|t| t == **triple);
    let targets: Vec<_> = TARGETS.iter().filter(wanted).collect();
    ensure!(!targets.is_empty(), "no such target; there are {}", TARGETS.join(", "));
    targets.iter().try_for_each(|triple| cross::install(triple))?;
    cross::require(targets.iter().map(|triple| (**triple, needs(triple))))?;
    let mut texts = None;
    let mut pieces = Vec::new();
    let mut archives = Vec::new();
    for triple in targets {
        let mut folder = PathBuf::new();
        let piece = Piece::make(|| {
            let build =
                Build { package: "umbel-cli", features: FEATURES, triple, file: name(triple) };
            let program = build.run(twice)?;
            if texts.is_none() {
                texts = Some(self::texts(triple, &program)?);
            }
            folder = filled(triple, &program, texts.as_deref().expect("made"))?;
            let archive = pack(&folder, triple, out)?;
            let used = match build::running(triple, &program)? {
                Some(mut program) => super::check_runs(&mut program)?,
                None => "not here: the workflow runs it".to_owned(),
            };
            Ok((archive, used + build::told(twice)))
        })?;
        let bytes = fs::metadata(&piece.file)?.len();
        ensure!(bytes <= LARGEST, "{}: {bytes} bytes, and at most {LARGEST}", piece.file.display());
        archives.push((*triple, piece.file.clone()));
        pieces.push(piece);
        if triple.contains("linux") {
            pieces.extend(packages::of(&folder, triple, out)?);
        }
    }
    packages::manifests(&archives, out)?;
    Ok(pieces)
}

/// The tools that make packages, run programs of other systems, and read the formula.
fn needs(triple: &str) -> &'static [Need] {
    match triple {
        "x86_64-unknown-linux-musl" => &[("dpkg-deb", "dpkg"), ("rpmbuild", "rpm")],
        "aarch64-unknown-linux-musl" => &[("qemu-aarch64-static", "qemu-user-static")],
        "x86_64-pc-windows-gnu" => portable::WINE,
        _ => &[("ruby", "ruby")],
    }
}

fn name(triple: &str) -> &'static str {
    if triple.contains("windows") { "umbel.exe" } else { "umbel" }
}

/// Manual pages and completions, printed by a Linux program, or else by this machine's: they are the same everywhere.
fn texts(triple: &str, program: &Path) -> Result<PathBuf> {
    let folder = target().join("dist-texts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("completions"))?;
    let umbel = |arguments: &[&str]| -> Result<Command> {
        let for_linux = build::running(triple, program)?.filter(|_| triple.contains("linux"));
        let mut umbel = for_linux.unwrap_or_else(|| {
            let mut umbel = cargo(&["run", "--quiet", "--locked", "--package", "umbel-cli"]);
            umbel.args(["--features", FEATURES, "--"]);
            umbel
        });
        umbel.args(arguments);
        Ok(umbel)
    };
    run::run(umbel(&["man", "--dir"])?.arg(folder.join("man")))?;
    for (shell, name) in [
        ("bash", "umbel.bash"),
        ("zsh", "_umbel"),
        ("fish", "umbel.fish"),
        ("powershell", "_umbel.ps1"),
    ] {
        let text = run::printed(&mut umbel(&["completions", shell])?)?;
        fs::write(folder.join("completions").join(name), text)?;
    }
    Ok(folder)
}

/// A folder with everything for an archive.
fn filled(triple: &str, program: &Path, texts: &Path) -> Result<PathBuf> {
    let folder = with_licences("umbel", "umbel-cli", FEATURES, triple)?;
    fs::copy(program, folder.join(name(triple)))?;
    fs::copy(root().join("README.md"), folder.join("README.md"))?;
    let texts = ["man", "completions"].map(|name| texts.join(name));
    run::run(Command::new("cp").arg("-r").args(texts).arg(&folder))?;
    Ok(folder)
}

/// A new folder for an archive, with umbel's licences and the licences of all its parts.
pub(super) fn with_licences(
    name: &str,
    package: &str,
    features: &str,
    triple: &str,
) -> Result<PathBuf> {
    let version = version()?;
    let folder = target().join("dist-folders").join(format!("{name}-{version}-{triple}"));
    run::empty(&folder)?;
    for file in ["CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), folder.join(file))?;
    }
    let parts = parts::of(package, features, Some(triple))?;
    fs::write(folder.join("LICENSES-OF-PARTS.txt"), parts::licences(&parts)?)?;
    Ok(folder)
}

/// Packs a folder, the same way every time.
pub(super) fn pack(folder: &Path, triple: &str, out: &Path) -> Result<PathBuf> {
    let top = folder.file_name().context("it has a name")?;
    let beside = folder.parent().context("it is in a folder")?;
    let kind = if triple.contains("windows") { "zip" } else { "tar.gz" };
    let archive = out.join(format!("{}.{kind}", top.to_string_lossy()));
    let epoch = epoch()?;
    if kind == "zip" {
        let script = format!("import os; os.chdir({:?})\n{ZIP}", beside.display().to_string());
        let mut zip = Command::new("python3");
        zip.args(["-c", &script]).arg(&archive).arg(top).env("SOURCE_DATE_EPOCH", &epoch);
        run::run(&mut zip)?;
    } else {
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
        tar.arg(format!("--mtime=@{epoch}")).arg("--use-compress-program=gzip -9n");
        run::run(tar.arg("-cf").arg(&archive).arg("-C").arg(beside).arg(top))?;
    }
    Ok(archive)
}
