//! Reading a file in parallel, cut at line ends.
//!
//! The file is cut into chunks of equal size. A worker takes the next chunk and owns the lines that
//! *start* in it: it looks at the byte before the chunk to tell whether a line starts at its first
//! byte, and reads beyond its end until its last line ends. Lines are found and hashed in batches;
//! what a visitor keeps of them is handed on in the order of the file, whichever worker was first.
//!
//! Memory: a chunk and its slack a worker. A line longer than that is read only by the worker whose
//! turn it is, so there is one such line in memory at a time.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use memchr::{memchr, memrchr};
use umbel::{KeyHash, KeyHasher};

use crate::budget::{Budget, KEPT};
use crate::ends::Ends;
use crate::input::Input;
use crate::report::Progress;
use crate::{Error, Options};

/// Lines found and hashed at once: enough to overlap cache misses, few enough to stay in L1.
const BATCH: usize = 256;

/// What is done with the lines of a file.
pub(crate) trait Visit: Sync {
    /// What one worker carries from batch to batch.
    type Local: Send;

    fn local(&self) -> Self::Local;

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
    hashes: &'a [KeyHash],
}

#[derive(Clone, Copy)]
struct Span {
    start: usize,
    length: u32,
}

impl<'a> Lines<'a> {
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn hashes(&self) -> &'a [KeyHash] {
        self.hashes
    }

    pub(crate) fn bytes(&self, i: usize) -> &'a [u8] {
        let Span { start, length } = self.spans[i];
        &self.bytes[start..start + length as usize]
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
    /// Sum of the lines' hashes, which does not depend on their order.
    sum: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// What all scans of a job share.
