//! Python environments under the target folder, each with the packages that a script needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::run::{root, run, target};

/// A Python with packages, pinned to versions.
pub struct Python {
    /// The name of its folder.
    pub name: &'static str,
    /// Their names and versions, as pip takes them: `numpy==2.4.6`, with blanks between them.
    pub packages: &'static str,
}

/// What `testdata/reader.py` needs.
pub const READER: Python = Python { name: "python", packages: "xxhash==4.1.0" };

/// The arguments that install packages, before their names.
pub const PIP_INSTALL: [&str; 5] =
    ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

impl Python {
    /// Returns a command that starts it; creates it if necessary.
    pub fn command(&self) -> Result<Command> {
        self.command_with(None)
    }

    /// As [`command`](Self::command), for a program of one of its packages.
    pub fn program(&self, name: &str) -> Result<Command> {
        let python = self.command()?;
        Ok(Command::new(Path::new(python.get_program()).with_file_name(name)))
    }

    /// Its folder, made with an interpreter or with `python3`.
    pub fn folder(&self, interpreter: Option<&Path>) -> Result<PathBuf> {
        let Some(interpreter) = interpreter else { return Ok(target().join(self.name)) };
        let name = "import sysconfig; print(sysconfig.get_config_var('SOABI'))";
        let output = Command::new(interpreter).args(["-c", name]).output();
        let output = output.ok().filter(|output| output.status.success());
        let output = output.with_context(|| format!("{} is no Python", interpreter.display()))?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(target().join(format!("{}-{name}", self.name)))
    }

    /// As [`command`](Self::command), with another interpreter than `python3`.
    pub fn command_with(&self, interpreter: Option<&Path>) -> Result<Command> {
        let folder = self.folder(interpreter)?;
        let interpreter = interpreter.unwrap_or(Path::new("python3"));
        let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python3" });
        let command = || Command::new(&python);
        if self.has_packages(command()) {
            return Ok(command());
        }
        let found = Command::new(interpreter).arg("--version").stdout(Stdio::null()).status();
        found.context(
            "python3 is needed and not installed; get it from python.org or with \
             `apt-get install python3 python3-venv`",
        )?;
        run(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&folder)).context(
            "python3 cannot make a virtual environment; install its venv module, as with \
             `apt-get install python3-venv`",
        )?;
        let packages = self.packages;
        run(command().args(PIP_INSTALL).args(packages.split(' '))).with_context(|| {
            format!("pip cannot install {packages}; is the package index in reach?")
        })?;
        let has_packages = self.has_packages(command());
        ensure!(has_packages, "{packages} installed, but not of these versions");
        Ok(command())
    }

    fn has_packages(&self, mut python: Command) -> bool {
        let test = "import sys; from importlib.metadata import version; \
                    assert all(version(p) == v for p, v in zip(sys.argv[1::2], sys.argv[2::2]))";
        let packages = self.packages.split(' ').flat_map(|package| package.split("=="));
        let python = python.args(["-c", test]).args(packages).current_dir(root());
        python.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }
}
