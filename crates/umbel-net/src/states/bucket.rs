//! A bucket: the tags of its cells as bytes, and access to a few of its bits as a number.

use umbel::Block;
use umbel::internals::block_words;

/// The number of `width` bits from bit `at` on.
#[inline(always)]
pub(super) fn bits(block: &Block, at: u32, width: u32) -> u64 {
    let words = block_words(block);
    let (word, shift) = ((at / 64) as usize % 8, at % 64);
    let low = u64::from_le(words[word]) >> shift;
    let high = if shift + width > 64 { u64::from_le(words[word + 1]) << (64 - shift) } else { 0 };
    (low | high) & ((1 << width) - 1)
}

/// Which bytes of a block have this value: bit i for byte i.
///
/// Eight bytes at a time. A byte of x is zero if its own high bit and the one of the sum of its other bits and 127 are
/// clear; these sums never carry into the next byte. The product collects the eight bits in separate places.
#[inline(always)]
pub(super) fn bytes_equal(block: &Block, value: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let all = u64::from_ne_bytes([value; 8]);
    let mut equal = 0;
    for (number, &word) in block_words(block).iter().enumerate() {
        let x = u64::from_le(word) ^ all;
        let zero = !(((x & LOW) + LOW) | x | LOW);
        equal |= ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
    }
    equal
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use umbel::internals::packed::{MOST_WIDTH, count, set};

    use super::*;

    proptest! {
        #[test]
        fn equal_bytes_are_found(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 127, 128, 129, 255]), 64),
            value in prop::sample::select(vec![0u8, 1, 128, 255, 77]),
        ) {
            let mut block = Block::default();
            for (at, &byte) in bytes.iter().enumerate() {
                set(&mut block, 8, at as u32, byte.into());
            }
            let found = bytes_equal(&block, value);
            for (at, &byte) in bytes.iter().enumerate() {
                prop_assert_eq!(found >> at & 1 == 1, byte == value);
            }
        }

        #[test]
        fn numbers_are_read_where_they_were_set(
            width in 1..=MOST_WIDTH,
            number in any::<u32>(),
            value in any::<u64>(),
        ) {
            let (mut block, number, value) = (Block::default(), number % count(width), value >> (64 - width));
            set(&mut block, width, number, value);
            prop_assert_eq!(bits(&block, number * width, width), value);
        }
    }
}
