//! Filters in mapped files.

use std::fs::File;
use std::io::Write;

use umbel::{AnyFilter, FileError, Filter, KeyHasher, Kind, MappedFile, Plan};

use crate::damage::assert_fails;

/// Maps a test's file.
pub(crate) fn map(file: &File) -> MappedFile {
    // SAFETY: the tests' files are temporary and unnamed, so no other process writes to them; tests write everything
    // before they map.
    #[allow(unsafe_code)]
    unsafe { MappedFile::map(file) }.unwrap()
}

/// A file of several MiB: some keys, and its bytes.
fn large(kind: Kind) -> (Vec<u64>, Vec<u8>) {
    let plan = Plan::for_keys(kind, 3_000_000, 0.01).unwrap();
    let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
    let keys: Vec<u64> = (0..20_000).collect();
    filter.try_insert_all(&keys).unwrap();
    (keys, filter.to_bytes())
}

fn on_disk(bytes: &[u8]) -> MappedFile {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    map(&file)
}

#[test]
fn a_lazy_filter_answers_as_the_filter_does() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Scalable, Kind::Counting] {
        let (_, bytes) = large(kind);
        let whole = AnyFilter::from_bytes(&bytes).unwrap();
        let lazy = AnyFilter::map_lazily(&on_disk(&bytes)).unwrap();
        let keys: Vec<u64> = (19_000..40_000).collect();
        let mut found = vec![false; keys.len()];
        lazy.contains_all(&keys, &mut found).unwrap();
        for (key, found) in keys.iter().zip(found) {
            assert_eq!((lazy.contains(key).unwrap(), found), (found, whole.contains(key)));
        }
        assert_eq!(lazy.plan(), whole.plan());
        lazy.verify().unwrap();
        assert!(lazy.into_verified().unwrap() == whole);
    }
}

#[test]
fn a_lazy_filter_refuses_damage_where_it_meets_it() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Scalable] {
        let (keys, mut bytes) = large(kind);
        // The third MiB is cleared, so its keys would be absent.
        let chunk = 128 + (2 << 20)..128 + (3 << 20);
        let cleared = bytes[chunk.clone()].iter().filter(|byte| **byte != 0).count();
        assert!(cleared > 100, "{kind}");
        bytes[chunk].fill(0);
        let mapped = on_disk(&bytes);
        let damaged = |error: &FileError| match error {
            FileError::PayloadDamaged { start, end } => end - start == 1 << 20,
            _ => false,
        };
        assert!(damaged(&AnyFilter::map(&mapped).unwrap_err()));
        let lazy = AnyFilter::map_lazily(&mapped).unwrap();
        let (mut right, mut refused) = (0, 0);
        for key in keys.iter().chain(&keys) {
            match lazy.contains(key) {
                Ok(found) => right += u32::from(found),
                Err(error) => refused += u32::from(damaged(&error)),
            }
        }
        assert_eq!(right + refused, 40_000, "{kind}: never absent");
        assert!(refused > 1_000 && (kind != Kind::Blocked || right > 20_000), "{kind} {refused}");
        assert!(lazy.contains_all(&keys, &mut vec![false; keys.len()]).is_err());
        assert!(damaged(&lazy.verify().unwrap_err()));
        assert!(damaged(&lazy.into_verified().unwrap_err()));
    }
}

#[test]
fn header_and_table_are_checked_when_a_file_is_opened() {
    let (_, bytes) = large(Kind::Blocked);
    let opened = |bytes: &[u8]| {
        let mapped = on_disk(bytes);
        [AnyFilter::map(&mapped).map(drop), AnyFilter::map_lazily(&mapped).map(drop)]
    };
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let length = bytes.len();
    for (expected, file) in [
        ("NotUmbel(", &vec![0; length][..]),
        ("NotUmbel(", &bytes[..1]),
        ("NotUmbel(", &flipped(&bytes, 0)),
        ("HeaderDamaged", &flipped(&bytes, 70)),
        ("ChecksumsDamaged", &flipped(&bytes, length - 1)),
        ("ChecksumsDamaged", &flipped(&bytes, length - 9)),
        ("Length(", &bytes[..127]),
        ("Length(", &bytes[..128]),
        ("Length(", &bytes[..length - 1]),
    ] {
        opened(file).into_iter().for_each(|result| assert_fails(expected, result));
    }
    let [whole, lazy] = opened(&flipped(&bytes, 1 << 20));
    assert_fails("PayloadDamaged", whole);
    assert!(lazy.is_ok());
    // Kinds without lazy checks are checked completely when opened.
    let (_, bytes) = large(Kind::Counting);
    for result in opened(&flipped(&bytes, 1 << 20)) {
        assert_fails("PayloadDamaged", result);
    }
}

/// Damaged bits that belong to no key, so no look-up would meet them.
#[test]
fn damaged_bits_after_the_last_are_damage() {
    for kind in [Kind::Classic, Kind::Sliced] {
        let plan = Plan::from_parts(kind, 100, 0.1, 1_000, 2).unwrap();
        let mut bytes = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap().to_bytes();
        bytes[128 + 127] = 1;
        let error = AnyFilter::map_lazily(&on_disk(&bytes)).unwrap_err();
        assert!(matches!(error, FileError::PayloadDamaged { start: 128, end: 256 }), "{error}");
    }
}
