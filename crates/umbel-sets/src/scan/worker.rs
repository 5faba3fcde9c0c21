//! One thread that reads chunks and finds the records that start in them.

use memchr::memchr_iter;
use umbel_io::PageBuffer;

use super::abreast::Twin;
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
    /// Two inputs that are read side by side, and bytes of the first.
    pair: Option<[Open<'a>; 2]>,
    first: PageBuffer,
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
        let (batch, open, pair) = (Batch::new(scanner, visit), None, None);
        let (buffer, first) = Default::default();
        Self { scanner, chunks, turns, visit, open, buffer, pair, first, batch }
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
        see_header(&mut self.batch.tally, chunk.start, &open);
        self.records(number, chunk, &open)?;
        self.open = Some(open);
        Ok((chunk.input, std::mem::take(&mut self.batch.tally)))
    }

    /// Processes the records that start in a chunk.
    fn records(&mut self, number: u64, chunk: Chunk, open: &Open<'_>) -> Result<(), Halt> {
        if let Some((rows, from)) = self.load(number, number, chunk, open)? {
            let is_long = self.buffer.len() > 2 * self.scanner.chunk + PAGE;
            let keeps = is_long || self.visit.at_once < self.chunks.inputs.len();
            let turn = Turn { turns: self.turns, chunk: number, keeps };
            let origin = self.origin(open, from + rows.start as u64);
            let piece = Piece { bytes: &self.buffer[rows], origin, turn, twin: None };
            self.batch.pass(piece, &open.head)?;
        }
        self.shrink();
        Ok(())
    }

    /// Processes the records that start in a chunk of each of two inputs, which have this number and the next; returns their
    /// tallies.
    pub(super) fn pair(
        &mut self,
        number: u64,
        [first, second]: [Range<u64>; 2],
    ) -> Result<[Tally; 2], Halt> {
        let pair = match self.pair.take() {
            Some(pair) => pair,
            None => [self.open(0)?, self.open(1)?],
        };
        let turn = Turn { turns: self.turns, chunk: number, keeps: true };
        let chunk = |input, Range { start, end }| Chunk { input, start, end };
        let [one, other] = &pair;
        see_header(&mut self.batch.tally, first.start, one);
        let rows = self.load(number, number, chunk(0, first), one)?;
        let (mut rows, from) = rows.unwrap_or_default();
        // The long lines of both are not in memory at the same time.
        let is_long = rows.len() > 2 * self.scanner.chunk;
        let alone = is_long || !one.head.reads_as(&other.head);
        std::mem::swap(&mut self.buffer, &mut self.first);
        let origin = self.origin(one, from + rows.start as u64);
        let piece = Piece { bytes: &[], origin, turn, twin: None };
        if alone {
            self.batch.pass(Piece { bytes: &self.first[rows], ..piece }, &one.head)?;
            (rows, self.first) = Default::default();
        }
        let start = second.start;
        let others = self.load(number + 1, number, chunk(1, second), other)?;
        let (others, from) = others.unwrap_or_default();
        let bytes = &self.buffer[others.clone()];
        let twin = Twin::new(bytes, self.scanner.format.kind);
        let piece = Piece { bytes: &self.first[rows], twin: Some(&twin), ..piece };
        self.batch.pass(piece, &one.head)?;
        let (gaps, found) = twin.rest();
        let tally = std::mem::take(&mut self.batch.tally);
        see_header(&mut self.batch.tally, start, other);
        for gap in gaps {
            let origin = self.origin(other, from + (others.start + gap.start) as u64);
            let piece = Piece { bytes: &bytes[gap], origin, turn, twin: None };
            self.batch.pass(piece, &other.head)?;
        }
        self.batch.tally.add(found);
        self.shrink();
        self.pair = Some(pair);
        Ok([tally, std::mem::take(&mut self.batch.tally)])
    }

    /// Where records start that are at an offset of an input.
    fn origin<'o>(&self, open: &'o Open<'_>, offset: u64) -> Origin<'o> {
        let input = open.input;
        let name = open.reader.input().name();
        Origin { input, name, place: self.chunks.places.start(input), offset }
    }

    /// Gives back the memory of a long line.
    fn shrink(&mut self) {
        if self.buffer.capacity() > 3 * self.scanner.chunk + PAGE {
            self.buffer = PageBuffer::default();
        }
    }

    /// Reads the records that start in a chunk; returns where they are in the buffer, and where that begins in the input.
    fn load(
        &mut self,
        number: u64,
        turn: u64,
        chunk: Chunk,
        open: &Open<'_>,
    ) -> Result<Option<(Range<usize>, u64)>, Halt> {
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
        if first == inside {
            return Ok(None);
        }
        let last = self.end_of_lines(turn, first..inside, quoted.1, from, reader)?;
        Ok(Some((first..last, from)))
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

/// Adds a header to the tally of an input of which a chunk from `start` on is read.
fn see_header(tally: &mut Tally, start: u64, open: &Open<'_>) {
    if let (0, Some(header)) = (start, open.header) {
        tally.see(header);
    }
}
