//! Plans the counting kind: a blocked filter with a counter in place of each bit.

use core::ops::RangeInclusive;

use super::planner::Planner;
use super::{Kind, Plan, check_bits, plain};
use super::{PlanError, check_field};
use crate::bits::BLOCK_BITS;
use crate::math::Spread;

pub(super) struct Counting;

/// The valid widths of counters; the range gives the ends.
const WIDTHS: &str = "4, 8 or 16 bits per counter";

/// The blocked plan with counters of this many bits.
fn counting(plan: Result<Plan, PlanError>, detail: u32) -> Result<Plan, PlanError> {
    let plan = plan.map_err(|error| match error {
        PlanError::FppOutOfReach { fpp, .. } => {
            PlanError::FppOutOfReach { kind: Kind::Counting, fpp }
        }
        error => error,
    })?;
    let bits = plan.bits.saturating_mul(u64::from(detail));
    check_bits(bits as f64)?;
    Ok(Plan { kind: Kind::Counting, bits, detail, ..plan })
}

/// The blocked plan for a share of the bytes; errors mention all of them.
fn in_bytes(
    bytes: u64,
    detail: u32,
    plan: impl Fn(u64) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    check_width(detail)?;
    let plan = plan(bytes / u64::from(detail)).map_err(|error| match error {
        PlanError::MemoryTooSmall { .. } => PlanError::MemoryTooSmall { bytes },
        error => error,
    });
    counting(plan, detail)
}

fn check_width(detail: u32) -> Result<(), PlanError> {
    match detail {
        4 | 8 | 16 => Ok(()),
        found => Err(PlanError::Detail { kind: Kind::Counting, found, expected: WIDTHS }),
    }
}

impl Planner for Counting {
    fn usual_detail(&self) -> u32 {
        4
    }

    fn details(&self) -> (RangeInclusive<u32>, &'static str) {
        (4..=16, WIDTHS)
    }

    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        check_width(detail)?;
        counting(Plan::for_keys(Kind::Blocked, keys, fpp), detail)
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        in_bytes(bytes, detail, |bytes| Plan::for_memory(Kind::Blocked, keys, bytes))
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        in_bytes(bytes, detail, |bytes| Plan::for_capacity(Kind::Blocked, fpp, bytes))
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        plain::Blocked.predicted_fpp_at(&plan.to_blocked(), keys)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        plain::Blocked.spread(&plan.to_blocked())
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        check_width(plan.detail)?;
        let block = BLOCK_BITS * u64::from(plan.detail);
        let whole = plan.bits > 0 && plan.bits.is_multiple_of(block);
        check_field("bits", plan.bits, whole, "a multiple of 512 counters, at least 512")
    }
}

impl Plan {
    /// The plan of the blocked filter that a counting one converts to.
    pub(crate) fn to_blocked(self) -> Self {
        Self {
            kind: Kind::Blocked,
            bits: self.bits / u64::from(self.detail.max(1)),
            detail: 0,
            ..self
        }
    }
}
