//! The golden files: writing gives their bytes, reading gives their answers. They change only with a version of the
//! format; `cargo x golden` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use umbel::{AnyFilter, Attributes, Cascade, KeyHash, KeyHasher, Plan, Prehashed, Secret, Variant};

use crate::vectors::{LinkVector, Manifest, OF_THE_CALLER, generations, hash_of_the_caller};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");

fn manifest() -> Manifest {
    let text = fs::read_to_string(Path::new(FOLDER).join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn encoding_equals_the_bytes() {
    for vector in manifest().vectors {
        let golden = fs::read(Path::new(FOLDER).join(&vector.file)).unwrap();
        assert!(vector.file().unwrap() == golden, "{} would be written otherwise", vector.file);
    }
}

#[test]
fn decoding_gives_the_answers() {
    for vector in manifest().vectors {
        let golden = fs::read(Path::new(FOLDER).join(&vector.file)).unwrap();
        if vector.algorithm == OF_THE_CALLER {
            let filter = AnyFilter::from_bytes(&golden, Prehashed::new(vector.seed)).unwrap();
            assert_eq!(
                (*filter.plan(), filter.description()),
                (vector.plan(), &vector.description())
            );
            let found = |key: String| filter.contains(hash_of_the_caller(&key));
            assert!(vector.member_keys().all(found), "{}", vector.file);
            assert_eq!(vector.passing_hashes(&filter), vector.false_positives, "{}", vector.file);
            continue;
        }
        let secret = vector.secret();
        let filter = AnyFilter::read(&golden[..], golden.len() as u64, secret.as_ref()).unwrap();
        assert_eq!(*filter.plan(), vector.plan(), "{}", vector.file);
        assert_eq!(*filter.description(), vector.description(), "{}", vector.file);
        assert_eq!(filter.hasher().scheme().algorithm.to_string(), vector.algorithm);
        assert_eq!(filter.hasher().scheme().seed, vector.seed);
        assert_eq!(generations(&filter), vector.generations, "{}", vector.file);
        assert_eq!(vector.forgotten_members(&filter), vector.forgotten, "{}", vector.file);
        let forgets = ["stable", "window"].contains(&&*vector.kind);
        assert!(vector.forgotten == 0 || forgets, "{}", vector.file);
        assert!(!vector.excluded_keys().any(|key| filter.contains(key)), "{}", vector.file);
        assert_eq!(vector.passing_probes(&filter), vector.false_positives, "{}", vector.file);
        assert_eq!(LinkVector::of(&filter), vector.links, "{}", vector.file);
        if let AnyFilter::Attributes(filter) = &filter {
            assert_eq!(filter.names(), vector.attributes, "{}", vector.file);
        }
    }
}

#[test]
fn every_file_is_listed() {
    let listed: BTreeSet<_> = manifest().vectors.into_iter().map(|vector| vector.file).collect();
    let found: BTreeSet<_> = fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "manifest.json")
        .collect();
    assert_eq!(listed, found);
}

/// The numbers of the bits that are set in the payload of a file.
fn set_bits(file: &[u8]) -> String {
    let header = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let payload = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    let payload = &file[header..header + payload];
    let set = (0..8 * payload.len()).filter(|bit| payload[bit / 8] >> (bit % 8) & 1 == 1);
    set.map(|bit| bit.to_string()).collect::<Vec<_>>().join(" ")
}

/// The u64 at an offset of the header.
fn field(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// The same field of every part: at `first`, then `step` bytes further each.
fn fields(file: &[u8], first: usize, step: usize, parts: usize) -> Vec<u64> {
    (0..parts).map(|part| field(file, first + step * part)).collect()
}

/// The vectors that section 17 of FORMAT.md prints.
fn document_vectors() -> Vec<String> {
    let hasher = KeyHasher::with_seed(7);
    let mut lines = Vec::new();
    for (seed, key) in [(0, ""), (0, "umbel"), (7, "umbel"), (7, "another")] {
        let KeyHash { high, low } = KeyHasher::with_seed(seed).hash(key);
        lines.push(format!("algorithm 1, seed {seed}, {key:?}: {high:016X} {low:016X}"));
    }
    let secret = Secret::new(std::array::from_fn(|i| i as u8));
    for key in ["", "umbel", "umbel key id"] {
        let KeyHash { high, low } = KeyHasher::keyed(secret).hash(key);
        lines.push(format!("algorithm 2, secret 00 01 … 0F, {key:?}: {high:016X} {low:016X}"));
    }
    lines.push(format!("algorithm 2, secret 00 01 … 0F: key_id {:016X}", secret.key_id()));
    let KeyHash { high, low } = KeyHash::from_u64(0x0123_4567_89ab_cdef);
    lines.push(format!("algorithm 3, 64-bit hash 0123456789ABCDEF: {high:016X} {low:016X}"));

    let plan = |variant: &str, keys, bits, probes| {
        Plan::of(variant.parse::<Variant>().unwrap(), keys, 0.5, bits, probes).unwrap()
    };
    let inserted = |plan: &Plan, keys: &[&str]| {
        let mut filter = AnyFilter::with_plan(plan, hasher).unwrap();
        for key in keys {
            filter.insert(*key).unwrap();
        }
        filter.to_bytes()
    };
    let mut vector = |fields: &str, what: &str, file: &[u8]| {
        lines.push(format!("{fields}, {what}: {}", set_bits(file)));
    };

    for probes in [8, 16, 3, 11] {
        let file = inserted(&plan("blocked", 1, 512_000, probes), &["umbel"]);
        vector(&format!("kind 1, bits 512000, probes {probes}"), "umbel", &file);
    }
    let file = inserted(&plan("classic", 1, 1_000_000, 3), &["umbel"]);
    vector("kind 2, bits 1000000, probes 3", "umbel", &file);
    let file = inserted(&plan("sliced", 1, 999_999, 3), &["umbel"]);
    vector("kind 3, bits 999999, probes 3", "umbel", &file);
    for keys in [&["umbel"][..], &["umbel"; 4]] {
        let file = inserted(&plan("counting:4", 1, 2_048_000, 3), keys);
        vector("kind 4, bits 2048000, probes 3, counter_bits 4", &keys.join(" "), &file);
    }
    let file = inserted(&plan("scalable", 1, 512, 3), &["another", "umbel"]);
    let bits = fields(&file, 96, 40, 2);
    let probes: Vec<_> = fields(&file, 104, 40, 2).iter().map(|probes| *probes as u32).collect();
    let text = format!("kind 5, growth 0, link_bits {bits:?}, link_probes {probes:?}");
    vector(&text, "another umbel", &file);
    let file = inserted(&plan("stable:3", 1, 1_024, 2), &["another", "umbel"]);
    let lowered = field(&file, 80);
    let text = format!("kind 6, bits 1024, probes 2, cell_bits 3, lowered {lowered}");
    vector(&text, "another umbel", &file);
    let file = inserted(&plan("window:3", 4, 3 * 5_120, 3), &["umbel", "another", "umbel"]);
    let text = "kind 7, planned_keys 4, bits 15360, probes 3, generations 3, span 0";
    vector(text, "umbel another umbel", &file);

    let keys = ["umbel", "another"].map(|key| hasher.hash(key));
    let plan_of_keys = Plan::for_keys("bloomier:8".parse::<Variant>().unwrap(), 2, 0.5).unwrap();
    let file = AnyFilter::build(&plan_of_keys, &keys, hasher).unwrap().to_bytes();
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let text = format!(
        "kind 8, shards {}, segment_length {}, segments {}, fingerprint_bits {}, value_bits {}, shard_seed {:016X}",
        u32_at(64),
        u32_at(68),
        u32_at(72),
        u32_at(76),
        u32_at(80),
        field(&file, 96),
    );
    vector(&text, "umbel another", &file);

    for (detail, names, row) in [
        (1, &["host", "user"][..], &["alpha", "ann"][..]),
        (2, &["host", "user", "port"], &["alpha", "ann", "22"]),
        (11, &["only"], &["umbel"]),
    ] {
        let plan = plan(&format!("attributes:{detail}"), 1, 5_120, 2);
        let mut filter = Attributes::with_names(&plan, names, hasher).unwrap();
        filter.insert_row(row).unwrap();
        let count = names.len();
        let text = format!("kind 9, bits 5120, probes 2, detail {detail}, attributes {count}");
        vector(&text, &row.join("/"), &filter.to_bytes());
        // A single key stands for a row: one value as it is, several each after its length.
        let joined = row.iter().flat_map(|value| {
            let length = (value.len() as u32).to_le_bytes();
            length.into_iter().chain(value.bytes())
        });
        let joined: Vec<u8> = joined.collect();
        let raw = row[0].as_bytes();
        assert_eq!((filter.contains(&joined), filter.contains(raw)), (count > 1, count == 1));
    }

    let file = inserted(&plan("coded:12", 1, 51_200, 1), &["umbel"]);
    vector("kind 10, bits 51200, code_bits 12", "umbel", &file);
    // A key that level 0 holds by error.
    let stranger = "excluded-237";
    for (form, excluded) in [(0, "level 1"), (1, "the list")] {
        let plan = plan(&format!("cascade:{form}"), 1, 512, 1);
        let [include, exclude] = ["umbel", stranger].map(|key| [hasher.hash(key)]);
        let file = Cascade::build_planned(&plan, &include, &exclude, hasher).unwrap().to_bytes();
        let levels = u32::from_le_bytes(file[64..68].try_into().unwrap()) as usize;
        let bits = fields(&file, 112, 32, levels);
        let probes: Vec<_> = fields(&file, 120, 32, levels).iter().map(|k| *k as u32).collect();
        let text = format!("kind 11, form {form}, level_bits {bits:?}, level_probes {probes:?}");
        vector(&text, &format!("umbel included, {stranger} excluded, in {excluded}"), &file);
    }
    lines
}

#[test]
fn the_vectors_of_the_format_document() {
    let document = fs::read_to_string(Path::new(FOLDER).join("../../FORMAT.md")).unwrap();
    let (_, section) = document.split_once("\n## 17. ").expect("a section of vectors");
    let printed = section.split("```\n").nth(1).expect("a block of vectors");
    let expected = document_vectors().join("\n") + "\n";
    assert_eq!(printed, expected, "section 17 of FORMAT.md should have:\n{expected}");
}
