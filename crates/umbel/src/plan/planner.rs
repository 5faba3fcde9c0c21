//! The parts of planning that each kind provides, and the parts common to all kinds.

use super::size::whole_blocks;
use super::{
    MAX_BITS, MAX_PROBES, MERGE_FROM, Plan, PlanError, SURE_FROM, check_bits, check_fpp,
    check_keys, doublings,
};
use crate::list::{Capacity, Kind, Variant};
use crate::math::Spread;
use crate::math::search::{border, least};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The properties of a kind that need no filter: its abilities, its parameter, and its planning.
///
/// Its methods are static, so a program that plans one kind does not contain the others.
pub(crate) trait Planner {
    /// The usual variant.
    const USUAL: Variant;
    /// The kind.
    const KIND: Kind = Self::USUAL.kind();
    /// The valid parameters, in words; `None` if it has none.
    const PARAMETER: Option<&'static str> = None;
    /// The cells of its payload.
    const CELLS: &'static str = "bits";
    /// The meaning of the planned keys.
    const CAPACITY: Capacity = Capacity::Most;
    /// Whether it consists only of bits that are set, and folds.
    const PLAIN: bool = false;
    /// See the methods of [`Kind`] with these names.
    const BUILT_AT_ONCE: bool = false;
    const ROWS: bool = false;
    const REMOVES: bool = false;
    const IN_ORDER: bool = false;
    /// Whether a look-up knows beforehand which blocks it reads. Other kinds find out meanwhile, or read all when
    /// opened.
    #[cfg_attr(not(feature = "mmap"), allow(dead_code))]
    const KNOWS_READS: bool = Self::PLAIN;
    /// Why its filters do not merge, and what to do instead; `None` if they do.
    const UNMERGED: Option<&'static str> = None;

    /// The parameter as written in files and texts; 0 if there is none, or if it is left to the plan.
    fn number(_: Variant) -> u32 {
        0
    }

    /// The variant with this parameter, if it exists.
    fn variant(number: u32) -> Option<Variant> {
        (number == 0).then_some(Self::USUAL)
    }

    /// Checks that a variant is possible.
    fn check_variant(variant: Variant) -> Result<(), PlanError> {
        let number = Self::number(variant);
        match Self::variant(number) {
            Some(found) if found == variant => Ok(()),
            _ => Err(Self::no_parameter(number)),
        }
    }

    /// The error for a parameter that the kind does not have.
    fn no_parameter(found: u32) -> PlanError {
        let expected = Self::PARAMETER.unwrap_or("none: the kind has no parameter");
        PlanError::Detail(Self::KIND, found, expected)
    }

    /// The smallest filter for `keys` keys at `fpp`, both in range.
    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError>;

