//! Kernels for several filters of one size whose blocks are interleaved: block b of filter g of `size` is at b·`size` +
//! g. A key has one place and one mask in all of them, so querying all costs one mask and `size` adjacent lines.
//!
//! As in the loops of [`super`], there are no closures: they would not be compiled for the instruction set.

use super::{AHEAD, Block, Hash, Isa, Kernel, known, mask, place, prefetch, walk};
use crate::hash::KeyHash;

/// Keys between prefetching their lines and using them: half as many as for single lines, since every key has several.
/// Other numbers were not measured.
const KEYS_AHEAD: usize = AHEAD / 2;

/// One of the filters of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The number of interleaved filters.
    pub(crate) size: usize,
    /// The index of this one, from 0.
    pub(crate) index: usize,
}

/// The kernels of one instruction set and number of probes.
#[derive(Clone, Copy)]
pub(super) struct Grouped {
    pub(super) any: unsafe fn(&[Block], u64, u32) -> bool,
    pub(super) any_batch: unsafe fn(&[Block], usize, &[KeyHash], u32, &mut [bool]),
    pub(super) insert_batch: unsafe fn(&mut [Block], Member, &[KeyHash], u32),
    pub(super) insert_batch_new: unsafe fn(&mut [Block], Member, &[KeyHash], u32, &mut [bool]),
}

impl Kernel {
    /// Whether any of these blocks has all of a key's bits.
    #[inline]
    pub(crate) fn any(&self, group: &[Block], low: u64) -> bool {
        // SAFETY: `available` gives only kernels whose instruction set the processor reported.
        unsafe { (self.grouped.any)(group, low, self.probes) }
    }

    /// Looks up keys in groups of `size` blocks: `found[i]` becomes whether any filter may hold `hashes[i]`.
    ///
    /// # Panics
    /// If the slices differ in length, or there are no blocks.
    pub(crate) fn any_batch(
        &self,
        blocks: &[Block],
        size: usize,
        hashes: &[KeyHash],
        found: &mut [bool],
    ) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        // SAFETY: as in `any`.
        unsafe { (self.grouped.any_batch)(blocks, size, hashes, self.probes, found) }
    }

    /// Inserts keys into one filter of the group.
    pub(crate) fn insert_batch_beside(
        &self,
        blocks: &mut [Block],
        member: Member,
        hashes: &[KeyHash],
    ) {
        // SAFETY: as in `any`.
        unsafe { (self.grouped.insert_batch)(blocks, member, hashes, self.probes) }
    }

    /// Like [`insert_batch_beside`](Self::insert_batch_beside), in order: `new[i]` becomes whether no filter of the
    /// group held `hashes[i]` before.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn insert_batch_beside_new(
        &self,
        blocks: &mut [Block],
        member: Member,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        // SAFETY: as in `any`.
        unsafe { (self.grouped.insert_batch_new)(blocks, member, hashes, self.probes, new) }
    }
}

/// [`walk!`] over groups of `$size` blocks, whose places are their first blocks; prefetches the lines `$ask` of each.
macro_rules! walk_groups {
    ($blocks:expr, $size:expr, $hashes:expr, $ask:expr, |$i:ident, $first:ident, $low:ident| $each:expr) => {
        let (start, size): (*const Block, usize) = ($blocks.as_ptr(), $size);
        let groups = ($blocks.len() / size) as u64;
        walk!(
            $hashes,
            KEYS_AHEAD,
            false,
            |hash| place(hash.high, groups) as usize * size,
            |asked| {
                for line in $ask {
                    prefetch(start.wrapping_add(asked + line));
                }
            },
            |$i, $first, $low| $each
        );
    };
}

/// Whether any of these blocks has all bits of a mask.
///
/// # Safety
/// Requires the instruction set of `I`; so for all functions below.
#[inline(always)]
unsafe fn any_has<I: Isa>(group: &[Block], mask: I::Line) -> bool {
    let mut any = false;
    for block in group {
        // SAFETY: promised by the caller.
        any |= unsafe { I::is_zero(I::without(mask, I::load(block))) };
    }
    any
}

