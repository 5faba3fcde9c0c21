//! The formulas of Bloom filters: rates from sizes, estimates from bits.
//!
//! Letters as in the literature: n keys, m bits, k probes per key, X bits set. Each kind's formulas are in its folder;
//! those for pictures and tables are in the crate [`umbel-report`](https://docs.rs/umbel-report).

mod coverage;
mod interval;
pub(crate) mod occupancy;
pub(crate) mod poisson;
pub(crate) mod search;
pub(crate) mod spread;

/// The maximum number of probes per key.
#[doc(hidden)] // documented in `plan`
pub const MAX_PROBES: u32 = 32;

pub use coverage::{Coverage, Overlap};
pub use interval::{Estimate, binomial_bounds};
pub use spread::Spread;
