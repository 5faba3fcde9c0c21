//! Filters larger than the memory cap: built, queried and added to piece by piece.
//!
//! Every line's hash is spilled to a temporary file by the piece of the filter it falls into; then one piece at a time
//! is in memory, where its hashes are inserted or looked up. All bits of a key are in one block, so a piece has the
//! answers for its keys, in the order of the lines. Answers are stored as bits, piece by piece; a second pass over the
//! lines takes the next answer of each line's piece. 16 bytes per line are written once and read once, and each byte
//! of the filter is read and written once.

use std::fs::File;
use std::io::{Seek, Write};
use std::slice;

use umbel::{FileError, KeyDescription, Plan, Receipt, Secret, Shard, ShardIndex};
use umbel_io::{PageBuffer, PageReader, PageWriter};

use super::shards::InShards;
use crate::passes::Passes;
use crate::prelude::*;
use crate::scan::SeeHeader;
use crate::sink::Sink;
use crate::temporary::TempFile;
use crate::unseen::journal::Notes;

/// The maximum number of pieces: each has a file, and a write buffer of at least 16 KiB.
const MOST_PIECES: u64 = 256;

/// Hashes processed together; a multiple of 8.
const BATCH: usize = 1 << 12;

/// A blocked filter in a file, used without ever being in memory as a whole.
pub struct LargeFilter<'a> {
    /// Its file, unless it is new.
    file: Option<&'a File>,
    /// The journal next to it, whose hashes count as its own.
    pub notes: Option<&'a Notes>,
    pieces: InShards<PageReader<&'a File>>,
}

/// Gets some hashes of a piece, in order, and whether they are noted ones; sets an answer for each.
type Ask<'a> = dyn FnMut(&mut Shard<'_>, &[KeyHash], bool, &mut [bool]) + 'a;

impl<'a> LargeFilter<'a> {
    /// Opens the filter in a file of `length` bytes, with the secret, if it is keyed, and the journal next to it, if
    /// there is one.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](umbel::AnyFilter::read), except for the checksums of the payload; [`FileError::Kind`] if
    /// the filter is not blocked.
    pub fn open(
        mut file: &'a File,
        length: u64,
        secret: Option<&Secret>,
        notes: Option<&'a Notes>,
    ) -> Result<Self, FileError> {
        file.rewind()?;
        let pieces = InShards::open(PageReader::new(1 << 18, file), length, secret)?;
        Ok(Self { file: Some(file), notes, pieces })
    }

    /// Returns its plan.
    pub fn plan(&self) -> &Plan {
        &self.pieces.plan
    }

    /// Returns the description of its keys.
    pub fn description(&self) -> &KeyDescription {
        &self.pieces.description
    }

