//! Keys of a blocked filter: all bits of a key are in one block.

use core::ops::Range;

#[cfg(all(feature = "std", target_has_atomic = "64"))]
use super::AtomicBlock;
use super::Block;
use super::batch::{Batch, Each, Hash, Kept, Keys, Places, each};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::inline;
use super::isa::{Isa, Work};
use super::plain::Plain;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Avx2, Avx512};
use crate::hash::{KeyHash, Mixed64};
use crate::prelude::*;

/// How a filter sets and tests the bits of its keys: a number of probes and an instruction set, chosen once per filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Plain(Plain<false>),
    /// Eight probes: code compiled for that number, and with vectors single keys need no call.
    PlainEight(Plain<true>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2<false>),
    #[cfg(target_arch = "x86_64")]
    Avx2Eight(Avx2<true>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512<false>),
    /// Fewer than eight probes: single look-ups need no call.
    #[cfg(target_arch = "x86_64")]
    Avx512Few(Avx512<false>),
    #[cfg(target_arch = "x86_64")]
    Avx512Eight(Avx512<true>),
}

/// A slice of a filter's blocks: it starts at block `first` of `total`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) total: u64,
}

impl Run {
    /// All blocks of a filter.
    pub(crate) fn all(blocks: &[Block]) -> Self {
        Self { first: 0, total: blocks.len() as u64 }
    }
}

impl Kernel {
    /// The best kernel of this processor for `probes` probes per key.
    pub(crate) fn detect(probes: u32) -> Self {
        Self::available(probes).next().expect("plain code runs anywhere")
    }

    /// All kernels that this processor can run, the best one first.
    pub(super) fn available(probes: u32) -> impl Iterator<Item = Self> {
        let kernels = core::iter::once(match probes {
            8 => Self::PlainEight(Plain(probes)),
            _ => Self::Plain(Plain(probes)),
        });
        #[cfg(target_arch = "x86_64")]
        let kernels = {
            let avx2 = match probes {
                8 => Avx2::detect(probes).map(Self::Avx2Eight),
                _ => Avx2::detect(probes).map(Self::Avx2),
            };
            let avx512 = match probes {
                8 => Avx512::detect(probes).map(Self::Avx512Eight),
                ..8 => Avx512::detect(probes).map(Self::Avx512Few),
                _ => Avx512::detect(probes).map(Self::Avx512),
            };
            avx512.into_iter().chain(avx2).chain(kernels)
        };
        kernels
    }

    /// Runs work under its instruction set: the only way to do so.
    #[inline(always)]
    pub(super) fn run<W: Work>(self, work: W) -> W::Answer {
        match self {
            Self::Plain(isa) => run_plain(isa, work),
            Self::PlainEight(isa) => run_plain(isa, work),
            // SAFETY: the value proves that the processor has the instruction set; the same below.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => unsafe { x86::run_avx2(isa, work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2Eight(isa) => unsafe { x86::run_avx2(isa, work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa) | Self::Avx512Few(isa) => unsafe { x86::run_avx512(isa, work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Eight(isa) => unsafe { x86::run_avx512(isa, work) },
        }
    }

    /// Sets a key's bits in its block and returns whether any was clear.
    #[inline(always)]
    pub(crate) fn insert(self, block: &mut Block, low: u64) -> bool {
        // SAFETY: a block is 64 bytes aligned to 64, borrowed for writing.
        if let Some(new) = unsafe { self.insert_inlined(block.0.as_mut_ptr(), low) } {
            return new;
        }
        match self {
            // SAFETY: the processor has AVX-512. Without a choice among all kernels this takes a quarter less.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Few(isa) => unsafe { x86::run_avx512(isa, InsertOne { block, low }) },
            _ => self.insert_by_call(block, low),
        }
    }

    /// Whether all of a key's bits are set in its block.
    #[inline(always)]
    pub(crate) fn contains(self, block: &Block, low: u64) -> bool {
        // SAFETY: as in `insert`; the block is borrowed for reading.
        match unsafe { self.contains_inlined(block.0.as_ptr(), low) } {
            Some(found) => found,
            None => self.contains_by_call(block, low),
        }
    }

