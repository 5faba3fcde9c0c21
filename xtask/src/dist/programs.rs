//! The command line for each system: an archive with the program, its manual pages, completions and licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use xtask::run::{self, cargo, root, target};

use super::{Piece, epoch, packages, version};
use crate::cross;
use crate::parts;

/// Those of Linux are static. What cannot be run here is run by the workflow `release`, before anything is published.
const TARGETS: &[&str] = &[
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
];
/// Of the command line, as it is handed out.
const FEATURES: &str = "group,parquet";
/// No archive is larger, in bytes.
const LARGEST: u64 = 6_000_000;
/// Puts the list of dependencies into the program, where scanners find it.
const AUDITABLE: &str = "0.7.7";
/// Makes a zip file of sorted names that is the same whenever it is made.
const ZIP: &str = "\
import os, sys, time, zipfile
out, top = sys.argv[1:3]
when = time.gmtime(int(os.environ['SOURCE_DATE_EPOCH']))[:6]
with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as file:
    for path in sorted(os.path.join(f, n) for f, _, names in os.walk(top) for n in names):
        info = zipfile.ZipInfo(path.replace(os.sep, '/'), when)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        file.writestr(info, open(path, 'rb').read())
";

/// Makes them, and packages of those for Linux.
pub(super) fn all(out: &Path, only: &[String], twice: bool) -> Result<Vec<Piece>> {
    let targets: Vec<_> = TARGETS
        .iter()
        .filter(|triple| only.is_empty() || only.iter().any(|t| t == *triple))
        .collect();
    ensure!(!targets.is_empty(), "no such target; there are {}", TARGETS.join(", "));
    cross::require(targets.iter().map(|triple| (**triple, &[][..])))?;
    let texts = texts()?;
    let mut pieces = Vec::new();
    let mut archives = Vec::new();
    for triple in targets {
        let mut folder = PathBuf::new();
        let piece = Piece::make(|| {
            let program = build(triple, root(), &target().join("portable"))?;
            if twice {
                same_elsewhere(triple, &program)?;
            }
            folder = filled(triple, &program, &texts)?;
            let archive = pack(&folder, triple, out)?;
            let used = used(&folder, triple)?;
            Ok((archive, if twice { format!("{used}; built twice, identical") } else { used }))
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

/// Compiles the command line of a folder with the repository.
fn build(triple: &str, sources: &Path, to: &Path) -> Result<PathBuf> {
    // It does not tell its version, so that its folder does.
    let tools = target().join("tools").join(format!("auditable-{AUDITABLE}"));
    let auditable = tools.join("bin/cargo-auditable");
    if !auditable.is_file() {
        let install = ["install", "--quiet", "--locked", "--debug", "cargo-auditable", "--version"];
        run::run(cargo(&install).arg(AUDITABLE).arg("--root").arg(&tools))?;
    }
    let zigbuild = cross::zigbuild(triple)?;
    let mut build = Command::new(auditable);
    build.arg("auditable").args(zigbuild.get_args());
    for (name, value) in zigbuild.get_envs() {
        match value {
            Some(value) => build.env(name, value),
            None => build.env_remove(name),
        };
    }
    build.args(["--profile", "dist", "--package", "umbel-cli", "--features", FEATURES]);
    let home = std::env::home_dir().context("no home folder")?;
    let cargo_home = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
    // These replace those of .cargo/config.toml. Of paths, the last one that fits counts: the target folder may be in the
    // sources.
    let mut flags = "--cfg=curve25519_dalek_backend=\"serial\"".to_owned();
    for (from, short) in [(cargo_home.as_path(), "/cargo"), (sources, "/umbel"), (to, "/target")] {
        flags += &format!(" --remap-path-prefix={}={short}", from.display());
    }
    if triple.contains("musl") {
        // Zig has musl itself.
        flags += " -Clink-self-contained=no";
    }
    build.env("RUSTFLAGS", flags);
    build.env("CARGO_TARGET_DIR", to).arg("--manifest-path").arg(sources.join("Cargo.toml"));
    run::run(&mut build)?;
    Ok(to.join(triple).join("dist").join(name(triple)))
}

fn name(triple: &str) -> &'static str {
    if triple.contains("windows") { "umbel.exe" } else { "umbel" }
}

/// Builds what is committed once more, in another folder, and compares.
fn same_elsewhere(triple: &str, program: &Path) -> Result<()> {
    let twin = std::env::temp_dir().join(format!("umbel-twin-{}", std::process::id()));
    fs::create_dir_all(&twin)?;
    let tar = twin.join("sources.tar");
    run::run(Command::new("git").args(["archive", "--format=tar", "HEAD", "-o"]).arg(&tar))?;
    run::run(Command::new("tar").arg("xf").arg(&tar).arg("-C").arg(&twin))?;
    let other = build(triple, &twin, &twin.join("built"))?;
    let same = fs::read(program)? == fs::read(&other)?;
    ensure!(same, "{} and {} differ", program.display(), other.display());
    Ok(fs::remove_dir_all(&twin)?)
}

/// Manual pages and completions, printed by the command line of this machine: they are the same everywhere.
fn texts() -> Result<PathBuf> {
    let folder = target().join("dist-texts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("completions"))?;
    let umbel = |arguments: &[&str]| {
        let mut umbel = cargo(&["run", "--quiet", "--locked", "--package", "umbel-cli"]);
        umbel.args(["--features", FEATURES, "--"]).args(arguments);
        umbel
    };
    run::run(umbel(&["man", "--dir"]).arg(folder.join("man")))?;
    for (shell, name) in [
        ("bash", "umbel.bash"),
        ("zsh", "_umbel"),
        ("fish", "umbel.fish"),
        ("powershell", "_umbel.ps1"),
    ] {
        fs::write(
            folder.join("completions").join(name),
            run::printed(&mut umbel(&["completions", shell]))?,
        )?;
    }
    Ok(folder)
}

/// A folder with all that belongs into an archive.
fn filled(triple: &str, program: &Path, texts: &Path) -> Result<PathBuf> {
    let version = version()?;
    let folder = target().join("dist-folders").join(format!("umbel-{version}-{triple}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    fs::copy(program, folder.join(name(triple)))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), folder.join(file))?;
    }
    run::run(
        Command::new("cp")
            .arg("-r")
            .arg(texts.join("man"))
            .arg(texts.join("completions"))
            .arg(&folder),
    )?;
    let parts = parts::of("umbel-cli", FEATURES, "normal", Some(triple))?;
    fs::write(folder.join("LICENSES-OF-PARTS.txt"), parts::licences(&parts)?)?;
    fs::write(folder.join("umbel.cdx.json"), parts::bill("umbel", &version, &parts)?)?;
    Ok(folder)
}

/// Packs a folder, the same way every time.
fn pack(folder: &Path, triple: &str, out: &Path) -> Result<PathBuf> {
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

/// Runs the program of a folder, where something here can.
fn used(folder: &Path, triple: &str) -> Result<String> {
    let program = folder.join(name(triple));
    let mut command = match triple {
        "x86_64-unknown-linux-musl" => Command::new(&program),
        "aarch64-unknown-linux-musl" => emulated("qemu-aarch64-static", &program),
        "x86_64-pc-windows-gnu" => {
            let mut wine = emulated("wine", &program);
            wine.envs(crate::portable::wine()?);
            wine
        }
        _ => return Ok("not here: the workflow runs it".to_owned()),
    };
    check_runs(&mut command)
}

fn emulated(by: &str, program: &Path) -> Command {
    let mut command = Command::new(by);
    command.arg(program);
    command
}

/// Lets a program find the lines that two files share.
pub(super) fn check_runs(command: &mut Command) -> Result<String> {
    command.args(["common", "examples/monday.txt", "examples/tuesday.txt"]);
    let lines = run::printed(command)?.lines().count();
    let told = format!("common of two files: {lines} lines");
    // As many as README.md shows.
    if lines == 78 { Ok(told) } else { bail!("{told}, and there are 78") }
}
