//! Planning of the cascade kind: of its first level, and of those that correct it.

use std::ops::RangeInclusive;

use super::planner::Planner;
use super::{Kind, Plan, Variant, check_fpp, check_keys, plain, planner};
use crate::Error;

/// The parameter of a cascade of levels.
pub(crate) const LEVELS: u32 = 0;
/// The parameter of one filter beside an exact list of those it wrongly catches.
pub(crate) const LIST: u32 = 1;

/// Most levels. Each halves what is left, so that keys of both lists are told apart by then but with a chance of
/// 2⁻¹²⁷ each. Part of the format.
pub(crate) const MOST_LEVELS: usize = 128;

/// Bits of a key in an exact list: its hash.
pub(crate) const LISTED_BITS: u64 = 128;

/// Bits a key of a filter at rate 1/2, by one probe, which costs a blocked filter no more than a classic one:
/// 1/ln 2.
const HALVING_BITS: f64 = std::f64::consts::LOG2_E;

impl Plan {
    /// A cascade for `included` keys that match and `excluded` ones that must not: no error on either, and on all
    /// other keys a rate of at most `fpp`. With `Kind::Cascade.with(1)` one filter beside an exact list.
    ///
    /// The plan is that of the first level, at the rate for which everything together is smallest: `fpp`, or less
    /// when so many are excluded that it costs less to catch fewer. With r and s keys included and excluded, the
    /// levels after the first, at rate 1/2, take about (2 s p + r)/ln 2 bits, s p those that pass the first: so p is best
    /// near r/(2 s ln 2), 0.72 r/s. The exact list takes 128 s p bits.
    ///
    /// J. Larisch, D. Choffnes, D. Levin, B. M. Maggs, A. Mislove, C. Wilson 2017, section IV,
    /// <https://doi.org/10.1109/SP.2017.17>, who give the first level r√2/s.
    ///
    /// # Errors
    /// As [`for_keys`](Self::for_keys); [`Error::PlanKind`] for another kind.
    pub fn for_lists(
        kind: impl Into<Variant>,
        included: u64,
        excluded: u64,
        fpp: f64,
    ) -> Result<Self, Error> {
        let variant = kind.into();
        if variant.kind != Kind::Cascade {
            return Err(Error::PlanKind { expected: Kind::Cascade, found: variant.kind });
        }
        check_fpp(fpp)?;
        check_keys(included)?;
        let (_, detail) = planner(variant)?;
        let cost = |plan: &Plan| {
            let caught = excluded as f64 * plan.predicted_fpp();
            plan.bits as f64
                + match detail {
                    LIST => caught * LISTED_BITS as f64,
                    // None caught is the end of it.
                    _ if caught < 1.0 => 0.0,
                    _ => (2.0 * caught + included as f64) * HALVING_BITS,
                }
        };
        let first = |rate| Ok::<_, Error>(Plan { fpp, ..first_level(included, rate, detail)? });
        let mut best = first(fpp)?;
        // The cost falls, then rises with every quarter of a bit a key; a step of probes may hide that once.
        let (mut rate, mut worse) = (fpp, 0);
        while worse < 8 && excluded > 0 {
            rate *= QUARTER;
            let Ok(plan) = first(rate) else { break };
            match cost(&plan) < cost(&best) {
                true => (best, worse) = (plan, 0),
                false => worse += 1,
            }
        }
        Ok(best)
    }
}

/// 2^(−1/4).
const QUARTER: f64 = 0.840_896_415_253_714_6;

fn first_level(keys: u64, fpp: f64, detail: u32) -> Result<Plan, Error> {
    let plan = Plan::for_keys(Kind::Blocked, keys, fpp).map_err(ours)?;
    Ok(Plan { kind: Kind::Cascade, detail, ..plan })
}

/// The plan of a level after the first: rate 1/2, or the lowest that its whole blocks give. A level of a few
/// keys has a block all the same, and then lets hardly a key pass.
pub(crate) fn next_level(keys: u64) -> Result<Plan, Error> {
    let half = Plan::for_keys(Kind::Blocked, keys, 0.5)?;
    Plan::for_memory(Kind::Blocked, keys, half.bytes())
}

/// An error about the blocked kind, told of this one.
fn ours(error: Error) -> Error {
    match error {
        Error::FppOutOfReach { fpp, .. } => Error::FppOutOfReach { kind: Kind::Cascade, fpp },
        error => error,
    }
}

/// The planner's plans are for keys that match alone; what is excluded comes on top.
pub(super) struct Cascade;

impl Planner for Cascade {
    fn details(&self) -> (RangeInclusive<u32>, &'static str) {
        (LEVELS..=LIST, "0 for levels, 1 for one filter beside an exact list")
    }

    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, Error> {
        first_level(keys, fpp, detail)
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, Error> {
        let plan = Plan::for_memory(Kind::Blocked, keys, bytes)?;
        Ok(Plan { kind: Kind::Cascade, detail, ..plan })
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, Error> {
        let plan = Plan::for_capacity(Kind::Blocked, fpp, bytes).map_err(ours)?;
        Ok(Plan { kind: Kind::Cascade, detail, ..plan })
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        Plan { kind: Kind::Blocked, ..*plan }.predicted_fpp_at(keys)
    }

    fn check(&self, plan: &Plan) -> Result<(), Error> {
        plain::whole_blocks(plan)
    }
}
