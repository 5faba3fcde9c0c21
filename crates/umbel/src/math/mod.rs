//! The formulas of Bloom filters: rates from sizes, estimates from bits.
//!
//! Letters as in the literature: n keys, m bits, k probes a key, X bits set.

pub mod blocked;
pub mod bloomier;
pub mod classic;
pub(crate) mod coded;
pub mod compressed;
mod coverage;
mod interval;
mod occupancy;
mod poisson;
pub mod sliced;
pub mod stable;
pub mod window;

pub use coverage::{Coverage, Overlap};
pub use interval::{Estimate, binomial_bounds};
