//! Plans the scalable kind: its first link, and the links by which it grows.

use super::planner::Planner;
use super::{Kind, Plan, PlanError, plain};
use crate::math::Spread;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The `detail` of filters whose links are all for equally many keys.
pub(crate) const FIXED: u32 = 1;
/// 6/π², the share of the first link if shares fall with 1/(i + 1)². Part of the format.
const FIRST_OF_SQUARES: f64 = 0.607_927_101_854_026_7;

/// The rate of link `index`. Part of the format, to the last bit.
pub(super) fn link_fpp(fpp: f64, index: u32, detail: u32) -> f64 {
    if detail == FIXED {
        fpp * FIRST_OF_SQUARES / (f64::from(index) + 1.0).powi(2)
    } else {
        fpp * 0.5f64.powi(index as i32 + 1)
    }
}

/// The maximum number of links. Doubling links together have at most 2⁴⁸ bits, at least one per key, and never reach
/// this; for others the header holds no more than 1,636. Part of the format.
pub(crate) fn most_links(detail: u32) -> usize {
    if detail == FIXED { 1024 } else { 48 }
}

/// The rate of the first link, which is above 0: half of the smallest number is not.
fn first_fpp(fpp: f64, detail: u32) -> Result<f64, PlanError> {
    match link_fpp(fpp, 0, detail) {
        0.0 => Err(PlanError::FppOutOfReach { kind: Kind::Scalable, fpp }),
        first => Ok(first),
    }
}

pub(super) struct Scalable;

impl Planner for Scalable {
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        let first = first_fpp(fpp, detail)?;
        Ok(Plan { kind: Kind::Scalable, fpp, detail, ..link_for(0, keys, first)? })
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let mut link = Plan::for_memory(Kind::Blocked, keys, bytes)?;
        // The rate over all arriving keys grows with their number, and their number with the rate: climbs to the lowest
        // rate at which both agree.
        let share = link_fpp(1.0, 0, detail);
        while link.fpp < share {
            let fpp = link.fpp;
            link = Plan::for_memory(Kind::Blocked, offered(keys, fpp), bytes)?;
            if link.fpp <= fpp {
                // Rounded up, so that the link's share is no less than its rate.
                let whole = (fpp / share).next_up();
                return Ok(Plan { kind: Kind::Scalable, keys, fpp: whole, detail, ..link });
            }
        }
        Err(PlanError::FirstLinkTooSmall { keys, bits: link.bits })
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        let first = first_fpp(fpp, detail)?;
        let link = Plan::for_capacity(Kind::Blocked, first, bytes)?;
        let mut keys = (link.keys as f64 * (1.0 - first)) as u64;
        while offered(keys, first) > link.keys {
            keys -= 1;
        }
        match keys {
            0 => Err(PlanError::MemoryTooSmall { bytes }),
            keys => Ok(Plan { kind: Kind::Scalable, keys, fpp, detail, ..link }),
        }
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        let (mut left, mut none) = (keys, 0.0);
        for index in 0..most_links(plan.detail) as u32 {
            let Ok(link) = plan.link(index) else { break };
            let taken = left.min(link.keys);
            none += (-link.predicted_fpp_at(taken)).ln_1p();
            left -= taken;
            if left == 0 {
                break;
            }
        }
        -f64::exp_m1(none)
    }

    /// The spread of the first link.
    fn spread(&self, plan: &Plan) -> Spread {
        plan.part().fpp_spread()
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        first_fpp(plan.fpp, plan.detail)?;
        plain::whole_blocks(plan)
    }
}

/// The keys that reach a link, `keys` of them new to it, if at most `fpp` of them pass it.
fn offered(keys: u64, fpp: f64) -> u64 {
    (keys as f64 / (1.0 - fpp)).ceil() as u64
}

/// Links with the margin of [`Plan::for_keys`]. They have 94 % of the total rate (even ones 87 %), so the spread of the
/// others hardly counts; but their rates are so low that a margin would cost up to as many bits again.
const SURE_LINKS: u32 = 4;

/// The plan of link `index`; see [`Plan::link`].
pub(super) fn link_for(index: u32, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    let offered = offered(keys, fpp);
    let plan = match index < SURE_LINKS {
        true => Plan::for_keys(Kind::Blocked, offered, fpp)?,
        false => plain::expected(offered, fpp)?,
    };
    Ok(Plan { keys, ..plan })
}