    /// Begins to work on it: returns the scanner of lines with its hash, and the writer that spills hashes, noted ones
    /// first.
    fn begin<'o>(&mut self, options: &'o Options) -> Result<(Scanner<'o>, Split), Error> {
        let scanner = Scanner::new(options, self.pieces.hasher.clone())?;
        let split = Split::new(&mut self.pieces, scanner.budget, options)?;
        if let (Some(file), Some(notes)) = (self.file, self.notes) {
            let note = |hashes: Vec<_>| Ok(split.write(&hashes, 1)?);
            notes.each_hashes(file, note).map_err(|error| {
                error.downcast().unwrap_or_else(|error| Error::Work(error.into()))
            })?;
        }
        Ok((scanner, split))
    }

    /// Reads all lines of `inputs`, then answers them piece by piece. The lines of `had` count as noted. The filter goes
    /// to `out` as `ask` leaves it. Returns its receipts before and after.
    pub(crate) fn answer<'o>(
        mut self,
        inputs: &[Input],
        had: Option<&Input>,
        out: Option<&mut dyn Write>,
        options: &'o Options,
        ask: &mut Ask<'_>,
    ) -> Result<(Answered<'o>, Receipt, Receipt), Error> {
        let (scanner, split) = self.begin(options)?;
        let mut pieces = self.pieces;
        let room = room(scanner.budget);
        options.resources.progress.expect(2 * lengths(inputs));
        if let Some(had) = had {
            let of_output = &options.for_own_output();
            let scanner = Scanner::new(of_output, pieces.hasher.clone())?;
            let note = Visit::in_order(room, |lines| split.write(lines.hashes(), 1));
            scanner.scan(slice::from_ref(had), 0..1, &note)?;
        }
        let mut passes = Passes::new(inputs);
        let (all, spill) = (0..inputs.len(), |lines: &Lines<'_>| split.write(lines.hashes(), 0));
        let tallies = scanner.scan(inputs, all.clone(), &Visit::in_order(room, spill))?;
        passes.record(inputs, all, &tallies)?;
        let index = pieces.index();
        let mut answers = Answers::new(pieces.count(), scanner.budget, options)?;
        let mut hashes = split.finish()?;
        let mut found = vec![false; BATCH];
        let mut work = |shard: &mut Shard<'_>| {
            answers.begin_piece();
            hashes.next().expect("as many pieces as shards").each(|hashes, noted| {
                let found = &mut found[..hashes.len()];
                ask(shard, hashes, noted, found);
                if noted { Ok(()) } else { answers.push(found) }
            })
        };
        let (before, after) = pieces.pass(out, &mut work)?;
        let spilled = answers.finish()?;
        let read = spilled + pieces.plan.bytes();
        let answered = Answered { scanner, passes, index, answers, spilled, read };
        Ok((answered, before.receipt(&pieces.hasher), after.receipt(&pieces.hasher)))
    }
}

/// Writes a blocked filter of all lines of `inputs` to `out`, whatever its size; `keys` describes its keys.
///
/// # Errors
/// Errors of reading and of temporary files; [`Error::Output`]; [`Error::Memory`] if the filter is more than about
/// a hundred times the cap.
pub fn build_in_pieces(
    inputs: &[Input],
    plan: &Plan,
    hasher: KeyHasher,
    keys: &KeyDescription,
    out: &mut dyn Write,
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let pieces = InShards::new(*plan, hasher, keys.clone());
    add_in_pieces(inputs, LargeFilter { file: None, notes: None, pieces }, out, options)
}

/// Writes `filter` to `out`, with all lines of `inputs` added.
///
/// # Errors
/// As [`build_in_pieces`], and errors of the filter.
pub fn add_in_pieces(
    inputs: &[Input],
    mut filter: LargeFilter<'_>,
    out: &mut dyn Write,
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let (scanner, split) = filter.begin(options)?;
    let spill = |lines: &Lines<'_>, _: &mut [bool]| split.write(lines.hashes(), 0);
    let mut report = scanner.read(inputs, &Visit::new(room(scanner.budget), || spill))?;
    let (spilled, old) = (spilled(report.lines), filter.file.map_or(0, |_| filter.plan().bytes()));
    report.bytes_spilled += spilled;
    report.bytes_read += spilled + old;
    let mut pieces = filter.pieces;
    let mut hashes = split.finish()?;
    let mut insert = |shard: &mut Shard<'_>| {
        hashes.next().expect("as many pieces as shards").each(|hashes, _| {
            shard.insert_all(hashes);
            Ok(())
        })
    };
    let (_, after) = pieces.pass(Some(out), &mut insert)?;
    Ok((report, after.receipt(&pieces.hasher)))
}

/// Writes the lines of `inputs` that may be in `filter` to `out`, in order, or with `absent` the others. Also returns
/// the filter's receipt. Nothing is written before all of the filter was read and found undamaged.
///
/// # Errors
/// As [`build_in_pieces`], and errors of the filter.
pub fn query_in_pieces(
    inputs: &[Input],
    filter: LargeFilter<'_>,
    absent: bool,
    out: &mut (dyn Write + Send),
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let ask = &mut |shard: &mut Shard<'_>, hashes: &[KeyHash], noted, found: &mut [bool]| {
        if noted {
            shard.insert_all(hashes);
        } else {
            shard.contains_all(hashes, found);
        }
    };
    let (answered, _, receipt) = filter.answer(inputs, None, None, options, ask)?;
    let sink = Mutex::new(Sink::new(out, options.form.records.end()));
    let locked = || sink.lock().expect("no worker panics");
    let header = &|row: &[u8]| locked().header(Some(row));
    let lines = &|lines: &Lines<'_>, wanted: &[usize]| locked().rows(lines, wanted.iter().copied());
    let report = answered.write(inputs, !absent, header, lines)?;
    Ok((sink.into_inner().expect("no worker panics").finish(report)?, receipt))
}

