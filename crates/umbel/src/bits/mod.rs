//! The bits of a filter: 512-bit blocks, the place of a hash among them, and the kernels that set and test bits.
//!
//! Words have the same byte order in memory as in files, little-endian, so a mapped file is a filter on any machine,
//! without copying. This module knows nothing of rates, kinds or formats.

pub(crate) mod arch;
pub(crate) mod cells;
pub(crate) mod counters;
pub mod packed;
pub(crate) mod slots;

pub(crate) use arch::AHEAD;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) use arch::AtomicBlocks;
pub use arch::Blocks;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub use arch::WritableFile;
pub(crate) use arch::cast;
pub(crate) use arch::in_block;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub(crate) use arch::{AtomicBlock, WritableBlocks};
pub(crate) use arch::{Counters, FAR, Hash, Kernel, Member, NEAR, Once, Run};
#[cfg(feature = "mmap")]
pub use arch::{MappedBlocks, MappedFile};

use crate::error::OutOfMemory;

/// Positions whose lines are prefetched together, before any is used, in kinds where each probe has its own line.
pub(crate) const POSITIONS: usize = 8 * AHEAD;

/// Bits of one block: one cache line.
pub const BLOCK_BITS: u64 = 512;
/// Bytes of one block.
pub const BLOCK_BYTES: u64 = BLOCK_BITS / 8;

/// A block of 512 bits, one cache line: eight little-endian 64-bit words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Block(pub(crate) [u64; 8]);

impl Block {
    /// Its bytes, as a file has them.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; 64] {
        cast::bytes(core::slice::from_ref(self)).try_into().expect("64 bytes")
    }

    /// Bits set.
    #[inline]
    pub(crate) fn count_ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether all bits are clear.
    #[inline(always)]
    pub(crate) fn is_zero(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// Sets every bit that is set in `other`.
    #[inline]
    pub(crate) fn or(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    /// Whether every bit of `mask` is set.
    #[inline]
    pub(crate) fn has(&self, mask: &Self) -> bool {
        self.0.iter().zip(mask.0).fold(0, |missing, (word, mask)| missing | (mask & !word)) == 0
    }

    /// Clears every bit that is clear in `other`.
    #[inline]
    pub(crate) fn and(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
    }
}

/// The place of `hash` among `places`: ⌊hash · places / 2⁶⁴⌋.
///
/// Never a modulo: this is one multiplication, right for any `places` below 2⁶⁴, and it folds,
/// since ⌊hash·(places/d)/2⁶⁴⌋ = ⌊place/d⌋ whenever d divides `places`. Part of the file format.
#[inline]
pub const fn place(hash: u64, places: u64) -> u64 {
    ((hash as u128 * places as u128) >> 64) as u64
}

/// Bits set in all `blocks`.
pub(crate) fn count_ones(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| u64::from(block.count_ones())).sum()
}

/// Whether all bits of all blocks are clear.
pub(crate) fn are_zero(blocks: &[Block]) -> bool {
    blocks.iter().all(Block::is_zero)
}

/// Sets every bit that is set in the other block of the same number.
pub(crate) fn or(blocks: &mut [Block], others: &[Block]) {
    blocks.iter_mut().zip(others).for_each(|(block, other)| block.or(other));
}

/// Clears every bit that is clear in the other block of the same number.
pub(crate) fn and(blocks: &mut [Block], others: &[Block]) {
    blocks.iter_mut().zip(others).for_each(|(block, other)| block.and(other));
}

/// Bits set in the left blocks, in the right blocks, and in both.
pub(crate) fn count_shared(left: &[Block], right: &[Block]) -> [u64; 3] {
    let mut counts = [0; 3];
    for (left, right) in left.iter().zip(right) {
        let mut both = *left;
        both.and(right);
        for (count, block) in counts.iter_mut().zip([left, right, &both]) {
            *count += u64::from(block.count_ones());
        }
    }
    counts
}

/// The bits below `bits`, each moved to its position divided by `divisor`.
pub(crate) fn fold(blocks: &[Block], bits: u64, divisor: u64) -> Result<Blocks, OutOfMemory> {
    let mut folded = Blocks::zeroed((bits / divisor).div_ceil(BLOCK_BITS))?;
    for position in ones(blocks, bits) {
        set(&mut folded, position / divisor);
    }
    Ok(folded)
}

/// Sets bit `position` and returns whether it was clear.
#[inline]
pub(crate) fn set(blocks: &mut [Block], position: u64) -> bool {
    let (block, word, bit) = split(position);
    let word = &mut blocks[block].0[word];
    let was_clear = *word & bit == 0;
    *word |= bit;
    was_clear
}

/// Whether bit `position` is set.
#[inline]
pub(crate) fn get(blocks: &[Block], position: u64) -> bool {
    let (block, word, bit) = split(position);
    blocks[block].0[word] & bit != 0
}

/// Prefetches the cache line of bit `position`.
#[inline]
pub(crate) fn prefetch(blocks: &[Block], position: u64) {
    arch::ask(blocks, (position / BLOCK_BITS) as usize);
}

#[inline]
fn split(position: u64) -> (usize, usize, u64) {
    let word = ((position >> 6) & 7) as usize;
    ((position / BLOCK_BITS) as usize, word, (1u64 << (position & 63)).to_le())
}

/// The positions of all set bits below `bits`, ascending.
pub(crate) fn ones(blocks: &[Block], bits: u64) -> impl Iterator<Item = u64> + '_ {
    let words = blocks.iter().flat_map(|block| block.0).map(u64::from_le);
    (0u64..)
        .step_by(64)
        .zip(words)
        .flat_map(move |(start, mut word)| {
            core::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros();
                    word &= word - 1;
                    start + u64::from(bit)
                })
            })
        })
        .take_while(move |&position| position < bits)
}

/// The size of a test's cases: `size` in Miri, which takes some thousand times as long, else `otherwise`.
#[cfg(test)]
pub(crate) const fn in_miri(size: usize, otherwise: usize) -> usize {
    if cfg!(miri) { size } else { otherwise }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::KeyHash;

    /// Numbers of probes: half of the time eight, which has its own code, so a single case may test it.
    pub(super) fn probes() -> impl Strategy<Value = u32> {
        prop_oneof![Just(8), 1u32..=32]
    }

    pub(super) fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
        (0..count as u64).map(|i| KeyHash::from_u64(crate::hash::mix(seed ^ (i << 20)))).collect()
    }

    #[test]
    fn places_fold_and_reach_both_ends_above_2_to_the_35() {
        let places = 3 << 40;
        assert_eq!(place(0, places), 0);
        assert_eq!(place(u64::MAX, places), places - 1);
        for i in 0..1000 {
            let hash = crate::hash::mix(i);
            for divisor in [2, 3, 6, 1 << 20] {
                assert_eq!(place(hash, places / divisor), place(hash, places) / divisor);
            }
        }
    }

    #[test]
    fn set_get_and_ones_agree() {
        let mut blocks = Blocks::zeroed(3).unwrap();
        let positions = [0, 63, 64, 511, 512, 1000, 1535];
        for position in positions {
            assert!(set(&mut blocks, position) && !set(&mut blocks, position));
        }
        assert!((0..1536).all(|p| get(&blocks, p) == positions.contains(&p)));
        assert_eq!(ones(&blocks, 1536).collect::<Vec<_>>(), positions);
        assert_eq!(count_ones(&blocks), 7);
    }
}
