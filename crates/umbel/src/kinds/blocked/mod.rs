//! The blocked filter: all bits of a key in one 512-bit block, one cache line (Putze, Sanders, Singler 2007). The default kind.
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

use core::convert::Infallible;

pub(crate) use plan::{Plans, expected, lowest_rate};
pub use shards::{Shard, ShardIndex, Shards};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use shared::Shared;

use super::plain::{self, Folding, Meaning, only, plain};
use crate::bits::{self, BLOCK_BITS, Batched, Block, Blocks, Kernel, NEAR, Run};
use crate::error::OutOfMemory;
use crate::filter::core::{Core, InsertCore, MakeCore, Merge, MergeCore, one_part};
use crate::filter::generic::same_keys;
use crate::filter::methods::{insert_all, made_empty, merges};
use crate::filter::{Comparison, Filter, MergeError, Receipt};
use crate::format::{FileError, Header};
use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Mixed64, Scheme};
use crate::math::Coverage;
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// A blocked Bloom filter, the default kind: one cache line per key. It needs 1 to 6 % more bits than [`Classic`] at
/// usual rates (36 % at 1e-6; with the margin of plans for 100,000 keys or more, 42 %).
///
/// [`Classic`]: crate::Classic
pub type Blocked<S = Blocks, H = KeyHasher> = Filter<BlockedCore<S>, H>;

/// The core of a [`Blocked`] filter: `insert` sets the bits of a key, `contains` checks that all are set.
#[derive(Clone)]
pub struct BlockedCore<S = Blocks> {
    pub(crate) plan: Plan,
    kernel: Kernel,
    pub(crate) blocks: S,
}

/// The block of a key.
#[inline]
fn place(blocks: &[Block], hash: KeyHash) -> usize {
    bits::place(hash.high, blocks.len() as u64) as usize
}

impl<S: AsRef<[Block]>> BlockedCore<S> {
    fn of(plan: Plan, blocks: S) -> Self {
        Self { plan, kernel: Kernel::detect(plan.probes), blocks }
    }

    /// From blocks, which must be as many as the plan has.
    pub(crate) fn from_blocks(plan: Plan, blocks: S) -> Result<Self, FileError> {
        plain::check(&plan, blocks.as_ref())?;
        Ok(Self::of(plan, blocks))
    }

    /// The same bits with another plan of their size and probes.
    pub(super) fn planned(self, plan: Plan) -> Self {
        Self { plan, ..self }
    }

    /// Prefetches the cache line of a key, however small the filter.
    #[inline]
    pub(super) fn prefetch_always(&self, hash: KeyHash) {
        let blocks = self.blocks.as_ref();
        bits::prefetch(blocks, place(blocks, hash) as u64 * BLOCK_BITS);
    }
}

impl BlockedCore {
    #[inline]
    pub(super) fn insert(&mut self, hash: KeyHash) -> bool {
        let Self { kernel, blocks, .. } = self;
        let place = place(blocks, hash);
        kernel.insert(&mut blocks[place], hash.low)
    }

    /// All blocks, as a run.
    fn run(&self) -> Run {
        Run { first: 0, total: self.blocks.len() as u64 }
    }
}

/// What the bits of a blocked filter mean.
pub(crate) const MEANING: Meaning = Meaning { folding: FOLDING, fpp, coverage };

const FOLDING: Folding = Folding { unit: "blocks", units: |plan| plan.bits / BLOCK_BITS, fold };

/// Every `divisor` blocks become one: the OR of them.
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

plain!([] BlockedCore, MEANING);

impl<S: AsRef<[Block]>> Core for BlockedCore<S> {
    type Plans = Plans;
    const PREFETCHES: bool = true;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        let blocks = self.blocks.as_ref();
        self.kernel.contains(&blocks[place(blocks, hash)], hash.low)
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        KeyHash::contains(&self.kernel, self.blocks.as_ref(), hashes, found);
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
        Mixed64::contains(&self.kernel, self.blocks.as_ref(), hashes, found);
    }

    one_part!(BlockedCore<T> { plan, kernel });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        Self::from_blocks(header.plan::<Plans>()?, only(parts))
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        plain::receipt(&MEANING, &self.plan, self.blocks.as_ref(), scheme)
    }
}

impl MakeCore for BlockedCore {
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, plain::empty(plan)?))
    }
}

impl InsertCore for BlockedCore {
    type Full = Infallible;

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        let run = self.run();
        KeyHash::insert(&self.kernel, &mut self.blocks, run, hashes);
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        let run = self.run();
        KeyHash::insert_new(&self.kernel, &mut self.blocks, run, hashes, new);
        Ok(())
    }

    fn insert_narrow(&mut self, hashes: &[Mixed64]) -> Result<(), Infallible> {
        let run = self.run();
        Mixed64::insert(&self.kernel, &mut self.blocks, run, hashes);
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }
}

impl MergeCore for BlockedCore {
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &BlockedCore<T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let (ours, theirs) =
            ((&mut self.plan, &mut self.blocks), (&other.plan, other.blocks.as_ref()));
        plain::merge_bits(&MEANING, ours, theirs, how)
    }
}