/// Bytes of the hashes of this many lines.
fn spilled(lines: u64) -> u64 {
    16 * lines
}

/// Bytes that a long line may use while no piece is in memory.
fn room(budget: Budget) -> u64 {
    budget.long_line().max(budget.rest / 2)
}

/// Spills the hashes of lines by piece.
struct Split {
    index: ShardIndex,
    files: Vec<Mutex<(PageWriter<TempFile>, u64)>>,
}

impl Split {
    /// Divides a filter into pieces of half the memory.
    fn new(
        pieces: &mut InShards<PageReader<&File>>,
        budget: Budget,
        options: &Options,
    ) -> Result<Self, Error> {
        pieces.divide(budget.rest / 2);
        let (index, count) = (pieces.index(), pieces.count());
        let most = MOST_PIECES.min(budget.spare_files()).max(2);
        if count > most {
            return Err(budget.too_small(2 * pieces.plan.bytes().div_ceil(most)));
        }
        let buffer = (budget.rest / 8 / count).min(256 << 10) as usize;
        let file = |_| {
            let file = PageWriter::new(buffer, options.resources.tmp.file()?);
            Ok(Mutex::new((file, 0)))
        };
        let files = (0..count).map(file).collect::<Result<_, Error>>()?;
        Ok(Self { index, files })
    }

    /// Spills hashes; `noted` ones are not of lines, come first, and count 1 each.
    fn write(&self, hashes: &[KeyHash], noted: u64) -> Result<(), Error> {
        for hash in hashes {
            let mut piece =
                self.files[self.index.of(*hash) as usize].lock().expect("no worker panics");
            let (file, count) = &mut *piece;
            let bytes = hash.to_u128().to_le_bytes();
            file.write_all(&bytes).map_err(|error| file.get_ref().fail(error))?;
            *count += noted;
        }
        Ok(())
    }

    /// The hashes of each piece.
    fn finish(self) -> Result<std::vec::IntoIter<Hashes>, Error> {
        let pieces =
            self.files.into_iter().map(|piece| piece.into_inner().expect("no worker panics"));
        let hashes = |(file, noted)| Ok(Hashes { file: TempFile::finish(file)?, noted });
        Ok(pieces.map(hashes).collect::<Result<Vec<_>, Error>>()?.into_iter())
    }
}

/// The hashes of a piece, in a file.
struct Hashes {
    file: TempFile,
    /// The number of noted hashes at the start, which are not of lines.
    noted: u64,
}

impl Hashes {
    /// Passes them on in order, at most [`BATCH`] at a time, and whether they are noted ones.
    fn each(
        &self,
        mut each: impl FnMut(&[KeyHash], bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut at, noted, end) = (0, spilled(self.noted), self.file.written);
        let mut bytes = PageBuffer::new(16 * BATCH);
        let mut hashes = Vec::with_capacity(BATCH);
        while at < end {
            let left = if at < noted { noted - at } else { end - at };
            let size = left.min(bytes.len() as u64);
            let read = &mut bytes[..size as usize];
            self.file.read_exact_at(read, at)?;
            let chunks = read.as_chunks::<16>().0.iter();
            hashes.clear();
            hashes.extend(chunks.map(|bytes| KeyHash::from_u128(u128::from_le_bytes(*bytes))));
            each(&hashes, at < noted)?;
            at += size;
        }
        Ok(())
    }
}

