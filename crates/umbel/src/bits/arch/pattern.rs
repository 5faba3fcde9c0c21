//! The bits of one key inside its 512-bit block: the definition, in plain code.
//!
//! The low half of the key's hash gives a sequence of words, w₀ = low, w₁, w₂, … (`nth_word`).
//!
//! ```text
//! probes a multiple of 8: LANES.    Round r sets one bit in each of the block's eight 64-bit words:
//!                                   word i gets bit (w_r >> 6i) & 63.
//!
//!   w_r   63      48 47  42 41  36          11   6 5    0
//!         | unused  | lane 7| lane 6|  ...  | lane 1| lane 0|
//!
//! other numbers of probes: SCATTER. Probe p sets bit (w_q >> 9s) & 511 of the block, q = p / 7 and
//!                                   s = p mod 7: anywhere, repeats allowed.
//!
//!   w_q   63 62     54 53              9 8       0
//!         |0| probe 6 |      ...       | probe 0 |
//! ```
//!
//! Without AVX-512, scattered bits are set and tested word by word in plain filters: six instructions per probe. A mask
//! that is applied to several lines, as in counters and windows, is made in registers. Lanes need no loop and no
//! multiplication: eight shifts by constants, one AND, eight variable shifts, which is one instruction each on 8 ×
//! 64-bit registers and two each on 4 × 64. They cost 2 % more bits than scatter at fpp 0.01 (10.10 and 9.90 per key),
//! 1.5 % at 0.001, 0.9 % at 1e-6. The patterns are part of the file format.

use super::Block;
use crate::hash::nth_word;

/// Fields of a word in the scatter pattern: ⌊64 / 9⌋.
pub(super) const SCATTER_PER_WORD: u32 = 7;

/// The bits of a key with hash half `low` and `probes` probes.
#[cfg(any(all(feature = "std", target_has_atomic = "64"), test))]
#[inline]
pub(crate) fn mask(low: u64, probes: u32) -> Block {
    match rounds(probes) {
        0 => scattered(low, probes),
        rounds => lanes(low, rounds),
    }
}

/// The bit of probe `i`, from 0, of a key with hash half `low` and `probes` probes.
pub(crate) const fn position(low: u64, probes: u32, i: u32) -> u32 {
    match rounds(probes) {
        0 => (nth_word(low, i / SCATTER_PER_WORD) >> (9 * (i % SCATTER_PER_WORD)) & 511) as u32,
        _ => 64 * (i % 8) + (nth_word(low, i / 8) >> (6 * (i % 8)) & 63) as u32,
    }
}

/// The rounds of lanes, or 0 if bits are scattered.
#[inline(always)]
pub(super) const fn rounds(probes: u32) -> u32 {
    if probes.is_multiple_of(8) { probes / 8 } else { 0 }
}

/// The lanes of `rounds` rounds.
#[inline(always)]
pub(super) fn lanes(low: u64, rounds: u32) -> Block {
    let mut words = [0u64; 8];
    for round in 0..rounds {
        let word = nth_word(low, round);
        for (lane, bits) in words.iter_mut().enumerate() {
            *bits |= 1 << ((word >> (6 * lane)) & 63);
        }
    }
    Block(words.map(u64::to_le))
}

/// The scatter pattern.
pub(super) fn scattered(low: u64, probes: u32) -> Block {
    let mut mask = Block::default();
    insert_scattered(&mut mask, low, probes);
    mask
}

/// Sets the scatter pattern in a block and returns whether any bit was clear.
#[inline(always)]
pub(super) fn insert_scattered(block: &mut Block, low: u64, probes: u32) -> bool {
    let mut all = 1;
    for (word, bit) in Scatter::new(low, probes) {
        all &= u64::from_le(block.0[word]) >> bit;
        block.0[word] |= (1u64 << bit).to_le();
    }
    all & 1 == 0
}

/// Whether the whole scatter pattern is set in a block.
#[inline(always)]
pub(super) fn contains_scattered(block: &Block, low: u64, probes: u32) -> bool {
    let mut all = 1;
    for (word, bit) in Scatter::new(low, probes) {
        all &= u64::from_le(block.0[word]) >> bit;
    }
    all & 1 == 1
}

/// The words of the scatter pattern, each with the number of its fields that are probes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn scatter_words(low: u64, probes: u32) -> impl Iterator<Item = (u64, u32)> {
    let counts = (0..probes.div_ceil(SCATTER_PER_WORD))
        .map(move |n| (n, (probes - n * SCATTER_PER_WORD).min(SCATTER_PER_WORD)));
    counts.map(move |(n, count)| (nth_word(low, n), count))
}

/// The word and the bit of each probe of the scatter pattern.
pub(super) struct Scatter {
    low: u64,
    probes: u32,
    /// Probes returned so far.
    given: u32,
    /// Fields of the word not returned yet.
    fields: u64,
}

impl Scatter {
    #[inline(always)]
    pub(super) fn new(low: u64, probes: u32) -> Self {
        Self { low, probes, given: 0, fields: low }
    }
}

impl Iterator for Scatter {
    type Item = (usize, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.given == self.probes {
            return None;
        }
        if self.given > 0 && self.given.is_multiple_of(SCATTER_PER_WORD) {
            self.fields = nth_word(self.low, self.given / SCATTER_PER_WORD);
        }
        let (word, bit) = (self.fields >> 6 & 7, self.fields & 63);
        self.fields >>= 9;
        self.given += 1;
        Some((word as usize, bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_the_bits_of_the_mask() {
        for (probes, low) in (1..=32).zip((0..).map(crate::hash::mix)) {
            let mut block = Block::default();
            for position in (0..probes).map(|i| position(low, probes, i)) {
                block.0[position as usize / 64] |= (1u64 << (position % 64)).to_le();
            }
            assert_eq!(block, mask(low, probes), "{probes}");
        }
    }
}
