//! `cargo x golden`: writes the golden files and their manifest, the same bytes every time.

mod changes;
mod shared;

use std::fs;

use anyhow::{Context, Result, ensure};
use umbel::Filter;

use crate::vectors::{
    LinkVector, Manifest, OF_THE_CALLER, OWN_HASH, OWN_PAIR, Vector, generations,
};
use xtask::run::root;

/// The release whose format the files have: changes with the format version, not with the crate's.
const MAKER: &str = "umbel 0.1.0";

/// Plans are given in full, so that a better planner changes no file.
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
        // Members inserted twice, so that counts are 2 and more; some reach the maximum.
        counting("counting-4", 4, 20, 8, 1000, 0.01),
        // Members that are taken out again; where counters stick, that changes nothing.
        Vector {
            seed: 5,
            rounds: 14,
            removed: 50,
            ..counting("counting-4-full", 4, 3, 5, 150, 0.02)
        },
        keyed(Vector { rounds: 3, removed: 500, ..counting("counting-8", 8, 19, 3, 2000, 0.1) }),
        Vector { members: 900, ..counting("counting-16", 16, 6, 16, 150, 1e-4) },
        Vector { members: 0, ..counting("counting-empty", 4, 1, 8, 1, 0.5) },
        // Links after the first are planned: a planner with other sizes keeps these files readable, but needs its own.
        Vector { members: 900, ..scalable("scalable-one", 16, 5, 1000, 0.05) },
        Vector { members: 2000, seed: 3, ..scalable("scalable-four", 4, 5, 200, 0.05) },
        Vector { members: 1000, ..keyed(scalable("scalable-keyed", 6, 8, 300, 0.02)) },
        Vector { members: 0, ..scalable("scalable-empty", 1, 8, 1, 0.5) },
        // Links for as many keys as the first.
        Vector { members: 1000, detail: 1, ..scalable("scalable-fixed", 4, 5, 200, 0.05) },
        // Every generation was the newest more than once.
        Vector { members: 3000, seed: 5, ..window("window-four", 6, 4, 8, 1000, 0.01) },
        Vector { members: 700, ..keyed(window("window-three-keyed", 7, 3, 11, 600, 0.001)) },
        Vector { members: 1200, span: 3600, ..window("window-by-time", 5, 5, 5, 1600, 0.05) },
        Vector { members: 0, ..window("window-empty", 1, 2, 8, 1, 0.5) },
        attributes(blocked("attributes-row", 20, 8, 1000, 0.01), 1, &["host", "user", "port"]),
        Vector {
            seed: 3,
            ..attributes(blocked("attributes-none", 6, 5, 300, 0.02), 0, &["größe", "a.b"])
        },
        attributes(
            keyed(blocked("attributes-subsets-keyed", 3, 8, 150, 0.01)),
            2,
            &["first", "second", "third", "fourth"],
        ),
        Vector {
            seed: 5,
            ..attributes(classic("attributes-classic", 4_801, 6, 500, 0.01), 12, &["x", "y", "z"])
        },
        attributes(classic("attributes-one", 601, 7, 60, 0.01), 11, &["only"]),
        // Several filters in a chunk, and one in two.
        attributes(classic("attributes-chunks", 2_900_001, 1, 5_000, 0.002), 11, &["a", "b"]),
        coded("coded-12", 30, 12, 1000, 0.01),
        Vector { seed: 8, ..coded("coded-7", 14, 7, 850, 0.5) },
        // Cells across the ends of words, several full buckets in a row.
        keyed(coded("coded-13-keyed", 20, 13, 730, 0.01)),
        // Twice as many keys as planned: the walk wraps from the last bucket to the first.
        Vector { members: 395, ..coded("coded-9", 7, 9, 200, 0.1) },
        // More keys than there is room for: walks end after 512 full buckets.
        Vector {
            members: 28_000,
            probes_tried: 2_000,
            ..coded("coded-full", 1024, 20, 25_000, 0.02)
        },
        Vector { members: 0, ..coded("coded-empty", 1, 40, 1, 1e-9) },
        Vector {
            members: 0,
            ..attributes(blocked("attributes-empty", 1, 8, 1, 0.5), 1, &["a", "b"])
        },
        // Past the stable point, with cells whose words have bits left over.
        Vector { members: 9000, ..stable("stable-3", 3, 40, 3, 60, 0.05) },
        Vector { members: 3000, seed: 11, ..stable("stable-1", 1, 24, 2, 50, 0.2) },
        Vector { members: 4000, ..keyed(stable("stable-4-keyed", 4, 60, 2, 100, 0.05)) },
        Vector { members: 0, ..stable("stable-empty", 8, 9, 1, 1, 0.5) },
        Vector { seed: 11, ..bloomier("bloomier-7", 20, 7, 1000, 0.01) },
        keyed(bloomier("bloomier-8", 22, 8, 1000, 0.004)),
        Vector { probes_tried: 100_000, ..bloomier("bloomier-12", 33, 12, 1000, 0.001) },
        bloomier("bloomier-tiny", 1, 3, 3, 0.2),
        // Planned for enough keys to have two shards.
        Vector { members: 20_000, ..bloomier("bloomier-shards", 480, 5, 3_000_001, 0.04) },
        Vector { members: 0, ..bloomier("bloomier-empty", 1, 1, 1, 0.5) },
        // Maps: slots over the ends of words, no fingerprints, and slots over 9 bytes.
        bloomier("bloomier-map", 32, 7 + (9 << 8), 700, 0.5f64.powi(7)),
        bloomier("bloomier-values", 29, 33 << 8, 300, 1.0f64.next_down()),
        keyed(bloomier("bloomier-wide", 40, 10 + (53 << 8), 200, 0.5f64.powi(10))),
        // Levels after the first are planned, as links are.
        Vector { seed: 5, ..cascade("cascade-levels", 10, 5, 1000, 0.05, 20_000) },
        keyed(cascade("cascade-keyed", 12, 8, 1000, 0.1, 3_000)),
        Vector { detail: 1, ..cascade("cascade-list", 12, 6, 1000, 0.03, 3_000) },
        cascade("cascade-one-level", 16, 3, 1000, 0.1, 0),
        Vector { members: 0, ..cascade("cascade-empty", 1, 8, 1, 0.5, 50) },
        // Hashes of the caller, and descriptions of keys.
        caller(blocked("caller-blocked", 20, 8, 1000, 0.01)),
        caller(described(Vector { seed: 9, ..classic("caller-classic", 9_601, 6, 1000, 0.01) })),
        caller(bloomier("caller-bloomier", 20, 7, 1000, 0.01)),
        // Hashes of which many have one upper half, also in the list.
        Vector {
            seed: OWN_PAIR,
            ..caller(Vector { detail: 1, ..cascade("caller-pairs", 12, 6, 1000, 0.03, 3_000) })
        },
        described(Vector { seed: 7, ..blocked("described-blocked", 20, 3, 2000, 0.1) }),
        described(keyed(Vector {
            rounds: 2,
            ..counting("described-counting", 4, 19, 8, 900, 0.01)
        })),
        described(Vector { members: 2000, ..scalable("described-scalable", 4, 5, 200, 0.05) }),
        described(Vector { members: 3000, ..window("described-window", 6, 4, 8, 1000, 0.01) }),
        described(attributes(
            blocked("described-attributes", 20, 8, 1000, 0.01),
            1,
            &["host", "user"],
        )),
        described(sliced("described-sliced", 7 * 1_371, 7, 1000, 0.01)),
        described(Vector { members: 3000, ..stable("described-stable", 1, 24, 2, 50, 0.2) }),
        described(keyed(bloomier("described-bloomier", 20, 7, 1000, 0.01))),
        described(coded("described-coded", 14, 7, 850, 0.5)),
        described(cascade("described-cascade", 10, 5, 1000, 0.05, 20_000)),
    ]
}

