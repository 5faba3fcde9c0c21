//! Numbers that look random, for samples and tests: no system's hash.

/// The output function of SplitMix64, a bijection of 64 bits.
///
/// G. Steele, D. Lea, C. Flood, 2014, <https://doi.org/10.1145/2660193.2660195>, variant 13 of Stafford's mixers.
pub(crate) const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
