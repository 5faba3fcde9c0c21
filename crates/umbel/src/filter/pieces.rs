//! A blocked filter written piece by piece: larger than memory, in order, without seeking.

use std::io::Write;

use super::Receipt;
use super::blocked::{BlockedLayout, Shard};
use super::bloom::{Layout, header};
use crate::bits::{self, BLOCK_BITS, Block, Blocks, Kernel, Run, place};
use crate::hash::{KeyHash, KeyHasher};
use crate::plan::{Kind, Plan};
use crate::{Error, format};

/// Writes a blocked filter as runs of blocks, one after the other, with one run in memory.
///
/// The caller brings the hashes of each run together, by [`index`](Self::index). The file is the
/// same, byte for byte, as that of a [`Blocked`](super::Blocked) filter with the same keys.
pub struct Pieces<W> {
    writer: format::Writer<W>,
    plan: Plan,
    hasher: KeyHasher,
    kernel: Kernel,
    piece: Blocks,
    /// Blocks written so far, bits set in them, and the sum of their rates.
    written: u64,
    set_bits: u64,
    rates: f64,
}

impl<W: Write> Pieces<W> {
    /// Begins a file with pieces of `bytes` bytes, rounded to whole blocks.
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// What is wrong with the plan; those of `out`.
    pub fn new(out: W, plan: &Plan, hasher: KeyHasher, bytes: u64) -> Result<Self, Error> {
        plan.check(Kind::Blocked)?;
        let piece = (bytes / bits::BLOCK_BYTES).clamp(1, plan.bits / BLOCK_BITS);
        Ok(Self {
            writer: format::Writer::new(out, &header(plan, hasher.scheme()))?,
            plan: *plan,
            hasher,
            kernel: Kernel::detect(plan.probes),
            piece: Blocks::zeroed(piece)?,
            written: 0,
            set_bits: 0,
            rates: 0.0,
        })
    }

    /// Number of pieces.
    pub fn count(&self) -> u64 {
        self.total().div_ceil(self.piece.len() as u64)
    }

    /// Tells which piece a hash falls into.
    pub fn index(&self) -> PieceIndex {
        PieceIndex { total: self.total(), piece: self.piece.len() as u64 }
    }

    /// Writes the next piece, filled by `fill`.
    ///
    /// # Errors
    /// Those of `fill` and of writing.
    ///
    /// # Panics
    /// When all pieces are written.
    pub fn piece<E: From<Error>>(
        &mut self,
        fill: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let left = self.total() - self.written;
        assert!(left > 0, "a piece is left");
        let size = left.min(self.piece.len() as u64) as usize;
        let blocks: &mut [Block] = &mut self.piece[..size];
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
    /// When pieces are missing.
    pub fn finish(self) -> Result<Receipt, Error> {
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

/// Which piece a hash falls into; see [`Pieces::index`].
#[derive(Clone, Copy, Debug)]
pub struct PieceIndex {
    total: u64,
    piece: u64,
}

impl PieceIndex {
    /// The number of the hash's piece, from 0.
    #[inline]
    pub fn of(&self, hash: KeyHash) -> u64 {
        place(hash.high, self.total) / self.piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Blocked;

    #[test]
    fn pieces_make_the_same_file_and_receipt() {
        let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.001).unwrap();
        let hashes: Vec<KeyHash> =
            (0..10_000).map(|key| KeyHasher::default().hash_u64(key)).collect();
        let mut filter = Blocked::new(&plan, KeyHasher::default()).unwrap();
        filter.insert_batch(&hashes);
        let mut expected = Vec::new();
        filter.write(&mut expected).unwrap();
        for bytes in [64, 1000, 4096, 1 << 20] {
            let mut found = Vec::new();
            let mut pieces = Pieces::new(&mut found, &plan, KeyHasher::default(), bytes).unwrap();
            for number in 0..pieces.count() {
                let own: Vec<KeyHash> = hashes
                    .iter()
                    .copied()
                    .filter(|hash| pieces.index().of(*hash) == number)
                    .collect();
                pieces
                    .piece(|shard| {
                        shard.insert_batch(&own);
                        Ok::<(), Error>(())
                    })
                    .unwrap();
            }
            let receipt = pieces.finish().unwrap();
            assert!(found == expected, "{bytes}");
            assert!((receipt.fpp / filter.receipt().fpp - 1.0).abs() < 1e-12);
            assert_eq!(receipt.keys, filter.receipt().keys);
        }
    }
}
