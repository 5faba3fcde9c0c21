//! The core of the plain Bloom filters: bits that are only ever set, until cleared.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::core::{Core, InsertCore, MakeCore, Merge, MergeCore, one_part};
use super::layout::Layout;
use super::methods::{insert_all, made_empty, merges};
use super::{Filter, MergeError, Receipt};
use crate::bits::{self, Block, Blocks, Kernel};
use crate::error::check_field;
use crate::format::{FileError, Header};
use crate::hash::{Hash64, Hashing, Key, KeyHash, Scheme};
use crate::plan::{Kind, Plan, PlanError};
use crate::prelude::*;

/// The core of a plain Bloom filter: `insert` sets the bits of a key, `contains` checks that all are set.
///
/// An inserted key is always found: only [`clear`](Filter::clear) and [`intersect`](Filter::intersect) clear bits, and
/// the latter keeps the keys that both filters hold.
#[derive(Clone)]
pub struct BloomCore<L, S = Blocks> {
    plan: Plan,
    kernel: Kernel,
    blocks: S,
    layout: PhantomData<L>,
}

impl<L: Layout, S> BloomCore<L, S> {
    fn of(plan: Plan, blocks: S) -> Self {
        Self { plan, kernel: Kernel::detect(plan.probes), blocks, layout: PhantomData }
    }

    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    pub(super) fn into_parts(self) -> (Plan, S) {
        (self.plan, self.blocks)
    }
}

impl<L: Layout, S: AsRef<[Block]>> BloomCore<L, S> {
    /// From blocks, which must be as many as the plan has.
    pub(super) fn from_blocks(plan: Plan, blocks: S) -> Result<Self, FileError> {
        plan.check(L::KIND)?;
        let found = blocks.as_ref();
        debug_assert_eq!(found.len() as u64, plan.bits.div_ceil(bits::BLOCK_BITS));
        let mut behind = plan.bits..found.len() as u64 * bits::BLOCK_BITS;
        let clear = !behind.any(|position| bits::get(found, position));
        check_field("payload", 1, clear, "zeros after the last bit of the filter")?;
        Ok(Self::of(plan, blocks))
    }

    pub(super) fn blocks(&self) -> &[Block] {
        self.blocks.as_ref()
    }

    /// Checks that the bits of both have the same meaning (equal probes, and a size that folds to the other), and
    /// returns the sizes.
    fn fits(&self, other: &BloomCore<L, impl AsRef<[Block]>>) -> Result<(u64, u64), MergeError> {
        probe_alike(&self.plan, &other.plan)?;
        let (left, right) = (L::units(&self.plan), L::units(&other.plan));
        fold_alike(left, right, L::UNIT)?;
        Ok((left, right))
    }

    /// Both filters at the smaller size; the larger one is folded in a copy.
    pub(super) fn alike<'a, T: AsRef<[Block]>>(
        &'a self,
        other: &'a BloomCore<L, T>,
    ) -> Result<[Folded<'a, L>; 2], MergeError> {
        let (left, right) = self.fits(other)?;
        Ok([self.folded((left / right).max(1))?, other.folded((right / left).max(1))?])
    }

    fn folded(&self, divisor: u64) -> Result<Folded<'_, L>, MergeError> {
        if divisor == 1 {
            return Ok(Folded::View(BloomCore::of(self.plan, self.blocks())));
        }
        let mut copy = BloomCore::of(self.plan, Blocks::copy_of(self.blocks())?);
        copy.fold(divisor)?;
        Ok(Folded::Copy(copy))
    }
}

/// A filter as it is, or folded.
pub(super) enum Folded<'a, L> {
    View(BloomCore<L, &'a [Block]>),
    Copy(BloomCore<L>),
}

impl<L: Layout> Folded<'_, L> {
    pub(super) fn plan(&self) -> &Plan {
        match self {
            Self::View(core) => &core.plan,
            Self::Copy(core) => &core.plan,
        }
    }

    pub(super) fn blocks(&self) -> &[Block] {
        match self {
            Self::View(core) => core.blocks(),
            Self::Copy(core) => core.blocks(),
        }
    }
}

impl<L: Layout> BloomCore<L> {
    #[inline]
    pub(super) fn insert(&mut self, hash: KeyHash) -> bool {
        L::insert(&mut self.blocks, &self.plan, &self.kernel, hash)
    }

    /// The same bits with another plan of their size and probes.
    pub(super) fn planned(self, plan: Plan) -> Self {
        Self { plan, ..self }
    }

    pub(super) fn parts_mut(&mut self) -> (&mut [Block], Kernel) {
        (&mut self.blocks, self.kernel)
    }

    fn fold(&mut self, divisor: u64) -> Result<(), MergeError> {
        let size = L::units(&self.plan);
        if divisor == 0 || !size.is_multiple_of(divisor) {
            return Err(MergeError::SizesDiffer { left: size, right: divisor, unit: L::UNIT });
        }
        if divisor > 1 {
            L::fold(&mut self.blocks, &self.plan, divisor)?;
            self.plan = self.plan.divided(divisor);
        }
        Ok(())
    }
}

made_empty!([L: Layout,] BloomCore<L>);
insert_all!([L: Layout,] BloomCore<L>);
merges!([L: Layout,] BloomCore[L]);

impl<L: Layout, H: Hashing> Filter<BloomCore<L>, H> {
    /// Inserts a key: true if it was certainly new, false if it may have been there before.
    #[inline]
    pub fn insert(&mut self, key: impl Key<H>) -> bool {
        let BloomCore { blocks, plan, kernel, .. } = &mut self.core;
        L::insert(blocks, plan, kernel, key.key_hash(&self.hasher))
    }

