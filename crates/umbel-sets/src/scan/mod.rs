//! Reads inputs in parallel, split at the ends of lines or other records.
//!
//! The inputs are laid end to end, and each is divided into chunks of equal size, except its last one: for workers, a
//! thousand small files are like one large one. A worker takes the next chunk and owns the lines that *start* in it: it
//! reads the byte before the chunk to see whether a line starts at its first byte, and reads beyond its end until its
//! last line ends. Lines are found and hashed in batches; lines to keep are handed on in the order of the inputs,
//! regardless of which worker was first.
//!
//! If records may have line feeds in quotes, a worker must know whether its chunk starts within quotes. It counts the
//! quotes in its chunk as soon as it has read it. The worker of the previous chunk then passes on, in turn, whether
//! the number so far is odd: no additional pass, and hardly any waiting. If several records are broken, the first is
//! reported, regardless of which worker found one first.
//!
//! Memory: a chunk and its slack per worker; for keys that are copied, half of that for the chunk and half for keys. A
//! longer line is read only by the worker whose turn it is, so there is one such line in memory at a time.

mod abreast;
mod batch;
mod chunks;
mod heads;
mod long;
mod stream;
mod turns;
mod visit;
mod worker;

use std::sync::atomic::{AtomicU64, Ordering};

use umbel_io::on_each;

use crate::error::Place;
use crate::prelude::*;
use crate::records::{Bad, Flaw, Format, KeyAt, Layout, Prefixes, Record};
use crate::report::Progress;
use abreast::{Cuts, Twin};
use batch::Origin;
use chunks::Chunks;
pub(crate) use heads::RowKeys;
pub(crate) use long::skip_line;
use turns::{Halt, StopOnDrop, Turns};
pub(crate) use visit::{SeeHeader, Visit, Work};
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
    /// Where the same rows may come next in the input that is read alongside.
    twin: Option<&'a Twin<'a>>,
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

    /// Whether line `i` comes next in the input that is read alongside; then it need not be read there.
    pub(crate) fn is_in_twin(&self, i: usize, hasher: &LineHasher) -> bool {
        let Some(twin) = self.twin else { return false };
        let record = self.record(i);
        let hash = if record.is_own_key() { self.hashes[i] } else { hasher.hash(record.row) };
        twin.find(&self.bytes[self.extent(i)], hash)
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

    /// Where the [`buffer`](Self::buffer) starts in the input.
    pub(crate) fn start(&self) -> u64 {
        self.origin.offset
    }

    /// The start of line `i`, for messages.
    pub(crate) fn at(&self, i: usize) -> Place {
        Place::new(self.name(), self.offset(i))
    }

    /// The start of line `i` in all inputs, laid end to end.
    pub(crate) fn place(&self, i: usize) -> u64 {
        self.place_of(self.spans[i].start)
    }

    /// The place of a byte in the [`buffer`](Self::buffer).
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

/// The tally of a scan of an input: equal for two scans of an unchanged file, on any number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    /// Records left out because they lack a key, and because they could not be read.
    pub(crate) missing: u64,
    pub(crate) bad: u64,
    /// Records with an empty value in their key, unless empty is a value like any other.
    pub(crate) empty: u64,
    /// The lines that lack a key and were given a unique one.
    alone: u64,
    /// The sum of the hashes of lines and of the header: it does not depend on their order, and shows changes
    /// between passes even in fields that are not part of the key.
    sum: u64,
}

