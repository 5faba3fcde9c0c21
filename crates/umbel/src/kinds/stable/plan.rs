//! Plans the stable kind.

use super::rate::{self, Cells};
use crate::bits::cells;
use crate::kinds::prelude::*;
use crate::math::search::least;

/// The probability that a key is forgotten after as many insertions as planned.
const FORGOTTEN: f64 = 0.01;

/// The maximum number of cells that an insertion lowers: 64 KiB of the widest.
const MOST_LOWERED: u64 = 1 << 16;

/// The most that the spread of the fill may add to the rate.
const MOST_SPREAD: f64 = 0.1;

/// Plans of the kind. Usually 4 bits per cell: at 1 % they take 93 bits per key and lower 142 cells; 3 take 119, and 5,
/// 6, 7 and 8 take 92, 91, 90 and 93 but lower 296, 603, 1,219 and 2,450. At 0.1 and 0.001 the picture is similar.
pub(crate) struct Plans;

pub(super) fn cell_bits(variant: Variant) -> u32 {
    let Variant::Stable { cell_bits } = variant else { unreachable!("of a stable filter") };
    cell_bits
}

impl Planner for Plans {
    const USUAL: Variant = Variant::Stable { cell_bits: 4 };
    const UNMERGED: Option<&'static str> = Some(
        "which keys fade depends on the order of all insertions; add the keys of one to the \
         other",
    );
    const PARAMETER: Option<&'static str> = Some("1 to 8 bits per cell");
    const CELLS: &'static str = "cells";
    const CAPACITY: Capacity = Capacity::Last;
    const IN_ORDER: bool = true;

    fn number(variant: Variant) -> u32 {
        cell_bits(variant)
    }

    fn variant(number: u32) -> Option<Variant> {
        (1..=8).contains(&number).then_some(Variant::Stable { cell_bits: number })
    }

    /// For each K: P as small as the rate allows, then enough cells to remember keys for the planned span.
    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        let out_of_reach = || PlanError::FppOutOfReach(Kind::Stable, fpp);
        let width = cell_bits(variant);
        let all = (1..=MAX_PROBES)
            .filter_map(|probes| Some((with_probes(keys, fpp, width, probes)?, probes)));
        let best = all.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let (bits, probes) = best.ok_or_else(out_of_reach)?;
        check_bits(bits)?;
        let plan = Plan { variant, keys, fpp, bits: bits as u64, probes };
        plan.lowered().map(|_| plan).ok_or_else(out_of_reach)
    }

    /// The rate of the stable point, the highest, whatever the keys.
    fn predicted_fpp_at(plan: &Plan, _: u64) -> f64 {
        plan.lowered().map_or(1.0, |lowered| plan.cells(lowered).fpp_with_spread())
    }

    fn spread(plan: &Plan) -> Spread {
        let spread = |lowered| rate::spread(plan.cells(lowered));
        plan.lowered().map_or(Spread::fixed(1.0), spread)
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        whole_blocks(plan)?;
        let enough = cells::count(cell_bits(plan.variant), plan.bits) > u64::from(plan.probes);
        Ok(check_field("bits", plan.bits, enough, "more cells than probes")?)
    }
}

/// The fewest bits of a filter with cells of `width` bits and `probes` probes.
fn with_probes(keys: u64, fpp: f64, width: u32, probes: u32) -> Option<f64> {
    let top = u8::MAX >> (8 - width);
    let span = rate::span(probes, top, FORGOTTEN);
    let (k, per_block) = (f64::from(probes), cells::count(width, BLOCK_BITS) as f64);
    // P and m depend on each other: start with P for an infinite filter.
    let mut cells = Cells { cells: f64::INFINITY, probes: k, lowered: 1.0, top };
    for _ in 0..64 {
        cells.lowered = least_lowered(cells, keys, fpp)? as f64;
        let fill = cells.fill();
        let spread = k * (k - 1.0) / 2.0 * (1.0 - fill) / fill * cells.lowered / MOST_SPREAD;
        let least =
            (keys as f64 * cells.lowered / span).max(spread).max(cells.lowered).max(k + 1.0);
        let count = (least / per_block).ceil() * per_block;
        if cells.cells >= count && cells.cells.is_finite() {
            return Some(cells.cells / per_block * BLOCK_BITS as f64);
        }
        cells.cells = count;
    }
    None
}

/// The least P that keeps the rate, as a plan promises it.
fn least_lowered(cells: Cells, keys: u64, fpp: f64) -> Option<u64> {
    let keeps = |lowered: u64| {
        let cells = Cells { lowered: lowered as f64, ..cells };
        let promised =
            if keys < SURE_FROM { cells.fpp_with_spread() } else { rate::spread(cells).upper() };
        promised <= fpp
    };
    let most = MOST_LOWERED.min(cells.cells as u64);
    keeps(most).then(|| least(0, most, &keeps))
}

impl Plan {
    /// The cells that an insertion lowers; `None` if no number keeps the rate.
    pub(crate) fn lowered(&self) -> Option<u64> {
        least_lowered(self.cells(1), self.keys, self.fpp)
    }

    /// The parameters for the formulas of the stable kind.
    pub(crate) fn cells(&self, lowered: u64) -> Cells {
        Cells {
            cells: cells::count(cell_bits(self.variant), self.bits) as f64,
            probes: f64::from(self.probes),
            lowered: lowered as f64,
            top: u8::MAX >> (8 - cell_bits(self.variant)),
        }
    }
}
