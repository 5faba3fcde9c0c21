//! The golden files: writing reproduces their bytes, reading their answers. They change only with a version of the
//! format; `cargo x golden` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use umbel::{
    AnyFilter, AnyScheme, Attributes, Bloomier, Cascade, Counting, FieldError, FileError, Filter,
    Insert, KeyHash, KeyHasher, Plan, Prehashed, Secret, Variant, Window,
};

use crate::damage::{header_length, number, seal};
use crate::reference;
use crate::vectors::{Change, LinkVector, Manifest, OF_THE_CALLER, generations, joined};

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
        let (file, secret) = (&vector.file, vector.secret());
        let golden = fs::read(Path::new(FOLDER).join(file)).unwrap();
        let described = (vector.plan(), &vector.description());
        if vector.algorithm == OF_THE_CALLER {
            let filter = AnyFilter::from_bytes_with(&golden, Prehashed::new(vector.seed)).unwrap();
            assert_eq!((*filter.plan(), filter.description()), described, "{file}");
            let found = |key: String| filter.contains(vector.hash_of_the_caller(&key));
            assert!(vector.member_keys().all(found), "{file}");
            assert!(!vector.excluded_keys().any(found), "{file}");
            assert_eq!(vector.passing_hashes(&filter), vector.false_positives, "{file}");
            continue;
        }
        let filter =
            AnyFilter::read_with(&golden[..], golden.len() as u64, secret.as_ref()).unwrap();
        assert_eq!((*filter.plan(), filter.description()), described, "{file}");
        let scheme = filter.hasher().scheme();
        let told = (scheme.algorithm.to_string(), scheme.seed);
        assert_eq!(told, (vector.algorithm.clone(), vector.seed), "{file}");
        assert_eq!(generations(&filter), vector.generations, "{file}");
        assert_eq!(vector.forgotten_members(&filter), vector.forgotten, "{file}");
        let forgets = ["stable", "window", "coded"].contains(&&*vector.kind);
        assert!(vector.forgotten == 0 || forgets, "{file}");
        assert!(!vector.excluded_keys().any(|key| filter.contains(key)), "{file}");
        assert_eq!(vector.passing_probes(&filter), vector.false_positives, "{file}");
        assert_eq!(LinkVector::of(&filter), vector.links, "{file}");
        assert_eq!(vector.wrong_values(&filter), 0, "{file}");
        assert_eq!(vector.counts(&filter), vector.counts, "{file}");
        assert_eq!(vector.single_keys(&filter), vector.single_keys, "{file}");
        if let AnyFilter::Attributes(filter) = &filter {
            assert_eq!(filter.names(), vector.attributes, "{file}");
            let is_found = |row| filter.contains(vector.single_key(&vector.member_prefix, row));
            assert!((0..vector.members).all(is_found), "{file}");
        }
    }
}

/// A golden file's bytes after a change.
fn changed(change: &Change, golden: &[u8]) -> Vec<u8> {
    let mut file = golden.to_vec();
    for (at, digits) in &change.bytes {
        let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        file[*at..at + bytes.len()].copy_from_slice(&bytes);
    }
    file.resize(change.length.unwrap_or(golden.len()), 0);
    if change.sealed {
        // All of these files have one chunk.
        seal(&mut file, header_length(golden));
    }
    file
}

/// The step of FORMAT.md, section 2, at which a file of one chunk is refused.
fn step(error: &FileError) -> u32 {
    match error {
        FileError::NotUmbel(..) | FileError::Version(..) => 1,
        // A header's length is a multiple of 64; the length of such a file is not.
        FileError::Length(expected, _) if expected % 64 == 0 => 1,
        FileError::Length(..) => 4,
        FileError::HeaderDamaged => 2,
        FileError::ChecksumsDamaged | FileError::PayloadDamaged { .. } => 5,
        FileError::Field(FieldError { field: "payload", .. }) => 6,
        _ => 3,
    }
}

