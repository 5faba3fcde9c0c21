//! The formulas of Bloom filters: rates from sizes, estimates from bits.
//!
//! Letters as in the literature: n keys, m bits, k probes per key, X bits set.

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

/// Returns what equal hashes add to the rate: the probability 1 − (1 − 2⁻ᵇ)ⁿ that a key has the hash of one of `keys`
/// keys, if hashes have b = `hash_bits` bits; about n·2⁻ᵇ.
///
/// No filter of such hashes has a lower rate, whatever its size. umbel's have 128 bits, or 64 if computed elsewhere;
/// those of some other systems have 32.
///
/// ```
/// use umbel::math::hash_collisions;
/// assert!((hash_collisions(100_000_000, 32) - 0.023).abs() < 0.0005);
/// assert!(hash_collisions(1_000_000_000, 128) < 1e-29);
/// ```
pub fn hash_collisions(keys: u64, hash_bits: u32) -> f64 {
    -(keys as f64 * (-(-f64::from(hash_bits)).exp2()).ln_1p()).exp_m1()
}
