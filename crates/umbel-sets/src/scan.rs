//! Reading a file in parallel, cut at the ends of lines, or of other records.
//!
//! The file is cut into chunks of equal size. A worker takes the next chunk and owns the lines that
//! *start* in it: it looks at the byte before the chunk to tell whether a line starts at its first
//! byte, and reads beyond its end until its last line ends. Lines are found and hashed in batches;
//! what a visitor keeps of them is handed on in the order of the file, whichever worker was first.
//!
//! Where records may have line feeds in quotes, a worker has to know whether its chunk starts within
//! quotes. It counts those in its chunk as soon as it has read it, and gets from the worker of the
//! chunk before, in turn, whether there was an odd number before: no pass more, and hardly a wait.
//! Of several broken records the first one is told, whichever worker found one first.
//!
//! Memory: a chunk and its slack a worker; for keys that are copied, half of that for the chunk and
//! half for keys. A line longer than that is read only by the worker whose turn it is, so there is
//! one such line in memory at a time.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use umbel::{KeyHash, KeyHasher};

use crate::budget::{Budget, KEPT};
use crate::input::Input;
use crate::line_ends::LineEnds;
use crate::records::{Copied, Cut, Ends, Format, Head, KeyAt, Layout, Record, mark};
use crate::report::Progress;
use crate::{Error, Options};

/// Lines found and hashed at once: enough to overlap cache misses, few enough to stay in L1.
const BATCH: usize = 256;

/// What is done with the lines of a file.
pub(crate) trait Visit: Sync {
    /// What one worker carries from batch to batch.
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// Gets the header of an input that has one, before any line.
    fn header(&self, _row: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// Sees lines, in any order, on any thread; sets `keep[i]` for those to hand on in order.
    fn batch(
        &self,
        local: &mut Self::Local,
        lines: &Lines<'_>,
        keep: &mut [bool],
    ) -> Result<(), Error>;

    /// Gets the kept lines, one thread at a time, in the order of the file.
    fn kept(&self, _lines: &Lines<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Takes back what a worker carried.
    fn finish(&self, _local: Self::Local) -> Result<(), Error> {
        Ok(())
    }

    /// Bytes that one line too long for a chunk may take in memory now. Asked in file order.
    fn room(&self) -> u64;
}

/// Some lines of a file, with their hashes.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    /// Where in the input `bytes` starts.
    offset: u64,
    spans: &'a [Span],
    /// Of the keys.
    hashes: &'a [KeyHash],
    /// Where the keys are; empty when lines are their own.
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

    /// What of line `i` is hashed and compared.
    pub(crate) fn key(&self, i: usize) -> &'a [u8] {
        self.record(i).key()
    }

    /// Line `i` with its key.
    pub(crate) fn record(&self, i: usize) -> Record<'a> {
        let row = self.row(i);
        self.keys.get(i).map_or(Record::line(row), |key| key.record(row, self.copied))
    }

    /// Where line `i` starts in the input.
    pub(crate) fn offset(&self, i: usize) -> u64 {
        self.offset + self.spans[i].start as u64
    }
}

/// What a scan saw: equal for two scans of an unchanged file, whatever the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    /// Sum of the hashes of lines, keys or not, and of the header: it does not depend on their order,
    /// and a field that changed between passes is noticed even when it is no part of the key.
    sum: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    fn see(&mut self, hash: KeyHash) {
        self.sum = self.sum.wrapping_add(hash.high ^ hash.low.rotate_left(32));
    }
}

