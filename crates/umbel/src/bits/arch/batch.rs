//! The loop over many keys. It runs at the speed of memory because no key waits for its cache line: lines are
//! prefetched [`lines_ahead`], which keeps as many in flight as the processor can track.

use super::isa::{Isa, Work};
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

/// What is done with each key of a batch.
pub(super) trait Each {
    type Answer;

    /// Keys between prefetching and use; `None` if everything is near.
    fn ahead(&self) -> Option<usize>;
    /// Prefetches the lines of a key.
    fn ask(&self, hash: KeyHash);
    fn each<I: Isa>(&mut self, isa: I, hash: KeyHash) -> Self::Answer;
    /// After the last key.
    #[inline(always)]
    fn end<I: Isa>(&mut self, isa: I) {
        let _ = isa;
    }
}

/// An [`Each`]: what is done with the lines of a key.
macro_rules! each {
    (
        $name:ident<$($constant:ident: $of:ty),*> -> $answer:ty,
        ahead: |$self:ident| $ahead:expr,
        ask: |$asked:ident| $ask:expr,
        each: |$isa:ident, $hash:ident| $each:expr
        $(, $end:item)?
    ) => {
        impl<$(const $constant: $of),*> Each for $name<'_, $($constant),*> {
            type Answer = $answer;

            #[inline(always)]
            fn ahead(&$self) -> Option<usize> {
                $ahead
            }

            #[inline(always)]
            fn ask(&$self, $asked: KeyHash) {
                $ask;
            }

            #[inline(always)]
            fn each<I: Isa>(&mut $self, $isa: I, $hash: KeyHash) -> $answer {
                $each
            }

            $($end)?
        }
    };
}
pub(super) use each;

/// One answer for each of many keys.
pub(super) struct Batch<'a, H, E: Each> {
    pub(super) hashes: &'a [H],
    pub(super) each: E,
    pub(super) answers: &'a mut [E::Answer],
}

impl<H: Hash, E: Each> Work for Batch<'_, H, E> {
    type Answer = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { hashes, mut each, answers } = self;
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        if cfg!(target_arch = "wasm32") && each.ahead().is_some() {
            const TOGETHER: usize = 128;
            // Once the processor's window is full, a read ahead delays what follows until its line arrives, and the
            // work on one key nearly fills the window. Without that work in between, some twenty lines are in flight.
            for (hashes, answers) in hashes.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
                hashes.iter().for_each(|hash| each.ask(hash.key_hash()));
                for (hash, answer) in hashes.iter().zip(answers) {
                    *answer = each.each(isa, hash.key_hash());
                }
            }
            each.end(isa);
            return;
        }
        let near = hashes.len();
        let ahead = each.ahead().map_or(near, |ahead| ahead.min(near));
        if each.ahead().is_some() {
            for hash in &hashes[..ahead] {
                each.ask(hash.key_hash());
            }
        }
        // Three slices in step need only one comparison per key.
        let later = &hashes[ahead..];
        let (first, last) = answers.split_at_mut(later.len());
        for ((hash, asked), answer) in hashes.iter().zip(later).zip(first) {
            each.ask(asked.key_hash());
            *answer = each.each(isa, hash.key_hash());
        }
        for (hash, answer) in hashes[later.len()..].iter().zip(last) {
            *answer = each.each(isa, hash.key_hash());
        }
        each.end(isa);
    }
}

/// One key alone.
pub(super) struct One<E>(pub(super) E, pub(super) KeyHash);

impl<E: Each> Work for One<E> {
    type Answer = E::Answer;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> E::Answer {
        let Self(mut each, hash) = self;
        each.each(isa, hash)
    }
}
