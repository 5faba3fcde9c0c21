//! The counting filter: a counter in place of each bit, which allows removing keys.
//!
//! The paper counts over a classic filter, this module over a blocked one. A key has the same block, positions, probes
//! and sizes there, so dropping the counts gives the blocked filter of the present keys, bit for bit. `bits::counters`
//! describes the layout of counters. If two probes of a key meet, the position is counted once, just as a bit is set
//! once.

mod plan;

use plan::counter_bits;
pub(crate) use plan::{Plans, part};

use super::blocked::{self, Blocked, BlockedCore, MEANING};
use super::plain::{self, Folding, empty, folds, only};
use super::prelude::*;
use crate::bits::{Counters, counters};

filter! {
    /// A filter that keys can be removed from, with counters of 4, 8 or 16 bits in place of bits (L. Fan, P. Cao, J.
    /// Almeida, A. Z. Broder 2000, section V-C, <https://doi.org/10.1109/90.851975>).
    ///
    /// Use it for sets that change: the objects in a cache, sessions, a block list being edited. To share it, send the
    /// result of [`to_blocked`](Self::to_blocked): with 4-bit counters a quarter of the size, bit for bit the blocked
    /// filter of the present keys, which merges with others.
    ///
    /// # Removing
    /// [`remove`](Self::remove) refuses a key that is certainly absent, but cannot distinguish a false positive from a
    /// member. Removing one lowers counters of other keys, which may then be answered "absent". So remove only keys
    /// that were inserted, and only as often; then no present key is ever absent. A key inserted twice counts twice.
    ///
    /// A counter that reaches its maximum (12, 192 or 49,152) *sticks*: its true count is unknown, so it is never
    /// lowered. That loses no keys, but keys that share it may still pass after their removal; the receipt reports how
    /// many counters stick. With different keys, filled as planned, a 4-bit counter sticks less than once in 10⁹; use
    /// wider ones if a key is inserted many times.
    ///
    /// # Cost
    /// A blocked filter's bits times the bits of a counter: 40 per key at 1 % with 4-bit counters. A query reads two
    /// adjacent cache lines, and so do three of four insertions; a removal touches as many as a counter has bits. *When
    /// not to use it:* if keys are never removed, use [`Blocked`]; if old keys should fade from a stream by themselves,
    /// use a window or a stable filter.
    ///
    /// # Receipt
    /// Fill, keys and rate belong to the blocked filter that it converts to. Its facts: `insertions`, the approximate
    /// number of insertions not yet removed (the sum of all counters divided by the positions per key, too low if
    /// counters stick); `stuck_counters`; and if there are any, `stuck`, which explains them.
    ///
    /// ```
    /// use umbel::{Counting, Filter};
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
    Counting(CountingCore)
}

/// The core of a [`Counting`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct CountingCore<S = Blocks> {
    plan: Plan,
    kernel: Counters,
    blocks: S,
}

impl<S> CountingCore<S> {
    fn of(plan: Plan, blocks: S) -> Self {
        let kernel = Counters::detect(counter_bits(plan.variant), plan.probes);
        Self { plan, kernel, blocks }
    }

    /// Planes, and so cache lines, of a block.
    fn planes(&self) -> usize {
        counter_bits(self.plan.variant) as usize
    }
}