#[test]
fn changed_files_are_refused_at_their_step() {
    let mut wrong = Vec::new();
    for change in manifest().changes {
        let golden = fs::read(Path::new(FOLDER).join(&change.file)).unwrap();
        let file = changed(&change, &golden);
        let read = AnyFilter::read_with(&file[..], file.len() as u64, AnyScheme).err();
        let copied = AnyFilter::from_bytes_with(&file, AnyScheme).err();
        let steps = [&read, &copied].map(|error| error.as_ref().map_or(0, step));
        if file == golden || steps != [change.step; 2] {
            wrong.push(format!("{change:?}: {read:?}, {copied:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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

/// The positions of the set bits in a file's payload.
fn set_bits(file: &[u8]) -> String {
    let payload = &file[header_length(file)..][..number::<8>(file, 40) as usize];
    let set = (0..8 * payload.len()).filter(|bit| payload[bit / 8] >> (bit % 8) & 1 == 1);
    set.map(|bit| bit.to_string()).collect::<Vec<_>>().join(" ")
}

/// The same field of every part, of N bytes: at `first`, then `step` bytes further each.
fn fields<const N: usize>(file: &[u8], first: usize, step: usize, parts: u64) -> Vec<u64> {
    (0..parts as usize).map(|part| number::<N>(file, first + step * part)).collect()
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
        let KeyHash { high, low } = KeyHasher::keyed(secret.clone()).hash(key);
        lines.push(format!("algorithm 2, secret 00 01 … 0F, {key:?}: {high:016X} {low:016X}"));
    }
    lines.push(format!("algorithm 2, secret 00 01 … 0F: key_id {:016X}", secret.key_id()));
    let KeyHash { high, low } = KeyHash::from_u64(0x0123_4567_89ab_cdef);
    lines.push(format!("algorithm 3, 64-bit hash 0123456789ABCDEF: {high:016X} {low:016X}"));

    let hash = hasher.hash("umbel");
    let pair = |KeyHash { high, low }| format!("{high:016X} {low:016X}");
    lines.push(format!("mix(1): {:016X}", reference::mix(1)));
    lines.push(format!("place(high, 1000): {}", reference::place(hash.high, 1000)));
    for n in [0, 1] {
        lines.push(format!("stretch({n}): {:016X}", reference::stretch(hash.low, n)));
    }
    for p in [0, 1] {
        lines.push(format!("probe({p}): {:016X}", reference::probe(hash, p)));
    }
    lines.push(format!("part(1): {}", pair(reference::part(hash, 1))));
    lines.push(format!("level(1): {}", pair(reference::in_level(hash, 1))));
    let key = joined(&["alpha", "ann"]);
    let key: Vec<_> = key.iter().map(|byte| format!("{byte:02X}")).collect();
    lines.push(format!("key of the fields alpha and ann: {}", key.join(" ")));

    let plan = |variant: &str, keys, bits, probes| {
        Plan::from_parts(variant.parse::<Variant>().unwrap(), keys, 0.5, bits, probes).unwrap()
    };
    let inserted = |plan: &Plan, keys: &[&str]| {
        let mut filter = AnyFilter::with_plan(plan, hasher.clone()).unwrap();
        for key in keys {
            filter.try_insert(*key).unwrap();
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
    let text = "kind 4, bits 2048000, probes 3, counter_bits 4";
    let counting = plan("counting:4", 1, 2_048_000, 3);
    for keys in [&["umbel"][..], &["umbel"; 4]] {
        vector(text, &keys.join(" "), &inserted(&counting, keys));
    }
    let mut filter = Counting::with_plan(&counting, hasher.clone()).unwrap();
    filter.insert_all(&["umbel"; 4]);
    filter.insert("another");
    assert!(filter.remove("umbel") && !filter.remove("absent"));
    assert_eq!((filter.count("umbel"), filter.count("another")), (3, 1));
    let keys = "umbel umbel umbel umbel another, umbel removed once";
    vector(text, keys, &filter.to_bytes());
    let file = inserted(&plan("scalable", 1, 512, 3), &["another", "umbel"]);
    let (bits, probes) = (fields::<8>(&file, 96, 40, 2), fields::<4>(&file, 104, 40, 2));
    let text = format!("kind 5, growth 0, link_bits {bits:?}, link_probes {probes:?}");
    vector(&text, "another umbel", &file);
    let file = inserted(&plan("stable:3", 1, 1_024, 2), &["another", "umbel"]);
    let lowered = number::<8>(&file, 80);
    let text = format!("kind 6, bits 1024, probes 2, cell_bits 3, lowered {lowered}");
    vector(&text, "another umbel", &file);
    let file = inserted(&plan("window:3", 4, 3 * 5_120, 3), &["umbel", "another", "umbel"]);
    let text = "kind 7, planned_keys 4, bits 15360, probes 3, generations 3, span 0";
    vector(text, "umbel another umbel", &file);
    let mut filter =
        Window::by_time(&plan("window:3", 4, 3 * 5_120, 3), hasher.clone(), 20).unwrap();
    for (key, tick) in [("umbel", 5), ("another", 10), ("umbel", 35)] {
        filter.insert_at(key, tick).unwrap();
    }
    let text = "kind 7, planned_keys 4, bits 15360, probes 3, generations 3, span 20";
    vector(text, "umbel at tick 5, another at tick 10, umbel at tick 35", &filter.to_bytes());

    let keys = ["umbel", "another"].map(|key| hasher.hash(key));
    let plan_of_keys = Plan::for_keys("bloomier:8".parse::<Variant>().unwrap(), 2, 0.5).unwrap();
    let filter = AnyFilter::build(&plan_of_keys, &keys, hasher.clone()).unwrap();
    let map = |values: [u64; 2], value_bits, fingerprint_bits| {
        let pairs = [("umbel", values[0]), ("another", values[1])];
        let map =
            Bloomier::build_map(&pairs, value_bits, fingerprint_bits, hasher.clone()).unwrap();
        let keys = format!("umbel = {}, another = {}", values[0], values[1]);
        (map.to_bytes(), keys)
    };
    let filter = (filter.to_bytes(), "umbel another".to_owned());
    for (file, keys) in [filter, map([21, 9], 5, 8), map([1365, 682], 11, 0)] {
        let [shards, length, segments, fingerprint, value] =
            [64, 68, 72, 76, 80].map(|at| number::<4>(&file, at));
        let text = format!(
            "kind 8, shards {shards}, segment_length {length}, segments {segments}, fingerprint_bits {fingerprint}, value_bits {value}, shard_seed {:016X}",
            number::<8>(&file, 96),
        );
        vector(&text, &keys, &file);
    }

    for (detail, names, row) in [
        (1, &["host", "user"][..], &["alpha", "ann"][..]),
        (2, &["host", "user", "port"], &["alpha", "ann", "22"]),
        (11, &["only"], &["umbel"]),
    ] {
        let plan = plan(&format!("attributes:{detail}"), 1, 5_120, 2);
        let mut filter = Attributes::with_names(&plan, names, hasher.clone()).unwrap();
        filter.insert_row(row).unwrap();
        let count = names.len();
        let text = format!("kind 9, bits 5120, probes 2, detail {detail}, attributes {count}");
        vector(&text, &row.join("/"), &filter.to_bytes());
        // A single key represents a row: one value as it is, or several values, each after its length.
        let found = (filter.contains(joined(row)), filter.contains(row[0]));
        assert_eq!(found, (count > 1, count == 1));
    }

    let file = inserted(&plan("coded:12", 1, 51_200, 1), &["umbel"]);
    vector("kind 10, bits 51200, code_bits 12", "umbel", &file);
    // A false positive of level 0.
    let stranger = "excluded-237";
    for (form, excluded) in [(0, "makes level 1"), (1, "is listed")] {
        let plan = plan(&format!("cascade:{form}"), 1, 512, 1);
        let [include, exclude] = ["umbel", stranger].map(|key| [hasher.hash(key)]);
        let file =
            Cascade::build_with_plan(&plan, &include, &exclude, hasher.clone()).unwrap().to_bytes();
        let levels = number::<4>(&file, 64);
        let bits = fields::<8>(&file, 112, 32, levels);
        let probes = fields::<4>(&file, 120, 32, levels);
        let text = format!("kind 11, form {form}, level_bits {bits:?}, level_probes {probes:?}");
        vector(&text, &format!("umbel included, {stranger} excluded, which {excluded}"), &file);
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