pub(crate) struct Scanner<'a> {
    pub(crate) budget: Budget,
    pub(crate) hasher: KeyHasher,
    separator: u8,
    progress: &'a Progress,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(options: &'a Options, hasher: KeyHasher) -> Result<Self, Error> {
        Ok(Self::within(Budget::new(options.memory, options.threads)?, options, hasher))
    }

    pub(crate) fn within(budget: Budget, options: &'a Options, hasher: KeyHasher) -> Self {
        Self { budget, hasher, separator: options.separator, progress: &options.progress }
    }

    /// Shows every line of `input` to `visit`.
    pub(crate) fn scan<V: Visit>(&self, input: &Input, visit: &V) -> Result<Tally, Error> {
        input.check_unchanged()?;
        let chunks = input.length().div_ceil(self.budget.chunk as u64);
        let next = AtomicU64::new(0);
        let turns = Turns::default();
        let work = || -> Result<Tally, Halt> {
            let stop = StopOnDrop(&turns);
            let mut worker = Worker {
                scanner: self,
                input,
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
        let mut tally = Tally::default();
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
        let mut batch = Batch::new(self);
        let mut local = visit.local();
        let mut buffer = vec![0; self.budget.chunk];
        // `buffer[begin..filled]` is the start of a line, which begins at `offset` in the source.
        let (mut begin, mut filled, mut offset) = (0, 0, 0);
        loop {
            if filled == buffer.len() && begin > 0 {
                buffer.copy_within(begin..filled, 0);
                (begin, filled) = (0, filled - begin);
            }
            if filled == buffer.len() {
                let longer = grown(filled);
                if longer as u64 > visit.room() {
                    let rest = skip_line(&mut source, self.separator);
                    return Err(self.long_line(name, offset, filled as u64 + rest, visit.room()));
                }
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
            let end = match memrchr(self.separator, &buffer[fresh.clone()]) {
                _ if read == 0 => filled,
                Some(at) => fresh.start + at + 1,
                None => continue,
            };
            batch
                .lines(&buffer[begin..end], offset, visit, &mut local, || Ok(()))
                .map_err(Halt::into_error)?;
            offset += (end - begin) as u64;
            begin = end;
            if read == 0 {
                visit.finish(local)?;
                return Ok(batch.tally);
            }
        }
    }

    fn long_line(&self, name: &str, offset: u64, length: u64, room: u64) -> Error {
        let name = name.to_owned();
        if length > u64::from(u32::MAX) {
            return Error::GiantLine { name, offset, length };
        }
        let (cap, least) = (self.budget.cap, self.budget.cap_for_line(length, room));
        Error::LongLine { name, offset, length, cap, least }
    }
}

/// The next size of a buffer for a line longer than `length`: a quarter more, so that little of it
/// is unused.
fn grown(length: usize) -> usize {
    length + (length / 4).max(if cfg!(test) { 1 << 5 } else { 1 << 16 })
}

/// Reads up to the end of the line, gives the bytes before it.
fn skip_line(source: &mut impl Read, separator: u8) -> u64 {
    let mut piece = vec![0; 1 << 16];
    let mut length = 0;
    while let Ok(read @ 1..) = source.read(&mut piece) {
        match memchr(separator, &piece[..read]) {
            Some(at) => return length + at as u64,
            None => length += read as u64,
        }
    }
    length
}

/// One thread that reads chunks of a file.
struct Worker<'a> {
    scanner: &'a Scanner<'a>,
    input: &'a Input,
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
        let (size, length) = (self.scanner.budget.chunk as u64, self.input.length());
        let separator = self.scanner.separator;
        let (begin, end) = (number * size, ((number + 1) * size).min(length));
        // The byte before the chunk tells whether a line starts with it.
        let from = begin.saturating_sub(1);
        let loaded = (end + SLACK).min(length);
        self.buffer.resize((loaded - from) as usize, 0);
        self.input.read_at(&mut self.buffer, from)?;
        self.scanner.progress.advance(end - begin);
        let inside = (end - from) as usize;
        let first = match begin {
            0 => 0,
            _ => memchr(separator, &self.buffer[..inside]).map_or(inside, |at| at + 1),
        };
        if first < inside {
            let last = self.end_of_lines(first, inside, from, visit)?;
            let turn = || if self.turns.wait(number) { Ok(()) } else { Err(Halt::Stopped) };
            self.batch.lines(&self.buffer[first..last], from + first as u64, visit, local, turn)?;
        }
        if self.buffer.capacity() > 3 * size as usize {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// The end, in the buffer, of the last line that starts before `inside`; reads on as needed.
    fn end_of_lines(
        &mut self,
        first: usize,
        inside: usize,
        from: u64,
        visit: &impl Visit,
    ) -> Result<usize, Halt> {
        let Scanner { separator, budget, .. } = *self.scanner;
        let length = self.input.length();
        let mut searched = inside - 1;
        loop {
            if let Some(at) = memchr(separator, &self.buffer[searched..]) {
                return Ok(searched + at + 1);
            }
            searched = self.buffer.len();
            let offset = from + searched as u64;
            if offset == length {
                return Ok(searched);
            }
            let longer = (grown(searched) as u64).min(length - from) as usize;
            if longer > 2 * budget.chunk {
                // One long line at a time is in memory: that of the earliest chunk.
                if !self.turns.wait(from.div_ceil(budget.chunk as u64)) {
                    return Err(Halt::Stopped);
                }
                let start = memrchr(separator, &self.buffer[first..inside - 1])
                    .map_or(first, |at| first + at + 1);
                if longer as u64 > visit.room() || longer - start > u32::MAX as usize {
                    let rest = skip_line(&mut ReadFrom { input: self.input, offset }, separator);
                    let found = (searched - start) as u64 + rest;
                    return Err(self
                        .scanner
                        .long_line(self.input.name(), from + start as u64, found, visit.room())
                        .into());
                }
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

/// Finds and hashes lines, shows them to a visitor and hands on what it keeps.
struct Batch<'a> {
    scanner: &'a Scanner<'a>,
    spans: Vec<Span>,
    hashes: Vec<KeyHash>,
    keep: Vec<bool>,
    kept: Vec<Span>,
    kept_hashes: Vec<KeyHash>,
    tally: Tally,
}

impl<'a> Batch<'a> {
    fn new(scanner: &'a Scanner<'a>) -> Self {
        Self {
            scanner,
            spans: Vec::with_capacity(BATCH),
            hashes: Vec::with_capacity(BATCH),
            keep: Vec::with_capacity(BATCH),
            kept: Vec::new(),
            kept_hashes: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Shows the lines of `bytes`, the last of which may have no end. `turn` is waited for before
    /// kept lines are handed on.
    fn lines<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        visit: &V,
        local: &mut V::Local,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let mut start = 0;
        for end in Ends::new(self.scanner.separator, bytes) {
            self.spans.push(Span { start, length: (end - start) as u32 });
            start = end + 1;
            if self.spans.len() == BATCH {
                self.show(bytes, offset, visit, local, &turn)?;
            }
        }
        if start < bytes.len() {
            self.spans.push(Span { start, length: (bytes.len() - start) as u32 });
        }
        self.show(bytes, offset, visit, local, &turn)?;
        self.hand_on(bytes, offset, visit, &turn)
    }

    fn show<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        visit: &V,
        local: &mut V::Local,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        self.hashes.clear();
        for span in &self.spans {
            let hash =
                self.scanner.hasher.hash(&bytes[span.start..span.start + span.length as usize]);
            self.tally.sum = self.tally.sum.wrapping_add(hash.high ^ hash.low.rotate_left(32));
            self.hashes.push(hash);
        }
        self.tally.lines += self.spans.len() as u64;
        self.keep.clear();
        self.keep.resize(self.spans.len(), false);
        let lines = Lines { bytes, offset, spans: &self.spans, hashes: &self.hashes };
        visit.batch(local, &lines, &mut self.keep)?;
        for (i, _) in self.keep.iter().enumerate().filter(|(_, keep)| **keep) {
            self.kept.push(self.spans[i]);
            self.kept_hashes.push(self.hashes[i]);
        }
        self.spans.clear();
        if self.kept.len() + BATCH > KEPT {
            self.hand_on(bytes, offset, visit, turn)?;
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        bytes: &[u8],
        offset: u64,
        visit: &impl Visit,
        turn: impl Fn() -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        if !self.kept.is_empty() {
            turn()?;
            visit.kept(&Lines { bytes, offset, spans: &self.kept, hashes: &self.kept_hashes })?;
            self.kept.clear();
            self.kept_hashes.clear();
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