impl CountingCore<&[Block]> {
    fn counters(&self) -> core::slice::Chunks<'_, Block> {
        self.blocks.chunks(self.planes())
    }

    fn plain(&self) -> Result<BlockedCore, OutOfMemory> {
        let plan = part(&self.plan);
        let mut plain = empty(&plan)?;
        for (to, block) in plain.iter_mut().zip(self.counters()) {
            *to = counters::used(block);
        }
        Ok(BlockedCore::from_blocks(plan, plain).expect("whole blocks"))
    }

    fn measured(&self, scheme: Scheme) -> Receipt {
        let plain = part(&self.plan);
        let (mut used, mut stuck, mut total, mut sum) = (0, 0, 0, 0.0);
        for block in self.counters() {
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
            let top = counters::top(counter_bits(self.plan.variant));
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

made_empty!(Counting);
inserts! {
    Counting,
    /// Inserts a key once: true if it was certainly new, false if it may have been there before.
}
merges!(Counting);
folds!(Counting, FOLDING);

impl<H: Hashing> Counting<H> {
    /// Removes a key once; false if it is certainly absent, and then nothing changes.
    ///
    /// **Remove only keys that were inserted, and only as often as they were.** Removing a false positive can lose keys
    /// that share its counters: with 8 probes and the filter filled as planned, it lowers 8 counters, most of them
    /// above 1 or belonging to one other key each.
    #[inline]
    pub fn remove(&mut self, key: impl Key<H>) -> bool {
        let CountingCore { kernel, blocks, .. } = &mut self.0.core;
        kernel.take_one(blocks, key.key_hash(&self.0.hasher))
    }

    /// Removes many keys in order with overlapping cache misses: sets `removed[i]` to what [`remove`](Self::remove)
    /// returns for `keys[i]`. Panics if the slices differ in length.
    pub fn remove_all<K: Key<H>>(&mut self, keys: &[K], removed: &mut [bool]) {
        assert_eq!(keys.len(), removed.len(), "one answer for each key");
        let CountingCore { kernel, blocks, .. } = &mut self.0.core;
        let Ok(()) = hashed::<{ HASHES_AT_ONCE / 2 }, _, _, _>(
            keys,
            &self.0.hasher,
            &mut |range, hashes| {
                kernel.take(blocks, hashes, &mut removed[range]);
                Ok::<_, Infallible>(())
            },
        );
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Counting<H, S> {
    /// Estimates how often a key was inserted: the least of its counters, which other keys share. Never too low, except
    /// after removals of keys that were not inserted; at most the maximum of a counter, 12, 192 or 49,152.
    pub fn count(&self, key: impl Key<H>) -> u32 {
        let CountingCore { kernel, blocks, .. } = &self.0.core;
        kernel.least_one(blocks.as_ref(), key.key_hash(&self.0.hasher))
    }

    /// Counts many keys with overlapping cache misses: sets `counts[i]` to what [`count`](Self::count) returns for
    /// `keys[i]`. Panics if the slices differ in length.
    pub fn count_all<K: Key<H>>(&self, keys: &[K], counts: &mut [u32]) {
        assert_eq!(keys.len(), counts.len(), "one answer for each key");
        let CountingCore { kernel, blocks, .. } = &self.0.core;
        let Ok(()) =
            hashed::<HASHES_AT_ONCE, _, _, _>(keys, &self.0.hasher, &mut |range, hashes| {
                kernel.least(blocks.as_ref(), hashes, &mut counts[range]);
                Ok::<_, Infallible>(())
            });
    }

    /// Returns the blocked filter of the present keys, bit for bit unless counters stick, in one pass. Fails if memory
    /// for it cannot be allocated.
    pub fn to_blocked(&self) -> Result<Blocked<H>, OutOfMemory> {
        Ok(Blocked(self.0.with(self.0.core.borrowed().plain()?)))
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

    one_part!(CountingCore<T> { plan, kernel });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let filter = Self::of(header.plan::<Plans>()?, only(parts));
        let counts = filter.borrowed().counters().all(counters::are_counts);
        check_field("payload", 0, counts, "counters with a low part of 0 to have none above it")?;
        Ok(filter)
    }

    /// Compares the blocked filters they convert to.
    fn compare<T: AsRef<[Block]>>(
        &self,
        other: &CountingCore<T>,
    ) -> Result<Comparison, MergeError> {
        self.borrowed().plain()?.compare(&other.borrowed().plain()?)
    }

    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>> {
        Some(blocked::positions(&part(&self.plan), hash).collect())
    }
}

impl Owned for CountingCore {
    type Refusal = Infallible;

    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, empty(plan)?))
    }

    #[inline]
    fn insert(&mut self, hash: KeyHash) -> Result<bool, Infallible> {
        Ok(self.kernel.add_one(&mut self.blocks, hash))
    }

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

    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &CountingCore<T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let [left, right] = [self.plan, other.plan].map(|plan| counter_bits(plan.variant));
        if left != right {
            return Err(MergeError::CellsDiffer(left, right));
        }
        let join = match how {
            Merge::Union | Merge::UnionFolding => counters::sum,
            Merge::Intersection => counters::lesser,
        };
        let (planes, theirs) = (self.planes(), (&other.plan, other.blocks.as_ref()));
        plain::merge(&FOLDING, (&mut self.plan, &mut self.blocks), theirs, how, |ours, theirs| {
            counters::join_all(ours, theirs, planes, join);
        })
    }
}
