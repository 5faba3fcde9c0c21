//! A blocked filter that many threads insert into and query at the same time.
//!
//! Words are atomic, so queries take no lock. An insertion holds the lock of its stripe of blocks while it reads the
//! block and stores the words: of two threads that insert one key at the same time, the second sees all bits of the
//! first and learns that it was not first. (Atomic ORs would be lock-free, but each thread could be first in some word,
//! and both would consider the key new.) A query sees a key once all its words are stored: never before the insertion
//! began, always after it returned.

use core::fmt;
#[cfg(not(all(test, umbel_loom, target_pointer_width = "64")))]
use std::{sync::atomic::AtomicBool, sync::atomic::Ordering, thread};

#[cfg(all(test, umbel_loom, target_pointer_width = "64"))]
use loom::{sync::atomic::AtomicBool, sync::atomic::Ordering, thread};

use super::{Blocked, BlockedCore, Plans};
use crate::bits::{AtomicBlocks, Kernel, place};
use crate::filter::hashed::{answer_ahead, each_ahead, in_groups};
use crate::format::KeyDescription;
use crate::hash::{Hashes, Prehashed};
use crate::kinds::prelude::*;

/// The most stripes, each lock in a cache line of its own: 64 threads seldom meet, yet a group of hashes has many for
/// each.
const STRIPES: usize = 256;
/// Hashes sorted by stripe at a time: 64 KiB, in the second-level cache, with 16 or more per lock. For twice as many,
/// most allocators would map and unmap memory every time.
const SORTED_AT_ONCE: usize = 1 << 12;
/// Hashes that are worth sorting, four per lock: in cache a key takes 7.7 ns in groups of 1,024 sorted, 10.0 in 512 and
/// 13.6 in 256, and 9.3 to 9.8 one by one (Emerald Rapids).
const SORTED_FROM: usize = 4 * STRIPES;

/// A blocked filter for many threads: insert and query through `&self`. Queries take no lock.
///
/// ```
/// use umbel::Shared;
///
/// let seen = Shared::new(100_000, 0.01)?;
/// let first: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| usize::from(seen.insert("one key")))).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(first, 1, "exactly one thread was first");
/// let filter = seen.into_filter();
/// assert!(filter.contains("one key"));
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct Shared<H = KeyHasher> {
    blocks: AtomicBlocks,
    /// A lock for each run of `1 << run` blocks.
    stripes: Box<[Stripe]>,
    run: u32,
    kernel: Kernel,
    plan: Plan,
    hasher: H,
    description: KeyDescription,
}

/// Inserts keys in groups, with a lock for each key; [`Shared::insert_all`] is faster for a slice of many.
impl<H: Hashing, K: Key<H>> Extend<K> for &Shared<H> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        in_groups(keys, &self.hasher, |hashes| self.insert_hashes(hashes));
    }
}

impl<H: Hashing> fmt::Debug for Shared<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .finish_non_exhaustive()
    }
}

/// Turns of waiting before the thread yields: about as long as a running holder needs for a group of keys.
const SPINS: u32 = if cfg!(all(test, umbel_loom, target_pointer_width = "64")) { 0 } else { 64 };

/// Holds a lock, a flag that is set, until dropped.
struct Guard<'a>(&'a AtomicBool);

/// Acquires a lock with one locked instruction, where a mutex needs two: half the time of an insertion in cache. It is
/// held for one key or a few dozen, and nothing blocks or panics meanwhile. Its last holder's writes are visible.
#[inline(always)]
fn lock(flag: &AtomicBool) -> Guard<'_> {
    let mut turns = 0;
    while flag.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait(flag, turns);
        turns += 1;
    }
    Guard(flag)
}

/// Waits for the holder of a lock, after `turns` earlier turns.
#[cold]
fn wait(flag: &AtomicBool, turns: u32) {
    // Only reads: an exchange would take the cache line from the holder.
    if turns < SPINS && flag.load(Ordering::Relaxed) {
        core::hint::spin_loop();
    } else if turns >= SPINS {
        thread::yield_now();
    }
}

impl Drop for Guard<'_> {
    /// Released after all of the holder's writes.
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[repr(align(64))]
#[derive(Default)]
struct Stripe(AtomicBool);

impl Shared {
    /// Makes an empty filter for `keys` keys at a false positive rate of `fpp`; see [`Blocked::new`](Blocked::new),
    /// which has the same errors. For untrusted keys, use [`with_plan`](Self::with_plan) and [`KeyHasher::random`] or
    /// [`KeyHasher::keyed`].
    pub fn new(keys: u64, fpp: f64) -> Result<Self, PlanError> {
        Self::with_plan(&Plans::plan(Plans::USUAL, keys, fpp)?, KeyHasher::default())
    }
}

impl<H: Hashing> Shared<H> {
    /// Makes an empty filter from a plan; see [`Blocked::with_plan`], which has the same errors.
    pub fn with_plan(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
        Ok(Self::from_filter(Blocked::with_plan(plan, hasher)?))
    }

