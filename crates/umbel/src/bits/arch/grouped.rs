//! Keys of several filters of one size whose blocks are interleaved: block b of filter g of `size` is at b·`size` + g. A
//! key has one place and one mask in all of them, so querying all costs one mask and `size` adjacent lines.

use core::ops::Range;

use super::Block;
use super::batch::{Batch, Each, Kept, Keys, each};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::inline;
use super::isa::{Isa, Work};
use super::kernel::Kernel;
use crate::hash::KeyHash;
use crate::prelude::*;

/// One of the filters of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The number of interleaved filters.
    pub(crate) size: usize,
    /// The index of this one, from 0.
    pub(crate) index: usize,
}

impl Kernel {
    /// Whether any of these blocks has all of a key's bits.
    #[inline]
    pub(crate) fn any(self, group: &[Block], low: u64) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512Eight(_) => group.iter().fold(false, |any, block| {
                // SAFETY: the processor has AVX-512; a block is 64 bytes aligned to 64, borrowed for reading.
                any | unsafe { inline::contains_avx512(block.0.as_ptr(), low) }
            }),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2Eight(_) => group.iter().fold(false, |any, block| {
                // SAFETY: as above, with AVX2.
                any | unsafe { inline::contains_avx2(block.0.as_ptr(), low) }
            }),
            _ => self.run(AnyOne { group, low }),
        }
    }

    /// Looks up keys in groups of `size` blocks: sets `found[i]` to whether any filter may hold `hashes[i]`.
    ///
    /// # Panics
    /// If the slices differ in length, or there are no blocks.
    pub(crate) fn any_all(
        self,
        blocks: &[Block],
        size: usize,
        hashes: &[KeyHash],
        found: &mut [bool],
    ) {
        self.each_group(size, Any(blocks), hashes, found);
    }

    /// Inserts keys into one filter of the group.
    pub(crate) fn insert_all_beside(
        self,
        blocks: &mut [Block],
        Member { size, index }: Member,
        hashes: &[KeyHash],
    ) {
        let each = Beside::<false> { blocks, index };
        self.each_group(size, each, hashes, &mut vec![(); hashes.len()]);
    }

    /// Like [`insert_all_beside`](Self::insert_all_beside), in order; sets `new[i]` if no filter of the group held
    /// `hashes[i]` before, else clears it.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn insert_all_beside_new(
        self,
        blocks: &mut [Block],
        Member { size, index }: Member,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        self.each_group(size, Beside::<true> { blocks, index }, hashes, new);
    }

    /// Works on keys whose lines are groups of `size` blocks.
    #[inline(always)]
    pub(super) fn each_group<A: Kept<E::Answer>, E: Each>(
        self,
        size: usize,
        each: E,
        hashes: &[KeyHash],
        answers: &mut [A],
    ) {
        match size {
            4 => self.run(Batch { hashes, keys: Keys::<_, 4>::of(each, 4), answers }),
            _ => self.run(Batch { hashes, keys: Keys::<_, 0>::of(each, size), answers }),
        }
    }
}

/// Whether any of these blocks has all bits of a mask.
#[inline(always)]
fn any_has<I: Isa>(isa: I, group: &[Block], mask: I::Line) -> bool {
    let mut any = false;
    for block in group {
        any |= isa.has(isa.load(block), mask);
    }
    any
}

struct AnyOne<'a> {
    group: &'a [Block],
    low: u64,
}

impl Work for AnyOne<'_> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        any_has(isa, self.group, isa.mask(self.low))
    }
}

each! {
    /// Keys looked up in all filters.
    Any -> bool,
    |size| size,
    |isa, blocks, lines, low| any_has(isa, &blocks[lines], isa.mask(low))
}

/// Keys inserted into one of the filters; with `NEW`, reporting which were in none of them.
struct Beside<'a, const NEW: bool> {
    blocks: &'a mut [Block],
    index: usize,
}

impl<const NEW: bool> Each for Beside<'_, NEW> {
    type Answer = bool;

    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        self.blocks
    }

    #[inline(always)]
    fn asked(&self, size: usize) -> (usize, usize) {
        if NEW { (0, size) } else { (self.index, 1) }
    }

    #[inline(always)]
    fn each<I: Isa>(&mut self, isa: I, lines: Range<usize>, low: u64) -> bool {
        if !NEW {
            return isa.insert(&mut self.blocks[lines.start + self.index], low);
        }
        let (mask, group) = (isa.mask(low), &mut self.blocks[lines]);
        let known = any_has(isa, group, mask);
        let block = &mut group[self.index];
        isa.store(block, isa.or(isa.load(block), mask));
        !known
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::tests::{hashes, probes};
    use crate::bits::{Blocks, in_miri, place};

    proptest! {
        /// Compared with the definition, filter by filter.
        #[test]
        fn every_kernel_equals_the_definition(
            seed: u64, probes in probes(), groups in 1u64..40, size in 2usize..=8, count in 0..in_miri(40, 120),
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
                        prop_assert!(kernel.any(group, hash.low));
                    }
                    kernel.insert_all_beside(&mut one, member(turn), piece);
                    kernel.insert_all_beside_new(&mut many, member(turn), piece, &mut new);
                    prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{:?}", kernel);
                    prop_assert!(new.iter().zip(&known).all(|(new, known)| new != known));
                }
                let asked: Vec<KeyHash> = hashes.iter().map(|hash| KeyHash { low: !hash.low, ..*hash }).collect();
                let mut found = vec![false; count];
                kernel.any_all(&expected, size, &asked, &mut found);
                for (hash, found) in asked.iter().zip(found) {
                    let first = place(hash.high, groups) as usize * size;
                    prop_assert_eq!(kernel.any(&expected[first..first + size], hash.low), found);
                }
            }
        }
    }
}
