//! `cargo x golden`: writes the golden files and their manifest, the same bytes every time.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::run::root;
use crate::vectors::{LinkVector, Manifest, Vector};

/// The release whose format the files have: changes with the version of the format, not of the crate.
const MAKER: &str = "umbel 0.1.0";

/// Plans are written out, so that a better planner changes no file.
fn recipes() -> Vec<Vector> {
    vec![
        blocked("blocked-k8", 20, 8, 1000, 0.01),
        // The first word of the key's hash is enough.
        Vector { seed: 7, ..blocked("blocked-k3", 19, 3, 2000, 0.1) },
        // Two rounds of lanes; four times as many keys as planned, so that some probes pass.
        Vector { members: 2000, ..blocked("blocked-k16", 39, 16, 500, 1e-6) },
        // Scatter beyond the first word, and a seed that no signed or floating number holds.
        Vector { seed: 0xfedc_ba98_7654_3210, ..blocked("blocked-k11", 31, 11, 1000, 1e-3) },
        Vector { members: 150, ..blocked("blocked-k31", 3, 31, 30, 1e-9) },
        Vector { members: 400, ..blocked("blocked-k24", 8, 24, 100, 1e-6) },
        // More than one chunk, so more than one chunk checksum; nearly all zeros.
        Vector { members: 8000, ..blocked("blocked-chunks", 17_408, 1, 8000, 0.001) },
        long_keys(blocked("blocked-long-keys", 20, 8, 1000, 0.01)),
        long_keys(keyed(blocked("blocked-long-keys-keyed", 21, 5, 1000, 0.02))),
        Vector { members: 0, ..blocked("blocked-empty", 1, 8, 1, 0.5) },
        keyed(blocked("blocked-keyed", 23, 8, 1000, 0.01)),
        Vector { seed: 42, ..classic("classic-odd", 12_345, 7, 1200, 0.01) },
        classic("classic-tiny", 67, 5, 9, 0.03),
        keyed(classic("classic-keyed", 9_601, 6, 1000, 0.01)),
        Vector { seed: 9, ..sliced("sliced-odd", 7 * 1_371, 7, 1000, 0.01) },
        keyed(sliced("sliced-keyed", 5 * 67, 5, 46, 0.05)),
        // Links after the first are planned: a planner that sizes them otherwise keeps these files
        // readable, but has to bring its own.
        Vector { members: 900, ..scalable("scalable-one", 16, 5, 1000, 0.05) },
        Vector { members: 2000, seed: 3, ..scalable("scalable-four", 4, 5, 200, 0.05) },
        Vector { members: 1000, ..keyed(scalable("scalable-keyed", 6, 8, 300, 0.02)) },
        Vector { members: 0, ..scalable("scalable-empty", 1, 8, 1, 0.5) },
        Vector { seed: 11, ..bloomier("bloomier-7", 20, 7, 1000, 0.01) },
        keyed(bloomier("bloomier-8", 22, 8, 1000, 0.004)),
        Vector { probes_tried: 100_000, ..bloomier("bloomier-12", 33, 12, 1000, 0.001) },
        bloomier("bloomier-tiny", 1, 3, 3, 0.2),
        // Planned for so many keys that there are two shards.
        Vector { members: 20_000, ..bloomier("bloomier-shards", 480, 5, 3_000_001, 0.04) },
        Vector { members: 0, ..bloomier("bloomier-empty", 1, 1, 1, 0.5) },
        // Levels after the first are planned, as links are.
        Vector { seed: 5, ..cascade("cascade-levels", 10, 5, 1000, 0.05, 20_000) },
        keyed(cascade("cascade-keyed", 12, 8, 1000, 0.1, 3_000)),
        Vector { detail: 1, ..cascade("cascade-list", 12, 6, 1000, 0.03, 3_000) },
        cascade("cascade-one-level", 16, 3, 1000, 0.1, 0),
        Vector { members: 0, ..cascade("cascade-empty", 1, 8, 1, 0.5, 50) },
    ]
}

fn blocked(name: &str, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "blocked".into(), ..classic(name, 512 * blocks, probes, keys, fpp) }
}

fn sliced(name: &str, bits: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "sliced".into(), ..classic(name, bits, probes, keys, fpp) }
}

/// Of a first link that suffices for its keys.
fn scalable(name: &str, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "scalable".into(), ..blocked(name, blocks, probes, keys, fpp) }
}

fn bloomier(name: &str, blocks: u64, detail: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "bloomier".into(), detail, ..blocked(name, blocks, 3, keys, fpp) }
}

/// Of a first level that suffices for its keys.
fn cascade(name: &str, blocks: u64, probes: u32, keys: u64, fpp: f64, excluded: u64) -> Vector {
    let excluded_prefix = if excluded > 0 { "excluded-".into() } else { String::new() };
    let kind = "cascade".into();
    Vector { kind, excluded_prefix, excluded, ..blocked(name, blocks, probes, keys, fpp) }
}

fn classic(name: &str, bits: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector {
        file: format!("{name}.umbel"),
        maker: MAKER.into(),
        kind: "classic".into(),
        planned_keys: keys,
        planned_fpp: fpp,
        bits,
        probes,
        detail: 0,
        algorithm: "xxh3-128".into(),
        seed: 0,
        secret: None,
        member_prefix: "member-".into(),
        members: keys,
        probe_prefix: "probe-".into(),
        probes_tried: 20_000,
        false_positives: Vec::new(),
        links: Vec::new(),
        excluded_prefix: String::new(),
        excluded: 0,
    }
}

/// Keys beyond 240 bytes, which XXH3 hashes another way than short ones.
fn long_keys(vector: Vector) -> Vector {
    Vector { member_prefix: "member-".repeat(40), probe_prefix: "probe-".repeat(50), ..vector }
}

/// Under the secret of bytes 0 to 15.
fn keyed(vector: Vector) -> Vector {
    Vector {
        algorithm: "siphash-1-3-128".into(),
        secret: Some("000102030405060708090a0b0c0d0e0f".into()),
        ..vector
    }
}

pub(crate) fn run() -> Result<()> {
    let folder = root().join("testdata/golden");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut manifest = Manifest { vectors: recipes() };
    for vector in &mut manifest.vectors {
        let filter = vector.build().with_context(|| vector.file.clone())?;
        vector.false_positives = vector.passing_probes(&filter);
        vector.links = LinkVector::of(&filter);
        let enough = vector.members == 0 || vector.false_positives.len() == 10;
        ensure!(enough, "{}: too few probes pass to tell anything", vector.file);
        let mut bytes = Vec::new();
        filter.write(&mut bytes)?;
        write(&folder.join(&vector.file), &bytes)?;
    }
    let mut text = serde_json::to_string_pretty(&manifest)?;
    text.push('\n');
    write(&folder.join("manifest.json"), text.as_bytes())
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{} ({} bytes)", path.display(), bytes.len());
    Ok(())
}