impl Tally {
    /// The tally of lines that were not hashed and whose keys were not read.
    pub(crate) fn of_lines(lines: u64) -> Self {
        Self { lines, ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.missing += other.missing;
        self.bad += other.bad;
        self.empty += other.empty;
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

/// The state shared by all scans of a job.
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
    /// Whether copied inputs may lack lines of theirs.
    leaves_out: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(options: &'a Options, hasher: impl Into<LineHasher>) -> Result<Self, Error> {
        Self::within(options.resources.budget()?, options, hasher)
    }

    pub(crate) fn within(
        budget: Budget,
        options: &'a Options,
        hasher: impl Into<LineHasher>,
    ) -> Result<Self, Error> {
        let hasher = hasher.into();
        let format = Format::new(&options.form)?;
        // A worker's memory is the same for all formats: keys take the place of lines.
        let share = if format.is_lines() { 1 } else { 2 };
        let chunk = (budget.chunk / share).max(1);
        let progress = &options.resources.progress;
        let (kept, heads) = (budget.kept / share, Mutex::default());
        let form = &options.form;
        let leaves_out = form.skip > 0 || form.comment.is_some() || form.bad == Bad::Skip;
        Ok(Self { budget, hasher, format, chunk, kept, heads, progress, leaves_out })
    }

    /// Makes one row of two, with prefixes for names of both.
    pub(crate) fn joining_rows(mut self, prefixes: Prefixes<&str>) -> Self {
        self.format.joined = Some(prefixes.into_iter().flatten().map(str::len).sum());
        self
    }

    /// How records are stored.
    pub(crate) fn layout(&self) -> Layout {
        if self.format.is_lines() { Layout::Lines } else { Layout::Keyed }
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
            // Reports the first input that has such a record, whichever was read first.
            let first = |input: &Input| self.progress.no_key(|name| name == input.name());
            if all.is_some_and(|all| all.is_keyless())
                && let Some(error) = inputs.iter().filter(|input| of(input)).find_map(first)
            {
                return Err(self.located(error, inputs));
            }
        }
        Ok(())
    }

    /// The error for a flaw in the record at a place.
    pub(crate) fn flawed(&self, flaw: Flaw, at: &Place) -> Error {
        self.format.error(flaw, &at.name, at.offset)
    }

    /// Adds the line and column to an error with a place in one of the inputs, which is read again for that. A place
    /// that can no longer be found is unchanged.
    pub(crate) fn located(&self, mut error: Error, inputs: &[Input]) -> Error {
        if let Some(place) = error.place()
            && let Some(input) = inputs.iter().find(|input| input.name() == &*place.name)
        {
            place.is_partial = input.copied && self.leaves_out;
            if place.line.is_none() {
                let end = self.format.kind.end();
                let counted = input.open().and_then(|reader| reader.count_lines(place.offset, end));
                place.line = counted.ok().map(|counter| counter.place());
            }
        }
        error
    }

    /// Reads all lines of files, or of a stream as soon as they arrive; reports what was read.
    pub(crate) fn read<'r>(
        &self,
        from: impl Into<ReadFrom<'r>>,
        visit: &Visit<'_>,
    ) -> Result<Report, Error> {
        match from.into() {
            ReadFrom::Files(inputs) => {
                self.progress.expect(lengths(inputs));
                Ok(Report::of_files(inputs, &self.scan(inputs, 0..inputs.len(), visit)?))
            }
            ReadFrom::Stream(name, source) => self.read_stream(name, source, visit),
        }
    }

    /// Reads all lines of the inputs in `range`, as one pass of a job; returns the tally of each. Places and indexes are
    /// counted among all `inputs`.
    pub(crate) fn scan(
        &self,
        inputs: &[Input],
        range: Range<usize>,
        visit: &Visit<'_>,
    ) -> Result<Vec<Tally>, Error> {
        if let Some(row) = self.header(&inputs[range.clone()])? {
            (visit.header)(&row)?;
        }
        let tallies = self.pass_over(inputs, range.clone(), visit)?;
        for (input, tally) in inputs[range].iter().zip(&tallies) {
            input.check_unchanged()?;
            // A file that grew may also have been rewritten, without the bytes that were read.
            let one = std::slice::from_ref(input);
            let nothing = || Visit::in_any_order((visit.room)(), |_| Ok(()));
            if input.grew() && self.pass_over(one, 0..1, &nothing())? != [*tally] {
                return Err(input.changed());
            }
        }
        Ok(tallies)
    }

    fn pass_over(
        &self,
        inputs: &[Input],
        range: Range<usize>,
        visit: &Visit<'_>,
    ) -> Result<Vec<Tally>, Error> {
        let chunks = Chunks::new(inputs, range.clone(), self.chunk as u64);
        let (size, end) = (self.chunk as u64 / 2, self.format.kind.end());
        let cuts = visit.abreast.then(|| Cuts::new(inputs, size, end)).transpose()?.map(Mutex::new);
        let next = AtomicU64::new(0);
        let turns = Turns::default();
        let tallies = Mutex::new(vec![Tally::default(); range.len()]);
        let run = || -> Result<(), Halt> {
            let stop = StopOnDrop(&turns);
            let mut worker = Worker::new(self, &chunks, &turns, visit);
            let add = |input: usize, tally: Tally| {
                tallies.lock().expect("no worker panics")[input - range.start].add(tally);
            };
            while let Some(cuts) = &cuts {
                let (number, pair) = cuts.lock().expect("no worker panics").next()?;
                if pair.iter().all(Range::is_empty) {
                    break;
                }
                let [first, second] = worker.pair(number, pair)?;
                add(0, first);
                add(1, second);
                turns.done(number);
                turns.done(number + 1);
            }
            while cuts.is_none() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= chunks.count() {
                    break;
                }
                let (input, tally) = worker.chunk(number)?;
                add(input, tally);
                turns.done(number);
            }
            worker.batch.work.finish()?;
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
}
