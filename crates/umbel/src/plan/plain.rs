//! Plans the blocked and the classic kind, and rounds their sizes.

use super::planner::Planner;
use super::{Kind, MAX_BITS, MAX_PROBES, Plan, PlanError, SURE_FROM, check_bits, check_field};
use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::math::search::least;
use crate::math::{Spread, blocked::Pattern, classic, spread};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// Block counts keep this many leading binary digits; the rest are zero. This rounds up by at most 2⁻¹⁰ = 0.1 %, and
/// plans for n, 2n, 4n … keys at one rate have sizes that fold to each other, from 1,024 blocks on (50,000 keys at 1
/// %). Smaller filters are rounded to whole blocks, which may not fold.
const SIZE_DIGITS: u32 = 11;

/// Lanes are used if they need at most this many times the bits of the best scatter pattern. They cost 2.0 % at fpp
/// 0.01, 1.5 % at 0.001 and 0.9 % at 1e-6, and are several times faster to compute; at 0.1 they would cost 22 %.
const LANES_WORTH: f64 = 1.025;

pub(super) struct Blocked;

impl Planner for Blocked {
    fn for_keys(&self, keys: u64, fpp: f64, _: u32) -> Result<Plan, PlanError> {
        for_keys(Kind::Blocked, keys, fpp)
    }

    fn for_memory(&self, keys: u64, bytes: u64, _: u32) -> Result<Plan, PlanError> {
        let best = lowest_rate(keys, bytes)?;
        // Use lanes if a plan for the rate does, so that a plan for keys and one for its bytes merge.
        let lanes = lanes_around(best.probes).map(|probes| Plan { probes, ..best });
        let lanes = lanes.filter(|plan| {
            let shape = Shape::for_fpp(Kind::Blocked, plan.promised_fpp());
            shape.is_ok_and(|shape| shape.probes == plan.probes)
        });
        let lanes = lanes.min_by(|a, b| a.predicted_fpp().total_cmp(&b.predicted_fpp()));
        at_its_rate(lanes.unwrap_or(best))
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, _: u32) -> Result<Plan, PlanError> {
        for_capacity(Kind::Blocked, fpp, bytes)
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        let blocks = plan.bits / BLOCK_BITS;
        Pattern::shared(plan.probes).fpp(keys as f64 / blocks as f64)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        spread::blocked(plan.keys, plan.bits / BLOCK_BITS, plan.probes)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        whole_blocks(plan)
    }
}

/// The blocked filter of `bytes` bytes with the lowest rate, however slow its probes.
pub(super) fn lowest_rate(keys: u64, bytes: u64) -> Result<Plan, PlanError> {
    let bits = blocks_within(bytes)? * BLOCK_BITS;
    // The classic optimum bounds the blocked one from above.
    let guess = classic::best_probes(keys as f64, bits as f64).ceil();
    let plan = |probes| Plan { kind: Kind::Blocked, keys, fpp: 0.5, bits, probes, detail: 0 };
    let guess = (guess as u32).clamp(1, MAX_PROBES);
    at_its_rate(plan(climb(guess, |probes| -plan(probes).predicted_fpp())))
}

/// Whether a plan is for blocks of 512 bits, at least one.
pub(super) fn whole_blocks(plan: &Plan) -> Result<(), PlanError> {
    let whole = plan.bits > 0 && plan.bits.is_multiple_of(BLOCK_BITS);
    check_field("bits", plan.bits, whole, "a multiple of 512, at least 512")
}

pub(super) struct Classic;

impl Planner for Classic {
    fn for_keys(&self, keys: u64, fpp: f64, _: u32) -> Result<Plan, PlanError> {
        for_keys(Kind::Classic, keys, fpp)
    }

    fn for_memory(&self, keys: u64, bytes: u64, _: u32) -> Result<Plan, PlanError> {
        let bits = blocks_within(bytes)? * BLOCK_BITS;
        let guess = classic::best_probes(keys as f64, bits as f64);
        let plan = |probes| Plan { kind: Kind::Classic, keys, fpp: 0.5, bits, probes, detail: 0 };
        let around = [guess.floor(), guess.ceil()].map(|k| plan((k as u32).clamp(1, MAX_PROBES)));
        let [fewer, more] = around;
        at_its_rate(if more.predicted_fpp() < fewer.predicted_fpp() { more } else { fewer })
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, _: u32) -> Result<Plan, PlanError> {
        for_capacity(Kind::Classic, fpp, bytes)
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        classic::fpp(keys, plan.bits, plan.probes)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        spread::classic(plan.keys, plan.bits, plan.probes)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        check_field("bits", plan.bits, plan.bits > 0, "at least 1")
    }
}

fn for_keys(kind: Kind, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    smallest(kind, keys, fpp, Plan::promised_fpp)
}

/// The smallest blocked filter that keeps `fpp` in expectation, however many keys there are.
pub(super) fn expected(keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    smallest(Kind::Blocked, keys, fpp, Plan::predicted_fpp)
}

/// The smallest filter whose rate, as `rate` gives it, is at most `fpp`.
fn smallest(kind: Kind, keys: u64, fpp: f64, rate: fn(&Plan) -> f64) -> Result<Plan, PlanError> {
    of_shape(&Shape::for_fpp(kind, fpp)?, keys, fpp, rate)
}

/// The smallest classic filter with so many probes.
pub(super) fn for_sending(keys: u64, fpp: f64, probes: u32) -> Result<Plan, PlanError> {
    let load = BLOCK_BITS as f64 / classic::bits_per_key_with(fpp, probes);
    let shape = Shape { kind: Kind::Classic, probes, load }.checked(fpp)?;
    of_shape(&shape, keys, fpp, Plan::promised_fpp)
}