    /// [`insert`](Self::insert) by assembly, if there is some for this kernel.
    ///
    /// # Safety
    /// `words` points to 64 readable and writable bytes, aligned to 64. Meanwhile other threads do not write them, and
    /// read them only as atomic words.
    #[inline(always)]
    unsafe fn insert_inlined(self, words: *mut u64, low: u64) -> Option<bool> {
        let _ = (words, low);
        match self {
            // SAFETY: the processor has AVX-512; the caller promises the rest.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512Eight(_) => Some(unsafe { inline::insert_avx512(words, low) }),
            // SAFETY: as above, with AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2Eight(_) => Some(unsafe { inline::insert_avx2(words, low) }),
            _ => None,
        }
    }

    /// [`contains`](Self::contains) by assembly, if there is some for this kernel.
    ///
    /// # Safety
    /// `words` points to 64 readable bytes, aligned to 64, that other threads write only as atomic words.
    #[inline(always)]
    unsafe fn contains_inlined(self, words: *const u64, low: u64) -> Option<bool> {
        let _ = (words, low);
        match self {
            // SAFETY: the processor has AVX-512; the caller promises the rest.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512Eight(_) => Some(unsafe { inline::contains_avx512(words, low) }),
            // SAFETY: as above, with AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2Eight(_) => Some(unsafe { inline::contains_avx2(words, low) }),
            // SAFETY: as above, with AVX-512.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512Few(isa) => Some(unsafe { inline::contains_few(words, low, isa.probes()) }),
            _ => None,
        }
    }

    /// Not inlined, like the next: else the compiler joins both choices into one jump by a table, a third slower.
    #[inline(never)]
    fn insert_by_call(self, block: &mut Block, low: u64) -> bool {
        self.run(InsertOne { block, low })
    }

    #[inline(never)]
    fn contains_by_call(self, block: &Block, low: u64) -> bool {
        self.run(ContainsOne { block, low })
    }

    /// Like [`contains`](Self::contains), for a block in which other threads may be setting bits.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    #[inline(always)]
    pub(crate) fn contains_atomic(self, block: &AtomicBlock, low: u64) -> bool {
        // SAFETY: as in `contains`; other threads access the words only atomically.
        match unsafe { self.contains_inlined(block.words(), low) } {
            Some(found) => found,
            None => block.contains(low, self.probes()),
        }
    }

    /// Like [`insert`](Self::insert), for a block that other threads may be reading.
    ///
    /// No other thread may insert into the block meanwhile, or bits could be lost: callers hold a lock.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    #[inline(always)]
    pub(crate) fn insert_atomic(self, block: &AtomicBlock, low: u64) -> bool {
        // SAFETY: as in `contains_atomic`.
        match unsafe { self.insert_inlined(block.words(), low) } {
            Some(new) => new,
            None => block.insert(low, self.probes()),
        }
    }

    /// The probes per key.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    fn probes(self) -> u32 {
        match self {
            Self::Plain(isa) => isa.probes(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => isa.probes(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa) | Self::Avx512Few(isa) => isa.probes(),
            _ => 8,
        }
    }
}

/// Also a call, to keep callers small.
#[inline(never)]
fn run_plain<const EIGHT: bool, W: Work>(isa: Plain<EIGHT>, work: W) -> W::Answer {
    work.run(isa)
}

struct InsertOne<'a> {
    block: &'a mut Block,
    low: u64,
}

impl Work for InsertOne<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        isa.insert(self.block, self.low)
    }
}

struct ContainsOne<'a> {
    block: &'a Block,
    low: u64,
}

impl Work for ContainsOne<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        isa.contains(self.block, self.low)
    }
}

/// The loops over many keys. They have no type parameters, so they are compiled in this crate, for every crate that
/// uses its filters.
impl Kernel {
    /// Inserts keys that all fall into `blocks`, which is `run` of the filter. Panics if a key falls elsewhere.
    pub(crate) fn insert_all(self, blocks: &mut [Block], run: Run, hashes: &[KeyHash]) {
        self.each(run, Insert(blocks), hashes, &mut vec![(); hashes.len()]);
    }

    pub(crate) fn insert_narrow(self, blocks: &mut [Block], run: Run, hashes: &[Mixed64]) {
        self.each(run, Insert(blocks), hashes, &mut vec![(); hashes.len()]);
    }

    /// Like [`insert_all`](Self::insert_all), in order; sets `new[i]` to whether `hashes[i]` set a bit. Panics also if
    /// the slices differ in length.
    pub(crate) fn insert_all_new(
        self,
        blocks: &mut [Block],
        run: Run,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        self.each(run, Insert(blocks), hashes, new);
    }

