//! Kernels for NEON (four registers of two lanes a block), which every AArch64 processor has.
//!
//! Tested against the definition in an emulator; not measured, and possibly no faster than plain code as compiled. NEON
//! has no right shift by a variable: it shifts left by a negative number.
//!
//! Only for little-endian machines: words are used as they are in memory.

use core::arch::aarch64::*;

use super::isa::{Isa, Work, on_two_lines};
use super::{Block, pattern};
use crate::hash::nth_word;

/// Proof that the processor has NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neon(());

impl Neon {
    /// Every AArch64 processor has it.
    pub(super) fn detect() -> Option<Self> {
        (!cfg!(umbel_plain)).then_some(Self(()))
    }
}

#[target_feature(enable = "neon")]
pub(super) fn run<W: Work>(isa: Neon, work: W) -> W::Answer {
    work.run(isa)
}

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

/// Both lines, register by register.
macro_rules! four {
    ($of:ident($left:ident, $right:ident)) => {
        [
            $of($left[0], $right[0]),
            $of($left[1], $right[1]),
            $of($left[2], $right[2]),
            $of($left[3], $right[3]),
        ]
    };
}

impl Isa for Neon {
    /// Words 0 and 1, 2 and 3, 4 and 5, 6 and 7.
    type Line = [uint64x2_t; 4];

    #[inline(always)]
    fn lanes(self, low: u64, rounds: u32) -> Self::Line {
        if cfg!(miri) {
            // Miri does not know the variable shift.
            return self.load(&pattern::lanes(low, rounds));
        }
        // SAFETY: NEON; pairs are below 4.
        unsafe {
            let mut mask = [vdupq_n_u64(0); 4];
            for round in 0..rounds {
                let word = vdupq_n_u64(nth_word(low, round));
                for (pair, mask) in mask.iter_mut().enumerate() {
                    *mask = vorrq_u64(*mask, lane_bits(word, pair));
                }
            }
            mask
        }
    }

    #[inline(always)]
    fn scattered(self, low: u64, probes: u32) -> Self::Line {
        self.load(&pattern::scattered(low, probes))
    }

    #[inline(always)]
    fn load(self, block: &Block) -> Self::Line {
        // SAFETY: NEON; a block is four pairs of words.
        unsafe {
            let words = block.0.as_ptr();
            [
                vld1q_u64(words),
                vld1q_u64(words.add(2)),
                vld1q_u64(words.add(4)),
                vld1q_u64(words.add(6)),
            ]
        }
    }

    #[inline(always)]
    fn store(self, block: &mut Block, line: Self::Line) {
        for (pair, words) in line.into_iter().enumerate() {
            // SAFETY: NEON; a block is four pairs of words.
            unsafe { vst1q_u64(block.0.as_mut_ptr().add(2 * pair), words) };
        }
    }

    on_two_lines! {
        and: |left, right| four!(vandq_u64(left, right));
        without: |left, right| four!(vbicq_u64(left, right));
        or: |left, right| four!(vorrq_u64(left, right));
        xor: |left, right| four!(veorq_u64(left, right));
    }

    #[inline(always)]
    fn is_zero(self, line: Self::Line) -> bool {
        // SAFETY: NEON.
        unsafe {
            let any = vorrq_u64(vorrq_u64(line[0], line[1]), vorrq_u64(line[2], line[3]));
            vmaxvq_u32(vreinterpretq_u32_u64(any)) == 0
        }
    }
}
