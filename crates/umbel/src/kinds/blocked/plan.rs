//! Plans the blocked kind.

use super::rate::{Pattern, spread};
use crate::kinds::classic;
use crate::kinds::prelude::*;
use crate::plan::size::{Shape, blocks_within, climb};

/// Lanes are used if they need at most this many times the bits of the best scatter pattern: they are several times
/// faster to compute, and cost 2.0 % at fpp 0.01, 1.5 % at 0.001 and 0.9 % at 1e-6. At 0.1 they would cost 22 %.
const LANES_WORTH: f64 = 1.025;

pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Blocked;
    const PLAIN: bool = true;

    fn for_keys(_: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        shape_for(fpp)?.smallest(keys, fpp, &Self::promised_fpp)
    }

    fn for_memory(_: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let best = lowest_rate(keys, bytes)?;
        // Use lanes if a plan for the rate does: then a plan for keys and one for its bytes merge.
        let lanes = lanes_around(best.probes).map(|probes| Plan { probes, ..best });
        let lanes = lanes.filter(|plan| {
            let shape = shape_for(Self::promised_fpp(plan));
            shape.is_ok_and(|shape| shape.probes == plan.probes)
        });
        let rate = |plan: &Plan| Self::predicted_fpp_at(plan, keys);
        let lanes = lanes.min_by(|a, b| rate(a).total_cmp(&rate(b)));
        at_its_rate(lanes.unwrap_or(best))
    }

    fn for_capacity(_: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        shape_for(fpp)?.most_keys(fpp, bytes, &Self::promised_fpp)
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        let blocks = plan.bits / BLOCK_BITS;
        Pattern::shared(plan.probes).fpp(keys as f64 / blocks as f64)
    }

    fn spread(plan: &Plan) -> Spread {
        spread(plan.keys, plan.bits / BLOCK_BITS, plan.probes)
    }
}

/// The smallest filter that keeps `fpp` in expectation, without the margin for many keys.
pub(crate) fn expected(keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    shape_for(fpp)?.smallest(keys, fpp, &|plan| Plans::predicted_fpp_at(plan, plan.keys))
}

/// The filter of `bytes` bytes with the lowest rate, however slow its probes.
pub(crate) fn lowest_rate(keys: u64, bytes: u64) -> Result<Plan, PlanError> {
    let bits = blocks_within(bytes)? * BLOCK_BITS;
    // The classic optimum bounds the blocked one from above.
    let guess = classic::rate::best_probes(keys as f64, bits as f64).ceil();
    let plan = |probes| Plan { variant: Variant::Blocked, keys, fpp: 0.5, bits, probes };
    let guess = (guess as u32).clamp(1, MAX_PROBES);
    let best = climb(guess, &|probes| -Plans::predicted_fpp_at(&plan(probes), keys));
    at_its_rate(plan(best))
}

fn at_its_rate(plan: Plan) -> Result<Plan, PlanError> {
    at_rate(plan, Plans::promised_fpp(&plan))
}

/// Usual rates, with probes and loads as [`search`] finds them in some 200 µs.
const RATES: [(f64, u32, f64); 12] = [
    (0.1, 3, 105.877_530_382_305_89),
    (0.05, 4, 81.028_100_547_521_12),
    (0.03, 5, 68.924_355_687_711_04),
    (0.02, 6, 61.318_427_244_803_74),
    (0.01, 8, 50.696_544_121_547_57),
    (0.005, 8, 44.099_728_680_866_02),
    (0.003, 8, 39.947_867_087_619_64),
    (0.002, 8, 37.001_609_472_097_9),
    (0.001, 8, 32.560_435_800_665_08),
    (1e-4, 12, 23.240_805_711_532_17),
    (1e-5, 16, 17.063_892_234_747_797),
    (1e-6, 16, 13.123_205_641_281_759),
];

fn shape_for(fpp: f64) -> Result<Shape, PlanError> {
    match RATES.iter().find(|(usual, ..)| *usual == fpp) {
        Some(&(_, probes, load)) => Ok(Shape { variant: Variant::Blocked, probes, load }),
        None => search(fpp),
    }
}

/// The fewest bits, and lanes where they cost little more.
fn search(fpp: f64) -> Result<Shape, PlanError> {
    let load = |probes: u32| Pattern::shared(probes).load_for(fpp);
    // The classic kind is best with log2(1/p) probes; a blocked filter has a little fewer.
    let guess = (-fpp.log2()).round().clamp(1.0, f64::from(MAX_PROBES)) as u32;
    let probes = climb(guess, &load);
    let best = load(probes);
    let lanes = lanes_around(probes).filter(|&lanes| load(lanes) * LANES_WORTH >= best);
    let lanes = lanes.max_by(|&a, &b| load(a).total_cmp(&load(b)));
    let probes = lanes.unwrap_or(probes);
    Shape { variant: Variant::Blocked, probes, load: load(probes) }.checked(fpp)
}

/// The numbers of probes around `probes` that fill all eight lanes of a block.
fn lanes_around(probes: u32) -> impl Iterator<Item = u32> {
    let around = [probes / 8 * 8, probes.next_multiple_of(8)];
    around.into_iter().filter(|lanes| (8..=MAX_PROBES).contains(lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_shapes_are_as_searched() {
        let searched = RATES.map(|(fpp, ..)| {
            let Shape { probes, load, .. } = search(fpp).unwrap();
            (fpp, probes, load)
        });
        assert_eq!(RATES, searched);
    }
}
