//! Filters in mapped files.

use std::fs::File;
use std::io::Write;

use umbel::{AnyFilter, FileError, KeyHasher, Kind, MappedFile, Plan};

use crate::reopened::{Way, any_reopened};

/// A file of a test, mapped.
pub(crate) fn map(file: &File) -> MappedFile {
    // SAFETY: the files of tests are temporary and have no name, so that nobody else writes to them; tests write all
    // before they map.
    #[allow(unsafe_code)]
    unsafe { MappedFile::map(file) }.unwrap()
}

#[test]
fn a_mapped_filter_is_the_filter_in_the_file() {
    let hasher = KeyHasher::with_seed(3);
    let hashes: Vec<_> = (0..200_000).map(|i| hasher.hash(format!("key {i}"))).collect();
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced] {
        let plan = Plan::for_keys(kind, 200_000, 0.001).unwrap();
        let plain = AnyFilter::build(&plan, &hashes, hasher.clone()).unwrap();
        let mapped = any_reopened(&plain, Way::Map, None, &hashes);
        assert!(hashes.iter().all(|hash| mapped.contains(hash)), "{kind}");
    }
}

#[test]
fn what_is_no_whole_filter_is_refused() {
    let plan = Plan::for_keys(Kind::Blocked, 1000, 0.01).unwrap();
    let bytes = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap().to_bytes();
    let refused = |bytes: &[u8]| AnyFilter::map(&on_disk(bytes)).unwrap_err();
    let zeros = vec![0; bytes.len()];
    assert!(matches!(refused(&zeros), FileError::NotUmbel { .. }));
    for length in [1, 127, 128, bytes.len() - 1] {
        assert!(matches!(
            refused(&bytes[..length]),
            FileError::Length { .. } | FileError::NotUmbel { .. }
        ));
    }
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
        assert_eq!((lazy.kind(), lazy.plan()), (kind, whole.plan()));
        lazy.verify().unwrap();
        assert!(lazy.into_verified().unwrap() == whole);
    }
}

#[test]
fn a_lazy_filter_refuses_damage_where_it_meets_it() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Scalable] {
        let (keys, mut bytes) = large(kind);
        // The third MiB is cleared: its keys would be absent.
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
fn a_lazy_filter_checks_header_and_table_when_it_opens() {
    let (_, bytes) = large(Kind::Blocked);
    let opened = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        AnyFilter::map_lazily(&on_disk(&bytes)).map(drop)
    };
    assert!(matches!(opened(0), Err(FileError::NotUmbel { .. })));
    assert!(matches!(opened(70), Err(FileError::HeaderDamaged)));
    assert!(matches!(opened(bytes.len() - 1), Err(FileError::ChecksumsDamaged)));
    assert!(matches!(opened(bytes.len() - 9), Err(FileError::ChecksumsDamaged)));
    assert!(opened(1 << 20).is_ok());
    let shorter = on_disk(&bytes[..bytes.len() - 1]);
    assert!(matches!(AnyFilter::map_lazily(&shorter), Err(FileError::Length { .. })));
    // What a kind cannot tell is checked at once.
    let (_, mut bytes) = large(Kind::Counting);
    bytes[1 << 20] ^= 1;
    let error = AnyFilter::map_lazily(&on_disk(&bytes)).map(drop).unwrap_err();
    assert!(matches!(error, FileError::PayloadDamaged { .. }));
}

/// They belong to no key, so no look-up would meet them.
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
