//! Lines longer than a chunk: how far a buffer may grow for one, and the error if it may not.

use std::io::Read;

use umbel_io::PageBuffer;

use crate::error::{LONGEST_LINE, Place};
use crate::line_counter::mark;
use crate::prelude::*;
use crate::records::Kind;

impl Scanner<'_> {
    /// Checks that memory has room for a buffer of `longer` bytes for its last record, which continues in
    /// `source`. A record that never ends because of a broken quote is reported as such.
    pub(super) fn check_long(
        &self,
        loaded: &Loaded<'_>,
        longer: usize,
        room: u64,
        source: &mut dyn Read,
    ) -> Result<(), Error> {
        let &Loaded { name, buffer, first, offset } = loaded;
        // A mark precedes the first record until the head is found.
        let records = if offset == 0 { first + mark(&buffer[first..]) } else { first };
        let mut quoted = false;
        let last = self.format.kind.find_last(&buffer[records..], &mut quoted);
        let start = last.map_or(records, |at| records + at + 1);
        let (bytes, offset) = (&buffer[start..], offset + (start - first) as u64);
        let check = |goes_on| {
            let flaw = |flaw| self.format.error(flaw, name, offset);
            self.format.check_quotes(bytes, goes_on).map_err(flaw)
        };
        check(true)?;
        let weight = self.format.weight();
        let fits = weight.saturating_mul(longer as u64) <= room;
        if fits && longer - start <= LONGEST_LINE as usize {
            return Ok(());
        }
        let (rest, ended) = skip_line(source, self.format.kind, &mut quoted);
        check(ended || !quoted)?;
        let length = bytes.len() as u64 + rest;
        let at = Place::new(name, offset);
        if length > u64::from(LONGEST_LINE) {
            return Err(Error::GiantLine { at, length });
        }
        Err(self.long_line(at, length, weight, room))
    }

    /// The error for a line that would take `weight` bytes of memory per byte, where there is `room`.
    pub(super) fn long_line(&self, at: Place, length: u64, weight: u64, room: u64) -> Error {
        let (cap, least) = (self.budget.cap, self.budget.cap_for_line(weight * length, room));
        Error::LongLine { at, length, cap, least }
    }
}

/// The records read, the last of which is long.
pub(super) struct Loaded<'a> {
    pub(super) name: &'a str,
    pub(super) buffer: &'a [u8],
    /// The start of the first of them, in the buffer and in the input.
    pub(super) first: usize,
    pub(super) offset: u64,
}

/// The next size of a buffer for a line longer than `length`: a quarter more, which leaves little
/// of it unused.
pub(super) fn grown(length: usize) -> usize {
    length + (length / 4).max(if cfg!(test) { 1 << 5 } else { 1 << 16 })
}

/// Reads up to the end of the line; returns the bytes before it, and whether it was found.
pub(crate) fn skip_line(source: &mut dyn Read, kind: Kind, quoted: &mut bool) -> (u64, bool) {
    let mut piece = PageBuffer::new(1 << 16);
    let mut length = 0;
    while let Ok(read @ 1..) = source.read(&mut piece) {
        match kind.find(&piece[..read], quoted) {
            Some(at) => return (length + at as u64, true),
            None => length += read as u64,
        }
    }
    (length, false)
}
