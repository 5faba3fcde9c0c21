//! What a foreign filter really delivers.

use super::Format;
use crate::filter::Fact;
use crate::math::Estimate;

/// The receipt of a foreign filter: figures from its own bits beside what its file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Its format.
    pub format: Format,
    /// How keys become positions: only filters of one scheme can be joined.
    pub scheme: String,
    /// Bytes of its content.
    pub bytes: u64,
    /// Bits, m, of all its parts.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Set bits over bits, in [0, 1]; 0 where there are none.
    pub fill: f64,
    /// Probes a key, k; of a filter of parts, of the newest.
    pub probes: u32,
    /// Different keys in it, with a 95 % interval, from its bits.
    pub keys: Estimate,
    /// The chance that a key never inserted passes now, from its bits.
    pub fpp: f64,
    /// The filters it is made of, oldest first; none when it is of one piece.
    pub parts: Vec<Part>,
    /// What its file declares: capacity, count, seed and such. Not believed, only told.
    pub facts: Vec<Fact>,
}

/// A filter that is part of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Bits of the part.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Probes a key.
    pub probes: u32,
    /// Keys in it.
    pub keys: Estimate,
    /// The chance that a key it has not passes it now.
    pub fpp: f64,
    /// What the file declares of it.
    pub facts: Vec<Fact>,
}
