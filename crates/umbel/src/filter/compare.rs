//! Comparison of two filters: what their sets share, estimated from their bits alone.

use super::bloom::BloomCore;
use super::generic::same_keys;
use super::layout::Layout;
use super::{AnyFilter, Filter, MergeError};
use crate::bits::{self, Block};
use crate::hash::Hashing;
use crate::math::{Estimate, Overlap};
use crate::plan::Kind;

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

impl<L: Layout, S: AsRef<[Block]>, H: Hashing> Filter<BloomCore<L, S>, H> {
    /// Estimates what the sets of this filter and another share. One pass over both.
    ///
    /// If sizes differ, the larger filter is compared as if folded, at the precision of the smaller. See
    /// [`Coverage::overlap`](crate::math::Coverage::overlap) for the estimates.
    ///
    /// # Errors
    /// As [`union`](Filter::union).
    pub fn compare<T: AsRef<[Block]>>(
        &self,
        other: &Filter<BloomCore<L, T>, impl Hashing>,
    ) -> Result<Comparison, MergeError> {
        same_keys(self, other)?;
        let [left, right] = self.core.alike(&other.core)?;
        let plan = left.plan();
        let set = bits::count_shared(left.blocks(), right.blocks());
        let coverage = L::coverage(plan);
        let [ones, others, both] = set;
        let clear = [ones, others, ones + others - both].map(|ones| (plan.bits - ones) as f64);
        let keys = [clear[0], clear[1]].map(|clear| coverage.keys(clear));
        let overlap = coverage.overlap(clear[0], clear[1], clear[2]);
        Ok(Comparison::new(keys, overlap, plan.bits, set))
    }
}

impl<S: AsRef<[Block]>, H: Hashing> AnyFilter<S, H> {
    /// Estimates what the sets of two filters of one kind share; see [`Filter::compare`]. Counting filters are compared
    /// as the blocked ones that they convert to.
    ///
    /// # Errors
    /// As [`Filter::compare`]; [`MergeError::NotComparable`] if the bits of a kind do not reveal what its sets share;
    /// [`MergeError::KindsDiffer`].
    pub fn compare(
        &self,
        other: &AnyFilter<impl AsRef<[Block]>, impl Hashing>,
    ) -> Result<Comparison, MergeError> {
        match (self, other) {
            (Self::Blocked(left), AnyFilter::Blocked(right)) => left.compare(right),
            (Self::Classic(left), AnyFilter::Classic(right)) => left.compare(right),
            (Self::Sliced(left), AnyFilter::Sliced(right)) => left.compare(right),
            (Self::Counting(left), AnyFilter::Counting(right)) => {
                left.to_blocked()?.compare(&right.to_blocked()?)
            }
            (Self::Counting(left), AnyFilter::Blocked(right)) => left.to_blocked()?.compare(right),
            (Self::Blocked(left), AnyFilter::Counting(right)) => left.compare(&right.to_blocked()?),
            (left, right) => {
                let [left, right] = [left.kind(), right.kind()];
                let plain = [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting];
                Err(match [left, right].into_iter().find(|kind| !plain.contains(kind)) {
                    Some(kind) => MergeError::NotComparable(kind),
                    None => MergeError::KindsDiffer { left, right },
                })
            }
        }
    }
}
