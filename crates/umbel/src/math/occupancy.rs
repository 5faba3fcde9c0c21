//! Balls thrown into bins: the probability that given bins are all occupied.

use crate::prelude::*;

/// E[(X / bins)^k] after `balls` balls fell independently into `bins` bins, X of them occupied: the probability that k
/// further independent choices all hit an occupied bin.
///
/// With m = `bins` and kn balls this is the exact false positive rate of a filter with independent probes (P. Bose et
/// al. 2008, <https://doi.org/10.1016/j.ipl.2008.05.018>; K. Christensen et al. 2010,
/// <https://doi.org/10.1016/j.ipl.2010.07.024>). Both papers give alternating or Stirling sums; see [`Covered`] for one
/// that loses no digits. Cost: O(balls · k).
pub(crate) fn all_occupied(bins: u64, balls: u64, k: u32) -> f64 {
    let mut covered = Covered::new(bins, k);
    covered.throw(balls);
    covered.mean(&choices(bins, k))
}

/// The probability that `k` independent choices hit 0, 1, … k different bins.
pub(crate) fn choices(bins: u64, k: u32) -> Vec<f64> {
    let mut different = vec![0.0; k as usize + 1];
    different[0] = 1.0;
    for _ in 0..k {
        for d in (1..different.len()).rev() {
            let before = (d - 1) as f64 / bins as f64;
            let again = d as f64 / bins as f64;
            different[d] = different[d] * again + different[d - 1] * (1.0 - before).max(0.0);
        }
        different[0] = 0.0;
    }
    different
}

/// The probability that given bins are all occupied, for each number of them, as balls fall.
///
/// The first of b balls falls into one of d given bins with probability d/m; then b − 1 balls have d − 1 to occupy,
/// otherwise all d. So all terms are positive.
pub(crate) struct Covered {
    /// `chance[d]`: that d given bins are all occupied.
    chance: Vec<f64>,
    /// d/m.
    parts: Vec<f64>,
}

impl Covered {
    /// Starts without balls, for up to `most` given bins.
    pub(crate) fn new(bins: u64, most: u32) -> Self {
        let most = bins.min(u64::from(most));
        let mut chance = vec![0.0; most as usize + 1];
        chance[0] = 1.0;
        Self { chance, parts: (0..=most).map(|d| d as f64 / bins as f64).collect() }
    }

    pub(crate) fn throw(&mut self, balls: u64) {
        for _ in 0..balls {
            for d in (1..self.chance.len()).rev() {
                self.chance[d] =
                    self.chance[d] * (1.0 - self.parts[d]) + self.chance[d - 1] * self.parts[d];
            }
        }
    }

    /// The probability that bins are all occupied if there are d of them with probability `different[d]`.
    pub(crate) fn mean(&self, different: &[f64]) -> f64 {
        different.iter().zip(&self.chance).map(|(different, chance)| different * chance).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All `bins^balls` throws, one by one.
    fn by_enumeration(bins: u64, balls: u32, k: u32) -> f64 {
        let throws = bins.pow(balls);
        let sum: f64 = (0..throws)
            .map(|mut throw| {
                let mut seen = 0u64;
                for _ in 0..balls {
                    seen |= 1 << (throw % bins);
                    throw /= bins;
                }
                (f64::from(seen.count_ones()) / bins as f64).powi(k as i32)
            })
            .sum();
        sum / throws as f64
    }

    #[test]
    fn equals_enumeration() {
        for (bins, balls) in [(1, 3), (2, 5), (4, 6), (7, 5)] {
            for k in 1..=4 {
                let exact = by_enumeration(bins, balls, k);
                let rate = all_occupied(bins, u64::from(balls), k);
                assert!((rate / exact - 1.0).abs() < 1e-12, "{bins} {balls} {k}");
            }
        }
    }
}
