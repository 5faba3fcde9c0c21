//! A Python of our own, under the target folder, with the packages that `testdata/reader.py` needs.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::run::{root, run, target};

/// What the reader imports, pinned.
const XXHASH: &str = "4.1.0";

/// A command that starts this Python, which is made when it is not there.
pub(crate) fn command() -> Result<Command> {
    let folder = target().join("python");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python3" });
    let command = || Command::new(&python);
    if has_packages(command()) {
        return Ok(command());
    }
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    found.context(
        "python3 reads the golden files and is not installed; get it from python.org or with \
         `apt-get install python3 python3-venv`",
    )?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).context(
        "python3 cannot make a virtual environment; install its venv module, as with \
         `apt-get install python3-venv`",
    )?;
    let package = format!("xxhash=={XXHASH}");
    run(command().args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        &package,
    ]))
    .with_context(|| format!("pip cannot install {package}; is the package index in reach?"))?;
    ensure!(has_packages(command()), "{package} was installed but cannot be imported");
    Ok(command())
}

fn has_packages(mut python: Command) -> bool {
    let test = format!("import xxhash; assert xxhash.VERSION == '{XXHASH}'");
    let status = python.args(["-c", &test]).current_dir(root()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
