//! Formulas of the literature that pictures, tables and choices show; filters are planned by the ones in
//! [`umbel::formulas`].
//!
//! The bits of a filter compressed for sending follow M. Mitzenmacher 2002, <https://doi.org/10.1109/TNET.2002.803864>:
//! a classic filter with as many bits set as clear does not compress. With more bits and fewer probes than are best in
//! memory, few bits are set, and a coder that reaches the entropy sends m·H(fill) bits: for the same number of bits
//! sent, the rate is lower. The receiver pays with memory.

use umbel::formulas::classic::bits_per_key_with;

/// Returns [`fpp_limit`](umbel::formulas::classic::fpp_limit) from the bits per key, m/n: (1 − e^(−k/(m/n)))^k.
pub fn fpp_limit_of(bits_per_key: f64, probes: u32) -> f64 {
    (-(-f64::from(probes) / bits_per_key).exp_m1()).powi(probes as i32)
}

/// Returns the least bits per key at a rate, over k = 1…`most_probes`, and that k: the minimum of
/// [`bits_per_key_with`].
///
/// `fpp` must be in (0, 1), and `most_probes` at least 1.
pub fn least_bits_per_key(fpp: f64, most_probes: u32) -> (f64, u32) {
    // The best k is log₂ 1/p, which is below 1,075 for every number that is not 0.
    let all = (1..=most_probes.min(2048)).map(|probes| (bits_per_key_with(fpp, probes), probes));
    all.min_by(|left, right| left.0.total_cmp(&right.0)).expect("at least one probe")
}

/// Returns ln of the rate at m/n = `bits_per_key` if a share u = `clear` of the bits stays clear, with the k that leads
/// to it: g(u) = −(m/n)·ln u·ln(1 − u). Least at u = ½.
pub fn log_fpp_at_clear(bits_per_key: f64, clear: f64) -> f64 {
    -bits_per_key * clear.ln() * (-clear).ln_1p()
}

/// Returns what equal hashes add to the rate: the probability 1 − (1 − 2⁻ᵇ)ⁿ that a key has the hash of one of `keys`
/// keys, if hashes have b = `hash_bits` bits; about n·2⁻ᵇ.
///
/// A filter with such hashes cannot have a lower rate, whatever its size. umbel's hashes have 128 bits, or 64 if
/// computed elsewhere; some other systems' hashes have 32.
///
/// ```
/// use umbel_report::advice::formulas::hash_collisions;
/// assert!((hash_collisions(100_000_000, 32) - 0.023).abs() < 0.0005);
/// assert!(hash_collisions(1_000_000_000, 128) < 1e-29);
/// ```
pub fn hash_collisions(keys: u64, hash_bits: u32) -> f64 {
    -(keys as f64 * (-(-f64::from(hash_bits)).exp2()).ln_1p()).exp_m1()
}

/// Returns H(p) = −p·log₂ p − (1 − p)·log₂(1 − p): the bits that a coder needs for each bit that is set with
/// probability p, in [0, 1].
pub fn entropy(chance: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    part(chance) + part(1.0 - chance)
}

/// Returns the bits sent per key of a classic filter with `bits_per_key`, m/n, and `probes`: (m/n)·H(1 − e^(−kn/m)).
///
/// In the limit of many bits; `probes` may be a real number.
pub fn sent_per_key(bits_per_key: f64, probes: f64) -> f64 {
    // The probability of a clear bit; H is the same for clear and set bits.
    bits_per_key * entropy((-probes / bits_per_key).exp())
}

#[cfg(test)]
mod tests {
    use umbel::formulas::classic::bits_per_key;

    use super::*;

    #[test]
    fn as_published() {
        assert_eq!([0.0, 0.5, 1.0].map(entropy), [0.0, 1.0, 0.0]);
        // Table of the paper for 8 bits sent: m/n, k, bits sent, rate.
        for (bits, probes, sent, rate) in
            [(8.0, 6, 7.98, 0.0216), (14.0, 2, 7.923, 0.0177), (92.0, 1, 7.923, 0.0108)]
        {
            let found = sent_per_key(bits, f64::from(probes));
            assert!((found - sent).abs() < 0.01, "{bits}: {found}");
            let found = fpp_limit_of(bits, probes);
            assert!((found - rate).abs() < 5e-5, "{bits}: {found}");
        }
    }

    #[test]
    fn the_best_length_is_the_best_of_all_k() {
        for (fpp, bits, probes) in
            [(0.5, 1.443, 1), (0.1, 4.807, 3), (0.01, 9.593, 7), (1e-6, 28.76, 20)]
        {
            let found = least_bits_per_key(fpp, 100);
            assert!((found.0 - bits).abs() < 0.01 && found.1 == probes, "{fpp}: {found:?}");
            assert!(found.0 >= bits_per_key(fpp));
            let rate = log_fpp_at_clear(bits_per_key(fpp), 0.5).exp();
            assert!((rate / fpp - 1.0).abs() < 1e-9);
            assert!(log_fpp_at_clear(8.0, 0.4) > log_fpp_at_clear(8.0, 0.5));
        }
    }

    #[test]
    fn every_formula_ends_whatever_it_is_given() {
        let reals = [f64::NAN, -1.0, 0.0, 1e-300, 0.01, 1.0, 1e300, f64::INFINITY];
        for (a, b) in reals.into_iter().flat_map(|a| reals.map(|b| (a, b))) {
            _ = (entropy(a), sent_per_key(a, b), log_fpp_at_clear(a, b));
            for n in [0, 1, 8, u32::MAX] {
                _ = (fpp_limit_of(a, n), least_bits_per_key(a, n.max(1)));
                _ = [0, 1, u64::MAX].map(|keys| hash_collisions(keys, n));
            }
        }
    }
}
