//! The release files for Python: wheels for each system, and a source archive that builds offline, because it has the
//! sources of all dependencies. `cargo x wheel` makes it and this system's wheel, in `target/handed-out`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::python::{PIP_INSTALL, Python};
use xtask::run::{self, cargo, root, target};

use super::{Piece, module};
use crate::{cross, parts};

/// Maturin builds wheels with Zig's C compiler and linker, which support other processors, musl and old glibc versions.
/// The others check a wheel's metadata, the libraries that it needs, and its use of Python's stable interface.
const PYTHON: Python = Python {
    name: "dist-python",
    packages: "maturin==1.16.0 ziglang==0.17.1 numpy==2.4.6 twine==7.0.0 \
               auditwheel==6.8.2 abi3audit==0.0.26",
};
/// A system that a wheel is made for.
struct System {
    triple: &'static str,
    /// The oldest libraries that it works with, as in the wheel's name.
    oldest: &'static str,
}
/// Wheels that cannot be tried here are tried by the workflow `release`, before anything is published.
const SYSTEMS: [System; 4] = [
    System { triple: "x86_64-unknown-linux-gnu", oldest: "manylinux_2_17" },
    System { triple: "aarch64-unknown-linux-gnu", oldest: "manylinux_2_17" },
    System { triple: "x86_64-unknown-linux-musl", oldest: "musllinux_1_2" },
    System { triple: "aarch64-unknown-linux-musl", oldest: "musllinux_1_2" },
];
/// The largest allowed wheel, in bytes.
const LARGEST: u64 = 6_000_000;
/// Where Cargo finds the dependencies in the source archive.
const SOURCES: &str = include_str!("vendored.toml");
/// Makes a filter, to check that a wheel works.
const TRY: &str = "import umbel; seen = umbel.Bloom(100); assert seen.add('a') and 'a' in seen; \
                   assert list(umbel.dedup(['a', 'a'])) == ['a']; print(umbel.__version__)";

pub(crate) fn run() -> Result<()> {
    let folder = empty()?;
    let here = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let here = SYSTEMS.iter().find(|system| cfg!(target_os = "linux") && system.triple == here);
    let files = match here {
        Some(system) => vec![system.wheel(&folder)?.0, source(&folder)?],
        // The source archive is the same everywhere.
        None => {
            let wheel = built(maturin(&["build"], &folder)?, None, &folder)?;
            try_out(&wheel, &folder.join("wheel"))?;
            vec![wheel]
        }
    };
    for file in files {
        println!("{}: {:.1} MB", file.display(), fs::metadata(&file)?.len() as f64 / 1e6);
    }
    Ok(())
}

/// Makes all, checks and tries them, and copies them to a folder.
pub(super) fn all(out: &Path, only: &[String]) -> Result<Vec<Piece>> {
    let folder = empty()?;
    let mut pieces = Vec::new();
    let wanted = |system: &&System| only.is_empty() || only.iter().any(|t| t == system.triple);
    for system in SYSTEMS.iter().filter(wanted) {
        pieces.push(Piece::make(|| system.wheel(&folder))?);
    }
    if only.is_empty() {
        let used = "built without the network, installed and used".to_owned();
        pieces.push(Piece::make(|| Ok((source(&folder)?, used)))?);
    }
    let mut twine = python()?;
    twine.args(["-m", "twine", "check", "--strict"]);
    run::run(twine.args(pieces.iter().map(|piece| &piece.file)))?;
    for piece in &mut pieces {
        let to = out.join(piece.file.file_name().context("it has a name")?);
        fs::copy(&piece.file, &to)?;
        piece.file = to;
    }
    Ok(pieces)
}

impl System {
    /// Makes a wheel, checks it, and tries it if this machine can.
    fn wheel(&self, folder: &Path) -> Result<(PathBuf, String)> {
        cross::install(self.triple)?;
        let mut maturin = maturin(&["build"], folder)?;
        maturin.args(["--zig", "--target", self.triple, "--compatibility", self.oldest]);
        maturin.env("CARGO_TARGET_DIR", target().join("dist-wheels"));
        let wheel = built(maturin, Some(self.triple), folder)?;
        run::run(python()?.args(["-m", "abi3audit", "--strict"]).arg(&wheel))?;
        let oldest = self.oldest;
        if self.triple.ends_with("musl") {
            needs_musl(&wheel, &folder.join("unpacked"))?;
        } else {
            let audit = run::printed(python()?.args(["-m", "auditwheel", "show"]).arg(&wheel))?;
            ensure!(audit.contains(oldest), "{} is not of {oldest}:\n{audit}", wheel.display());
        }
        let mut used = format!("uses the stable interface alone, needs no more than {oldest}");
        if self.triple == format!("{}-unknown-linux-gnu", std::env::consts::ARCH) {
            try_out(&wheel, &folder.join("wheel"))?;
            used = format!("installed with pip and used; {used}");
        }
        Ok((wheel, used))
    }
}

