//! The classic filter: k independent bits anywhere among m.

mod plan;
pub mod rate;

pub(crate) use plan::Plans;

use super::plain::{self, Folding, Meaning, folds, plain};
use super::prelude::*;
use super::scattered::{Layout, ScatteredCore};

filter! {
    /// A classic Bloom filter: the fewest bits of the Bloom kinds, any m and k, and up to k cache misses per key.
    Classic(ScatteredCore[Plans])
}

plain!(Classic, Plans::MEANING);

impl Layout for Plans {
    const MEANING: Meaning = Meaning {
        folding: Folding {
            unit: "bits",
            units: |plan| plan.bits,
            fold: |blocks, plan, divisor| bits::fold(blocks, plan.bits, divisor),
        },
        fpp: |blocks, plan| {
            (bits::count_ones(blocks) as f64 / plan.bits as f64).powi(plan.probes as i32)
        },
        coverage: |plan| Coverage::classic(plan.bits, plan.probes),
    };
    const SLICED: bool = false;
}
