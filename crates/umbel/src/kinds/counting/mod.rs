//! The counting filter: a counter in place of each bit, so that keys can be removed (L. Fan, P. Cao, J. Almeida, A. Z.
//! Broder 2000, section V-C, <https://doi.org/10.1109/90.851975>).
//!
//! The paper counts over a classic filter; here the counters are laid over a blocked one. A key has the same block, the
//! same positions in it, the same probes and sizes, so that dropping the counts gives the blocked filter of the keys it
//! holds, bit for bit. `bits::counters` describes how a block of counters is laid out in its cache lines. If two probes
//! of a key meet, the position is counted once, just as a bit is set once.

mod plan;

use core::convert::Infallible;

use plan::counter_bits;
pub(crate) use plan::{Plans, part};

use super::blocked::{self, Blocked, BlockedCore, MEANING};
use super::plain::{self, Folding, empty, only, probe_alike};
use crate::bits::{BLOCK_BITS, Block, Blocks, Counters, counters};
use crate::error::{FieldError, OutOfMemory, check_field};
use crate::filter::core::{Core, GROUP, InsertCore, MakeCore, Merge, MergeCore, one_part};
use crate::filter::generic::hashed;
use crate::filter::methods::{insert_all, made_empty, merges};
use crate::filter::{Fact, Filter, MergeError, Receipt};
use crate::format::{FileError, Header};
use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Scheme};
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// A filter that keys can be removed from, with counters of 4, 8 or 16 bits in place of bits.
///
/// Use it for sets that change: the objects in a cache, sessions, a block list being edited. Send others the result of
/// [`to_blocked`](Filter::to_blocked): a plain filter of a quarter of the size (with 4-bit counters), bit for bit the
/// one made from the present keys, which merges with others.
///
/// # Removing
/// [`remove`](Filter::remove) refuses a key that is certainly absent. A false positive cannot be told from a member:
/// removing it lowers counters of other keys, which may then be answered "absent". So remove only keys that were
/// inserted, and only as often as they were inserted; then no present key is ever absent. A key inserted twice counts
/// twice.
///
/// A counter that reaches its maximum (12, 192 or 49,152) *sticks*: its true count is no longer known, so it is never
/// lowered. No key is lost by that, but keys that share it may still pass after they were removed; the receipt reports
/// how many counters stick. With different keys, filled as planned, a 4-bit counter sticks less than once in 10⁹; use
/// wider ones if a key is inserted many times.
///
/// # Cost
/// A blocked filter's bits times the bits of a counter: 40 per key at 1 % with 4-bit counters. A query reads two
/// adjacent cache lines, an insertion two for three of four keys, a removal as many as a counter has bits. *When not to
/// use it:* if keys are never removed, use [`Blocked`]; if old keys should fade from a stream by themselves, use a
/// window or a stable filter.
///
/// # Receipt
/// Fill, keys and rate are those of the blocked filter that it converts to. Its facts: `insertions`, the approximate
/// number of insertions not yet removed (the sum of all counters divided by the positions per key, too low if counters
/// stick); `stuck_counters`; and if there are any, `stuck`, which explains them.
///
/// `S` is the storage of the counters; a filter that borrows or maps them can only be queried.
///
/// ```
/// use umbel::Counting;
///
/// let mut cached = Counting::new(10_000, 0.01)?;
/// cached.insert("/index.html");
/// cached.insert("/logo.png");
/// assert!(cached.remove("/logo.png"), "evicted");
/// assert!(!cached.contains("/logo.png") && cached.contains("/index.html"));
/// assert!(!cached.remove("/logo.png"), "certainly not there: nothing changes");
/// let shipped = cached.to_blocked()?;
/// assert!(shipped.contains("/index.html") && 4 * shipped.bytes() == cached.bytes());
/// # Ok::<(), umbel::Error>(())
/// ```
pub type Counting<S = Blocks, H = KeyHasher> = Filter<CountingCore<S>, H>;

/// The core of a [`Counting`] filter.
#[derive(Clone)]
pub struct CountingCore<S = Blocks> {
    plan: Plan,
    kernel: Counters,
    /// Lines of a block: its planes.
    planes: usize,
    blocks: S,
}

