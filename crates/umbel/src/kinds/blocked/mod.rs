//! The blocked filter, the default kind: all bits of a key in one 512-bit block, a cache line (Putze, Sanders, Singler
//! 2007).
//!
//! ```text
//! key → hash ─ high ─→ place:   block ⌊high · blocks / 2⁶⁴⌋                      BlockedCore::insert, contains
//!            └ low ──→ pattern: k bits of the block, set or tested at once       Kernel::insert, contains → an instruction set
//! ```

mod plan;
pub mod rate;
#[cfg(feature = "std")]
pub mod runs;
mod shards;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod shared;

pub(crate) use plan::{Plans, expected, lowest_rate};
pub use shards::{Shard, ShardIndex, Shards};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use shared::Shared;

use super::plain::{self, Folding, Meaning, folds, plain, plain_core, plain_owned};
use super::prelude::*;
use crate::bits::{Kernel, NEAR, Run};

filter! {
    /// A blocked Bloom filter, the default kind: one cache line per key. It needs more bits than
    /// [`Classic`](crate::Classic): 1 to 6 % at rates from 0.1 to 0.003, 9 % at 0.001, 36 % at 1e-6 (42 % with the
    /// margin of plans for 100,000 keys or more).
    ///
    /// ```
    /// use umbel::{Blocked, Filter};
    ///
    /// let mut seen = Blocked::new(1_000_000, 0.01)?;
    /// assert!(seen.insert("https://example.org/"), "certainly new");
    /// assert!(!seen.insert("https://example.org/"));
    /// assert!(seen.contains("https://example.org/") && !seen.contains("https://example.com/"));
    /// assert!(seen.receipt().fpp < 0.01);
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Blocked(BlockedCore)
}

/// The core of a [`Blocked`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct BlockedCore<S = Blocks> {
    pub(crate) plan: Plan,
    kernel: Kernel,
    pub(crate) blocks: S,
}

#[inline]
fn place(blocks: &[Block], hash: KeyHash) -> usize {
    bits::place(hash.high, blocks.len() as u64) as usize
}

impl<S: AsRef<[Block]>> BlockedCore<S> {
    /// `blocks` must be as many as the plan has, with zeros after its last bit.
    pub(super) fn of(plan: Plan, blocks: S) -> Self {
        Self { plan, kernel: Kernel::detect(plan.probes), blocks }
    }

    /// `blocks` must be as many as the plan has.
    pub(crate) fn from_blocks(plan: Plan, blocks: S) -> Result<Self, FileError> {
        plain::check(&plan, blocks.as_ref())?;
        Ok(Self::of(plan, blocks))
    }

    /// Prefetches the cache line of a key, however small the filter.
    #[inline]
    pub(super) fn prefetch_always(&self, hash: KeyHash) {
        let blocks = self.blocks.as_ref();
        bits::prefetch(blocks, place(blocks, hash) as u64 * BLOCK_BITS);
    }
}

pub(crate) const MEANING: Meaning = Meaning { folding: FOLDING, fpp, coverage };

const FOLDING: Folding = Folding { unit: "blocks", units: |plan| plan.bits / BLOCK_BITS, fold };

/// ORs every `divisor` blocks into one.
fn fold(blocks: &[Block], _: &Plan, divisor: u64) -> Result<Blocks, OutOfMemory> {
    let mut folded = Blocks::zeroed(blocks.len() as u64 / divisor)?;
    for (sum, parts) in folded.iter_mut().zip(blocks.chunks(divisor as usize)) {
        parts.iter().for_each(|part| sum.or(part));
    }
    Ok(folded)
}

pub(super) fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
    let rate = |block: &Block| rate::fpp_of_block(block.0.map(u64::count_ones), plan.probes);
    blocks.iter().map(rate).sum::<f64>() / blocks.len() as f64
}

pub(super) fn coverage(plan: &Plan) -> Coverage {
    Coverage::blocked(plan.bits / BLOCK_BITS, plan.probes)
}

/// The bits of a key, in the order of its probes.
pub(crate) fn positions(plan: &Plan, hash: KeyHash) -> impl Iterator<Item = u64> + use<> {
    let (block, probes) = (bits::place(hash.high, plan.bits / BLOCK_BITS), plan.probes);
    let in_block = move |i| u64::from(bits::in_block(hash.low, probes, i));
    (0..probes).map(move |i| block * BLOCK_BITS + in_block(i))
}

plain!(Blocked, MEANING);

/// Collects keys into a filter of the right size, at a false positive rate of 1 %. Keeps their hashes, 16 bytes each,
/// until they are counted: if you know the number of keys, [`new`](Blocked::new) and [`extend`](Extend::extend) use
/// less memory, and you choose the rate.
///
/// # Panics
/// If memory for the filter cannot be allocated.
impl<K: Key> FromIterator<K> for Blocked {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let hasher = KeyHasher::default();
        let hashes: Vec<KeyHash> = keys.into_iter().map(|key| hasher.hash(key)).collect();
        let mut filter = Self::new(hashes.len().max(1) as u64, 0.01)
            .expect("memory for as many bits as there are bytes of hashes");
        filter.insert_all(&hashes);
        filter
    }
}

impl<S: AsRef<[Block]>> Core for BlockedCore<S> {
    type Plans = Plans;
    const PREFETCHES: bool = true;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        let blocks = self.blocks.as_ref();
        self.kernel.contains(&blocks[place(blocks, hash)], hash.low)
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        let blocks = self.blocks.as_ref();
        self.kernel.contains_all(blocks, Run::all(blocks), hashes, found);
    }

    #[inline(always)]
    fn prefetch(&self, hash: KeyHash) {
        if self.blocks.as_ref().len() as u64 > NEAR {
            self.prefetch_always(hash);
        }
    }

    #[inline]
    fn reads_only(&self, hash: KeyHash, mut is_known: impl FnMut(usize, usize) -> bool) -> bool {
        is_known(0, place(self.blocks.as_ref(), hash))
    }

    fn contains_narrow(&self, hashes: &[Mixed64], found: &mut [bool]) {
        self.kernel.contains_narrow(self.blocks.as_ref(), hashes, found);
    }

    one_part!(BlockedCore<T> { plan, kernel });

    plain_core!(MEANING);

    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>> {
        Some(positions(&self.plan, hash).collect())
    }
}

impl BlockedCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        plain::receipt(&MEANING, &self.plan, self.blocks, scheme)
    }
}

impl Owned for BlockedCore {
    plain_owned!(MEANING);

    #[inline]
    fn insert(&mut self, hash: KeyHash) -> Result<bool, Infallible> {
        let Self { kernel, blocks, .. } = self;
        let place = place(blocks, hash);
        Ok(kernel.insert(&mut blocks[place], hash.low))
    }

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        let run = Run::all(&self.blocks);
        self.kernel.insert_all(&mut self.blocks, run, hashes);
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        let run = Run::all(&self.blocks);
        self.kernel.insert_all_new(&mut self.blocks, run, hashes, new);
        Ok(())
    }

    fn insert_narrow(&mut self, hashes: &[Mixed64]) -> Result<(), Infallible> {
        let run = Run::all(&self.blocks);
        self.kernel.insert_narrow(&mut self.blocks, run, hashes);
        Ok(())
    }
}
