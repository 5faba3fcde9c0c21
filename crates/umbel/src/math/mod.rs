//! The formulas of Bloom filters: rates from sizes, estimates from bits.
//!
//! Letters as in the literature: n keys, m bits, k probes per key, X bits set.

pub mod blocked;
pub mod bloomier;
pub mod classic;
pub(crate) mod coded;
mod coverage;
mod interval;
mod occupancy;
mod poisson;
pub mod sliced;
pub mod spread;
pub mod stable;
pub mod window;

#[cfg(not(feature = "std"))]
use crate::prelude::*;
/// The maximum number of probes per key.
pub const MAX_PROBES: u32 = 32;

pub use coverage::{Coverage, Overlap};
pub use interval::{Estimate, binomial_bounds};
pub use spread::Spread;
