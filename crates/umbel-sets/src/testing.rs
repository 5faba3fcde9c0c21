//! Helpers shared by the tests of several jobs.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::prelude::*;
use crate::{Records, Resources, TempFolders};

/// How much a long test does: a part, or with `cargo x test --full` all.
pub(crate) fn long<T>(all: T, part: T) -> T {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

pub(crate) fn input(dir: &Path, name: &str, bytes: &[u8]) -> Input {
    let path = dir.join(name);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    Input::file(name, File::open(path).unwrap()).unwrap()
}

/// Writes files named by their numbers.
pub(crate) fn write(dir: &Path, files: &[Vec<u8>]) -> Vec<Input> {
    files.iter().enumerate().map(|(i, bytes)| input(dir, &i.to_string(), bytes)).collect()
}

/// Delivers a few bytes at a time.
pub(crate) struct Drip<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Drip<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let size = self.1.min(bytes.len());
        self.0.read(&mut bytes[..size])
    }
}

pub(crate) fn options_of(dir: &Path, records: Records) -> Options {
    let resources = Resources::new(1 << 30, 1, TempFolders::new(&[dir.to_owned()]));
    Options { resources, form: records.into() }
}

/// A folder for the files of a job on some records, and its options.
pub(crate) fn workplace_of(records: Records) -> (TempDir, Options) {
    let dir = tempfile::tempdir().unwrap();
    let options = options_of(dir.path(), records);
    (dir, options)
}

/// The same for lines that end with this byte.
pub(crate) fn workplace(separator: u8) -> (TempDir, Options) {
    workplace_of(Records::Lines(separator))
}

/// The same, with files of lines.
pub(crate) fn workplace_with(files: &[Vec<u8>], separator: u8) -> (TempDir, Vec<Input>, Options) {
    let (dir, options) = workplace(separator);
    let inputs = write(dir.path(), files);
    (dir, inputs, options)
}

/// A budget for a test.
pub(crate) fn budget(threads: usize, chunk: usize, rest: u64) -> Budget {
    Budget { cap: 1 << 30, threads, chunk, kept: 300, bucketed: 1 << 16, rest, files: 1024 }
}

/// A budget with which every strategy is used, and lines are spilled.
pub(crate) fn cramped(threads: usize) -> Budget {
    budget(threads, 4096, 60_000)
}

pub(crate) fn lines(range: Range<u32>) -> Vec<u8> {
    range
        .flat_map(|i| format!("line number {}\n", i.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

/// The lines of `bytes`; bytes after the last end, if any, are a line.
pub(crate) fn lines_of(bytes: &[u8], separator: u8) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == separator).collect();
    lines.pop_if(|last| last.is_empty());
    lines
}

/// Numbers of threads, up to 64; mostly few, which is fast.
pub(crate) fn threads() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 1..4usize, 1 => 4..65usize]
}

/// The memory a cap leaves for data: mostly so little that everything is spilled, at most what 2 GiB leave.
pub(crate) fn rests() -> impl Strategy<Value = u64> {
    prop_oneof![5 => 4_000u64..200_000, 1 => 200_000u64..2 << 30]
}

/// Files for a job, and a budget.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) separator: u8,
    pub(crate) budget: Budget,
}

impl Files {
    pub(crate) fn workplace(&self) -> (TempDir, Vec<Input>, Options) {
        workplace_with(&self.inputs, self.separator)
    }
}

/// Inputs drawn from one set of lines, so they share many; short and long lines, with bytes of every value; few or many
/// repeats.
pub(crate) fn files(count: Range<usize>) -> impl Strategy<Value = Files> {
    let line = prop_oneof![
        4 => vec(any::<u8>(), 0..12),
        2 => vec(97u8..100, 0..3),
        1 => vec(any::<u8>(), 100..700),
    ];
    let shape = (count, vec(line, 1..300), any::<bool>());
    shape.prop_flat_map(|(files, lines, zero)| {
        let separator = if zero { 0 } else { b'\n' };
        let lines: Vec<Vec<u8>> = lines
            .into_iter()
            .map(|line| line.into_iter().filter(|&byte| byte != separator).collect())
            .collect();
        let file = (vec(0..lines.len(), 0..600), any::<bool>()).prop_map(move |(picks, end)| {
            let picked: Vec<_> = picks.iter().map(|&i| &lines[i][..]).collect();
            let mut bytes = picked.join(&separator);
            if end && !picks.is_empty() {
                bytes.push(separator);
            }
            bytes
        });
        let inputs = vec(file, files);
        let budget = (threads(), 1usize..2000, rests(), 0u64..1000).prop_map(
            |(threads, chunk, rest, files)| Budget { files, ..budget(threads, chunk, rest) },
        );
        (inputs, budget).prop_map(move |(inputs, budget)| Files { inputs, separator, budget })
    })
}
