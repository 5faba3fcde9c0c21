//! An index of many files: any bytes are either refused, or read and searched. As few inputs get past the checksums of pages, each
//! is tried a second time with these corrected. The files of such an index are missing or changed, so the bytes are then used to
//! replace numbers in an index of an unchanged file, whose blocks are read.

#![no_main]

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use twox_hash::XxHash3_64;
use umbel_find::{Found, Matching, Sink, Wanted};
use umbel_fuzz::memory;
use umbel_io::atomic::Existing;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// The folder of the index and of its file.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("orders.csv"), "order,customer\n1,C-17\n2,C-18\n")
        .expect("a file");
    folder
});

/// An index of that file.
static INDEX: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (index, file) = (FOLDER.path().join("made"), FOLDER.path().join("orders.csv"));
    umbel_find::build(&index, Existing::Keep, &[file], &umbel_fuzz::options(FOLDER.path()))
        .expect("an index");
    let made = fs::read(&index).expect("the index");
    fs::remove_file(&index).expect("the index");
    made
});

fuzz_target!(|bytes: &[u8]| {
    search(bytes);
    search(&sealed(bytes.to_vec()));
    let mut patched = INDEX.clone();
    for patch in bytes.chunks_exact(10).take(8) {
        let (place, number) = patch.split_first_chunk().expect("10 bytes");
        let at = usize::from(u16::from_le_bytes(*place)) % (patched.len() - number.len());
        patched[at..at + number.len()].copy_from_slice(number);
    }
    search(&sealed(patched));
});

/// Corrects the checksums of pages.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    for (number, page) in bytes.chunks_exact_mut(1024).enumerate() {
        let (data, sum) = page.split_at_mut(1016);
        sum.copy_from_slice(&XxHash3_64::oneshot_with_seed(number as u64, data).to_le_bytes());
    }
    bytes
}

fn search(bytes: &[u8]) {
    let path = FOLDER.path().join("index");
    fs::write(&path, bytes).expect("a file");
    let Ok(about) = umbel_find::about(&path) else { return };
    let about = about.index;
    assert!(about.fill >= 0.0 && about.fill <= 1.0, "{about:?}");
    // Files elsewhere on the machine are not searched.
    let is_inside = |root: &PathBuf| {
        let mut parts = root.strip_prefix(FOLDER.path()).unwrap_or(root).components().peekable();
        parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    if !about.roots.iter().all(is_inside) {
        return;
    }
    let wanted = Wanted {
        texts: vec![b"C-17".to_vec(), b"order".to_vec()],
        matching: Matching::default(),
        output: None,
    };
    let options = umbel_fuzz::options(FOLDER.path());
    let _ = umbel_find::find(&path, &wanted, &options, &Nowhere, &mut |_| Ok(()));
}

struct Nowhere;

impl Sink for Nowhere {
    fn line(&self, _: &Found<'_>, _: &mut Vec<u8>) -> bool {
        true
    }

    fn file(&self, _: &Path, _: u64, _: &mut Vec<u8>) {}
}
