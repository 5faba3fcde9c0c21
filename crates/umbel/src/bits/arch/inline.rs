//! One key per call, for eight lanes: code that is inlined into callers compiled without AVX2 or AVX-512.
//!
//! A function with a target feature is never inlined into one without, and a call per key costs as much as the work:
//! arguments, constants loaded again, and fewer keys in the processor's window, so fewer cache misses in flight.
//! Measured per query: 2.6 ns with a call, 2.0 without, in cache; 31 and 22 on 126 MB. The AVX2 code uses the
//! instructions of the AVX2 kernels, with two exceptions:
//!
//! 1. A left shift, which drops what is above a field, and a right shift by 58 extract it: no constant 63.
//! 2. A query shifts the block's words left until the tested bit is the sign, 63 − field times, and gathers the signs:
//!    no constant 1. The fields of !low are 63 − field.
//!
//! With AVX-512 a key takes half the instructions, so the window holds twice as many keys: single insertions into 12
//! and 126 MB take 19 and 16 ns where AVX2 takes 28 and 23.
//!
//! Callers may still be compiled for AVX, by `-C target-cpu` or in a function with a target feature, and then keep
//! values of their own in whole vector registers. `vzeroupper` clears the upper halves of all sixteen, so all sixteen
//! are declared as clobbered; callers without AVX keep no more than a float there, so it costs them nothing.
//!
//! Memory is read and written in aligned pieces of 32 or 64 bytes. Every processor with AVX2 moves each aligned word of
//! 8 bytes in them atomically, so other threads see relaxed loads and stores of words, and the functions also work on
//! atomic blocks.

use core::arch::asm;

/// Shifts that bring field i of a word to its top, and a 1 per lane.
#[repr(C, align(64))]
struct Constants {
    _first: [u64; 4],
    _last: [u64; 4],
    _ones: [u64; 8],
    /// Shifts that bring field i to the low end.
    _down: [u64; 8],
    /// Shifts for scattered bits: to their words, and to their places there.
    _words: [u64; 8],
    _bits: [u64; 8],
}

static CONSTANTS: Constants = Constants {
    _first: [58, 52, 46, 40],
    _last: [34, 28, 22, 16],
    _ones: [1; 8],
    _down: [0, 6, 12, 18, 24, 30, 36, 42],
    _words: [6, 15, 24, 33, 42, 51, 60, 0],
    _bits: [0, 9, 18, 27, 36, 45, 54, 0],
};

/// Runs `$lines` on a key's fields, in ymm1 and ymm0, and the line at `$words`, in ymm2 and ymm3; returns what they put
/// in `answer`. Afterwards the upper halves of the vector registers are zero, as code without AVX expects. Every
/// register that this clears is declared as clobbered, because a caller can have values there.
macro_rules! avx2 {
    ($words:ident, $low:expr, $options:tt: $($lines:literal)*) => {{
        let answer: u32;
        asm!(
            "vmovq xmm0, {low}",
            "vpbroadcastq ymm0, xmm0",
            "vpsllvq ymm1, ymm0, [rip + {constants}]",
            "vpsllvq ymm0, ymm0, [rip + {constants} + 32]",
            "vpsrlq ymm1, ymm1, 58",
            "vpsrlq ymm0, ymm0, 58",
            "vmovdqa ymm2, [{words}]",
            "vmovdqa ymm3, [{words} + 32]",
            $($lines,)*
            "vzeroupper",
            low = in(reg) $low,
            constants = sym CONSTANTS,
            words = in(reg) $words,
            answer = lateout(reg) answer,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options $options,
        );
        answer
    }};
}

/// Whether the eight lanes of `low` are all set in the block at `words`.
///
/// # Safety
/// The processor has AVX2; `words` points to 64 readable bytes, aligned to 32, that other threads write only as atomic
/// words.
#[inline(always)]
pub(super) unsafe fn contains_avx2(words: *const u64, low: u64) -> bool {
    // SAFETY: promised by the caller; the assembly reads the block and the constants.
    let signs = unsafe {
        avx2!(words, !low, (nostack, readonly, preserves_flags):
            "vpsllvq ymm1, ymm2, ymm1"
            "vpsllvq ymm0, ymm3, ymm0"
            "vpand ymm1, ymm1, ymm0"
            "vmovmskpd {answer:e}, ymm1"
        )
    };
    signs == 0b1111
}

