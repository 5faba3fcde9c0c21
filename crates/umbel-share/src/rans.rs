//! The coder: bytes by their frequencies, in an asymmetric numeral system with 64 bits of state (J. Duda 2013,
//! <https://arxiv.org/abs/1311.2540>, in the form of F. Giesen's rANS).
//!
//! It reaches the entropy of the frequencies as an arithmetic coder does, to within 2⁻¹⁵ bits per byte, and codes eight
//! bits of a filter per step: a binary range coder needs eight steps for them.
//!
//! ```text
//! u64 state   u32 words in the order in which they are read
//! ```
//! Frequencies are integers that sum to 2¹⁶. A byte with frequency f, and c the sum of the frequencies of lower bytes, is
//! decoded from a state x with c ≤ x mod 2¹⁶ < c + f. The state becomes f · ⌊x / 2¹⁶⌋ + x mod 2¹⁶ − c; below 2³¹ it is
//! multiplied by 2³², and the next word added. At the end the state is 2³¹. The encoder runs backwards.

use crate::error::Corrupt;

/// Frequencies sum to 2^SCALE_BITS (part of the format).
pub(crate) const SCALE_BITS: u32 = 16;
/// The sum of all frequencies.
pub(crate) const SCALE: u32 = 1 << SCALE_BITS;
/// The least state (part of the format).
const LEAST: u64 = 1 << 31;

/// How often each byte occurs, in 2⁻¹⁶; the sum is 2¹⁶.
pub(crate) type Frequencies = [u32; 256];

/// Appends the code of `bytes`, all of which must have a frequency above 0.
pub(crate) fn encode(bytes: &[u8], frequencies: &Frequencies, out: &mut Vec<u8>) {
    let starts = starts(frequencies);
    let mut words = Vec::new();
    let mut state = LEAST;
    for &byte in bytes.iter().rev() {
        let frequency = u64::from(frequencies[usize::from(byte)]);
        if state >= frequency << (63 - SCALE_BITS) {
            words.push(state as u32);
            state >>= 32;
        }
        let start = u64::from(starts[usize::from(byte)]);
        state = ((state / frequency) << SCALE_BITS) + state % frequency + start;
    }
    out.extend_from_slice(&state.to_le_bytes());
    words.iter().rev().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Fills `out` from a code.
pub(crate) fn decode(
    code: &[u8],
    frequencies: &Frequencies,
    out: &mut [u8],
) -> Result<(), Corrupt> {
    let (state, words) = code.split_first_chunk::<8>().ok_or(Corrupt)?;
    let mut state = u64::from_le_bytes(*state);
    let (words, rest) = words.as_chunks::<4>();
    if !(LEAST..LEAST << 32).contains(&state) || !rest.is_empty() {
        return Err(Corrupt);
    }
    let mut words = words.iter();
    let table = slots(frequencies);
    let starts = starts(frequencies);
    let steps: Vec<(u32, u32)> = frequencies.iter().copied().zip(starts).collect();
    for byte in out {
        let slot = state & u64::from(SCALE - 1);
        *byte = table[slot as usize];
        let (frequency, start) = steps[usize::from(*byte)];
        state = u64::from(frequency) * (state >> SCALE_BITS) + slot - u64::from(start);
        if state < LEAST {
            let word = u32::from_le_bytes(*words.next().ok_or(Corrupt)?);
            state = state << 32 | u64::from(word);
        }
    }
    if state == LEAST && words.next().is_none() { Ok(()) } else { Err(Corrupt) }
}

/// The sums of the frequencies of lower bytes.
fn starts(frequencies: &Frequencies) -> [u32; 256] {
    let mut sum = 0;
    frequencies.map(|frequency| {
        sum += frequency;
        sum - frequency
    })
}

/// The byte of each remainder modulo 2¹⁶.
fn slots(frequencies: &Frequencies) -> Vec<u8> {
    let mut slots = Vec::with_capacity(SCALE as usize);
    for (byte, &frequency) in (0..=255).zip(frequencies) {
        slots.resize(slots.len() + frequency as usize, byte);
    }
    slots
}
