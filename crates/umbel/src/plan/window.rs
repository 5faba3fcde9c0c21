//! Plans the window kind: the share of each generation, and the rate of all together.

use super::plain::at_its_rate;
use super::planner::Planner;
use super::{Kind, Plan, PlanError, check_bits, check_field};
use crate::bits::BLOCK_BITS;
use crate::math::window::{compound, share};
use crate::math::{Spread, spread};

/// From 2 to 8 generations, usually 4. Bits relative to those of a blocked filter for the window alone:
///
/// ```text
///           G =   2     3     4     5     6     7     8
/// fpp 0.1      2.59  2.21  2.14  2.13  2.15  2.17  2.20
/// fpp 0.01     2.30  1.86  1.75  1.71  1.70  1.70  1.71
/// fpp 0.001    2.27  1.77  1.64  1.59  1.56  1.56  1.55
/// ```
///
/// Six or seven are the optimum, but by so little that cache lines matter more: a look-up reads one for each
/// generation, and with four takes 3 to 4.4 times as long as in a blocked filter (10 M keys).
pub(super) struct Window;

impl Planner for Window {
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        let plan = |each: f64| {
            whole(Plan::for_keys(Kind::Blocked, keys_each(keys, detail), each)?, keys, fpp, detail)
        };
        at_most(share(fpp, detail), fpp, plan)
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let each = bytes / u64::from(detail);
        let each = Plan::for_memory(Kind::Blocked, keys_each(keys, detail), each)?;
        at_its_rate(whole(each, keys, 0.5, detail)?)
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let each = bytes / u64::from(detail);
        let plan = |share: f64| {
            let each = Plan::for_capacity(Kind::Blocked, share, each)?;
            whole(each, each.keys * u64::from(detail - 1), fpp, detail)
        };
        at_most(share(fpp, detail), fpp, plan)
    }

    /// From the planned keys on, all generations are assumed to be full: the most there is, just before one ends.
    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        let each = plan.part();
        let full = match keys >= plan.keys {
            true => u64::from(plan.detail),
            false => keys / each.keys,
        };
        let rest = if keys >= plan.keys { 0 } else { keys % each.keys };
        let full = core::iter::repeat_n(each.predicted_fpp(), full as usize);
        compound(full.chain([each.predicted_fpp_at(rest)]))
    }

    fn spread(&self, plan: &Plan) -> Spread {
        spread::compound(plan.part().fpp_spread(), plan.detail)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let unit = BLOCK_BITS * u64::from(plan.detail);
        let whole = plan.bits > 0 && plan.bits.is_multiple_of(unit);
        check_field("bits", plan.bits, whole, "a multiple of 512 for each generation, at least 512")
    }
}

/// The keys of a generation: all but the newest together hold at least the window's.
fn keys_each(keys: u64, generations: u32) -> u64 {
    keys.div_ceil(u64::from(generations - 1))
}

/// The plan for each generation's share, or for less of it, as little as makes all of them promise `fpp`.
fn at_most(
    mut share: f64,
    fpp: f64,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    loop {
        let plan = plan(share)?;
        let found = plan.promised_fpp();
        if found <= fpp {
            return Ok(plan);
        }
        share *= f64::min(fpp / found, 0.999_9);
    }
}

/// The plan of each generation; see [`Plan::generation`].
pub(super) fn generation(plan: &Plan) -> Plan {
    Plan {
        kind: Kind::Blocked,
        keys: keys_each(plan.keys, plan.detail),
        fpp: share(plan.fpp, plan.detail),
        bits: plan.bits / u64::from(plan.detail),
        probes: plan.probes,
        detail: 0,
    }
}

/// The plan of all generations.
fn whole(each: Plan, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
    check_bits(each.bits as f64 * f64::from(detail))?;
    Ok(Plan { kind: Kind::Window, keys, fpp, bits: each.bits * u64::from(detail), detail, ..each })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_newest_have_the_window() {
        for keys in [1, 2, 3, 4, 10, 999, 1_000_000] {
            for generations in 2..=8 {
                let each = keys_each(keys, generations);
                assert!(each * u64::from(generations - 1) >= keys);
                assert!((each - 1) * u64::from(generations - 1) < keys);
            }
        }
    }
}
