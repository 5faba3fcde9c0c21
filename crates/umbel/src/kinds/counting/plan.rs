//! Plans the counting kind: the blocked filter that it converts to, with a counter in place of each bit.

use crate::kinds::prelude::*;
use crate::kinds::within::{self, of_plain, planned_within, whole};

pub(super) fn counter_bits(variant: Variant) -> u32 {
    let Variant::Counting { counter_bits } = variant else { unreachable!("of a counting filter") };
    counter_bits
}

pub(crate) struct Plans;

impl Planner for Plans {
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

    planned_within!(inside);

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        let unit = BLOCK_BITS * u64::from(counter_bits(plan.variant));
        multiple_of(unit, plan, "a multiple of 512 counters, at least 512")
    }
}

/// The blocked filter that it converts to, with a counter for each of its bits.
fn inside(variant: Variant) -> (Variant, u64) {
    (Variant::Blocked, counter_bits(variant).into())
}

pub(crate) fn part(plan: &Plan) -> Plan {
    within::part(plan, inside(plan.variant))
}
