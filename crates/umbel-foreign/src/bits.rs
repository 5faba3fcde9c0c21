//! Arrays of bits in the byte order of their file: they need no copy.

use std::ops::Range;

use umbel::internals::prefetch;

use crate::bytes::check;
use crate::{Error, Format};

/// The byte of an array that holds a bit.
///
/// ```text
/// bit                0 .. 7   8 .. 15        48 .. 55   56 .. 63   64 .. 71
/// Bytes:     byte       0        1      ...      6          7          8
/// BigWords:  byte       7        6      ...      1          0         15
/// ```
///
/// Within its byte, bit p is `1 << p % 8` in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Order {
    /// Bits from the lowest of the first byte on: little-endian words of any width.
    Bytes,
    /// 64-bit words, each with its most significant byte first.
    BigWords,
}

impl Order {
    #[inline(always)]
    fn byte(self, position: u64) -> usize {
        let flip = match self {
            Self::Bytes => 0,
            Self::BigWords => 7,
        };
        (position / 8) as usize ^ flip
    }

    /// Whether the bit is set.
    ///
    /// # Panics
    /// If it is beyond the end of `array`; so for the other functions.
    #[inline(always)]
    pub(crate) fn get(self, array: &[u8], position: u64) -> bool {
        array[self.byte(position)] >> (position % 8) & 1 == 1
    }

    /// Sets the bit; true if it was clear.
    #[inline(always)]
    pub(crate) fn set(self, array: &mut [u8], position: u64) -> bool {
        let (byte, bit) = (&mut array[self.byte(position)], 1 << (position % 8));
        let was_clear = *byte & bit == 0;
        *byte |= bit;
        was_clear
    }

    /// Prefetches the cache line of the bit.
    #[inline(always)]
    pub(crate) fn prefetch(self, array: &[u8], position: u64) {
        prefetch(array.as_ptr().wrapping_add(self.byte(position)));
    }
}

/// Bits set in all of `array`.
pub(crate) fn count_ones(array: &[u8]) -> u64 {
    let (words, rest) = array.as_chunks::<8>();
    let words: u64 =
        words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum();
    words + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// Bits set at `positions` of `array`, lowest bit of a byte first.
pub(crate) fn count_ones_in(array: &[u8], positions: Range<u64>) -> u64 {
    let below = |position: u64| {
        let byte = array.get((position / 8) as usize).unwrap_or(&0);
        u64::from((byte & !(255 << (position % 8))).count_ones())
    };
    let whole = (positions.start / 8) as usize..(positions.end / 8) as usize;
    count_ones(&array[whole]) + below(positions.end) - below(positions.start)
}

/// Whether no bit of `array`, lowest bit of a byte first, is set from the position `bits` on.
pub(crate) fn padding_is_clear(array: &[u8], bits: u64) -> bool {
    let rest = array[(bits / 8) as usize..].split_first();
    rest.is_none_or(|(first, others)| {
        first >> (bits % 8) == 0 && others.iter().all(|&byte| byte == 0)
    })
}

/// Returns an error for a file with bits behind the last one.
pub(crate) fn check_padding(format: Format, array: &[u8], bits: u64) -> Result<(), Error> {
    let clear = padding_is_clear(array, bits);
    check(format, "bits", "bits set behind the last", clear, "all clear")
}

/// Sets every bit of `array` that is set in `other`, which has the same length.
pub(crate) fn or(array: &mut [u8], other: &[u8]) {
    for (byte, other) in array.iter_mut().zip(other) {
        *byte |= other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_where_the_drawing_says() {
        for (order, expected) in [
            (Order::Bytes, [1, 0, 0, 0, 0, 0, 0, 128, 2]),
            (Order::BigWords, [128, 0, 0, 0, 0, 0, 0, 1, 0]),
        ] {
            let mut array = [0; 16];
            for position in [0, 63, 65] {
                assert!(order.set(&mut array, position) && !order.set(&mut array, position));
            }
            assert_eq!(array[..9], expected);
            assert_eq!(array[15], if order == Order::Bytes { 0 } else { 2 });
            assert_eq!((0..128).filter(|&p| order.get(&array, p)).collect::<Vec<_>>(), [0, 63, 65]);
            assert_eq!(count_ones(&array[..]), 3);
        }
        assert_eq!(count_ones(&[255; 13]), 104);
        let ones = [255; 13];
        for (start, end) in [(0, 104), (3, 5), (3, 8), (8, 104), (9, 103), (60, 60), (60, 77)] {
            assert_eq!(count_ones_in(&ones, start..end), end - start);
        }
        assert!(padding_is_clear(&[255, 7], 11) && !padding_is_clear(&[255, 7], 10));
        assert!(padding_is_clear(&[255], 8) && !padding_is_clear(&[255, 0, 1], 8));
    }
}
