//! The loop over many keys. It runs at the speed of memory because no key waits for its cache line: lines are
//! prefetched [`lines_ahead`], which keeps as many in flight as the processor can track.

use core::ops::Range;

use super::isa::{Isa, Work};
use super::{Block, ask};
use crate::bits::place;
use crate::hash::{KeyHash, Mixed64};

/// Keys hashed or looked up together by code that does not use the loop below.
pub(crate) const AHEAD: usize = 32;

/// Filters of at most this many blocks are not prefetched: 256 KiB fit in the second-level cache of any processor with
/// vectors, where prefetching costs more than waiting.
pub(crate) const NEAR: u64 = 4096;

/// Filters of more blocks than this are in memory, or in a cache that many cores share.
pub(crate) const FAR: u64 = 1 << 18;

/// Lines between prefetching one and using it, in a filter of `blocks` blocks; `None` if all of them are near.
///
/// A look-up in a filter of 126 MB on a Zen 5, which keeps over a hundred lines in flight, takes 6.3 ns with 32 lines,
/// 4.5 with 64 and 2.7 with 128. On an older processor 16 to 64 differed by 3 %; 128 was not measured. At 13 MB, 128
/// takes 10 % longer than 32 in calls of a thousand keys, because each call ends without lines in flight.
#[inline(always)]
pub(super) fn lines_ahead(blocks: u64) -> Option<usize> {
    match blocks {
        _ if blocks <= NEAR => None,
        _ if blocks <= FAR => Some(32),
        _ => Some(128),
    }
}

/// A type of hash that batches consist of.
#[allow(unreachable_pub)] // as for `Kernel` in kernel.rs
pub trait Hash: Copy {
    /// The hash that a filter sees.
    fn key_hash(self) -> KeyHash;
}

impl Hash for KeyHash {
    #[inline(always)]
    fn key_hash(self) -> KeyHash {
        self
    }
}

/// A 64-bit hash computed elsewhere, stretched in registers: writing it to memory and reading it back would cost a
/// third more.
impl Hash for Mixed64 {
    #[inline(always)]
    fn key_hash(self) -> KeyHash {
        KeyHash::from_u64(self.0)
    }
}

/// The places of keys' lines in a slice of a filter's memory: it starts at place `first` of `total`, and a place is
/// `size` lines, or `SIZE` if that is not 0.
#[derive(Clone, Copy)]
pub(super) struct Places<const SIZE: usize> {
    pub(super) first: u64,
    pub(super) total: u64,
    pub(super) size: usize,
}

impl<const SIZE: usize> Places<SIZE> {
    /// All places in `blocks`.
    #[inline(always)]
    pub(super) fn of(blocks: &[Block], size: usize) -> Self {
        let places = Self { first: 0, total: 0, size };
        Self { total: (blocks.len() / places.size()) as u64, ..places }
    }

    #[inline(always)]
    fn size(&self) -> usize {
        if SIZE == 0 { self.size } else { SIZE }
    }

    /// The lines of a key; beyond the end of the slice if the key belongs elsewhere.
    #[inline(always)]
    pub(super) fn lines(&self, hash: KeyHash) -> Range<usize> {
        let place = place(hash.high, self.total).wrapping_sub(self.first) as usize;
        let start = place.wrapping_mul(self.size());
        start..start.wrapping_add(self.size())
    }

    /// Keys between prefetching and use; `None` if everything is near. Twice the lines of a filter with one line per
    /// key: with 4 in 22 MB a look-up takes 6.1 ns with 128 lines ahead, 5.1 with 256, 5.4 with 512.
    #[inline(always)]
    fn ahead(&self) -> Option<usize> {
        let lines = lines_ahead(self.total * self.size() as u64)?;
        Some((2 * lines / self.size()).clamp(lines / 4, lines))
    }
}

/// The work on each key.
pub(super) trait Each {
    type Answer;

    fn blocks(&self) -> &[Block];
    /// The first of a key's `size` lines that is prefetched, and how many are.
    #[inline(always)]
    fn asked(&self, size: usize) -> (usize, usize) {
        (0, size)
    }
    fn each<I: Isa>(&mut self, isa: I, lines: Range<usize>, low: u64) -> Self::Answer;
    /// After the last key.
    #[inline(always)]
    fn end<I: Isa>(&mut self, _isa: I) {}
}

