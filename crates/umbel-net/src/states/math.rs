//! Tables of states: the probability that two keys share a fingerprint, and the resulting rate of each kind of answer.
//!
//! A key has two homes, one in each of two tables of B buckets, and a fingerprint of r bits, 8 of them not all zero.
//! The second home is the first plus an offset from the fingerprint, modulo B: keys that agree in fingerprint and one
//! home agree in both. The table is exact for the F = B·255·2^(r − 8) pairs of home and fingerprint, as the counting
//! filters of F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese 2006 ("An improved construction for
//! counting Bloom filters", <https://doi.org/10.1007/11841036_61>), whose permutations do the same.

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// With fingerprints of 40 bits, 8 bits of state and 4 of age, 7 keys share each of two buckets: 2·7/(255·2³²).
pub(super) const LEAST_ERROR: f64 = 2e-11;

/// The cells of a bucket that are free on average in a table with as many keys as planned.
///
/// With keys that come and go, 12 to 17 % of buckets are then full, and 1 to 3 % of insertions find both homes full and
/// move a key. That fails only if the other homes of all keys in both buckets are full: of at least 18 keys, and 48 in
/// usual plans. Measured once by hand, in 10⁷ insertions each: with 10, 14, 20 or 28 cells per bucket and 2 free, at
/// most 8 other homes were read until one had room; with 10 cells and 1 free, all 20 were full once.
///
/// Without moves, as in d-left hashing, d tables need much more room once keys come and go: at a load of 3/4 an
/// insertion into 3 tables with 8 cells per bucket fails with probability 1e-7, though while they are first filled it
/// is 8e-29 (`bench/record/2026-11-23-states.txt`).
pub(crate) const FREE_CELLS: f64 = 2.0;

/// The number F of pairs of a home and a fingerprint of r bits.
pub(crate) fn pairs(buckets: u64, fingerprint_bits: u32) -> f64 {
    buckets as f64 * 255.0 * f64::from(fingerprint_bits - 8).exp2()
}

/// Returns the probability of a false positive, 1 − (1 − 1/F)^n: that a key shares its pair with one of n = `keys`
/// others, for F equally likely pairs.
///
/// ```
/// use umbel_net::states::math::collision;
/// assert!((collision(1_000, 1e6) - 0.000_999_5).abs() < 1e-9);
/// ```
pub fn collision(keys: u64, pairs: f64) -> f64 {
    -(keys as f64 * (-1.0 / pairs).ln_1p()).exp_m1()
}

/// Returns the probability 1 − (1 − d/F)^(n − 1) that one of n keys, all inserted and none changed yet, is answered
/// with *unknown*: another shares its pair and differs in state, as any two keys do with probability d = `differ`.
///
/// After changes it is at most [`collision`] plus [`false_negative`].
pub fn unknown(keys: u64, pairs: f64, differ: f64) -> f64 {
    collision(keys.saturating_sub(1), pairs / differ)
}

/// Returns the probability that one of n keys is answered with another's state, if all are written in random order,
/// each as often as the others, by [`set`](super::States::set), which cannot know whether a key is new:
/// d·(1 − (1 − (1 − 1/F)^n)·F/n).
///
/// Each of j + 1 keys with one pair wrote last with probability 1/(j + 1), and E[j/(j + 1)] over the binomial j is the
/// bracket.
pub fn false_return(keys: u64, pairs: f64, differ: f64) -> f64 {
    let keys_each = keys as f64 / pairs;
    // The difference of nearly equal numbers: below 1e-3 its series n/F/2 − (n/F)²/6 is exact to 1e-7.
    if keys_each < 1e-3 {
        return differ * (keys.saturating_sub(1) as f64 / pairs) * (0.5 - keys_each / 6.0);
    }
    differ * (1.0 - collision(keys, pairs) / keys_each)
}

/// Returns the probability, to first order in 1/F, that a key is answered with *absent* although it is present, if it
/// was written by [`set`](super::States::set): another with its pair was removed after it was last written.
///
/// Each of the n/F others is removed at the rate 1, and the key was last written or inserted 1/(1 + ω) ago on average
/// if it is written ω = `writes` times during a mean life: n/F/(1 + ω).
pub fn false_negative(keys: u64, pairs: f64, writes: f64) -> f64 {
    keys.saturating_sub(1) as f64 / pairs / (1.0 + writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_returns_are_the_sum_over_the_binomial_law() {
        for (keys, pairs) in [(2u64, 3.0), (10, 7.0), (50, 1e3), (300, 1e6)] {
            // P(j) of n − 1 others, each with probability 1/F.
            let (others, p) = ((keys - 1) as i32, 1.0 / pairs);
            let (mut chance, mut sum) = ((1.0f64 - p).powi(others), 0.0);
            for j in 0..=others {
                sum += chance * f64::from(j) / f64::from(j + 1);
                chance *= f64::from(others - j) / f64::from(j + 1) * p / (1.0 - p);
            }
            let found = false_return(keys, pairs, 0.8);
            assert!((found / (0.8 * sum) - 1.0).abs() < 1e-6, "{keys}, {pairs}: {found} {sum}");
        }
    }

    #[test]
    fn a_lone_key_shares_nothing() {
        assert_eq!(unknown(1, 256.0, 0.5), 0.0);
        assert_eq!(false_return(1, 2048.0, 0.5), 0.0);
        assert_eq!(false_negative(1, 256.0, 3.0), 0.0);
        assert!((collision(1, 256.0) - 1.0 / 256.0).abs() < 1e-15);
    }
}
