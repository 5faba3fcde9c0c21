//! Filters larger than the memory cap: built, queried and added to piece by piece.
//!
//! Every line's hash is spilled to a temporary file by the piece of the filter it falls into; then one piece at a time
//! is in memory, where its hashes are inserted or looked up. All bits of a key are in one block, so a piece has the
//! answers for its keys, in the order of the lines. Answers are stored as bits, piece by piece; a second pass over the
//! lines takes the next answer of each line's piece. 16 bytes per line are written once and read once, and each byte
//! of the filter is read and written once.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Mutex;

use umbel::{FileError, KeyDescription, KeyHash, KeyHasher, Plan, Receipt, Secret};
use umbel::{Shard, ShardIndex};
use umbel_io::{PageBuffer, PageReader, PageWriter};

use super::shards::{InShards, OldShards};
use crate::budget::Budget;
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::sink::Sink;
use crate::temporary::TempFile;
use crate::{Error, Options};

/// The maximum number of pieces: each has a file, and a write buffer of at least 16 KiB.
const MOST_PIECES: u64 = 256;

/// Hashes processed together.
pub(crate) const BATCH: usize = 1 << 12;

/// A blocked filter in a file, used without ever being in memory as a whole.
pub struct LargeFilter<'a> {
    /// Its file.
    pub file: &'a File,
    /// Bytes of the file.
    pub length: u64,
    /// The secret, if it is keyed.
    pub secret: Option<&'a Secret>,
    /// Passes on, some at a time, the hashes of keys that count as its own although they are not in the file yet.
    pub noted: &'a Noted<'a>,
}

/// A function that passes hashes to its argument.
pub type Noted<'a> =
    dyn Fn(&mut dyn FnMut(&[KeyHash]) -> Result<(), Error>) -> Result<(), Error> + 'a;

/// The parts that work on a filter starts with.
type Opened<'a, 'o> = (OldShards<PageReader<&'a File>>, InShards, Scanner<'o>, Split);

impl<'a> LargeFilter<'a> {
    /// Opens it: returns the filter, its pieces, sized to leave room for the work, the scanner of lines with its hash,
    /// and the writer that spills hashes, `ordered` or not, noted ones first.
    pub(crate) fn open<'o>(
        &self,
        ordered: bool,
        options: &'o Options,
    ) -> Result<Opened<'a, 'o>, Error> {
        let budget = Budget::new(options.memory, options.threads)?;
        let mut file = self.file;
        file.rewind().map_err(FileError::from)?;
        let source = PageReader::new(1 << 18, file);
        let old = OldShards::open(source, self.length, self.secret)?;
        let scanner = Scanner::new(options, old.hasher().clone())?;
        let shards = InShards::new(old.plan(), piece(budget));
        let split = Split::new(shards, old.plan(), budget, ordered, options)?;
        (self.noted)(&mut |hashes| split.note(hashes))?;
        Ok((old, shards, scanner, split))
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
    let scanner = Scanner::new(options, hasher.clone())?;
    let shards = InShards::new(plan, piece(scanner.budget));
    let split = Split::new(shards, plan, scanner.budget, false, options)?;
    let mut report = Report::default();
    scanner.read(inputs, room(scanner.budget), &split, &mut report)?;
    report.bytes_spilled += spilled(report.lines);
    report.bytes_read += spilled(report.lines);
    let mut pieces = split.finish()?;
    let receipt = shards.write(&hasher, keys, out, &mut |shard| pieces.take().insert(shard))?;
    Ok((report, receipt))
}

/// Writes `filter` to `out`, with all lines of `inputs` added.
///
/// # Errors
/// As [`build_in_pieces`], and errors of the filter.
pub fn add_in_pieces(
    inputs: &[Input],
    filter: &LargeFilter<'_>,
    out: &mut dyn Write,
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let (old, shards, scanner, split) = filter.open(false, options)?;
    let mut report = Report::default();
    scanner.read(inputs, room(scanner.budget), &split, &mut report)?;
    report.bytes_spilled += spilled(report.lines);
    report.bytes_read += spilled(report.lines) + old.plan().bytes();
    let mut pieces = split.finish()?;
    let (_, receipt) = shards.rewrite(old, out, &mut |shard| pieces.take().insert(shard))?;
    Ok((report, receipt))
}

