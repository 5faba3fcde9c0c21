//! One thread that reads chunks and finds the records that start in them.

use memchr::memchr_iter;
use umbel_io::PageBuffer;

use super::batch::{Batch, Origin, Piece};
use super::chunks::{Chunk, Chunks};
use super::long::{Loaded, grown};
use super::turns::{Halt, Turn, Turns};
use crate::input::Reader;
use crate::pages::{PAGE, within_page};
use crate::prelude::*;
use crate::records::{Head, Kind};

/// One thread that reads chunks.
pub(super) struct Worker<'a, 'v> {
    scanner: &'a Scanner<'a>,
    chunks: &'a Chunks<'a>,
    turns: &'a Turns,
    visit: &'a Visit<'v>,
    /// The input of its last chunk.
    open: Option<Open<'a>>,
    /// Bytes of that input, where they are in pages.
    buffer: PageBuffer,
    pub(super) batch: Batch<'a>,
}

struct Open<'a> {
    input: usize,
    reader: Reader<'a>,
    head: Head<'a>,
    /// The hash of its header.
    header: Option<KeyHash>,
}

impl<'a, 'v: 'a> Worker<'a, 'v> {
    pub(super) fn new(
        scanner: &'a Scanner<'a>,
        chunks: &'a Chunks<'a>,
        turns: &'a Turns,
        visit: &'a Visit<'v>,
    ) -> Self {
        let (batch, buffer) = (Batch::new(scanner, visit), PageBuffer::default());
        Self { scanner, chunks, turns, visit, open: None, buffer, batch }
    }

    fn open(&self, input: usize) -> Result<Open<'a>, Error> {
        let reader = self.chunks.inputs[input].open()?;
        // A header may be as long as a long line: one worker at a time reads one, and does not keep it.
        let _heads = self.scanner.heads.lock().expect("no worker panics");
        let (head, bytes) = self.scanner.head(&reader)?;
        let header = head.row.clone().map(|row| self.scanner.hasher.hash(&bytes[row]));
        Ok(Open { input, reader, head, header })
    }

    /// Processes a chunk; returns the index of its input, and its tally.
    pub(super) fn chunk(&mut self, number: u64) -> Result<(usize, Tally), Halt> {
        let chunk = self.chunks.chunk(number);
        self.turns.wait(self.chunks.first_of(chunk.input, self.visit.at_once))?;
        // The last input is closed before the next one is opened.
        let open = match self.open.take().filter(|open| open.input == chunk.input) {
            Some(open) => open,
            None => self.open(chunk.input)?,
        };
        if let (0, Some(header)) = (chunk.start, open.header) {
            self.batch.tally.see(header);
        }
        self.records(number, chunk, &open)?;
        self.open = Some(open);
        Ok((chunk.input, std::mem::take(&mut self.batch.tally)))
    }

    /// Processes the records that start in a chunk.
    fn records(&mut self, number: u64, chunk: Chunk, open: &Open<'_>) -> Result<(), Halt> {
        /// Bytes read beyond the chunk in the same call: most lines end within them.
        const SLACK: u64 = 4 << 10;
        let Open { reader, head, .. } = open;
        let kind = self.scanner.format.kind;
        let begin = chunk.start.max(head.start as u64).min(chunk.end);
        // The byte before the chunk shows whether a line starts with it.
        let read = begin.saturating_sub(1);
        let unread = within_page(read);
        let from = read - unread as u64;
        let loaded = (chunk.end + SLACK).min(reader.input().length());
        self.buffer.resize((loaded - from) as usize);
        reader.read_at(&mut self.buffer[unread..], read)?;
        self.scanner.progress.advance(chunk.end - chunk.start);
        self.scanner.progress.check()?;
        let (own, inside) = ((begin - from) as usize, (chunk.end - from) as usize);
        let mut quoted = (false, false);
        if matches!(kind, Kind::Csv(_)) {
            let turned = memchr_iter(b'"', &self.buffer[own..inside]).count() % 2 == 1;
            let is_first = chunk.start == reader.input().part().start;
            let before = self.turns.quotes(number, chunk.input, is_first, turned)?;
            quoted = (before, before ^ turned);
        }
        let first =
            if begin == head.start as u64 || (self.buffer[own - 1] == kind.end() && !quoted.0) {
                own
            } else {
                let end = kind.find(&self.buffer[own..inside], &mut quoted.0);
                end.map_or(inside, |at| own + at + 1)
            };
        if first < inside {
            let last = self.end_of_lines(number, first..inside, quoted.1, from, reader)?;
            let is_long = self.buffer.len() > 2 * self.scanner.chunk + PAGE;
            let keeps = is_long || self.visit.at_once < self.chunks.inputs.len();
            let turn = Turn { turns: self.turns, chunk: number, keeps };
            let origin = Origin {
                input: chunk.input,
                name: reader.input().name(),
                place: self.chunks.places.start(chunk.input),
                offset: from + first as u64,
            };
            self.batch.pass(Piece { bytes: &self.buffer[first..last], origin, turn }, head)?;
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
    ) -> Result<usize, Halt> {
        let scanner = self.scanner;
        let kind = scanner.format.kind;
        let length = reader.input().length();
        let mut searched = lines.end;
        if self.buffer[searched - 1] == kind.end() && !quoted {
            return Ok(searched);
        }
        loop {
            if let Some(at) = kind.find(&self.buffer[searched..], &mut quoted) {
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
                self.turns.wait(number)?;
                let loaded = Loaded {
                    name: reader.input().name(),
                    buffer: &self.buffer,
                    first: lines.start,
                    offset: from + lines.start as u64,
                };
                let mut rest = reader.from(offset);
                scanner.check_long(&loaded, longer, (self.visit.room)(), &mut rest)?;
            }
            self.buffer.resize(longer);
            reader.read_at(&mut self.buffer[searched..], offset)?;
        }
    }
}
