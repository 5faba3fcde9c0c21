//! What a kind provides for planning; goals that it cannot invert itself are solved by bisection.

use super::{MAX_BITS, Plan, PlanError};
use crate::math::Spread;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// How a kind is planned. Keys and rate are in range.
pub(super) trait Planner {
    /// The smallest filter for `keys` keys at `fpp`.
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError>;

    /// The lowest rate for `keys` keys in `bytes` bytes.
    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        lowest_rate(keys, bytes, |fpp| self.for_keys(keys, fpp, detail))
    }

    /// The most keys in `bytes` bytes at `fpp`.
    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        most_keys(bytes, |keys| self.for_keys(keys, fpp, detail))
    }

    /// See [`Plan::predicted_fpp_at`].
    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64;

    /// See [`Plan::fpp_spread`].
    fn spread(&self, plan: &Plan) -> Spread;

    /// Checks that the numbers of a plan are possible, beyond the checks common to all kinds.
    fn check(&self, plan: &Plan) -> Result<(), PlanError>;
}

/// A plan that needs no more than `bytes`, or why there is none.
fn within(bytes: u64, plan: Result<Plan, PlanError>) -> Result<Option<Plan>, PlanError> {
    match plan {
        Ok(plan) => Ok((plan.bytes() <= bytes).then_some(plan)),
        Err(
            PlanError::TooLarge { .. }
            | PlanError::FppOutOfReach { .. }
            | PlanError::TooManyAtOnce { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// By bisection of the rate's logarithm, to a billionth of it.
fn lowest_rate(
    keys: u64,
    bytes: u64,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    if bytes < 64 {
        return Err(PlanError::MemoryTooSmall { bytes });
    }
    // Just under 1; most plans keep full precision there.
    let mut high = -1e-9f64;
    let Some(mut best) = within(bytes, plan(high.exp()))? else {
        return Err(PlanError::TooManyKeys { keys, bits: bytes.saturating_mul(8).min(MAX_BITS) });
    };
    let mut low = f64::MIN_POSITIVE.ln();
    while high - low > 1e-9 {
        let middle = (low + high) / 2.0;
        match within(bytes, plan(middle.exp()))? {
            Some(found) => (best, high) = (found, middle),
            None => low = middle,
        }
    }
    best.fpp = best.promised_fpp().clamp(f64::MIN_POSITIVE, best.fpp);
    Ok(best)
}

/// By doubling, then bisection.
fn most_keys(bytes: u64, plan: impl Fn(u64) -> Result<Plan, PlanError>) -> Result<Plan, PlanError> {
    let one = plan(1);
    // A rate that one key cannot keep is out of reach in any memory.
    if matches!(one, Err(PlanError::FppOutOfReach { .. })) {
        return one;
    }
    let mut best = within(bytes, one)?.ok_or(PlanError::MemoryTooSmall { bytes })?;
    let mut high = 2;
    while let Some(found) = within(bytes, plan(high))? {
        best = found;
        match high.checked_mul(2) {
            Some(doubled) => high = doubled,
            None => return Ok(best),
        }
    }
    while high - best.keys > 1 {
        let middle = best.keys + (high - best.keys) / 2;
        match within(bytes, plan(middle))? {
            Some(found) => best = found,
            None => high = middle,
        }
    }
    Ok(best)
}
