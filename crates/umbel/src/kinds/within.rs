//! Plans kinds that consist of, or begin with, a plain filter: counting, attributes and cascade.

use super::prelude::*;

/// Runs `$does` with the planner of a plain variant, blocked or classic, as the type `$planner`.
macro_rules! of_plain {
    ($variant:expr, $planner:ident => $does:expr) => {
        match $variant {
            Variant::Classic => {
                use crate::kinds::classic::Plans as $planner;
                $does
            }
            _ => {
                use crate::kinds::blocked::Plans as $planner;
                $does
            }
        }
    };
}
pub(super) use of_plain;

/// The methods of such a planner. `inside` gives the plain filter's variant, and how many times the whole has its bits.
macro_rules! planned_within {
    ($inside:ident) => {
        fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
            let (inner, times) = $inside(variant);
            let plan = of_plain!(inner, P => P::plan(inner, keys, fpp)?);
            whole(variant, plan, times)
        }

        fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
            let (inner, times) = $inside(variant);
            let plan = of_plain!(inner, P => P::plan_in(inner, keys, bytes / times)?);
            whole(variant, plan, times)
        }

        fn for_capacity(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
            let (inner, times) = $inside(variant);
            let plan = of_plain!(inner, P => P::plan_most(inner, fpp, bytes / times)?);
            whole(variant, plan, times)
        }

        fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
            let part = part(plan);
            of_plain!(part.variant, P => P::predicted_fpp_at(&part, keys))
        }

        fn spread(plan: &Plan) -> Spread {
            let part = part(plan);
            of_plain!(part.variant, P => P::spread(&part))
        }
    };
}
pub(super) use planned_within;

pub(super) fn whole(variant: Variant, plain: Plan, times: u64) -> Result<Plan, PlanError> {
    let bits = plain.bits.saturating_mul(times);
    check_bits(bits as f64)?;
    Ok(Plan { variant, bits, ..plain })
}

pub(super) fn part(plan: &Plan, (inner, times): (Variant, u64)) -> Plan {
    Plan { variant: inner, bits: plan.bits / times, ..*plan }
}