/// What all scans of a job share.
pub(crate) struct Scanner<'a> {
    pub(crate) budget: Budget,
    pub(crate) hasher: KeyHasher,
    format: Format,
    /// Bytes of input that one worker reads at once.
    chunk: usize,
    /// Lines that one worker hands on at once.
    kept: usize,
    progress: &'a Progress,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(options: &'a Options, hasher: KeyHasher) -> Result<Self, Error> {
        Self::within(Budget::new(options.memory, options.threads)?, options, hasher)
    }

    pub(crate) fn within(
        budget: Budget,
        options: &'a Options,
        hasher: KeyHasher,
    ) -> Result<Self, Error> {
        let format = Format::new(&options.records, options.separator)?;
        // A worker's memory is the same for all formats: keys take the place of lines.
        let share = if format.is_lines() { 1 } else { 2 };
        let chunk = (budget.chunk / share).max(1);
        let progress = &options.progress;
        Ok(Self { budget, hasher, format, chunk, kept: KEPT / share, progress })
    }

    /// How records are kept.
    pub(crate) fn layout(&self) -> Layout {
        self.format.layout()
    }

    /// The header of the first input that has one; checks that the key's fields are in all of them.
    pub(crate) fn header(&self, inputs: &[Input]) -> Result<Option<Vec<u8>>, Error> {
        let mut first = None;
        for input in inputs {
            first = first.or(self.head(input)?.row);
        }
        Ok(first)
    }

    /// Shows every line of `input` to `visit`.
    pub(crate) fn scan<V: Visit>(&self, input: &Input, visit: &V) -> Result<Tally, Error> {
        input.check_unchanged()?;
        let head = self.head(input)?;
        let mut tally = self.show_head(&head, visit)?;
        self.progress.advance(head.start as u64);
        let chunks = (input.length() - head.start as u64).div_ceil(self.chunk as u64);
        let next = AtomicU64::new(0);
        let turns = Turns::default();
        let work = || -> Result<Tally, Halt> {
            let stop = StopOnDrop(&turns);
            let mut worker = Worker {
                scanner: self,
                input,
                head: &head,
                turns: &turns,
                buffer: Vec::new(),
                batch: Batch::new(self),
            };
            let mut local = visit.local();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= chunks {
                    break;
                }
                worker.chunk(number, visit, &mut local)?;
                turns.done(number);
            }
            visit.finish(local)?;
            std::mem::forget(stop);
            Ok(worker.batch.tally)
        };
        let workers = (self.budget.threads as u64).min(chunks).max(1);
        let results: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let first = work();
            let join = |handle: thread::ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            std::iter::once(first).chain(others.into_iter().map(join)).collect()
        });
        for result in results {
            match result {
                Ok(part) => tally.add(part),
                Err(Halt::Failed(error)) => return Err(error),
                // Stopped by another worker's error, which is among the results.
                Err(Halt::Stopped) => {}
            }
        }
        input.check_unchanged()?;
        Ok(tally)
    }

    /// Shows every line that `source` gives to `visit`, on this thread, as soon as it is there.
    pub(crate) fn stream<V: Visit>(
        &self,
        name: &str,
        mut source: impl Read,
        visit: &V,
    ) -> Result<Tally, Error> {
        let ends = self.format.ends();
        let mut batch = Batch::new(self);
        let mut head: Option<Head<'_>> = None;
        let mut local = visit.local();
        let mut buffer = vec![0; self.chunk];
        // `buffer[begin..filled]` is the start of a line, which begins at `offset` in the source;
        // `quoted` tells whether it ends within quotes.
        let (mut begin, mut filled, mut offset, mut quoted) = (0, 0, 0, false);
        loop {
            if filled == buffer.len() && begin > 0 {
                buffer.copy_within(begin..filled, 0);
                (begin, filled) = (0, filled - begin);
            }
            if filled == buffer.len() {
                let longer = grown(filled);
                let loaded = Loaded { name, buffer: &buffer[..filled], first: 0, offset };
                self.check_long(&loaded, longer, visit.room(), &mut source)?;
                buffer.resize(longer, 0);
            }
            let read = match source.read(&mut buffer[filled..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(Error::Read { name: name.to_owned(), source }),
            };
            let fresh = filled..filled + read;
            filled += read;
            self.progress.advance(read as u64);
            let end = match ends.find_last(&buffer[fresh.clone()], &mut quoted) {
                _ if read == 0 => filled,
                Some(at) => fresh.start + at + 1,
                None => continue,
            };
            if head.is_none() {
                let Some(found) = self.format.head(name, &buffer[begin..filled], read == 0)? else {
                    continue;
                };
                batch.tally.add(self.show_head(&found, visit)?);
                begin += found.start;
                offset += found.start as u64;
                head = Some(found);
            }
            let cut = &head.as_ref().expect("just found").cut;
            let place = Place { name, offset, cut };
            batch
                .lines(&buffer[begin..end], place, visit, &mut local, || Ok(()))
                .map_err(Halt::into_error)?;
            offset += (end - begin) as u64;
            begin = end;
            if read == 0 {
                visit.finish(local)?;
                return Ok(batch.tally);
            }
        }
    }

    /// What the start of an input tells.
    fn head(&self, input: &Input) -> Result<Head<'_>, Error> {
        if let Some(head) = self.format.head(input.name(), &[], input.length() == 0)? {
            return Ok(head);
        }
        let mut bytes = Vec::new();
        loop {
            let read = bytes.len();
            let longer = if read == 0 { 4 << 10 } else { 2 * read };
            if read > 0 && longer as u64 > self.budget.long_line() {
                let name = input.name();
                let loaded = Loaded { name, buffer: &bytes, first: 0, offset: 0 };
                let mut rest = ReadFrom { input, offset: read as u64 };
                self.check_long(&loaded, longer, self.budget.long_line(), &mut rest)?;
            }
            bytes.resize((longer as u64).min(input.length()) as usize, 0);
            input.read_at(&mut bytes[read..], read as u64)?;
            let all = bytes.len() as u64 == input.length();
            if let Some(head) = self.format.head(input.name(), &bytes, all)? {
                return Ok(head);
            }
        }
    }

    /// Shows the header; gives its part of the tally.
    fn show_head(&self, head: &Head<'_>, visit: &impl Visit) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        if let Some(row) = &head.row {
            tally.see(self.hasher.hash(row));
            visit.header(row)?;
        }
        Ok(tally)
    }

    /// Whether there is room for a buffer of `longer` bytes for the last record in it, of which more
    /// comes from `source`. A record that never ends for a broken quote is told as such.
    fn check_long(
        &self,
        loaded: &Loaded<'_>,
        longer: usize,
        room: u64,
        source: &mut impl Read,
    ) -> Result<(), Error> {
        let &Loaded { name, buffer, first, offset } = loaded;
        // A mark stands before the first record while the head is not found yet.
        let headless = offset == 0 && !self.format.is_lines();
        let records = if headless { first + mark(&buffer[first..]) } else { first };
        let mut quoted = false;
        let last = self.format.ends().find_last(&buffer[records..], &mut quoted);
        let start = last.map_or(records, |at| records + at + 1);
        let (bytes, offset) = (&buffer[start..], offset + (start - first) as u64);
        let check = |goes_on| {
            let flaw = |flaw| self.format.error(flaw, name, offset);
            self.format.check_quotes(bytes, goes_on).map_err(flaw)
        };
        check(true)?;
        let weight = self.format.weight();
        let fits = weight.saturating_mul(longer as u64) <= room;
        if fits && longer - start <= u32::MAX as usize {
            return Ok(());
        }
        let (rest, ended) = skip_line(source, self.format.ends(), &mut quoted);
        check(ended || !quoted)?;
        let length = bytes.len() as u64 + rest;
        let name = name.to_owned();
        if length > u64::from(u32::MAX) {
            return Err(Error::GiantLine { name, offset, length });
        }
        let (cap, least) = (self.budget.cap, self.budget.cap_for_line(weight * length, room));
        Err(Error::LongLine { name, offset, length, cap, least })
    }
}

