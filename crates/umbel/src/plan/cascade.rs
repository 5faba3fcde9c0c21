//! Planning of the cascade kind: of its first level, and of those that correct it.

use core::ops::RangeInclusive;

use super::PlanError;
use super::planner::Planner;
use super::{Kind, Plan, Variant, check_fpp, check_keys, plain, planner};
use crate::math::Spread;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The parameter of a cascade of levels.
pub(crate) const LEVELS: u32 = 0;
/// The parameter of one filter beside an exact list of those it wrongly catches.
pub(crate) const LIST: u32 = 1;

/// Most levels. Each halves what is left, so that keys of both lists are told apart by then but with a chance of
/// 2⁻¹²⁷ each. Part of the format.
pub(crate) const MOST_LEVELS: usize = 128;

/// Bits of a key in an exact list: its hash.
pub(crate) const LISTED_BITS: u64 = 128;

/// Bits a key for each halving of the rate, in a filter of one probe or the best classic one: 1/ln 2.
const HALVING_BITS: f64 = core::f64::consts::LOG2_E;

/// Bits of a level of `held` keys and all after it, when `others` keys of the other list have passed to it.
///
/// At rate q the next level holds q times the others, and passes of the `held` are its others. With rate 1/2 from there on,
/// these take (2 q·others + held)/ln 2 bits. So q is best at held/(2 ln 2·others), but at most 1/2.
fn bits_from(held: f64, others: f64) -> f64 {
    if held < 1.0 {
        return 0.0;
    }
    let rate = f64::min(0.5, held / (2.0 * core::f64::consts::LN_2 * others));
    HALVING_BITS * (2.0 * rate * others + held * (1.0 - rate.log2()))
}

impl Plan {
    /// A cascade for `included` keys that match and `excluded` ones that must not: no error on either, and on all
    /// other keys a rate of at most `fpp`. With [`Form::List`](super::Form::List) one filter beside an exact list.
    ///
    /// The plan is that of the first level, at the rate for which everything together is smallest: `fpp`, or less
    /// when so many are excluded that it costs less to catch fewer. With r and s keys included and excluded, s p of
    /// them are caught at rate p. When these are as many as r or more, the levels after the first take about
    /// (2 s p + r)/ln 2 bits, and p is best near r/(2 s ln 2), 0.72 r/s. When they are fewer, about
    /// (log₂(r/(s p)) + 2.9)/ln 2 bits for each. The exact list takes 128 for each.
    ///
    /// J. Larisch, D. Choffnes, D. Levin, B. M. Maggs, A. Mislove, C. Wilson 2017, section IV,
    /// <https://doi.org/10.1109/SP.2017.17>, who give the first level r√2/s.
    ///
    /// # Errors
    /// As [`for_keys`](Self::for_keys); [`PlanError::Kind`] for another kind.
    pub fn for_lists(
        kind: impl Into<Variant>,
        included: u64,
        excluded: u64,
        fpp: f64,
    ) -> Result<Self, PlanError> {
        let variant = kind.into();
        if variant.kind() != Kind::Cascade {
            return Err(PlanError::Kind { expected: Kind::Cascade, found: variant.kind() });
        }
        check_fpp(fpp)?;
        check_keys(included)?;
        let (_, detail) = planner(variant)?;
        let cost = |plan: &Plan| plan.bits as f64 + plan.bits_after(included, excluded);
        let first = |rate| first_level(included, rate, detail);
        Ok(Self { fpp, ..smallest(fpp, cost, first)? })
    }

    /// Bytes of a cascade whose first level this is, with all levels or the list after it: about, for the rate decides
    /// how many keys there are.
    pub fn bytes_for_lists(&self, included: u64, excluded: u64) -> u64 {
        self.bytes() + (self.bits_after(included, excluded) / 8.0).ceil() as u64
    }

    /// Bits of what comes after the first level.
    fn bits_after(&self, included: u64, excluded: u64) -> f64 {
        let caught = excluded as f64 * self.predicted_fpp();
        match self.detail {
            LIST => caught * LISTED_BITS as f64,
            _ => bits_from(caught, included as f64),
        }
    }
}

/// The plan that costs least among those at `rate` and lower ones.
fn smallest(
    mut rate: f64,
    cost: impl Fn(&Plan) -> f64,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    /// 2^(−1/4).
    const QUARTER: f64 = 0.840_896_415_253_714_6;
    let mut best = plan(rate)?;
    // The cost falls, then rises with every quarter of a halving; what a step of probes costs may hide that at first.
    let mut worse = 0;
    while worse < 8 {
        rate *= QUARTER;
        let Ok(plan) = plan(rate) else { break };
        match cost(&plan) < cost(&best) {
            true => (best, worse) = (plan, 0),
            false => worse += 1,
        }
    }
    Ok(best)
}

fn first_level(keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
    let plan = Plan::for_keys(Kind::Blocked, keys, fpp).map_err(ours)?;
    Ok(Plan { kind: Kind::Cascade, detail, ..plan })
}

/// The plan of a level after the first, of `held` keys, when `others` keys of the other list have passed to it: at the
/// rate, at most 1/2, for which it and all after it are smallest, or the lowest that its whole blocks give. A
/// level of a few keys has a block all the same, and then lets hardly a key pass.
pub(crate) fn next_level(held: u64, others: u64) -> Result<Plan, PlanError> {
    let cost = |plan: &Plan| {
        let caught = others as f64 * plan.predicted_fpp();
        plan.bits as f64 + bits_from(caught, held as f64)
    };
    let plan = smallest(0.5, cost, |rate| Plan::for_keys(Kind::Blocked, held, rate))?;
    plain::lowest_rate(held, plan.bytes())
}

/// An error about the blocked kind, told of this one.
fn ours(error: PlanError) -> PlanError {
    match error {
        PlanError::FppOutOfReach { fpp, .. } => {
            PlanError::FppOutOfReach { kind: Kind::Cascade, fpp }
        }
        error => error,
    }
}

/// The planner's plans are for keys that match alone; what is excluded comes on top.
pub(super) struct Cascade;

impl Planner for Cascade {
    fn details(&self) -> (RangeInclusive<u32>, &'static str) {
        (LEVELS..=LIST, "0 for levels, 1 for one filter beside an exact list")
    }

    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        first_level(keys, fpp, detail)
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let plan = Plan::for_memory(Kind::Blocked, keys, bytes)?;
        Ok(Plan { kind: Kind::Cascade, detail, ..plan })
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let plan = Plan::for_capacity(Kind::Blocked, fpp, bytes).map_err(ours)?;
        Ok(Plan { kind: Kind::Cascade, detail, ..plan })
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        Plan { kind: Kind::Blocked, ..*plan }.predicted_fpp_at(keys)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        plain::Blocked.spread(plan)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        plain::whole_blocks(plan)
    }
}
