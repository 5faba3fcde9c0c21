//! Plans a cascade: the first level together with the corrections.

use crate::kinds::blocked;
use crate::kinds::prelude::*;
use crate::kinds::within::{self, of_plain, planned_within, whole};

/// The most levels. Each halves what is left, so this many separate all keys, except with a probability of 2⁻¹²⁷ per
/// key. Part of the format.
pub(super) const MOST_LEVELS: usize = 128;

/// Bits of a key in an exact list: its hash.
pub(super) const LISTED_BITS: u64 = 128;

/// Bits per key for each halving of the rate, in a filter of one probe or the best classic one: 1/ln 2.
const HALVING_BITS: f64 = core::f64::consts::LOG2_E;

/// Bits of a level of `held` keys and of all levels after it, if `others` keys of the other list have passed to it.
///
/// At rate q the next level holds q·`others` keys. With rate 1/2 from there on, the later levels take (2 q·`others` +
/// `held`)/ln 2 bits. So the best q is `held`/(2 ln 2·`others`), but at most 1/2.
fn bits_from(held: f64, others: f64) -> f64 {
    if held < 1.0 {
        return 0.0;
    }
    let rate = f64::min(0.5, held / (2.0 * core::f64::consts::LN_2 * others));
    HALVING_BITS * (2.0 * rate * others + held * (1.0 - rate.log2()))
}

pub(super) fn form(variant: Variant) -> Form {
    let Variant::Cascade { form } = variant else { unreachable!("of a cascade") };
    form
}

fn inside(_: Variant) -> (Variant, u64) {
    (Variant::Blocked, 1)
}

pub(super) fn part(plan: &Plan) -> Plan {
    within::part(plan, inside(plan.variant))
}

pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Cascade { form: Form::Levels };
    const UNMERGED: Option<&'static str> =
        Some("each is built from all its keys at once; build one from the keys of both");
    const PARAMETER: Option<&'static str> =
        Some("0 for levels, 1 for one filter beside an exact list");
    const BUILT_AT_ONCE: bool = true;

    fn number(variant: Variant) -> u32 {
        form(variant) as u32
    }

    fn variant(number: u32) -> Option<Variant> {
        Some(Variant::Cascade { form: *[Form::Levels, Form::List].get(number as usize)? })
    }

    planned_within!(inside);
}

impl Plan {
    /// Plans a cascade for `included` keys that match and `excluded` keys that must not: no error on either, and a rate
    /// of at most `fpp` on all other keys. With [`Form::List`], one filter with an exact list.
    ///
    /// Returns the plan of the first level, at the rate with the smallest total: `fpp`, or less if so many keys are
    /// excluded that catching fewer is cheaper. With r keys included and s excluded, s p of them are caught at rate p.
    /// If these are r or more, the later levels take about (2 s p + r)/ln 2 bits, and the best p is near r/(2 s ln 2),
    /// 0.72 r/s. If they are fewer, about (log₂(r/(s p)) + 2.9)/ln 2 bits for each; the exact list takes 128.
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
            return Err(PlanError::Kind(Kind::Cascade, variant.kind()));
        }
        let cost = |plan: &Plan| plan.bits as f64 + plan.bits_after(included, excluded);
        let first = |rate| Plans::plan(variant, included, rate);
        Ok(Self { fpp, ..smallest(fpp, cost, first)? })
    }

    /// Returns the approximate bytes of a cascade with this first level and its corrections; the number of caught keys
    /// depends on chance.
    #[doc(hidden)]
    pub fn bytes_for_lists(&self, included: u64, excluded: u64) -> u64 {
        self.bytes().saturating_add((self.bits_after(included, excluded) / 8.0).ceil() as u64)
    }

    /// Approximate bits after the first level.
    fn bits_after(&self, included: u64, excluded: u64) -> f64 {
        let caught = excluded as f64 * Plans::predicted_fpp_at(self, self.keys);
        match self.variant {
            Variant::Cascade { form: Form::List } => caught * LISTED_BITS as f64,
            _ => bits_from(caught, included as f64),
        }
    }
}

/// The cheapest plan at `rate` or lower.
fn smallest(
    mut rate: f64,
    cost: impl Fn(&Plan) -> f64,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    /// 2^(−1/4).
    const QUARTER: f64 = 0.840_896_415_253_714_6;
    let mut best = plan(rate)?;
    // The cost falls, then rises with each quarter of a halving; a step in the number of probes may hide that at first.
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

/// Plans a level after the first with `held` keys, if `others` keys of the other list have passed to it: at the rate,
/// at most 1/2, with the smallest total from here on, or at the lowest rate of its whole blocks. Even a level of a few
/// keys has a whole block, and then lets hardly any key pass.
pub(super) fn next_level(held: u64, others: u64) -> Result<Plan, PlanError> {
    let cost = |plan: &Plan| {
        let caught = others as f64 * blocked::Plans::predicted_fpp_at(plan, held);
        plan.bits as f64 + bits_from(caught, held as f64)
    };
    let plan = smallest(0.5, cost, |rate| blocked::Plans::plan(Variant::Blocked, held, rate))?;
    blocked::lowest_rate(held, plan.bytes())
}
