//! The exponent of the rate, g(u) = −(m/n) ln u ln(1 − u), u the share of bits that stay clear: why half should stay
//! clear.
//!
//! With k probes u = e^(−kn/m), so k = −(m/n) ln u, and the rate (1 − u)^k = e^(k ln(1 − u)) has this exponent. It is
//! the same for u and 1 − u, and least between them (A. Broder, M. Mitzenmacher 2004, section 2.1,
//! <https://doi.org/10.1080/15427951.2004.10129096>).

use crate::advice::formulas::log_fpp_at_clear;

use super::Point;

/// Returns g(u) for some bits per key.
pub fn curve(bits_per_key: f64) -> Vec<Point> {
    (1..400).map(|i| f64::from(i) / 400.0).map(|u| (u, log_fpp_at_clear(bits_per_key, u))).collect()
}

/// Returns the step between marked numbers of probes: 1, 5, 25 …, for at most 33 marks that do not crowd.
pub fn step(bits_per_key: f64) -> u64 {
    let mut step = 1;
    while bits_per_key >= 14.0 * step as f64 {
        step *= 5;
    }
    step
}

/// Returns the points of some whole numbers of probes on a curve, up to u = 0.1.
pub fn whole_probes(bits_per_key: f64) -> Vec<Point> {
    let clear = |k: f64| (-k / bits_per_key).exp();
    let step = step(bits_per_key);
    let points = (1..).map(|i: u32| clear(f64::from(i) * step as f64)).take_while(|&u| u > 0.1);
    points.map(|u| (u, log_fpp_at_clear(bits_per_key, u))).collect()
}

#[cfg(test)]
mod tests {
    use umbel::formulas::classic;

    use super::*;

    #[test]
    fn least_at_half_and_the_rate_there() {
        for bits in [1.0, 9.6, 30.0] {
            let points = curve(bits);
            let least = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(least.0, 0.5);
            let back = classic::bits_per_key(least.1.exp());
            assert!((back / bits - 1.0).abs() < 1e-12);
            let [left, right] = [0.3, 0.7].map(|clear| log_fpp_at_clear(bits, clear));
            assert!((left - right).abs() < 1e-12, "symmetric");
        }
    }

    #[test]
    fn few_are_marked_however_many_bits_a_key_has() {
        for bits in [0.1, 9.6, 13.9, 14.0, 69.9, 70.0, 350.0, 8.6e8, 9.2e18] {
            let marked = whole_probes(bits);
            assert!(marked.len() <= 33, "{bits}: {}", marked.len());
            assert!(marked.len() >= 6 || bits < 9.0, "{bits}: {}", marked.len());
        }
    }

    #[test]
    fn whole_probes_lie_on_the_curve_at_their_rates() {
        for (k, (_, g)) in (1..).zip(whole_probes(8.0)) {
            let rate = classic::fpp_limit(1_000_000, 8_000_000, k);
            assert!((g.exp() / rate - 1.0).abs() < 1e-9, "{k}");
        }
    }
}
