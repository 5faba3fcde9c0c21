//! What the plain kinds share, whose bits are only ever set, until cleared: blocked, classic and sliced. Functions of a plan
//! and its blocks.

use crate::bits::{self, BLOCK_BITS, Block, Blocks};
use crate::error::{OutOfMemory, check_field};
use crate::filter::core::Merge;
use crate::filter::{Comparison, MergeError, Receipt};
use crate::format::FileError;
use crate::hash::Scheme;
use crate::math::Coverage;
use crate::plan::{Plan, Planner};
use crate::prelude::*;

/// How filters of a kind become smaller.
pub(crate) struct Folding {
    /// The unit of sizes in messages.
    pub(crate) unit: &'static str,
    /// The units that a fold divides.
    pub(crate) units: fn(&Plan) -> u64,
    /// Moves every bit or counter to its position in a filter so many times smaller.
    pub(crate) fold: fn(&[Block], &Plan, u64) -> Result<Blocks, OutOfMemory>,
}

/// What the bits of a plain kind mean, once they are set.
pub struct Meaning {
    pub(crate) folding: Folding,
    /// The mean probability that a key never inserted passes, given these bits.
    pub(crate) fpp: fn(&[Block], &Plan) -> f64,
    /// Which bits a key leaves clear.
    pub(crate) coverage: fn(&Plan) -> Coverage,
}

/// Checks that there are as many blocks as the plan has, and no bit after its last one.
pub(crate) fn check(plan: &Plan, blocks: &[Block]) -> Result<(), FileError> {
    debug_assert_eq!(blocks.len() as u64, plan.bits.div_ceil(BLOCK_BITS));
    let mut behind = plan.bits..blocks.len() as u64 * BLOCK_BITS;
    let clear = !behind.any(|position| bits::get(blocks, position));
    Ok(check_field("payload", 1, clear, "zeros after the last bit of the filter")?)
}

/// The blocks of an empty filter.
pub(crate) fn empty(plan: &Plan) -> Result<Blocks, OutOfMemory> {
    Blocks::zeroed(plan.bytes() / bits::BLOCK_BYTES)
}

/// What the filter delivers now.
pub(crate) fn receipt(meaning: &Meaning, plan: &Plan, blocks: &[Block], scheme: Scheme) -> Receipt {
    let set_bits = bits::count_ones(blocks);
    let keys = (meaning.coverage)(plan).keys((plan.bits - set_bits) as f64);
    let fpp = (meaning.fpp)(blocks, plan);
    Receipt::new(*plan, scheme, (set_bits, plan.bits), keys, fpp)
}

/// Makes a filter `divisor` times smaller.
pub(crate) fn fold(
    folding: &Folding,
    plan: &mut Plan,
    blocks: &mut Blocks,
    divisor: u64,
) -> Result<(), MergeError> {
    let size = (folding.units)(plan);
    if divisor == 0 || !size.is_multiple_of(divisor) {
        return Err(MergeError::Indivisible { size, divisor, unit: folding.unit });
    }
    if divisor > 1 {
        *blocks = (folding.fold)(blocks, plan, divisor)?;
        *plan = plan.divided(divisor);
    }
    Ok(())
}

/// Folds a filter as far as it keeps its planned rate with `keys` keys, and plans it for these.
pub(crate) fn shrink<P: Planner>(
    folding: &Folding,
    plan: &mut Plan,
    blocks: &mut Blocks,
    keys: u64,
) -> Result<(), MergeError> {
    let (size, keys) = ((folding.units)(plan), keys.max(1));
    let keeps = |divisor: &u64| {
        let smaller = Plan { keys, bits: plan.bits / divisor, ..*plan };
        P::promised_fpp(&smaller) <= plan.fpp
    };
    let low = (1..).take_while(|divisor| divisor * divisor <= size);
    let low: Vec<u64> = low.filter(|&divisor| size.is_multiple_of(divisor)).collect();
    // Divisors come in pairs. From the largest to the smallest.
    let mut all = low.iter().map(|divisor| size / divisor).chain(low.iter().rev().copied());
    match all.find(keeps) {
        None | Some(1) => Ok(()),
        Some(divisor) => {
            fold(folding, plan, blocks, divisor)?;
            plan.keys = keys;
            Ok(())
        }
    }
}

/// Merges a filter with another by `join`, at the smaller size.
pub(crate) fn merge(
    folding: &Folding,
    (plan, blocks): (&mut Plan, &mut Blocks),
    (other, others): (&Plan, &[Block]),
    how: Merge,
    join: impl FnOnce(&mut [Block], &[Block]),
) -> Result<(), MergeError> {
    let [divisor, other_divisor] = alike(folding, plan, other, how)?;
    let (other, folded) = folded(folding, (other, others), other_divisor)?;
    fold(folding, plan, blocks, divisor)?;
    join(blocks, folded.as_deref().unwrap_or(others));
    *plan = plan.merged(&other);
    Ok(())
}