fn of_shape(shape: &Shape, keys: u64, fpp: f64, rate: fn(&Plan) -> f64) -> Result<Plan, PlanError> {
    let mut blocks = checked_blocks(keys as f64 / shape.load)?;
    let mut plan = shape.plan(keys, fpp, size_at_least(blocks));
    // The shape's load is for large filters, and for the mean: the exact rate of a tiny filter is higher, and larger
    // ones promise more.
    while rate(&plan) > fpp {
        blocks = plan.bits / BLOCK_BITS + 1;
        plan = shape.plan(keys, fpp, size_at_least(blocks));
    }
    check_bits(plan.bits as f64)?;
    Ok(plan)
}

fn for_capacity(kind: Kind, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
    let blocks = blocks_within(bytes)?;
    let shape = Shape::for_fpp(kind, fpp)?;
    let plan = |keys| shape.plan(keys, fpp, blocks);
    let keeps = |keys| plan(keys).promised_fpp() <= fpp;
    let mut keys = (shape.load * blocks as f64) as u64;
    let mut above = keys + 1;
    while keys > 0 && !keeps(keys) {
        above = keys;
        keys -= 1 + keys / 10_000;
    }
    if keys >= SURE_FROM {
        keys = least(keys, above, &|keys| !keeps(keys)) - 1;
    }
    if keys == 0 { Err(PlanError::MemoryTooSmall { bytes }) } else { Ok(plan(keys)) }
}

/// The plan, promising the rate that it has.
pub(super) fn at_its_rate(mut plan: Plan) -> Result<Plan, PlanError> {
    plan.fpp = plan.promised_fpp();
    if plan.fpp >= 1.0 {
        return Err(PlanError::TooManyKeys { keys: plan.keys, bits: plan.bits });
    }
    // A rate that underflows is still above 0.
    plan.fpp = plan.fpp.max(f64::MIN_POSITIVE);
    Ok(plan)
}

/// k, and the mean number of keys per block of 512 bits at a rate.
struct Shape {
    kind: Kind,
    probes: u32,
    load: f64,
}

impl Shape {
    fn for_fpp(kind: Kind, fpp: f64) -> Result<Self, PlanError> {
        let load = |probes: u32| match kind {
            Kind::Classic => BLOCK_BITS as f64 / classic::bits_per_key_with(fpp, probes),
            _ => Pattern::shared(probes).load_for(fpp),
        };
        // log2(1/p) probes are best in the classic kind, a little fewer in the blocked one.
        let guess = (-fpp.log2()).round().clamp(1.0, f64::from(MAX_PROBES)) as u32;
        let mut probes = climb(guess, load);
        if kind == Kind::Blocked {
            let best = load(probes);
            let lanes = lanes_around(probes)
                .filter(|&lanes| load(lanes) * LANES_WORTH >= best)
                .max_by(|&a, &b| load(a).total_cmp(&load(b)));
            probes = lanes.unwrap_or(probes);
        }
        Self { kind, probes, load: load(probes) }.checked(fpp)
    }

    fn checked(self, fpp: f64) -> Result<Self, PlanError> {
        if self.load < BLOCK_BITS as f64 / 4096.0 {
            return Err(PlanError::FppOutOfReach { kind: self.kind, fpp });
        }
        Ok(self)
    }

    fn plan(&self, keys: u64, fpp: f64, blocks: u64) -> Plan {
        Plan {
            kind: self.kind,
            keys,
            fpp,
            bits: blocks.saturating_mul(BLOCK_BITS),
            probes: self.probes,
            detail: 0,
        }
    }
}

/// The numbers of probes next to `probes` that fill all eight lanes of a block.
fn lanes_around(probes: u32) -> impl Iterator<Item = u32> {
    let around = [probes / 8 * 8, probes.next_multiple_of(8)];
    around.into_iter().filter(|lanes| (8..=MAX_PROBES).contains(lanes))
}

/// The k in 1..=MAX_PROBES with the greatest `worth`, walking from `start` while a neighbour is
/// better. Looks two steps ahead, since k = 8, 16, … (lanes) are a little worse than both sides.
fn climb(start: u32, worth: impl Fn(u32) -> f64) -> u32 {
    let mut best = (start, worth(start));
    for step in [-1i32, 1] {
        let mut k = best.0 as i32;
        let mut worse = 0;
        while worse < 2 {
            k += step;
            if k < 1 || k > MAX_PROBES as i32 {
                break;
            }
            let found = worth(k as u32);
            if found > best.1 {
                best = (k as u32, found);
                worse = 0;
            } else {
                worse += 1;
            }
        }
    }
    best.0
}

/// The smallest rounded size of at least `blocks`.
fn size_at_least(blocks: u64) -> u64 {
    let step = ladder_step(blocks);
    blocks.div_ceil(step) * step
}

/// The largest rounded size within `bytes` bytes.
fn blocks_within(bytes: u64) -> Result<u64, PlanError> {
    let blocks = bytes.min(MAX_BITS / 8) / BLOCK_BYTES;
    if blocks == 0 {
        return Err(PlanError::MemoryTooSmall { bytes });
    }
    let step = ladder_step(blocks);
    Ok(blocks / step * step)
}

fn ladder_step(blocks: u64) -> u64 {
    1 << (64 - blocks.leading_zeros()).saturating_sub(SIZE_DIGITS)
}

fn checked_blocks(blocks: f64) -> Result<u64, PlanError> {
    check_bits(blocks * BLOCK_BITS as f64)?;
    Ok((blocks.ceil() as u64).max(1))
}