/// What has been read of records of which the last one is long.
struct Loaded<'a> {
    name: &'a str,
    buffer: &'a [u8],
    /// Where the first of them starts, in the buffer and in the input.
    first: usize,
    offset: u64,
}

/// The next size of a buffer for a line longer than `length`: a quarter more, so that little of it
/// is unused.
fn grown(length: usize) -> usize {
    length + (length / 4).max(if cfg!(test) { 1 << 5 } else { 1 << 16 })
}

/// Reads up to the end of the line; gives the bytes before it, and whether it was found.
fn skip_line(source: &mut impl Read, ends: Ends, quoted: &mut bool) -> (u64, bool) {
    let mut piece = vec![0; 1 << 16];
    let mut length = 0;
    while let Ok(read @ 1..) = source.read(&mut piece) {
        match ends.find(&piece[..read], quoted) {
            Some(at) => return (length + at as u64, true),
            None => length += read as u64,
        }
    }
    (length, false)
}

/// One thread that reads chunks of a file.
struct Worker<'a> {
    scanner: &'a Scanner<'a>,
    input: &'a Input,
    head: &'a Head<'a>,
    turns: &'a Turns,
    buffer: Vec<u8>,
    batch: Batch<'a>,
}

impl Worker<'_> {
    fn chunk<V: Visit>(
        &mut self,
        number: u64,
        visit: &V,
        local: &mut V::Local,
    ) -> Result<(), Halt> {
        /// Read beyond the chunk in the same call: most lines end within.
        const SLACK: u64 = 4 << 10;
        let (size, length) = (self.scanner.chunk as u64, self.input.length());
        let ends = self.scanner.format.ends();
        let begin = self.head.start as u64 + number * size;
        let end = (begin + size).min(length);
        // The byte before the chunk tells whether a line starts with it.
        let from = begin.saturating_sub(1);
        let loaded = (end + SLACK).min(length);
        self.buffer.resize((loaded - from) as usize, 0);
        self.input.read_at(&mut self.buffer, from)?;
        self.scanner.progress.advance(end - begin);
        let (own, inside) = ((begin - from) as usize, (end - from) as usize);
        let mut quoted = (false, false);
        if ends == Ends::OutsideQuotes {
            let turned = ends.turn_quotes(&self.buffer[own..inside]);
            let before = self.turns.quotes(number, turned).ok_or(Halt::Stopped)?;
            quoted = (before, before ^ turned);
        }
        let first = if number == 0 || (self.buffer[0] == ends.byte() && !quoted.0) {
            own
        } else {
            let end = ends.find(&self.buffer[own..inside], &mut quoted.0);
            end.map_or(inside, |at| own + at + 1)
        };
        if first < inside {
            let last = self.end_of_lines(number, first..inside, quoted.1, from, visit)?;
            let turn = || if self.turns.wait(number) { Ok(()) } else { Err(Halt::Stopped) };
            let place =
                Place { name: self.input.name(), offset: from + first as u64, cut: &self.head.cut };
            self.batch.lines(&self.buffer[first..last], place, visit, local, turn)?;
        }
        if self.buffer.capacity() > 3 * size as usize {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// The end, in the buffer, of the last line that starts in `lines`, where it is `quoted`; reads
    /// on as needed.
    fn end_of_lines(
        &mut self,
        number: u64,
        lines: Range<usize>,
        mut quoted: bool,
        from: u64,
        visit: &impl Visit,
    ) -> Result<usize, Halt> {
        let scanner = self.scanner;
        let ends = scanner.format.ends();
        let length = self.input.length();
        let mut searched = lines.end;
        if self.buffer[searched - 1] == ends.byte() && !quoted {
            return Ok(searched);
        }
        loop {
            if let Some(at) = ends.find(&self.buffer[searched..], &mut quoted) {
                return Ok(searched + at + 1);
            }
            searched = self.buffer.len();
            let offset = from + searched as u64;
            if offset == length {
                return Ok(searched);
            }
            let longer = (grown(searched) as u64).min(length - from) as usize;
            if longer > 2 * scanner.chunk {
                // One long line at a time is in memory: that of the earliest chunk.
                if !self.turns.wait(number) {
                    return Err(Halt::Stopped);
                }
                let loaded = Loaded {
                    name: self.input.name(),
                    buffer: &self.buffer,
                    first: lines.start,
                    offset: from + lines.start as u64,
                };
                let mut rest = ReadFrom { input: self.input, offset };
                scanner.check_long(&loaded, longer, visit.room(), &mut rest)?;
            }
            self.buffer.reserve_exact(longer - searched);
            self.buffer.resize(longer, 0);
            self.input.read_at(&mut self.buffer[searched..], offset)?;
        }
    }
}

/// An input as a stream, from some offset.
struct ReadFrom<'a> {
    input: &'a Input,
    offset: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let size = (self.input.length() - self.offset).min(bytes.len() as u64) as usize;
        self.input.read_at(&mut bytes[..size], self.offset).map_err(io::Error::other)?;
        self.offset += size as u64;
        Ok(size)
    }
}

