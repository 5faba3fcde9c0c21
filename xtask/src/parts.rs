//! The contents of a program: its crates, and their licences. Each program contains the list of its crates, for
//! vulnerability scanners.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use xtask::run::{self, cargo};

/// A crate that is in a program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) version: String,
    licence: String,
    /// Whether it is one of this repository.
    pub(crate) own: bool,
    /// Where its source is.
    pub(crate) folder: PathBuf,
}

/// The crates of a package on a target, or on this machine. `cargo tree` knows which ones are in the
/// program; `cargo metadata`, which knows their folders, also lists other packages' crates.
pub(crate) fn of(package: &str, features: &str, triple: Option<&str>) -> Result<Vec<Part>> {
    let mut tree = cargo(&["tree", "--locked", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--edges", "normal", "--package", package, "--features", features]);
    let mut metadata = cargo(&["metadata", "--quiet", "--locked", "--format-version", "1"]);
    metadata.arg("--all-features");
    if let Some(triple) = triple {
        tree.args(["--target", triple]);
        metadata.args(["--filter-platform", triple]);
    }
    let tree = run::printed(&mut tree)?;
    let named = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    let found: BTreeSet<_> = tree.lines().filter_map(named).collect();
    let metadata: Value = serde_json::from_str(&run::printed(&mut metadata)?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().context("no packages")?;
    let parts = packages.iter().map(|package| Part {
        name: text(&package["name"]),
        version: text(&package["version"]),
        licence: text(&package["license"]),
        own: package["source"].is_null(),
        folder: Path::new(&text(&package["manifest_path"])).with_file_name(""),
    });
    let mut parts: Vec<_> =
        parts.filter(|part| found.contains(&(part.name.clone(), part.version.clone()))).collect();
    parts.sort_unstable();
    ensure!(parts.len() == found.len(), "cargo tree and cargo metadata name different crates");
    Ok(parts)
}

/// The texts of all licences, each once, with the crates that have it.
pub(crate) fn licences(parts: &[Part]) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut all = "Umbel is under MIT or Apache-2.0, as you prefer. It contains:\n\n".to_owned();
    for part in parts.iter().filter(|part| !part.own) {
        let Part { name, version, licence, .. } = part;
        let mut none = true;
        for path in run::entries(&part.folder)? {
            let file = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
            if is_licence.iter().any(|start| file.starts_with(start)) && path.is_file() {
                let text = String::from_utf8_lossy(&fs::read(&path)?).trim().replace('\r', "");
                texts.entry(text).or_default().push(format!("{name} {version}"));
                none = false;
            }
        }
        let note = if none { ", whose package has no text of it" } else { "" };
        all += &format!("{name} {version}: {licence}{note}\n");
    }
    for (text, owners) in texts {
        all += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(72), owners.join(", "));
    }
    Ok(all)
}
