//! The sliced filter (P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, section 2,
//! <https://doi.org/10.1016/j.ipl.2006.10.007>): a classic filter whose probe i falls into slice i, of m/k bits, by the
//! same hash. So no two probes of a key meet, slices fill independently, and the rate is exactly the product of their
//! fills.

mod plan;
pub mod rate;

pub(crate) use plan::Plans;

use super::plain::{self, Folding, Meaning, folds, plain};
use super::prelude::*;
use super::scattered::{Layout, ScatteredCore};

filter! {
    /// A sliced Bloom filter: k slices of m/k bits, a probe in each. As large and as slow as
    /// [`Classic`](crate::Classic), and slightly worse with very few keys. Use it to match the layout of other systems
    /// (pybloom and its descendants), or if the probes of a key must differ.
    Sliced(ScatteredCore[Plans])
}

plain!(Sliced, Plans::MEANING);

/// Bits of a slice: slice i has bits i·m/k to (i + 1)·m/k − 1.
fn slice(plan: &Plan) -> u64 {
    plan.bits / u64::from(plan.probes)
}

impl Layout for Plans {
    const MEANING: Meaning = Meaning {
        folding: Folding {
            unit: "bits per slice",
            units: slice,
            // A slice of s bits folds to s/d bits, and its start i·s to i·s/d, so one fold of all bits does it.
            fold: |blocks, plan, divisor| bits::fold(blocks, plan.bits, divisor),
        },
        fpp,
        coverage: |plan| Coverage::sliced(slice(plan), plan.probes),
    };
    const SLICED: bool = true;
}

fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
    let slice = slice(plan);
    let mut set = vec![0u64; plan.probes as usize];
    for position in bits::ones(blocks, plan.bits) {
        set[(position / slice) as usize] += 1;
    }
    set.into_iter().map(|set| set as f64 / slice as f64).product()
}
