//! Kernels for AVX2 (two registers of four lanes a block) and AVX-512 (one of eight).

use core::arch::x86_64::*;

use super::grouped::Grouped;
use super::pattern::Scatter;
use super::{Batch, Block, Hash, Isa, Kernel, Member, Run, pattern};
use crate::hash::{KeyHash, nth_word};
use crate::prelude::*;

/// Adds the kernels whose instruction sets this processor reports, best last.
pub(super) fn add_available(kernels: &mut Vec<fn(u32) -> Kernel>) {
    if super::has_feature!("avx2") && super::has_feature!("bmi2") {
        kernels.push(avx2::kernel);
    }
    if super::has_feature!("avx512f") && super::has_feature!("bmi2") {
        // Scattered bits are tested word by word, without vectors.
        kernels.push(|probes| match pattern::rounds(probes) {
            0 => Kernel { name: avx512::NAME, ..avx2::kernel(probes) },
            _ => avx512::kernel(probes),
        });
    }
}

pub(super) mod avx2 {
    use super::*;

    super::super::kernels!(Avx2, "avx2", [1, 2, 3, 4, 5, 6, 7, 8, 16], "avx2,bmi2");

    pub(in crate::bits::arch) struct Avx2;

    /// One round of lanes in four words: bit (word >> shift) & 63 of each.
    #[inline(always)]
    unsafe fn lane_bits(word: __m256i, shifts: __m256i) -> __m256i {
        // SAFETY: AVX2, promised by the caller.
        unsafe {
            let positions =
                _mm256_and_si256(_mm256_srlv_epi64(word, shifts), _mm256_set1_epi64x(63));
            _mm256_sllv_epi64(_mm256_set1_epi64x(1), positions)
        }
    }

    impl Isa for Avx2 {
        /// Words 0 to 3 and 4 to 7.
        type Line = (__m256i, __m256i);