    /// Wraps a filter, to be shared by threads.
    pub fn from_filter(filter: Blocked<H>) -> Self {
        let Hashed { core, hasher, description } = filter.0;
        let BlockedCore { plan, blocks, .. } = core;
        let run = blocks.len().div_ceil(STRIPES).next_power_of_two().trailing_zeros();
        let stripes = (0..=(blocks.len() - 1) >> run).map(|_| Stripe::default()).collect();
        let kernel = Kernel::detect(plan.probes);
        Self { blocks: AtomicBlocks::new(blocks), stripes, run, kernel, plan, hasher, description }
    }

    /// Unwraps the filter.
    pub fn into_filter(self) -> Blocked<H> {
        let core = BlockedCore::of(self.plan, self.blocks.into_blocks());
        Blocked(Hashed { core, hasher: self.hasher, description: self.description })
    }

    /// Returns the description of the filter's keys.
    #[doc(hidden)]
    pub fn description(&self) -> &KeyDescription {
        &self.description
    }

    /// Inserts a key; true if it was certainly new. If several threads insert one new key at the same time, exactly one
    /// gets true.
    #[inline]
    pub fn insert(&self, key: impl Key<H>) -> bool {
        let hash = key.key_hash(&self.hasher);
        self.insert_at(self.place(hash), hash.low)
    }

    /// Inserts the key with this place and low half. The lock excludes other insertions into the block, not queries.
    #[inline(always)]
    fn insert_at(&self, place: usize, low: u64) -> bool {
        let (block, kernel) = (&self.blocks[place], &self.kernel);
        let flag = &self.stripes[self.stripe(place)].0;
        if kernel.contains_atomic(block, low) {
            return false;
        }
        let _guard = lock(flag);
        kernel.insert_atomic(block, low)
    }

    /// Inserts many keys with overlapping cache misses. Sorts thousands at a time by stripe, to take each lock for
    /// several keys: pass as many as you have.
    pub fn insert_all<K: Key<H>>(&self, keys: &[K]) {
        if let Hashes::Wide(hashes) = K::hashes(keys) {
            return self.insert_hashes(hashes);
        }
        let mut hashes = Vec::with_capacity(keys.len().min(SORTED_AT_ONCE));
        for keys in keys.chunks(SORTED_AT_ONCE) {
            hashes.clear();
            hashes.extend(keys.iter().map(|key| key.key_hash(&self.hasher)));
            self.insert_hashes(&hashes);
        }
    }

    /// Like [`insert_all`](Self::insert_all), but in order, and sets `new[i]` to what [`insert`](Self::insert) returns
    /// for `keys[i]`. Panics if the slices differ in length.
    pub fn insert_all_new<K: Key<H>>(&self, keys: &[K], new: &mut [bool]) {
        let insert = |hash| self.insert_at(self.place(hash), hash.low);
        answer_ahead(keys, &self.hasher, new, |hash| self.prefetch(hash), insert);
    }

    fn insert_hashes(&self, hashes: &[KeyHash]) {
        if hashes.len() < SORTED_FROM {
            // Few keys would share a lock.
            let insert = |hash: KeyHash| _ = self.insert_at(self.place(hash), hash.low);
            return each_ahead(hashes, &Prehashed::new(0), |hash| self.prefetch(hash), insert);
        }
        // Places and low halves.
        let mut sorted = vec![(0usize, 0u64); hashes.len().min(SORTED_AT_ONCE)];
        for group in hashes.chunks(SORTED_AT_ONCE) {
            let sorted = &mut sorted[..group.len()];
            let mut ends = [0u32; STRIPES];
            for hash in group {
                ends[self.stripe(self.place(*hash))] += 1;
            }
            let mut start = 0;
            for end in &mut ends {
                start += core::mem::replace(end, start);
            }
            // Places each hash; afterwards, `ends` has the ends.
            for hash in group {
                let place = self.place(*hash);
                let at = &mut ends[self.stripe(place)];
                sorted[*at as usize] = (place, hash.low);
                *at += 1;
            }
            self.insert_sorted(sorted, &ends);
        }
    }

    /// Inserts places and low halves, sorted by stripe; `ends[i]` is the end of stripe `i`.
    fn insert_sorted(&self, sorted: &[(usize, u64)], ends: &[u32; STRIPES]) {
        let (mut start, kernel) = (0, self.kernel);
        for (stripe, end) in ends.iter().map(|&end| end as usize).enumerate() {
            if start == end {
                continue;
            }
            let _guard = lock(&self.stripes[stripe].0);
            for (i, &(place, low)) in sorted[start..end].iter().enumerate() {
                if let Some((next, _)) = sorted.get(start + i + AHEAD) {
                    self.blocks[*next].prefetch();
                }
                kernel.insert_atomic(&self.blocks[place], low);
            }
            start = end;
        }
    }

