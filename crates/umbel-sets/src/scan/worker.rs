//! One thread that reads chunks of a file and finds the records that start in them.

use std::ops::Range;

use super::batch::{Batch, Place};
use super::long::{Loaded, ReadFrom, grown};
use super::turns::{Halt, Turns};
use super::{Scanner, Visit};
use crate::input::Input;
use crate::records::{Ends, Head};

/// One thread that reads chunks of a file.
pub(super) struct Worker<'a> {
    pub(super) scanner: &'a Scanner<'a>,
    pub(super) input: &'a Input,
    pub(super) head: &'a Head<'a>,
    pub(super) turns: &'a Turns,
    pub(super) buffer: Vec<u8>,
    pub(super) batch: Batch<'a>,
}

impl Worker<'_> {
    pub(super) fn chunk<V: Visit>(
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
