//! Plans the coded kind: the width of codes, and the number of buckets.

use super::rate::{MOST_CODE, cells, codes, fpp as rate_at, spread};
use crate::kinds::prelude::*;
use crate::math::search::{border, least};

/// The maximum share of used cells as planned. Above it, few bits are saved and walks grow fast: with 42 cells per
/// bucket, a walk visits 1.5 buckets with 7/8 of all cells used and 5.6 with 19/20; with 20 cells, 2.4 with 7/8.
pub(crate) const MOST_LOAD: f64 = 0.875;

pub(crate) struct Plans;

/// The most keys per bucket with codes of this many bits at a rate; 0 if not even a few keep it.
fn load_for(rate: f64, code: u32) -> f64 {
    // The rate is at least λ/(2^c − 1).
    let most = f64::from(cells(code)) * MOST_LOAD;
    let most = most.min(rate * codes(code) as f64);
    let keeps = |load| rate_at(load, code) <= rate;
    if keeps(most) { most } else { border(0.0, most, 50, &keeps)[0] }
}

impl Planner for Plans {
    const USUAL: Variant = Variant::Coded { code_bits: None };
    const UNMERGED: Option<&'static str> = Some(
        "a code does not show which bucket its key belongs to; add the keys of one to the \
         other",
    );
    const PARAMETER: Option<&'static str> =
        Some("the bits of a code, 2 to 40; 0 chooses them by the rate");
    const CELLS: &'static str = "codes";
    const IN_ORDER: bool = true;

    /// Bits of a code; 0 if they are left to the plan.
    fn number(variant: Variant) -> u32 {
        let Variant::Coded { code_bits } = variant else { unreachable!("of a coded filter") };
        code_bits.unwrap_or(0)
    }

    fn variant(number: u32) -> Option<Variant> {
        let code_bits = (number > 0).then_some(number);
        (number != 1 && number <= MOST_CODE).then_some(Variant::Coded { code_bits })
    }

    fn for_keys(variant: Variant, keys: u64, rate: f64) -> Result<Plan, PlanError> {
        let code_bits = match Self::number(variant) {
            0 => {
                // The narrowest codes that allow the fullest tables, or one bit less and emptier tables.
                let full = |code: u32| {
                    let load = f64::from(cells(code)) * MOST_LOAD;
                    load / codes(code) as f64 <= rate && rate_at(load, code) <= rate
                };
                let wide = (2..=MOST_CODE).find(|&code| full(code)).unwrap_or(MOST_CODE);
                let narrow = (wide - 1).max(2);
                if load_for(rate, narrow) > load_for(rate, wide) { narrow } else { wide }
            }
            code_bits => code_bits,
        };
        let plan = |buckets: u64| {
            let bits = buckets.saturating_mul(BLOCK_BITS);
            let variant = Variant::Coded { code_bits: Some(code_bits) };
            Plan { variant, keys, fpp: rate, bits, probes: 1 }
        };
        // Less than a key per 8 buckets is 4,096 bits per key.
        let load = load_for(rate, code_bits);
        if load < 0.125 {
            return Err(PlanError::FppOutOfReach(Kind::Coded, rate));
        }
        let buckets = (keys as f64 / load).ceil().max(1.0);
        check_bits(buckets * BLOCK_BITS as f64)?;
        let buckets = buckets as u64;
        // Large tables have a small spread, so equally small steps suffice.
        let step = if keys < SURE_FROM { 1 } else { 1 + buckets / 10_000 };
        let keeps = |steps: u64| Self::promised_fpp(&plan(buckets + steps * step)) <= rate;
        // Each promise needs a walk over the buckets, so the steps are doubled, and then halved.
        let mut most = u64::from(!keeps(0));
        while most > 0 && !keeps(most) {
            most *= 2;
        }
        let plan = plan(buckets + least(most / 2, most, &keeps) * step);
        check_bits(plan.bits as f64)?;
        Ok(plan)
    }

    /// Uses all buckets, and the widest codes that leave cells free as planned: one more bit halves the rate, and costs
    /// less than twice the codes compared.
    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let buckets = bytes.min(MAX_BITS / 8) / BLOCK_BYTES;
        if buckets == 0 {
            return Err(PlanError::MemoryTooSmall(bytes));
        }
        let (load, bits) = (keys as f64 / buckets as f64, buckets * BLOCK_BITS);
        let fits = |code: u32| load <= f64::from(cells(code)) * MOST_LOAD;
        let widths = match Self::number(variant) {
            0 => 2..=MOST_CODE,
            code_bits => code_bits..=code_bits,
        };
        let width = widths.rev().find(|&code| fits(code));
        let plan = width.map(|width| {
            let variant = Variant::Coded { code_bits: Some(width) };
            let plan = Plan { variant, keys, fpp: 0.5, bits, probes: 1 };
            Plan { fpp: Self::promised_fpp(&plan), ..plan }
        });
        plan.filter(|plan| plan.fpp < 1.0).ok_or(PlanError::TooManyKeys(keys, bits))
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        rate_at(keys as f64 / (plan.bits / BLOCK_BITS) as f64, Self::number(plan.variant))
    }

    fn spread(plan: &Plan) -> Spread {
        let buckets = plan.bits / BLOCK_BITS;
        let load = plan.keys as f64 / buckets as f64;
        let mean = Self::predicted_fpp_at(plan, plan.keys);
        spread(mean, load, buckets, Self::number(plan.variant))
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        whole_blocks(plan)?;
        let (probes, one) = (u64::from(plan.probes), plan.probes == 1);
        check_field("probes", probes, one, "1: a home among the buckets")?;
        if Self::number(plan.variant) == 0 { Err(Self::no_parameter(0)) } else { Ok(()) }
    }
}
