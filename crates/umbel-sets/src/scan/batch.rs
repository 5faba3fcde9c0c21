//! Finding and hashing records, a few hundred at a time.

use super::Span;
use super::abreast::Twin;
use super::turns::{Halt, Turn};
use crate::ends::Ends;
use crate::error::Place;
use crate::prelude::*;
use crate::records::{Copied, Flaw, Found, Head, KeyAt, empty};

/// Lines found and hashed together, with little memory and with more: enough that even if only a tenth are looked up,
/// their cache misses overlap; few enough to stay in the second-level cache. With 256, `common` takes 2 % longer.
const BATCH: [usize; 2] = [256, 1024];

/// The origin of some lines.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// The index of the input among all, and its name.
    pub(super) input: usize,
    pub(super) name: &'a str,
    /// Where the input starts among all.
    pub(super) place: u64,
    /// Where the lines start in the input.
    pub(super) offset: u64,
}

/// Consecutive lines in memory, the last of which may have no end.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) origin: Origin<'a>,
    /// The turn of their chunk.
    pub(super) turn: Turn<'a>,
    /// Where the same rows may come next in the input that is read alongside.
    pub(super) twin: Option<&'a Twin<'a>>,
}

/// Finds and hashes lines, passes them to the work of a thread and hands on those it keeps.
pub(super) struct Batch<'a> {
    scanner: &'a Scanner<'a>,
    pub(super) work: Box<dyn Work + 'a>,
    ordered: bool,
    /// Lines of a batch.
    size: usize,
    found: LineBatch,
    keep: Vec<bool>,
    kept: LineBatch,
    pub(super) tally: Tally,
}

/// Some lines of a piece, with their hashes.
struct LineBatch {
    spans: Vec<Span>,
    hashes: Vec<KeyHash>,
    /// The locations of keys, and the keys that are not a part of their line; empty for plain lines.
    keys: Vec<KeyAt>,
    copied: Copied,
}

impl LineBatch {
    /// Room for `most` lines, untouched until needed: a block that grows moves, which interrupts the other threads.
    fn new(most: usize) -> Self {
        let (spans, hashes) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Self { spans, hashes, keys: Vec::new(), copied: Copied::default() }
    }

    fn add(&mut self, start: usize, length: usize, key: KeyAt) {
        self.spans.push(Span { start, length: length as u32 });
        self.keys.push(key);
    }

    fn lines<'l>(&'l self, Piece { bytes, origin, twin, .. }: Piece<'l>) -> Lines<'l> {
        let Self { spans, hashes, keys, copied } = self;
        Lines { bytes, origin, spans, hashes, keys, copied: &copied.bytes, twin }
    }

    /// Forgets the lines; keeps at most `most` bytes of copied keys.
    fn clear(&mut self, most: usize) {
        self.spans.clear();
        self.hashes.clear();
        self.keys.clear();
        empty(&mut self.copied.bytes, most);
    }
}

impl<'a> Batch<'a> {
    pub(super) fn new<'v: 'a>(scanner: &'a Scanner<'a>, visit: &Visit<'v>) -> Self {
        let size = (scanner.kept / 4).clamp(BATCH[0], BATCH[1]);
        Self {
            scanner,
            work: (visit.work)(),
            ordered: visit.ordered,
            size,
            found: LineBatch::new(size),
            keep: Vec::with_capacity(size),
            kept: LineBatch::new(scanner.kept),
            tally: Tally::default(),
        }
    }

    /// Passes on the lines of a piece: all that a chunk has, or a stream has so far.
    pub(super) fn pass(&mut self, piece: Piece<'_>, head: &Head<'_>) -> Result<(), Halt> {
        match self.scanner.format.is_lines() {
            true => self.lines(piece)?,
            false => self.records(piece, head)?,
        }
        self.show(piece)?;
        self.hand_on(piece, true)
    }

    /// Finds lines that are their own keys.
    fn lines(&mut self, piece: Piece<'_>) -> Result<(), Halt> {
        let separator = self.scanner.format.kind.end();
        let (bytes, mut start) = (piece.bytes, 0);
        for end in Ends::new([separator], bytes) {
            self.found.spans.push(Span { start, length: (end - start) as u32 });
            start = end + 1;
            if self.found.spans.len() == self.size {
                self.show(piece)?;
            }
        }
        if start < bytes.len() {
            self.found.spans.push(Span { start, length: (bytes.len() - start) as u32 });
        }
        Ok(())
    }

