//! Sizes of filters of whole blocks, rounded to make them fold to each other, and the smallest size that keeps a rate.

use super::{MAX_BITS, MAX_PROBES, Plan, PlanError, SURE_FROM, check_bits};
use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::error::check_field;
use crate::list::Variant;
use crate::math::search::least;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// Block counts keep this many leading binary digits; the rest are zero. This rounds up by at most 2⁻¹⁰ = 0.1 %, and
/// plans for n, 2n, 4n … keys at one rate have sizes that fold to each other, from 1,024 blocks on (50,000 keys at 1
/// %). Smaller filters are rounded to whole blocks, which may not fold.
const SIZE_DIGITS: u32 = 11;

/// k, and the mean number of keys per block of 512 bits at a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) variant: Variant,
    pub(crate) probes: u32,
    pub(crate) load: f64,
}

impl Shape {
    /// Refuses more than 4,096 bits per key.
    pub(crate) fn checked(self, fpp: f64) -> Result<Self, PlanError> {
        if self.load < BLOCK_BITS as f64 / 4096.0 {
            return Err(PlanError::FppOutOfReach(self.variant.kind(), fpp));
        }
        Ok(self)
    }

    fn plan(self, keys: u64, fpp: f64, blocks: u64) -> Plan {
        let Self { variant, probes, .. } = self;
        Plan { variant, keys, fpp, bits: blocks.saturating_mul(BLOCK_BITS), probes }
    }

    /// The smallest filter whose rate, as `rate` gives it, is at most `fpp`.
    pub(crate) fn smallest(
        self,
        keys: u64,
        fpp: f64,
        rate: &dyn Fn(&Plan) -> f64,
    ) -> Result<Plan, PlanError> {
        let blocks = keys as f64 / self.load;
        check_bits(blocks * BLOCK_BITS as f64)?;
        let mut plan = self.plan(keys, fpp, size_at_least((blocks.ceil() as u64).max(1)));
        // The load is for large filters, and for the mean: the exact rate of a tiny filter is higher, and larger ones
        // promise more.
        while rate(&plan) > fpp {
            plan = self.plan(keys, fpp, size_at_least(plan.bits / BLOCK_BITS + 1));
        }
        check_bits(plan.bits as f64)?;
        Ok(plan)
    }

    /// The most keys that `bytes` bytes hold at a rate, as `promised` gives it, of at most `fpp`.
    pub(crate) fn most_keys(
        self,
        fpp: f64,
        bytes: u64,
        promised: &dyn Fn(&Plan) -> f64,
    ) -> Result<Plan, PlanError> {
        let blocks = blocks_within(bytes)?;
        let plan = |keys| self.plan(keys, fpp, blocks);
        let keeps = |keys| promised(&plan(keys)) <= fpp;
        let mut keys = (self.load * blocks as f64) as u64;
        let mut above = keys.saturating_add(1);
        while keys > 0 && !keeps(keys) {
            above = keys;
            keys -= 1 + keys / 10_000;
        }
        if keys >= SURE_FROM {
            keys = least(keys, above, &|keys| !keeps(keys)) - 1;
        }
        if keys == 0 { Err(PlanError::MemoryTooSmall(bytes)) } else { Ok(plan(keys)) }
    }
}

/// The plan with its actual rate, `fpp`, as its promise.
pub(crate) fn at_rate(plan: Plan, fpp: f64) -> Result<Plan, PlanError> {
    if fpp >= 1.0 {
        return Err(PlanError::TooManyKeys(plan.keys, plan.bits));
    }
    // A rate that underflows is still above 0.
    Ok(Plan { fpp: fpp.max(f64::MIN_POSITIVE), ..plan })
}

/// Checks that a plan is for blocks of 512 bits, at least one.
pub(crate) fn whole_blocks(plan: &Plan) -> Result<(), PlanError> {
    multiple_of(BLOCK_BITS, plan, "a multiple of 512, at least 512")
}

/// Checks that the bits of a plan are a multiple of `unit`, and not 0.
pub(crate) fn multiple_of(unit: u64, plan: &Plan, expected: &'static str) -> Result<(), PlanError> {
    let whole = plan.bits > 0 && plan.bits.is_multiple_of(unit);
    Ok(check_field("bits", plan.bits, whole, expected)?)
}

/// The k in 1..=MAX_PROBES with the greatest `worth`, walking from `start` while a neighbour is
/// better. Looks two steps ahead, since k = 8, 16, … (lanes) are a little worse than both sides.
pub(crate) fn climb(start: u32, worth: &dyn Fn(u32) -> f64) -> u32 {
    let mut best = (start, worth(start));
    for steps in [[-1, -2], [1, 2]] {
        let better = |(k, least): (u32, f64)| {
            let near = steps.into_iter().filter_map(|step| k.checked_add_signed(step));
            let possible = near.filter(|k| (1..=MAX_PROBES).contains(k));
            possible.map(|k| (k, worth(k))).find(|&(_, found)| found > least)
        };
        while let Some(found) = better(best) {
            best = found;
        }
    }
    best.0
}

/// The largest rounded size within `bytes` bytes, in blocks.
pub(crate) fn blocks_within(bytes: u64) -> Result<u64, PlanError> {
    let blocks = bytes.min(MAX_BITS / 8) / BLOCK_BYTES;
    if blocks == 0 {
        return Err(PlanError::MemoryTooSmall(bytes));
    }
    let step = ladder_step(blocks);
    Ok(blocks / step * step)
}

/// The smallest rounded size of at least `blocks`.
fn size_at_least(blocks: u64) -> u64 {
    let step = ladder_step(blocks);
    blocks.div_ceil(step) * step
}

fn ladder_step(blocks: u64) -> u64 {
    1 << (64 - blocks.leading_zeros()).saturating_sub(SIZE_DIGITS)
}
