//! Functions of a plan and its blocks for the plain kinds, whose bits are only ever set, until cleared: blocked,
//! classic and sliced.

use super::prelude::*;

/// How filters of a kind become smaller.
pub(crate) struct Folding {
    /// The unit of sizes, for messages.
    pub(crate) unit: &'static str,
    /// The size of a filter, which a fold divides.
    pub(crate) units: fn(&Plan) -> u64,
    /// Moves every bit or counter to its position in a filter this many times smaller.
    pub(crate) fold: fn(&[Block], &Plan, u64) -> Result<Blocks, OutOfMemory>,
}

/// The meaning of a plain kind's set bits.
pub(crate) struct Meaning {
    pub(crate) folding: Folding,
    /// The mean probability that a key never inserted passes, given these bits.
    pub(crate) fpp: fn(&[Block], &Plan) -> f64,
    /// Which bits a key leaves clear.
    pub(crate) coverage: fn(&Plan) -> Coverage,
}

/// Checks that all bits after the last are clear.
pub(crate) fn check(plan: &Plan, blocks: &[Block]) -> Result<(), FileError> {
    debug_assert_eq!(blocks.len() as u64, plan.bits.div_ceil(BLOCK_BITS));
    let mut behind = plan.bits..blocks.len() as u64 * BLOCK_BITS;
    let clear = !behind.any(|position| bits::get(blocks, position));
    Ok(check_field("payload", 1, clear, "zeros after the last bit of the filter")?)
}

pub(crate) fn empty(plan: &Plan) -> Result<Blocks, OutOfMemory> {
    Blocks::zeroed(plan.bytes() / bits::BLOCK_BYTES)
}

/// Copies a filter's blocks from bytes, which it checks.
pub(crate) fn from_bits(plan: &Plan, bits: &[u8]) -> Result<Blocks, FileError> {
    if bits.len() as u64 != plan.bytes() {
        return Err(FileError::Bits(plan.bytes(), bits.len() as u64));
    }
    let mut blocks = empty(plan)?;
    blocks.as_bytes_mut().copy_from_slice(bits);
    check(plan, &blocks)?;
    Ok(blocks)
}

pub(crate) fn receipt(meaning: &Meaning, plan: &Plan, blocks: &[Block], scheme: Scheme) -> Receipt {
    let set_bits = bits::count_ones(blocks);
    let keys = (meaning.coverage)(plan).keys((plan.bits - set_bits) as f64);
    let fpp = (meaning.fpp)(blocks, plan);
    Receipt::new(*plan, scheme, (set_bits, plan.bits), keys, fpp)
}