/// Whether the eight lanes of `low` are all counted: set in one of the two lines at `words`.
///
/// # Safety
/// As for [`contains_avx2`], for two lines.
#[inline(always)]
pub(super) unsafe fn has_avx2(words: *const u64, low: u64) -> bool {
    // SAFETY: as in `contains_avx2`.
    let signs = unsafe {
        avx2!(words, !low, (nostack, readonly, preserves_flags):
            "vpor ymm2, ymm2, [{words} + 64]"
            "vpor ymm3, ymm3, [{words} + 96]"
            "vpsllvq ymm1, ymm2, ymm1"
            "vpsllvq ymm0, ymm3, ymm0"
            "vpand ymm1, ymm1, ymm0"
            "vmovmskpd {answer:e}, ymm1"
        )
    };
    signs == 0b1111
}

/// Sets the eight lanes of `low` in the block at `words` and returns whether any was clear.
///
/// # Safety
/// As for [`contains_avx2`]; the block is also writable. Meanwhile other threads do not write it, and read it only as
/// atomic words.
#[inline(always)]
pub(super) unsafe fn insert_avx2(words: *mut u64, low: u64) -> bool {
    // SAFETY: as in `contains_avx2`; the block is also written.
    let new = unsafe {
        avx2!(words, low, (nostack):
            "vmovdqa ymm4, [rip + {constants} + 64]"
            "vpsllvq ymm1, ymm4, ymm1"
            "vpsllvq ymm0, ymm4, ymm0"
            "vpandn ymm5, ymm2, ymm1"
            "vpandn ymm4, ymm3, ymm0"
            "vpor ymm5, ymm5, ymm4"
            "vpor ymm2, ymm2, ymm1"
            "vpor ymm3, ymm3, ymm0"
            "vmovdqa [{words}], ymm2"
            "vmovdqa [{words} + 32], ymm3"
            "vptest ymm5, ymm5"
            "setnz {answer:l}"
        )
    };
    new as u8 != 0
}

/// Runs `$lines` on a key, whose eight lanes are in zmm16, and the lines at `$words`; returns whether `$answer` holds
/// for k1 afterwards. All lanes in one register halve the instructions of AVX2. A rotation takes its count modulo 64,
/// so fields need no mask.
///
/// It uses only registers that code without AVX-512 does not know, so it needs no `vzeroupper`, and the caller loses
/// nothing.
macro_rules! avx512 {
    ($words:ident, $low:ident, $options:tt, $answer:literal: $($lines:literal)*) => {{
        let answer: u8;
        asm!(
            "vpbroadcastq zmm16, {low}",
            "vmovdqa64 zmm17, [rip + {constants} + 64]",
            "vpsrlvq zmm16, zmm16, [rip + {constants} + 128]",
            "vprolvq zmm16, zmm17, zmm16",
            $($lines,)*
            "kortestw k1, k1",
            concat!("set", $answer, " {answer}"),
            low = in(reg) $low,
            constants = sym CONSTANTS,
            words = in(reg) $words,
            answer = lateout(reg_byte) answer,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _,
            out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _, out("k1") _,
            options $options,
        );
        answer != 0
    }};
}

/// Like [`contains_avx2`].
///
/// # Safety
/// The processor has AVX-512F; the rest as for [`contains_avx2`].
#[inline(always)]
pub(super) unsafe fn contains_avx512(words: *const u64, low: u64) -> bool {
    // SAFETY: as in `contains_avx2`; the same below.
    unsafe { avx512!(words, low, (nostack, readonly), "z": "vptestnmq k1, zmm16, [{words}]") }
}

/// Like [`has_avx2`].
///
/// # Safety
/// As for [`contains_avx512`], for two lines.
#[inline(always)]
pub(super) unsafe fn has_avx512(words: *const u64, low: u64) -> bool {
    // SAFETY: as above.
    unsafe {
        avx512!(words, low, (nostack, readonly), "z":
            "vmovdqa64 zmm17, [{words}]"
            "vporq zmm17, zmm17, [{words} + 64]"
            "vptestnmq k1, zmm16, zmm17"
        )
    }
}

/// Like [`insert_avx2`].
///
/// # Safety
/// The processor has AVX-512F; the rest as for [`insert_avx2`].
#[inline(always)]
pub(super) unsafe fn insert_avx512(words: *mut u64, low: u64) -> bool {
    // SAFETY: as above; the block is also written.
    unsafe {
        avx512!(words, low, (nostack), "nz":
            "vmovdqa64 zmm17, [{words}]"
            "vptestnmq k1, zmm16, zmm17"
            "vporq zmm17, zmm17, zmm16"
            "vmovdqa64 [{words}], zmm17"
        )
    }
}