/// Answers as bits in a temporary file: written piece by piece, each from a new byte on, and read in the order of the
/// lines.
struct Answers {
    file: PageWriter<TempFile>,
    /// Bytes of a piece that are read together.
    buffer: usize,
    pieces: Vec<PieceAnswers>,
}

#[derive(Default)]
struct PieceAnswers {
    /// Their start in the file, and their number.
    start: u64,
    count: u64,
    /// The number returned so far.
    next: u64,
    /// The bytes of the next answers, from a multiple of the buffer on.
    held: Vec<u8>,
}

impl Answers {
    /// The answers of `count` pieces.
    fn new(count: u64, budget: Budget, options: &Options) -> Result<Self, Error> {
        let buffer = (budget.rest / 8 / count).clamp(512, 64 << 10) as usize;
        let file = PageWriter::new(1 << 16, options.resources.tmp.file()?);
        Ok(Self { file, buffer, pieces: Vec::new() })
    }

    fn begin_piece(&mut self) {
        self.pieces.push(PieceAnswers { start: self.end(), ..PieceAnswers::default() });
    }

    /// Adds the next answers of the piece: a multiple of 8, or its last ones.
    fn push(&mut self, answers: &[bool]) -> Result<(), Error> {
        let byte = |some: &[bool]| some.iter().rfold(0, |byte, &one| byte << 1 | u8::from(one));
        let bytes: Vec<u8> = answers.chunks(8).map(byte).collect();
        self.pieces.last_mut().expect("it was begun").count += answers.len() as u64;
        self.file.write_all(&bytes).map_err(|error| self.file.get_ref().fail(error))
    }

    /// Bytes written.
    fn end(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.start + piece.count.div_ceil(8))
    }

    /// Ends the last piece; returns the bytes of temporary files: of the hashes of all pieces' lines, and of their answers.
    fn finish(&mut self) -> Result<u64, Error> {
        self.file.flush().map_err(|error| self.file.get_ref().fail(error))?;
        Ok(spilled(self.pieces.iter().map(|piece| piece.count).sum()) + self.end())
    }

    /// The next answer of a piece; `None` if there are no more.
    fn next(&mut self, piece: u64) -> Result<Option<bool>, Error> {
        let Self { file, buffer, pieces } = self;
        let piece = &mut pieces[piece as usize];
        if piece.next == piece.count {
            return Ok(None);
        }
        let byte = piece.next / 8;
        let place = (byte % *buffer as u64) as usize;
        if place == 0 && piece.next.is_multiple_of(8) {
            let left = (piece.count.div_ceil(8) - byte).min(*buffer as u64) as usize;
            piece.held.resize(left, 0);
            file.get_ref().read_exact_at(&mut piece.held, piece.start + byte)?;
        }
        let answer = piece.held[place] >> (piece.next % 8) & 1 == 1;
        piece.next += 1;
        Ok(Some(answer))
    }
}

/// Lines that were read once and answered; a second pass writes some.
pub(crate) struct Answered<'o> {
    scanner: Scanner<'o>,
    passes: Passes,
    index: ShardIndex,
    answers: Answers,
    /// Bytes written to temporary files, and read from them and from the filter.
    spilled: u64,
    read: u64,
}

impl Answered<'_> {
    /// Passes on the header, and then the lines with the `wanted` answer, in order.
    pub(crate) fn write(
        self,
        inputs: &[Input],
        wanted: bool,
        header: &SeeHeader<'_>,
        lines: &Wanted<'_>,
    ) -> Result<Report, Error> {
        let Self { scanner, mut passes, index, mut answers, spilled, read } = self;
        let mut some = Vec::new();
        let visit = Visit::in_order(room(scanner.budget), |all| {
            some.clear();
            for (i, hash) in all.hashes().iter().enumerate() {
                match answers.next(index.of(*hash))? {
                    Some(answer) if answer == wanted => some.push(i),
                    Some(_) => {}
                    None => return Err(Error::Changed(all.name().to_owned())),
                }
            }
            lines(all, &some)
        });
        let visit = Visit { header: Box::new(header), ..visit };
        let tallies = scanner.scan(inputs, 0..inputs.len(), &visit)?;
        passes.record(inputs, 0..inputs.len(), &tallies)?;
        Ok(passes.finish_with(inputs, read, spilled))
    }
}