/// Merges filters of bits; see [`merge`].
pub(crate) fn merge_bits(
    meaning: &Meaning,
    ours: (&mut Plan, &mut Blocks),
    theirs: (&Plan, &[Block]),
    how: Merge,
) -> Result<(), MergeError> {
    merge(
        &meaning.folding,
        ours,
        theirs,
        how,
        match how {
            Merge::Union | Merge::UnionFolding => bits::or,
            Merge::Intersection => bits::and,
        },
    )
}

/// Estimates what two sets share, at the size of the smaller filter.
pub(crate) fn compare(
    meaning: &Meaning,
    left: (&Plan, &[Block]),
    right: (&Plan, &[Block]),
) -> Result<Comparison, MergeError> {
    let divisors = alike(&meaning.folding, left.0, right.0, Merge::Intersection)?;
    let (plan, lefts) = folded(&meaning.folding, left, divisors[0])?;
    let (_, rights) = folded(&meaning.folding, right, divisors[1])?;
    let lefts = lefts.as_deref().unwrap_or(left.1);
    let set = bits::count_shared(lefts, rights.as_deref().unwrap_or(right.1));
    let coverage = (meaning.coverage)(&plan);
    let [ones, others, both] = set;
    let clear = [ones, others, ones + others - both].map(|ones| (plan.bits - ones) as f64);
    let keys = [clear[0], clear[1]].map(|clear| coverage.keys(clear));
    let overlap = coverage.overlap(clear[0], clear[1], clear[2]);
    Ok(Comparison::new(keys, overlap, plan.bits, set))
}

/// Checks that both have the same number of probes and one size, or may be folded to one, and returns by how much each is.
fn alike(folding: &Folding, left: &Plan, right: &Plan, how: Merge) -> Result<[u64; 2], MergeError> {
    probe_alike(left, right)?;
    let (left, right) = ((folding.units)(left), (folding.units)(right));
    let unit = folding.unit;
    if !left.is_multiple_of(right) && !right.is_multiple_of(left) {
        return Err(MergeError::NotFoldable { left, right, unit });
    }
    if left != right && how == Merge::Union {
        return Err(MergeError::SizesDiffer { left, right, unit });
    }
    Ok([(left / right).max(1), (right / left).max(1)])
}

/// The plan of a filter folded by a divisor, and its blocks, if that is more than 1.
fn folded(
    folding: &Folding,
    (plan, blocks): (&Plan, &[Block]),
    divisor: u64,
) -> Result<(Plan, Option<Blocks>), MergeError> {
    match divisor {
        1 => Ok((*plan, None)),
        _ => Ok((plan.divided(divisor), Some((folding.fold)(blocks, plan, divisor)?))),
    }
}

/// Checks that two filters have the same number of probes.
pub(crate) fn probe_alike(left: &Plan, right: &Plan) -> Result<(), MergeError> {
    let [left, right] = [left.probes, right.probes];
    if left == right { Ok(()) } else { Err(MergeError::ProbesDiffer { left, right }) }
}

/// The only part of a filter.
pub(crate) fn only<S>(mut parts: Vec<S>) -> S {
    parts.pop().expect("as many parts as in the layout")
}

