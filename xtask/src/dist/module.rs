//! The module for Redis and Valkey: an archive for each system, with the library and its licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, root};
use xtask::servers::{self, SERVERS};

use super::build::{self, Build};
use super::{Piece, programs};

/// The oldest glibc is the one of Debian 10 and RHEL 8.
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu.2.28",
    "aarch64-unknown-linux-gnu.2.28",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
];
const FILE: &str = "libumbel_redis.so";
/// The libraries that it may need from a system.
const LIBRARIES: [&str; 9] = [
    "libc.so",
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];
/// Adds to a filter and looks it up, in each server.
const TRY: &str = include_str!("try_module.py");

pub(super) fn all(out: &Path, only: &[String], twice: bool) -> Result<Vec<Piece>> {
    let plain = |triple: &&str| triple.split('.').next().unwrap_or_default().to_owned();
    let wanted = |triple: &&&str| only.is_empty() || only.contains(&plain(triple));
    let pieces = TARGETS.iter().filter(wanted).map(|triple| {
        Piece::make(|| {
            let build = Build { package: "umbel-redis", features: "", triple, file: FILE };
            crate::cross::install(&plain(triple))?;
            let library = build.run(twice)?;
            let mut used = needs(&library, triple)?;
            if *triple == TARGETS[0] {
                used = format!("{}; {used}", in_servers(&library)?);
            }
            let triple = plain(triple);
            let folder = programs::with_licences("umbel-redis", "umbel-redis", "", &triple)?;
            fs::copy(&library, folder.join(FILE))?;
            fs::copy(root().join("docs/redis.md"), folder.join("redis.md"))?;
            Ok((programs::pack(&folder, &triple, out)?, used + build::told(twice)))
        })
    });
    pieces.collect()
}

/// Its libraries and version of glibc; fails if it needs too much, or a server cannot find its entry.
fn needs(library: &Path, triple: &str) -> Result<String> {
    let needed = needed(library)?;
    let unknown = needed.iter().find(|name| !LIBRARIES.contains(&name.as_str()));
    ensure!(unknown.is_none(), "{}: needs {unknown:?}", library.display());
    let symbols = readelf(library, "--dyn-syms")?;
    ensure!(symbols.contains(" RedisModule_OnLoad"), "{}: no entry", library.display());
    let versions = symbols.match_indices("@GLIBC_2.").filter_map(|(at, start)| {
        let rest = &symbols[at + start.len()..];
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    });
    let Some(newest) = versions.max() else {
        ensure!(triple.contains("musl"), "{}: needs no glibc", library.display());
        return Ok(format!("needs {}", needed.join(", ")));
    };
    ensure!(newest <= 28, "{}: needs glibc 2.{newest}", library.display());
    Ok(format!("needs glibc 2.{newest}"))
}

/// The names of the libraries that a library needs.
pub(super) fn needed(library: &Path) -> Result<Vec<String>> {
    let dynamic = readelf(library, "--dynamic")?;
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let needed = needed.filter_map(|line| line.split_once('[')?.1.strip_suffix(']'));
    Ok(needed.map(str::to_owned).collect())
}

fn readelf(library: &Path, option: &str) -> Result<String> {
    run::printed(Command::new("readelf").args([option, "--wide"]).arg(library))
}

/// Loads it into the available servers.
fn in_servers(library: &PathBuf) -> Result<String> {
    let mut python = servers::with_programs(SERVERS.command()?, "dist");
    python.env("UMBEL_MODULE", library);
    let printed = run::printed(python.args(["-c", TRY]))?;
    Ok(printed.lines().last().context("nothing was printed")?.to_owned())
}
