//! Kernels that set and test keys' bits in their blocks, and the only unsafe code of the crate.
//!
//! [`pattern`] defines what every kernel does, bit for bit. An [`Isa`] says how one processor family
//! makes and applies a mask; the loops over many keys are written once, over any of them, and
//! compiled for each. [`Kernel::detect`] asks the processor; a filter keeps the answer.
//!
//! Batches run at the speed of memory because no key waits for its cache line: lines are prefetched [`AHEAD`] keys
//! early, so that as many are in flight as the processor can track.
#![allow(unsafe_code)]

/// Whether the processor has a feature: detected at run time; without the standard library, at compile time.
#[cfg(target_arch = "x86_64")]
macro_rules! has_feature {
    ($feature:tt) => {{
        #[cfg(feature = "std")]
        let has = std::arch::is_x86_feature_detected!($feature);
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = $feature);
        has
    }};
}
#[cfg(target_arch = "x86_64")]
use has_feature;

#[cfg(feature = "std")]
mod atomic;
mod counters;
mod grouped;
#[cfg(target_arch = "x86_64")]
mod inline;
mod layout;
#[cfg(feature = "std")]
mod map;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod once;
mod pattern;
mod planes;
mod scalar;
mod storage;
mod wipe;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use inline::Inline;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use neon as native;
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
)))]
use none as native;
#[cfg(target_arch = "x86_64")]
use x86 as native;

#[cfg(feature = "std")]
pub(crate) use atomic::{AtomicBlock, AtomicBlocks};
pub(crate) use counters::Counters;
pub(crate) use grouped::Member;
#[cfg(feature = "std")]
pub use map::{MappedBlocks, MappedFile};
pub(crate) use once::Once;
pub use storage::Blocks;
pub(crate) use wipe::wipe;

use super::{Block, place};
use crate::hash::KeyHash;

/// Keys between prefetching a line and using it. Measured on 1 GiB filters: 8 is 30 % slower, 16 to 64 differ by 3 %;
/// more would only crowd small caches.
pub(crate) const AHEAD: usize = 32;

/// What one instruction set does with the 512 bits of a block.
///
/// # Safety
/// Calling any function requires the instruction set.
trait Isa {
    /// A block in registers.
    type Line: Copy;

    /// The lanes pattern of `rounds` rounds, at least 1.
    unsafe fn lanes(low: u64, rounds: u32) -> Self::Line;
    /// The scatter pattern.
    unsafe fn scattered(low: u64, probes: u32) -> Self::Line;
    unsafe fn load(block: &Block) -> Self::Line;
    unsafe fn store(block: &mut Block, line: Self::Line);
    unsafe fn and(left: Self::Line, right: Self::Line) -> Self::Line;
    /// The bits of `left` that are clear in `right`.
    unsafe fn without(left: Self::Line, right: Self::Line) -> Self::Line;
    unsafe fn or(left: Self::Line, right: Self::Line) -> Self::Line;
    unsafe fn xor(left: Self::Line, right: Self::Line) -> Self::Line;
    unsafe fn is_zero(line: Self::Line) -> bool;
}

/// The kernels of one instruction set for one number of probes, chosen once per filter, so that a key costs one call.
#[derive(Clone, Copy)]
#[allow(unreachable_pub)] // appears in the hidden part of a public trait
pub struct Kernel {
    pub(crate) name: &'static str,
    probes: u32,
    /// How single keys are set and tested without a call.
    #[cfg(target_arch = "x86_64")]
    inlined: Inline,
    insert: unsafe fn(&mut Block, u64, u32) -> bool,
    contains: unsafe fn(&Block, u64, u32) -> bool,
    wide: Batch<KeyHash>,
    narrow: Batch<u64>,
    grouped: grouped::Grouped,
}

/// The kernels for many keys, given as hashes of one type.
#[derive(Clone, Copy)]
#[allow(unreachable_pub, missing_debug_implementations)] // as for `Kernel`
pub struct Batch<H> {
    insert: unsafe fn(&mut [Block], Run, &[H], u32),
    contains: unsafe fn(&[Block], &[H], u32, &mut [bool]),
}