/// The methods of a plain kind, whose bits have this [`Meaning`].
macro_rules! plain {
    ([$($generics:tt)*] $core:ident $([$layout:ident])?, $meaning:expr) => {
        made_empty!([$($generics)*] $core $(<$layout>)?);
        insert_all!([$($generics)*] $core $(<$layout>)?);
        merges!([$($generics)*] $core $([$layout])?);

        impl<$($generics)* H: Hashing> Filter<$core $(<$layout>)?, H> {
            /// Inserts a key: true if it was certainly new, false if it may have been there before.
            #[inline]
            pub fn insert(&mut self, key: impl Key<H>) -> bool {
                self.core.insert(key.key_hash(&self.hasher))
            }

            /// Makes the filter `divisor` times smaller. It still finds every key, at a higher rate.
            ///
            /// The result equals, bit for bit, a filter of the smaller size filled with the same keys. The planned keys
            /// are divided too.
            ///
            /// # Errors
            /// [`MergeError::Indivisible`] if `divisor` does not divide the size; [`MergeError::OutOfMemory`].
            pub fn fold(&mut self, divisor: u64) -> Result<(), MergeError> {
                let core = &mut self.core;
                plain::fold(&$meaning.folding, &mut core.plan, &mut core.blocks, divisor)
            }

            /// Folds the filter to the smallest size at which it keeps its planned rate with `keys` keys, by the largest
            /// divisor of its size that allows it; stays as it is if none does. The plan is for `keys` keys then.
            ///
            /// For a filter that turned out too large. It must hold no more than `keys` keys, which
            /// [`estimated_len`](Self::estimated_len) tells.
            ///
            /// ```
            /// let mut filter = umbel::Blocked::new(1_000_000, 0.01)?;
            /// filter.extend(0..1_000);
            /// filter.shrink_to(1_000)?;
            /// assert!((0..1_000).all(|key| filter.contains(key)));
            /// assert!(filter.receipt().fpp < 0.012 && filter.bytes() < 2_000);
            /// # Ok::<(), umbel::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`MergeError::OutOfMemory`].
            pub fn shrink_to(&mut self, keys: u64) -> Result<(), MergeError> {
                type Plans<C> = <C as Core>::Plans;
                let core = &mut self.core;
                let (plan, blocks) = (&mut core.plan, &mut core.blocks);
                plain::shrink::<Plans<$core $(<$layout>)?>>(&$meaning.folding, plan, blocks, keys)
            }

            /// Like [`insert_all`](Self::insert_all), on several threads; the bits are the same. On two threads it takes
            /// some 0.6 of the time where memory allows; below some 100,000 keys threads cost more than they gain.
            ///
            /// Memory: a copy of the filter for each thread but one, at most 6 bytes per key: with fewer keys, fewer
            /// threads run.
            ///
            /// ```
            /// # use std::num::NonZero;
            /// let keys: Vec<u64> = (0..1_000_000).collect();
            /// let mut filter = umbel::Blocked::new(1_000_000, 0.01)?;
            /// filter.insert_all_on(NonZero::new(2).unwrap(), &keys);
            /// assert!(keys.iter().all(|key| filter.contains(key)));
            /// # Ok::<(), umbel::Error>(())
            /// ```
            #[cfg(feature = "std")]
            pub fn insert_all_on<K: Key<H> + Sync>(
                &mut self,
                threads: core::num::NonZero<usize>,
                keys: &[K],
            ) {
                let merge = |core: &mut $core $(<$layout>)?, copy: &$core $(<$layout>)?| {
                    core.merge(copy, Merge::Union).expect("filters of one plan merge");
                };
                crate::filter::parallel::insert_all(self, threads, keys, merge);
            }
        }

        impl<$($generics)* S: AsRef<[Block]>, H: Hashing> Filter<$core<$($layout,)? S>, H> {
            /// Estimates what the sets of this filter and another share. One pass over both.
            ///
            /// If sizes differ, the larger filter is compared as if folded, at the precision of the smaller. See
            /// [`Coverage::overlap`](crate::math::Coverage::overlap) for the estimates.
            ///
            /// # Errors
            /// As [`union`](Filter::union).
            pub fn compare<T: AsRef<[Block]>>(
                &self,
                other: &Filter<$core<$($layout,)? T>, impl Hashing>,
            ) -> Result<Comparison, MergeError> {
                same_keys(self, other)?;
                let (left, right) = (&self.core, &other.core);
                let left = (&left.plan, left.blocks.as_ref());
                plain::compare(&$meaning, left, (&right.plan, right.blocks.as_ref()))
            }
        }
    };
}
pub(crate) use plain;

#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::kinds::{blocked::BlockedCore, spread::SpreadCore};
    use crate::{Blocked, Classic, KeyHash, KeyHasher, Variant};

    fn huge(variant: Variant, bits: u64, probes: u32) -> (Plan, Blocks) {
        let plan = Plan { variant, keys: 1 << 30, fpp: 0.01, bits, probes };
        (plan, Blocks::sparse(plan.bytes() / bits::BLOCK_BYTES))
    }

    /// Filters of 2^33 and 2^36 bits, which use memory only where touched: keys reach every region, the first and last
    /// blocks included, and are found there; each touches its own block.
    #[test]
    fn every_region_of_a_huge_filter_is_addressed() {
        for bits in [(1 << 33) + 512, (1 << 36) + (3 << 20)] {
            let (plan, blocks) = huge(Variant::Blocked, bits, 8);
            let core = BlockedCore::from_blocks(plan, blocks).unwrap();
            let mut filter: Blocked = Filter::of(core, KeyHasher::default());
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
            let (plan, blocks) = huge(Variant::Classic, bits, 7);
            let core = SpreadCore::from_blocks(plan, blocks).unwrap();
            let mut filter: Classic = Filter::of(core, KeyHasher::default());
            for key in 0..500u64 {
                assert!(filter.insert(key) && filter.contains(key));
            }
            assert!(!(500..1000).any(|key| filter.contains(key)), "3,500 of so many bits");
        }
    }
}
