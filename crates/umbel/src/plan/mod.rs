//! From a goal to the parameters of a filter: any two of keys, rate and memory give the third.
//!
//! Plans keep their promise by exact formulas, including rounding. For 100,000 keys or more, the rate that a full
//! filter computes from its own bits is at most the planned rate with a probability of at least 99.9 %. For fewer keys
//! the expected rate is at most the planned one, and [`Plan::fpp_spread`] shows how far single filters are from it.
//!
//! This module has the code that kinds share: [`Plan`], its errors, sizes, and the trait of planners ([`goal`]). Each
//! kind's own planning is in its folder under `kinds`.

mod error;
pub(crate) mod planner;
pub(crate) mod size;

pub use error::PlanError;
pub(crate) use planner::Planner;

use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
pub use crate::list::{Capacity, Form, Growth, Kind, Tags, Variant};
pub use crate::math::MAX_PROBES;
use crate::math::Spread;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The maximum bits of a filter: 2⁴⁸, 32 TiB.
pub const MAX_BITS: u64 = 1 << 48;
/// From this many keys on, plain filters are sized for half, a quarter, … of their keys, down to 100,000 to 200,000,
/// and then doubled. So filters fold to each other if their numbers of keys differ by a power of two. A size is rounded
/// up by one unit of the smallest size: 0.4 % at a rate of 0.5, 0.05 % at 0.01. It also has the margin of the smallest,
/// though the rates of larger filters vary less.
pub(crate) const MERGE_FROM: u64 = 100_000;
/// The most by which the promised rate of parts of 100,000 keys and more may exceed its mean: 10 % are 1.3 % of the
/// bits of a blocked filter at 1e-4. Below that rate, blocked filters of so few keys vary more; their margin would cost
/// 4.6 % of the bits at 1e-6 and twice the memory at 1e-9, however many keys there are.
const MOST_MARGIN: f64 = 1.1;
/// Below that rate, filters are doubled from parts whose margin is at most this: at 1e-6 from some 50 million keys on.
const LEAST_MARGIN: f64 = 1.02;
/// From this many keys on, a full filter keeps the promised rate by its own bits with a probability of at least 99.9 %;
/// smaller ones keep it in expectation.
pub(crate) const SURE_FROM: u64 = MERGE_FROM;

/// A plan for a filter: its parameters and its promise.
///
/// The plan of a scalable filter is for its first link: `keys`, `bits` and `probes` describe the filter before it
/// grows. Only `fpp` is for the whole, however far it grows. The plan of an attributes filter is for the filter of each
/// single attribute: `keys` rows, with at most as many different values. The plan of a cascade is for its first level;
/// the excluded keys are added to it, see [`for_lists`](Self::for_lists).
///
/// ```
/// use umbel::{Kind, Plan};
/// let plan = Plan::for_keys(Kind::Blocked, 1_000_000, 0.01)?;
/// assert!(plan.predicted_fpp() <= 0.01 && plan.bits_per_key() < 1.06 * 9.585);
/// let same = Plan::for_memory(Kind::Blocked, 1_000_000, plan.bytes())?;
/// assert!(same.fpp() <= 0.01);
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub(crate) variant: Variant,
    pub(crate) keys: u64,
    pub(crate) fpp: f64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
}

impl Plan {
    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        self.variant.kind()
    }

    /// Returns its kind with the kind's own parameter.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns the keys it is planned for. In the scalable kind, the keys before it grows; in the window kind, the most
    /// recent keys, which it remembers; in the stable kind, the insertions through which it remembers a key with a
    /// probability of at least 99 %; in the attributes kind, rows.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the rate promised while it holds at most [`keys`](Self::keys) keys, in (0, 1); see
    /// [`for_keys`](Self::for_keys). In the scalable, stable and window kinds it always holds; in the attributes kind
    /// it is the rate of each inner filter.
    pub fn fpp(&self) -> f64 {
        self.fpp
    }

    /// Returns the bits, m. A multiple of 512 in the kinds made of blocks. In the counting kind, the bits of all
    /// counters: the bits of the blocked filter it converts to, times the bits of a counter. In the attributes kind,
    /// the bits of each attribute's filter.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the probes per key, k, 1 to [`MAX_PROBES`]; 1 in the coded kind; in the bloomier kind the slots of a
    /// key, 3.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Returns the bytes of the filter's bits.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(BLOCK_BITS) * BLOCK_BYTES
    }

    /// Returns m / n, with the planned keys.
    pub fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    /// The plan of a filter folded to a part of its size.
    pub(crate) fn divided(self, divisor: u64) -> Self {
        Self { bits: self.bits / divisor, keys: (self.keys / divisor).max(1), ..self }
    }

    /// The plan of a filter merged with another of the same size.
    pub(crate) fn merged(self, other: &Self) -> Self {
        Self { keys: self.keys.max(other.keys), fpp: self.fpp.max(other.fpp), ..self }
    }
}

/// How often a plan doubles its smallest part, for a filter with this spread: as often as allowed, or until the part's
/// margin is small.
fn doublings(most: u32, spread: Spread) -> u32 {
    let is_near = |&doublings: &u32| {
        let margin = if doublings == most { MOST_MARGIN } else { LEAST_MARGIN };
        spread.resized((-f64::from(doublings)).exp2()).upper() <= margin * spread.mean
    };
    (1..=most).rev().find(is_near).unwrap_or(0)
}

pub(crate) fn check_bits(bits: f64) -> Result<(), PlanError> {
    if bits <= MAX_BITS as f64 { Ok(()) } else { Err(PlanError::TooLarge(bits)) }
}

pub(crate) fn check_fpp(fpp: f64) -> Result<(), PlanError> {
    if fpp > 0.0 && fpp < 1.0 { Ok(()) } else { Err(PlanError::Fpp(fpp)) }
}

pub(crate) fn check_keys(keys: u64) -> Result<(), PlanError> {
    if keys > 0 { Ok(()) } else { Err(PlanError::ZeroKeys) }
}
