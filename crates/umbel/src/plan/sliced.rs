//! Plans the sliced kind.

use super::planner::Planner;
use super::{Kind, MAX_PROBES, Plan, PlanError, SURE_FROM, check_bits, check_field};
use crate::math::search::least;
use crate::math::{Spread, sliced, spread};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

pub(super) struct Sliced;

impl Planner for Sliced {
    /// P. Almeida et al. 2007, section 2, as in pybloom: k = ⌈log₂ 1/p⌉ slices, if that needs fewer bits than one slice
    /// less. The slices have the bits that the exact rate requires; pybloom's ⌈n·|ln p|/(k (ln 2)²)⌉ are up to 0.2 %
    /// fewer and miss the rate by as much if k was rounded.
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        let most = (-fpp.log2()).ceil().clamp(1.0, f64::from(MAX_PROBES)) as u32;
        let plan = |probes: u32| {
            let slice = sliced::slice_for(keys, fpp, probes);
            check_bits(slice * f64::from(probes))?;
            let mut slice = slice.ceil().max(1.0) as u64;
            let plan = |slice| {
                let bits = slice * u64::from(probes);
                Plan { kind: Kind::Sliced, keys, fpp, bits, probes, detail }
            };
            // The formula is solved in floating point, and for the mean.
            let step = if keys < SURE_FROM { 1_000_000 } else { 1_000 };
            let mut few = slice.saturating_sub(1);
            while plan(slice).promised_fpp() > fpp {
                few = slice;
                slice += 1 + slice / step;
            }
            if keys >= SURE_FROM {
                slice = least(few, slice, &|slice| plan(slice).promised_fpp() <= fpp);
            }
            Ok::<_, PlanError>(plan(slice))
        };
        let plans = [plan(most)?, plan((most - 1).max(1))?];
        let best = plans.into_iter().min_by_key(|plan| plan.bits).expect("two plans");
        check_bits(best.bits as f64)?;
        Ok(best)
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        sliced::fpp(keys, plan.bits / u64::from(plan.probes), plan.probes)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        spread::sliced(plan.keys, plan.bits / u64::from(plan.probes), plan.probes)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let whole = plan.bits > 0 && plan.bits.is_multiple_of(u64::from(plan.probes));
        check_field("bits", plan.bits, whole, "a multiple of the probes, at least 1 for each")
    }
}
