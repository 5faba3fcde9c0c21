//! Batches of keys over blocks of [counters](crate::bits::counters), compiled for each instruction set:
//! the loops over eight words become vector code by themselves, so the plain code is its own twin.

use super::{AHEAD, Hash, Isa, KeyHash, NEAR, pattern, place, prefetch, walk};
use crate::bits::Block;
use crate::bits::counters;
use crate::prelude::*;

/// Planes that tell whether a counter is 0. Insertions go beyond for a quarter of the keys.
const LOW: usize = 2;

/// Carries that wait, so that about [`AHEAD`] keys pass meanwhile.
const CARRIES: usize = 8;

/// The kernels of one instruction set for counters of some number of bits.
#[derive(Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) name: &'static str,
    probes: u32,
    add: unsafe fn(&mut [Block], &[KeyHash], u32),
    add_new: unsafe fn(&mut [Block], &[KeyHash], u32, &mut [bool]),
    take: unsafe fn(&mut [Block], &[KeyHash], u32, &mut [bool]),
    has: unsafe fn(&[Block], &[KeyHash], u32, &mut [bool]),
    least: unsafe fn(&[Block], &[KeyHash], u32, &mut [u32]),
    add_one: unsafe fn(&mut [Block], KeyHash, u32) -> bool,
    take_one: unsafe fn(&mut [Block], KeyHash, u32) -> bool,
    has_one: unsafe fn(&[Block], KeyHash, u32) -> bool,
    least_one: unsafe fn(&[Block], KeyHash, u32) -> u32,
}

impl core::fmt::Debug for Counters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl Counters {
    /// The best kernels of this processor for counters of `planes` bits, 4, 8 or 16.
    pub(crate) fn detect(planes: u32, probes: u32) -> Self {
        *Self::available(planes, probes).last().expect("plain code runs anywhere")
    }

    /// All kernels that this processor can run, the best one last.
    pub(crate) fn available(planes: u32, probes: u32) -> Vec<Self> {
        let mut kernels = vec![plain::kernel(planes, probes)];
        kernels.extend(native(planes, probes).into_iter().flatten());
        kernels
    }

    /// Counts keys, in blocks of planes.
    pub(crate) fn add(&self, blocks: &mut [Block], hashes: &[KeyHash]) {
        // SAFETY: `available` gives only kernels whose instruction set the processor reported.
        unsafe { (self.add)(blocks, hashes, self.probes) }
    }

    /// As [`add`](Self::add), one key after the other; tells which were not counted before.
    pub(crate) fn add_new(&self, blocks: &mut [Block], hashes: &[KeyHash], new: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.add_new)(blocks, hashes, self.probes, new) }
    }

    /// Takes keys out, one after the other; tells which were counted.
    pub(crate) fn take(&self, blocks: &mut [Block], hashes: &[KeyHash], taken: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.take)(blocks, hashes, self.probes, taken) }
    }

    /// Whether keys are counted.
    pub(crate) fn has(&self, blocks: &[Block], hashes: &[KeyHash], found: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.has)(blocks, hashes, self.probes, found) }
    }

    /// The least counters of keys.
    pub(crate) fn least(&self, blocks: &[Block], hashes: &[KeyHash], counts: &mut [u32]) {
        // SAFETY: as in `add`.
        unsafe { (self.least)(blocks, hashes, self.probes, counts) }
    }

    /// Counts one key; tells whether it was not counted before. The batches would ask for its lines first and wait for
    /// them, where a processor sees the lines of several calls ahead: 100 ns in place of 16, 10 million keys.
    #[inline]
    pub(crate) fn add_one(&self, blocks: &mut [Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.add_one)(blocks, hash, self.probes) }
    }

    /// Takes one key out; tells whether it was counted.
    #[inline]
    pub(crate) fn take_one(&self, blocks: &mut [Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.take_one)(blocks, hash, self.probes) }
    }

    /// Whether one key is counted.
    #[inline]
    pub(crate) fn has_one(&self, blocks: &[Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.has_one)(blocks, hash, self.probes) }
    }

    /// The least counter of one key.
    #[inline]
    pub(crate) fn least_one(&self, blocks: &[Block], hash: KeyHash) -> u32 {
        // SAFETY: as in `add`.
        unsafe { (self.least_one)(blocks, hash, self.probes) }
    }
}