/// A type of hashes that batches consist of.
#[allow(unreachable_pub)] // as for `Kernel`
pub trait Hash: Copy {
    /// The hash that a filter sees.
    fn key_hash(self) -> KeyHash;
    /// The kernels for hashes of this type.
    fn batch(kernel: &Kernel) -> Batch<Self>;
}

impl Hash for KeyHash {
    #[inline(always)]
    fn key_hash(self) -> KeyHash {
        self
    }

    fn batch(kernel: &Kernel) -> Batch<Self> {
        kernel.wide
    }
}

/// A 64-bit hash computed elsewhere, stretched in registers: writing it to memory and reading it back would cost a
/// third more.
impl Hash for u64 {
    #[inline(always)]
    fn key_hash(self) -> KeyHash {
        KeyHash::from_u64(self)
    }

    fn batch(kernel: &Kernel) -> Batch<Self> {
        kernel.narrow
    }
}

/// The position of a slice of blocks in its filter: `first` and following, of `total`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) total: u64,
}

impl Run {
    /// The place of a key in the slice; beyond its end if the key is elsewhere.
    #[inline(always)]
    fn place(&self, hash: KeyHash) -> usize {
        place(hash.high, self.total).wrapping_sub(self.first) as usize
    }
}

impl core::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// Filters of at most this many blocks are not prefetched: 256 KiB fit in the second-level cache of any processor with
/// vectors, where prefetching costs more than waiting.
pub(crate) const NEAR: u64 = 4096;

/// Runs `$each` with `$i`, the hash's `$place` and its low half, for every hash. `$at` gives the place of `$hash`;
/// unless everything is `$near`, `$ask` prefetches the lines at `$asked` `$ahead` turns before they are used.
macro_rules! walk {
    (
        $hashes:expr, $ahead:expr, $near:expr, |$hash:ident| $at:expr, |$asked:ident| $ask:expr,
        |$i:ident, $place:ident, $low:ident| $each:expr
    ) => {{
        let hashes = $hashes;
        if $near {
            for ($i, hash) in hashes.iter().enumerate() {
                let $hash = hash.key_hash();
                let ($place, $low) = ($at, $hash.low);
                $each
            }
        } else {
            let mut places = [0usize; $ahead];
            for (slot, hash) in places.iter_mut().zip(hashes) {
                let $hash = hash.key_hash();
                let $asked = $at;
                $ask
                *slot = $asked;
            }
            for ($i, hash) in hashes.iter().enumerate() {
                let slot = &mut places[$i % $ahead];
                let $place = *slot;
                if let Some(ahead) = hashes.get($i + $ahead) {
                    let $hash = ahead.key_hash();
                    let $asked = $at;
                    $ask
                    *slot = $asked;
                }
                let $low = hash.key_hash().low;
                $each
            }
        }
    }};
}
use walk;

/// [`walk!`] over the blocks of `$run`.
macro_rules! walk_blocks {
    ($blocks:expr, $run:expr, $hashes:expr, |$i:ident, $place:ident, $low:ident| $each:expr) => {
        let (start, run): (*const Block, Run) = ($blocks.as_ptr(), $run);
        walk!(
            $hashes,
            AHEAD,
            run.total <= NEAR,
            |hash| run.place(hash),
            |asked| {
                prefetch(start.wrapping_add(asked));
            },
            |$i, $place, $low| $each
        );
    };
}

impl Kernel {
    /// The best kernels of this processor for `probes` probes per key.
    pub(crate) fn detect(probes: u32) -> Self {
        *Self::available(probes).last().expect("scalar code runs anywhere")
    }

    /// All kernels that this processor can run, the best one last.
    pub(crate) fn available(probes: u32) -> Vec<Self> {
        let mut kernels: Vec<fn(u32) -> Self> = vec![scalar::kernel];
        native::add_available(&mut kernels);
        kernels.into_iter().map(|kernel| kernel(probes)).collect()
    }

