//! The crates as they are published: packed, and built from the packed files alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, target};

use super::{Piece, programs};

/// Packs all crates that are published, and builds the command line from these files in an empty folder.
pub(super) fn all(out: &Path) -> Result<Vec<Piece>> {
    let packed = target().join("dist-crates");
    let _ = fs::remove_dir_all(&packed);
    // Those that are not published are left out by Cargo only if they are named.
    let metadata = run::printed(&mut cargo(&[
        "metadata",
        "--quiet",
        "--locked",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let published = |package: &&serde_json::Value| package["publish"].is_null();
    let names: Vec<_> =
        packages.iter().filter(published).filter_map(|package| package["name"].as_str()).collect();
    let mut pack = cargo(&["package", "--quiet", "--locked", "--no-verify", "--allow-dirty"]);
    pack.args(names.iter().flat_map(|name| ["--package", name]));
    run::run(pack.env("CARGO_TARGET_DIR", &packed))?;
    let unpacked = packed.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    let mut manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n".to_owned();
    let mut files = Vec::new();
    for entry in fs::read_dir(packed.join("package"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "crate") {
            run::run(Command::new("tar").arg("xzf").arg(&path).arg("-C").arg(&unpacked))?;
            let folder = unpacked.join(path.file_stem().context("it has a name")?);
            for needed in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
                ensure!(folder.join(needed).is_file(), "{}: no {needed}", path.display());
            }
            files.push(path);
        }
    }
    files.sort_unstable();
    let version = super::version()?;
    for name in &names {
        manifest += &format!("{name} = {{ path = \"{name}-{version}\" }}\n");
    }
    fs::write(unpacked.join("Cargo.toml"), manifest)?;
    let built = Piece::make(|| {
        let mut build = cargo(&["build", "--quiet", "--package", "umbel-cli", "--manifest-path"]);
        build.arg(unpacked.join("Cargo.toml")).env("CARGO_TARGET_DIR", packed.join("built"));
        run::run(&mut build)?;
        let mut program = Command::new(packed.join("built/debug/umbel"));
        Ok((files[0].clone(), programs::check_runs(&mut program)?))
    })?;
    let copied = files.iter().map(|file| {
        let to = out.join(file.file_name().context("it has a name")?);
        fs::copy(file, &to)?;
        let used = format!("umbel-cli built from the .crate files alone; {}", built.used);
        Ok(Piece { file: to, took: built.took / files.len() as u32, used })
    });
    copied.collect()
}
