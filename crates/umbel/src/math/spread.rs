//! How far the rate of a single filter, computed from its own bits, is from the mean over hashings.
//!
//! The rate is nearly normal over hashings, with a tail to the right if most of it comes from a few full blocks. So a
//! [`Spread`] has four cumulants, and [`Spread::upper`] is the rate that 99.9 % of all filters stay below. Each kind derives
//! its own.

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The 99.95 % quantile of the normal distribution. Half of the 0.1 % that may exceed [`Spread::upper`] covers what
/// four cumulants leave out, and hashes that are not quite random: with the integers 0, 1, 2, … as keys, the mean rate
/// of blocked filters is above the formula's by 0.1 to 0.2 % at 1e-4 and by 0.6 % at 1e-6 (a million keys, 400
/// filters); with integers from SplitMix64 it is not.
const Z: f64 = 3.290_527;

/// The moments, over hashings, of the rate that filters of one plan compute from their own bits: these four
/// and no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The expectation.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The third cumulant over the third power of the deviation; 0 for a normal distribution.
    #[doc(hidden)]
    pub skewness: f64,
    /// The fourth cumulant over the fourth power of the deviation; 0 for a normal distribution.
    #[doc(hidden)]
    pub kurtosis: f64,
}

impl Spread {
    /// Returns the spread of a rate that is the same under every hashing.
    #[doc(hidden)]
    pub fn fixed(rate: f64) -> Self {
        Self { mean: rate, deviation: 0.0, skewness: 0.0, kurtosis: 0.0 }
    }

    /// The spread of a filter for `times` the keys in `times` the bits.
    #[doc(hidden)]
    pub fn resized(self, times: f64) -> Self {
        let root = times.sqrt();
        Self {
            mean: self.mean,
            deviation: self.deviation / root,
            skewness: self.skewness / root,
            kurtosis: self.kurtosis / times,
        }
    }

    /// Returns the rate that 99.9 % of all filters keep by their own bits; at most 1.
    ///
    /// The quantile of E. A. Cornish, R. A. Fisher 1938: z + (z² − 1)γ/6 + (z³ − 3z)κ/24 − (2z³ − 5z)γ²/36 deviations
    /// above the mean, with skewness γ and kurtosis κ. For skewness above 1 (blocked, 100,000 keys, below 4e-7) the
    /// terms of the series are no longer small; the last two are then bounded by 0 and the first correction.
    pub fn upper(&self) -> f64 {
        let Self { mean, deviation, skewness, kurtosis } = *self;
        let first = (Z * Z - 1.0) / 6.0 * skewness;
        let fourth = (Z.powi(3) - 3.0 * Z) / 24.0 * kurtosis;
        let square = (2.0 * Z.powi(3) - 5.0 * Z) / 36.0 * skewness * skewness;
        let second = (fourth - square).clamp(0.0, first.max(0.0));
        (mean + (Z + first + second) * deviation).min(1.0)
    }
}

/// The relative standard deviation of the number of set bits, with λ balls thrown for each of m bits: it has the mean
/// m(1 − e^−λ) and the variance m·e^−λ(1 − (1 + λ)e^−λ).
pub(crate) fn fill_deviation(lambda: f64, m: f64) -> f64 {
    let (empty, set) = ((-lambda).exp(), -(-lambda).exp_m1());
    if set <= 0.0 {
        return 0.0;
    }
    (empty * (1.0 - (1.0 + lambda) * empty) / m).max(0.0).sqrt() / set
}

/// The spread of x^k, for x normal with a small `relative` deviation.
pub(crate) fn of_power(mean: f64, relative: f64, k: f64) -> Spread {
    let skewness = 3.0 * (k - 1.0) * relative;
    let kurtosis = 16.0 / 9.0 * skewness * skewness;
    Spread { mean, deviation: mean * k * relative, skewness, kurtosis }
}
