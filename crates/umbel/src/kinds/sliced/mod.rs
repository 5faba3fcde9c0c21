//! The sliced filter (P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, section 2,
//! <https://doi.org/10.1016/j.ipl.2006.10.007>): the classic one with m/k bits for each probe alone.
//!
//! Probe i falls into slice i, by the same hash as in the classic kind. So no two probes of a key meet, slices fill
//! independently of each other, and the rate is exactly the product of their fills.

mod plan;
pub mod rate;

pub(crate) use plan::Plans;

use super::plain::{Folding, Meaning};
use super::spread::{Layout, SpreadCore};
use crate::bits::{self, Block, Blocks};
use crate::filter::Filter;
use crate::hash::KeyHasher;
use crate::math::Coverage;
use crate::plan::Plan;
use crate::prelude::*;

/// A sliced Bloom filter: k slices of m/k bits, a probe in each.
///
/// As large and as slow as [`Classic`](crate::Classic), and slightly worse with very few keys. Use it to match the
/// layout of other systems (pybloom and its descendants), or if the probes of a key must differ.
pub type Sliced<S = Blocks, H = KeyHasher> = Filter<SpreadCore<Plans, S>, H>;

/// Bits of a slice: slice i has bits i·m/k to (i + 1)·m/k − 1.
fn slice(plan: &Plan) -> u64 {
    plan.bits / u64::from(plan.probes)
}

impl Layout for Plans {
    const MEANING: Meaning = Meaning {
        folding: Folding {
            unit: "bits per slice",
            units: slice,
            // A slice of s bits folds to s/d inside itself, and its start i·s to i·s/d: so does every position.
            fold: |blocks, plan, divisor| bits::fold(blocks, plan.bits, divisor),
        },
        fpp,
        coverage: |plan| Coverage::sliced(slice(plan), plan.probes),
    };
    const SLICED: bool = true;
}

/// The product of the slices' fills.
fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
    let slice = slice(plan);
    let mut set = vec![0u64; plan.probes as usize];
    for position in bits::ones(blocks, plan.bits) {
        set[(position / slice) as usize] += 1;
    }
    set.into_iter().map(|set| set as f64 / slice as f64).product()
}
