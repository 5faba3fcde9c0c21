//! Two inputs that are read side by side: a worker takes a chunk of each. Both begin with the same rows if these are found not
//! far from where they are expected; rows of one input that come next in the other as well need not be read there.

use std::cell::{Cell, RefCell};

use memchr::{memchr_iter, memmem};
use umbel_io::PageBuffer;

use super::*;
use crate::input::Reader;
use crate::records::Kind;

/// How far from its expected place in the second input a row of the first is looked for: where chunks begin, and in them.
const FAR: u64 = if cfg!(test) { 2000 } else { 1 << 20 };
const NEAR: u64 = if cfg!(test) { 100 } else { 4 << 10 };
/// Rows tried where a chunk begins. In it, after so many rows that were not found, one in so many is looked for.
const FEW: u32 = 16;
/// Bytes from which these rows are taken; 16 times as many if rows are long.
const TRIED: u64 = 4 << 10;

/// Cuts both inputs, one chunk of each at a time.
pub(super) struct Cuts<'a> {
    readers: [Reader<'a>; 2],
    lengths: [u64; 2],
    at: [u64; 2],
    /// Bytes of a chunk.
    size: u64,
    /// The byte that ends a row.
    end: u8,
    number: u64,
}

impl<'a> Cuts<'a> {
    pub(super) fn new(inputs: &'a [Input], size: u64, end: u8) -> Result<Self, Error> {
        let readers = [inputs[0].open()?, inputs[1].open()?];
        let lengths = [inputs[0].length(), inputs[1].length()];
        Ok(Self { readers, lengths, at: [0; 2], size: size.max(1), end, number: 0 })
    }

    /// The next chunks, and the number of the first; they are empty if all was cut.
    pub(super) fn next(&mut self) -> Result<(u64, [Range<u64>; 2]), Error> {
        let Self { lengths, at, size, number, .. } = *self;
        let ends = [0, 1].map(|i| (at[i] + size).min(lengths[i]));
        self.at =
            if ends[0] < lengths[0] && ends[1] < lengths[1] { self.meet(ends)? } else { ends };
        self.number += 2;
        Ok((number, [at[0]..self.at[0], at[1]..self.at[1]]))
    }

    /// Where both have the same two rows, near these places if possible.
    fn meet(&self, ends: [u64; 2]) -> Result<[u64; 2], Error> {
        let read = |i: usize, range: Range<u64>| {
            let mut bytes = PageBuffer::new((range.end - range.start) as usize);
            self.readers[i].read_at(&mut bytes, range.start)?;
            Ok::<_, Error>(bytes)
        };
        for (far, most) in [(NEAR, TRIED), (16 * NEAR, 16 * TRIED), (FAR, 16 * TRIED)] {
            let few = if far == FAR { 2 } else { FEW as usize };
            // Rows that only one input has are found to be missing in the other.
            for (one, other) in [(0, 1), (1, 0)] {
                let rows = read(one, ends[one]..(ends[one] + most).min(self.lengths[one]))?;
                let row_ends: Vec<_> = memchr_iter(self.end, &rows).take(few + 2).collect();
                let begin = ends[other].saturating_sub(far).max(self.at[other]);
                let end = (ends[other] + far + rows.len() as u64).min(self.lengths[other]);
                let there = read(other, begin..end)?;
                let found = row_ends.windows(3).find_map(|two| {
                    let place = memmem::find(&there, &rows[two[0]..=two[2]])? as u64;
                    Some((ends[one] + two[0] as u64 + 1, begin + place + 1))
                });
                if let Some((row, same)) = found {
                    return Ok(if one == 0 { [row, same] } else { [same, row] });
                }
            }
        }
        Ok(ends)
    }
}

/// Rows of the second input, from the row on that is expected next.
pub(crate) struct Twin<'t> {
    bytes: &'t [u8],
    kind: Kind,
    at: Cell<usize>,
    misses: Cell<u32>,
    /// Rows that were passed over.
    gaps: RefCell<Vec<Range<usize>>>,
    /// Of the rows found.
    tally: Cell<Tally>,
}

impl<'t> Twin<'t> {
    pub(super) fn new(bytes: &'t [u8], kind: Kind) -> Self {
        let (at, misses, gaps, tally) = Default::default();
        Self { bytes, kind, at, misses, gaps, tally }
    }

    /// Whether a row comes next, perhaps after others; moves behind it.
    pub(super) fn find(&self, row: &[u8], hash: KeyHash) -> bool {
        let (at, misses) = (self.at.get(), self.misses.get());
        let rest = &self.bytes[at..];
        let ahead = if row.last() != Some(&self.kind.end()) {
            // It has no end that shows where the other ends.
            None
        } else if rest.starts_with(row) {
            Some(0)
        } else if misses < FEW || misses.is_multiple_of(FEW) {
            let near = &rest[..rest.len().min((NEAR as usize).max(4 * row.len()))];
            let comes = |ahead| near[ahead..].starts_with(row) && self.kind.ends(&near[..ahead]);
            memchr_iter(self.kind.end(), near).map(|end| end + 1).find(|&ahead| comes(ahead))
        } else {
            None
        };
        let Some(ahead) = ahead else {
            self.misses.set(misses.wrapping_add(1));
            return false;
        };
        if ahead > 0 {
            self.gaps.borrow_mut().push(at..at + ahead);
        }
        self.at.set(at + ahead + row.len());
        self.misses.set(0);
        let mut tally = self.tally.get();
        tally.lines += 1;
        tally.see(hash);
        self.tally.set(tally);
        true
    }

    /// The rows that were not found, and the tally of the others.
    pub(super) fn rest(self) -> (Vec<Range<usize>>, Tally) {
        let mut gaps = self.gaps.into_inner();
        gaps.push(self.at.get()..self.bytes.len());
        (gaps, self.tally.get())
    }
}