/// Writes the lines of `inputs` that may be in `filter` to `out`, in order, or with `absent` the others. Also returns
/// the filter's receipt. Nothing is written before all of the filter was read and found undamaged.
///
/// # Errors
/// As [`build_in_pieces`], and errors of the filter.
pub fn query_in_pieces(
    inputs: &[Input],
    filter: &LargeFilter<'_>,
    absent: bool,
    out: &mut (dyn Write + Send),
    options: &Options,
) -> Result<(Report, Receipt), Error> {
    let (old, shards, scanner, split) = filter.open(true, options)?;
    let (plan, index, budget) = (*old.plan(), shards.index(), scanner.budget);
    options.progress.expect(2 * lengths(inputs));
    let mut passes = Passes::new(inputs);
    passes.seen(inputs, 0..inputs.len(), &scanner.scan(inputs, room(budget), &split)?)?;
    let mut answers = AnswerWriter::new(options)?;
    let (mut pieces, mut found) = (split.finish()?, vec![false; BATCH]);
    let receipt = shards.read(old, &mut |shard| {
        pieces.take().each(|hashes, noted| {
            if noted {
                shard.insert_all(hashes);
                return Ok(());
            }
            let found = &mut found[..hashes.len()];
            shard.contains_all(hashes, found);
            answers.push(found)
        })?;
        answers.end_piece()
    })?;
    let spilled = answers.spilled();
    let answer = Answer {
        index,
        state: Mutex::new((answers.finish(budget)?, Sink::new(out, options.separator))),
        absent,
    };
    passes.seen(inputs, 0..inputs.len(), &scanner.scan(inputs, room(budget), &answer)?)?;
    let mut report = passes.finish_with(inputs, spilled + plan.bytes(), spilled);
    let (_, sink) = answer.state.into_inner().expect("no worker panics");
    sink.finish(&mut report)?;
    Ok((report, receipt))
}

/// Bytes of the hashes of this many lines.
fn spilled(lines: u64) -> u64 {
    16 * lines
}

/// Bytes of a piece in memory.
pub(crate) fn piece(budget: Budget) -> u64 {
    budget.rest / 2
}

/// Bytes that a long line may use while no piece is in memory.
pub(crate) fn room(budget: Budget) -> u64 {
    budget.long_line().max(budget.rest / 2)
}

/// Spills the hashes of lines by piece.
pub(crate) struct Split {
    index: ShardIndex,
    files: Vec<Mutex<(PageWriter<TempFile>, u64)>>,
    /// Whether the hashes of a piece must be in the order of the lines.
    ordered: bool,
}

impl Split {
    /// For the pieces of a filter.
    pub(crate) fn new(
        shards: InShards,
        plan: &Plan,
        budget: Budget,
        ordered: bool,
        options: &Options,
    ) -> Result<Self, Error> {
        let (index, count) = (shards.index(), shards.count());
        let most = MOST_PIECES.min(budget.spare_files()).max(2);
        if count > most {
            let least = Budget::least_cap(budget.threads, 2 * plan.bytes().div_ceil(most));
            return Err(Error::Memory { cap: budget.cap, least });
        }
        let buffer = (budget.rest / 8 / count).min(256 << 10) as usize;
        let file = |_| {
            let file = PageWriter::new(buffer, options.tmp.file()?);
            Ok(Mutex::new((file, 0)))
        };
        let files = (0..count).map(file).collect::<Result<_, Error>>()?;
        Ok(Self { index, files, ordered })
    }

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

    /// Spills hashes that are not of lines; all of them before any line.
    pub(crate) fn note(&self, hashes: &[KeyHash]) -> Result<(), Error> {
        self.write(hashes, 1)
    }

    /// The hashes of each piece.
    pub(crate) fn finish(self) -> Result<Pieces, Error> {
        let pieces =
            self.files.into_iter().map(|piece| piece.into_inner().expect("no worker panics"));
        let hashes = |(file, noted)| Ok(Hashes { file: TempFile::finish(file)?, noted });
        Ok(Pieces(pieces.map(hashes).collect::<Result<Vec<_>, Error>>()?.into_iter()))
    }
}

