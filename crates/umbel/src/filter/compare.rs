//! Estimates what the sets of two filters share, from their bits alone.

use crate::math::{Estimate, Overlap};

/// A comparison of the sets in two filters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Estimated keys of the first set.
    pub left: Estimate,
    /// Estimated keys of the second set.
    pub right: Estimate,
    /// The estimated overlap of the sets; `None` if every bit is set in one filter or the other.
    pub overlap: Option<Overlap>,
    /// The bits compared: as many as the smaller filter has.
    #[doc(hidden)]
    pub bits: u64,
    /// Bits set in the first filter.
    #[doc(hidden)]
    pub left_bits: u64,
    /// Bits set in the second.
    #[doc(hidden)]
    pub right_bits: u64,
    /// Bits set in both.
    #[doc(hidden)]
    pub shared_bits: u64,
    /// The expected `shared_bits` of disjoint sets with this many bits set.
    #[doc(hidden)]
    pub bits_by_chance: f64,
}

impl Comparison {
    /// Compares sets of `keys` keys in filters of `bits` bits; `set` counts the bits set in the first, the second, and
    /// both.
    #[doc(hidden)]
    pub fn new(keys: [Estimate; 2], overlap: Option<Overlap>, bits: u64, set: [u64; 3]) -> Self {
        let ([left, right], [left_bits, right_bits, shared_bits]) = (keys, set);
        let bits_by_chance = left_bits as f64 * right_bits as f64 / bits as f64;
        Self { left, right, overlap, bits, left_bits, right_bits, shared_bits, bits_by_chance }
    }
}
