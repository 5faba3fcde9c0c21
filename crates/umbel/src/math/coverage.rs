//! Estimates of how many keys set a filter's bits, and how many keys two filters share.
//!
//! A key *spares* a bit if it does not set it. If a key spares a given bit with probability s, n keys leave it clear
//! with probability sⁿ, so a filter with this many clear bits holds n* = ln(clear/m)/ln s keys: S. Swamidass, P. Baldi
//! 2007, <https://doi.org/10.1021/ci600526a>, whose −(m/k)·ln(1 − X/m) is the limit for many bits.
//!
//! **Two sets.** With a, b and c keys in A alone, in B alone and in both, a bit is clear in A with probability s^(a+c),
//! in B with s^(b+c), in both with s^(a+b+c). For each bit that is a distribution over four outcomes with three free
//! parameters, so the most likely parameters reproduce the three counts of clear bits: |A ∪ B| from the OR's bits, and
//! |A ∩ B| = |A| + |B| − |A ∪ B|. If that is negative, c = 0 is the most likely, and the union is |A| + |B|.
//!
//! **Intervals** are based on the exact variances and covariances of the three counts. Given the sets, keys are
//! independent, so any two bits are both clear with a probability that is a product over keys; see `covariance`. The
//! ends of an interval are the values that would be 1.96 of *their own* standard deviations away from the estimate: at
//! the edges, with no or all keys shared, the estimated deviation is 0 and would be useless.

use super::interval::{Estimate, Z95};
use super::search::border;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The probabilities that one key spares a bit, and two bits.
#[derive(Clone, Copy, Debug)]
pub struct Coverage {
    bits: f64,
    /// ln s, negative.
    one: f64,
    /// The classes of other bits, as seen from one bit.
    pairs: [Pair; 3],
}

/// A class of pairs of different bits.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// How many other bits of this class a bit has.
    others: f64,
    /// ln(probability that a key spares both) − 2·ln s: 0 if the two are independent.
    beyond: f64,
}

/// [`Pair::beyond`] of two bits that a throw sets with probability `a` each, and never both: ln((1 − 2a)/(1 − a)²), as
/// ln(1 − (a/(1 − a))²), which avoids the difference of two logarithms that agree in all their digits.
fn exclusive(a: f64) -> f64 {
    // If there are no two such bits, the number of pairs is 0.
    (-(a / (1.0 - a)).powi(2).min(1.0)).ln_1p()
}

/// Estimates of the keys of two sets, from the filters of both.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overlap {
    /// |A ∪ B|.
    pub union: Estimate,
    /// |A ∩ B|.
    pub intersection: Estimate,
    /// |A ∩ B| over |A ∪ B|, in [0, 1].
    pub jaccard: Estimate,
    /// The share of A that is in B, |A ∩ B| over |A|, in [0, 1].
    pub left_in_right: Estimate,
    /// The share of B that is in A.
    pub right_in_left: Estimate,
}

impl Coverage {
    /// Returns the coverage of the classic kind: `probes` independent probes among `bits` bits, at least 1 of each.
    ///
    /// s = (1 − 1/m)^k, and a key spares both of two bits with (1 − 2/m)^k.
    pub fn classic(bits: u64, probes: u32) -> Self {
        let (m, k) = (bits as f64, f64::from(probes));
        let one = k * (-1.0 / m).ln_1p();
        Self::of(m, one, [Pair { others: m - 1.0, beyond: k * exclusive(1.0 / m) }])
    }

    /// Returns the coverage of the sliced kind: a probe in each of `probes` slices of `slice` bits, which are
    /// independent of each other.
    pub fn sliced(slice: u64, probes: u32) -> Self {
        let s = slice as f64;
        let one = (-1.0 / s).ln_1p();
        let pair = Pair { others: s - 1.0, beyond: exclusive(1.0 / s) };
        Self::of(s * f64::from(probes), one, [pair])
    }

    /// Returns the coverage of filters of B = `blocks` blocks of `size` bits, at least 1 of each; a key goes to one
    /// block. `spared` is the probability, in [0, 1], that a key of the block leaves a given bit of it clear. `pairs`
    /// has at most two classes of other bits of the block: how many there are, and with what probability a key of the
    /// block spares both.
    ///
    /// With p = 1 − `spared`, s = 1 − p/B. Two bits of different blocks are both spared with probability 1 − 2p/B, two
    /// of one block with 1 − (1 − s₂)/B, where s₂ is the probability in `pairs`.
    ///
    /// ```
    /// use umbel::internals::math::Coverage;
    /// // Parquet's split blocks: a bit in each of eight words of 32 bits.
    /// let word = (31.0, 30.0 / 32.0);
    /// let other_words = (224.0, (31.0f64 / 32.0).powi(2));
    /// let coverage = Coverage::in_blocks(1000.0, 256.0, 31.0 / 32.0, &[word, other_words]);
    /// let keys = coverage.keys(256_000.0 - 60_000.0);
    /// assert_eq!(keys.value.round(), 8_546.0);
    /// ```
    ///
    /// # Panics
    /// If there are more than two classes of pairs.
    pub fn in_blocks(blocks: f64, size: f64, spared: f64, pairs: &[(f64, f64)]) -> Self {
        let p = 1.0 - spared;
        let one = (-p / blocks).ln_1p();
        let elsewhere = Pair { others: size * (blocks - 1.0), beyond: exclusive(p / blocks) };
        let here = pairs.iter().map(|&(others, both)| Pair {
            others,
            beyond: (-(1.0 - both) / blocks).ln_1p() - 2.0 * one,
        });
        Self::of(size * blocks, one, [elsewhere].into_iter().chain(here))
    }