/// The kernels besides the plain ones, where this processor can run them.
#[cfg(target_arch = "x86_64")]
fn native(planes: u32, probes: u32) -> [Option<Counters>; 2] {
    let has_bmi2 = super::has_feature!("bmi2");
    [
        (has_bmi2 && super::has_feature!("avx2")).then(|| avx2::kernel(planes, probes)),
        (has_bmi2 && super::has_feature!("avx512f")).then(|| avx512::kernel(planes, probes)),
    ]
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
fn native(planes: u32, probes: u32) -> [Option<Counters>; 1] {
    [super::neon::is_available().then(|| neon::kernel(planes, probes))]
}

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
fn native(_: u32, _: u32) -> [Option<Counters>; 0] {
    []
}

/// The positions of a key, as in a plain block.
///
/// # Safety
/// Only where the instruction set of `I` is there; so for all functions below.
#[inline(always)]
unsafe fn mask<I: Isa>(low: u64, probes: u32) -> Block {
    let mut mask = Block::default();
    // SAFETY: promised by the caller.
    unsafe {
        match probes {
            8 => I::set(&mut mask, &I::lanes::<1>(low)),
            16 => I::set(&mut mask, &I::lanes::<2>(low)),
            24 => I::set(&mut mask, &I::lanes::<3>(low)),
            32 => I::set(&mut mask, &I::lanes::<4>(low)),
            _ => _ = pattern::insert_scattered(&mut mask, low, probes),
        }
    }
    mask
}

// No closures, as in the module above.

/// [`walk!`] over blocks of counters; asks for the first `$lines` lines of each.
macro_rules! walk_counters {
    ($blocks:expr, $hashes:expr, $probes:expr, $lines:expr, |$i:ident, $place:ident, $mask:ident| $each:expr) => {
        let (start, total) = ($blocks.as_ptr().cast::<Block>(), $blocks.len() as u64);
        walk!(
            $hashes,
            AHEAD,
            total * N as u64 <= NEAR,
            |hash| place(hash.high, total) as usize,
            |asked| {
                for line in 0..$lines {
                    prefetch(start.wrapping_add(asked * N + line));
                }
            },
            |$i, $place, low| {
                // SAFETY: promised by the caller.
                let $mask = unsafe { mask::<I>(low, $probes) };
                $each
            }
        );
    };
}

#[inline(always)]
unsafe fn add<I: Isa, const N: usize>(blocks: &mut [Block], hashes: &[KeyHash], probes: u32) {
    let blocks = blocks.as_chunks_mut::<N>().0;
    // A carry waits for its line while others are added.
    let mut carries = [(0, Block::default()); CARRIES];
    let mut carried = 0;
    walk_counters!(blocks, hashes, probes, LOW, |_i, place, mask| {
        let carry = counters::add_low(&mut blocks[place], &mask);
        if !carry.is_zero() {
            prefetch(&blocks[place][LOW]);
            let (place, carry) =
                core::mem::replace(&mut carries[carried % CARRIES], (place, carry));
            carried += 1;
            if carried > CARRIES {
                counters::carry_high(&mut blocks[place], carry);
            }
        }
    });
    for (place, carry) in &carries[..carried.min(CARRIES)] {
        counters::carry_high(&mut blocks[*place], *carry);
    }
}

#[inline(always)]
unsafe fn add_new<I: Isa, const N: usize>(
    blocks: &mut [Block],
    hashes: &[KeyHash],
    probes: u32,
    new: &mut [bool],
) {
    let blocks = blocks.as_chunks_mut::<N>().0;
    walk_counters!(blocks, hashes, probes, LOW, |i, place, mask| {
        new[i] = !counters::has(&blocks[place], &mask);
        counters::add(&mut blocks[place], &mask);
    });
}

#[inline(always)]
unsafe fn take<I: Isa, const N: usize>(
    blocks: &mut [Block],
    hashes: &[KeyHash],
    probes: u32,
    taken: &mut [bool],
) {
    let blocks = blocks.as_chunks_mut::<N>().0;
    walk_counters!(blocks, hashes, probes, N, |i, place, mask| {
        taken[i] = counters::take(&mut blocks[place], &mask);
    });
}

#[inline(always)]
unsafe fn has<I: Isa, const N: usize>(
    blocks: &[Block],
    hashes: &[KeyHash],
    probes: u32,
    found: &mut [bool],
) {
    let blocks = blocks.as_chunks::<N>().0;
    walk_counters!(blocks, hashes, probes, LOW, |i, place, mask| {
        found[i] = counters::has(&blocks[place], &mask);
    });
}

#[inline(always)]
unsafe fn least<I: Isa, const N: usize>(
    blocks: &[Block],
    hashes: &[KeyHash],
    probes: u32,
    counts: &mut [u32],
) {
    let blocks = blocks.as_chunks::<N>().0;
    walk_counters!(blocks, hashes, probes, N, |i, place, mask| {
        counts[i] = counters::least(&blocks[place], &mask);
    });
}

/// The counters of the block that a key falls into.
#[inline(always)]
fn block_of<const N: usize>(blocks: &[Block], hash: KeyHash) -> &[Block; N] {
    let blocks = blocks.as_chunks().0;
    &blocks[place(hash.high, blocks.len() as u64) as usize]
}

/// As [`block_of`], to be changed.
#[inline(always)]
fn block_of_mut<const N: usize>(blocks: &mut [Block], hash: KeyHash) -> &mut [Block; N] {
    let blocks = blocks.as_chunks_mut().0;
    let place = place(hash.high, blocks.len() as u64) as usize;
    &mut blocks[place]
}

#[inline(always)]
unsafe fn add_one<I: Isa, const N: usize>(
    blocks: &mut [Block],
    hash: KeyHash,
    probes: u32,
) -> bool {
    let block = block_of_mut::<N>(blocks, hash);
    // SAFETY: promised by the caller.
    let mask = unsafe { mask::<I>(hash.low, probes) };
    let new = !counters::has(block, &mask);
    counters::add_alone(block, &mask);
    new
}

#[inline(always)]
unsafe fn take_one<I: Isa, const N: usize>(
    blocks: &mut [Block],
    hash: KeyHash,
    probes: u32,
) -> bool {
    let block = block_of_mut::<N>(blocks, hash);
    // SAFETY: promised by the caller.
    counters::take(block, &unsafe { mask::<I>(hash.low, probes) })
}

#[inline(always)]
unsafe fn has_one<I: Isa, const N: usize>(blocks: &[Block], hash: KeyHash, probes: u32) -> bool {
    let block = block_of::<N>(blocks, hash);
    // SAFETY: promised by the caller.
    counters::has(block, &unsafe { mask::<I>(hash.low, probes) })
}

#[inline(always)]
unsafe fn least_one<I: Isa, const N: usize>(blocks: &[Block], hash: KeyHash, probes: u32) -> u32 {
    let block = block_of::<N>(blocks, hash);
    // SAFETY: promised by the caller.
    counters::least(block, &unsafe { mask::<I>(hash.low, probes) })
}

/// Makes `kernel(planes, probes)`, the loops compiled for one instruction set.
macro_rules! kernels {
    ($isa:ident, $name:expr $(, $feature:literal)?) => {
        use super::{Block, Counters, KeyHash};

        pub(super) fn kernel(planes: u32, probes: u32) -> Counters {
            match planes {
                4 => of::<4>(probes),
                8 => of::<8>(probes),
                16 => of::<16>(probes),
                _ => unreachable!("counters have 4, 8 or 16 bits"),
            }
        }

        fn of<const N: usize>(probes: u32) -> Counters {
            Counters {
                name: $name,
                probes,
                add: add::<N>,
                add_new: add_new::<N>,
                take: take::<N>,
                has: has::<N>,
                least: least::<N>,
                add_one: add_one::<N>,
                take_one: take_one::<N>,
                has_one: has_one::<N>,
                least_one: least_one::<N>,
            }
        }

        $(#[target_feature(enable = $feature)])?
        fn add<const N: usize>(blocks: &mut [Block], hashes: &[KeyHash], probes: u32) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add::<$isa, N>(blocks, hashes, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn add_new<const N: usize>(
            blocks: &mut [Block],
            hashes: &[KeyHash],
            probes: u32,
            new: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add_new::<$isa, N>(blocks, hashes, probes, new) }
        }

        $(#[target_feature(enable = $feature)])?
        fn take<const N: usize>(
            blocks: &mut [Block],
            hashes: &[KeyHash],
            probes: u32,
            taken: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::take::<$isa, N>(blocks, hashes, probes, taken) }
        }

        $(#[target_feature(enable = $feature)])?
        fn has<const N: usize>(
            blocks: &[Block],
            hashes: &[KeyHash],
            probes: u32,
            found: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::has::<$isa, N>(blocks, hashes, probes, found) }
        }

        $(#[target_feature(enable = $feature)])?
        fn least<const N: usize>(
            blocks: &[Block],
            hashes: &[KeyHash],
            probes: u32,
            counts: &mut [u32],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::least::<$isa, N>(blocks, hashes, probes, counts) }
        }

        $(#[target_feature(enable = $feature)])?
        fn add_one<const N: usize>(blocks: &mut [Block], hash: KeyHash, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add_one::<$isa, N>(blocks, hash, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn take_one<const N: usize>(blocks: &mut [Block], hash: KeyHash, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::take_one::<$isa, N>(blocks, hash, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn has_one<const N: usize>(blocks: &[Block], hash: KeyHash, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::has_one::<$isa, N>(blocks, hash, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn least_one<const N: usize>(blocks: &[Block], hash: KeyHash, probes: u32) -> u32 {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::least_one::<$isa, N>(blocks, hash, probes) }
        }
    };
}

mod plain {
    use crate::bits::arch::scalar::{NAME, Scalar};

    kernels!(Scalar, NAME);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use crate::bits::arch::x86::avx2::Avx2;

    kernels!(Avx2, "avx2", "avx2,bmi2");
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use crate::bits::arch::x86::avx512::Avx512;

    kernels!(Avx512, "avx512", "avx512f,bmi2");
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon {
    use crate::bits::arch::neon::Neon;

    kernels!(Neon, "neon", "neon");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::Blocks;

    /// Counters one by one.
    struct Model {
        counters: Vec<u32>,
        probes: u32,
        top: u32,
    }

    impl Model {
        fn positions(&self, hash: KeyHash) -> Vec<usize> {
            let block = place(hash.high, self.counters.len() as u64 / 512) as usize;
            let mask = pattern::mask(hash.low, self.probes).0.map(u64::from_le);
            let set = |j: &usize| mask[j / 64] >> (j % 64) & 1 == 1;
            (0..512).filter(set).map(|j| 512 * block + j).collect()
        }

        fn least(&self, hash: KeyHash) -> u32 {
            self.positions(hash).into_iter().map(|j| self.counters[j]).min().unwrap()
        }

        fn add(&mut self, hash: KeyHash) -> bool {
            let new = self.least(hash) == 0;
            for j in self.positions(hash) {
                self.counters[j] = (self.counters[j] + 1).min(self.top);
            }
            new
        }

        fn take(&mut self, hash: KeyHash) -> bool {
            let there = self.least(hash) > 0;
            for j in self.positions(hash) {
                if there && self.counters[j] < self.top {
                    self.counters[j] -= 1;
                }
            }
            there
        }
    }

    proptest! {
        #[test]
        fn every_kernel_counts_as_the_model(
            planes in prop_oneof![Just(4u32), Just(8), Just(16)],
            probes in 1u32..=32,
            blocks in prop_oneof![1u64..6, 1020u64..1030],
            keys in prop::collection::vec((0..200u64, any::<bool>()), 0..300),
        ) {
            let hash = |key: u64| {
                KeyHash { high: crate::hash::mix(key), low: crate::hash::mix(!key) }
            };
            for kernel in Counters::available(planes, probes) {
                let mut model = Model { counters: vec![0; 512 * blocks as usize], probes, top: counters::top(planes) };
                let zeroed = || Blocks::zeroed(blocks * u64::from(planes)).unwrap();
                let mut some = zeroed();
                let all: Vec<_> = keys.iter().map(|&(key, _)| hash(key)).collect();
                for (hash, &(_, add)) in all.iter().zip(&keys) {
                    if add {
                        prop_assert_eq!(kernel.add_one(&mut some, *hash), model.add(*hash));
                    } else {
                        prop_assert_eq!(kernel.take_one(&mut some, *hash), model.take(*hash));
                    }
                    prop_assert_eq!(kernel.has_one(&some, *hash), model.least(*hash) > 0);
                    prop_assert_eq!(kernel.least_one(&some, *hash), model.least(*hash));
                }
                let (mut found, mut counts) = (vec![false; all.len()], vec![0; all.len()]);
                kernel.has(&some, &all, &mut found);
                kernel.least(&some, &all, &mut counts);
                for (i, hash) in all.iter().enumerate() {
                    prop_assert_eq!((found[i], counts[i]), (model.least(*hash) > 0, model.least(*hash)));
                }
                // Many at once.
                kernel.add(&mut some, &all);
                let new: Vec<_> = all.iter().map(|hash| model.add(*hash)).collect();
                let (mut again, mut expected) = (zeroed(), zeroed());
                kernel.add_new(&mut again, &all, &mut found);
                Counters::available(planes, probes)[0].add(&mut expected, &all);
                prop_assert!(again[..] == expected[..]);
                prop_assert!(keys.iter().any(|key| key.1) || found == new);
                kernel.least(&some, &all, &mut counts);
                prop_assert!(all.iter().zip(&counts).all(|(hash, count)| model.least(*hash) == *count));
                kernel.take(&mut some, &all, &mut found);
                let taken: Vec<_> = all.iter().map(|hash| model.take(*hash)).collect();
                prop_assert_eq!(&found, &taken);
                kernel.least(&some, &all, &mut counts);
                prop_assert!(all.iter().zip(&counts).all(|(hash, count)| model.least(*hash) == *count));
            }
        }
    }
}