/// Receives some of the lines, by their numbers.
type Wanted<'a> = dyn Fn(&Lines<'_>, &[usize]) -> Result<(), Error> + Sync + 'a;

#[cfg(test)]
mod tests {
    use umbel::{AnyFilter, Filter as _, Kind};

    use super::*;
    use crate::testing::{lines, workplace, workplace_with};
    use crate::unseen::Checkpoint;
    use crate::unseen::journal::{Journal, Reached, path_of};

    #[test]
    fn answers_come_back_piece_by_piece() {
        let (_dir, options) = workplace(b'\n');
        let answer = |piece: usize, i: usize| (piece * 31 + i * i).is_multiple_of(3);
        let counts = [0, 8, 3, 16, 0, 5000, 7];
        let budget = Budget::new(16 << 20, 1).unwrap();
        let mut answers = Answers::new(7, budget, &options).unwrap();
        for (piece, &count) in counts.iter().enumerate() {
            let all: Vec<bool> = (0..count).map(|i| answer(piece, i)).collect();
            answers.begin_piece();
            for some in all.chunks(104) {
                answers.push(some).unwrap();
            }
        }
        let bytes: usize = counts.iter().map(|count| 16 * count + count.div_ceil(8)).sum();
        assert_eq!(answers.finish().unwrap(), bytes as u64);
        for i in 0..5000 {
            for (piece, &count) in counts.iter().enumerate() {
                if i < count {
                    let found = answers.next(piece as u64).unwrap();
                    assert_eq!(found, Some(answer(piece, i)), "{piece} {i}");
                }
            }
        }
        assert!((0..counts.len()).all(|piece| answers.next(piece as u64).unwrap().is_none()));
    }

    #[test]
    fn a_filter_larger_than_the_cap_is_the_same_file() {
        let (dir, inputs, mut options) = workplace_with(&[lines(0..100_000)], b'\n');
        (options.resources.memory, options.resources.threads) = (16 << 20, 2);
        let plan = Plan::for_memory(Kind::Blocked, 100_000, 40 << 20).unwrap();
        assert!(crate::room_left(plan.bytes(), &options.resources).is_err());
        let (hasher, keys) = (KeyHasher::default(), KeyDescription::default());
        let mut found = Vec::new();
        let (report, receipt) =
            build_in_pieces(&inputs, &plan, hasher, &keys, &mut found, &options).unwrap();
        assert_eq!(report.lines, 100_000);
        let filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let mut filter = crate::Filter::Own(filter);
        let mut roomy = options.clone();
        roomy.resources.memory = 1 << 30;
        crate::insert(&inputs, &mut filter, &roomy).unwrap();
        let mut expected = Vec::new();
        filter.write(&mut expected).unwrap();
        assert!(found == expected);
        let crate::Receipt::Own(expected) = filter.receipt() else { unreachable!() };
        assert_eq!(receipt.keys, expected.keys);
        // With a few keys from its journal in front of the same lines.
        let mut old = tempfile::tempfile().unwrap();
        old.write_all(&found).unwrap();
        let hashes: Vec<_> = (0..7u64).map(|key| KeyHasher::default().hash(key)).collect();
        let path = dir.path().join("old");
        let mut journal = Journal::new(path_of(&path), None).unwrap();
        journal.note(hashes.iter().copied()).unwrap();
        let reached = Reached { at: Checkpoint::default(), output: None };
        journal.reached(&reached).unwrap();
        let notes = Notes::of(&path).unwrap();
        let length = found.len() as u64;
        let large = LargeFilter::open(&old, length, None, notes.as_ref()).unwrap();
        found.clear();
        add_in_pieces(&inputs, large, &mut found, &options).unwrap();
        let crate::Filter::Own(mut filter) = filter else { unreachable!() };
        filter.try_insert_all(&hashes).unwrap();
        assert!(found == filter.to_bytes());
    }
}