impl Visit for Split {
    type Local = ();

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(self.ordered);
        if self.ordered { Ok(()) } else { self.write(lines.hashes(), 0) }
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        self.write(lines.hashes(), 0)
    }
}

/// The hashes of all pieces.
pub(crate) struct Pieces(std::vec::IntoIter<Hashes>);

impl Pieces {
    /// Takes the hashes of the next piece.
    pub(crate) fn take(&mut self) -> Hashes {
        self.0.next().expect("as many pieces as shards")
    }
}

/// The hashes of a piece, in a file.
pub(crate) struct Hashes {
    file: TempFile,
    /// The number of hashes at the start that are not of lines.
    noted: u64,
}

impl Hashes {
    /// Inserts all of them.
    fn insert(&self, shard: &mut Shard<'_>) -> Result<(), Error> {
        self.each(|hashes, _| {
            shard.insert_all(hashes);
            Ok(())
        })
    }

    /// Passes them on in order, at most [`BATCH`] at a time, and whether they are noted ones.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(&[KeyHash], bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut left = self.file.written();
        let mut bytes = PageBuffer::new(16 * BATCH);
        let mut hashes = Vec::with_capacity(BATCH);
        let mut noted = self.noted;
        while left > 0 {
            let most = if noted > 0 { noted.min(BATCH as u64) } else { BATCH as u64 };
            let size = left.min(16 * most);
            let read = &mut bytes[..size as usize];
            self.file.read_exact_at(read, self.file.written() - left)?;
            left -= size;
            let chunks = read.as_chunks::<16>().0.iter();
            hashes.clear();
            hashes.extend(chunks.map(|bytes| KeyHash::from_u128(u128::from_le_bytes(*bytes))));
            each(&hashes, noted > 0)?;
            noted -= noted.min(hashes.len() as u64);
        }
        Ok(())
    }
}

/// Answers as bits in a temporary file; each piece's answers start at a new byte.
pub(crate) struct AnswerWriter {
    out: PageWriter<TempFile>,
    /// The bits that do not fill a byte yet, and their number.
    byte: u8,
    bits: u32,
    /// Bytes written.
    written: u64,
    /// For each piece, the start of its answers, and their number.
    pieces: Vec<(u64, u64)>,
    /// Answers of this piece.
    count: u64,
}

impl AnswerWriter {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let out = PageWriter::new(1 << 16, options.tmp.file()?);
        Ok(Self { out, byte: 0, bits: 0, written: 0, pieces: Vec::new(), count: 0 })
    }

    pub(crate) fn push(&mut self, answers: &[bool]) -> Result<(), Error> {
        for &answer in answers {
            self.byte |= u8::from(answer) << self.bits;
            self.bits += 1;
            if self.bits == 8 {
                self.byte_done()?;
            }
        }
        self.count += answers.len() as u64;
        Ok(())
    }

    fn byte_done(&mut self) -> Result<(), Error> {
        self.out.write_all(&[self.byte]).map_err(|error| self.out.get_ref().fail(error))?;
        (self.byte, self.bits) = (0, 0);
        self.written += 1;
        Ok(())
    }

    pub(crate) fn end_piece(&mut self) -> Result<(), Error> {
        if self.bits > 0 {
            self.byte_done()?;
        }
        let count = std::mem::take(&mut self.count);
        self.pieces.push((self.written - count.div_ceil(8), count));
        Ok(())
    }

    /// Bytes of temporary files: of the hashes of all pieces' lines, and of their answers.
    pub(crate) fn spilled(&self) -> u64 {
        spilled(self.pieces.iter().map(|(_, count)| count).sum()) + self.written
    }

    pub(crate) fn finish(self, budget: Budget) -> Result<Answers, Error> {
        let file = TempFile::finish(self.out)?;
        let buffer = (budget.rest / 8 / self.pieces.len() as u64).clamp(512, 64 << 10) as usize;
        let piece = |(start, count)| PieceAnswers { start, count, next: 0, held: Vec::new() };
        Ok(Answers { file, buffer, pieces: self.pieces.into_iter().map(piece).collect() })
    }
}

