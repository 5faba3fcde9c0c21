//! Planning of the scalable kind: of its first link, and of the links it grows by.

use super::planner::Planner;
use super::{Kind, Plan, plain};
use crate::Error;

pub(super) struct Scalable;

impl Planner for Scalable {
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, Error> {
        Ok(Plan { kind: Kind::Scalable, fpp, detail, ..link_for(keys, fpp / 2.0)? })
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, Error> {
        let mut link = Plan::for_memory(Kind::Blocked, keys, bytes)?;
        // The rate of all keys that come grows with their number, and their number with the rate: climbs to
        // the lowest rate at which both agree.
        while link.fpp < 0.5 {
            let fpp = link.fpp;
            link = Plan::for_memory(Kind::Blocked, offered(keys, fpp), bytes)?;
            if link.fpp <= fpp {
                return Ok(Plan { kind: Kind::Scalable, keys, fpp: 2.0 * fpp, detail, ..link });
            }
        }
        Err(Error::FirstLinkTooSmall { keys, bits: link.bits })
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, Error> {
        let link = Plan::for_capacity(Kind::Blocked, fpp / 2.0, bytes)?;
        let mut keys = (link.keys as f64 * (1.0 - fpp / 2.0)) as u64;
        while offered(keys, fpp / 2.0) > link.keys {
            keys -= 1;
        }
        match keys {
            0 => Err(Error::MemoryTooSmall { bytes }),
            keys => Ok(Plan { kind: Kind::Scalable, keys, fpp, detail, ..link }),
        }
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        let (mut left, mut none) = (keys, 0.0);
        for index in 0.. {
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

    fn check(&self, plan: &Plan) -> Result<(), Error> {
        plain::whole_blocks(plan)
    }
}

/// Keys that come to a link, of which `keys` are new to it, when at most `fpp` of them pass it.
fn offered(keys: u64, fpp: f64) -> u64 {
    (keys as f64 / (1.0 - fpp)).ceil() as u64
}

/// The plan of a link; see [`Plan::link`].
pub(super) fn link_for(keys: u64, fpp: f64) -> Result<Plan, Error> {
    let plan =
        Plan::for_keys(Kind::Blocked, offered(keys, fpp), fpp).map_err(|error| match error {
            Error::FppOutOfReach { fpp, .. } => Error::FppOutOfReach { kind: Kind::Scalable, fpp },
            error => error,
        })?;
    Ok(Plan { keys, ..plan })
}
