//! Keys of a blocked filter: all bits of a key are in one block.

#[cfg(all(feature = "std", target_has_atomic = "64"))]
use super::AtomicBlock;
use super::batch::{Batch, Each, Hash, each, lines_ahead};
#[cfg(target_arch = "x86_64")]
use super::inline::{self, Inline};
use super::isa::{Isa, Work};
#[cfg(any(target_arch = "x86_64", all(feature = "std", target_has_atomic = "64"), test))]
use super::pattern;
use super::set::Set;
use super::{Block, ask};
use crate::bits::place;
use crate::hash::{KeyHash, Mixed64};
use crate::prelude::*;

/// How a filter sets and tests the bits of its keys: an instruction set and a number of probes, chosen once per filter.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Kernel {
    pub(super) set: Set,
    pub(super) probes: u32,
    /// How single keys are set and tested without a call.
    #[cfg(target_arch = "x86_64")]
    pub(super) inlined: Inline,
}

/// The position of a slice of blocks in its filter: it starts at block `first` of `total`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) total: u64,
}

impl Run {
    /// The place of a key in the slice; beyond its end if the key belongs elsewhere.
    #[inline(always)]
    fn place(&self, hash: KeyHash) -> usize {
        place(hash.high, self.total).wrapping_sub(self.first) as usize
    }

    #[inline(always)]
    fn ahead(&self) -> Option<usize> {
        lines_ahead(self.total)
    }

    #[inline(always)]
    fn ask(&self, blocks: &[Block], hash: KeyHash) {
        ask(blocks, self.place(hash));
    }
}

impl core::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.set.fmt(f)
    }
}

/// Runs `$work` with a constant `$PROBES`: the number of probes if code is compiled for that number, else 0.
macro_rules! with_probes {
    ($probes:expr, $PROBES:ident => $work:expr) => {
        match $probes {
            8 => {
                const $PROBES: u32 = 8;
                $work
            }
            _ => {
                const $PROBES: u32 = 0;
                $work
            }
        }
    };
}
pub(super) use with_probes;

/// The number of probes: a constant in code compiled for that number, a variable if `PROBES` is 0.
#[inline(always)]
pub(super) const fn known<const PROBES: u32>(probes: u32) -> u32 {
    if PROBES == 0 { probes } else { PROBES }
}

impl Kernel {
    /// The best kernel of this processor for `probes` probes per key.
    pub(crate) fn detect(probes: u32) -> Self {
        Self::of(Set::detect(), probes)
    }

    /// All kernels that this processor can run, the best one last.
    #[cfg(test)]
    pub(crate) fn available(probes: u32) -> Vec<Self> {
        Set::available().into_iter().map(|set| Self::of(set, probes)).collect()
    }

    pub(super) fn of(set: Set, probes: u32) -> Self {
        Self {
            set,
            probes,
            #[cfg(target_arch = "x86_64")]
            inlined: Inline::of(set, probes),
        }
    }