    /// Makes the filter `divisor` times smaller. It still finds every key, at a higher rate.
    ///
    /// The result equals, bit for bit, a filter of the smaller size filled with the same keys. The planned keys are
    /// divided too.
    ///
    /// # Errors
    /// [`MergeError::SizesDiffer`] if `divisor` does not divide the size; [`MergeError::OutOfMemory`].
    pub fn fold(&mut self, divisor: u64) -> Result<(), MergeError> {
        self.core.fold(divisor)
    }
}

impl<L: Layout, S: AsRef<[Block]>> Core for BloomCore<L, S> {
    const KIND: Kind = L::KIND;
    const PREFETCHES: bool = L::PREFETCHES;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        L::contains(self.blocks.as_ref(), &self.plan, &self.kernel, hash)
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        L::contains_batch(self.blocks.as_ref(), &self.plan, &self.kernel, hashes, found);
    }

    #[inline(always)]
    fn prefetch(&self, hash: KeyHash) {
        L::prefetch(self.blocks.as_ref(), hash);
    }

    fn touches(&self, hash: KeyHash, each: &mut dyn FnMut(usize, usize)) {
        L::touches(&self.plan, hash, &mut |block| each(0, block));
    }

    fn contains_narrow(&self, hashes: &[Hash64], found: &mut [bool]) {
        L::contains_batch(self.blocks.as_ref(), &self.plan, &self.kernel, hashes, found);
    }

    one_part!(BloomCore<L, T> { plan, kernel, layout });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        Self::from_blocks(header.plan()?, only(parts))
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        let blocks = self.blocks.as_ref();
        let set_bits = bits::count_ones(blocks);
        let keys = L::coverage(&self.plan).keys((self.plan.bits - set_bits) as f64);
        let fpp = L::fpp(blocks, &self.plan);
        Receipt::new(self.plan, scheme, (set_bits, self.plan.bits), keys, fpp)
    }
}

impl<L: Layout> MakeCore for BloomCore<L> {
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, Blocks::zeroed(plan.bytes() / bits::BLOCK_BYTES)?))
    }
}

impl<L: Layout> InsertCore for BloomCore<L> {
    type Full = Infallible;

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        L::insert_batch(&mut self.blocks, &self.plan, &self.kernel, hashes);
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        L::insert_batch_new(&mut self.blocks, &self.plan, &self.kernel, hashes, new);
        Ok(())
    }

    fn insert_narrow(&mut self, hashes: &[Hash64]) -> Result<(), Infallible> {
        L::insert_batch(&mut self.blocks, &self.plan, &self.kernel, hashes);
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }
}

impl<L: Layout> MergeCore for BloomCore<L> {
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &BloomCore<L, T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let (left, right) = self.fits(other)?;
        let other = other.folded((right / left).max(1))?;
        self.fold((left / right).max(1))?;
        match how {
            Merge::Union => bits::or(&mut self.blocks, other.blocks()),
            Merge::Intersection => bits::and(&mut self.blocks, other.blocks()),
        }
        self.plan = self.plan.merged(other.plan());
        Ok(())
    }
}

/// Checks that two filters have the same number of probes.
pub(super) fn probe_alike(left: &Plan, right: &Plan) -> Result<(), MergeError> {
    let [left, right] = [left.probes, right.probes];
    if left == right { Ok(()) } else { Err(MergeError::ProbesDiffer { left, right }) }
}

/// Checks that the larger of two sizes folds to the other.
pub(super) fn fold_alike(left: u64, right: u64, unit: &'static str) -> Result<(), MergeError> {
    if left.is_multiple_of(right) || right.is_multiple_of(left) {
        return Ok(());
    }
    Err(MergeError::SizesDiffer { left, right, unit })
}

/// The only part of a filter.
pub(super) fn only<S>(mut parts: Vec<S>) -> S {
    parts.pop().expect("as many parts as in the layout")
}

#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod tests {
    use super::*;
    use crate::{Blocked, Classic, KeyHasher};

    fn huge<L: Layout>(bits: u64, probes: u32) -> Filter<BloomCore<L>> {
        let plan = Plan { kind: L::KIND, keys: 1 << 30, fpp: 0.01, bits, probes, detail: 0 };
        let blocks = Blocks::sparse(plan.bytes() / bits::BLOCK_BYTES);
        Filter::of(BloomCore::from_blocks(plan, blocks).unwrap(), KeyHasher::default())
    }

    /// Filters of 2^33 and 2^36 bits, which use memory only where touched: keys reach every region, the first and last
    /// blocks included, and are found there; each touches its own block.
    #[test]
    fn every_region_of_a_huge_filter_is_addressed() {
        for bits in [(1 << 33) + 512, (1 << 36) + (3 << 20)] {
            let mut filter: Blocked = huge(bits, 8);
            const REGIONS: u64 = 512;
            let step = u64::MAX / REGIONS;
            let hash = |i: u64| KeyHash { high: i * step, low: i * 0x0123_4567_89ab };
            let hashes: Vec<KeyHash> = (0..=REGIONS).map(hash).collect();
            assert!(hashes.iter().all(|hash| filter.insert(*hash)), "no two share a block");
            assert!(hashes.iter().all(|hash| filter.contains(*hash)));
            let blocks = bits / 512;
            for hash in &hashes {
                let block = (u128::from(hash.high) * u128::from(blocks)) >> 64;
                let set = filter.core.blocks[block as usize].count_ones();
                assert_eq!(set, 8, "block {block} of {blocks}");
            }
        }
        for bits in [(1u64 << 33) + 77, (1 << 36) + 1001] {
            let mut filter: Classic = huge(bits, 7);
            for key in 0..500u64 {
                assert!(filter.insert(key) && filter.contains(key));
            }
            assert!(!(500..1000).any(|key| filter.contains(key)), "3,500 of so many bits");
        }
    }
}
