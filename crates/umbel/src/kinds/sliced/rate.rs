//! The rate of a sliced filter, with k slices of s bits.

use crate::kinds::prelude::*;
use crate::math::spread::{fill_deviation, of_power};

/// Returns the exact false positive rate: (1 − (1 − 1/s)ⁿ)^k, since slices fill independently.
///
/// `slice`, s, and `probes`, k, must be at least 1.
pub fn fpp(keys: u64, slice: u64, probes: u32) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    (-(keys as f64 * (-1.0 / slice as f64).ln_1p()).exp_m1()).powi(probes as i32)
}

/// The least s with which `keys` keys keep `fpp`: 1/(1 − (1 − p^(1/k))^(1/n)).
pub(super) fn slice_for(keys: u64, fpp: f64, probes: u32) -> f64 {
    let fill = fpp.powf(1.0 / f64::from(probes));
    -1.0 / f64::exp_m1((-fill).ln_1p() / keys as f64)
}

/// Returns the spread of a sliced filter with slices of `slice` bits; `slice` and `probes` must be at least 1.
pub fn spread(keys: u64, slice: u64, probes: u32) -> Spread {
    let (s, k) = (slice as f64, f64::from(probes));
    let relative = fill_deviation(keys as f64 / s, s);
    // The product of k independent fills has the spread of a power with √k times their deviation.
    of_power(fpp(keys, slice, probes), relative / k.sqrt(), k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_answer_each_other() {
        for (keys, rate, probes) in [(1, 0.5, 1), (1000, 0.01, 7), (5_000_000_000, 1e-6, 20)] {
            let slice = slice_for(keys, rate, probes);
            let found = fpp(keys, slice.ceil() as u64, probes);
            assert!(found <= rate * (1.0 + 1e-6) && found > rate * 0.9, "{keys} {rate} {found}");
        }
        assert_eq!(fpp(0, 1, 1), 0.0);
        assert_eq!(fpp(1, 1, 3), 1.0);
    }
}