    /// Sets a key's bits in its block and returns whether any was clear.
    #[inline(always)]
    pub(crate) fn insert(&self, block: &mut Block, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: a block is 64 bytes aligned to 64, borrowed for writing.
            return unsafe { self.inlined.insert(block.0.as_mut_ptr(), low) };
        }
        self.set.run(InsertOne { block, low, probes: self.probes })
    }

    /// Whether all of a key's bits are set in its block.
    #[inline(always)]
    pub(crate) fn contains(&self, block: &Block, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: as in `insert`; the block is borrowed for reading.
            return unsafe { self.inlined.contains(block.0.as_ptr(), low) };
        }
        #[cfg(target_arch = "x86_64")]
        if !cfg!(miri)
            && matches!(self.set, Set::Avx512(_))
            && self.probes <= pattern::SCATTER_PER_WORD
        {
            // SAFETY: the processor has AVX-512; the block is borrowed for reading.
            return unsafe {
                inline::contains_scattered(block.0.as_ptr(), low, (1 << self.probes) - 1)
            };
        }
        self.set.run(ContainsOne { block, low, probes: self.probes })
    }

    /// Like [`contains`](Self::contains), for a block in which other threads may be setting bits.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    #[inline(always)]
    pub(crate) fn contains_atomic(&self, block: &AtomicBlock, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: as in `contains`; other threads access the words only atomically.
            return unsafe { self.inlined.contains(block.words(), low) };
        }
        if pattern::rounds(self.probes) > 0 {
            return block.load().has(&pattern::mask(low, self.probes));
        }
        let mut all = 1;
        for (word, bit) in pattern::Scatter::new(low, self.probes) {
            all &= block.word(word) >> bit;
        }
        all & 1 == 1
    }

    /// Like [`insert`](Self::insert), for a block that other threads may be reading.
    ///
    /// No other thread may insert into the block meanwhile, or bits could be lost: callers hold a lock.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    #[inline(always)]
    pub(crate) fn insert_atomic(&self, block: &AtomicBlock, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: as in `contains_atomic`.
            return unsafe { self.inlined.insert(block.words(), low) };
        }
        if pattern::rounds(self.probes) > 0 {
            let mask = pattern::mask(low, self.probes);
            let old = block.load();
            let mut new = old;
            new.or(&mask);
            block.store_changes(&old, &new);
            return !old.has(&mask);
        }
        let mut all = 1;
        for (word, bit) in pattern::Scatter::new(low, self.probes) {
            let old = block.word(word);
            all &= old >> bit;
            block.set_word(word, old | 1 << bit);
        }
        all & 1 == 0
    }
}

/// The batch loops for one type of hash, compiled in this crate for every crate that uses its filters.
#[allow(unreachable_pub)] // as for `Kernel`
pub trait Batched: Hash {
    /// Inserts keys that all fall into `blocks`, which is `run` of the filter.
    ///
    /// # Panics
    /// If a key falls elsewhere.
    fn insert(kernel: &Kernel, blocks: &mut [Block], run: Run, hashes: &[Self]);
    /// Like [`insert`](Self::insert), in order; sets `new[i]` to whether `hashes[i]` set a bit.
    ///
    /// # Panics
    /// If a key falls elsewhere, or the slices differ in length.
    fn insert_new(
        kernel: &Kernel,
        blocks: &mut [Block],
        run: Run,
        hashes: &[Self],
        new: &mut [bool],
    );
    /// Looks up keys in a whole filter.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn contains(kernel: &Kernel, blocks: &[Block], hashes: &[Self], found: &mut [bool]);
}

macro_rules! batched {
    ($type:ty) => {
        impl Batched for $type {
            fn insert(kernel: &Kernel, blocks: &mut [Block], run: Run, hashes: &[Self]) {
                let (probes, answers) = (kernel.probes, &mut vec![(); hashes.len()][..]);
                with_probes!(probes, P => {
                    kernel.set.run(Batch { hashes, each: Insert::<P> { blocks, run, probes }, answers });
                });
            }

            fn insert_new(
                kernel: &Kernel,
                blocks: &mut [Block],
                run: Run,
                hashes: &[Self],
                answers: &mut [bool],
            ) {
                let probes = kernel.probes;
                with_probes!(probes, P => {
                    kernel.set.run(Batch { hashes, each: InsertNew::<P> { blocks, run, probes }, answers });
                });
            }

            fn contains(kernel: &Kernel, blocks: &[Block], hashes: &[Self], answers: &mut [bool]) {
                let (probes, run) = (kernel.probes, Run { first: 0, total: blocks.len() as u64 });
                with_probes!(probes, P => {
                    kernel.set.run(Batch { hashes, each: Contains::<P> { blocks, run, probes }, answers });
                });
            }
        }
    };
}
batched!(KeyHash);
batched!(Mixed64);

struct InsertOne<'a> {
    block: &'a mut Block,
    low: u64,
    probes: u32,
}

impl Work for InsertOne<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        isa.insert(self.block, self.low, self.probes)
    }
}

struct ContainsOne<'a> {
    block: &'a Block,
    low: u64,
    probes: u32,
}