/// With this many blocks of cells of `detail` bits.
fn stable(name: &str, detail: u32, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "stable".into(), detail, ..blocked(name, blocks, probes, keys, fpp) }
}

fn blocked(name: &str, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "blocked".into(), ..classic(name, 512 * blocks, probes, keys, fpp) }
}

fn sliced(name: &str, bits: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "sliced".into(), ..classic(name, bits, probes, keys, fpp) }
}

/// Counters of `detail` bits in this many blocks, each member inserted twice.
fn counting(name: &str, detail: u32, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    let blocked = blocked(name, blocks * u64::from(detail), probes, keys, fpp);
    Vector { kind: "counting".into(), detail, rounds: 2, ..blocked }
}

/// With a first link that suffices for its keys.
fn scalable(name: &str, blocks: u64, probes: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "scalable".into(), ..blocked(name, blocks, probes, keys, fpp) }
}

/// With this many blocks in each generation.
fn window(name: &str, blocks: u64, generations: u32, probes: u32, keys: u64, fpp: f64) -> Vector {
    let bits = 512 * blocks * u64::from(generations);
    let vector = classic(name, bits, probes, keys, fpp);
    Vector { kind: "window".into(), detail: generations, ..vector }
}

fn bloomier(name: &str, blocks: u64, detail: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "bloomier".into(), detail, ..blocked(name, blocks, 3, keys, fpp) }
}