/// An [`Each`] that consists only of blocks, and looks at the first `$asked` lines of a key.
macro_rules! each {
    (
        $(#[$about:meta])* $name:ident$(<$mut:tt>)? -> $answer:ty,
        |$size:pat_param| $asked:expr,
        |$isa:ident, $blocks:ident, $lines:ident, $low:ident| $each:expr
    ) => {
        $(#[$about])*
        struct $name<'a>(&'a $($mut)? [Block]);

        impl Each for $name<'_> {
            type Answer = $answer;

            #[inline(always)]
            fn blocks(&self) -> &[Block] {
                self.0
            }

            #[inline(always)]
            fn asked(&self, $size: usize) -> (usize, usize) {
                (0, $asked)
            }

            #[inline(always)]
            fn each<I: Isa>(&mut self, $isa: I, $lines: Range<usize>, $low: u64) -> $answer {
                let $blocks = & $($mut)? *self.0;
                $each
            }
        }
    };
}
pub(super) use each;

/// The part of an answer to keep: all, or nothing.
pub(super) trait Kept<T> {
    fn of(answer: T) -> Self;
}

impl<T> Kept<T> for () {
    #[inline(always)]
    fn of(_: T) {}
}

impl Kept<bool> for bool {
    #[inline(always)]
    fn of(answer: bool) -> Self {
        answer
    }
}

impl Kept<u32> for u32 {
    #[inline(always)]
    fn of(answer: u32) -> Self {
        answer
    }
}

/// The work on keys, and where their lines are.
pub(super) struct Keys<E, const SIZE: usize> {
    pub(super) places: Places<SIZE>,
    pub(super) each: E,
}

impl<E: Each, const SIZE: usize> Keys<E, SIZE> {
    /// Keys of a whole filter.
    #[inline(always)]
    pub(super) fn of(each: E, size: usize) -> Self {
        Self { places: Places::of(each.blocks(), size), each }
    }

    /// Prefetches the lines of a key.
    #[inline(always)]
    fn ask(&self, hash: KeyHash) {
        let start = self.places.lines(hash).start;
        let (first, count) = self.each.asked(self.places.size());
        for line in 0..count {
            ask(self.each.blocks(), start.wrapping_add(first + line));
        }
    }

    #[inline(always)]
    fn each<I: Isa>(&mut self, isa: I, hash: KeyHash) -> E::Answer {
        self.each.each(isa, self.places.lines(hash), hash.low)
    }
}

/// One answer for each of many keys.
pub(super) struct Batch<'a, H, A, E, const SIZE: usize> {
    pub(super) hashes: &'a [H],
    pub(super) keys: Keys<E, SIZE>,
    pub(super) answers: &'a mut [A],
}

impl<H: Hash, A: Kept<E::Answer>, E: Each, const SIZE: usize> Work for Batch<'_, H, A, E, SIZE> {
    type Answer = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { hashes, mut keys, answers } = self;
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        let ahead = keys.places.ahead();
        if cfg!(target_arch = "wasm32") && ahead.is_some() {
            const TOGETHER: usize = 128;
            // A read in place of a prefetch delays, once the processor's window is full, what follows until its line
            // arrives, and the work on one key nearly fills the window. Without that work in between, some twenty lines
            // are in flight.
            for (hashes, answers) in hashes.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
                hashes.iter().for_each(|hash| keys.ask(hash.key_hash()));
                for (hash, answer) in hashes.iter().zip(answers) {
                    *answer = A::of(keys.each(isa, hash.key_hash()));
                }
            }
            return keys.each.end(isa);
        }
        let (near, is_far) = (hashes.len(), ahead.is_some());
        let ahead = ahead.map_or(near, |ahead| ahead.min(near));
        if is_far {
            hashes[..ahead].iter().for_each(|hash| keys.ask(hash.key_hash()));
        }
        // Three slices in step need only one comparison per key.
        let later = &hashes[ahead..];
        let (first, last) = answers.split_at_mut(later.len());
        for ((hash, later), answer) in hashes.iter().zip(later).zip(first) {
            keys.ask(later.key_hash());
            *answer = A::of(keys.each(isa, hash.key_hash()));
        }
        for (hash, answer) in hashes[later.len()..].iter().zip(last) {
            *answer = A::of(keys.each(isa, hash.key_hash()));
        }
        keys.each.end(isa);
    }
}

/// One key alone, in `SIZE` lines if that is not 0.
pub(super) struct One<E, const SIZE: usize> {
    pub(super) each: E,
    pub(super) lines: Range<usize>,
    pub(super) low: u64,
}

impl<E: Each, const SIZE: usize> Work for One<E, SIZE> {
    type Answer = E::Answer;

    #[inline(always)]
    fn run<I: Isa>(mut self, isa: I) -> E::Answer {
        let Range { start, end } = self.lines;
        let end = if SIZE == 0 { end } else { start.wrapping_add(SIZE) };
        self.each.each(isa, start..end, self.low)
    }
}