#[inline(always)]
pub(super) unsafe fn any<I: Isa, const PROBES: u32>(
    group: &[Block],
    low: u64,
    probes: u32,
) -> bool {
    // SAFETY: promised by the caller.
    unsafe { any_has::<I>(group, mask::<I>(low, known::<PROBES>(probes))) }
}

#[inline(always)]
pub(super) unsafe fn any_batch<I: Isa, const PROBES: u32>(
    blocks: &[Block],
    size: usize,
    hashes: &[KeyHash],
    probes: u32,
    found: &mut [bool],
) {
    walk_groups!(blocks, size, hashes, 0..size, |i, first, low| {
        // SAFETY: promised by the caller.
        found[i] = unsafe { any::<I, PROBES>(&blocks[first..first + size], low, probes) };
    });
}

#[inline(always)]
pub(super) unsafe fn insert_batch<I: Isa, const PROBES: u32>(
    blocks: &mut [Block],
    member: Member,
    hashes: &[KeyHash],
    probes: u32,
) {
    let index = member.index;
    walk_groups!(blocks, member.size, hashes, index..index + 1, |_i, first, low| {
        // SAFETY: promised by the caller.
        unsafe { super::insert::<I, PROBES>(&mut blocks[first + index], low, probes) };
    });
}

#[inline(always)]
pub(super) unsafe fn insert_batch_new<I: Isa, const PROBES: u32>(
    blocks: &mut [Block],
    member: Member,
    hashes: &[KeyHash],
    probes: u32,
    new: &mut [bool],
) {
    walk_groups!(blocks, member.size, hashes, 0..member.size, |i, first, low| {
        let group = &mut blocks[first..first + member.size];
        // SAFETY: promised by the caller.
        unsafe {
            let mask = mask::<I>(low, known::<PROBES>(probes));
            new[i] = !any_has::<I>(group, mask);
            let block = &mut group[member.index];
            I::store(block, I::or(I::load(block), mask));
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::Blocks;

    fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
        (0..count as u64).map(|i| KeyHash::from_u64(crate::hash::mix(seed ^ (i << 20)))).collect()
    }

    proptest! {
        /// Against the definition, filter by filter.
        #[test]
        fn every_kernel_equals_the_definition(
            seed: u64, probes in 1u32..=32, groups in 1u64..40, size in 2usize..=8, count in 0usize..120,
        ) {
            let hashes = hashes(seed, count);
            let member = |i: usize| Member { size, index: i % size };
            for kernel in Kernel::available(probes) {
                let mut expected = Blocks::zeroed(groups * size as u64).unwrap();
                let mut one = Blocks::zeroed(groups * size as u64).unwrap();
                let mut many = Blocks::zeroed(groups * size as u64).unwrap();
                // A piece for each filter in turn; every key comes twice.
                for (turn, piece) in hashes.chunks(17).chain(hashes.chunks(23)).enumerate() {
                    let (mut new, mut known) = (vec![false; piece.len()], Vec::new());
                    for hash in piece {
                        let first = place(hash.high, groups) as usize * size;
                        let mask = pattern::mask(hash.low, probes);
                        let group = &mut expected[first..first + size];
                        known.push(group.iter().any(|block| block.has(&mask)));
                        prop_assert_eq!(kernel.any(group, hash.low), *known.last().unwrap());
                        group[turn % size].or(&mask);
                    }
                    kernel.insert_batch_beside(&mut one, member(turn), piece);
                    kernel.insert_batch_beside_new(&mut many, member(turn), piece, &mut new);
                    prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{}", kernel.name);
                    prop_assert!(new.iter().zip(&known).all(|(new, known)| new != known));
                }
                let asked: Vec<KeyHash> = hashes.iter().map(|hash| KeyHash { low: !hash.low, ..*hash }).collect();
                let mut found = vec![false; count];
                kernel.any_batch(&expected, size, &asked, &mut found);
                for (hash, found) in asked.iter().zip(found) {
                    let first = place(hash.high, groups) as usize * size;
                    prop_assert_eq!(kernel.any(&expected[first..first + size], hash.low), found);
                }
            }
        }
    }
}
