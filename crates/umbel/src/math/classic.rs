//! The classic filter (B. H. Bloom 1970, method 2, <https://doi.org/10.1145/362686.362692>): k
//! independent probes into m bits.

use std::f64::consts::LN_2;

use super::occupancy;

/// False-positive probability in the limit of many bits: (1 − e^(−kn/m))^k.
///
/// Below the true rate: 18 % below at m = 32, n = 4, k = 6, 0.6 % at m = 1,024, n = 128, and
/// vanishing after. 0 for no keys. `bits` and `probes` must be at least 1.
pub fn fpp_limit(keys: u64, bits: u64, probes: u32) -> f64 {
    let lambda = f64::from(probes) * keys as f64 / bits as f64;
    (-(-lambda).exp_m1()).powi(probes as i32)
}

/// False-positive probability as most texts derive it: (1 − (1 − 1/m)^(kn))^k.
///
/// Right for one bit, but takes the k bits asked for as independent, which they are not: 12 % below
/// the true rate at m = 32, n = 4, k = 6. Takes the same numbers as [`fpp_limit`].
pub fn fpp_textbook(keys: u64, bits: u64, probes: u32) -> f64 {
    let balls = f64::from(probes) * keys as f64;
    (-(balls * (-1.0 / bits as f64).ln_1p()).exp_m1()).powi(probes as i32)
}

/// False-positive probability, exact (Bose et al. 2008; Christensen et al. 2010).
///
/// Up to 4,096 bits by following the number of set bits probe by probe; above, by the textbook form
/// with the variance of the fill added, f·(1 + (k(k−1)/2)·(σ/X)²), exact to 1e-4 of the rate.
pub fn fpp(keys: u64, bits: u64, probes: u32) -> f64 {
    const FOLLOWED: u64 = 4096;
    let balls = u64::from(probes).saturating_mul(keys);
    if bits <= FOLLOWED && balls <= 40 * bits {
        return occupancy::all_occupied(bits, balls, probes);
    }
    let (m, k) = (bits as f64, f64::from(probes));
    let lambda = balls as f64 / m;
    // X = set bits: mean m(1 − e^−λ), variance m·e^−λ(1 − (1 + λ)e^−λ).
    let empty = (-lambda).exp();
    let set = -(-lambda).exp_m1();
    if set <= 0.0 {
        return 0.0;
    }
    let relative_variance = empty * (1.0 - (1.0 + lambda) * empty) / (m * set * set);
    (fpp_textbook(keys, bits, probes) * (1.0 + k * (k - 1.0) / 2.0 * relative_variance)).min(1.0)
}

/// Bits a key that the classic filter needs with the best real k: −ln p / (ln 2)²; 9.585 at 0.01.
///
/// The yardstick for every other kind. `fpp` must lie in (0, 1).
pub fn bits_per_key(fpp: f64) -> f64 {
    -fpp.ln() / (LN_2 * LN_2)
}

/// The best k as a real number: ln 2 · m/n.
pub fn best_probes(keys: f64, bits: f64) -> f64 {
    LN_2 * bits / keys
}

/// Bits a key needed with k = `probes` in the limit form: −k / ln(1 − p^(1/k)).
pub fn bits_per_key_with(fpp: f64, probes: u32) -> f64 {
    let k = f64::from(probes);
    -k / (-fpp.powf(1.0 / k)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_against_limit_as_published() {
        for (bits, keys, ratio) in [(32, 4, 1.14), (64, 8, 1.07), (128, 16, 1.035), (512, 4, 1.013)]
        {
            let found = fpp(keys, bits, 6) / fpp_textbook(keys, bits, 6);
            assert!((found - ratio).abs() < 0.002, "m {bits}: {found}");
        }
        let found = fpp(128, 1024, 6) / fpp_limit(128, 1024, 6);
        assert!((found - 1.006).abs() < 0.0005, "{found}");
    }

    #[test]
    fn textbook_table() {
        // m/n = 8, k = 1…7.
        let table = [0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229];
        for (k, expected) in (1..).zip(table) {
            let found = fpp_limit(1_000_000, 8_000_000, k);
            assert!((found / expected - 1.0).abs() < 0.005, "k {k}: {found}");
        }
    }

    #[test]
    fn the_variance_form_continues_the_exact_one() {
        for (keys, probes) in [(300, 7), (500, 4), (1000, 2), (200, 13)] {
            let exact = occupancy::all_occupied(4097, keys * u64::from(probes), probes);
            assert!(
                (fpp(keys, 4097, probes) / exact - 1.0).abs() < 1e-4,
                "{keys} {probes}: {}",
                fpp(keys, 4097, probes) / exact
            );
        }
    }

    #[test]
    fn sizes_at_known_rates() {
        for (fpp, bits) in [(0.1, 4.793), (0.01, 9.585), (0.001, 14.378), (1e-6, 28.755)] {
            assert!((bits_per_key(fpp) - bits).abs() < 0.001);
        }
        assert!((bits_per_key_with(0.01, 7) - 9.593).abs() < 0.002);
    }
}
