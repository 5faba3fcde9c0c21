//! What a program consists of: its crates, their licences, and a list of them for those who look for vulnerabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use xtask::run::{cargo, root};

use super::printed;

/// A crate that is in a program.
#[derive(Debug)]
pub(super) struct Part {
    name: String,
    version: String,
    licence: String,
    /// `None` if it is one of this repository.
    source: Option<String>,
    folder: PathBuf,
}

/// The crates that a package needs on a target, but for those that only build it or test it.
pub(super) fn of(package: &str, features: &str, triple: &str) -> Result<Vec<Part>> {
    let manifest = root().join("crates").join(package).join("Cargo.toml");
    let mut command = cargo(&["metadata", "--quiet", "--locked", "--format-version", "1"]);
    command.args(["--filter-platform", triple, "--features", features, "--manifest-path"]);
    let metadata: Value = serde_json::from_str(&printed(command.arg(&manifest))?)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let mut found = BTreeSet::new();
    let mut next = vec![text(&metadata["resolve"]["root"])];
    while let Some(id) = next.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        for dependency in list(&nodes.get(&id).context("an unknown package")?["deps"]) {
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                next.push(text(&dependency["pkg"]));
            }
        }
    }
    let packages = list(&metadata["packages"])
        .into_iter()
        .filter(|package| found.contains(&text(&package["id"])));
    let mut parts: Vec<_> = packages
        .map(|package| Part {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
            source: package["source"].as_str().map(str::to_owned),
            folder: Path::new(&text(&package["manifest_path"]))
                .parent()
                .unwrap_or(Path::new(""))
                .to_owned(),
        })
        .collect();
    parts.sort_unstable_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(parts)
}

/// The texts of all licences, each once, with the crates that have it.
pub(super) fn licences(parts: &[Part]) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut all = "Umbel is under MIT or Apache-2.0, as you prefer. It contains:\n\n".to_owned();
    for part in parts.iter().filter(|part| part.source.is_some()) {
        let Part { name, version, licence, .. } = part;
        let mut none = true;
        let mut entries: Vec<_> =
            fs::read_dir(&part.folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        entries.sort_unstable();
        for path in entries {
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

/// The list of the crates in a program, as CycloneDX 1.6.
pub(super) fn bill(program: &str, version: &str, parts: &[Part]) -> Result<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let checksum = |part: &Part| {
        let start = format!("name = \"{}\"\nversion = \"{}\"\n", part.name, part.version);
        let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&start))?;
        Some(entry.split_once("checksum = \"")?.1.split_once('"')?.0.to_owned())
    };
    let components: Vec<_> = parts
        .iter()
        .map(|part| {
            let purl = format!("pkg:cargo/{}@{}", part.name, part.version);
            let mut component = json!({
                "type": "library",
                "bom-ref": purl,
                "name": part.name,
                "version": part.version,
                "purl": purl,
                "licenses": [{ "expression": part.licence.replace('/', " OR ") }],
            });
            if let Some(sum) = checksum(part) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
            }
            component
        })
        .collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": program, "version": version } },
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}
