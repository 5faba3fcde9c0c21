//! The blocked filter: all bits of a key in one 512-bit block, one cache line (Putze, Sanders,
//! Singler 2007). The default kind.
//!
//! Block: the high half of the hash by multiply-high. Bits inside it: the low half, by the patterns
//! of `bits::arch::pattern`.

use super::Filter;
use super::bloom::BloomCore;
use super::layout::Layout;
use crate::bits::{self, AHEAD, BLOCK_BITS, Batched, Block, Blocks, Kernel, NEAR, Run};
use crate::error::OutOfMemory;
use crate::hash::{KeyHash, KeyHasher};
use crate::math::{Coverage, blocked};
use crate::plan::{Kind, Plan};
use crate::prelude::*;

/// A blocked Bloom filter, the default kind: one cache line per key. It needs 1 to 6 % more bits than [`Classic`] at
/// usual rates (36 % at 1e-6; with the margin of plans for 100,000 keys or more, 42 %).
///
/// [`Classic`]: super::Classic
pub type Blocked<S = Blocks, H = KeyHasher> = Filter<BloomCore<BlockedLayout, S>, H>;

/// The layout of the blocked kind.
#[derive(Clone, Copy, Debug)]
pub struct BlockedLayout;

impl Layout for BlockedLayout {
    const KIND: Kind = Kind::Blocked;
    const UNIT: &'static str = "blocks";

    fn units(plan: &Plan) -> u64 {
        plan.bits / BLOCK_BITS
    }

    fn position(plan: &Plan, hash: KeyHash, i: u64) -> u64 {
        let block = bits::place(hash.high, plan.bits / BLOCK_BITS);
        block * BLOCK_BITS + u64::from(bits::in_block(hash.low, plan.probes, i as u32))
    }

    #[inline]
    fn insert(blocks: &mut [Block], _: &Plan, kernel: &Kernel, hash: KeyHash) -> bool {
        let place = bits::place(hash.high, blocks.len() as u64) as usize;
        kernel.insert(&mut blocks[place], hash.low)
    }

    #[inline]
    fn contains(blocks: &[Block], _: &Plan, kernel: &Kernel, hash: KeyHash) -> bool {
        let place = bits::place(hash.high, blocks.len() as u64) as usize;
        kernel.contains(&blocks[place], hash.low)
    }

    const PREFETCHES: bool = true;

    #[inline(always)]
    fn prefetch(blocks: &[Block], hash: KeyHash) {
        if blocks.len() as u64 > NEAR {
            bits::prefetch(blocks, bits::place(hash.high, blocks.len() as u64) * BLOCK_BITS);
        }
    }

    fn touches(plan: &Plan, hash: KeyHash, each: &mut dyn FnMut(usize)) {
        each(bits::place(hash.high, plan.bits / BLOCK_BITS) as usize);
    }

    fn insert_batch<H: Batched>(blocks: &mut [Block], _: &Plan, kernel: &Kernel, hashes: &[H]) {
        let run = Run { first: 0, total: blocks.len() as u64 };
        H::insert(kernel, blocks, run, hashes);
    }

    fn insert_batch_new<H: Batched>(
        blocks: &mut [Block],
        _: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        new: &mut [bool],
    ) {
        let run = Run { first: 0, total: blocks.len() as u64 };
        H::insert_new(kernel, blocks, run, hashes, new);
    }

    fn contains_batch<H: Batched>(
        blocks: &[Block],
        _: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    ) {
        H::contains(kernel, blocks, hashes, found);
    }

    fn fold(blocks: &mut Blocks, _: &Plan, divisor: u64) -> Result<(), OutOfMemory> {
        let mut folded = Blocks::zeroed(blocks.len() as u64 / divisor)?;
        for (sum, parts) in folded.iter_mut().zip(blocks.chunks(divisor as usize)) {
            for part in parts {
                sum.or(part);
            }
        }
        *blocks = folded;
        Ok(())
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        let sum: f64 = blocks
            .iter()
            .map(|block| blocked::fpp_of_block(block.0.map(u64::count_ones), plan.probes))
            .sum();
        sum / blocks.len() as f64
    }

    fn coverage(plan: &Plan) -> Coverage {
        Coverage::blocked(plan.bits / BLOCK_BITS, plan.probes)
    }
}

