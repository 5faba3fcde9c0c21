//! The sliced filter (P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, section 2,
//! <https://doi.org/10.1016/j.ipl.2006.10.007>): the classic one with m/k bits for each probe alone.
//!
//! Probe i falls into slice i, by the same hash as in the classic kind. So no two probes of a key meet, slices fill
//! independently of each other, and the rate is exactly the product of their fills.

use super::Filter;
use super::bloom::BloomCore;
use super::classic::probe;
use super::layout::Layout;
use crate::bits::{self, Block, Blocks};
use crate::hash::{KeyHash, KeyHasher};
use crate::math::Coverage;
use crate::plan::{Kind, Plan};
use crate::prelude::*;

/// A sliced Bloom filter: k slices of m/k bits, a probe in each.
///
/// As large and as slow as [`Classic`](super::Classic), and slightly worse with very few keys. Use it to match the
/// layout of other systems (pybloom and its descendants), or if the probes of a key must differ.
pub type Sliced<S = Blocks, H = KeyHasher> = Filter<BloomCore<SlicedLayout, S>, H>;

/// The layout of the sliced kind: slice i has bits i·m/k to (i + 1)·m/k − 1.
#[derive(Clone, Copy, Debug)]
pub struct SlicedLayout;

fn slice(plan: &Plan) -> u64 {
    plan.bits / u64::from(plan.probes)
}

impl Layout for SlicedLayout {
    const KIND: Kind = Kind::Sliced;
    const UNIT: &'static str = "bits per slice";

    fn units(plan: &Plan) -> u64 {
        slice(plan)
    }

    #[inline]
    fn position(plan: &Plan, hash: KeyHash, i: u64) -> u64 {
        let slice = slice(plan);
        i * slice + bits::place(probe(hash, i), slice)
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        let slice = slice(plan);
        let mut set = vec![0u64; plan.probes as usize];
        for position in bits::ones(blocks, plan.bits) {
            set[(position / slice) as usize] += 1;
        }
        set.into_iter().map(|set| set as f64 / slice as f64).product()
    }

    fn coverage(plan: &Plan) -> Coverage {
        Coverage::sliced(slice(plan), plan.probes)
    }
}
