//! What pictures of a filter are drawn from: how full its blocks are, and the value of every cell.

use core::ops::Range;

use super::AnyFilter;
use crate::bits::{self, BLOCK_BITS, Block, cells, counters, packed};
use crate::hash::Hashing;
use crate::plan::Variant;
use crate::prelude::*;

/// The cells of a filter: bits, counters, cells that count down, or codes; see [`AnyFilter::inside`].
#[derive(Debug)]
pub struct Inside<'a> {
    parts: Vec<&'a [Block]>,
    variant: Variant,
}

impl<S: AsRef<[Block]>, H: Hashing> AnyFilter<S, H> {
    /// Returns what its blocks hold, for pictures of it.
    #[doc(hidden)]
    pub fn inside(&self) -> Inside<'_> {
        Inside { parts: self.blocks(), variant: self.plan().variant() }
    }
}

impl Inside<'_> {
    /// Lines of 64 bytes that make a block: the planes of counters.
    fn lines(&self) -> usize {
        match self.variant {
            Variant::Counting { counter_bits } => counter_bits as usize,
            _ => 1,
        }
    }

    /// Returns the cells of a block.
    pub fn block_cells(&self) -> u32 {
        match self.variant {
            Variant::Stable { cell_bits } => cells::count(cell_bits, BLOCK_BITS) as u32,
            Variant::Coded { code_bits } => packed::count(code_bits.unwrap_or(1)),
            _ => BLOCK_BITS as u32,
        }
    }

    /// Returns the number of blocks of each part, in the order of the file.
    pub fn blocks(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.len() / self.lines()).collect()
    }

    /// Calls `each` with the bits set, or cells in use, of some blocks of a part.
    ///
    /// # Panics
    /// If the part has fewer blocks, or there are fewer parts.
    pub fn loads(&self, part: usize, blocks: Range<usize>, each: &mut dyn FnMut(u32)) {
        self.some(part, blocks).for_each(|block| {
            each(match self.variant {
                Variant::Counting { .. } => counters::used(block).count_ones(),
                Variant::Stable { cell_bits } => cells::used(cell_bits, block) as u32,
                Variant::Coded { code_bits } => {
                    let codes = packed::cells(&block[0], code_bits.unwrap_or(1));
                    codes.filter(|&code| code != 0).count() as u32
                }
                _ => block[0].count_ones(),
            });
        });
    }

    /// Calls `each` with every cell of some blocks of a part, in their order: 0 or 1 for bits, the count of a counter, the
    /// code of a coded filter.
    ///
    /// # Panics
    /// As [`loads`](Self::loads).
    pub fn cells(&self, part: usize, blocks: Range<usize>, each: &mut dyn FnMut(u64)) {
        self.some(part, blocks).for_each(|block| match self.variant {
            Variant::Counting { .. } => counters::each(block, &mut *each),
            Variant::Stable { cell_bits } => cells::each(cell_bits, block, &mut *each),
            Variant::Coded { code_bits } => {
                packed::cells(&block[0], code_bits.unwrap_or(1)).for_each(&mut *each);
            }
            _ => (0..BLOCK_BITS).for_each(|bit| each(bits::get(block, bit).into())),
        });
    }

    fn some(&self, part: usize, blocks: Range<usize>) -> impl Iterator<Item = &[Block]> {
        let lines = self.lines();
        self.parts[part][blocks.start * lines..blocks.end * lines].chunks(lines)
    }
}