    /// Looks up keys in a run of blocks. Panics if one falls elsewhere, or the slices differ in length.
    pub(crate) fn contains_all(
        self,
        blocks: &[Block],
        run: Run,
        hashes: &[KeyHash],
        found: &mut [bool],
    ) {
        self.each(run, Contains(blocks), hashes, found);
    }

    pub(crate) fn contains_narrow(self, blocks: &[Block], hashes: &[Mixed64], found: &mut [bool]) {
        self.each(Run::all(blocks), Contains(blocks), hashes, found);
    }

    #[inline(always)]
    fn each<H: Hash, A: Kept<bool>>(
        self,
        run: Run,
        each: impl Each<Answer = bool>,
        hashes: &[H],
        answers: &mut [A],
    ) {
        let places = Places::<1> { first: run.first, total: run.total, size: 1 };
        self.run(Batch { hashes, keys: Keys { places, each }, answers });
    }
}

each! {
    /// Keys inserted into a run of blocks.
    Insert<mut> -> bool,
    |size| size,
    |isa, blocks, lines, low| isa.insert(&mut blocks[lines.start], low)
}

each! {
    /// Keys looked up in a whole filter.
    Contains -> bool,
    |size| size,
    |isa, blocks, lines, low| isa.contains(&blocks[lines.start], low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::tests::{hashes, probes};
    use crate::bits::{Blocks, in_miri, place};

    proptest! {
        #[test]
        fn every_kernel_equals_the_definition(
            seed: u64, probes in probes(), blocks in prop_oneof![1u64..50, 4090u64..4105], count in 0..in_miri(40, 300),
        ) {
            let hashes = hashes(seed, count);
            let mut expected = Blocks::zeroed(blocks).unwrap();
            for hash in &hashes {
                expected[place(hash.high, blocks) as usize].or(&pattern::mask(hash.low, probes));
            }
            let others = hashes.iter().map(|hash| KeyHash { low: !hash.low, ..*hash });
            let asked: Vec<KeyHash> = hashes.iter().copied().chain(others).collect();
            let is_in = |hash: &KeyHash| {
                let block = &expected[place(hash.high, blocks) as usize];
                block.has(&pattern::mask(hash.low, probes))
            };
            let answers: Vec<bool> = asked.iter().map(is_in).collect();
            for kernel in Kernel::available(probes) {
                let (mut one, mut many) = (Blocks::zeroed(blocks).unwrap(), Blocks::zeroed(blocks).unwrap());
                for hash in &hashes {
                    let block = &mut one[place(hash.high, blocks) as usize];
                    let known = kernel.contains(block, hash.low);
                    prop_assert_eq!(kernel.insert(block, hash.low), !known, "{:?}", kernel);
                }
                kernel.insert_all(&mut many, Run { first: 0, total: blocks }, &hashes);
                prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{:?} {}", kernel, probes);
                let (mut again, mut new) = (Blocks::zeroed(blocks).unwrap(), vec![false; count]);
                kernel.insert_all_new(&mut again, Run { first: 0, total: blocks }, &hashes, &mut new);
                let mut turn = Blocks::zeroed(blocks).unwrap();
                let sets_a_bit = |hash: &KeyHash| {
                    let block = &mut turn[place(hash.high, blocks) as usize];
                    let before = *block;
                    block.or(&pattern::mask(hash.low, probes));
                    *block != before
                };
                prop_assert_eq!(new, hashes.iter().map(sets_a_bit).collect::<Vec<_>>());
                prop_assert!(again[..] == expected[..], "{:?} {}", kernel, probes);
                let mut found = vec![false; asked.len()];
                kernel.contains_all(&many, Run::all(&many), &asked, &mut found);
                prop_assert_eq!(&found, &answers, "{:?} {}", kernel, probes);
                // Each of `hashes` was stretched from the 64-bit hash in its high half.
                let narrow: Vec<_> = hashes.iter().map(|hash| Mixed64(hash.high)).collect();
                let mut many = Blocks::zeroed(blocks).unwrap();
                kernel.insert_narrow(&mut many, Run { first: 0, total: blocks }, &narrow);
                prop_assert!(many[..] == expected[..], "{:?} {}", kernel, probes);
                found.truncate(count);
                kernel.contains_narrow(&many, &narrow, &mut found);
                prop_assert_eq!(&found, &answers[..count], "{:?} {}", kernel, probes);
            }
        }
    }
}
