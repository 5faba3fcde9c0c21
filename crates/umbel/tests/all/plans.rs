//! Plans made to measure: from other plans, and from the numbers in files.

use umbel::{Growth, Kind, Plan, PlanError, Tags, Variant};

/// The numbers of a plan, to be changed singly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) variant: Variant,
    pub(crate) keys: u64,
    pub(crate) fpp: f64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
}

impl Numbers {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            variant: plan.variant(),
            keys: plan.keys(),
            fpp: plan.fpp(),
            bits: plan.bits(),
            probes: plan.probes(),
        }
    }

    pub(crate) fn try_plan(self) -> Result<Plan, PlanError> {
        Plan::from_parts(self.variant, self.keys, self.fpp, self.bits, self.probes)
    }

    pub(crate) fn plan(self) -> Plan {
        self.try_plan().unwrap()
    }
}

/// A kind with its parameter as stored in files.
pub(crate) fn variant(kind: Kind, detail: u32) -> Variant {
    format!("{kind}:{detail}").parse().unwrap()
}

/// The parameter of a kind as stored in files; 0 for kinds without one.
pub(crate) fn detail(variant: Variant) -> u32 {
    match variant {
        Variant::Counting { counter_bits: bits } | Variant::Stable { cell_bits: bits } => bits,
        Variant::Scalable { growth } => u32::from(growth == Growth::Even),
        Variant::Window { generations } => generations,
        Variant::Bloomier { fingerprint_bits, value_bits } => {
            fingerprint_bits.unwrap_or(0) + 256 * value_bits
        }
        Variant::Attributes { tags, classic } => {
            let tags = match tags {
                Tags::None => 0,
                Tags::Row => 1,
                Tags::Subsets => 2,
                _ => unreachable!("no others"),
            };
            tags + if classic { 10 } else { 0 }
        }
        Variant::Coded { code_bits } => code_bits.unwrap_or(0),
        Variant::Cascade { form } => u32::from(form == umbel::Form::List),
        _ => 0,
    }
}
