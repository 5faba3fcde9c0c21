//! Numbers of a few bits in a block, which is read as one little-endian number of 512 bits: cells of equal width, one
//! after another from its low end, as many as fit.

use super::{BLOCK_BITS, Block};

/// A cell starts up to 7 bits into its first byte and is read as 8 bytes.
pub const MOST_WIDTH: u32 = 64 - 7;

/// Cells in a block, by their width, to avoid a division.
const COUNTS: [u32; MOST_WIDTH as usize + 1] = {
    let mut counts = [0; MOST_WIDTH as usize + 1];
    let mut width = 1;
    while width <= MOST_WIDTH {
        counts[width as usize] = BLOCK_BITS as u32 / width;
        width += 1;
    }
    counts
};

/// Cells in a block.
#[inline(always)]
pub const fn count(width: u32) -> u32 {
    COUNTS[width as usize]
}

/// A block padded with zeros: 8 bytes can be read from each of its own.
pub(crate) struct Padded([u8; 72]);

impl Padded {
    #[inline(always)]
    pub(crate) fn of(block: &Block) -> Self {
        let mut bytes = [0; 72];
        bytes[..64].copy_from_slice(block.as_bytes());
        Self(bytes)
    }

    /// A cell.
    #[inline(always)]
    pub(crate) fn get(&self, width: u32, number: u32) -> u64 {
        let at = number * width;
        // Below 64 for every cell; the compiler then omits the bounds check.
        let start = (at / 8) as usize % 64;
        let word = self.0[start..start + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(word) >> (at % 8) & ((1 << width) - 1)
    }
}

/// The cells of a block, in order.
pub(crate) fn cells(block: &Block, width: u32) -> impl Iterator<Item = u64> {
    let bytes = Padded::of(block);
    (0..count(width)).map(move |number| bytes.get(width, number))
}

/// Sets a cell.
pub fn set(block: &mut Block, width: u32, number: u32, value: u64) {
    set_bits(block, number * width, width, value);
}

/// Sets the number of `width` bits from bit `at` on.
pub fn set_bits(block: &mut Block, at: u32, width: u32, value: u64) {
    let (word, shift) = ((at / 64) as usize, at % 64);
    let mask = (1 << width) - 1;
    let put = |old: u64, mask: u64, value: u64| (u64::from_le(old) & !mask | value).to_le();
    block.0[word] = put(block.0[word], mask << shift, value << shift);
    if shift + width > 64 {
        let (mask, value) = (mask >> (64 - shift), value >> (64 - shift));
        block.0[word + 1] = put(block.0[word + 1], mask, value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::in_miri;

    proptest! {
        #[test]
        fn cells_hold_what_was_set_last(
            width in 1..=MOST_WIDTH,
            sets in prop::collection::vec((any::<u32>(), any::<u64>()), 0..in_miri(8, 200)),
        ) {
            let (mut block, mut model) = (Block::default(), vec![0; count(width) as usize]);
            for (number, value) in sets {
                let (number, value) = (number % count(width), value >> (64 - width));
                set(&mut block, width, number, value);
                model[number as usize] = value;
                prop_assert_eq!(cells(&block, width).collect::<Vec<_>>(), &model[..]);
            }
            let bytes = block.as_bytes();
            for bit in count(width) * width..BLOCK_BITS as u32 {
                prop_assert_eq!(bytes[bit as usize / 8] >> (bit % 8) & 1, 0);
            }
        }
    }
}
