//! `cargo x golden`: writes the golden files from their manifests, the same bytes every time, and writes the filters' answers
//! into their manifest. New files and changes to files are entered in the manifests by hand; plans are given in full there,
//! so a better planner changes no file.

mod shared;

use std::fs;

use anyhow::{Context, Result, ensure};
use umbel::Filter;

use crate::vectors::{LinkVector, Manifest, OF_THE_CALLER, generations};
use xtask::run::root;

pub(crate) fn run() -> Result<()> {
    let folder = root().join("testdata/golden");
    let path = folder.join("manifest.json");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut manifest: Manifest = serde_json::from_slice(&text)?;
    for vector in &mut manifest.vectors {
        if vector.algorithm == OF_THE_CALLER {
            let filter = vector.build_hashes().with_context(|| vector.file.clone())?;
            vector.false_positives = vector.passing_hashes(&filter);
            write(&folder.join(&vector.file), &filter.to_bytes())?;
            continue;
        }
        let filter = vector.build().with_context(|| vector.file.clone())?;
        vector.false_positives = vector.passing_probes(&filter);
        vector.links = LinkVector::of(&filter);
        vector.generations = generations(&filter);
        vector.forgotten = vector.forgotten_members(&filter);
        vector.counts = vector.counts(&filter);
        vector.single_keys = vector.single_keys(&filter);
        let enough = vector.members == 0 || vector.false_positives.len() == 10;
        ensure!(enough, "{}: too few probes pass to tell anything", vector.file);
        write(&folder.join(&vector.file), &filter.to_bytes())?;
    }
    let mut text = serde_json::to_string_pretty(&manifest)?;
    text.push('\n');
    write(&path, text.as_bytes())?;
    shared::write_all(&root().join("testdata/shared"))
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{} ({} bytes)", path.display(), bytes.len());
    Ok(())
}