impl<S> CountingCore<S> {
    fn of(plan: Plan, blocks: S) -> Self {
        let planes = counter_bits(plan.variant);
        let kernel = Counters::detect(planes, plan.probes);
        Self { plan, kernel, planes: planes as usize, blocks }
    }
}

impl<S: AsRef<[Block]>> CountingCore<S> {
    fn plain(&self) -> Result<BlockedCore, OutOfMemory> {
        self.borrowed().to_plain()
    }
}

impl CountingCore<&[Block]> {
    /// The planes of each block.
    fn planes(&self) -> core::slice::Chunks<'_, Block> {
        self.blocks.chunks(self.planes)
    }

    fn to_plain(&self) -> Result<BlockedCore, OutOfMemory> {
        let plan = part(&self.plan);
        let mut plain = empty(&plan)?;
        for (to, block) in plain.iter_mut().zip(self.planes()) {
            *to = counters::used(block);
        }
        Ok(BlockedCore::from_blocks(plan, plain).expect("whole blocks"))
    }

    fn check(&self) -> Result<(), FieldError> {
        let counts = self.planes().all(counters::are_counts);
        check_field("payload", 0, counts, "counters with a low part of 0 to have none above it")
    }

    fn measured(&self, scheme: Scheme) -> Receipt {
        let plain = part(&self.plan);
        let (mut used, mut stuck, mut total, mut sum) = (0, 0, 0, 0.0);
        for block in self.planes() {
            let bits = counters::used(block);
            used += u64::from(bits.count_ones());
            stuck += u64::from(counters::stuck(block).count_ones());
            total += counters::total(block);
            sum += blocked::rate::fpp_of_block(bits.0.map(u64::count_ones), plain.probes);
        }
        let keys = (MEANING.coverage)(&plain).keys((plain.bits - used) as f64);
        let fpp = sum / (FOLDING.units)(&self.plan) as f64;
        let receipt = Receipt::new(self.plan, scheme, (used, plain.bits), keys, fpp);
        let positions = BLOCK_BITS as f64 * blocked::rate::bit_chance(plain.probes);
        let insertions = (total as f64 / positions).round() as u64;
        let mut facts =
            vec![Fact::count("insertions", insertions), Fact::count("stuck_counters", stuck)];
        if stuck > 0 {
            let top = counters::top(self.planes as u32);
            let words = format!(
                "counters that reached {top} are never lowered: no key is lost, but keys that share \
                 them may still pass when they are removed; wider counters would not stick"
            );
            facts.push(Fact::text("stuck", words));
        }
        Receipt { facts, ..receipt }
    }
}

const FOLDING: Folding = Folding {
    unit: MEANING.folding.unit,
    units: |plan| plan.bits / BLOCK_BITS / u64::from(counter_bits(plan.variant)),
    fold: |blocks, plan, divisor| {
        let planes = counter_bits(plan.variant) as usize;
        let mut folded = Blocks::zeroed(blocks.len() as u64 / divisor)?;
        let parts = blocks.chunks(planes * divisor as usize);
        for (total, parts) in folded.chunks_mut(planes).zip(parts) {
            parts.chunks(planes).for_each(|part| counters::sum(total, part));
        }
        Ok(folded)
    },
};

made_empty!([] CountingCore);
insert_all!([] CountingCore);
merges!([] CountingCore);

impl<H: Hashing> Counting<Blocks, H> {
    /// Inserts a key once: true if it was certainly new, false if it may have been there before.
    #[inline]
    pub fn insert(&mut self, key: impl Key<H>) -> bool {
        self.core.kernel.add_one(&mut self.core.blocks, key.key_hash(&self.hasher))
    }

    /// Removes a key once; false if it is certainly absent, and then nothing changes.
    ///
    /// **Remove only keys that were inserted, and only as often as they were.** A false positive is removed like any
    /// other key, and then keys that share its counters may be lost: with 8 probes and the filter filled as planned, it
    /// lowers 8 counters, most of them above 1 or belonging to one other key each.
    #[inline]
    pub fn remove(&mut self, key: impl Key<H>) -> bool {
        self.core.kernel.take_one(&mut self.core.blocks, key.key_hash(&self.hasher))
    }

