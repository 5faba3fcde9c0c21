//! Cells of 1 to 8 bits that count down, ⌊64/d⌋ of them in each word, from its low end. None straddles two words, and
//! the bits left over in a word are zero.
//!
//! A run of cells is lowered one word at a time: the bits of each cell are ORed into its lowest, which then shows
//! whether there is a 1 to subtract, so no cell borrows from the next.

use super::Block;
use super::cast::words;

/// Cells in a word.
pub(crate) const fn per_word(width: u32) -> u64 {
    64 / width as u64
}

/// Cells in this many bits, whole words.
pub(crate) const fn count(width: u32, bits: u64) -> u64 {
    bits / 64 * per_word(width)
}

/// The lowest bit of each cell.
const fn lowest(width: u32) -> u64 {
    let (mut bits, mut cell) = (0, 0);
    while cell < per_word(width) {
        bits |= 1 << (cell * width as u64);
        cell += 1;
    }
    bits
}

/// The word of a cell, and its first bit there.
#[inline(always)]
const fn split<const W: u32>(cell: u64) -> (usize, u32) {
    ((cell / per_word(W)) as usize, (cell % per_word(W)) as u32 * W)
}

/// Whether a cell is above 0.
#[inline(always)]
pub(crate) fn is_used<const W: u32>(words: &[u64], cell: u64) -> bool {
    let (word, bit) = split::<W>(cell);
    u64::from_le(words[word]) >> bit & (u64::MAX >> (64 - W)) != 0
}

/// Sets a cell to its maximum.
#[inline(always)]
pub(crate) fn fill<const W: u32>(words: &mut [u64], cell: u64) {
    let (word, bit) = split::<W>(cell);
    words[word] |= (u64::MAX >> (64 - W) << bit).to_le();
}

/// Prefetches the cache line of a cell.
#[inline(always)]
pub(crate) fn prefetch<const W: u32>(blocks: &[Block], cell: u64) {
    super::prefetch(blocks, cell / per_word(W) * 64);
}

/// Lowers each cell of a word that is in `mask` (by its lowest bits) and above 0.
#[inline(always)]
fn lower_word<const W: u32>(word: &mut u64, mask: u64) {
    let old = u64::from_le(*word);
    let mut any = old;
    for shift in 1..W {
        any |= old >> shift;
    }
    *word = (old - (any & mask)).to_le();
}

/// Lowers the cells above 0 in `from..to`.
#[inline(always)]
pub(crate) fn lower<const W: u32>(words: &mut [u64], from: u64, to: u64) {
    if from >= to {
        return;
    }
    let all = lowest(W);
    let ((first, low), (last, high)) = (split::<W>(from), split::<W>(to - 1));
    let (above, below) = (all & u64::MAX << low, all & u64::MAX >> (63 - high));
    if first == last {
        lower_word::<W>(&mut words[first], above & below);
        return;
    }
    lower_word::<W>(&mut words[first], above);
    for word in &mut words[first + 1..last] {
        lower_word::<W>(word, all);
    }
    lower_word::<W>(&mut words[last], below);
}

/// Cells above 0.
pub(crate) fn used(width: u32, blocks: &[Block]) -> u64 {
    let (mut used, all) = (0, lowest(width));
    for &word in words(blocks) {
        let word = u64::from_le(word);
        let any = (1..width).fold(word, |any, shift| any | word >> shift);
        used += u64::from((any & all).count_ones());
    }
    used
}

/// Whether the bits left over in each word are zero.
pub(crate) fn are_whole(width: u32, blocks: &[Block]) -> bool {
    let bits = per_word(width) * u64::from(width);
    words(blocks).iter().all(|word| u64::from_le(*word).leading_zeros() >= 64 - bits as u32)
}

/// Runs `$work` with the width of cells as a constant `$W`.
macro_rules! with_width {
    ($width:expr, $W:ident => $work:expr) => {
        with_width!(@ $width, $W, $work; 1 2 3 4 5 6 7 8)
    };
    (@ $width:expr, $W:ident, $work:expr; $($each:literal)*) => {
        match $width {
            $($each => {
                const $W: u32 = $each;
                $work
            })*
            _ => unreachable!("cells have 1 to 8 bits"),
        }
    };
}
pub(crate) use with_width;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::cast::words_mut;
    use crate::bits::{Blocks, in_miri};

    proptest! {
        #[test]
        fn cells_count_down_as_the_model(
            width in 1u32..=8,
            ops in prop::collection::vec((any::<bool>(), any::<u64>(), any::<u64>()), 0..in_miri(8, 200)),
        ) {
            let mut blocks = Blocks::zeroed(2).unwrap();
            let count = count(width, 1024);
            let mut model = vec![0u32; count as usize];
            for (set, from, length) in ops {
                let from = from % count;
                if set {
                    with_width!(width, W => fill::<W>(words_mut(&mut blocks), from));
                    model[from as usize] = (1 << width) - 1;
                } else {
                    let to = from + length % (count - from + 1);
                    with_width!(width, W => lower::<W>(words_mut(&mut blocks), from, to));
                    for cell in &mut model[from as usize..to as usize] {
                        *cell = cell.saturating_sub(1);
                    }
                }
                for (cell, &number) in model.iter().enumerate() {
                    let (word, bit) = with_width!(width, W => split::<W>(cell as u64));
                    let found = u64::from_le(words(&blocks)[word]) >> bit & ((1 << width) - 1);
                    prop_assert_eq!(found, u64::from(number));
                    let used = with_width!(width, W => is_used::<W>(words(&blocks), cell as u64));
                    prop_assert_eq!(used, number > 0);
                }
                let expected = model.iter().filter(|&&number| number > 0).count();
                prop_assert_eq!(used(width, &blocks), expected as u64);
                prop_assert!(are_whole(width, &blocks));
            }
        }
    }
}
