//! Finding and hashing records, a few hundred at a time.

use umbel::KeyHash;

use super::turns::{Halt, Turn};
use super::{Lines, Scanner, Span, Tally, Visit, Work};
use crate::error::Place;
use crate::line_ends::LineEnds;
use crate::records::{Copied, Flaw, Found, Head, KeyAt};

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
}

/// Finds and hashes lines, passes them to the work of a thread and hands on those it keeps.
pub(super) struct Batch<'a> {
    scanner: &'a Scanner<'a>,
    pub(super) work: Box<dyn Work + 'a>,
    ordered: bool,
    /// Lines of a batch.
    size: usize,
    spans: Vec<Span>,
    hashes: Vec<KeyHash>,
    /// The locations of keys, and the keys that are not a part of their line; empty for plain lines.
    keys: Vec<KeyAt>,
    copied: Copied,
    keep: Vec<bool>,
    kept: Vec<Span>,
    kept_hashes: Vec<KeyHash>,
    kept_keys: Vec<KeyAt>,
    kept_copied: Copied,
    pub(super) tally: Tally,
}

impl<'a> Batch<'a> {
    pub(super) fn new<'v: 'a>(scanner: &'a Scanner<'a>, visit: &Visit<'v>) -> Self {
        let size = (scanner.kept / 4).clamp(BATCH[0], BATCH[1]);
        Self {
            scanner,
            work: (visit.work)(),
            ordered: visit.ordered,
            size,
            spans: Vec::with_capacity(size),
            hashes: Vec::with_capacity(size),
            keys: Vec::new(),
            copied: Copied::default(),
            keep: Vec::with_capacity(size),
            // The maximum, untouched until needed: a block that grows moves, which interrupts the other threads.
            kept: Vec::with_capacity(scanner.kept),
            kept_hashes: Vec::with_capacity(scanner.kept),
            kept_keys: Vec::new(),
            kept_copied: Copied::default(),
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
        for end in LineEnds::new(separator, bytes) {
            self.spans.push(Span { start, length: (end - start) as u32 });
            start = end + 1;
            if self.spans.len() == self.size {
                self.show(piece)?;
            }
        }
        if start < bytes.len() {
            self.spans.push(Span { start, length: (bytes.len() - start) as u32 });
        }
        Ok(())
    }

    /// Finds records with keys.
    fn records(&mut self, piece: Piece<'_>, head: &Head<'_>) -> Result<(), Halt> {
        let Piece { bytes, origin, turn } = piece;
        let half = (self.scanner.chunk / 2).max(1);
        let mut start = 0;
        while start < bytes.len() {
            let place = origin.place + origin.offset + start as u64;
            let length = match head.next(&bytes[start..], place, &mut self.copied) {
                Ok((length, found)) => {
                    let key = match found {
                        Found::Key(key) => Some(key),
                        Found::Alone(key, flaw) => {
                            self.tally.alone += 1;
                            self.lacks(flaw, origin, start);
                            Some(key)
                        }
                        Found::Missing(flaw) => {
                            self.tally.missing += 1;
                            self.lacks(flaw, origin, start);
                            None
                        }
                        Found::Bad => {
                            self.tally.bad += 1;
                            None
                        }
                        Found::Blank => None,
                    };
                    if let Some(key) = key {
                        self.spans.push(Span { start, length: length as u32 });
                        self.keys.push(key);
                    }
                    length
                }
                Err(flaw) => {
                    // The records before it are fine, in this chunk and in those before.
                    self.show(piece)?;
                    self.hand_on(piece, false)?;
                    turn.wait()?;
                    let offset = origin.offset + start as u64;
                    let format = &self.scanner.format;
                    return Err(format.error(flaw, origin.name, offset).into());
                }
            };
            start += length + 1;
            if self.spans.len() == self.size || self.copied.bytes.len() >= half {
                self.show(piece)?;
            }
        }
        Ok(())
    }

    /// Notes the first record without its key, in case all lack it.
    #[cold]
    fn lacks(&self, flaw: Flaw, origin: Origin<'_>, start: usize) {
        if self.tally.missing + self.tally.alone > 1 {
            return;
        }
        let Scanner { format, progress, .. } = self.scanner;
        if let Some(error) = format.nowhere(flaw, origin.name, origin.offset + start as u64) {
            progress.lacks(Place::new(origin.name, origin.offset + start as u64), error);
        }
    }

    /// Hashes the lines found and shows them to the work.
    fn show(&mut self, piece: Piece<'_>) -> Result<(), Halt> {
        let Piece { bytes, origin, .. } = piece;
        let Scanner { hasher, chunk, kept, .. } = self.scanner;
        let (spans, hashes) = (&self.spans, &mut self.hashes);
        hashes.clear();
        if self.scanner.format.is_lines() {
            let tally = &mut self.tally;
            hasher.hash_each(spans.iter().map(|span| span.of(bytes)), |hash| {
                tally.see(hash);
                hashes.push(hash);
            });
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
        let lines = Lines { bytes, origin, spans, hashes, keys: &self.keys, copied };
        self.scanner.progress.see((0..lines.len()).map(|i| lines.key(i)));
        self.work.batch(&lines, &mut self.keep)?;
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
        if self.kept.len() + self.size > *kept
            || self.kept_copied.bytes.len() >= (*chunk / 2).max(1)
        {
            self.hand_on(piece, false)?;
        }
        Ok(())
    }

    /// Hands on the kept lines; `last`: the last ones of a chunk.
    fn hand_on(
        &mut self,
        Piece { bytes, origin, turn }: Piece<'_>,
        last: bool,
    ) -> Result<(), Halt> {
        if !self.kept.is_empty() || self.work.carries() {
            if self.ordered {
                turn.wait()?;
            }
            let lines = Lines {
                bytes,
                origin,
                spans: &self.kept,
                hashes: &self.kept_hashes,
                keys: &self.kept_keys,
                copied: &self.kept_copied.bytes,
            };
            self.work.kept(&lines, &|| {
                if last {
                    turn.pass();
                }
            })?;
            self.kept.clear();
            self.kept_hashes.clear();
            self.kept_keys.clear();
            self.kept_copied.clear(self.scanner.chunk);
        }
        Ok(())
    }
}
