//! Reads inputs in parallel, split at the ends of lines or other records.
//!
//! The inputs are laid end to end, and each is divided into chunks of equal size, except its last one: for workers, a
//! thousand small files are like one large one. A worker takes the next chunk and owns the lines that *start* in it: it
//! reads the byte before the chunk to see whether a line starts at its first byte, and reads beyond its end until its
//! last line ends. Lines are found and hashed in batches; those that a visitor keeps are handed on in the order of the
//! inputs, whichever worker was first.
//!
//! If records may have line feeds in quotes, a worker must know whether its chunk starts within quotes. It counts the
//! quotes in its chunk as soon as it has read it. The worker of the previous chunk then passes on, in turn, whether
//! the number so far is odd: no additional pass, and hardly any waiting. Of several broken records the first is
//! reported, whichever worker found one first.
//!
//! Memory: a chunk and its slack per worker; for keys that are copied, half of that for the chunk and half for keys. A
//! longer line is read only by the worker whose turn it is, so there is one such line in memory at a time.

mod batch;
mod chunks;
mod long;
mod turns;
mod visit;
mod worker;

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use umbel::KeyHash;

use crate::budget::Budget;
use crate::error::Place;
use crate::hash::LineHasher;
use crate::input::{Input, Reader, lengths, read_error};
use crate::inputs::ReadFrom;
use crate::line_counter::LineCounter;
use crate::records::{
    Beside, Copied, Flaw, Format, Found, Head, KeyAt, Kind, Layout, Record, Start,
};
use crate::report::{Progress, Report};
use crate::{Error, Options};
use batch::{Batch, Origin};
use chunks::Chunks;
pub(crate) use long::skip_line;
use long::{Loaded, grown};
use turns::{Halt, StopOnDrop, Turn, Turns};
use umbel_io::{PageBuffer, on_each};
use visit::Work;
pub(crate) use visit::{Each, Nothing, Visit, Visitor};
use worker::Worker;

/// Some lines of an input, with their hashes.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    origin: Origin<'a>,
    spans: &'a [Span],
    /// The hashes of the keys.
    hashes: &'a [KeyHash],
    /// The locations of the keys; empty if lines are their own keys.
    keys: &'a [KeyAt],
    copied: &'a [u8],
}

#[derive(Clone, Copy)]
struct Span {
    start: usize,
    length: u32,
}

impl Span {
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.length as usize]
    }
}

impl<'a> Lines<'a> {
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn hashes(&self) -> &'a [KeyHash] {
        self.hashes
    }

    /// Line `i`, without its end.
    pub(crate) fn row(&self, i: usize) -> &'a [u8] {
        self.spans[i].of(self.bytes)
    }

    /// The key of line `i`, which is hashed and compared.
    pub(crate) fn key(&self, i: usize) -> &'a [u8] {
        self.record(i).key()
    }

    /// Line `i` with its key.
    pub(crate) fn record(&self, i: usize) -> Record<'a> {
        let row = self.row(i);
        self.keys.get(i).map_or(Record::line(row), |key| key.record(row, self.copied))
    }

    /// The buffer that contains the lines.
    pub(crate) fn buffer(&self) -> &'a [u8] {
        self.bytes
    }

    /// The range of line `i` in the [`buffer`](Self::buffer), including its end, which the last line of a file may
    /// lack.
    pub(crate) fn extent(&self, i: usize) -> Range<usize> {
        let Span { start, length } = self.spans[i];
        start..(start + length as usize + 1).min(self.bytes.len())
    }

    /// The start of line `i` in the input.
    pub(crate) fn offset(&self, i: usize) -> u64 {
        self.origin.offset + self.spans[i].start as u64
    }

    /// The start of line `i`, for messages.
    pub(crate) fn at(&self, i: usize) -> Place {
        Place::new(self.name(), self.offset(i))
    }

    /// The start of line `i` in all inputs, laid end to end.
    pub(crate) fn place(&self, i: usize) -> u64 {
        self.place_of(self.spans[i].start)
    }

    /// The same of a byte in the [`buffer`](Self::buffer).
    pub(crate) fn place_of(&self, at: usize) -> u64 {
        self.origin.place + self.origin.offset + at as u64
    }

    /// The index of the input among all.
    pub(crate) fn input(&self) -> usize {
        self.origin.input
    }

    /// The name of the input.
    pub(crate) fn name(&self) -> &'a str {
        self.origin.name
    }
}