    /// Finds records with keys.
    fn records(&mut self, piece: Piece<'_>, head: &Head<'_>) -> Result<(), Halt> {
        let half = (self.scanner.chunk / 2).max(1);
        let (mut start, mut simple) = (0, head.simple(piece.bytes));
        while start < piece.bytes.len() {
            start += 1 + match simple.as_mut().and_then(|rows| rows.next(start)) {
                Some((length, key)) => {
                    self.found.add(start, length, key);
                    length
                }
                None => self.record(piece, head, start)?,
            };
            if self.found.spans.len() == self.size || self.found.copied.bytes.len() >= half {
                self.show(piece)?;
            }
        }
        Ok(())
    }

    /// Reads the record at `start`; returns its length.
    fn record(&mut self, piece: Piece<'_>, head: &Head<'_>, start: usize) -> Result<usize, Halt> {
        let Piece { bytes, origin, turn, .. } = piece;
        let offset = origin.offset + start as u64;
        // Matched in place: moving it out first makes TSV slower.
        match head.next(&bytes[start..], origin.place + offset, &mut self.found.copied) {
            Ok((length, found)) => {
                match found {
                    Found::Key(key) => self.found.add(start, length, key),
                    Found::Alone(key, flaw) => {
                        self.tally.alone += 1;
                        self.lacks(flaw, origin.name, offset);
                        self.found.add(start, length, key);
                    }
                    Found::Missing(flaw) => {
                        self.tally.missing += 1;
                        self.lacks(flaw, origin.name, offset);
                    }
                    Found::Empty(key) => {
                        self.tally.empty += 1;
                        key.into_iter().for_each(|key| self.found.add(start, length, key));
                    }
                    Found::Bad => self.tally.bad += 1,
                    Found::Blank => {}
                }
                Ok(length)
            }
            Err(flaw) => {
                // The records before it are fine, in this chunk and in those before.
                self.show(piece)?;
                self.hand_on(piece, false)?;
                turn.wait()?;
                Err(self.scanner.format.error(flaw, origin.name, offset).into())
            }
        }
    }

    /// Notes the first record without its key, in case all lack it.
    #[cold]
    fn lacks(&self, flaw: Flaw, name: &str, offset: u64) {
        let Scanner { format, progress, .. } = self.scanner;
        if self.tally.missing + self.tally.alone == 1
            && let Some(error) = format.nowhere(flaw, name, offset)
        {
            progress.lacks(Place::new(name, offset), error);
        }
    }

    /// Hashes the lines found and shows them to the work.
    fn show(&mut self, piece: Piece<'_>) -> Result<(), Halt> {
        let Self { scanner, work, size, found, keep, kept, tally, .. } = self;
        let LineBatch { spans, hashes, keys, copied } = &mut *found;
        if scanner.format.is_lines() {
            scanner.hasher.hash_each(spans.iter().map(|span| span.of(piece.bytes)), |hash| {
                tally.see(hash);
                hashes.push(hash);
            });
        } else {
            for (span, key) in spans.iter().zip(&*keys) {
                let row = span.of(piece.bytes);
                let (hash, record) = (scanner.hasher.hash(row), key.record(row, &copied.bytes));
                tally.see(hash);
                let is_own_key = record.is_own_key();
                hashes.push(if is_own_key { hash } else { scanner.hasher.hash(record.key()) });
            }
        }
        tally.lines += spans.len() as u64;
        keep.clear();
        keep.resize(spans.len(), false);
        let lines = found.lines(piece);
        scanner.progress.see((0..lines.len()).map(|i| lines.key(i)));
        work.batch(&lines, keep)?;
        for (i, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
            kept.spans.push(found.spans[i]);
            kept.hashes.push(found.hashes[i]);
            if let Some(key) = found.keys.get(i) {
                kept.keys.push(kept.copied.keep(*key, &found.copied));
            }
        }
        found.clear(scanner.chunk);
        let most = (scanner.chunk / 2).max(1);
        let no_room = kept.spans.len() + *size > scanner.kept || kept.copied.bytes.len() >= most;
        if no_room || work.is_full() {
            self.hand_on(piece, false)?;
        }
        Ok(())
    }

    /// Hands on the kept lines; `last`: the last ones of a chunk.
    fn hand_on(&mut self, piece: Piece<'_>, last: bool) -> Result<(), Halt> {
        if !self.kept.spans.is_empty() || self.work.carries() {
            if self.ordered {
                piece.turn.wait()?;
            }
            self.work.kept(&self.kept.lines(piece), &|| {
                if last {
                    piece.turn.pass();
                }
            })?;
            self.kept.clear(self.scanner.chunk);
        }
        Ok(())
    }
}