/// Whose lines a batch has.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    /// Where they start in the input.
    offset: u64,
    cut: &'a Cut<'a>,
}

/// Finds and hashes lines, shows them to a visitor and hands on what it keeps.
struct Batch<'a> {
    scanner: &'a Scanner<'a>,
    spans: Vec<Span>,
    hashes: Vec<KeyHash>,
    /// Where keys are, and those that are no piece of their line; empty for lines as such.
    keys: Vec<KeyAt>,
    copied: Copied,
    keep: Vec<bool>,
    kept: Vec<Span>,
    kept_hashes: Vec<KeyHash>,
    kept_keys: Vec<KeyAt>,
    kept_copied: Copied,
    tally: Tally,
}

impl<'a> Batch<'a> {
    fn new(scanner: &'a Scanner<'a>) -> Self {
        Self {
            scanner,
            spans: Vec::with_capacity(BATCH),
            hashes: Vec::with_capacity(BATCH),
            keys: Vec::new(),
            copied: Copied::default(),
            keep: Vec::with_capacity(BATCH),
            kept: Vec::new(),
            kept_hashes: Vec::new(),
            kept_keys: Vec::new(),
            kept_copied: Copied::default(),
            tally: Tally::default(),
        }
    }

    /// Shows the lines of `bytes`, the last of which may have no end. `turn` is waited for before
    /// kept lines are handed on.
    fn lines<V: Visit>(
        &mut self,
        bytes: &[u8],
        place: Place<'_>,
        visit: &V,
        local: &mut V::Local,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        if !self.scanner.format.is_lines() {
            return self.records(bytes, place, visit, local, turn);
        }
        let separator = self.scanner.format.ends().byte();
        let mut start = 0;
        for end in LineEnds::new(separator, bytes) {
            self.spans.push(Span { start, length: (end - start) as u32 });
            start = end + 1;
            if self.spans.len() == BATCH {
                self.show(bytes, place, visit, local, &turn)?;
            }
        }
        if start < bytes.len() {
            self.spans.push(Span { start, length: (bytes.len() - start) as u32 });
        }
        self.show(bytes, place, visit, local, &turn)?;
        self.hand_on(bytes, place, visit, &turn)
    }

