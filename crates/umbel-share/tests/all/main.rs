//! Packed files, deltas, signatures and summaries, through the public interface alone.

mod damage;
mod golden;
mod made;
mod round_trips;
mod sizes;
mod summary;
mod trust;
mod world;

use std::io::Read;

use umbel::internals::{GOLDEN, mix, place};
use umbel::{AnyFilter, Filter, InsertError, KeyHasher, Kind, Plan};
use umbel_share::sign::{Label, SecretKey};
use umbel_share::{ShareError, delta, pack};

use made::{delta_of, file, packed, signed_with};

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, ShareError> {
    let mut decoder = pack::Decoder::new(packed, u64::MAX)?;
    let mut file = Vec::new();
    decoder.read_to_end(&mut file)?;
    assert_eq!(decoder.length(), file.len() as u64);
    Ok(file)
}

fn patched(old: &[u8], delta: &[u8]) -> Result<Vec<u8>, ShareError> {
    let mut decoder = delta::Decoder::new(file(old), delta, u64::MAX)?;
    let mut new = Vec::new();
    decoder.read_to_end(&mut new)?;
    assert_eq!(decoder.length(), new.len() as u64);
    Ok(new)
}

fn signed(file: &[u8], key: &SecretKey) -> Vec<u8> {
    signed_with(file, key, &Label::default())
}

/// A key for tests.
fn key(number: u8) -> SecretKey {
    SecretKey::from_bytes([number; 32])
}

/// The kinds that are filled key by key.
const FILLED: [Kind; 8] = {
    use Kind::*;
    [Blocked, Classic, Sliced, Counting, Scalable, Stable, Window, Coded]
};

/// A filter planned for `planned` keys that holds those below `keys`.
fn filter(kind: Kind, planned: u64, fpp: f64, keys: u64) -> AnyFilter {
    let plan = Plan::for_keys(kind, planned, fpp).unwrap();
    let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
    add(&mut filter, 0..keys);
    filter
}

fn add(filter: &mut AnyFilter, keys: std::ops::Range<u64>) {
    match filter.try_insert_all(&keys.collect::<Vec<u64>>()) {
        // A table of cells has no more room, and holds the others.
        Err(InsertError::Full(_)) => {}
        inserted => inserted.map(drop).unwrap(),
    }
}

/// The files of a filter that holds the keys below `old`, and of the same one that holds those below `new`.
fn grown(kind: Kind, planned: u64, [old, new]: [u64; 2]) -> (Vec<u8>, Vec<u8>) {
    let mut growing = filter(kind, planned, 0.01, old);
    let before = growing.to_bytes();
    add(&mut growing, old..new);
    (before, growing.to_bytes())
}

/// Two versions of a small filter.
fn versions() -> (Vec<u8>, Vec<u8>) {
    grown(Kind::Classic, 2_000, [1_000, 1_010])
}

/// The files of testdata/golden.
fn golden_filters() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.ends_with(".umbel"));
    let read = |name: String| (name.clone(), std::fs::read(format!("{folder}/{name}")).unwrap());
    let mut files: Vec<_> = names.map(read).collect();
    files.sort();
    assert!(files.len() > 60, "testdata/golden has files of all kinds");
    files
}

/// SplitMix64, for tests with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        place(mix(self.0), end)
    }
}