    /// Sets a key's bits in its block and returns whether any was clear.
    #[inline(always)]
    pub(crate) fn insert(&self, block: &mut Block, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: `available` gives only kernels whose instruction set the processor reported, and
            // a block is 64 bytes aligned to 64, borrowed for writing.
            return unsafe { self.inlined.insert(block.0.as_mut_ptr(), low) };
        }
        // SAFETY: as above.
        unsafe { (self.insert)(block, low, self.probes) }
    }

    /// Whether all of a key's bits are set in its block.
    #[inline(always)]
    pub(crate) fn contains(&self, block: &Block, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: as in `insert`; the block is borrowed for reading.
            return unsafe { self.inlined.contains(block.0.as_ptr(), low) };
        }
        // SAFETY: as in `insert`.
        unsafe { (self.contains)(block, low, self.probes) }
    }

    /// [`contains`](Self::contains) for a block that other threads may be setting bits in.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) fn contains_atomic(&self, block: &AtomicBlock, low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            // SAFETY: as in `contains`; all that other threads do to the words is atomic.
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

    /// [`insert`](Self::insert) for a block that other threads may be reading.
    ///
    /// No other thread may insert into the block meanwhile, or its bits could be lost: callers hold a
    /// lock.
    #[cfg(feature = "std")]
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

    /// Inserts keys that all fall into `blocks`, which is `run` of the filter.
    ///
    /// # Panics
    /// If a key falls elsewhere.
    pub(crate) fn insert_batch<H: Hash>(&self, blocks: &mut [Block], run: Run, hashes: &[H]) {
        // SAFETY: as in `insert`.
        unsafe { (H::batch(self).insert)(blocks, run, hashes, self.probes) }
    }

    /// Like [`insert_batch`](Self::insert_batch), in order: `new[i]` becomes whether `hashes[i]` set a bit.
    ///
    /// # Panics
    /// If a key falls elsewhere, or the slices differ in length.
    pub(crate) fn insert_batch_new<H: Hash>(
        &self,
        blocks: &mut [Block],
        run: Run,
        hashes: &[H],
        new: &mut [bool],
    ) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        walk_blocks!(blocks, run, hashes, |i, place, low| {
            new[i] = self.insert(&mut blocks[place], low);
        });
    }

    /// Looks up keys in a whole filter.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn contains_batch<H: Hash>(
        &self,
        blocks: &[Block],
        hashes: &[H],
        found: &mut [bool],
    ) {
        // SAFETY: as in `insert`.
        unsafe { (H::batch(self).contains)(blocks, hashes, self.probes, found) }
    }
}

/// Processors for which there is only plain code.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
mod none {
    use crate::prelude::*;

    pub(super) fn add_available(_: &mut Vec<fn(u32) -> super::Kernel>) {}
}

