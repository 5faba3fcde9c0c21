//! Files that several threads and processes insert into at the same time.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use umbel::internals::format::{Reader, seal};
use umbel::{
    AnyFilter, FileError, Filter, Insert, KeyHasher, Kind, Plan, SharedFile, WritableFile,
};

use crate::damage::assert_fails;

const KINDS: [Kind; 3] = [Kind::Blocked, Kind::Classic, Kind::Sliced];
/// The path that a child opens, and the number of its first key.
const CHILD: [&str; 2] = ["UMBEL_SHARED_FILE", "UMBEL_SHARED_FIRST"];

fn write(path: &Path, kind: Kind) -> AnyFilter {
    let plan = Plan::for_keys(kind, 200_000, 1e-6).unwrap();
    let filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
    fs::write(path, filter.to_bytes()).unwrap();
    filter
}

fn file(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn open(path: &Path) -> Result<SharedFile, FileError> {
    // SAFETY: only these tests access the file, and write to it through this type until all have closed it.
    #[allow(unsafe_code)]
    let mapped = unsafe { WritableFile::map(file(path)) }?;
    SharedFile::open(mapped)
}

fn read(path: &Path) -> Result<AnyFilter, FileError> {
    AnyFilter::from_bytes(&fs::read(path).unwrap())
}

/// Runs this program to insert keys from `first` on; it prints the number of each returned insertion.
fn child(path: &Path, first: u64) -> (Child, impl Iterator<Item = u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shared_file::a_child_inserts", "--nocapture"])
        .env(CHILD[0], path)
        .env(CHILD[1], first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("key ")?.parse().ok()))
}

/// Does nothing unless [`child`] starts it.
#[test]
fn a_child_inserts() {
    let [Ok(path), Ok(first)] = CHILD.map(std::env::var) else { return };
    let filter = open(Path::new(&path)).unwrap();
    let first: u64 = first.parse().unwrap();
    for key in first..first + 20_000 {
        filter.insert(key);
        writeln!(std::io::stdout(), "key {key}").unwrap();
    }
}

#[test]
fn threads_fill_it_as_one_would() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("filter");
    for kind in KINDS {
        let mut plain = write(&path, kind);
        let keys: Vec<u64> = (0..40_000).collect();
        let shared = open(&path).unwrap();
        let reader = open(&path).unwrap();
        thread::scope(|scope| {
            for keys in keys.chunks(10_000) {
                let (shared, reader) = (&shared, &reader);
                scope.spawn(move || {
                    let (together, alone) = keys.split_at(5_000);
                    shared.insert_all(together);
                    let mut found = vec![false; together.len()];
                    reader.contains_all(together, &mut found);
                    assert!(found.iter().all(|found| *found));
                    for key in alone {
                        shared.insert(key);
                        assert!(reader.contains(key), "what was inserted is there at once");
                    }
                });
            }
        });
        plain.try_insert_all(&keys).unwrap();
        let mut new = vec![true; keys.len()];
        shared.insert_all_new(&keys, &mut new);
        assert!(new.iter().all(|new| !new) && shared.insert(40_000u64));
        plain.try_insert(40_000u64).unwrap();
        assert!(shared.snapshot().unwrap() == plain);
        assert!(matches!(read(&path), Err(FileError::Unsealed)));
        assert!(!shared.seal().unwrap(), "the reader has it open");
        assert!(matches!(read(&path), Err(FileError::Unsealed)));
        drop(reader);
        assert!(read(&path).unwrap() == plain, "{kind}");
    }
}

#[test]
fn killed_processes_leave_every_key_that_they_inserted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("filter");
    for kind in KINDS {
        write(&path, kind);
        let (mut killed, mut inserted) = (Vec::new(), Vec::new());
        let reader = open(&path).unwrap();
        let (mut lives, all) = child(&path, 1_000_000);
        for number in 0..3 {
            let (mut child, mut keys) = child(&path, number * 100_000);
            let seen: Vec<u64> = keys.by_ref().take(500 * (number as usize + 1)).collect();
            assert!(seen.iter().all(|key| reader.contains(key)), "a reader sees them at once");
            child.kill().unwrap();
            inserted.extend(seen);
            inserted.extend(keys);
            killed.push(child);
        }
        inserted.extend(all);
        assert!(lives.wait().unwrap().success());
        killed.iter_mut().for_each(|child| _ = child.wait().unwrap());
        assert!(inserted.len() >= 23_000 && reader.seal().unwrap());
        let whole = read(&path).unwrap();
        assert!(inserted.iter().all(|key| whole.contains(key)), "{kind}");
    }
}

/// The state after the last user was killed.
#[test]
fn an_unsealed_file_is_told_from_others_and_sealed_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("filter");
    write(&path, Kind::Blocked);
    let before = fs::read(&path).unwrap();
    assert!(!seal(&file(&path)).unwrap(), "it is sealed");
    let (mut child, mut keys) = child(&path, 0);
    assert_eq!(keys.next(), Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
    let unsealed = fs::read(&path).unwrap();
    assert_fails("Unsealed", read(&path));
    assert_fails("Unsealed", AnyFilter::map(&crate::mapped::map(&file(&path))));
    assert_fails("Unsealed", AnyFilter::map_lazily(&crate::mapped::map(&file(&path))));
    // Opening and closing it seals it; so does locking it to change it.
    assert!(open(&path).unwrap().contains(0u64));
    assert!(read(&path).unwrap().contains(0u64));
    fs::write(&path, &unsealed).unwrap();
    assert!(seal(&file(&path)).unwrap());
    assert!(read(&path).unwrap().contains(0u64));
    // Other defects are reported first.
    for (expected, wrong) in [
        ("HeaderDamaged", &[&unsealed[..70], &[1], &unsealed[71..]].concat()),
        ("Length(", &unsealed[..unsealed.len() - 1].to_vec()),
        ("NotUmbel(", &b"no filter".to_vec()),
    ] {
        fs::write(&path, wrong).unwrap();
        assert_fails(expected, open(&path));
        assert!(!seal(&file(&path)).unwrap());
        assert_eq!(fs::read(&path).unwrap(), *wrong);
    }
    // A sealed file is checked before it is marked, also after its last bit.
    let plan = Plan::for_keys(Kind::Sliced, 1000, 0.01).unwrap();
    fs::write(&path, AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap().to_bytes())
        .unwrap();
    let user = open(&path).unwrap();
    let mut padded = fs::read(&path).unwrap();
    let header = Reader::begin(&padded[..], padded.len() as u64).unwrap().header().clone();
    padded[header.bytes().len() + header.payload_length() as usize - 1] |= 0x80;
    fs::write(&path, &padded).unwrap();
    drop(user);
    padded = fs::read(&path).unwrap();
    let damaged = [&before[..1000], &[before[1000] ^ 1], &before[1001..]].concat();
    for (expected, wrong) in [("PayloadDamaged", damaged), ("Field(", padded)] {
        fs::write(&path, &wrong).unwrap();
        assert_fails(expected, open(&path));
        assert_eq!(fs::read(&path).unwrap(), wrong);
    }
    write(&path, Kind::Counting);
    assert_fails("NotShared(", open(&path));
}
