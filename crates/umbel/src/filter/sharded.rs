//! A blocked filter written shard by shard: larger than memory, in order, without seeking.

use std::io::{self, Write};

use super::Receipt;
use super::blocked::{BlockedLayout, Shard, ShardIndex};
use super::bloom::{Layout, body};
use crate::bits::{self, BLOCK_BITS, Block, Blocks, Kernel, Run};
use crate::format::{self, FileError, Header, KeyDescription, Out};
use crate::hash::{Hashing, KeyHasher};
use crate::plan::{Kind, Plan};

/// Writes a blocked filter as runs of blocks, one after the other, with one of these shards in memory.
///
/// The caller brings the hashes of each shard together, by [`index`](Self::index). The file is the
/// same, byte for byte, as that of a [`Blocked`](super::Blocked) filter with the same keys.
pub struct ShardWriter<W, H = KeyHasher> {
    writer: format::Writer<Out<W>>,
    plan: Plan,
    hasher: H,
    kernel: Kernel,
    shard: Blocks,
    /// Blocks written so far, bits set in them, and the sum of their rates.
    written: u64,
    set_bits: u64,
    rates: f64,
}

impl<W: Write, H: Hashing> ShardWriter<W, H> {
    /// Begins a file with shards of `bytes` bytes, rounded to whole blocks; `keys` says what its keys are.
    ///
    /// Where others choose the keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// What is wrong with the plan; those of `out`.
    pub fn new(
        out: W,
        plan: &Plan,
        hasher: H,
        keys: &KeyDescription,
        bytes: u64,
    ) -> Result<Self, FileError> {
        plan.check(Kind::Blocked)?;
        let header = Header::new(plan, hasher.scheme(), keys, &body(plan), plan.bytes());
        let shard = (bytes / bits::BLOCK_BYTES).clamp(1, plan.bits / BLOCK_BITS);
        Ok(Self {
            writer: format::Writer::new(Out(out), &header)?,
            plan: *plan,
            hasher,
            kernel: Kernel::detect(plan.probes),
            shard: Blocks::zeroed(shard)?,
            written: 0,
            set_bits: 0,
            rates: 0.0,
        })
    }

    /// Number of shards.
    pub fn count(&self) -> u64 {
        self.total().div_ceil(self.shard.len() as u64)
    }

    /// Tells which shard a hash falls into.
    pub fn index(&self) -> ShardIndex {
        ShardIndex { total: self.total(), size: self.shard.len() as u64 }
    }

    /// Writes the next shard, filled by `fill`.
    ///
    /// # Errors
    /// Those of `fill` and of writing.
    ///
    /// # Panics
    /// When all shards are written.
    pub fn shard<E: From<io::Error>>(
        &mut self,
        fill: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let left = self.total() - self.written;
        assert!(left > 0, "a shard is left");
        let size = left.min(self.shard.len() as u64) as usize;
        let blocks: &mut [Block] = &mut self.shard[..size];
        blocks.fill(Block::default());
        let run = Run { first: self.written, total: self.plan.bits / BLOCK_BITS };
        fill(&mut Shard { run, kernel: self.kernel, blocks })?;
        self.set_bits += bits::count_ones(blocks);
        self.rates += BlockedLayout::fpp(blocks, &self.plan) * size as f64;
        self.writer.write(bytemuck::cast_slice(blocks))?;
        self.written += size as u64;
        Ok(())
    }

    /// Ends the file; gives the filter's receipt.
    ///
    /// # Errors
    /// Those of writing.
    ///
    /// # Panics
    /// When shards are missing.
    pub fn finish(self) -> io::Result<Receipt> {
        let total = self.total();
        self.writer.finish()?;
        let clear = self.plan.bits - self.set_bits;
        let keys = BlockedLayout::coverage(&self.plan).keys(clear as f64);
        Ok(Receipt::new(
            self.plan,
            self.hasher.scheme(),
            (self.set_bits, self.plan.bits),
            keys,
            self.rates / total as f64,
        ))
    }

    fn total(&self) -> u64 {
        self.plan.bits / BLOCK_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocked, KeyHash};

    #[test]
    fn shards_make_the_same_file_and_receipt() {
        let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.001).unwrap();
        let hasher = KeyHasher::default();
        let hashes: Vec<KeyHash> = (0..10_000).map(|key| hasher.hash(key)).collect();
        let mut filter = Blocked::with_plan(&plan, hasher).unwrap();
        filter.insert_all(&hashes);
        let mut expected = Vec::new();
        filter.write(&mut expected).unwrap();
        for bytes in [64, 1000, 4096, 1 << 20] {
            let mut found = Vec::new();
            let mut shards =
                ShardWriter::new(&mut found, &plan, hasher, filter.description(), bytes).unwrap();
            for number in 0..shards.count() {
                let own: Vec<KeyHash> = hashes
                    .iter()
                    .copied()
                    .filter(|hash| shards.index().of(*hash) == number)
                    .collect();
                shards
                    .shard(|shard| {
                        shard.insert_all(&own);
                        Ok::<(), io::Error>(())
                    })
                    .unwrap();
            }
            let receipt = shards.finish().unwrap();
            assert!(found == expected, "{bytes}");
            assert!((receipt.fpp / filter.receipt().fpp - 1.0).abs() < 1e-12);
            assert_eq!(receipt.keys, filter.receipt().keys);
        }
    }
}