/// Counts the eight lanes of `low` in the four planes at `words`, like `planes::add` without its branch, and returns
/// whether any was 0.
///
/// # Safety
/// As for [`insert_avx512`], for four lines.
#[inline(always)]
pub(super) unsafe fn add_avx512(words: *mut u64, low: u64) -> bool {
    // SAFETY: as in `insert_avx512`.
    unsafe {
        avx512!(words, low, (nostack), "nz":
            "vmovdqa64 zmm17, [{words}]"         // low
            "vmovdqa64 zmm18, [{words} + 64]"    // high
            "vporq zmm19, zmm17, zmm18"
            "vptestnmq k1, zmm16, zmm19"         // words with a lane at 0
            "vpandq zmm19, zmm17, zmm16"
            "vpandq zmm20, zmm19, zmm18"         // the carry
            "vpxorq zmm18, zmm18, zmm19"         // high ^ key & low
            "vpandnq zmm19, zmm20, zmm16"
            "vpxorq zmm17, zmm17, zmm19"         // low ^ key & !carry
            "vmovdqa64 zmm21, [{words} + 128]"
            "vmovdqa64 zmm22, [{words} + 192]"
            "vpandq zmm23, zmm21, zmm20"
            "vpandq zmm24, zmm22, zmm23"         // at the maximum
            "vpternlogq zmm21, zmm20, zmm24, 0xbe" // a ^ b | c
            "vpternlogq zmm22, zmm23, zmm24, 0xbe"
            "vporq zmm17, zmm17, zmm24"
            "vporq zmm18, zmm18, zmm24"
            "vmovdqa64 [{words} + 128], zmm21"
            "vmovdqa64 [{words} + 192], zmm22"
            "vmovdqa64 [{words}], zmm17"
            "vmovdqa64 [{words} + 64], zmm18"
        )
    }
}

/// Whether the first `probes` scattered bits of `low`, at most seven, are all set. Each bit's word is brought to a lane of
/// its own: the permutation reads three bits of a lane, the rotation six.
///
/// # Safety
/// As for [`contains_avx512`].
#[inline(always)]
pub(super) unsafe fn contains_few(words: *const u64, low: u64, probes: u32) -> bool {
    let answer: u8;
    // SAFETY: as in `contains_avx512`.
    unsafe {
        asm!(
            "kmovw k1, {mask:e}",
            "vpbroadcastq zmm16, {low}",
            "vpsrlvq zmm17, zmm16, [rip + {constants} + 192]",
            "vpermq zmm17, zmm17, [{words}]",
            "vpsrlvq zmm16, zmm16, [rip + {constants} + 256]",
            "vprorvq zmm17, zmm17, zmm16",
            "vptestnmq k1 {{k1}}, zmm17, [rip + {constants} + 64]",
            "kortestw k1, k1",
            "setz {answer}",
            low = in(reg) low,
            mask = in(reg) (1u32 << probes) - 1,
            constants = sym CONSTANTS,
            words = in(reg) words,
            answer = lateout(reg_byte) answer,
            out("zmm16") _, out("zmm17") _, out("k1") _,
            options(nostack, readonly),
        );
    }
    answer != 0
}

#[cfg(test)]
mod tests {
    use std::arch::x86_64::*;

    use crate::bits::Block;
    use crate::bits::arch::Kernel;

    /// Four vectors of sums, kept in registers around both functions, as callers compiled for AVX keep theirs.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn sums(kernel: Kernel, block: &mut Block, rounds: u64) -> [[u64; 4]; 4] {
        let mut sums = [_mm256_setzero_si256(); 4];
        let mut found = 0;
        for i in 0..rounds {
            let low = crate::hash::mix(i);
            kernel.insert(block, low);
            let set = kernel.contains(block, low);
            found += u64::from(set);
            for (sum, factor) in sums.iter_mut().zip(1..) {
                *sum = _mm256_add_epi64(*sum, _mm256_set1_epi64x(factor * i as i64));
            }
        }
        assert_eq!(found, rounds);
        // SAFETY: four numbers either way.
        sums.map(|sum| unsafe { core::mem::transmute(sum) })
    }

    #[test]
    fn vectors_of_the_caller_stay_whole() {
        for kernel in Kernel::available(8) {
            if matches!(kernel, Kernel::PlainEight(_)) {
                continue;
            }
            // SAFETY: the processor has AVX2, as every kernel but the plain one requires.
            let sums = unsafe { sums(kernel, &mut Block::default(), 100_000) };
            assert_eq!(sums, [1, 2, 3, 4].map(|factor| [factor * 4_999_950_000; 4]));
        }
    }
}
