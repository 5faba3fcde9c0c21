//! Plans the counting kind: the blocked filter that it converts to, with a counter in place of each bit.

use crate::bits::BLOCK_BITS;
use crate::kinds::blocked;
use crate::list::{Kind, Variant};
use crate::math::Spread;
use crate::plan::{Plan, PlanError, Planner, check_bits, check_field};

/// Bits of a counter.
pub(super) fn counter_bits(variant: Variant) -> u32 {
    match variant {
        Variant::Counting { counter_bits } => counter_bits,
        _ => unreachable!("of a counting filter"),
    }
}

/// Plans of the kind.
pub struct Plans;

impl Planner for Plans {
    const KIND: Kind = Kind::Counting;
    const USUAL: Variant = Variant::Counting { counter_bits: 4 };
    const PARAMETER: Option<&'static str> = Some("4, 8 or 16 bits per counter");
    const CELLS: &'static str = "counters";
    const REMOVES: bool = true;

    fn number(variant: Variant) -> u32 {
        counter_bits(variant)
    }

    fn variant(number: u32) -> Option<Variant> {
        [4, 8, 16].contains(&number).then_some(Variant::Counting { counter_bits: number })
    }

    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        whole(variant, blocked::Plans::plan(Variant::Blocked, keys, fpp)?)
    }

    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let bytes = bytes / u64::from(counter_bits(variant));
        whole(variant, blocked::Plans::plan_in(Variant::Blocked, keys, bytes)?)
    }

    fn for_capacity(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        let bytes = bytes / u64::from(counter_bits(variant));
        whole(variant, blocked::Plans::plan_most(Variant::Blocked, fpp, bytes)?)
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        blocked::Plans::predicted_fpp_at(&part(plan), keys)
    }

    fn spread(plan: &Plan) -> Spread {
        blocked::Plans::spread(&part(plan))
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        let unit = BLOCK_BITS * u64::from(counter_bits(plan.variant));
        let whole = plan.bits > 0 && plan.bits.is_multiple_of(unit);
        check_field("bits", plan.bits, whole, "a multiple of 512 counters, at least 512")
    }
}

/// The plan of a filter that converts to the one of this plan.
fn whole(variant: Variant, plain: Plan) -> Result<Plan, PlanError> {
    let bits = plain.bits.saturating_mul(u64::from(counter_bits(variant)));
    check_bits(bits as f64)?;
    Ok(Plan { variant, bits, ..plain })
}

/// The plan of the blocked filter that it converts to.
pub(crate) fn part(plan: &Plan) -> Plan {
    let bits = plan.bits / u64::from(counter_bits(plan.variant));
    Plan { variant: Variant::Blocked, bits, ..*plan }
}