    /// Removes many keys in order, with overlapping cache misses: `removed[i]` becomes what [`remove`](Self::remove)
    /// returns for `keys[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn remove_all<K: Key<H>>(&mut self, keys: &[K], removed: &mut [bool]) {
        assert_eq!(keys.len(), removed.len(), "one answer for each key");
        let CountingCore { kernel, blocks, .. } = &mut self.core;
        let Ok(()) = hashed::<{ GROUP / 2 }, _, _, _>(keys, &self.hasher, &mut |range, hashes| {
            kernel.take(blocks, hashes, &mut removed[range]);
            Ok::<_, Infallible>(())
        });
    }

    /// Makes the filter `divisor` times smaller. The result is the filter of that size after the same insertions,
    /// unless a counter stuck before a removal. The planned keys are divided too.
    ///
    /// # Errors
    /// [`MergeError::Indivisible`] if `divisor` does not divide the number of blocks; [`MergeError::OutOfMemory`].
    pub fn fold(&mut self, divisor: u64) -> Result<(), MergeError> {
        plain::fold(&FOLDING, &mut self.core.plan, &mut self.core.blocks, divisor)
    }

    /// Folds the filter to the smallest size at which it keeps its planned rate with `keys` keys; see
    /// [`Blocked::shrink_to`](Filter::shrink_to).
    ///
    /// # Errors
    /// [`MergeError::OutOfMemory`].
    pub fn shrink_to(&mut self, keys: u64) -> Result<(), MergeError> {
        plain::shrink::<Plans>(&FOLDING, &mut self.core.plan, &mut self.core.blocks, keys)
    }
}

impl<S: AsRef<[Block]>, H: Hashing> Counting<S, H> {
    /// Estimates how often a key was inserted: the least of its counters, which other keys share. Never too low, except
    /// after removals of keys that were not inserted; at most the maximum of a counter, 12, 192 or 49,152.
    pub fn count(&self, key: impl Key<H>) -> u32 {
        self.core.kernel.least_one(self.core.blocks.as_ref(), key.key_hash(&self.hasher))
    }

    /// Counts many keys, with overlapping cache misses: `counts[i]` becomes what [`count`](Self::count) returns for
    /// `keys[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn count_all<K: Key<H>>(&self, keys: &[K], counts: &mut [u32]) {
        assert_eq!(keys.len(), counts.len(), "one answer for each key");
        let Ok(()) = hashed::<GROUP, _, _, _>(keys, &self.hasher, &mut |range, hashes| {
            self.core.kernel.least(self.core.blocks.as_ref(), hashes, &mut counts[range]);
            Ok::<_, Infallible>(())
        });
    }

    /// Returns the plain filter to send to others: bit for bit the blocked one made from the present keys, unless
    /// counters stick. One pass.
    ///
    /// # Errors
    /// If memory for it cannot be allocated.
    pub fn to_blocked(&self) -> Result<Blocked<Blocks, H>, OutOfMemory> {
        Ok(self.with(self.core.plain()?))
    }
}

impl<S: AsRef<[Block]>> Core for CountingCore<S> {
    type Plans = Plans;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        self.kernel.has_one(self.blocks.as_ref(), hash)
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.kernel.has(self.blocks.as_ref(), hashes, found);
    }

    one_part!(CountingCore<T> { plan, kernel, planes });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let filter = Self::of(header.plan::<Plans>()?, only(parts));
        filter.borrowed().check()?;
        Ok(filter)
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        self.borrowed().measured(scheme)
    }
}

impl MakeCore for CountingCore {
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, empty(plan)?))
    }
}

impl InsertCore for CountingCore {
    type Full = Infallible;

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        self.kernel.add(&mut self.blocks, hashes);
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        self.kernel.add_new(&mut self.blocks, hashes, new);
        Ok(())
    }

    /// Also resets counters that stuck.
    fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }
}

impl MergeCore for CountingCore {
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &CountingCore<T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        probe_alike(&self.plan, &other.plan)?;
        let [left, right] = [self.planes as u32, other.planes as u32];
        if left != right {
            return Err(MergeError::CellsDiffer { left, right });
        }
        let join = match how {
            Merge::Union | Merge::UnionFolding => counters::sum,
            Merge::Intersection => counters::lesser,
        };
        let (planes, theirs) = (self.planes, (&other.plan, other.blocks.as_ref()));
        plain::merge(&FOLDING, (&mut self.plan, &mut self.blocks), theirs, how, |ours, theirs| {
            counters::join_all(ours, theirs, planes, join);
        })
    }
}
