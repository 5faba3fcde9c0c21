//! The crates as published: packed, and compiled from the packed files alone.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, target};

use super::Piece;

/// Packs all published crates; each is compiled with the packed ones that it needs.
pub(super) fn all(out: &Path) -> Result<Vec<Piece>> {
    let packed = target().join("dist-crates");
    let _ = fs::remove_dir_all(&packed);
    // Cargo leaves out unpublished crates only if the others are named.
    let metadata = ["metadata", "--quiet", "--locked", "--no-deps", "--format-version=1"];
    let metadata: serde_json::Value = serde_json::from_str(&run::printed(&mut cargo(&metadata))?)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let published = packages.iter().filter(|package| package["publish"].is_null());
    let mut pack = cargo(&["package", "--quiet", "--locked", "--allow-dirty"]);
    pack.args(
        published.filter_map(|package| Some(format!("--package={}", package["name"].as_str()?))),
    );
    let start = Instant::now();
    run::run(pack.env("CARGO_TARGET_DIR", &packed))?;
    let mut pieces = Vec::new();
    for path in run::entries(&packed.join("package"))? {
        if path.extension().is_none_or(|extension| extension != "crate") {
            continue;
        }
        let listed = run::printed(Command::new("tar").arg("tzf").arg(&path))?;
        for needed in ["/README.md", "/LICENSE-MIT", "/LICENSE-APACHE"] {
            let has = listed.lines().any(|file| file.ends_with(needed));
            ensure!(has, "{}: no {needed}", path.display());
        }
        let file = out.join(path.file_name().context("it has a name")?);
        fs::copy(&path, &file)?;
        let used = "compiled from the .crate files alone".to_owned();
        pieces.push(Piece { file, took: start.elapsed(), used });
    }
    Ok(pieces)
}
