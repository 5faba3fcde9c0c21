//! Compiles the release files, identically on every machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, root, target};

use crate::{cross, portable};

/// Puts the list of dependencies into the program, where scanners find it.
const AUDITABLE: &str = "0.7.7";

/// Something to compile.
pub(super) struct Build<'a> {
    pub(super) package: &'a str,
    pub(super) features: &'a str,
    /// The target; it may end with the oldest version of glibc, as in `….2.28`.
    pub(super) triple: &'a str,
    /// The name of the result.
    pub(super) file: &'a str,
}

/// The table's note on how often it was compiled.
pub(super) fn told(twice: bool) -> &'static str {
    if twice { "; built twice, identical" } else { "" }
}

impl Build<'_> {
    /// Compiles it; with `twice`, also compiles the commit in another folder, and compares.
    pub(super) fn run(&self, twice: bool) -> Result<PathBuf> {
        let file = self.build(root(), &target().join("portable"))?;
        if !twice {
            return Ok(file);
        }
        let twin = std::env::temp_dir().join(format!("umbel-twin-{}", std::process::id()));
        fs::create_dir_all(&twin)?;
        let tar = twin.join("sources.tar");
        run::run(Command::new("git").args(["archive", "--format=tar", "HEAD", "-o"]).arg(&tar))?;
        run::run(Command::new("tar").arg("xf").arg(&tar).arg("-C").arg(&twin))?;
        let other = self.build(&twin, &twin.join("built"))?;
        let same = fs::read(&file)? == fs::read(&other)?;
        ensure!(same, "{} and {} differ", file.display(), other.display());
        fs::remove_dir_all(&twin)?;
        Ok(file)
    }

    /// Compiles the repository that is in a folder.
    fn build(&self, sources: &Path, to: &Path) -> Result<PathBuf> {
        // It does not print its version, so the folder's name has it.
        let tools = target().join("tools").join(format!("auditable-{AUDITABLE}"));
        let auditable = tools.join("bin/cargo-auditable");
        if !auditable.is_file() {
            let mut install = cargo(&["install", "--quiet", "--locked", "--debug"]);
            install.args(["cargo-auditable", "--version", AUDITABLE, "--root"]);
            run::run(install.arg(&tools))?;
        }
        let mut auditable = Command::new(auditable);
        auditable.arg("auditable");
        let mut build = cross::zigbuild(self.triple, Some(auditable))?;
        build.args(["--profile", "dist", "--package", self.package, "--features", self.features]);
        let home = std::env::home_dir().context("no home folder")?;
        let cargo_home = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
        // These replace the flags in .cargo/config.toml. The last matching path counts: the target folder may be in the
        // sources.
        let mut flags = "--cfg=curve25519_dalek_backend=\"serial\"".to_owned();
        let folders = [(cargo_home.as_path(), "/cargo"), (sources, "/umbel"), (to, "/target")];
        for (from, short) in folders {
            flags += &format!(" --remap-path-prefix={}={short}", from.display());
        }
        if self.triple.contains("musl") {
            // Zig has musl itself. A library for a program linked to musl must not contain a copy of it.
            flags += " -Clink-self-contained=no";
            if self.file.ends_with(".so") {
                flags += " -Ctarget-feature=-crt-static";
            }
        } else if self.triple.contains("windows") {
            // Its header has a hash in place of the time.
            flags += " -Clink-arg=-Wl,-Brepro";
        } else if self.triple.contains("apple") {
            // Its number is a hash of all symbols, and those that are stripped later differ: the ones for debuggers name
            // folders, and LLVM numbers local ones by bitcode that is not always the same.
            flags += " -Clink-arg=-Wl,-S,-x";
        }
        build.env("RUSTFLAGS", flags);
        build.env("CARGO_TARGET_DIR", to).arg("--manifest-path").arg(sources.join("Cargo.toml"));
        run::run(&mut build)?;
        let triple = self.triple.split('.').next().expect("one part");
        Ok(to.join(triple).join("dist").join(self.file))
    }
}

/// The command that runs a program here, if there is one.
pub(super) fn running(triple: &str, program: &Path) -> Result<Option<Command>> {
    Ok(Some(match triple {
        "x86_64-unknown-linux-musl" => Command::new(program),
        "aarch64-unknown-linux-musl" => emulated("qemu-aarch64-static", program),
        "x86_64-pc-windows-gnu" => {
            let mut wine = emulated("wine", program);
            wine.envs(portable::wine()?);
            wine
        }
        _ => return Ok(None),
    }))
}

fn emulated(by: &str, program: &Path) -> Command {
    let mut command = Command::new(by);
    command.arg(program);
    command
}
