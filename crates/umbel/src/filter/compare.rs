//! Comparison of two filters: what their sets share, estimated from their bits alone.

use crate::math::{Estimate, Overlap};

/// A comparison of the sets in two filters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Estimated keys of the first set.
    pub left: Estimate,
    /// Estimated keys of the second set.
    pub right: Estimate,
    /// What the sets share; `None` if no bit is clear in both filters, since then nothing can be estimated.
    pub overlap: Option<Overlap>,
    /// The bits at which they were compared: those of the smaller filter.
    pub bits: u64,
    /// Bits set in the first filter.
    pub left_bits: u64,
    /// Bits set in the second.
    pub right_bits: u64,
    /// Bits set in both.
    pub shared_bits: u64,
    /// The average number of bits set in both if the sets share nothing, in filters with these many bits set.
    pub bits_by_chance: f64,
}

impl Comparison {
    /// Compares sets of `keys` keys in filters of `bits` bits, of which `set` are set in the first, the second, and both.
    pub fn new(keys: [Estimate; 2], overlap: Option<Overlap>, bits: u64, set: [u64; 3]) -> Self {
        let ([left, right], [left_bits, right_bits, shared_bits]) = (keys, set);
        let bits_by_chance = left_bits as f64 * right_bits as f64 / bits as f64;
        Self { left, right, overlap, bits, left_bits, right_bits, shared_bits, bits_by_chance }
    }
}