impl Work for ContainsOne<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        isa.contains(self.block, self.low, self.probes)
    }
}

/// Keys inserted into a run of blocks.
struct Insert<'a, const PROBES: u32> {
    blocks: &'a mut [Block],
    run: Run,
    probes: u32,
}

each!(
    Insert<PROBES: u32> -> (),
    ahead: |self| self.run.ahead(),
    ask: |hash| self.run.ask(self.blocks, hash),
    each: |isa, hash| {
        let block = &mut self.blocks[self.run.place(hash)];
        isa.insert(block, hash.low, known::<PROBES>(self.probes));
    }
);

/// Like [`Insert`], reporting which keys set a bit.
struct InsertNew<'a, const PROBES: u32> {
    blocks: &'a mut [Block],
    run: Run,
    probes: u32,
}

each!(
    InsertNew<PROBES: u32> -> bool,
    ahead: |self| self.run.ahead(),
    ask: |hash| self.run.ask(self.blocks, hash),
    each: |isa, hash| {
        let block = &mut self.blocks[self.run.place(hash)];
        isa.insert(block, hash.low, known::<PROBES>(self.probes))
    }
);

/// Keys looked up in a whole filter.
struct Contains<'a, const PROBES: u32> {
    blocks: &'a [Block],
    run: Run,
    probes: u32,
}

each!(
    Contains<PROBES: u32> -> bool,
    ahead: |self| self.run.ahead(),
    ask: |hash| self.run.ask(self.blocks, hash),
    each: |isa, hash| {
        let block = &self.blocks[self.run.place(hash)];
        isa.contains(block, hash.low, known::<PROBES>(self.probes))
    }
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::{Blocks, in_miri, tests::probes};

    fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
        (0..count as u64).map(|i| KeyHash::from_u64(crate::hash::mix(seed ^ (i << 20)))).collect()
    }

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
            let answers: Vec<bool> = asked
                .iter()
                .map(|hash| {
                    let mask = pattern::mask(hash.low, probes);
                    let mut block = expected[place(hash.high, blocks) as usize];
                    block.and(&mask);
                    block == mask
                })
                .collect();
            for kernel in Kernel::available(probes) {
                let (mut one, mut many) = (Blocks::zeroed(blocks).unwrap(), Blocks::zeroed(blocks).unwrap());
                for hash in &hashes {
                    let block = &mut one[place(hash.high, blocks) as usize];
                    let known = kernel.contains(block, hash.low);
                    prop_assert_eq!(kernel.insert(block, hash.low), !known, "{:?}", kernel);
                }
                Batched::insert(&kernel, &mut many, Run { first: 0, total: blocks }, &hashes);
                prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{:?} {}", kernel, probes);
                let (mut again, mut new) = (Blocks::zeroed(blocks).unwrap(), vec![false; count]);
                Batched::insert_new(&kernel, &mut again, Run { first: 0, total: blocks }, &hashes, &mut new);
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
                Batched::contains(&kernel, &many, &asked, &mut found);
                prop_assert_eq!(&found, &answers, "{:?} {}", kernel, probes);
                // Each of `hashes` was stretched from the 64-bit hash in its high half.
                let narrow: Vec<_> = hashes.iter().map(|hash| Mixed64(hash.high)).collect();
                let mut many = Blocks::zeroed(blocks).unwrap();
                Batched::insert(&kernel, &mut many, Run { first: 0, total: blocks }, &narrow);
                prop_assert!(many[..] == expected[..], "{:?} {}", kernel, probes);
                found.truncate(count);
                Batched::contains(&kernel, &many, &narrow, &mut found);
                prop_assert_eq!(&found, &answers[..count], "{:?} {}", kernel, probes);
            }
        }
    }

    #[test]
    fn this_processor_is_covered() {
        let sets = Set::available();
        eprintln!("kernels tested: {sets:?}");
        assert!(matches!(sets[0], Set::Plain(_)));
        assert_eq!(Set::detect(), *sets.last().unwrap());
    }
}