/// Fails if the library in a wheel needs anything but musl. `auditwheel` looks for musl on this machine, and mistakes
/// the `libc.so` of glibc's headers, a text, for it.
fn needs_musl(wheel: &Path, folder: &Path) -> Result<()> {
    run::run(python()?.args(["-m", "zipfile", "-e"]).arg(wheel).arg(folder))?;
    let needed = module::needed(&newest(&folder.join("umbel"), "so")?)?;
    fs::remove_dir_all(folder)?;
    ensure!(needed == ["libc.so"], "{}: needs {needed:?}, not musl alone", wheel.display());
    Ok(())
}

/// The folder for the results, emptied.
fn empty() -> Result<PathBuf> {
    let folder = target().join("handed-out");
    run::empty(&folder)?;
    Ok(folder)
}

/// One of maturin's commands, whose result goes to a folder.
fn maturin(arguments: &[&str], folder: &Path) -> Result<Command> {
    let mut command = python()?;
    command.args(["-m", "maturin"]).args(arguments).arg("--manifest-path");
    command.arg(root().join("crates/umbel-py/Cargo.toml")).arg("--out").arg(folder);
    Ok(command)
}

/// Runs a command of maturin that builds a wheel for a target, or for this machine.
fn built(mut maturin: Command, triple: Option<&str>, folder: &Path) -> Result<PathBuf> {
    // Maturin includes a file of this name, and only from there.
    let licences = root().join("crates/umbel-py/LICENSES-OF-PARTS.txt");
    fs::write(&licences, parts::licences(&parts::of("umbel-py", "", triple)?)?)?;
    let ran = run::run(maturin.args(["--quiet", "--locked", "--profile", "dist"]));
    fs::remove_file(&licences)?;
    ran?;
    let wheel = newest(folder, "whl")?;
    let bytes = fs::metadata(&wheel)?.len();
    ensure!(bytes <= LARGEST, "{}: {bytes} bytes, and at most {LARGEST}", wheel.display());
    Ok(wheel)
}

/// Makes the source archive, and a wheel from it, which is tried.
fn source(folder: &Path) -> Result<PathBuf> {
    run::run(&mut maturin(&["sdist"], folder)?)?;
    let archive = newest(folder, "gz")?;
    with_dependencies(&archive)?;
    let built = from_archive(&archive, &folder.join("built"))?;
    try_out(&built, &folder.join("source"))?;
    Ok(archive)
}

/// This Python, with its programs in the path: maturin calls Zig's, and pip calls maturin.
fn python() -> Result<Command> {
    let mut command = PYTHON.command()?;
    let programs = Path::new(command.get_program()).parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = programs.into_iter().chain(std::env::split_paths(&others));
    command.env("PATH", std::env::join_paths(all)?);
    Ok(command)
}

/// The file with an extension that was last made in a folder.
fn newest(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut files = run::entries(folder)?;
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    let made = |file: &PathBuf| file.metadata().and_then(|meta| meta.modified()).ok();
    let found = files.into_iter().max_by_key(made);
    found.with_context(|| format!("{}: no .{extension} was made", folder.display()))
}

/// Puts the sources of all dependencies into the archive.
fn with_dependencies(archive: &Path) -> Result<()> {
    let folder = archive.with_file_name("unpacked");
    fs::create_dir(&folder)?;
    run::run(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&folder))?;
    let name = fs::read_dir(&folder)?.next().context("the archive is empty")??.file_name();
    let sources = folder.join(&name);
    // Dependencies of only this repository's other crates leave the lock file; the other versions stay.
    let metadata = ["metadata", "--quiet", "--format-version", "1", "--manifest-path"];
    let manifest = sources.join("Cargo.toml");
    run::run(cargo(&metadata).arg(&manifest).stdout(std::process::Stdio::null()))?;
    let vendor = ["vendor", "--quiet", "--locked", "--manifest-path"];
    let vendored = sources.join("vendor");
    let mut vendor = cargo(&vendor);
    run::run(vendor.arg(&manifest).arg(vendored).stdout(std::process::Stdio::null()))?;
    fs::create_dir(sources.join(".cargo"))?;
    fs::write(sources.join(".cargo/config.toml"), SOURCES)?;
    run::run(Command::new("tar").arg("czf").arg(archive).arg("-C").arg(&folder).arg(&name))?;
    Ok(fs::remove_dir_all(&folder)?)
}

/// Builds a wheel from the archive, with an empty registry and without the network; quickly, not as for a release.
fn from_archive(archive: &Path, folder: &Path) -> Result<PathBuf> {
    let mut pip = python()?;
    pip.args(["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-index"]);
    pip.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(folder).arg(archive);
    pip.env("CARGO_HOME", folder.join("cargo")).env("CARGO_NET_OFFLINE", "true");
    pip.env("CARGO_TARGET_DIR", target().join("dist-source"));
    run::run(pip.env("MATURIN_PEP517_ARGS", "--locked --profile dev"))?;
    newest(folder, "whl")
}

/// Installs a wheel into a folder and tries it.
fn try_out(wheel: &Path, folder: &Path) -> Result<()> {
    let mut pip = python()?;
    pip.args(PIP_INSTALL).args(["--no-index", "--no-deps", "--target"]);
    run::run(pip.arg(folder).arg(wheel))?;
    run::run(python()?.args(["-c", TRY]).env("PYTHONPATH", folder))
}
