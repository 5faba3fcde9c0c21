//! Keys of several filters of one size whose blocks are interleaved: block b of filter g of `size` is at b·`size` + g. A
//! key has one place and one mask in all of them, so querying all costs one mask and `size` adjacent lines.

use super::batch::{Batch, Each, each, lines_ahead};
#[cfg(target_arch = "x86_64")]
use super::inline::Inline;
use super::isa::{Isa, Work};
use super::kernel::{Kernel, known, with_probes};
use super::{Block, prefetch};
use crate::bits::place;
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
    pub(crate) fn any(&self, group: &[Block], low: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            return group.iter().fold(false, |any, block| any | self.contains(block, low));
        }
        let probes = self.probes;
        with_probes!(probes, P => self.set.run(AnyOne::<P> { group, low, probes }))
    }

    /// Looks up keys in groups of `size` blocks: sets `found[i]` to whether any filter may hold `hashes[i]`.
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
        let (groups, probes, answers) = (Groups::of(blocks, size), self.probes, found);
        match (size, probes) {
            (4, 8) => self.set.run(Batch {
                hashes,
                each: Any::<4, 8> { blocks, groups, probes },
                answers,
            }),
            _ => self.set.run(Batch {
                hashes,
                each: Any::<0, 0> { blocks, groups, probes },
                answers,
            }),
        }
    }

    /// Inserts keys into one filter of the group.
    pub(crate) fn insert_batch_beside(
        &self,
        blocks: &mut [Block],
        member: Member,
        hashes: &[KeyHash],
    ) {
        let groups = Groups::of(blocks, member.size);
        let (answers, index, probes) = (&mut vec![(); hashes.len()][..], member.index, self.probes);
        with_probes!(probes, P => {
            let each = Beside::<P> { blocks, groups, index, probes };
            self.set.run(Batch { hashes, each, answers });
        });
    }

    /// Like [`insert_batch_beside`](Self::insert_batch_beside), in order; sets `new[i]` if no filter of the group held
    /// `hashes[i]` before, else clears it.
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
        let groups = Groups::of(blocks, member.size);
        let (answers, index, probes) = (new, member.index, self.probes);
        self.set.run(Batch { hashes, each: BesideNew { blocks, groups, index, probes }, answers });
    }
}

/// How many groups there are, and of how many blocks each.
#[derive(Clone, Copy)]
struct Groups {
    count: u64,
    size: usize,
}

impl Groups {
    fn of(blocks: &[Block], size: usize) -> Self {
        Self { count: (blocks.len() / size) as u64, size }
    }

    /// The place of a key's first block.
    #[inline(always)]
    fn first(&self, hash: KeyHash) -> usize {
        place(hash.high, self.count) as usize * self.size
    }

    /// Keys between prefetching and use; each has a group's lines. In all, twice the lines of a filter with one line
    /// per key: with 4 blocks in 22 MB a look-up takes 6.1 ns with 128 lines ahead, 5.1 with 256, 5.4 with 512.
    #[inline(always)]
    fn ahead(&self) -> Option<usize> {
        lines_ahead(self.count * self.size as u64).map(|lines| (2 * lines / self.size).max(8))
    }

    /// Prefetches all blocks of a key.
    #[inline(always)]
    fn ask(&self, blocks: &[Block], hash: KeyHash) {
        let first = blocks.as_ptr().wrapping_add(self.first(hash));
        for line in 0..self.size {
            prefetch(first.wrapping_add(line));
        }
    }
}

/// Whether any of these blocks has all bits of a mask.
#[inline(always)]
fn any_has<I: Isa>(isa: I, group: &[Block], mask: I::Line, probes: u32) -> bool {
    let mut any = false;
    for block in group {
        any |= isa.has(isa.load(block), mask, probes);
    }
    any
}

struct AnyOne<'a, const PROBES: u32> {
    group: &'a [Block],
    low: u64,
    probes: u32,
}

impl<const PROBES: u32> Work for AnyOne<'_, PROBES> {
    type Answer = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let probes = known::<PROBES>(self.probes);
        any_has(isa, self.group, isa.mask(self.low, probes), probes)
    }
}

/// Keys looked up in all filters. `SIZE` and `PROBES` are constants for the usual numbers, else 0.
struct Any<'a, const SIZE: usize, const PROBES: u32> {
    blocks: &'a [Block],
    groups: Groups,
    probes: u32,
}

impl<const SIZE: usize, const PROBES: u32> Any<'_, SIZE, PROBES> {
    #[inline(always)]
    fn groups(&self) -> Groups {
        if SIZE == 0 { self.groups } else { Groups { size: SIZE, ..self.groups } }
    }
}

each!(
    Any<SIZE: usize, PROBES: u32> -> bool,
    ahead: |self| self.groups.ahead(),
    ask: |hash| self.groups().ask(self.blocks, hash),
    each: |isa, hash| {
        let (groups, probes) = (self.groups(), known::<PROBES>(self.probes));
        let first = groups.first(hash);
        any_has(isa, &self.blocks[first..first + groups.size], isa.mask(hash.low, probes), probes)
    }
);

/// Keys inserted into one of the filters.
struct Beside<'a, const PROBES: u32> {
    blocks: &'a mut [Block],
    groups: Groups,
    index: usize,
    probes: u32,
}

each!(
    Beside<PROBES: u32> -> (),
    ahead: |self| self.groups.ahead(),
    ask: |hash| prefetch(self.blocks.as_ptr().wrapping_add(self.groups.first(hash) + self.index)),
    each: |isa, hash| {
        let block = &mut self.blocks[self.groups.first(hash) + self.index];
        isa.insert(block, hash.low, known::<PROBES>(self.probes));
    }
);

/// Like [`Beside`], reporting which keys no filter held.
struct BesideNew<'a> {
    blocks: &'a mut [Block],
    groups: Groups,
    index: usize,
    probes: u32,
}

each!(
    BesideNew<> -> bool,
    ahead: |self| self.groups.ahead(),
    ask: |hash| self.groups.ask(self.blocks, hash),
    each: |isa, hash| {
        let (first, mask) = (self.groups.first(hash), isa.mask(hash.low, self.probes));
        let group = &mut self.blocks[first..first + self.groups.size];
        let known = any_has(isa, group, mask, self.probes);
        let block = &mut group[self.index];
        isa.store(block, isa.or(isa.load(block), mask));
        !known
    }
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::{Blocks, in_miri, tests::probes};

    fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
        (0..count as u64).map(|i| KeyHash::from_u64(crate::hash::mix(seed ^ (i << 20)))).collect()
    }

    proptest! {
        /// Against the definition, filter by filter.
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
                    }
                    kernel.insert_batch_beside(&mut one, member(turn), piece);
                    kernel.insert_batch_beside_new(&mut many, member(turn), piece, &mut new);
                    prop_assert!(one[..] == expected[..] && many[..] == expected[..], "{:?}", kernel);
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
