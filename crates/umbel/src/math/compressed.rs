//! Filters that are compressed for sending (M. Mitzenmacher 2002, <https://doi.org/10.1109/TNET.2002.803864>).
//!
//! A classic filter with as many bits set as clear does not compress. One with more bits and fewer probes than are best
//! in memory has few bits set, and is sent in m·H(fill) bits by a coder that reaches the entropy: for the same number
//! of bits sent its rate is lower. The receiver pays with memory.

use super::classic::fpp_limit_of;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

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
    // The probability of a clear bit; its entropy is that of a set one.
    bits_per_key * entropy((-probes / bits_per_key).exp())
}

/// Returns the lowest rate for `sent` bits per key if a filter may have up to `most` bits per key in memory.
///
/// The result is `(bits per key, probes, rate)`, in the limit of many bits. Compression cannot hurt, so
/// `most` ≥ `sent` > 0 gives at least the plain filter's rate; for `most` → ∞ the best k is 1 and the rate approaches 0.5^sent, where
/// the best plain filter has 0.6185^sent.
pub fn best_for_sent(sent: f64, most: f64) -> (f64, u32, f64) {
    let mut best = (sent, 1, 1.0);
    for probes in 1..=super::super::MAX_PROBES {
        let k = f64::from(probes);
        // The bits sent grow with m as long as kn/m < ln 2, where the filter is half full, and fall with m for fewer
        // bits: use the sparse side.
        let (mut low, mut high) = (k / core::f64::consts::LN_2, most);
        if low > most {
            continue;
        }
        let bits = if sent_per_key(low, k) > sent {
            continue;
        } else if sent_per_key(high, k) <= sent {
            high
        } else {
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if sent_per_key(middle, k) <= sent {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low
        };
        let rate = fpp_limit_of(bits, probes);
        if rate < best.2 {
            best = (bits, probes, rate);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_published() {
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
    fn the_best_is_no_worse_than_any_other() {
        for (sent, most) in [(8.0, 8.1), (8.0, 14.5), (8.0, 100.0), (4.0, 1e4), (16.0, 1e6)] {
            let (bits, probes, rate) = best_for_sent(sent, most);
            assert!(bits <= most && sent_per_key(bits, f64::from(probes)) <= sent * (1.0 + 1e-9));
            for other in 1..=12 {
                for step in 0..4_000 {
                    let tried = sent * 0.5 + f64::from(step) / 4_000.0 * (most - sent * 0.5);
                    if sent_per_key(tried, f64::from(other)) <= sent {
                        assert!(fpp_limit_of(tried, other) >= rate - 1e-12, "{tried} {other}");
                    }
                }
            }
            assert!(rate > 0.5f64.powf(sent));
        }
        let (bits, probes, rate) = best_for_sent(8.0, 1e9);
        assert!(probes == 1 && bits > 90.0 && rate < 0.0108, "{bits} {rate}");
        assert_eq!(entropy(0.5), 1.0);
        assert_eq!((entropy(0.0), entropy(1.0)), (0.0, 0.0));
    }
}
