//! AVX2 (two registers of four words a block) and AVX-512 (one of eight).

use core::arch::x86_64::*;

use super::isa::{Isa, Work, insert};
use super::pattern::Scatter;
use super::{Block, pattern};
use crate::hash::nth_word;

/// Whether the processor has a feature: detected at run time; without the standard library, at compile time.
macro_rules! has_feature {
    ($feature:tt) => {{
        #[cfg(feature = "std")]
        let has = std::arch::is_x86_feature_detected!($feature);
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = $feature);
        has
    }};
}

/// Proof that the processor has AVX2 and BMI2, and the number of probes: 8 if `EIGHT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2<const EIGHT: bool>(u32);

/// Proof that the processor has AVX-512F, AVX2 and BMI2, and the number of probes: 8 if `EIGHT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512<const EIGHT: bool>(u32);

impl<const EIGHT: bool> Avx2<EIGHT> {
    pub(super) fn detect(probes: u32) -> Option<Self> {
        if cfg!(umbel_plain) || !has_feature!("bmi2") {
            return None;
        }
        has_feature!("avx2").then_some(Self(probes))
    }
}

impl<const EIGHT: bool> Avx512<EIGHT> {
    pub(super) fn detect(probes: u32) -> Option<Self> {
        if cfg!(umbel_avx2) {
            return None;
        }
        let avx2 = Avx2::<EIGHT>::detect(probes).filter(|_| has_feature!("avx512f"));
        avx2.map(|Avx2(probes)| Self(probes))
    }
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn run_avx2<const EIGHT: bool, W: Work>(isa: Avx2<EIGHT>, work: W) -> W::Answer {
    work.run(isa)
}

#[target_feature(enable = "avx512f,avx2,bmi2")]
pub(super) fn run_avx512<const EIGHT: bool, W: Work>(isa: Avx512<EIGHT>, work: W) -> W::Answer {
    work.run(isa)
}

/// Operations of an [`Isa`] on two lines.
macro_rules! on_two_lines {
    ($($name:ident: |$left:ident, $right:ident| $line:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $left: Self::Line, $right: Self::Line) -> Self::Line {
            // SAFETY: `self` is proof that the processor has the instructions.
            unsafe { $line }
        }
    )*};
}

/// One round of lanes in four words: bit (word >> shift) & 63 of each.
#[inline(always)]
unsafe fn lane_bits_256(word: __m256i, shifts: __m256i) -> __m256i {
    // SAFETY: AVX2, promised by the caller.
    unsafe {
        let positions = _mm256_and_si256(_mm256_srlv_epi64(word, shifts), _mm256_set1_epi64x(63));
        _mm256_sllv_epi64(_mm256_set1_epi64x(1), positions)
    }
}

impl<const EIGHT: bool> Isa for Avx2<EIGHT> {
    /// Words 0 to 3 and 4 to 7.
    type Line = (__m256i, __m256i);

    #[inline(always)]
    fn probes(self) -> u32 {
        if EIGHT { 8 } else { self.0 }
    }

    #[inline(always)]
    fn lanes(self, low: u64, rounds: u32) -> Self::Line {
        // SAFETY: AVX2; blocks are aligned to 64 bytes.
        unsafe {
            let shifts = (_mm256_set_epi64x(18, 12, 6, 0), _mm256_set_epi64x(42, 36, 30, 24));
            let word = _mm256_set1_epi64x(low as i64);
            let mut mask = (lane_bits_256(word, shifts.0), lane_bits_256(word, shifts.1));
            for round in 1..rounds {
                let word = _mm256_set1_epi64x(nth_word(low, round) as i64);
                mask.0 = _mm256_or_si256(mask.0, lane_bits_256(word, shifts.0));
                mask.1 = _mm256_or_si256(mask.1, lane_bits_256(word, shifts.1));
            }
            mask
        }
    }

