//! Plans the classic kind.

use super::rate::{best_probes, bits_per_key_with, fpp as rate, spread};
use crate::kinds::prelude::*;
use crate::plan::size::{Shape, blocks_within, climb};

#[derive(Clone, PartialEq)]
pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Classic;
    const PLAIN: bool = true;

    fn for_keys(_: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        shape_for(fpp)?.smallest(keys, fpp, &Self::promised_fpp)
    }

    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let bits = blocks_within(bytes)? * BLOCK_BITS;
        let guess = best_probes(keys as f64, bits as f64);
        let plan = |probes| Plan { variant, keys, fpp: 0.5, bits, probes };
        let around = [guess.floor(), guess.ceil()].map(|k| plan((k as u32).clamp(1, MAX_PROBES)));
        let [fewer, more] = around.map(|plan| rate(keys, bits, plan.probes));
        let best = around[usize::from(more < fewer)];
        at_rate(best, Self::promised_fpp(&best))
    }

    fn for_capacity(_: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        shape_for(fpp)?.most_keys(fpp, bytes, &Self::promised_fpp)
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        rate(keys, plan.bits, plan.probes)
    }

    fn spread(plan: &Plan) -> Spread {
        spread(plan.keys, plan.bits, plan.probes)
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        Ok(check_field("bits", plan.bits, plan.bits > 0, "at least 1")?)
    }
}

fn shape_for(fpp: f64) -> Result<Shape, PlanError> {
    let load = |probes: u32| BLOCK_BITS as f64 / bits_per_key_with(fpp, probes);
    // The best k is log2(1/p), rounded.
    let guess = (-fpp.log2()).round().clamp(1.0, f64::from(MAX_PROBES)) as u32;
    let probes = climb(guess, &load);
    Shape { variant: Variant::Classic, probes, load: load(probes) }.checked(fpp)
}

impl Plan {
    /// Plans a classic filter to be sent packed: the fewest bits with `probes` probes per key, at the rate of
    /// [`for_keys`](Self::for_keys).
    ///
    /// Fewer probes than `for_keys` chooses need more bits in memory, but fewer of them are set, and
    /// [packed](https://docs.rs/umbel-share) they are smaller: at 1 %, 8.0 bits sent per key with one probe and 100 in
    /// memory, 8.9 and 19 with two; the smallest filter in memory has 9.6.
    ///
    /// # Errors
    /// As [`for_keys`](Self::for_keys); [`PlanError::FppOutOfReach`] above 4,096 bits per key; [`PlanError::Field`]
    /// unless `probes` is 1 to [`MAX_PROBES`].
    ///
    /// M. Mitzenmacher 2002, <https://doi.org/10.1109/TNET.2002.803864>.
    pub fn for_sending(keys: u64, fpp: f64, probes: u32) -> Result<Self, PlanError> {
        check_fpp(fpp)?;
        check_keys(keys)?;
        let possible = (1..=MAX_PROBES).contains(&probes);
        check_field("probes", probes.into(), possible, "1 to 32")?;
        let load = BLOCK_BITS as f64 / bits_per_key_with(fpp, probes);
        let shape = Shape { variant: Variant::Classic, probes, load }.checked(fpp)?;
        shape.smallest(keys, fpp, &Plans::promised_fpp)
    }
}
