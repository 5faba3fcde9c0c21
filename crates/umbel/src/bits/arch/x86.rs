//! Kernels for AVX2 (two registers of four lanes a block) and AVX-512 (one of eight).

use core::arch::x86_64::*;

use super::grouped::Grouped;
use super::{Batch, Block, Hash, Isa, Kernel, Member, Run};
use crate::hash::{KeyHash, nth_word};
use crate::prelude::*;

/// Adds the kernels whose instruction sets this processor reports, best last.
pub(super) fn add_available(kernels: &mut Vec<fn(u32) -> Kernel>) {
    if super::has_feature!("avx2") && super::has_feature!("bmi2") {
        kernels.push(avx2::kernel);
    }
    if super::has_feature!("avx512f") && super::has_feature!("bmi2") {
        kernels.push(avx512::kernel);
    }
}

pub(super) mod avx2 {
    use super::*;

    super::super::kernels!(Avx2, "avx2", "avx2,bmi2");

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
        type Mask = (__m256i, __m256i);

        #[inline(always)]
        unsafe fn lanes<const ROUNDS: u32>(low: u64) -> Self::Mask {
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let shifts = (_mm256_set_epi64x(18, 12, 6, 0), _mm256_set_epi64x(42, 36, 30, 24));
                let word = _mm256_set1_epi64x(low as i64);
                let mut mask = (lane_bits(word, shifts.0), lane_bits(word, shifts.1));
                for round in 1..ROUNDS {
                    let word = _mm256_set1_epi64x(nth_word(low, round) as i64);
                    mask.0 = _mm256_or_si256(mask.0, lane_bits(word, shifts.0));
                    mask.1 = _mm256_or_si256(mask.1, lane_bits(word, shifts.1));
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn test(block: &Block, mask: &Self::Mask) -> bool {
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let words: *const __m256i = block.0.as_ptr().cast();
                let missing = (
                    _mm256_andnot_si256(_mm256_load_si256(words), mask.0),
                    _mm256_andnot_si256(_mm256_load_si256(words.add(1)), mask.1),
                );
                let missing = _mm256_or_si256(missing.0, missing.1);
                _mm256_testz_si256(missing, missing) == 1
            }
        }

        #[inline(always)]
        unsafe fn set(block: &mut Block, mask: &Self::Mask) {
            // SAFETY: AVX2, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let words: *mut __m256i = block.0.as_mut_ptr().cast();
                _mm256_store_si256(words, _mm256_or_si256(_mm256_load_si256(words), mask.0));
                let words = words.add(1);
                _mm256_store_si256(words, _mm256_or_si256(_mm256_load_si256(words), mask.1));
            }
        }
    }
}

pub(super) mod avx512 {
    use super::*;

    super::super::kernels!(Avx512, "avx512", "avx512f,bmi2");

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
        type Mask = __m512i;

        #[inline(always)]
        unsafe fn lanes<const ROUNDS: u32>(low: u64) -> Self::Mask {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let mut mask = lane_bits(low);
                for round in 1..ROUNDS {
                    mask = _mm512_or_si512(mask, lane_bits(nth_word(low, round)));
                }
                mask
            }
        }

        #[inline(always)]
        unsafe fn test(block: &Block, mask: &Self::Mask) -> bool {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let words = _mm512_load_si512(block.0.as_ptr().cast());
                _mm512_cmpneq_epi64_mask(_mm512_and_si512(words, *mask), *mask) == 0
            }
        }

        #[inline(always)]
        unsafe fn set(block: &mut Block, mask: &Self::Mask) {
            // SAFETY: AVX-512F, promised by the caller; blocks are aligned to 64 bytes.
            unsafe {
                let words = block.0.as_mut_ptr().cast();
                _mm512_store_si512(
                    words,
                    _mm512_or_si512(_mm512_load_si512(words.cast_const()), *mask),
                );
            }
        }
    }
}