    #[inline(always)]
    fn scattered(self, low: u64) -> Self::Line {
        // SAFETY: AVX2.
        unsafe {
            let one = _mm256_set1_epi64x(1);
            let firsts =
                (_mm256_set_epi64x(192, 128, 64, 0), _mm256_set_epi64x(448, 384, 320, 256));
            let mut mask = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (word, bit) in Scatter::new(low, self.probes()) {
                // In every other word the shift is 64 or more, or negative, which counts as more: the bit drops out.
                let position = _mm256_set1_epi64x((64 * word as u64 + bit) as i64);
                let shifts =
                    (_mm256_sub_epi64(position, firsts.0), _mm256_sub_epi64(position, firsts.1));
                mask.0 = _mm256_or_si256(mask.0, _mm256_sllv_epi64(one, shifts.0));
                mask.1 = _mm256_or_si256(mask.1, _mm256_sllv_epi64(one, shifts.1));
            }
            mask
        }
    }

    #[inline(always)]
    fn load(self, block: &Block) -> Self::Line {
        let words: *const __m256i = block.0.as_ptr().cast();
        // SAFETY: AVX2; blocks are aligned to 64 bytes.
        unsafe { (_mm256_load_si256(words), _mm256_load_si256(words.add(1))) }
    }

    #[inline(always)]
    fn store(self, block: &mut Block, line: Self::Line) {
        let words: *mut __m256i = block.0.as_mut_ptr().cast();
        // SAFETY: AVX2; blocks are aligned to 64 bytes.
        unsafe {
            _mm256_store_si256(words, line.0);
            _mm256_store_si256(words.add(1), line.1);
        }
    }

    on_two_lines! {
        and: |left, right| (_mm256_and_si256(left.0, right.0), _mm256_and_si256(left.1, right.1));
        without: |left, right| (_mm256_andnot_si256(right.0, left.0), _mm256_andnot_si256(right.1, left.1));
        or: |left, right| (_mm256_or_si256(left.0, right.0), _mm256_or_si256(left.1, right.1));
        xor: |left, right| (_mm256_xor_si256(left.0, right.0), _mm256_xor_si256(left.1, right.1));
    }

    #[inline(always)]
    fn is_zero(self, line: Self::Line) -> bool {
        // SAFETY: AVX2.
        unsafe {
            let any = _mm256_or_si256(line.0, line.1);
            _mm256_testz_si256(any, any) == 1
        }
    }

    /// Eight lanes: the block's words are shifted left until the tested bit is the sign, 63 − field times, which saves
    /// the mask. The fields of !low are 63 − field; a left shift drops the bits above a field, a right shift by 58 the
    /// bits below it.
    #[inline(always)]
    fn contains(self, block: &Block, low: u64) -> bool {
        if pattern::rounds(self.probes()) == 0 {
            return pattern::contains_scattered(block, low, self.probes());
        }
        if !EIGHT {
            return self.has(self.load(block), self.mask(low));
        }
        let words = self.load(block);
        // SAFETY: AVX2.
        unsafe {
            let tops = (_mm256_set_epi64x(40, 46, 52, 58), _mm256_set_epi64x(16, 22, 28, 34));
            let low = _mm256_set1_epi64x(!low as i64);
            let first = _mm256_srli_epi64::<58>(_mm256_sllv_epi64(low, tops.0));
            let last = _mm256_srli_epi64::<58>(_mm256_sllv_epi64(low, tops.1));
            let first = _mm256_sllv_epi64(words.0, first);
            let last = _mm256_sllv_epi64(words.1, last);
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(first, last))) == 0b1111
        }
    }
}

/// One round of lanes: bit (word >> shift) & 63 of each word. A rotation counts modulo 64: fields need no mask.
#[inline(always)]
unsafe fn lane_bits_512(word: u64) -> __m512i {
    // SAFETY: AVX-512F, promised by the caller.
    unsafe {
        let shifts = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
        let fields = _mm512_srlv_epi64(_mm512_set1_epi64(word as i64), shifts);
        _mm512_rolv_epi64(_mm512_set1_epi64(1), fields)
    }
}

impl<const EIGHT: bool> Isa for Avx512<EIGHT> {
    type Line = __m512i;

    #[inline(always)]
    fn probes(self) -> u32 {
        if EIGHT { 8 } else { self.0 }
    }

    #[inline(always)]
    fn lanes(self, low: u64, rounds: u32) -> Self::Line {
        // SAFETY: AVX-512F; blocks are aligned to 64 bytes.
        unsafe {
            let mut mask = lane_bits_512(low);
            for round in 1..rounds {
                mask = _mm512_or_si512(mask, lane_bits_512(nth_word(low, round)));
            }
            mask
        }
    }