/// Makes `kernel(probes)`, the generic kernels compiled for one instruction set, with the number of
/// probes known where it is a usual one.
macro_rules! kernels {
    ($isa:ident, $name:expr, [$($usual:literal),+] $(, $feature:literal)?) => {
        pub(super) fn kernel(probes: u32) -> Kernel {
            match probes {
                $($usual => kernel_of::<$usual>(probes),)+
                _ => kernel_of::<0>(probes),
            }
        }

        fn kernel_of<const PROBES: u32>(probes: u32) -> Kernel {
            Kernel {
                name: $name,
                probes,
                #[cfg(target_arch = "x86_64")]
                inlined: $crate::bits::arch::inline::Inline::of($name, probes),
                insert: insert::<PROBES>,
                contains: contains::<PROBES>,
                wide: batch_of::<PROBES, _>(),
                narrow: batch_of::<PROBES, _>(),
                grouped: if PROBES == 8 { grouped_of::<8>() } else { grouped_of::<0>() },
            }
        }

        fn grouped_of<const PROBES: u32>() -> Grouped {
            Grouped {
                any: any::<PROBES>,
                any_batch: any_batch::<PROBES>,
                insert_batch: insert_batch_beside::<PROBES>,
                insert_batch_new: insert_batch_beside_new::<PROBES>,
            }
        }

        fn batch_of<const PROBES: u32, H: Hash>() -> Batch<H> {
            Batch { insert: insert_batch::<PROBES, H>, contains: contains_batch::<PROBES, H> }
        }

        $(#[target_feature(enable = $feature)])?
        fn insert<const PROBES: u32>(block: &mut Block, low: u64, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { $crate::bits::arch::insert::<$isa, PROBES>(block, low, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn contains<const PROBES: u32>(block: &Block, low: u64, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { $crate::bits::arch::contains::<$isa, PROBES>(block, low, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn insert_batch<const PROBES: u32, H: Hash>(
            blocks: &mut [Block],
            run: Run,
            hashes: &[H],
            probes: u32,
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { $crate::bits::arch::insert_batch::<$isa, PROBES, H>(blocks, run, hashes, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn contains_batch<const PROBES: u32, H: Hash>(
            blocks: &[Block],
            hashes: &[H],
            probes: u32,
            found: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe {
                $crate::bits::arch::contains_batch::<$isa, PROBES, H>(blocks, hashes, probes, found)
            }
        }

        $(#[target_feature(enable = $feature)])?
        fn any<const PROBES: u32>(group: &[Block], low: u64, probes: u32) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { $crate::bits::arch::grouped::any::<$isa, PROBES>(group, low, probes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn any_batch<const PROBES: u32>(
            blocks: &[Block],
            size: usize,
            hashes: &[KeyHash],
            probes: u32,
            found: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe {
                $crate::bits::arch::grouped::any_batch::<$isa, PROBES>(blocks, size, hashes, probes, found)
            }
        }

        $(#[target_feature(enable = $feature)])?
        fn insert_batch_beside<const PROBES: u32>(
            blocks: &mut [Block],
            member: Member,
            hashes: &[KeyHash],
            probes: u32,
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe {
                $crate::bits::arch::grouped::insert_batch::<$isa, PROBES>(blocks, member, hashes, probes)
            }
        }

        $(#[target_feature(enable = $feature)])?
        fn insert_batch_beside_new<const PROBES: u32>(
            blocks: &mut [Block],
            member: Member,
            hashes: &[KeyHash],
            probes: u32,
            new: &mut [bool],
        ) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe {
                $crate::bits::arch::grouped::insert_batch_new::<$isa, PROBES>(
                    blocks, member, hashes, probes, new,
                )
            }
        }
    };
}
use crate::prelude::*;
use kernels;

// The loops below have no closures: code inside a closure is not compiled for the instruction set
// of the function around it, and every intrinsic would become a call.

/// The number of probes: a constant in code compiled for that number, a variable if `PROBES` is 0.
#[inline(always)]
const fn known<const PROBES: u32>(probes: u32) -> u32 {
    if PROBES == 0 { probes } else { PROBES }
}

/// Sets the bits of a key and returns whether any was clear.
///
/// # Safety
/// Requires the instruction set of `I`; so for all functions below.
#[inline(always)]
unsafe fn insert<I: Isa, const PROBES: u32>(block: &mut Block, low: u64, probes: u32) -> bool {
    let probes = known::<PROBES>(probes);
    // SAFETY: promised by the caller.
    unsafe {
        let mask = match pattern::rounds(probes) {
            0 => return pattern::insert_scattered(block, low, probes),
            rounds => I::lanes(low, rounds),
        };
        let old = I::load(block);
        I::store(block, I::or(old, mask));
        !I::is_zero(I::without(mask, old))
    }
}

#[inline(always)]
unsafe fn contains<I: Isa, const PROBES: u32>(block: &Block, low: u64, probes: u32) -> bool {
    let probes = known::<PROBES>(probes);
    // SAFETY: promised by the caller.
    unsafe {
        let mask = match pattern::rounds(probes) {
            0 => return pattern::contains_scattered(block, low, probes),
            rounds => I::lanes(low, rounds),
        };
        I::is_zero(I::without(mask, I::load(block)))
    }
}

#[inline(always)]
unsafe fn insert_batch<I: Isa, const PROBES: u32, H: Hash>(
    blocks: &mut [Block],
    run: Run,
    hashes: &[H],
    probes: u32,
) {
    walk_blocks!(blocks, run, hashes, |_i, place, low| {
        // SAFETY: promised by the caller.
        unsafe { insert::<I, PROBES>(&mut blocks[place], low, probes) };
    });
}

#[inline(always)]
unsafe fn contains_batch<I: Isa, const PROBES: u32, H: Hash>(
    blocks: &[Block],
    hashes: &[H],
    probes: u32,
    found: &mut [bool],
) {
    assert_eq!(hashes.len(), found.len(), "one answer for each hash");
    let run = Run { first: 0, total: blocks.len() as u64 };
    walk_blocks!(blocks, run, hashes, |i, place, low| {
        // SAFETY: promised by the caller.
        found[i] = unsafe { contains::<I, PROBES>(&blocks[place], low, probes) };
    });
}

/// The mask of a key: all its bits.
#[inline(always)]
unsafe fn mask<I: Isa>(low: u64, probes: u32) -> I::Line {
    // SAFETY: promised by the caller.
    unsafe {
        match pattern::rounds(probes) {
            0 => I::scattered(low, probes),
            rounds => I::lanes(low, rounds),
        }
    }
}

/// Prefetches the cache line of a block; any address will do.
#[inline(always)]
pub(crate) fn prefetch(block: *const Block) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing and faults on no address; SSE is always there.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(block.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; there is no stable intrinsic. Nothing that the program sees is read or written.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{block}]",
            block = in(reg) block,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = block;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::Blocks;

    fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
        (0..count as u64).map(|i| KeyHash::from_u64(crate::hash::mix(seed ^ (i << 20)))).collect()
    }

    proptest! {
        #[test]
        fn every_kernel_equals_the_definition(
            seed: u64, probes in 1u32..=32, blocks in prop_oneof![1u64..50, 4090u64..4105], count in 0usize..300,
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
                    prop_assert_eq!(kernel.insert(block, hash.low), !known, "{}", kernel.name);
                }
                kernel.insert_batch(&mut many, Run { first: 0, total: blocks }, &hashes);
                prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{} {probes}", kernel.name);
                let (mut again, mut new) = (Blocks::zeroed(blocks).unwrap(), vec![false; count]);
                kernel.insert_batch_new(&mut again, Run { first: 0, total: blocks }, &hashes, &mut new);
                let mut turn = Blocks::zeroed(blocks).unwrap();
                let sets_a_bit = |hash: &KeyHash| {
                    let block = &mut turn[place(hash.high, blocks) as usize];
                    let before = *block;
                    block.or(&pattern::mask(hash.low, probes));
                    *block != before
                };
                prop_assert_eq!(new, hashes.iter().map(sets_a_bit).collect::<Vec<_>>());
                prop_assert!(again[..] == expected[..], "{} {probes}", kernel.name);
                let mut found = vec![false; asked.len()];
                kernel.contains_batch(&many, &asked, &mut found);
                prop_assert_eq!(&found, &answers, "{} {}", kernel.name, probes);
                // `hashes` are those of their high halves, taken for 64-bit hashes.
                let narrow: Vec<u64> = hashes.iter().map(|hash| hash.high).collect();
                let mut many = Blocks::zeroed(blocks).unwrap();
                kernel.insert_batch(&mut many, Run { first: 0, total: blocks }, &narrow);
                prop_assert!(many[..] == expected[..], "{} {probes}", kernel.name);
                found.truncate(count);
                kernel.contains_batch(&many, &narrow, &mut found);
                prop_assert_eq!(&found, &answers[..count], "{} {}", kernel.name, probes);
            }
        }
    }

    #[test]
    fn this_processor_is_covered() {
        let names: Vec<_> = Kernel::available(8).iter().map(|kernel| kernel.name).collect();
        eprintln!("kernels tested: {names:?}");
        assert_eq!(names[0], "scalar");
        assert_eq!(Kernel::detect(8).name, *names.last().unwrap());
    }
}