/// With a first level that suffices for its keys.
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
        rounds: 1,
        removed: 0,
        counts: Vec::new(),
        probe_prefix: "probe-".into(),
        probes_tried: 20_000,
        false_positives: Vec::new(),
        forgotten: 0,
        links: Vec::new(),
        span: 0,
        generations: Vec::new(),
        attributes: Vec::new(),
        single_keys: Vec::new(),
        excluded_prefix: String::new(),
        excluded: 0,
        description: Vec::new(),
    }
}

/// Under the id of a hash function of the vectors' own.
fn caller(vector: Vector) -> Vector {
    Vector { algorithm: OF_THE_CALLER.into(), seed: OWN_HASH, ..vector }
}

/// With a description that takes the header beyond its usual length. The members are keys of that field, and its steps
/// leave them as they are; rows have the names of their fields themselves.
fn described(vector: Vector) -> Vector {
    let entries = [
        ("field", "größe"),
        ("type", "text"),
        ("normalization", "trim"),
        ("normalization", "ignore-case"),
        ("com.example.note", "a name that umbel does not know"),
        ("com.example.note", ""),
    ];
    let own = if vector.attributes.is_empty() { 0 } else { 2 };
    let entry = |&(name, value): &(&str, &str)| (name.into(), value.into());
    let description = entries[own..].iter().map(entry).collect();
    Vector { description, ..vector }
}

/// With codes of this many bits.
fn coded(name: &str, buckets: u64, detail: u32, keys: u64, fpp: f64) -> Vector {
    Vector { kind: "coded".into(), detail, ..classic(name, 512 * buckets, 1, keys, fpp) }
}

/// Rows; blocked filters inside, or with a `detail` from 10 on classic ones.
fn attributes(vector: Vector, detail: u32, names: &[&str]) -> Vector {
    let attributes = names.iter().map(|&name| name.into()).collect();
    Vector { kind: "attributes".into(), detail, attributes, ..vector }
}

/// Keys longer than 240 bytes, which XXH3 hashes differently from short ones.
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
    let mut manifest = Manifest { vectors: recipes(), changes: Vec::new() };
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
    let read =
        |name: &str| fs::read(folder.join(name)).with_context(|| format!("cannot read {name}"));
    manifest.changes = changes::all(read)?;
    let mut text = serde_json::to_string_pretty(&manifest)?;
    text.push('\n');
    write(&folder.join("manifest.json"), text.as_bytes())?;
    shared::write(&folder, &root().join("testdata/shared"))
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{} ({} bytes)", path.display(), bytes.len());
    Ok(())
}
