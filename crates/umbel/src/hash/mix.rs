//! The one mixing function, which stretches a hash into more words. Part of the file format.

/// 2⁶⁴ divided by the golden ratio, odd: the step between the states of SplitMix64.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's output function: a bijection of 64 bits in which every input bit moves every
/// output bit with probability near one half.
///
/// G. Steele, D. Lea, C. Flood, 2014, <https://doi.org/10.1145/2660193.2660195>, variant 13 of
/// Stafford's mixers.
#[inline]
pub const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Word `n` of the endless sequence that `low` begins: `low` itself, then SplitMix64 started there.
#[inline]
pub(crate) const fn nth_word(low: u64, n: u32) -> u64 {
    if n == 0 { low } else { mix(low.wrapping_add(GOLDEN.wrapping_mul(n as u64))) }
}