/// The answers of all pieces, in the order of the lines.
pub(crate) struct Answers {
    file: TempFile,
    buffer: usize,
    pieces: Vec<PieceAnswers>,
}

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
    /// Adds the numbers of the `lines` whose answers are `answer` to `wanted`.
    pub(crate) fn wanted(
        &mut self,
        index: ShardIndex,
        answer: bool,
        lines: &Lines<'_>,
        wanted: &mut Vec<usize>,
    ) -> Result<(), Error> {
        wanted.clear();
        for (i, hash) in lines.hashes().iter().enumerate() {
            match self.next(index.of(*hash))? {
                Some(found) if found == answer => wanted.push(i),
                Some(_) => {}
                None => return Err(Error::Changed { name: lines.name().to_owned() }),
            }
        }
        Ok(())
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
            file.read_exact_at(&mut piece.held, piece.start + byte)?;
        }
        let answer = piece.held[place] >> (piece.next % 8) & 1 == 1;
        piece.next += 1;
        Ok(Some(answer))
    }
}

/// Writes the lines with the wanted answer.
struct Answer<'a> {
    index: ShardIndex,
    state: Mutex<(Answers, Sink<'a>)>,
    absent: bool,
}

impl Visit for Answer<'_> {
    type Local = Vec<usize>;

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        self.state.lock().expect("no worker panics").1.header(Some(row))
    }

    fn kept(&self, wanted: &mut Vec<usize>, lines: &Lines<'_>) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        let (answers, sink) = &mut *state;
        answers.wanted(self.index, !self.absent, lines, wanted)?;
        sink.rows(lines, wanted.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use umbel::Filter as _;

    use umbel::{AnyFilter, Kind};

    use super::*;
    use crate::testing::{lines, workplace, write};

    #[test]
    fn answers_come_back_piece_by_piece() {
        let (_dir, options) = workplace(b'\n');
        let answer = |piece: usize, i: usize| (piece * 31 + i * i).is_multiple_of(3);
        let mut writer = AnswerWriter::new(&options).unwrap();
        let counts = [0, 8, 3, 16, 0, 5000, 7];
        for (piece, &count) in counts.iter().enumerate() {
            let all: Vec<bool> = (0..count).map(|i| answer(piece, i)).collect();
            for some in all.chunks(100) {
                writer.push(some).unwrap();
            }
            writer.end_piece().unwrap();
        }
        let bytes: usize = counts.iter().map(|count| 16 * count + count.div_ceil(8)).sum();
        assert_eq!(writer.spilled(), bytes as u64);
        let mut answers = writer.finish(Budget::new(16 << 20, 1).unwrap()).unwrap();
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
        let (dir, options) = workplace(b'\n');
        let options = Options { memory: 16 << 20, threads: 2, ..options };
        let inputs = write(dir.path(), &[lines(0..100_000)]);
        let plan = Plan::for_memory(Kind::Blocked, 100_000, 40 << 20).unwrap();
        assert!(crate::room_left(plan.bytes(), &options).is_err());
        let (hasher, keys) = (KeyHasher::default(), KeyDescription::default());
        let mut found = Vec::new();
        let (report, receipt) =
            build_in_pieces(&inputs, &plan, hasher, &keys, &mut found, &options).unwrap();
        assert_eq!(report.lines, 100_000);
        let filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let mut filter = crate::Filter::Own(filter);
        let roomy = Options { memory: 1 << 30, ..options.clone() };
        crate::insert(&inputs, &mut filter, &roomy).unwrap();
        let mut expected = Vec::new();
        filter.write(&mut expected).unwrap();
        assert!(found == expected);
        let crate::Receipt::Own(expected) = filter.receipt() else { unreachable!() };
        assert_eq!(receipt.keys, expected.keys);
        // With a few keys from elsewhere in front of the same lines.
        let mut old = tempfile::tempfile().unwrap();
        old.write_all(&found).unwrap();
        let hashes: Vec<_> = (0..7u64).map(|key| KeyHasher::default().hash(key)).collect();
        let length = found.len() as u64;
        let large = LargeFilter { file: &old, length, secret: None, noted: &|see| see(&hashes) };
        found.clear();
        add_in_pieces(&inputs, &large, &mut found, &options).unwrap();
        let crate::Filter::Own(mut filter) = filter else { unreachable!() };
        filter.try_insert_all(&hashes).unwrap();
        assert!(found == filter.to_bytes());
    }
}
