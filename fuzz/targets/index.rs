//! An index of many files: any bytes are either refused, or read and searched. As few inputs get past the checksums of pages, each
//! is tried a second time with those made right.

#![no_main]

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use twox_hash::XxHash3_64;
use umbel_find::{Found, Matching, Sink, Wanted};
use umbel_fuzz::memory;
use umbel_sets::{Options, Progress, Records, TempFolders};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// Where the index and the file that it is of lie.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("orders.csv"), "order,customer\n1,C-17\n2,C-18\n")
        .expect("a file");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    search(bytes);
    let mut sealed = bytes.to_vec();
    for (number, page) in sealed.chunks_exact_mut(1024).enumerate() {
        let (data, sum) = page.split_at_mut(1016);
        sum.copy_from_slice(&XxHash3_64::oneshot_with_seed(number as u64, data).to_le_bytes());
    }
    search(&sealed);
});

fn search(bytes: &[u8]) {
    let path = FOLDER.path().join("index");
    fs::write(&path, bytes).expect("a file");
    let Ok(about) = umbel_find::about(&path) else { return };
    let about = about.index;
    assert!(about.fill >= 0.0 && about.fill <= 1.0, "{about:?}");
    // Not all of the machine is searched.
    let inside = |root: &PathBuf| {
        root.components().count() > 0
            && root.components().all(|part| matches!(part, Component::Normal(_)))
    };
    if !about
        .roots
        .iter()
        .all(|root| inside(&root.strip_prefix(FOLDER.path()).unwrap_or(root).to_owned()))
    {
        return;
    }
    let options = Options {
        memory: 16 << 20,
        threads: 1,
        tmp: Arc::new(TempFolders::new(&[FOLDER.path().to_owned()])),
        separator: b'\n',
        records: Records::Lines,
        others: Vec::new(),
        ignored: Vec::new(),
        normalization: Default::default(),
        missing: Default::default(),
        bad: Default::default(),
        progress: Arc::new(Progress::default()),
    };
    let wanted =
        Wanted { texts: vec![b"C-17".to_vec(), b"order".to_vec()], matching: Matching::default() };
    let _ = umbel_find::find(&path, &wanted, &options, &Nowhere, &mut |_| Ok(()));
}

struct Nowhere;

impl Sink for Nowhere {
    fn line(&self, _: &Found<'_>, _: &mut Vec<u8>) -> bool {
        true
    }

    fn file(&self, _: &Path, _: u64, _: &mut Vec<u8>) {}
}