/// What a scan read of an input: equal for two scans of an unchanged file, on any number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    /// Records left out because they lack a key, and because they could not be read.
    pub(crate) missing: u64,
    pub(crate) bad: u64,
    /// The lines that lack a key and were given a unique one.
    alone: u64,
    /// The sum of the hashes of lines and of the header: it does not depend on their order, and shows changes
    /// between passes even in fields that are not part of the key.
    sum: u64,
}

impl Tally {
    /// The tally of lines that were neither hashed nor had keys.
    pub(crate) fn of_lines(lines: u64) -> Self {
        Self { lines, ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.missing += other.missing;
        self.bad += other.bad;
        self.alone += other.alone;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Whether records lack their keys, and none has one.
    pub(crate) fn is_keyless(&self) -> bool {
        self.missing + self.alone > 0 && self.lines == self.alone
    }

    fn see(&mut self, hash: KeyHash) {
        self.sum = self.sum.wrapping_add(hash.high ^ hash.low.rotate_left(32));
    }
}

/// The name of an input that is a single row.
const ROW: &str = "a row";

/// The keys of rows under one header.
pub(crate) struct RowKeys<'f> {
    head: Head<'f>,
    copied: Copied,
}

impl RowKeys<'_> {
    /// Bytes that sort rows by their keys, one field after the other; none for a row without a key. With several
    /// fields, they are put into `text`.
    pub(crate) fn sort_key<'r>(
        &'r mut self,
        row: &'r [u8],
        text: &'r mut Vec<u8>,
    ) -> Result<&'r [u8], Error> {
        let format = self.head.format;
        Ok(format.sort_key(self.key(row)?.unwrap_or_default(), text))
    }

    /// The key of a row; `None` for a row without one.
    pub(crate) fn key<'r>(&'r mut self, row: &'r [u8]) -> Result<Option<&'r [u8]>, Error> {
        self.copied.bytes.clear();
        match self.head.next(row, 0, &mut self.copied) {
            Ok((_, Found::Key(key))) => Ok(Some(key.record(row, &self.copied.bytes).key())),
            Ok(_) => Ok(None),
            Err(flaw) => Err(self.head.format.error(flaw, ROW, 0)),
        }
    }
}