        #[inline(always)]
        unsafe fn lanes(low: u64, rounds: u32) -> Self::Line {
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let shifts = (_mm256_set_epi64x(18, 12, 6, 0), _mm256_set_epi64x(42, 36, 30, 24));
                let word = _mm256_set1_epi64x(low as i64);
                let mut mask = (lane_bits(word, shifts.0), lane_bits(word, shifts.1));
                for round in 1..rounds {
                    let word = _mm256_set1_epi64x(nth_word(low, round) as i64);
                    mask.0 = _mm256_or_si256(mask.0, lane_bits(word, shifts.0));
                    mask.1 = _mm256_or_si256(mask.1, lane_bits(word, shifts.1));
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn scattered(low: u64, probes: u32) -> Self::Line {
            // SAFETY: AVX2, promised by the caller.
            unsafe {
                let one = _mm256_set1_epi64x(1);
                let firsts =
                    (_mm256_set_epi64x(192, 128, 64, 0), _mm256_set_epi64x(448, 384, 320, 256));
                let mut mask = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for (word, bit) in Scatter::new(low, probes) {
                    // In all words but its own the bit is shifted by 64 or more places, or by none that there are: out.
                    let position = _mm256_set1_epi64x((64 * word as u64 + bit) as i64);
                    let shifts = (
                        _mm256_sub_epi64(position, firsts.0),
                        _mm256_sub_epi64(position, firsts.1),
                    );
                    mask.0 = _mm256_or_si256(mask.0, _mm256_sllv_epi64(one, shifts.0));
                    mask.1 = _mm256_or_si256(mask.1, _mm256_sllv_epi64(one, shifts.1));
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn load(block: &Block) -> Self::Line {
            let words: *const __m256i = block.0.as_ptr().cast();
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe { (_mm256_load_si256(words), _mm256_load_si256(words.add(1))) }
        }

        #[inline(always)]
        unsafe fn store(block: &mut Block, line: Self::Line) {
            let words: *mut __m256i = block.0.as_mut_ptr().cast();
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                _mm256_store_si256(words, line.0);
                _mm256_store_si256(words.add(1), line.1);
            }
        }

        #[inline(always)]
        unsafe fn and(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX2, promised by the caller.
            unsafe { (_mm256_and_si256(left.0, right.0), _mm256_and_si256(left.1, right.1)) }
        }

        #[inline(always)]
        unsafe fn without(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX2, promised by the caller.
            unsafe { (_mm256_andnot_si256(right.0, left.0), _mm256_andnot_si256(right.1, left.1)) }
        }

        #[inline(always)]
        unsafe fn or(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX2, promised by the caller.
            unsafe { (_mm256_or_si256(left.0, right.0), _mm256_or_si256(left.1, right.1)) }
        }

        #[inline(always)]
        unsafe fn xor(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX2, promised by the caller.
            unsafe { (_mm256_xor_si256(left.0, right.0), _mm256_xor_si256(left.1, right.1)) }
        }

        #[inline(always)]
        unsafe fn is_zero(line: Self::Line) -> bool {
            // SAFETY: AVX2, promised by the caller.
            unsafe {
                let any = _mm256_or_si256(line.0, line.1);
                _mm256_testz_si256(any, any) == 1
            }
        }
    }
}

pub(super) mod avx512 {
    use super::*;

    pub(super) const NAME: &str = "avx512";

    super::super::kernels!(Avx512, NAME, [8, 16], "avx512f,bmi2");

    pub(in crate::bits::arch) struct Avx512;

    /// One round of lanes: bit (word >> shift) & 63 of each word.
    #[inline(always)]
    unsafe fn lane_bits(word: u64) -> __m512i {
        // SAFETY: AVX-512F, promised by the caller.
        unsafe {
            let shifts = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
            let fields = _mm512_srlv_epi64(_mm512_set1_epi64(word as i64), shifts);
            let positions = _mm512_and_si512(fields, _mm512_set1_epi64(63));
            _mm512_sllv_epi64(_mm512_set1_epi64(1), positions)
        }
    }

    impl Isa for Avx512 {
        type Line = __m512i;

        #[inline(always)]
        unsafe fn lanes(low: u64, rounds: u32) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let mut mask = lane_bits(low);
                for round in 1..rounds {
                    mask = _mm512_or_si512(mask, lane_bits(nth_word(low, round)));
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn scattered(low: u64, probes: u32) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe {
                let (one, firsts) =
                    (_mm512_set1_epi64(1), _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0));
                let mut mask = _mm512_setzero_si512();
                for (word, bit) in Scatter::new(low, probes) {
                    // As above.
                    let position = _mm512_set1_epi64((64 * word as u64 + bit) as i64);
                    let bits = _mm512_sllv_epi64(one, _mm512_sub_epi64(position, firsts));
                    mask = _mm512_or_si512(mask, bits);
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn load(block: &Block) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe { _mm512_load_si512(block.0.as_ptr().cast()) }
        }

        #[inline(always)]
        unsafe fn store(block: &mut Block, line: Self::Line) {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe { _mm512_store_si512(block.0.as_mut_ptr().cast(), line) };
        }

        #[inline(always)]
        unsafe fn and(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe { _mm512_and_si512(left, right) }
        }

        #[inline(always)]
        unsafe fn without(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe { _mm512_andnot_si512(right, left) }
        }

        #[inline(always)]
        unsafe fn or(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe { _mm512_or_si512(left, right) }
        }

        #[inline(always)]
        unsafe fn xor(left: Self::Line, right: Self::Line) -> Self::Line {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe { _mm512_xor_si512(left, right) }
        }

        #[inline(always)]
        unsafe fn is_zero(line: Self::Line) -> bool {
            // SAFETY: AVX-512F, promised by the caller.
            unsafe { _mm512_test_epi64_mask(line, line) == 0 }
        }
    }
}
