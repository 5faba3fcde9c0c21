//! Plans the coded kind: the width of codes, and the number of buckets.

use super::planner::Planner;
use super::{Kind, MAX_BITS, Plan, PlanError, SURE_FROM, check_bits, check_field};
use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::math::coded::{MOST_CODE, cells, codes, fpp};
use crate::math::search::{border, least};
use crate::math::{Spread, spread};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The maximum share of used cells as planned. Above it, few bits are saved and walks grow fast: with 42 cells per
/// bucket, a walk visits 1.5 buckets with 7/8 of all cells used and 5.6 with 19/20; with 20 cells, 2.4 with 7/8.
pub(crate) const MOST_LOAD: f64 = 0.875;

pub(super) struct Coded;

/// The most keys per bucket with codes of this many bits at a rate; 0 if not even a few keep it.
fn load_for(rate: f64, code: u32) -> f64 {
    // The rate is at least λ/(2^c − 1).
    let most = f64::from(cells(code)) * MOST_LOAD;
    let most = most.min(rate * codes(code) as f64);
    let keeps = |load| fpp(load, code) <= rate;
    if keeps(most) { most } else { border(0.0, most, 50, &keeps)[0] }
}

impl Planner for Coded {
    fn for_keys(&self, keys: u64, rate: f64, detail: u32) -> Result<Plan, PlanError> {
        let detail = match detail {
            0 => {
                // The narrowest codes with which tables may be as full as possible, or one bit less and emptier tables.
                let full = |code: u32| {
                    let load = f64::from(cells(code)) * MOST_LOAD;
                    // Checked first: it needs no walk.
                    load / codes(code) as f64 <= rate && fpp(load, code) <= rate
                };
                let wide = (2..=MOST_CODE).find(|&code| full(code)).unwrap_or(MOST_CODE);
                let narrow = (wide - 1).max(2);
                if load_for(rate, narrow) > load_for(rate, wide) { narrow } else { wide }
            }
            detail => detail,
        };
        let plan = |buckets: u64| {
            let bits = buckets.saturating_mul(BLOCK_BITS);
            Plan { kind: Kind::Coded, keys, fpp: rate, bits, probes: 1, detail }
        };
        // Less than a key per 8 buckets is 4,096 bits per key.
        let load = if detail < 2 { 0.0 } else { load_for(rate, detail) };
        if load < 0.125 {
            return Err(match detail {
                1 => Kind::Coded.no_detail(detail),
                _ => PlanError::FppOutOfReach { kind: Kind::Coded, fpp: rate },
            });
        }
        let buckets = (keys as f64 / load).ceil().max(1.0);
        check_bits(buckets * BLOCK_BITS as f64)?;
        let buckets = buckets as u64;
        // The spread of large tables is small, and the search takes equally small steps.
        let step = if keys < SURE_FROM { 1 } else { 1 + buckets / 10_000 };
        let keeps = |steps: u64| plan(buckets + steps * step).promised_fpp() <= rate;
        // Each look at the promise takes a walk over the buckets, so the steps are doubled, and then halved.
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
    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let buckets = bytes.min(MAX_BITS / 8) / BLOCK_BYTES;
        if buckets == 0 {
            return Err(PlanError::MemoryTooSmall { bytes });
        }
        let (load, bits) = (keys as f64 / buckets as f64, buckets * BLOCK_BITS);
        let fits = |code: u32| load <= f64::from(cells(code)) * MOST_LOAD;
        let widths = if detail == 0 { 2..=MOST_CODE } else { detail..=detail };
        let width = widths.rev().find(|&code| code > 1 && fits(code));
        let plan = |detail| Plan { kind: Kind::Coded, keys, fpp: 0.5, bits, probes: 1, detail };
        let plan = width.map(plan).map(|plan| Plan { fpp: plan.promised_fpp(), ..plan });
        plan.filter(|plan| plan.fpp < 1.0).ok_or(PlanError::TooManyKeys { keys, bits })
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        fpp(keys as f64 / (plan.bits / BLOCK_BITS) as f64, plan.detail)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        let buckets = plan.bits / BLOCK_BITS;
        let load = plan.keys as f64 / buckets as f64;
        spread::coded(plan.predicted_fpp(), load, buckets, plan.detail)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        super::plain::whole_blocks(plan)?;
        let (probes, one) = (u64::from(plan.probes), plan.probes == 1);
        check_field("probes", probes, one, "1: a home among the buckets")?;
        if plan.detail < 2 { Err(Kind::Coded.no_detail(plan.detail)) } else { Ok(()) }
    }
}
