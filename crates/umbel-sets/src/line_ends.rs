//! Where the lines of a buffer end.

/// The positions of `separator` in `bytes`, ascending.
///
/// 64 bytes at a time become a mask of one bit per byte, whose ones are then enumerated: 2.4 ns per line of 66 bytes,
/// where `memchr_iter` takes 6.9.
pub(crate) struct LineEnds<'a> {
    chunks: std::slice::Iter<'a, [u8; CHUNK]>,
    rest: &'a [u8],
    separator: u8,
    /// The ends not yet returned of the chunk that starts at `start`.
    mask: u64,
    start: usize,
    next: usize,
}

const CHUNK: usize = 64;

impl<'a> LineEnds<'a> {
    pub(crate) fn new(separator: u8, bytes: &'a [u8]) -> Self {
        let (chunks, rest) = bytes.as_chunks();
        Self { chunks: chunks.iter(), rest, separator, mask: 0, start: 0, next: 0 }
    }

    /// The mask of the next chunk; `None` after the last.
    #[inline]
    fn chunk(&mut self) -> Option<u64> {
        let mask = match self.chunks.next() {
            Some(chunk) => mask(self.separator, chunk),
            None if self.rest.is_empty() => return None,
            None => {
                let rest = std::mem::take(&mut self.rest);
                let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == self.separator);
                ends.fold(0, |mask, (i, _)| mask | 1 << i)
            }
        };
        self.start = self.next;
        self.next += CHUNK;
        Some(mask)
    }
}

impl Iterator for LineEnds<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.mask = self.chunk()?;
        }
        let end = self.start + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(end)
    }
}

/// A bit for each byte of a chunk, set if it is `separator`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn mask(separator: u8, chunk: &[u8; CHUNK]) -> u64 {
    use safe_arch::{cmp_eq_mask_i8_m128i, m128i, move_mask_i8_m128i, set_splat_i8_m128i};
    let separator = set_splat_i8_m128i(separator.cast_signed());
    let (pieces, _) = chunk.as_chunks::<16>();
    pieces.iter().rev().fold(0, |mask, piece| {
        let equal = cmp_eq_mask_i8_m128i(m128i::from(*piece), separator);
        mask << 16 | u64::from(move_mask_i8_m128i(equal).cast_unsigned())
    })
}

#[cfg(not(target_arch = "x86_64"))]
use portable_mask as mask;

/// The same in plain Rust, at 5.6 ns per line instead of 2.4: a comparison that compilers vectorize, and products that
/// gather the lowest bits of eight bytes in their highest byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn portable_mask(separator: u8, chunk: &[u8; CHUNK]) -> u64 {
    let equal = chunk.map(|byte| u8::from(byte == separator));
    let (pieces, _) = equal.as_chunks::<8>();
    pieces.iter().rev().fold(0, |mask, piece| {
        mask << 8 | u64::from_le_bytes(*piece).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            bytes in prop::collection::vec(0u8..4, 0..400), separator in 0u8..4,
        ) {
            let plain = (0..bytes.len()).filter(|&i| bytes[i] == separator);
            prop_assert!(LineEnds::new(separator, &bytes).eq(plain));
        }

        #[test]
        fn both_masks_are_the_same(bytes: [u8; 32], more: [u8; 32], separator in 0..=255u8) {
            let mut chunk: [u8; CHUNK] = [bytes, more].concat().try_into().unwrap();
            chunk[usize::from(separator) % CHUNK] = separator;
            prop_assert_eq!(mask(separator, &chunk), portable_mask(separator, &chunk));
        }
    }
}