    /// As [`lines`](Self::lines), for records with keys.
    fn records<V: Visit>(
        &mut self,
        bytes: &[u8],
        place: Place<'_>,
        visit: &V,
        local: &mut V::Local,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let half = (self.scanner.chunk / 2).max(1);
        let mut start = 0;
        while start < bytes.len() {
            let length = match place.cut.next(&bytes[start..], &mut self.copied) {
                Ok((length, key)) => {
                    if let Some(key) = key {
                        self.spans.push(Span { start, length: length as u32 });
                        self.keys.push(key);
                    }
                    length
                }
                Err(flaw) => {
                    // The records before it are in order, in this chunk and in those before.
                    self.show(bytes, place, visit, local, &turn)?;
                    self.hand_on(bytes, place, visit, &turn)?;
                    turn()?;
                    let offset = place.offset + start as u64;
                    let format = &self.scanner.format;
                    return Err(format.error(flaw, place.name, offset).into());
                }
            };
            start += length + 1;
            if self.spans.len() == BATCH || self.copied.bytes.len() >= half {
                self.show(bytes, place, visit, local, &turn)?;
            }
        }
        self.show(bytes, place, visit, local, &turn)?;
        self.hand_on(bytes, place, visit, &turn)
    }

    fn show<V: Visit>(
        &mut self,
        bytes: &[u8],
        place: Place<'_>,
        visit: &V,
        local: &mut V::Local,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let Scanner { hasher, chunk, kept, .. } = self.scanner;
        let (spans, hashes) = (&self.spans, &mut self.hashes);
        hashes.clear();
        if self.scanner.format.is_lines() {
            for span in spans {
                let hash = hasher.hash(span.of(bytes));
                self.tally.see(hash);
                hashes.push(hash);
            }
        } else {
            for (span, key) in spans.iter().zip(&self.keys) {
                let row = span.of(bytes);
                self.tally.see(hasher.hash(row));
                hashes.push(hasher.hash(key.record(row, &self.copied.bytes).key()));
            }
        }
        self.tally.lines += spans.len() as u64;
        self.keep.clear();
        self.keep.resize(spans.len(), false);
        let copied = &self.copied.bytes;
        let lines = Lines { bytes, offset: place.offset, spans, hashes, keys: &self.keys, copied };
        visit.batch(local, &lines, &mut self.keep)?;
        for (i, _) in self.keep.iter().enumerate().filter(|(_, keep)| **keep) {
            self.kept.push(self.spans[i]);
            self.kept_hashes.push(self.hashes[i]);
            if let Some(key) = self.keys.get(i) {
                self.kept_keys.push(self.kept_copied.keep(*key, &self.copied));
            }
        }
        self.spans.clear();
        self.keys.clear();
        self.copied.clear(*chunk);
        if self.kept.len() + BATCH > *kept || self.kept_copied.bytes.len() >= (*chunk / 2).max(1) {
            self.hand_on(bytes, place, visit, turn)?;
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        bytes: &[u8],
        place: Place<'_>,
        visit: &impl Visit,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        if !self.kept.is_empty() {
            turn()?;
            visit.kept(&Lines {
                bytes,
                offset: place.offset,
                spans: &self.kept,
                hashes: &self.kept_hashes,
                keys: &self.kept_keys,
                copied: &self.kept_copied.bytes,
            })?;
            self.kept.clear();
            self.kept_hashes.clear();
            self.kept_keys.clear();
            self.kept_copied.clear(self.scanner.chunk);
        }
        Ok(())
    }
}

/// Why a worker ends early.
enum Halt {
    Failed(Error),
    /// Another one failed.
    Stopped,
}

impl Halt {
    fn into_error(self) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::Stopped => unreachable!("a stream has one worker, nobody stops it"),
        }
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Lets workers go in the order of their chunks where that matters.
#[derive(Default)]
struct Turns {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Default)]
struct TurnState {
    /// All chunks before this one are done.
    next: u64,
    done_early: BTreeSet<u64>,
    /// The next chunk whose quotes are to be counted, and whether it starts within quotes.
    counted: u64,
    quoted: bool,
    stopped: bool,
}

impl Turns {
    /// Waits until all chunks before `chunk` are done; false when a worker failed.
    fn wait(&self, chunk: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.next < chunk && !state.stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.stopped
    }

    /// Whether `chunk` starts within quotes, and `turned` tells whether it ends the other way; waits
    /// until that is known of all chunks before. `None` when a worker failed.
    fn quotes(&self, chunk: u64, turned: bool) -> Option<bool> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.counted < chunk && !state.stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return None;
        }
        let before = state.quoted;
        state.counted += 1;
        state.quoted ^= turned;
        drop(state);
        self.changed.notify_all();
        Some(before)
    }

    fn done(&self, chunk: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done_early.insert(chunk);
        while state.done_early.first() == Some(&state.next) {
            state.done_early.pop_first();
            state.next += 1;
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Wakes the other workers when this one ends by an error or a panic.
struct StopOnDrop<'a>(&'a Turns);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
        self.0.changed.notify_all();
    }
}
