//! Filters in mapped files.

use std::fs::File;
use std::io::Write;

use umbel::{AnyFilter, FileError, KeyHasher, Kind, MappedFile, Plan};

/// A file of a test, mapped.
pub(crate) fn map(file: &File) -> MappedFile {
    // SAFETY: the files of tests are temporary and have no name, so that nobody else writes to them; tests write all
    // before they map.
    #[allow(unsafe_code)]
    unsafe { MappedFile::map(file) }.unwrap()
}

#[test]
fn a_mapped_filter_is_the_filter_in_the_file() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced] {
        let plan = Plan::for_keys(kind, 200_000, 0.001).unwrap();
        let mut plain = AnyFilter::with_plan(&plan, KeyHasher::with_seed(3)).unwrap();
        let keys: Vec<String> = (0..200_000).map(|i| format!("key {i}")).collect();
        for key in &keys {
            plain.try_insert(key).unwrap();
        }
        let file = tempfile::tempfile().unwrap();
        plain.write(&file).unwrap();
        let mapped = AnyFilter::map(&map(&file)).unwrap();
        assert!(keys.iter().all(|key| mapped.contains(key)));
        assert_eq!(mapped.receipt(), plain.receipt());
        let mut copy = Vec::new();
        mapped.write(&mut copy).unwrap();
        let mut bytes = Vec::new();
        plain.write(&mut bytes).unwrap();
        assert!(copy == bytes, "{kind}");
    }
}

#[test]
fn what_is_no_whole_filter_is_refused() {
    let plan = Plan::for_keys(Kind::Blocked, 1000, 0.01).unwrap();
    let mut bytes = Vec::new();
    AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap().write(&mut bytes).unwrap();
    let refused = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        AnyFilter::map(&map(&file)).unwrap_err()
    };
    let zeros = vec![0; bytes.len()];
    assert!(matches!(refused(&zeros), FileError::NotUmbel { .. }));
    for length in [1, 127, 128, bytes.len() - 1] {
        assert!(matches!(
            refused(&bytes[..length]),
            FileError::Length { .. } | FileError::NotUmbel { .. }
        ));
    }
}
