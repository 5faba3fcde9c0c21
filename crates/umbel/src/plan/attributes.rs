//! Plans the attributes kind: one of its filters; the others are as large for as many keys.

use core::ops::RangeInclusive;

use super::PlanError;
use super::planner::Planner;
use super::{Kind, Plan, Variant};
use crate::math::Spread;

/// Which joint tags an attributes filter keeps for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Tags {
    /// None: values that each occur, but in different rows, always pass together.
    None = 0,
    /// One, of the whole row: rejects wrong combinations in queries that name every attribute, and only in these.
    Row = 1,
    /// One for every subset of two or more attributes: rejects wrong combinations in every query.
    Subsets = 2,
}

impl Tags {
    /// The maximum number of attributes with a tag for every subset: 247 tags per row.
    pub const MOST_FOR_SUBSETS: usize = 8;

    /// Returns the number of tags of a row with this many attributes: 0, 1, or 2^A − A − 1. A row of one attribute
    /// needs none, since its value is the whole row. For subsets, `u64::MAX` from 64 attributes on.
    pub fn per_row(self, attributes: usize) -> u64 {
        match self {
            Self::Row if attributes > 1 => 1,
            Self::Subsets if attributes > 63 => u64::MAX,
            Self::Subsets if attributes > 1 => (1 << attributes) - attributes as u64 - 1,
            _ => 0,
        }
    }
}

/// The tags and the kind of the inner filters, by the parameter in files: 0, 1 and 2 are [`Tags`] with blocked filters,
/// 10 more is the same with classic ones.
pub(crate) fn inside(detail: u32) -> Result<(Tags, Kind), PlanError> {
    let tags = match detail % 10 {
        0 => Tags::None,
        1 => Tags::Row,
        2 => Tags::Subsets,
        _ => return Err(unknown(detail)),
    };
    match detail / 10 {
        0 => Ok((tags, Kind::Blocked)),
        1 => Ok((tags, Kind::Classic)),
        _ => Err(unknown(detail)),
    }
}

const DETAILS: &str = "0 no tags, 1 a tag of each row, 2 tags of all its subsets; 10, 11, 12 the same with classic filters";

fn unknown(found: u32) -> PlanError {
    PlanError::Detail { kind: Kind::Attributes, found, expected: DETAILS }
}

/// The memory of a filter of this many attributes, in units of one attribute's filter.
pub(super) fn shares(detail: u32, attributes: usize) -> u64 {
    let tags = inside(detail).map_or(0, |(tags, _)| tags.per_row(attributes));
    tags.saturating_add(attributes as u64).max(1)
}

pub(super) struct Attributes;

/// Turns the plan of one inner filter into that of the whole.
fn plan_of_all(
    detail: u32,
    plan: impl Fn(Kind) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    let (_, kind) = inside(detail)?;
    Ok(Plan { kind: Kind::Attributes, detail, ..plan(kind)? })
}

impl Planner for Attributes {
    fn usual_detail(&self) -> u32 {
        Tags::Row as u32
    }

    fn details(&self) -> (RangeInclusive<u32>, &'static str) {
        (0..=12, DETAILS)
    }

    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        plan_of_all(detail, |kind| Plan::for_keys(kind, keys, fpp))
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        plan_of_all(detail, |kind| Plan::for_memory(kind, keys, bytes))
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        plan_of_all(detail, |kind| Plan::for_capacity(kind, fpp, bytes))
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        plan.inner().map_or(1.0, |plan| plan.predicted_fpp_at(keys))
    }

    fn spread(&self, plan: &Plan) -> Spread {
        plan.inner().map_or(Spread::fixed(1.0), |plan| plan.fpp_spread())
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let inner = plan.inner()?;
        inner.check(inner.kind)
    }
}

impl Plan {
    /// The plan of the filter that an attributes filter has for each attribute.
    pub(crate) fn inner(&self) -> Result<Self, PlanError> {
        let (_, kind) = inside(self.detail)?;
        Ok(Self { kind, detail: 0, ..*self })
    }
}

impl Variant {
    /// Returns the bytes to plan with, of `bytes` bytes for a whole filter of rows with this many attributes, since a
    /// plan is for one of its filters. For other kinds, all of them.
    pub fn share(self, attributes: usize, bytes: u64) -> u64 {
        if !self.kind().rows() {
            return bytes;
        }
        // Parts are whole blocks of 64 bytes, and so is that of the tags.
        bytes / shares(self.detail(), attributes) / 64 * 64
    }
}