pub(crate) fn fold(
    folding: &Folding,
    plan: &mut Plan,
    blocks: &mut Blocks,
    divisor: u64,
) -> Result<(), MergeError> {
    let size = (folding.units)(plan);
    if divisor == 0 || !size.is_multiple_of(divisor) {
        return Err(MergeError::Indivisible(size, divisor, folding.unit));
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
    if keys > plan.keys {
        return Ok(());
    }
    let (size, keys) = ((folding.units)(plan), keys.max(1));
    let keeps = |divisor: &u64| {
        let smaller = Plan { keys, bits: plan.bits / divisor, ..*plan };
        P::promised_fpp(&smaller) <= plan.fpp
    };
    let low = (1..).take_while(|divisor| divisor * divisor <= size);
    let low: Vec<u64> = low.filter(|&divisor| size.is_multiple_of(divisor)).collect();
    // Divisors in pairs, the largest first.
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

/// Merges another filter into one by `join`, at the smaller size.
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

/// Estimates what two sets share, at the smaller size.
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

/// Checks that the probes agree and the sizes may be merged, and returns the divisor by which each filter is folded.
fn alike(folding: &Folding, left: &Plan, right: &Plan, how: Merge) -> Result<[u64; 2], MergeError> {
    if left.probes != right.probes {
        return Err(MergeError::ProbesDiffer(left.probes, right.probes));
    }
    let (left, right) = ((folding.units)(left), (folding.units)(right));
    let unit = folding.unit;
    if !left.is_multiple_of(right) && !right.is_multiple_of(left) {
        return Err(MergeError::NotFoldable(left, right, unit));
    }
    if left != right && how == Merge::Union {
        return Err(MergeError::SizesDiffer(left, right, unit));
    }
    Ok([(left / right).max(1), (right / left).max(1)])
}

/// The plan of a folded filter, and its blocks if the divisor is above 1.
fn folded(
    folding: &Folding,
    (plan, blocks): (&Plan, &[Block]),
    divisor: u64,
) -> Result<(Plan, Option<Blocks>), MergeError> {
    let folded = (divisor > 1).then(|| (folding.fold)(blocks, plan, divisor)).transpose()?;
    Ok((plan.divided(divisor), folded))
}

pub(crate) fn only<S>(mut parts: Vec<S>) -> S {
    parts.pop().expect("as many parts as in the layout")
}

/// Members of a plain kind's [`Core`], for whole filters; `$meaning` is of its bits.
macro_rules! plain_core {
    ($meaning:expr) => {
        fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
            Self::from_blocks(header.plan::<Self::Plans>()?, plain::only(parts))
        }

        fn compare<T: AsRef<[Block]>>(
            &self,
            other: &Self::With<T>,
        ) -> Result<Comparison, MergeError> {
            let theirs = (&other.plan, other.blocks.as_ref());
            plain::compare(&$meaning, (&self.plan, self.blocks.as_ref()), theirs)
        }
    };
}
pub(crate) use plain_core;

/// Like [`plain_core`], of its [`Owned`] core.
macro_rules! plain_owned {
    ($meaning:expr) => {
        type Refusal = Infallible;

        fn make(plan: &Plan) -> Result<Self, PlanError> {
            Ok(Self::of(*plan, plain::empty(plan)?))
        }

        fn clear(&mut self) {
            self.blocks.fill(Block::default());
        }

        fn merge<T: AsRef<[Block]>>(
            &mut self,
            other: &Self::With<T>,
            how: Merge,
        ) -> Result<(), MergeError> {
            let (ours, theirs) = ((&mut self.plan, &mut self.blocks), other.blocks.as_ref());
            let join = match how {
                Merge::Union | Merge::UnionFolding => bits::or,
                Merge::Intersection => bits::and,
            };
            plain::merge(&$meaning.folding, ours, (&other.plan, theirs), how, join)
        }
    };
}
pub(crate) use plain_owned;

macro_rules! folds {
    ($name:ident, $folding:expr) => {
        impl<H: Hashing> $name<H> {
            /// Makes the filter `divisor` times smaller. It still finds every key, at a higher rate. The result equals,
            /// bit for bit, a filter of the smaller size filled with the same keys (for a counting one, unless a
            /// counter stuck before a removal). The planned keys are divided too.
            ///
            /// # Errors
            /// [`MergeError::Indivisible`] if `divisor` does not divide the size; [`MergeError::OutOfMemory`].
            #[doc(hidden)]
            pub fn fold(&mut self, divisor: u64) -> Result<(), MergeError> {
                let core = &mut self.0.core;
                plain::fold(&$folding, &mut core.plan, &mut core.blocks, divisor)
            }

            /// Folds a filter that turned out too large to the smallest size at which it keeps its planned rate with
            /// `keys` keys, by a divisor of its size, and plans it for `keys` keys. Without such a divisor it stays
            /// unchanged. It must hold no more than `keys` keys; see [`estimated_len`](Filter::estimated_len).
            ///
            /// ```
            /// use umbel::{Blocked, Filter};
            ///
            /// let mut filter = Blocked::new(1_000_000, 0.01)?;
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
                let core = &mut self.0.core;
                plain::shrink::<Plans>(&$folding, &mut core.plan, &mut core.blocks, keys)
            }
        }
    };
}
pub(crate) use folds;

