//! The formulas of Bloom filters: rates from sizes, estimates from bits.
//!
//! Letters as in the literature: n keys, m bits, k probes per key, X bits set. Plans use more formulas than these; those that
//! pictures and tables show are in the crate [`umbel-report`](https://docs.rs/umbel-report).

#[doc(hidden)]
pub mod blocked;
#[doc(hidden)]
pub mod bloomier;
pub mod classic;
pub(crate) mod coded;
mod coverage;
mod interval;
mod occupancy;
mod poisson;
pub(crate) mod search;
#[doc(hidden)]
pub mod sliced;
#[doc(hidden)]
pub mod spread;
pub mod stable;
#[doc(hidden)]
pub mod window;

/// The maximum number of probes per key.
#[doc(hidden)] // documented in `plan`
pub const MAX_PROBES: u32 = 32;

pub use coverage::{Coverage, Overlap};
pub use interval::{Estimate, binomial_bounds};
pub use spread::Spread;