    #[inline]
    fn stripe(&self, place: usize) -> usize {
        (place >> self.run) % STRIPES // always less; saves a check
    }

    #[inline]
    fn place(&self, hash: KeyHash) -> usize {
        place(hash.high, self.blocks.len() as u64) as usize
    }

    /// Returns whether a key may have been inserted. Takes no lock.
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> bool {
        self.contains_hash(key.key_hash(&self.hasher))
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.kernel.contains_atomic(&self.blocks[self.place(hash)], hash.low)
    }

    /// Looks up many keys with overlapping cache misses: sets `found[i]` to the answer for `keys[i]`. Takes no lock.
    /// Panics if the slices differ in length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
        let contains = |hash| self.contains_hash(hash);
        answer_ahead(keys, &self.hasher, found, |hash| self.prefetch(hash), contains);
    }

    /// Returns its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns its hasher.
    #[doc(hidden)]
    pub fn hasher(&self) -> &H {
        &self.hasher
    }

    /// Returns the bytes of its bits.
    pub fn bytes(&self) -> u64 {
        self.plan.bytes()
    }

    /// Estimates the number of different keys from a copy, if memory for that can be allocated; see
    /// [`Filter::estimated_len`].
    pub fn estimated_len(&self) -> Result<u64, OutOfMemory> {
        Ok(self.snapshot()?.estimated_len())
    }

    /// Copies the filter as it is now, if memory for that can be allocated: every key whose insertion has returned is
    /// in the copy.
    pub fn snapshot(&self) -> Result<Blocked<H>, OutOfMemory> {
        let mut copy = Blocks::zeroed(self.blocks.len() as u64)?;
        for (to, from) in copy.iter_mut().zip(&*self.blocks) {
            *to = from.load();
        }
        let core = BlockedCore::of(self.plan, copy);
        let (hasher, description) = (self.hasher.clone(), self.description.clone());
        Ok(Blocked(Hashed { core, hasher, description }))
    }

    /// Computes the [`receipt`](Filter::receipt) from a copy, if memory for that can be allocated.
    pub fn receipt(&self) -> Result<Receipt, OutOfMemory> {
        Ok(self.snapshot()?.receipt())
    }

    /// Forgets all keys. Needs `&mut`: a key inserted by another thread meanwhile could be stored in part.
    pub fn clear(&mut self) {
        self.blocks.iter().for_each(|block| block.store_changes(&block.load(), &Block::default()));
    }

    fn prefetch(&self, hash: KeyHash) {
        self.blocks[self.place(hash)].prefetch();
    }
}

/// Tries every interleaving of threads and every memory order that the language allows: `cargo x test --full`.
#[cfg(all(test, umbel_loom, target_pointer_width = "64"))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;

    use super::*;

    /// A block with two words in use: enough to be seen half stored.
    #[derive(Default)]
    struct TwoWords {
        words: [AtomicU64; 2],
        flag: AtomicBool,
    }

    impl TwoWords {
        /// Inserts a key with these bits in each word, as [`Shared::insert_at`] does.
        fn insert(&self, key: [u64; 2]) -> bool {
            if self.has(key) {
                return false;
            }
            let _guard = lock(&self.flag);
            let old = self.load();
            for ((word, old), bits) in self.words.iter().zip(old).zip(key) {
                word.store(old | bits, Ordering::Relaxed);
            }
            lacks(old, key)
        }

        fn has(&self, key: [u64; 2]) -> bool {
            !lacks(self.load(), key)
        }

        fn load(&self) -> [u64; 2] {
            [0, 1].map(|i| self.words[i].load(Ordering::Relaxed))
        }
    }

    fn lacks(words: [u64; 2], key: [u64; 2]) -> bool {
        words.iter().zip(key).any(|(word, bits)| word & bits != bits)
    }

    #[test]
    fn of_two_threads_exactly_one_is_first() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let other = block.clone();
            let thread = thread::spawn(move || other.insert([1, 2]));
            let here = block.insert([1, 2]);
            assert!(block.has([1, 2]), "what was inserted is there");
            let there = thread.join().unwrap();
            assert!(here != there);
        });
    }

    #[test]
    fn keys_that_share_a_word_lose_nothing() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let other = block.clone();
            let thread = thread::spawn(move || other.insert([4, 2]));
            assert!(block.insert([1, 8]), "new whoever comes first");
            assert!(block.has([1, 8]));
            assert!(thread.join().unwrap());
            assert_eq!(block.load(), [5, 10]);
        });
    }

    #[test]
    fn a_query_after_an_insertion_that_it_knows_of_finds_the_key() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let told = Arc::new(AtomicU64::new(0));
            let (writer, tell) = (block.clone(), told.clone());
            let thread = thread::spawn(move || {
                writer.insert([1, 2]);
                tell.store(1, Ordering::Release);
            });
            if told.load(Ordering::Acquire) == 1 {
                assert!(block.has([1, 2]));
            }
            thread.join().unwrap();
        });
    }
}