    fn of(bits: f64, one: f64, pairs: impl IntoIterator<Item = Pair>) -> Self {
        let mut three = [Pair::default(); 3];
        pairs.into_iter().enumerate().for_each(|(i, pair)| three[i] = pair);
        Self { bits, one, pairs: three }
    }

    /// Estimates the keys that leave this many clear bits: n* = ln(clear/m)/ln s.
    ///
    /// With no clear bit it is infinite, with a finite lower end.
    pub fn keys(&self, clear: f64) -> Estimate {
        if clear < 1.0 {
            let low = self.keys(1.0).low;
            let full = f64::INFINITY;
            return Estimate { value: full, low, high: full, deviation: full };
        }
        let keys = self.most_likely(clear);
        Estimate::new(keys, self.covariance(keys).sqrt())
    }

    /// Estimates the keys of two sets, from the clear bits of A's filter, of B's and of their OR. `None` if the OR has
    /// no clear bit.
    ///
    /// The intersection is as precise as the bits allow. Even for disjoint sets its standard deviation is about
    /// √m·fill/((1 − fill)·k) keys in the classic kind, if both filters have this fill.
    pub fn overlap(&self, left: f64, right: f64, either: f64) -> Option<Overlap> {
        if either < 1.0 {
            return None;
        }
        let [left, right, either] = [left, right, either].map(|clear| self.most_likely(clear));
        let sum = left + right;
        let shared = sum - either;
        let parts = Parts { coverage: self, left, right };
        let union = either.min(sum);
        let jaccard_by = [1.0 / union, 1.0 / union, -sum / (union * union)];
        let share = |left: f64, right: f64| {
            let by = [(either - right) / (left * left), 1.0 / left, -1.0 / left];
            let parts = Parts { coverage: self, left, right };
            parts.estimate(shared / left, 1.0, by, |share| share * left)
        };
        Some(Overlap {
            union: Estimate::new(union, parts.deviation(sum - union, [0.0, 0.0, 1.0])),
            intersection: parts.estimate(shared, f64::INFINITY, [1.0, 1.0, -1.0], |c| c),
            jaccard: parts.estimate(shared / union, 1.0, jaccard_by, |jaccard| {
                sum * jaccard / (1.0 + jaccard)
            }),
            left_in_right: share(left, right),
            right_in_left: share(right, left),
        })
    }

    fn most_likely(&self, clear: f64) -> f64 {
        // Not −0.
        (clear / self.bits).ln() / self.one + 0.0
    }

    /// The covariance of the [`most_likely`](Self::most_likely) sizes of two sets that share `keys` keys; for a set
    /// with itself, the variance.
    ///
    /// For sets S and T, bit i is clear in S's filter and j in T's with probability s^(|S| + |T|) if i and j are
    /// independent; each shared key makes that e^beyond times as likely, and for i = j 1/s times. Summed over all pairs
    /// of bits, and divided by the product of the means (m·s^|S|)·(m·s^|T|), only the number of shared keys remains.
    fn covariance(&self, keys: f64) -> f64 {
        if keys <= 0.0 {
            return 0.0;
        }
        let sorts = self.pairs.iter().map(|pair| pair.others * (keys * pair.beyond).exp_m1());
        let relative = ((-keys * self.one).exp_m1() + sorts.sum::<f64>()) / self.bits;
        (relative / (self.one * self.one)).max(0.0)
    }
}

/// The sizes of two sets, apart from what they share.
struct Parts<'a> {
    coverage: &'a Coverage,
    left: f64,
    right: f64,
}

impl Parts<'_> {
    /// The standard deviation of g·(|A|, |B|, |A ∪ B|) if the sets share `shared` keys.
    fn deviation(&self, shared: f64, [a, b, union]: [f64; 3]) -> f64 {
        let of = |keys| self.coverage.covariance(keys);
        // Not `clamp`, which panics if a limit is NaN.
        let shared = shared.max(0.0).min(self.left.min(self.right));
        let (left, right) = (of(self.left), of(self.right));
        let all = of(self.left + self.right - shared);
        let own = a * a * left + b * b * right + union * union * all;
        let cross = a * b * of(shared) + a * union * left + b * union * right;
        (own + 2.0 * cross).max(0.0).sqrt()
    }

    /// An estimate with the value `value`, from 0 to `most`. `shared` maps another value to the shared keys, and `by`
    /// is how the value changes with each of the three sizes.
    fn estimate(
        &self,
        value: f64,
        most: f64,
        by: [f64; 3],
        shared: impl Fn(f64) -> f64,
    ) -> Estimate {
        if !value.is_finite() {
            // The estimate for an empty set.
            return Estimate { value: 0.0, low: 0.0, high: most, deviation: 0.0 };
        }
        let deviation = |at: f64| self.deviation(shared(at), by);
        let away = |at: f64| (at - value).abs() - Z95 * deviation(at);
        let found = value.clamp(0.0, most);
        let root = |outside| border(found, outside, 60, &|at| away(at) <= 0.0)[1];
        let low = if away(0.0) <= 0.0 { 0.0 } else { root(0.0) };
        // Variances are at most those with all keys shared, so a few doublings suffice.
        let mut beyond = found + 4.0 * deviation(found) + 1e-9;
        while beyond < most && away(beyond) <= 0.0 {
            beyond *= 2.0;
        }
        let (low, high) = (low.min(found), root(beyond).min(most).max(found));
        Estimate { value: found, low, high, deviation: deviation(found) }
    }
}
