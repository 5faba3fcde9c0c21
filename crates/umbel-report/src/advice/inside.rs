//! The cells in the blocks of a filter: how many are in use, and their values.

use std::ops::Range;

use umbel::internals::block_words;
use umbel::{AnyFilter, Block, Filter, Hashing, Variant};

/// The cells of a filter: bits, counters, cells that count down, or codes, as FORMAT.md lays them out.
#[derive(Debug)]
pub struct Inside<'a> {
    parts: Vec<&'a [Block]>,
    variant: Variant,
}

/// The words of a block, as numbers.
fn numbers(block: &Block) -> [u64; 8] {
    (*block_words(block)).map(u64::from_le)
}

impl<'a> Inside<'a> {
    /// For a filter of any kind.
    pub fn of<S: AsRef<[Block]>, H: Hashing>(filter: &'a AnyFilter<H, S>) -> Self {
        Self { parts: filter.blocks(), variant: filter.plan().variant() }
    }

    /// Lines of 64 bytes in a block: the planes of counters.
    fn lines(&self) -> usize {
        match self.variant {
            Variant::Counting { counter_bits } => counter_bits as usize,
            _ => 1,
        }
    }

    /// Returns the cells of a block.
    pub fn block_cells(&self) -> u32 {
        match self.variant {
            Variant::Stable { cell_bits } => 64 / cell_bits * 8,
            Variant::Coded { code_bits: Some(bits) } => 512 / bits,
            _ => 512,
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
        self.some(part, blocks).for_each(|block| match self.variant {
            // The first two planes show which counters are not 0.
            Variant::Counting { .. } => {
                let pairs = block_words(&block[0]).iter().zip(block_words(&block[1]));
                each(pairs.map(|(a, b)| (a | b).count_ones()).sum());
            }
            Variant::Stable { .. } | Variant::Coded { .. } => {
                let mut used = 0;
                self.cells_of(block, &mut |cell| used += u32::from(cell != 0));
                each(used);
            }
            _ => each(block_words(&block[0]).iter().map(|word| word.count_ones()).sum()),
        });
    }

    /// Calls `each` with every cell of some blocks of a part, in their order: 0 or 1 for bits, the count of a counter, the
    /// code of a coded filter.
    ///
    /// # Panics
    /// As [`loads`](Self::loads).
    pub fn cells(&self, part: usize, blocks: Range<usize>, each: &mut dyn FnMut(u64)) {
        self.some(part, blocks).for_each(|block| self.cells_of(block, &mut *each));
    }

    fn cells_of(&self, lines: &[Block], each: &mut dyn FnMut(u64)) {
        let first = numbers(&lines[0]);
        match self.variant {
            Variant::Counting { .. } => {
                let planes: Vec<_> = lines.iter().map(numbers).collect();
                for cell in 0..512 {
                    let bit = |plane: &[u64; 8]| plane[cell / 64] >> (cell % 64) & 1;
                    let high =
                        planes[2..].iter().rev().fold(0, |high, plane| 2 * high + bit(plane));
                    each(bit(&planes[0]) + 2 * bit(&planes[1]) + 3 * high);
                }
            }
            Variant::Stable { cell_bits } => first.iter().for_each(|word| {
                let cell = |cell| word >> (cell * cell_bits) & (u64::MAX >> (64 - cell_bits));
                (0..64 / cell_bits).for_each(|number| each(cell(number)));
            }),
            Variant::Coded { code_bits: Some(bits) } => (0..512 / bits).for_each(|number| {
                let (word, shift) = ((number * bits / 64) as usize, number * bits % 64);
                let next = first.get(word + 1).copied().unwrap_or(0);
                let pair = u128::from(first[word]) | u128::from(next) << 64;
                each((pair >> shift) as u64 & (u64::MAX >> (64 - bits)));
            }),
            _ => (0..512).for_each(|bit| each(first[bit / 64] >> (bit % 64) & 1)),
        }
    }

    fn some(&self, part: usize, blocks: Range<usize>) -> impl Iterator<Item = &[Block]> {
        let lines = self.lines();
        self.parts[part][blocks.start * lines..blocks.end * lines].chunks(lines)
    }
}

#[cfg(test)]
mod tests {
    use umbel::{Attributes, Counting, KeyHasher, Kind, Plan};

    use super::*;

    /// The cells, the loads and the receipt count the same cells.
    #[test]
    fn cells_are_seen_one_by_one() {
        let keys: Vec<u64> = (0..1_300).collect();
        for &kind in Kind::ALL {
            let plan = Plan::for_keys(kind, 1_300, 0.01).unwrap();
            let filter = if kind.rows() {
                let mut filter =
                    Attributes::with_names(&plan, &["id"], KeyHasher::default()).unwrap();
                filter.insert_rows(&[["a"], ["b"]]).unwrap();
                AnyFilter::Attributes(filter)
            } else {
                AnyFilter::build(&plan, &keys, KeyHasher::default()).unwrap()
            };
            let inside = Inside::of(&filter);
            let mut all = 0;
            for (part, blocks) in inside.blocks().into_iter().enumerate() {
                let mut loads = Vec::new();
                inside.loads(part, 0..blocks, &mut |load| loads.push(load));
                assert_eq!(blocks, loads.len(), "{kind}");
                let (mut some, from) = (Vec::new(), blocks / 3);
                inside.loads(part, from..blocks, &mut |load| some.push(load));
                assert_eq!(some, loads[from..], "{kind}");
                for (block, load) in loads.iter().enumerate() {
                    let mut cells = Vec::new();
                    inside.cells(part, block..block + 1, &mut |cell| cells.push(cell));
                    assert_eq!(cells.len(), inside.block_cells() as usize, "{kind}");
                    let used = cells.iter().filter(|cell| **cell > 0).count();
                    assert_eq!(used, *load as usize, "{kind}");
                }
                all += loads.iter().map(|&load| u64::from(load)).sum::<u64>();
            }
            // Slots of a bloomier filter are not aligned to blocks.
            assert!(kind == Kind::Bloomier || all == filter.receipt().set_bits, "{kind}");
        }
    }

    #[test]
    fn the_counters_of_a_key_have_its_count() {
        for counter_bits in [4, 8, 16] {
            let plan = Plan::for_keys(Variant::Counting { counter_bits }, 10, 0.001).unwrap();
            let mut filter = Counting::with_plan(&plan, KeyHasher::default()).unwrap();
            (0..7).for_each(|_| assert!(filter.insert("seven") || filter.contains("seven")));
            let filter = AnyFilter::Counting(filter);
            let (inside, mut cells) = (Inside::of(&filter), Vec::new());
            inside.cells(0, 0..inside.blocks()[0], &mut |cell| cells.push(cell));
            assert!(cells.iter().all(|cell| [0, 7].contains(cell)));
            assert_eq!(cells.iter().filter(|cell| **cell == 7).count(), plan.probes() as usize);
        }
    }
}
