//! Plans the sliced kind.

use super::rate::{fpp as rate, slice_for, spread};
use crate::kinds::classic::rate::bits_per_key_with;
use crate::kinds::prelude::*;
use crate::math::search::least;

#[derive(Clone, PartialEq)]
pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Sliced;
    const PLAIN: bool = true;

    /// P. Almeida et al. 2007, section 2, as in pybloom: k = ⌈log₂ 1/p⌉ slices, or one less if that takes fewer bits.
    /// The slices have the bits that the exact rate requires; pybloom's ⌈n·|ln p|/(k (ln 2)²)⌉ are up to 0.2 % fewer,
    /// and miss the rate by as much if k was rounded.
    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        let most = (-fpp.log2()).ceil().clamp(1.0, f64::from(MAX_PROBES)) as u32;
        if bits_per_key_with(fpp, most) > 4096.0 {
            return Err(PlanError::FppOutOfReach(Kind::Sliced, fpp));
        }
        let plan = |probes: u32| {
            let slice = slice_for(keys, fpp, probes);
            check_bits(slice * f64::from(probes))?;
            let mut slice = slice.ceil().max(1.0) as u64;
            let plan = |slice| Plan { variant, keys, fpp, bits: slice * u64::from(probes), probes };
            // The formula is solved in floating point, and for the mean.
            let step = if keys < SURE_FROM { 1_000_000 } else { 1_000 };
            let mut few = slice.saturating_sub(1);
            while Self::promised_fpp(&plan(slice)) > fpp {
                few = slice;
                slice += 1 + slice / step;
            }
            if keys >= SURE_FROM {
                slice = least(few, slice, &|slice| Self::promised_fpp(&plan(slice)) <= fpp);
            }
            Ok::<_, PlanError>(plan(slice))
        };
        let plans = [plan(most)?, plan((most - 1).max(1))?];
        let best = plans.into_iter().min_by_key(|plan| plan.bits).expect("two plans");
        check_bits(best.bits as f64)?;
        Ok(best)
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        rate(keys, plan.bits / u64::from(plan.probes), plan.probes)
    }

    fn spread(plan: &Plan) -> Spread {
        spread(plan.keys, plan.bits / u64::from(plan.probes), plan.probes)
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        multiple_of(plan.probes.into(), plan, "a multiple of the probes, at least 1 for each")
    }
}
