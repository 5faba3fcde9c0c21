//! Plans the window kind: the share of each generation, and the rate of all together.

use super::rate::{self, compound, share};
use crate::kinds::prelude::*;
use crate::kinds::{blocked, within};

pub(super) fn generations(variant: Variant) -> u32 {
    let Variant::Window { generations } = variant else { unreachable!("of a window filter") };
    generations
}

/// Plans with 2 to 8 generations, usually 4. Bits relative to a blocked filter for the window alone:
///
/// ```text
///           G =   2     3     4     5     6     7     8
/// fpp 0.1      2.59  2.21  2.14  2.13  2.15  2.17  2.20
/// fpp 0.01     2.30  1.86  1.75  1.71  1.70  1.70  1.71
/// fpp 0.001    2.27  1.77  1.64  1.59  1.56  1.56  1.55
/// ```
///
/// Six or seven are best, but by so little that cache lines matter more: a look-up reads one per generation, and with
/// four takes 3 to 4.4 times as long as in a blocked filter (10 M keys).
pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Window { generations: 4 };
    const UNMERGED: Option<&'static str> = Some(
        "their generations differ in age, so keys would be forgotten too early or too late; \
         add the keys of one to the other",
    );
    const PARAMETER: Option<&'static str> = Some("2 to 8 generations");
    const CAPACITY: Capacity = Capacity::Last;
    const IN_ORDER: bool = true;

    fn number(variant: Variant) -> u32 {
        generations(variant)
    }

    fn variant(number: u32) -> Option<Variant> {
        (2..=8).contains(&number).then_some(Variant::Window { generations: number })
    }

    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        let keys_each = keys_each(keys, generations(variant));
        at_most(variant, fpp, |share| {
            let each = blocked::Plans::plan(Variant::Blocked, keys_each, share)?;
            whole(variant, each, keys, fpp)
        })
    }

    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let generations = generations(variant);
        let (keys_each, each) = (keys_each(keys, generations), bytes / u64::from(generations));
        let each = blocked::Plans::plan_in(Variant::Blocked, keys_each, each)?;
        let plan = whole(variant, each, keys, 0.5)?;
        at_rate(plan, Self::promised_fpp(&plan))
    }

    fn for_capacity(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        let each = bytes / u64::from(generations(variant));
        at_most(variant, fpp, |share| {
            let each = blocked::Plans::plan_most(Variant::Blocked, share, each)?;
            whole(variant, each, each.keys * u64::from(generations(variant) - 1), fpp)
        })
    }

    /// From the planned keys on, assumes that all generations are full: the maximum, just before one ends.
    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        let each = generation(plan);
        let (full, rest) = match keys >= plan.keys {
            true => (generations(plan.variant).into(), 0),
            false => (keys / each.keys, keys % each.keys),
        };
        let rate = |keys| blocked::Plans::predicted_fpp_at(&each, keys);
        let full = core::iter::repeat_n(rate(each.keys), full as usize);
        compound(full.chain([rate(rest)]))
    }

    fn spread(plan: &Plan) -> Spread {
        let each = blocked::Plans::spread(&generation(plan));
        rate::spread(each, generations(plan.variant))
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        let unit = BLOCK_BITS * u64::from(generations(plan.variant));
        multiple_of(unit, plan, "a multiple of 512 for each generation, at least 512")
    }
}

/// The keys of a generation: all but the newest together hold at least the window's.
fn keys_each(keys: u64, generations: u32) -> u64 {
    keys.div_ceil(u64::from(generations - 1))
}

/// The plan for each generation's share of the rate, or for slightly less, until the whole promises `fpp`.
fn at_most(
    variant: Variant,
    fpp: f64,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    let mut share = share(fpp, generations(variant));
    loop {
        let plan = plan(share)?;
        let found = Plans::promised_fpp(&plan);
        if found <= fpp {
            return Ok(plan);
        }
        share *= f64::min(fpp / found, 0.999_9);
    }
}

/// Of all G, for ⌈`keys`/(G − 1)⌉ keys at 1 − (1 − `fpp`)^(1/G).
pub(super) fn generation(plan: &Plan) -> Plan {
    let count = generations(plan.variant);
    let part = within::part(plan, (Variant::Blocked, count.into()));
    Plan { keys: keys_each(plan.keys, count), fpp: share(plan.fpp, count), ..part }
}

fn whole(variant: Variant, each: Plan, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    let whole = within::whole(variant, each, generations(variant).into())?;
    Ok(Plan { keys, fpp, ..whole })
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