macro_rules! plain {
    ($name:ident, $meaning:expr) => {
        made_empty!($name);
        inserts! {
            $name,
            /// Inserts a key: true if it was certainly new, false if it may have been there before.
        }
        merges!($name);
        folds!($name, $meaning.folding);

        impl<H: Hashing> $name<H> {
            /// Makes a filter from a plan and bits from [`blocks`](Filter::blocks), for engines with a file format of
            /// their own, and filters so small that a header would be most of the file. The caller guarantees that the
            /// bits belong to this plan and scheme, undamaged: missing bits would make keys absent.
            ///
            /// ```
            /// use umbel::{Blocked, Filter, KeyHasher};
            ///
            /// let mut seen = Blocked::new(10, 0.01)?;
            /// seen.insert("key");
            /// let bits = seen.blocks()[0][0].as_bytes();
            /// let again = Blocked::from_bits(seen.plan(), bits, KeyHasher::default())?;
            /// assert!(again == seen);
            /// # Ok::<(), umbel::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`FileError::Plan`] for a plan of another kind; [`FileError::Bits`] for a wrong number of bytes;
            /// [`FileError::Field`] for bits set after the last; [`FileError::OutOfMemory`].
            pub fn from_bits(plan: &Plan, bits: &[u8], hasher: H) -> Result<Self, FileError> {
                let mut filter = Self::with_plan(plan, hasher)?;
                filter.0.core.blocks = plain::from_bits(plan, bits)?;
                Ok(filter)
            }
        }

        #[cfg(feature = "std")]
        impl<H: Hashing> $name<H> {
            /// Like [`insert_all`](Self::insert_all), on several threads, with the same resulting bits. On two threads
            /// it takes some 0.6 of the time where memory bandwidth allows; below some 100,000 keys threads cost more
            /// than they gain. Uses a copy of the filter for each thread but one, at most 6 bytes per key: with fewer
            /// keys, fewer threads run.
            ///
            /// ```
            /// # use std::num::NonZero;
            /// let keys: Vec<u64> = (0..1_000_000).collect();
            /// let mut filter = umbel::Blocked::new(1_000_000, 0.01)?;
            /// filter.insert_all_on(NonZero::new(2).unwrap(), &keys);
            /// assert!(keys.iter().all(|key| filter.contains(key)));
            /// # Ok::<(), umbel::Error>(())
            /// ```
            pub fn insert_all_on<K: Key<H> + Sync>(
                &mut self,
                threads: core::num::NonZero<usize>,
                keys: &[K],
            ) {
                crate::filter::parallel::insert_all(&mut self.0, threads, keys);
            }
        }

        impl<H: Hashing, S: AsRef<[Block]>> $name<H, S> {
            /// Estimates what the sets of this filter and another share, in one pass over both. If sizes differ, the
            /// larger filter is compared as if folded, at the precision of the smaller. The estimates are derived in
            /// [Mathematics](https://github.com/umbel/umbel/blob/main/docs/internals.md#7-two-sets).
            ///
            /// # Errors
            /// As [`union`](Self::union).
            pub fn compare(
                &self,
                other: &$name<impl Hashing, impl AsRef<[Block]>>,
            ) -> Result<Comparison, MergeError> {
                self.0.compare(&other.0)
            }
        }
    };
}
pub(crate) use plain;

#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod tests {
    use super::*;
    use crate::kinds::{blocked::BlockedCore, scattered::ScatteredCore};
    use crate::{Blocked, Classic};

    fn huge(variant: Variant, bits: u64, probes: u32) -> (Plan, Blocks) {
        let plan = Plan { variant, keys: 1 << 30, fpp: 0.01, bits, probes };
        (plan, Blocks::sparse(plan.bytes() / bits::BLOCK_BYTES))
    }

    /// Filters of 2^33 and 2^36 bits use memory only where touched. Keys reach every region, from the first to the last
    /// block, and are found there; each touches its own block.
    #[test]
    fn every_region_of_a_huge_filter_is_addressed() {
        for bits in [(1 << 33) + 512, (1 << 36) + (3 << 20)] {
            let (plan, blocks) = huge(Variant::Blocked, bits, 8);
            let core = BlockedCore::from_blocks(plan, blocks).unwrap();
            let mut filter = Blocked(Hashed::of(core, KeyHasher::default()));
            const REGIONS: u64 = 512;
            let step = u64::MAX / REGIONS;
            let hash = |i: u64| KeyHash { high: i * step, low: i * 0x0123_4567_89ab };
            let hashes: Vec<KeyHash> = (0..=REGIONS).map(hash).collect();
            assert!(hashes.iter().all(|hash| filter.insert(*hash)), "no two share a block");
            assert!(hashes.iter().all(|hash| filter.contains(*hash)));
            let blocks = bits / 512;
            for hash in &hashes {
                let block = (u128::from(hash.high) * u128::from(blocks)) >> 64;
                let set = filter.0.core.blocks[block as usize].count_ones();
                assert_eq!(set, 8, "block {block} of {blocks}");
            }
        }
        for bits in [(1u64 << 33) + 77, (1 << 36) + 1001] {
            let (plan, blocks) = huge(Variant::Classic, bits, 7);
            let core = ScatteredCore::from_blocks(plan, blocks).unwrap();
            let mut filter = Classic(Hashed::of(core, KeyHasher::default()));
            for key in 0..500u64 {
                assert!(filter.insert(key) && filter.contains(key));
            }
            assert!(!(500..1000).any(|key| filter.contains(key)), "3,500 of so many bits");
        }
    }
}