impl<H> Blocked<Blocks, H> {
    /// Divides the filter into at most `count` shards, runs of blocks that different threads can fill at the same time.
    ///
    /// # Panics
    /// If `count` is 0.
    ///
    /// ```
    /// # use umbel::Blocked;
    /// let mut filter = Blocked::new(10_000, 0.01)?;
    /// let hash = filter.hasher().hash("key");
    /// let mut shards = filter.shards(4);
    /// let index = shards.index(hash);
    /// shards.shards[index].insert_all(&[hash]);
    /// assert!(filter.contains("key"));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn shards(&mut self, count: usize) -> Shards<'_> {
        let (blocks, kernel) = self.core.parts_mut();
        let total = blocks.len() as u64;
        let size = blocks.len().div_ceil(count);
        let shards = blocks
            .chunks_mut(size)
            .enumerate()
            .map(|(i, blocks)| Shard {
                run: Run { first: (i * size) as u64, total },
                kernel,
                blocks,
            })
            .collect();
        Shards { index: ShardIndex { total, size: size as u64 }, shards }
    }
}

impl<S: AsRef<[Block]>> BloomCore<BlockedLayout, S> {
    /// Prefetches the cache line of a key, however small the filter.
    #[inline]
    pub(super) fn prefetch_always(&self, hash: KeyHash) {
        let blocks = self.blocks();
        bits::prefetch(blocks, bits::place(hash.high, blocks.len() as u64) * BLOCK_BITS);
    }
}

/// A blocked filter divided into shards; see [`Blocked::shards`].
#[derive(Debug)]
pub struct Shards<'a> {
    index: ShardIndex,
    /// The shards, in order.
    pub shards: Vec<Shard<'a>>,
}

impl Shards<'_> {
    /// Returns the index of the shard that a hash falls into.
    #[inline]
    pub fn index(&self, hash: KeyHash) -> usize {
        self.index.of(hash) as usize
    }
}

/// Maps hashes to shards.
#[derive(Clone, Copy, Debug)]
pub struct ShardIndex {
    /// The blocks of the filter, and those of a shard.
    total: u64,
    size: u64,
}

impl ShardIndex {
    /// For a filter of `total` blocks, with `size` in each shard but the last.
    #[doc(hidden)]
    pub fn new(total: u64, size: u64) -> Self {
        Self { total, size }
    }

    /// Returns the index of the hash's shard, from 0.
    #[inline]
    pub fn of(&self, hash: KeyHash) -> u64 {
        bits::place(hash.high, self.total) / self.size
    }
}

/// A run of a blocked filter's blocks, which one thread can fill while others fill other shards.
#[derive(Debug)]
pub struct Shard<'a> {
    run: Run,
    kernel: Kernel,
    blocks: &'a mut [Block],
}

impl<'a> Shard<'a> {
    /// The blocks from `first` on of a filter with this plan.
    #[doc(hidden)]
    pub fn new(plan: &Plan, first: u64, blocks: &'a mut [Block]) -> Self {
        let run = Run { first, total: plan.bits / BLOCK_BITS };
        Self { run, kernel: Kernel::detect(plan.probes), blocks }
    }
}

impl Shard<'_> {
    /// Looks up hashes that all fall into this shard: `found[i]` becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// If a hash falls elsewhere, or the slices differ in length.
    pub fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        let Run { first, total } = self.run;
        let place = |hash: KeyHash| bits::place(hash.high, total) - first;
        for (hashes, found) in hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            hashes.iter().for_each(|&hash| bits::prefetch(self.blocks, place(hash) * BLOCK_BITS));
            for (&hash, found) in hashes.iter().zip(found) {
                *found = self.kernel.contains(&self.blocks[place(hash) as usize], hash.low);
            }
        }
    }

    /// Inserts hashes that all fall into this shard.
    ///
    /// # Panics
    /// If a hash falls elsewhere.
    pub fn insert_all(&mut self, hashes: &[KeyHash]) {
        KeyHash::insert(&self.kernel, self.blocks, self.run, hashes);
    }

    /// Like [`insert_all`](Self::insert_all), in order: `new[i]` becomes true if `hashes[i]` was certainly new.
    ///
    /// # Panics
    /// If a hash falls elsewhere, or the slices differ in length.
    pub fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
        KeyHash::insert_new(&self.kernel, self.blocks, self.run, hashes, new);
    }
}
