//! The golden files: what is written equals their bytes, what is read gives their answers. They
//! change only with a version of the format; `cargo x golden` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use umbel::{AnyFilter, Prehashed};

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

#[test]
fn the_example_of_the_format_document() {
    let bits = |kind, bits, probes| {
        // The usual counters have 4 bits.
        let plan = umbel::Plan::of(kind, 1, 0.5, bits, probes).unwrap();
        let mut filter =
            umbel::AnyFilter::with_plan(&plan, umbel::KeyHasher::with_seed(7)).unwrap();
        filter.insert("umbel").unwrap();
        let mut file = Vec::new();
        filter.write(&mut file).unwrap();
        let set = |bit: &usize| file[128 + bit / 8] >> (bit % 8) & 1 == 1;
        (0..bits as usize).filter(set).collect::<Vec<_>>()
    };
    let in_block = |places: &[usize]| places.iter().map(|j| 512 * 929 + j).collect::<Vec<_>>();
    let lanes = [2, 121, 166, 246, 287, 340, 412, 461];
    assert_eq!(bits(umbel::Kind::Blocked, 512_000, 8), in_block(&lanes));
    assert_eq!(bits(umbel::Kind::Blocked, 512_000, 3), in_block(&[66, 311, 502]));
    let in_line = lanes.map(|j| 8 * 64 * 4 * 929 + j);
    assert_eq!(bits(umbel::Kind::Counting, 4 * 512_000, 8), in_line);
    assert_eq!(bits(umbel::Kind::Classic, 1_000_000, 3), [110_111, 822_443, 842_426]);
    // A scalable filter of one key a link: what is inserted second goes into link 1.
    let plan = umbel::Plan::of(umbel::Kind::Scalable, 1, 0.5, 512_000, 8).unwrap();
    let mut filter = umbel::AnyFilter::with_plan(&plan, umbel::KeyHasher::with_seed(7)).unwrap();
    filter.insert("another").unwrap();
    filter.insert("umbel").unwrap();
    let link = plan.link(1).unwrap();
    let key = umbel::KeyHash { high: 0x6513_c1f3_b720_2102, low: 0x4d2f_8a81_cbaf_0f9e };
    let mut alone = umbel::Blocked::with_plan(&link, umbel::KeyHasher::with_seed(7)).unwrap();
    alone.insert(key);
    let (mut file, mut expected) = (Vec::new(), Vec::new());
    filter.write(&mut file).unwrap();
    alone.write(&mut expected).unwrap();
    // Two links in a header of 192 bytes.
    assert!(
        file[192 + 64_000..][..link.bytes() as usize] == expected[128..][..link.bytes() as usize]
    );
    let plan = umbel::Plan::of(link.kind(), link.keys(), link.fpp(), 512_000, 8).unwrap();
    let mut alone = umbel::Blocked::with_plan(&plan, umbel::KeyHasher::default()).unwrap();
    alone.insert(key);
    expected.clear();
    alone.write(&mut expected).unwrap();
    let set = |bit: &usize| expected[128 + bit / 8] >> (bit % 8) & 1 == 1;
    let bits: Vec<_> = (0..512_000).filter(set).collect();
    assert_eq!(bits, [30, 126, 176, 235, 267, 327, 424, 482].map(|j| 512 * 394 + j));
    let secret = umbel::Secret::new(std::array::from_fn(|i| i as u8));
    assert_eq!(secret.key_id(), 0x163d_19d5_742f_2273);
    let expected = umbel::KeyHash { high: 0x7cf0_9712_f4f8_a6ef, low: 0xa4fa_b679_fdd5_af56 };
    assert_eq!(umbel::KeyHasher::keyed(secret).hash("umbel"), expected);
}
