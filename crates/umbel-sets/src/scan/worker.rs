//! One thread that reads chunks and finds the records that start in them.

use std::ops::Range;

use umbel::KeyHash;
use umbel_io::PageBuffer;

use super::batch::{Batch, Origin};
use super::chunks::{Chunk, Chunks};
use super::long::{Loaded, grown};
use super::turns::{Halt, Numbered, Turns};
use super::{Scanner, Tally, Visitor, Work};
use crate::Error;
use crate::input::Reader;
use crate::pages::{PAGE, within_page};
use crate::records::{Ends, Head};

/// One thread that reads chunks.
pub(super) struct Worker<'a> {
    scanner: &'a Scanner<'a>,
    chunks: &'a Chunks<'a>,
    turns: &'a Turns,
    /// Bytes that are spare for a long line.
    spare: u64,
    /// The input of its last chunk.
    open: Option<Open<'a>>,
    /// Bytes of that input, where they are in pages.
    buffer: PageBuffer,
    batch: Batch<'a>,
    /// The tallies of the inputs before that one.
    tallies: Vec<(usize, Tally)>,
}

struct Open<'a> {
    input: usize,
    reader: Reader<'a>,
    head: Head<'a>,
    /// The hash of its header.
    header: Option<KeyHash>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        scanner: &'a Scanner<'a>,
        chunks: &'a Chunks<'a>,
        turns: &'a Turns,
        spare: u64,
    ) -> Self {
        let (batch, buffer, tallies) = (Batch::new(scanner), PageBuffer::default(), Vec::new());
        Self { scanner, chunks, turns, spare, open: None, buffer, batch, tallies }
    }

    /// Returns its tallies, by input.
    pub(super) fn finish(mut self) -> Vec<(usize, Tally)> {
        self.leave();
        self.tallies
    }

    fn leave(&mut self) {
        if let Some(open) = self.open.take() {
            self.tallies.push((open.input, std::mem::take(&mut self.batch.tally)));
        }
    }

    /// Opens an input, unless it is open.
    fn enter(&mut self, input: usize) -> Result<Open<'a>, Error> {
        if self.open.as_ref().is_some_and(|open| open.input != input) {
            self.leave();
        }
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let reader = self.chunks.input(input).open()?;
        // A header may be as long as a long line: one worker at a time reads one, and does not keep it.
        let heads = self.scanner.heads.lock().expect("no worker panics");
        let mut header = None;
        let hash = &mut |row: &[u8]| header = Some(self.scanner.hasher.hash(row));
        let head = self.scanner.head(&reader, hash)?;
        drop(heads);
        Ok(Open { input, reader, head, header })
    }

    pub(super) fn chunk(
        &mut self,
        number: u64,
        visit: &dyn Visitor,
        work: &mut dyn Work,
    ) -> Result<(), Halt> {
        let chunk = self.chunks.chunk(number);
        if !self.turns.wait(self.chunks.first_of(chunk.input, visit.inputs_at_once())) {
            return Err(Halt::Stopped);
        }
        let open = self.enter(chunk.input)?;
        if let (true, Some(header)) = (chunk.first, open.header) {
            self.batch.tally.see(header);
        }
        self.records(number, chunk, &open, visit, work)?;
        self.open = Some(open);
        Ok(())
    }

    /// Processes the records that start in a chunk.
    fn records(
        &mut self,
        number: u64,
        chunk: Chunk,
        open: &Open<'_>,
        visit: &dyn Visitor,
        work: &mut dyn Work,
    ) -> Result<(), Halt> {
        /// Bytes read beyond the chunk in the same call: most lines end within them.
        const SLACK: u64 = 4 << 10;
        let Open { reader, head, .. } = open;
        let ends = self.scanner.format.ends();
        let begin = chunk.start.max(head.start as u64).min(chunk.end);
        let end = chunk.end;
        // The byte before the chunk shows whether a line starts with it.
        let read = begin.saturating_sub(1);
        let unread = within_page(read);
        let from = read - unread as u64;
        let loaded = (end + SLACK).min(reader.input().length());
        self.buffer.resize((loaded - from) as usize);
        reader.read_at(&mut self.buffer[unread..], read)?;
        self.scanner.progress.advance(end - chunk.start);
        self.scanner.progress.check()?;
        let (own, inside) = ((begin - from) as usize, (end - from) as usize);
        let mut quoted = (false, false);
        if ends == Ends::OutsideQuotes {
            let turned = ends.turn_quotes(&self.buffer[own..inside]);
            let before = self.turns.quotes(number, chunk.first, turned).ok_or(Halt::Stopped)?;
            quoted = (before, before ^ turned);
        }
        let first =
            if begin == head.start as u64 || (self.buffer[own - 1] == ends.byte() && !quoted.0) {
                own
            } else {
                let end = ends.find(&self.buffer[own..inside], &mut quoted.0);
                end.map_or(inside, |at| own + at + 1)
            };
        if first < inside {
            let last = self.end_of_lines(number, first..inside, quoted.1, from, reader, visit)?;
            let is_long = self.buffer.len() > 2 * self.scanner.chunk + PAGE;
            let turn = Numbered { turns: self.turns, chunk: number, is_long };
            let origin = Origin {
                input: chunk.input,
                name: reader.input().name(),
                place: self.chunks.place(chunk.input),
                offset: from + first as u64,
            };
            let bytes = &self.buffer[first..last];
            self.batch.lines(bytes, origin, &head.cut, work, &turn)?;
        }
        if self.buffer.capacity() > 3 * self.scanner.chunk + PAGE {
            self.buffer = PageBuffer::default();
        }
        Ok(())
    }

    /// The end, in the buffer, of the last line that starts in `lines`, which start within quotes if `quoted`; reads on
    /// as needed.
    fn end_of_lines(
        &mut self,
        number: u64,
        lines: Range<usize>,
        mut quoted: bool,
        from: u64,
        reader: &Reader<'_>,
        visit: &dyn Visitor,
    ) -> Result<usize, Halt> {
        let scanner = self.scanner;
        let ends = scanner.format.ends();
        let length = reader.input().length();
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
            if longer > 2 * scanner.chunk + PAGE {
                // One long line at a time is in memory: the earliest chunk's.
                if !self.turns.wait(number) {
                    return Err(Halt::Stopped);
                }
                let loaded = Loaded {
                    name: reader.input().name(),
                    buffer: &self.buffer,
                    first: lines.start,
                    offset: from + lines.start as u64,
                };
                let mut rest = reader.from(offset);
                scanner.check_long(&loaded, longer, visit.room(self.spare), &mut rest)?;
            }
            self.buffer.resize(longer);
            reader.read_at(&mut self.buffer[searched..], offset)?;
        }
    }
}
