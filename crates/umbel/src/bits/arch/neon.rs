//! Kernels for NEON (four registers of two lanes a block), which every AArch64 processor has.
//!
//! Tested in an emulator against the definition; their speed was not measured, nor whether they beat what the
//! compiler makes of plain code. NEON has no shift right by a variable: it shifts left by a negative number.
//!
//! Only for little-endian machines: words are used as they are in memory.

use core::arch::aarch64::*;

use super::grouped::Grouped;
use super::{Batch, Block, Hash, Isa, Kernel, Member, Run, kernels};
use crate::hash::{KeyHash, nth_word};

/// Adds the kernels, for any processor but Miri's, which does not know the instructions.
pub(super) fn add_available(kernels: &mut Vec<fn(u32) -> Kernel>) {
    if is_available() {
        kernels.push(kernel);
    }
}

/// Whether this processor can run the kernels.
pub(super) fn is_available() -> bool {
    !cfg!(miri)
}

kernels!(Neon, "neon", "neon");

pub(super) struct Neon;

/// Shifts left that bring the field of each lane to the bottom.
static SHIFTS: [i64; 8] = [0, -6, -12, -18, -24, -30, -36, -42];

/// Lanes 2·`pair` and 2·`pair` + 1 of one round: bit (word >> shift) & 63 of each.
#[inline(always)]
unsafe fn lane_bits(word: uint64x2_t, pair: usize) -> uint64x2_t {
    // SAFETY: NEON, promised by the caller; a pair, below 4, is two of eight shifts.
    unsafe {
        let shifts = vld1q_s64(SHIFTS.as_ptr().add(2 * pair));
        let positions = vandq_u64(vshlq_u64(word, shifts), vdupq_n_u64(63));
        vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(positions))
    }
}

impl Isa for Neon {
    /// Words 0 and 1, 2 and 3, 4 and 5, 6 and 7.
    type Mask = [uint64x2_t; 4];

    #[inline(always)]
    unsafe fn lanes<const ROUNDS: u32>(low: u64) -> Self::Mask {
        // SAFETY: NEON, promised by the caller; pairs are below 4.
        unsafe {
            let mut mask = [vdupq_n_u64(0); 4];
            for round in 0..ROUNDS {
                let word = vdupq_n_u64(nth_word(low, round));
                for (pair, mask) in mask.iter_mut().enumerate() {
                    *mask = vorrq_u64(*mask, lane_bits(word, pair));
                }
            }
            mask
        }
    }

    #[inline(always)]
    unsafe fn test(block: &Block, mask: &Self::Mask) -> bool {
        // SAFETY: NEON, promised by the caller; a block is four pairs of words.
        unsafe {
            let mut missing = vdupq_n_u64(0);
            for (pair, mask) in mask.iter().enumerate() {
                let words = vld1q_u64(block.0.as_ptr().add(2 * pair));
                missing = vorrq_u64(missing, vbicq_u64(*mask, words));
            }
            vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0
        }
    }

    #[inline(always)]
    unsafe fn set(block: &mut Block, mask: &Self::Mask) {
        // SAFETY: NEON, promised by the caller; a block is four pairs of words.
        unsafe {
            for (pair, mask) in mask.iter().enumerate() {
                let words = block.0.as_mut_ptr().add(2 * pair);
                vst1q_u64(words, vorrq_u64(vld1q_u64(words), *mask));
            }
        }
    }
}
