//! Building a filter that is larger than the memory cap.
//!
//! Every line's hash is set aside in a temporary file by the piece of the filter it falls into; then
//! one piece after the other is filled in memory and written, in order. Each byte is written once
//! and read once, 16 for each line.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::sync::Mutex;

use umbel::filter::{ShardIndex, ShardWriter};
use umbel::{KeyDescription, KeyHash, KeyHasher, Plan, Receipt};

use crate::budget::Budget;
use crate::input::{Input, lengths};
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::temporary::TempFile;
use crate::{Error, Options};

/// Most pieces: each has a file, and a write buffer of at least 16 KiB.
const MOST_PIECES: u64 = 256;

/// Writes a blocked filter of all lines of `inputs` to `out`, whatever its size.
///
/// # Errors
/// Those of reading and of temporary files; [`Error::Output`]; [`Error::Memory`] when the filter is
/// more than about a hundred times the cap.
pub fn build_in_pieces(
    inputs: &[Input],
    plan: &Plan,
    hasher: KeyHasher,
    out: impl Write,
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let scanner = Scanner::new(options, hasher)?;
    let budget = scanner.budget;
    let size = budget.rest / 2;
    let mut shards =
        ShardWriter::new(out, plan, hasher, &KeyDescription::default(), size).map_err(output)?;
    let most = MOST_PIECES.min(budget.spare_files()).max(2);
    if shards.count() > most {
        let least = Budget::least_cap(budget.threads, 2 * plan.bytes().div_ceil(most));
        return Err(Error::Memory { cap: budget.cap, least });
    }
    let buffer = (budget.rest / 8 / shards.count()).min(256 << 10) as usize;
    let files = (0..shards.count())
        .map(|_| Ok(Mutex::new(BufWriter::with_capacity(buffer, options.tmp.file()?))))
        .collect::<Result<Vec<_>, Error>>()?;
    options.progress.expect(lengths(inputs));
    let mut report = Report::default();
    let split = Split { index: shards.index(), files, room: budget.rest / 8 };
    report.passed(inputs, &scanner.scan(inputs, &split)?);
    let files = split.files;
    report.bytes_spilled += 16 * report.lines;
    report.bytes_read += 16 * report.lines;
    for file in files {
        let file = TempFile::finish(file.into_inner().expect("no worker panics"))?;
        shards.shard(|shard| {
            let mut hashes = Vec::with_capacity(1 << 12);
            each_hash(file.file(), |hash| {
                hashes.push(hash);
                if hashes.len() == hashes.capacity() {
                    shard.insert_all(&hashes);
                    hashes.clear();
                }
            })
            .map_err(|error| ShardError(file.fail(error)))?;
            shard.insert_all(&hashes);
            Ok::<(), ShardError>(())
        })?;
    }
    report.bytes_written = plan.bytes();
    Ok((report, shards.finish().map_err(Error::Output)?))
}

/// What writing a filter can say: that the place it goes to failed, or what was wrong with it.
fn output(error: umbel::FileError) -> Error {
    match error {
        umbel::FileError::Io(error) => Error::Output(error),
        other => other.into(),
    }
}

/// An error of a shard, from reading hashes back or from writing the filter.
struct ShardError(Error);

impl From<std::io::Error> for ShardError {
    fn from(error: std::io::Error) -> Self {
        Self(Error::Output(error))
    }
}

impl From<ShardError> for Error {
    fn from(error: ShardError) -> Self {
        error.0
    }
}

fn each_hash(mut file: &File, mut each: impl FnMut(KeyHash)) -> std::io::Result<()> {
    std::io::Seek::rewind(&mut file)?;
    let mut hashes = BufReader::with_capacity(256 << 10, file);
    let mut bytes = [0; 16];
    loop {
        match hashes.read_exact(&mut bytes) {
            Ok(()) => each(KeyHash::from_u128(u128::from_le_bytes(bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Sets the hashes of lines aside by piece.
struct Split {
    index: ShardIndex,
    files: Vec<Mutex<BufWriter<TempFile>>>,
    room: u64,
}

impl Visit for Split {
    type Local = ();

    fn local(&self) {}

    fn batch(&self, (): &mut (), lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        for hash in lines.hashes() {
            let mut file =
                self.files[self.index.of(*hash) as usize].lock().expect("no worker panics");
            let bytes = hash.to_u128().to_le_bytes();
            file.write_all(&bytes).map_err(|error| file.get_ref().fail(error))?;
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use umbel::{AnyFilter, Kind};

    use super::*;
    use crate::{Progress, TempFolders};

    #[test]
    fn a_filter_larger_than_the_cap_is_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        for i in 0..100_000 {
            writeln!(file, "line {i}").unwrap();
        }
        let options = Options {
            memory: 16 << 20,
            threads: 2,
            tmp: Arc::new(TempFolders::new(&[dir.path().to_owned()])),
            separator: b'\n',
            records: crate::Records::Lines,
            normalization: Default::default(),
            missing: Default::default(),
            bad: Default::default(),
            progress: Arc::new(Progress::default()),
        };
        let inputs = [Input::file("lines", file).unwrap()];
        let plan = Plan::for_memory(Kind::Blocked, 100_000, 40 << 20).unwrap();
        assert!(crate::room_beside(plan.bytes(), &options).is_err());
        let mut found = Vec::new();
        let (report, receipt) =
            build_in_pieces(&inputs, &plan, KeyHasher::default(), &mut found, &options).unwrap();
        assert_eq!(report.lines, 100_000);
        let filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let mut filter = crate::Filter::Own(filter);
        crate::insert(&inputs, &mut filter, &Options { memory: 1 << 30, ..options }).unwrap();
        let mut expected = Vec::new();
        filter.write(&mut expected).unwrap();
        assert!(found == expected);
        let crate::Receipt::Own(expected) = filter.receipt() else { unreachable!() };
        assert_eq!(receipt.keys, expected.keys);
    }
}
