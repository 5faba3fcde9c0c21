//! Runs programs at the root of the repository, and knows where that is.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder")
}

/// The target folder, for everything that can be rebuilt.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), |path| root().join(path))
}

/// Makes a folder, or empties it.
pub fn empty(folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// The paths of all that is in a folder, in order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// Those of these names; all if there are none.
pub fn chosen<T: Copy>(names: &[String], all: &[T], name: impl Fn(&T) -> &str) -> Result<Vec<T>> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |wanted: &String| {
        all.iter().find(|one| name(one) == wanted).copied().with_context(|| {
            let known: Vec<_> = all.iter().map(&name).collect();
            format!("no target {wanted}; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// The exit code of a command of `cargo x`; prints its error.
pub fn exit(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo x: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The cargo that runs this.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or(OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments);
    command
}

/// Cargo in another workspace, with the target folder and profile of this one, so shared code is compiled once.
pub fn apart(verb: &str, folder: impl AsRef<Path>) -> Command {
    let mut command = cargo(&[verb, "--quiet", "--locked", "--manifest-path"]);
    command.arg(root().join(folder).join("Cargo.toml")).env("CARGO_TARGET_DIR", target());
    for (name, value) in [("OPT_LEVEL", "1"), ("DEBUG", "false"), ("INCREMENTAL", "false")] {
        command.env(format!("CARGO_PROFILE_DEV_{name}"), value);
    }
    command
}

/// The packages with tests in Rust. They share one set of features: if other packages are named, cargo recompiles most
/// libraries.
pub const PACKAGES: [&str; 7] = [
    "--workspace",
    "--exclude=xtask",
    "--exclude=xtask-api",
    "--exclude=xtask-library",
    "--exclude=umbel-js",
    "--exclude=umbel-page-files",
    "--exclude=umbel-page-plans",
];

/// Builds the command line, and with `--lib` the libraries for Python and the servers, as the tests compile them.
pub fn programs(which: &[&str]) -> Result<()> {
    let mut build = cargo(&["build", "--quiet", "--locked"]);
    // Examples need the same as tests: naming them keeps the features the same.
    build.args(PACKAGES).args(["--examples", "--bin", "umbel"]).args(which);
    run(build.env(EXTENSION.0, EXTENSION.1))
}

/// The library that Python loads is not linked to Python.
pub const EXTENSION: (&str, &str) = ("PYO3_BUILD_EXTENSION_MODULE", "1");
/// Runs a command, at the root unless it has a folder of its own, and fails if the command fails.
pub fn run(command: &mut Command) -> Result<()> {
    let line = announce(command);
    let status = command.status().with_context(|| format!("cannot run {line}"))?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}

/// Like [`run`], but passes each line of the command's output to `each` instead of printing it.
pub fn each_line(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    let line = announce(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {line}"))?;
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    for printed in output.lines() {
        let printed = printed.with_context(|| format!("cannot read what {line} prints"))?;
        each(&printed);
    }
    let status = child.wait()?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}

/// Like [`run`], but returns what the command prints.
pub fn printed(command: &mut Command) -> Result<String> {
    let mut text = String::new();
    each_line(command, |line| text += &format!("{line}\n"))?;
    Ok(text)
}

/// Prints a command that is about to run, and gives it a folder.
fn announce(command: &mut Command) -> String {
    let line = words(command);
    eprintln!("$ {line}");
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    line
}

/// The command as typed in a shell.
pub fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
