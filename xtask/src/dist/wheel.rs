//! `cargo x wheel`: what is handed out for Python, in `target/handed-out`: a wheel for any Linux with glibc 2.17 or later, and a
//! source archive that builds without the network, because it carries the sources of all dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use xtask::python::Python;
use xtask::run::{self, cargo, root, target};

use super::Piece;

/// Maturin builds the wheel with the C compiler and linker of Zig, which know old versions of glibc.
const PYTHON: Python = Python {
    name: "dist-python",
    packages: &[("maturin", "1.16.0"), ("ziglang", "0.17.1"), ("numpy", "2.4.6")],
};
/// No wheel is larger, in bytes.
const LARGEST: u64 = 6_000_000;
/// Where Cargo finds the dependencies in the source archive.
const SOURCES: &str = "\
[source.crates-io]
replace-with = \"vendored\"

[source.vendored]
directory = \"vendor\"
";
/// Makes a filter, to see that a wheel works.
const TRY: &str = "import umbel; seen = umbel.Bloom(100); assert seen.add('a') and 'a' in seen; \
                   assert list(umbel.dedup(['a', 'a'])) == ['a']; print(umbel.__version__)";

pub(crate) fn run() -> Result<()> {
    for file in made()? {
        println!("{}: {:.1} MB", file.display(), fs::metadata(&file)?.len() as f64 / 1e6);
    }
    Ok(())
}

/// Copies both to a folder.
pub(super) fn all(out: &Path) -> Result<Vec<Piece>> {
    let start = Instant::now();
    let files = made()?;
    let used = ["installed with pip and used", "built without the network, installed and used"];
    let pieces = files.into_iter().zip(used).map(|(file, used)| {
        let to = out.join(file.file_name().context("it has a name")?);
        fs::copy(file, &to)?;
        Ok(Piece { file: to, took: start.elapsed() / 2, used: used.to_owned() })
    });
    pieces.collect()
}

/// Makes and uses a wheel and a source archive.
fn made() -> Result<[PathBuf; 2]> {
    let folder = target().join("handed-out");
    let _ = fs::remove_dir_all(&folder);
    let maturin = |arguments: &[&str]| -> Result<Command> {
        let mut command = python()?;
        command.args(["-m", "maturin"]).args(arguments).arg("--manifest-path");
        command.arg(root().join("crates/umbel-py/Cargo.toml")).arg("--out").arg(&folder);
        Ok(command)
    };
    let linux = ["--compatibility", "manylinux_2_17", "--zig"];
    let wheel = ["build", "--quiet", "--locked", "--profile", "dist"];
    run::run(maturin(&wheel)?.args(linux.iter().filter(|_| cfg!(target_os = "linux"))))?;
    let wheel = the_file(&folder, "whl")?;
    let bytes = fs::metadata(&wheel)?.len();
    ensure!(bytes <= LARGEST, "{}: {bytes} bytes, and at most {LARGEST}", wheel.display());
    try_out(&wheel, &folder.join("wheel"))?;

    run::run(&mut maturin(&["sdist"])?)?;
    let archive = the_file(&folder, "gz")?;
    with_dependencies(&archive)?;
    let built = from_archive(&archive, &folder.join("built"))?;
    try_out(&built, &folder.join("source"))?;
    Ok([wheel, archive])
}

/// This Python, with its programs in the path: maturin calls Zig's, and pip calls maturin.
fn python() -> Result<Command> {
    let mut command = PYTHON.command()?;
    let programs = Path::new(command.get_program()).parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = programs.into_iter().chain(std::env::split_paths(&others));
    let all = std::env::join_paths(all)?;
    command.env("PATH", all);
    Ok(command)
}

/// The only file in a folder with an extension.
fn the_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    let found = files.into_iter().find(|file| file.extension().is_some_and(|e| e == extension));
    found.with_context(|| format!("{}: no .{extension} was made", folder.display()))
}

/// Puts the sources of all dependencies into the archive.
fn with_dependencies(archive: &Path) -> Result<()> {
    let folder = archive.with_file_name("unpacked");
    fs::create_dir(&folder)?;
    run::run(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&folder))?;
    let name = fs::read_dir(&folder)?.next().context("the archive is empty")??.file_name();
    let sources = folder.join(&name);
    // What only other crates of this repository need leaves the lock file; the versions of the rest stay.
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

/// Builds a wheel from the archive, with an empty registry and without the network; quickly, and not as it is handed out.
fn from_archive(archive: &Path, folder: &Path) -> Result<PathBuf> {
    let mut pip = python()?;
    pip.args(["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-index"]);
    pip.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(folder).arg(archive);
    pip.env("CARGO_HOME", folder.join("cargo")).env("CARGO_NET_OFFLINE", "true");
    pip.env("CARGO_TARGET_DIR", target().join("dist-source"));
    run::run(pip.env("MATURIN_PEP517_ARGS", "--locked --profile dev"))?;
    the_file(folder, "whl")
}

/// Installs a wheel into a folder and uses it.
fn try_out(wheel: &Path, folder: &Path) -> Result<()> {
    let mut pip = python()?;
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    run::run(pip.args(["--no-deps", "--target"]).arg(folder).arg(wheel))?;
    run::run(python()?.args(["-c", TRY]).env("PYTHONPATH", folder))
}
