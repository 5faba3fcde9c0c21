//! Blocked filters processed run by run, for `umbel-sets`: only some blocks are in memory at a time.

use super::{BlockedCore, Plans, coverage, fpp};
use crate::filter::file::Declared;
use crate::format::KeyDescription;
use crate::kinds::prelude::*;

/// Makes the header of a blocked filter; `keys` describes its keys. [`PlanError::Kind`] for a plan of another kind.
pub fn header(plan: &Plan, scheme: Scheme, keys: &KeyDescription) -> Result<Header, PlanError> {
    Plans::check(plan)?;
    Ok(Header::new(plan, scheme, keys, &Body::of::<Plans>(plan).0, plan.bytes()))
}

/// Returns the plan, hasher and description of a blocked filter with this header, in a file of `length` bytes. The
/// errors are as in [`AnyFilter::read`](crate::AnyFilter::read), except for the payload.
pub fn declared<U: Unlock>(
    header: &Header,
    length: u64,
    unlock: U,
) -> Result<(Plan, U::Hasher, KeyDescription), FileError> {
    let layout = Hashed::<BlockedCore, U::Hasher>::layout_of_kind;
    let declared = Declared::new(header.clone(), length, layout)?;
    let opened = declared.open(unlock, |_| Ok(Vec::<Blocks>::new()))?;
    Ok((header.plan::<Plans>()?, opened.hasher, opened.description))
}

/// Counts for a receipt, summed up run by run.
#[derive(Clone, Debug)]
pub struct ReceiptSum {
    plan: Plan,
    blocks: u64,
    set_bits: u64,
    rates: f64,
}

impl ReceiptSum {
    /// Starts with no blocks.
    pub fn new(plan: &Plan) -> Self {
        Self { plan: *plan, blocks: 0, set_bits: 0, rates: 0.0 }
    }

    /// Returns the number of blocks so far.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds the next blocks.
    pub fn add(&mut self, blocks: &[Block]) {
        self.blocks += blocks.len() as u64;
        self.set_bits += bits::count_ones(blocks);
        self.rates += fpp(blocks, &self.plan) * blocks.len() as f64;
    }

    /// Returns the receipt of the filter, after all its blocks.
    pub fn receipt(&self, hasher: &impl Hashing) -> Receipt {
        let Self { plan, blocks, set_bits, rates } = self;
        let keys = coverage(plan).keys((plan.bits - set_bits) as f64);
        let fpp = rates / *blocks as f64;
        Receipt::new(*plan, hasher.scheme(), (*set_bits, plan.bits), keys, fpp)
    }
}