    #[inline(always)]
    fn scattered(self, low: u64) -> Self::Line {
        // SAFETY: AVX-512F.
        unsafe {
            let (one, last) = (_mm512_set1_epi64(1), _mm512_set1_epi64(511));
            let firsts = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);
            let mut mask = _mm512_setzero_si512();
            for (word, count) in pattern::scatter_words(low, self.probes()) {
                let mut fields = _mm512_set1_epi64(word as i64);
                for _ in 0..count {
                    // In every other word the shift is 64 or more, or negative, which counts as more.
                    let shifts = _mm512_sub_epi64(_mm512_and_si512(fields, last), firsts);
                    mask = _mm512_or_si512(mask, _mm512_sllv_epi64(one, shifts));
                    fields = _mm512_srli_epi64::<9>(fields);
                }
            }
            mask
        }
    }

    #[inline(always)]
    fn load(self, block: &Block) -> Self::Line {
        // SAFETY: AVX-512F; blocks are aligned to 64 bytes.
        unsafe { _mm512_load_si512(block.0.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, block: &mut Block, line: Self::Line) {
        // SAFETY: AVX-512F; blocks are aligned to 64 bytes.
        unsafe { _mm512_store_si512(block.0.as_mut_ptr().cast(), line) };
    }

    on_two_lines! {
        and: |left, right| _mm512_and_si512(left, right);
        without: |left, right| _mm512_andnot_si512(right, left);
        or: |left, right| _mm512_or_si512(left, right);
        xor: |left, right| _mm512_xor_si512(left, right);
    }

    #[inline(always)]
    fn is_zero(self, line: Self::Line) -> bool {
        // SAFETY: AVX-512F.
        unsafe { _mm512_test_epi64_mask(line, line) == 0 }
    }

    /// If each word of the mask has one bit, one instruction finds the clear ones.
    #[inline(always)]
    fn has(self, block: Self::Line, mask: Self::Line) -> bool {
        match EIGHT {
            // SAFETY: AVX-512F.
            true => unsafe { _mm512_testn_epi64_mask(block, mask) == 0 },
            false => self.is_zero(self.without(mask, block)),
        }
    }

    /// Scattered bits are set together, by one mask.
    #[inline(always)]
    fn insert(self, block: &mut Block, low: u64) -> bool {
        insert(self, block, low)
    }

    /// Seven scattered bits are tested together: each bit's word is brought to its own lane. Up to seven need no loop.
    #[inline(always)]
    fn contains(self, block: &Block, low: u64) -> bool {
        let block = self.load(block);
        if pattern::rounds(self.probes()) > 0 {
            return self.has(block, self.mask(low));
        }
        if self.probes() <= pattern::SCATTER_PER_WORD {
            // SAFETY: AVX-512F.
            return unsafe { clear_of_seven(block, low, self.probes()) } == 0;
        }
        let mut clear = 0;
        for (word, count) in pattern::scatter_words(low, self.probes()) {
            // SAFETY: as above.
            clear |= unsafe { clear_of_seven(block, word, count) };
        }
        clear == 0
    }
}

/// Which of the first `count` fields of a word of the scatter pattern are clear in a block.
#[inline(always)]
unsafe fn clear_of_seven(block: __m512i, word: u64, count: u32) -> __mmask8 {
    // SAFETY: AVX-512F, promised by the caller.
    unsafe {
        let bits = _mm512_set_epi64(0, 54, 45, 36, 27, 18, 9, 0);
        let words = _mm512_set_epi64(0, 60, 51, 42, 33, 24, 15, 6);
        let fields = _mm512_set1_epi64(word as i64);
        // The permutation reads the lowest three bits, the rotation six.
        let there = _mm512_permutexvar_epi64(_mm512_srlv_epi64(fields, words), block);
        let there = _mm512_rorv_epi64(there, _mm512_srlv_epi64(fields, bits));
        _mm512_mask_testn_epi64_mask((1 << count) - 1, there, _mm512_set1_epi64(1))
    }
}