    /// The lowest rate for `keys` keys, in range, in `bytes` bytes.
    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let plan = |fpp| Self::for_keys(variant, keys, fpp);
        lowest_rate(keys, bytes, &plan, &Self::promised_fpp)
    }

    /// The most keys in `bytes` bytes at `fpp`, in range.
    fn for_capacity(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        most_keys(bytes, &|keys| Self::for_keys(variant, keys, fpp))
    }

    /// See [`Plan::predicted_fpp_at`].
    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64;

    /// See [`Plan::fpp_spread`].
    fn spread(plan: &Plan) -> Spread;

    /// Checks that the numbers of a plan are possible, beyond the checks common to all kinds.
    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        whole_blocks(plan)
    }

    /// See [`Plan::bytes_at`].
    fn bytes_at(plan: &Plan, _: u64) -> u64 {
        plan.bytes()
    }

    /// See [`Plan::for_keys`].
    fn plan(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        check_fpp(fpp)?;
        check_keys(keys)?;
        Self::check_variant(variant)?;
        let for_keys = |keys| {
            Self::for_keys(variant, keys, fpp).map_err(|error| error.of_whole(Self::KIND, fpp))
        };
        let doublings = match Self::most_doublings(keys) {
            0 => 0,
            most => {
                let small = for_keys(SURE_FROM - 1)?;
                let times = keys as f64 / small.keys as f64;
                doublings(most, Self::spread(&small).resized(times))
            }
        };
        let part = for_keys(keys.div_ceil(1 << doublings))?;
        check_bits(part.bits as f64 * f64::from(doublings).exp2())?;
        Ok(Plan { keys, bits: part.bits << doublings, ..part })
    }

    /// See [`Plan::for_memory`].
    fn plan_in(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        check_keys(keys)?;
        Self::check_variant(variant)?;
        Self::for_memory(variant, keys, bytes).map_err(|error| error.in_all(bytes))
    }

    /// See [`Plan::for_capacity`].
    fn plan_most(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        check_fpp(fpp)?;
        Self::check_variant(variant)?;
        let plan = Self::for_capacity(variant, fpp, bytes);
        plan.map_err(|error| error.of_whole(Self::KIND, fpp).in_all(bytes))
    }

    /// The rate a plan promises: from [`SURE_FROM`] keys on, what 99.9 % of all full filters keep by their own bits;
    /// below, what they keep on average. If sizes are doubled, it has the margin of the smallest part, so the three
    /// planning functions agree.
    fn promised_fpp(plan: &Plan) -> f64 {
        match plan.keys < SURE_FROM {
            true => Self::predicted_fpp_at(plan, plan.keys),
            false => {
                let spread = Self::spread(plan);
                let doublings = doublings(Self::most_doublings(plan.keys), spread);
                spread.resized((-f64::from(doublings)).exp2()).upper()
            }
        }
    }

    /// How often a plan for `keys` keys may double its smallest part.
    fn most_doublings(keys: u64) -> u32 {
        if Self::PLAIN { (keys / MERGE_FROM).max(1).ilog2() } else { 0 }
    }

    /// Checks that a plan is for this kind and its numbers are possible.
    fn check(plan: &Plan) -> Result<(), PlanError> {
        if plan.kind() != Self::KIND {
            return Err(PlanError::Kind(Self::KIND, plan.kind()));
        }
        check_fpp(plan.fpp)?;
        check_keys(plan.keys)?;
        check_bits(plan.bits as f64)?;
        if !(1..=MAX_PROBES).contains(&plan.probes) {
            return Err(PlanError::Probes(u64::from(plan.probes)));
        }
        Self::check_variant(plan.variant)?;
        Self::check_own(plan)
    }
}

/// By bisection of the rate's logarithm, to a billionth of it.
fn lowest_rate(
    keys: u64,
    bytes: u64,
    plan: &dyn Fn(f64) -> Result<Plan, PlanError>,
    promised: &dyn Fn(&Plan) -> f64,
) -> Result<Plan, PlanError> {
    if bytes < 64 {
        return Err(PlanError::MemoryTooSmall(bytes));
    }
    let within = |rate: f64| plan(rate.exp()).ok().filter(|plan| plan.bytes() <= bytes);
    // Just under 1; most plans keep full precision there.
    let highest = -1e-9;
    let [rate, _] = border(highest, f64::MIN_POSITIVE.ln(), 40, &|rate| within(rate).is_some());
    let too_many = PlanError::TooManyKeys(keys, bytes.saturating_mul(8).min(MAX_BITS));
    let mut best = within(rate).ok_or(too_many)?;
    best.fpp = promised(&best).clamp(f64::MIN_POSITIVE, best.fpp);
    Ok(best)
}

/// By doubling, then bisection.
fn most_keys(bytes: u64, plan: &dyn Fn(u64) -> Result<Plan, PlanError>) -> Result<Plan, PlanError> {
    let exceeds = |plan: &Result<Plan, _>| !plan.as_ref().is_ok_and(|plan| plan.bytes() <= bytes);
    match plan(1) {
        // A goal that is impossible for one key, such as the rate, is impossible in any memory.
        Err(error) if !matches!(error, PlanError::TooLarge(..)) => return Err(error),
        one if exceeds(&one) => return Err(PlanError::MemoryTooSmall(bytes)),
        _ => {}
    }
    let too_many = |&keys: &u64| exceeds(&plan(keys));
    let above = (1..u64::BITS).map(|doublings| 1 << doublings).find(too_many);
    plan(above.map_or(1 << 63, |above| least(above / 2, above, &|keys| too_many(&keys)) - 1))
}
