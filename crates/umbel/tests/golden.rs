//! The golden files: what is written equals their bytes, what is read gives their answers. They
//! change only with a version of the format; `cargo x golden` writes them.

mod vectors;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use umbel::AnyFilter;
use vectors::Manifest;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");

fn manifest() -> Manifest {
    let text = fs::read_to_string(Path::new(FOLDER).join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn encoding_equals_the_bytes() {
    for vector in manifest().vectors {
        let golden = fs::read(Path::new(FOLDER).join(&vector.file)).unwrap();
        let mut bytes = Vec::new();
        vector.build().unwrap().write(&mut bytes).unwrap();
        assert!(bytes == golden, "{} would be written otherwise", vector.file);
    }
}

#[test]
fn decoding_gives_the_answers() {
    for vector in manifest().vectors {
        let golden = fs::read(Path::new(FOLDER).join(&vector.file)).unwrap();
        let secret = vector.secret();
        let filter = AnyFilter::read(&golden[..], golden.len() as u64, secret.as_ref()).unwrap();
        assert_eq!(*filter.plan(), vector.plan(), "{}", vector.file);
        assert_eq!(filter.hasher().scheme().algorithm.to_string(), vector.algorithm);
        assert_eq!(filter.hasher().scheme().seed, vector.seed);
        assert!(vector.member_keys().all(|key| filter.contains(key)), "{}", vector.file);
        assert_eq!(vector.passing_probes(&filter), vector.false_positives, "{}", vector.file);
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
