//! Squid for `cargo x test proxy`: the installed one, or Debian's package, unpacked under the target folder without
//! root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, target};

/// Squid 5.7 and its dependencies that few systems have.
const PACKAGES: [&str; 7] = [
    "squid=5.7-*",
    "squid-langpack",
    "libecap3",
    "libltdl7",
    "libmnl0",
    "libnetfilter-conntrack3",
    "libnfnetlink0",
];
/// Where an installed Squid is.
const INSTALLED: &str = "/usr/sbin/squid";
const HOW: &str = "Squid is missing: get it as with `apt-get install squid`";

/// Passes the path of Squid to tests.
pub(crate) fn with(tests: &mut Command) -> Result<&mut Command> {
    if !Path::new(INSTALLED).exists() {
        tests.env("SQUID_ROOT", unpacked().context(HOW)?);
    }
    Ok(tests)
}

/// Returns the folder with the unpacked package.
fn unpacked() -> Result<PathBuf> {
    let folder = target().join("squid");
    if folder.join("usr/sbin/squid").exists() {
        return Ok(folder);
    }
    let download = target().join("squid-download");
    fs::create_dir_all(download.join("lists/partial"))?;
    // With the system's package lists, or else with separate ones.
    let lists = format!("Dir::State::lists={}", download.join("lists").display());
    let cache = format!("Dir::Cache={}", download.display());
    let own = ["-o", &lists, "-o", &cache];
    if apt(&download, &[], "download", &PACKAGES).is_err() {
        apt(&download, &own, "update", &[])?;
        apt(&download, &own, "download", &PACKAGES)?;
    }
    let partial = target().join("squid-partial");
    for package in run::entries(&download)? {
        if package.extension().is_some_and(|it| it == "deb") {
            run::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&partial))?;
        }
    }
    fs::remove_dir_all(&download)?;
    fs::rename(&partial, &folder)?;
    Ok(folder)
}

/// Runs `apt-get`, which leaves packages in this folder.
fn apt(folder: &Path, options: &[&str], verb: &str, packages: &[&str]) -> Result<()> {
    let mut apt = Command::new("apt-get");
    // Its other user may not be allowed to write there.
    apt.args(["-qq", "-o", "APT::Sandbox::User="]).args(options).arg(verb).args(packages);
    let status = apt.current_dir(folder).status().context("cannot run apt-get")?;
    ensure!(status.success(), "apt-get {verb}: {status}");
    Ok(())
}
