//! Where the lines of a buffer end, and the fields of a row.

/// The positions of any of some bytes in `bytes`, ascending.
///
/// 64 bytes at a time become a mask of one bit per byte, whose ones are then enumerated: 2.4 ns per line of 66 bytes,
/// where `memchr_iter` takes 6.9. With a `memchr3` for each field of its rows, a join of CSV takes 5 % longer.
pub(crate) struct Ends<'a, const N: usize> {
    bytes: &'a [u8],
    wanted: [u8; N],
    /// The ends not yet returned of the chunk that starts at `start`.
    mask: u64,
    start: usize,
}

const CHUNK: usize = 64;

impl<'a, const N: usize> Ends<'a, N> {
    #[inline]
    pub(crate) fn new(wanted: [u8; N], bytes: &'a [u8]) -> Self {
        let mut ends = Self { bytes, wanted, mask: 0, start: 0 };
        ends.load();
        ends
    }

    #[inline]
    fn load(&mut self) {
        let bytes = &self.bytes[self.start..];
        self.mask = match bytes.first_chunk() {
            Some(chunk) => mask(self.wanted, chunk),
            None => {
                let mut chunk = [0; CHUNK];
                chunk[..bytes.len()].copy_from_slice(bytes);
                mask(self.wanted, &chunk) & ((1 << bytes.len()) - 1)
            }
        };
    }
}

impl<const N: usize> Iterator for Ends<'_, N> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            if self.bytes.len() - self.start <= CHUNK {
                return None;
            }
            self.start += CHUNK;
            self.load();
        }
        let end = self.start + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(end)
    }
}

/// A bit for each byte of a chunk, set if it is one of those wanted.
#[cfg(target_arch = "x86_64")]
#[inline]
fn mask<const N: usize>(wanted: [u8; N], chunk: &[u8; CHUNK]) -> u64 {
    use safe_arch::{cmp_eq_mask_i8_m128i, m128i, move_mask_i8_m128i, set_splat_i8_m128i};
    let wanted = wanted.map(|byte| set_splat_i8_m128i(byte.cast_signed()));
    let (pieces, _) = chunk.as_chunks::<16>();
    pieces.iter().rev().fold(0, |mask, piece| {
        let equal = wanted.map(|byte| cmp_eq_mask_i8_m128i(m128i::from(*piece), byte));
        let any = equal.into_iter().fold(m128i::default(), |any, equal| any | equal);
        mask << 16 | u64::from(move_mask_i8_m128i(any).cast_unsigned())
    })
}

#[cfg(not(target_arch = "x86_64"))]
use portable_mask as mask;

/// The same in plain Rust, at 5.6 ns per line instead of 2.4: a comparison that compilers vectorize, and products that
/// gather the lowest bits of eight bytes in their highest byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn portable_mask<const N: usize>(wanted: [u8; N], chunk: &[u8; CHUNK]) -> u64 {
    let equal = chunk.map(|byte| u8::from(wanted.contains(&byte)));
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
            bytes in prop::collection::vec(0u8..6, 0..400), wanted: [u8; 3],
        ) {
            let wanted = wanted.map(|byte| byte % 6);
            let plain = |wanted: &[u8]| -> Vec<usize> {
                (0..bytes.len()).filter(|&i| wanted.contains(&bytes[i])).collect()
            };
            prop_assert_eq!(Ends::new([wanted[0]], &bytes).collect::<Vec<_>>(), plain(&wanted[..1]));
            prop_assert_eq!(Ends::new(wanted, &bytes).collect::<Vec<_>>(), plain(&wanted));
        }

        #[test]
        fn both_masks_are_the_same(bytes: [u8; 32], more: [u8; 32], separator in 0..=255u8) {
            let mut chunk: [u8; CHUNK] = [bytes, more].concat().try_into().unwrap();
            chunk[usize::from(separator) % CHUNK] = separator;
            prop_assert_eq!(mask([separator], &chunk), portable_mask([separator], &chunk));
            let three = [separator, chunk[0], 7];
            prop_assert_eq!(mask(three, &chunk), portable_mask(three, &chunk));
        }
    }
}