/// What all scans of a job share.
pub(crate) struct Scanner<'a> {
    pub(crate) budget: Budget,
    pub(crate) hasher: LineHasher,
    pub(crate) format: Format,
    /// Bytes of input that a worker reads at a time.
    chunk: usize,
    /// Lines that a worker hands on together.
    kept: usize,
    /// Held while the head of an input is read.
    heads: Mutex<()>,
    pub(crate) progress: &'a Progress,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(options: &'a Options, hasher: impl Into<LineHasher>) -> Result<Self, Error> {
        Self::within(Budget::new(options.memory, options.threads)?, options, hasher)
    }

    pub(crate) fn within(
        budget: Budget,
        options: &'a Options,
        hasher: impl Into<LineHasher>,
    ) -> Result<Self, Error> {
        let hasher = hasher.into();
        let format = Format::new(options)?;
        // A worker's memory is the same for all formats: keys take the place of lines.
        let share = if format.is_lines() { 1 } else { 2 };
        let chunk = (budget.chunk / share).max(1);
        let progress = &options.progress;
        let (kept, heads) = (budget.kept / share, Mutex::default());
        Ok(Self { budget, hasher, format, chunk, kept, heads, progress })
    }

    /// Uses whole rows as keys; the fields of the key must still be present.
    pub(crate) fn comparing_rows(mut self) -> Self {
        self.format.by_row = true;
        self
    }

    /// Makes one row of two, with a prefix for names of the second.
    pub(crate) fn joining_rows(mut self, prefix: Option<&str>) -> Self {
        self.format.joined = Some(prefix.map_or(0, str::len));
        self
    }

    /// How records are stored.
    pub(crate) fn layout(&self) -> Layout {
        if self.format.is_lines() { Layout::Lines } else { Layout::Keyed }
    }

    /// Checks that all inputs have the key's fields.
    pub(crate) fn check_headers(&self, inputs: &[Input]) -> Result<(), Error> {
        self.headers(inputs).try_for_each(|header| header.map(drop))
    }

    /// Returns the header of the first input that has one. It may be as long as a long line, so it is not kept during a
    /// pass.
    pub(crate) fn header(&self, inputs: &[Input]) -> Result<Option<Vec<u8>>, Error> {
        self.headers(inputs).find_map(Result::transpose).transpose()
    }

    /// The header of each input, if the format has them.
    fn headers(&self, inputs: &[Input]) -> impl Iterator<Item = Result<Option<Vec<u8>>, Error>> {
        let read = |input: &Input| {
            let (head, bytes) = self.head(&input.open()?)?;
            Ok(head.row.map(|row| bytes[row].to_vec()))
        };
        let inputs = if self.format.header { inputs } else { &[] };
        inputs.iter().map(move |input| read(input).map_err(|error| self.located(error, inputs)))
    }

    /// Once all inputs were read, refuses them if records lacked their key and none had one: otherwise a misspelled
    /// field would go unnoticed. Inputs that name the fields differently are checked separately.
    pub(crate) fn check_keyed(
        &self,
        inputs: &[Input],
        tallies: &[Option<Tally>],
    ) -> Result<(), Error> {
        for other in [false, true] {
            let of = |input: &Input| input.other == other;
            let mut some = inputs.iter().zip(tallies).filter(|(input, _)| of(input));
            let all = some.try_fold(Tally::default(), |mut all, (_, tally)| {
                all.add((*tally)?);
                Some(all)
            });
            let among = |name: &str| inputs.iter().any(|input| of(input) && input.name() == name);
            if all.is_some_and(|all| all.is_keyless())
                && let Some(error) = self.progress.no_key(among)
            {
                return Err(self.located(error, inputs));
            }
        }
        Ok(())
    }

    /// For the keys of rows under this header, in an input that may name them by [`Options::others`].
    pub(crate) fn row_keys(
        &self,
        header: Option<&[u8]>,
        other: bool,
    ) -> Result<RowKeys<'_>, Error> {
        let head = self.format.head(ROW, header.unwrap_or_default(), true, other)?;
        let head = head.expect("all of it is there");
        Ok(RowKeys { head, copied: Copied::default() })
    }

    /// How rows of the two `inputs` become one.
    pub(crate) fn beside(&self, inputs: &[Input], prefix: Option<&str>) -> Result<Beside, Error> {
        /// The names in a header, one per 2 bytes, are copied into a set, which has its own overhead.
        const WEIGHT: u64 = 64;
        let room = self.budget.long_line();
        let start = |input: usize| -> Result<_, Error> {
            let (name, reader) = (inputs[input].name(), inputs[input].open()?);
            let (head, bytes) = self.head(&reader)?;
            let mut row = head.row.clone().map(|row| bytes[row].to_vec());
            drop(bytes);
            if let Some(header) = &row {
                let length = header.len() as u64;
                if WEIGHT.saturating_mul(length) > room {
                    return Err(self.long_line(Place::new(name, 0), length, WEIGHT, room));
                }
            } else if matches!(self.format.kind, Kind::Csv(_) | Kind::Tsv) {
                row = self.first_row(&reader, &head)?;
            }
            Ok(Start { name, head, row })
        };
        Beside::new(&self.format, [start(0)?, start(1)?], prefix)
    }

    /// The first record that is not left out, if any; one with a flaw is refused later, when it is read in its turn.
    fn first_row(&self, reader: &Reader<'_>, head: &Head<'_>) -> Result<Option<Vec<u8>>, Error> {
        let (mut from, mut copied) = (head.start as u64, Copied::default());
        let (input, kind) = (reader.input(), self.format.kind);
        // As for any other row of a join.
        let room = self.budget.long_line() + self.budget.table(0) / 2;
        let mut bytes = PageBuffer::default();
        let mut size = 64 << 10;
        while from < input.length() {
            let left = input.length() - from;
            bytes.resize(left.min(size as u64) as usize);
            reader.read_at(&mut bytes, from)?;
            let mut begin = 0;
            while begin < bytes.len() {
                let rest = &bytes[begin..];
                let end = match kind.find(rest, &mut false) {
                    Some(end) => end,
                    None if bytes.len() as u64 == left => rest.len(),
                    None => break,
                };
                copied.bytes.clear();
                match head.next(&rest[..end], from + begin as u64, &mut copied) {
                    Ok((_, Found::Blank | Found::Missing(_) | Found::Bad)) => {}
                    Ok((_, Found::Key(_) | Found::Alone(..))) | Err(_) => {
                        return Ok(Some(rest[..end].to_vec()));
                    }
                }
                begin += end + 1;
            }
            if begin == 0 {
                size = grown(size);
                let loaded = Loaded { name: input.name(), buffer: &bytes, first: 0, offset: from };
                let mut more = reader.from(from + bytes.len() as u64);
                self.check_long(&loaded, size, room, &mut more)?;
            }
            from += begin as u64;
        }
        Ok(None)
    }

    /// The error for a flaw in the record at a place.
    pub(crate) fn flawed(&self, flaw: Flaw, at: &Place) -> Error {
        self.format.error(flaw, &at.name, at.offset)
    }

    /// Adds the line and column to an error with a place in one of the inputs, which is read again for that. A place
    /// that can no longer be found is unchanged.
    pub(crate) fn located(&self, mut error: Error, inputs: &[Input]) -> Error {
        if let Some(place) = error.place()
            && place.line.is_none()
            && let Some(input) = inputs.iter().find(|input| input.name() == place.name)
        {
            let counted = input
                .open()
                .and_then(|reader| reader.count_lines(place.offset, self.format.kind.end()));
            place.line = counted.ok().map(|counter| counter.place());
        }
        error
    }

    /// Passes every line to `visit`, and notes what was read.
    pub(crate) fn read<'r>(
        &self,
        from: impl Into<ReadFrom<'r>>,
        spare: u64,
        visit: &dyn Visitor,
        report: &mut Report,
    ) -> Result<(), Error> {
        match from.into() {
            ReadFrom::Files(inputs) => {
                self.progress.expect(lengths(inputs));
                report.passed(inputs, &self.scan(inputs, spare, visit)?);
            }
            ReadFrom::Stream(name, source) => {
                self.read_stream((name, source), spare, visit, report)?;
            }
        }
        Ok(())
    }

    /// Passes every line of all `inputs` to `visit`; returns the tally of each. A line longer than a chunk may use
    /// `spare` bytes, unless the visitor sets another limit.
    pub(crate) fn scan(
        &self,
        inputs: &[Input],
        spare: u64,
        visit: &dyn Visitor,
    ) -> Result<Vec<Tally>, Error> {
        self.scan_some(inputs, 0..inputs.len(), spare, visit)
    }

    /// Like [`scan`](Self::scan), for the inputs in `range`; places and indexes are counted among all inputs.
    pub(crate) fn scan_some(
        &self,
        inputs: &[Input],
        range: Range<usize>,
        spare: u64,
        visit: &dyn Visitor,
    ) -> Result<Vec<Tally>, Error> {
        if let Some(row) = self.header(&inputs[range.clone()])? {
            visit.header(&row)?;
        }
        let tallies = self.pass_over(inputs, range.clone(), spare, visit)?;
        for (input, tally) in inputs[range].iter().zip(&tallies) {
            input.check_unchanged()?;
            // A file that grew may also have been rewritten, without the bytes that were read.
            let one = std::slice::from_ref(input);
            let again = || self.pass_over(one, 0..1, visit.room(spare), &Nothing);
            if input.grew() && again()? != [*tally] {
                return Err(input.changed());
            }
        }
        Ok(tallies)
    }

    fn pass_over(
        &self,
        inputs: &[Input],
        range: Range<usize>,
        spare: u64,
        visit: &dyn Visitor,
    ) -> Result<Vec<Tally>, Error> {
        let chunks = Chunks::new(inputs, range.clone(), self.chunk as u64);
        let next = AtomicU64::new(0);
        let turns = Turns::default();
        let tallies = Mutex::new(vec![Tally::default(); range.len()]);
        let run = || -> Result<(), Halt> {
            let stop = StopOnDrop(&turns);
            let mut worker = Worker::new(self, &chunks, &turns, visit, spare);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= chunks.count() {
                    break;
                }
                let (input, tally) = worker.chunk(number)?;
                tallies.lock().expect("no worker panics")[input - range.start].add(tally);
                turns.done(number);
            }
            worker.work.finish()?;
            std::mem::forget(stop);
            Ok(())
        };
        let workers = (self.budget.threads as u64).min(chunks.count()).max(1);
        let failed = on_each(workers as usize, run).into_iter().filter_map(Result::err);
        match failed.flatten().next() {
            Some(error) => Err(self.located(error, &inputs[range])),
            None => Ok(tallies.into_inner().expect("no worker panics")),
        }
    }

    /// Passes every line of `source` to `visit`, on this thread, as soon as it arrives.
    fn read_stream(
        &self,
        (name, source): (&str, &mut dyn Read),
        spare: u64,
        visit: &dyn Visitor,
        report: &mut Report,
    ) -> Result<(), Error> {
        let (kind, before) = (self.format.kind, self.progress.done());
        let mut batch = Batch::new(self);
        let mut head: Option<Head<'_>> = None;
        let mut work = visit.work();
        // The only chunk.
        let turn = Turn { turns: &Turns::default(), chunk: 0, is_long: false };
        let mut buffer = PageBuffer::new(self.chunk);
        // `buffer[begin..filled]` is the start of a line, which begins at `offset` in the source; `quoted` is whether
        // it ends within quotes.
        let (mut begin, mut filled, mut offset, mut quoted) = (0, 0, 0, false);
        // Lines before `offset`; what follows is in the buffer if an error needs it.
        let mut passed = LineCounter::new(kind.end());
        loop {
            if filled == buffer.len() && begin > 0 {
                buffer.copy_within(begin..filled, 0);
                (begin, filled) = (0, filled - begin);
            }
            if filled == buffer.len() {
                let longer = grown(filled);
                let loaded = Loaded { name, buffer: &buffer[..filled], first: 0, offset };
                self.check_long(&loaded, longer, visit.room(spare), source)
                    .map_err(|error| passed.locate(error, &buffer, offset))?;
                buffer.resize(longer);
            }
            let read = match source.read(&mut buffer[filled..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(read_error(name, source)),
            };
            let fresh = filled..filled + read;
            filled += read;
            self.progress.advance(read as u64);
            self.progress.check()?;
            let end = match kind.find_last(&buffer[fresh.clone()], &mut quoted) {
                _ if read == 0 => filled,
                Some(at) => fresh.start + at + 1,
                None => continue,
            };
            if head.is_none() {
                let start = &buffer[begin..filled];
                let found = self.format.head(name, start, read == 0, false);
                let found = found.map_err(|error| passed.locate(error, start, offset))?;
                let Some(found) = found else { continue };
                if let Some(row) = found.row.clone().map(|row| &start[row]) {
                    batch.tally.see(self.hasher.hash(row));
                    visit.header(row)?;
                }
                passed.pass(&start[..found.start]);
                begin += found.start;
                offset += found.start as u64;
                head = Some(found);
            }
            let head = head.as_ref().expect("just found");
            let origin = Origin { input: 0, name, place: 0, offset };
            let bytes = &buffer[begin..end];
            batch.lines(bytes, origin, head, &mut *work, &turn).map_err(|halt| {
                passed.locate(halt.expect("nobody stops a stream"), bytes, offset)
            })?;
            passed.pass(bytes);
            offset += (end - begin) as u64;
            begin = end;
            if read == 0 {
                work.finish()?;
                report.streamed(&batch.tally, self.progress.done() - before);
                return Ok(());
            }
        }
    }

    /// Reads the head of an input; returns it with the bytes read, in which its header is.
    pub(crate) fn head(&self, reader: &Reader<'_>) -> Result<(Head<'_>, PageBuffer), Error> {
        let input = reader.input();
        let (mut bytes, mut longer) = (PageBuffer::default(), 4 << 10);
        loop {
            let read = bytes.len();
            let all = read as u64 == input.length();
            let found = self.format.head(input.name(), &bytes, all, input.other)?;
            if let Some(mut head) = found {
                head.width = input.columns;
                return Ok((head, bytes));
            }
            if read > 0 && longer as u64 > self.budget.long_line() {
                let loaded = Loaded { name: input.name(), buffer: &bytes, first: 0, offset: 0 };
                let mut rest = reader.from(read as u64);
                self.check_long(&loaded, longer, self.budget.long_line(), &mut rest)?;
            }
            bytes.resize((longer as u64).min(input.length()) as usize);
            reader.read_at(&mut bytes[read..], read as u64)?;
            longer *= 2;
        }
    }
}
