//! Divides a blocked filter into runs of blocks, for several threads.

use super::Blocked;
use crate::bits::{Kernel, Run};
use crate::kinds::prelude::*;

impl<H: Hashing> Blocked<H> {
    /// Divides the filter into at most `count` shards, runs of blocks that different threads can fill at the same time.
    /// Panics if `count` is 0.
    ///
    /// ```
    /// # use umbel::{Blocked, Filter};
    /// let mut filter = Blocked::new(10_000, 0.01)?;
    /// let hash = filter.hasher().hash("key");
    /// let mut shards = filter.shards(4);
    /// let index = shards.index(hash);
    /// shards.shards[index].insert_all(&[hash]);
    /// assert!(filter.contains("key"));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn shards(&mut self, count: usize) -> Shards<'_> {
        let (blocks, kernel) = (&mut self.0.core.blocks[..], self.0.core.kernel);
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
    /// Blocks of the filter, and of a shard.
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

    /// Looks up hashes that all fall into this shard: sets `found[i]` to the answer for `hashes[i]`. Panics if a hash
    /// falls elsewhere, or the slices differ in length.
    pub fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.kernel.contains_all(self.blocks, self.run, hashes, found);
    }

    /// Inserts hashes that all fall into this shard. Panics if a hash falls elsewhere.
    pub fn insert_all(&mut self, hashes: &[KeyHash]) {
        self.kernel.insert_all(self.blocks, self.run, hashes);
    }

    /// Like [`insert_all`](Self::insert_all), but in order, and sets `new[i]` if `hashes[i]` was certainly new, else
    /// clears it. Panics also if the slices differ in length.
    pub fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
        self.kernel.insert_all_new(self.blocks, self.run, hashes, new);
    }
}
