//! Streams: read once, by one thread.

use std::io::{self, Read};

use umbel_io::PageBuffer;

use super::batch::{Batch, Origin, Piece};
use super::long::{Loaded, grown};
use super::turns::{Turn, Turns};
use crate::input::read_error;
use crate::line_counter::LineCounter;
use crate::prelude::*;
use crate::records::Head;

impl Scanner<'_> {
    /// Reads the lines of a stream on this thread.
    pub(super) fn read_stream(
        &self,
        name: &str,
        source: &mut dyn Read,
        visit: &Visit<'_>,
    ) -> Result<Report, Error> {
        let (kind, before) = (self.format.kind, self.progress.done());
        let mut batch = Batch::new(self, visit);
        let mut head: Option<Head<'_>> = None;
        // The only chunk.
        let turns = Turns::default();
        let turn = Turn { turns: &turns, chunk: 0, keeps: false };
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
                self.check_long(&loaded, longer, (visit.room)(), source)
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
                    (visit.header)(row)?;
                }
                passed.pass(&start[..found.start]);
                begin += found.start;
                offset += found.start as u64;
                head = Some(found);
            }
            let head = head.as_ref().expect("just found");
            let origin = Origin { input: 0, name, place: 0, offset };
            let bytes = &buffer[begin..end];
            batch.pass(Piece { bytes, origin, turn, twin: None }, head).map_err(|halt| {
                passed.locate(halt.expect("nobody stops a stream"), bytes, offset)
            })?;
            passed.pass(bytes);
            offset += (end - begin) as u64;
            begin = end;
            if read == 0 {
                batch.work.finish()?;
                let bytes_read = self.progress.done() - before;
                let mut report = Report { bytes_read, passes: 1, ..Report::default() };
                report.tally(&batch.tally);
                return Ok(report);
            }
        }
    }
}
