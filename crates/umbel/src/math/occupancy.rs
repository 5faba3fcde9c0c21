//! Balls thrown into bins: the probability that given bins are all occupied.

use crate::prelude::*;

/// E[(X / bins)^k] after `balls` balls fell independently into `bins` bins, X of them occupied: the probability that k
/// further independent choices all hit an occupied bin.
///
/// With m = `bins` and kn balls this is the exact false positive rate of a filter with independent probes (P. Bose et
/// al. 2008, <https://doi.org/10.1016/j.ipl.2008.05.018>; K. Christensen et al. 2010,
/// <https://doi.org/10.1016/j.ipl.2010.07.024>). Both papers give alternating or Stirling sums; following the
/// distribution of X ball by ball has only positive terms and loses no digits. Cost: O(balls · √bins).
pub(crate) fn all_occupied(bins: u64, balls: u64, k: u32) -> f64 {
    let mut occupied = Occupancy::new(bins);
    occupied.throw(balls);
    occupied.power_mean(k)
}

/// The distribution of the number of occupied bins.
pub(crate) struct Occupancy {
    bins: u64,
    /// `chance[i]`: probability that `lowest + i` bins are occupied.
    lowest: u64,
    chance: Vec<f64>,
}

impl Occupancy {
    pub(crate) fn new(bins: u64) -> Self {
        Self { bins, lowest: 0, chance: vec![1.0] }
    }

    pub(crate) fn throw(&mut self, balls: u64) {
        // Keeps rates down to 1e-18 exact to 12 digits, with some 12 √bins states.
        const NEGLIGIBLE: f64 = 1e-30;
        // Exact for powers of two, such as the 512 bits of a block; four times as fast as division.
        let each = 1.0 / self.bins as f64;
        for _ in 0..balls {
            self.chance.push(0.0);
            for i in (0..self.chance.len()).rev() {
                let occupied = self.lowest + i as u64;
                let hit = occupied as f64 * each;
                let from_below = if i == 0 {
                    0.0
                } else {
                    self.chance[i - 1] * (1.0 - (occupied - 1) as f64 * each)
                };
                self.chance[i] = self.chance[i] * hit + from_below;
            }
            while self.chance.last().is_some_and(|&chance| chance < NEGLIGIBLE) {
                self.chance.pop();
            }
            let low = self.chance.iter().take_while(|&&chance| chance < NEGLIGIBLE).count();
            if low > 32 {
                self.chance.drain(..low);
                self.lowest += low as u64;
            }
        }
    }

    /// The probability of each number of occupied bins, from 0 to all.
    pub(crate) fn chances(&self) -> Vec<f64> {
        let mut chances = vec![0.0; self.bins as usize + 1];
        chances[self.lowest as usize..][..self.chance.len()].copy_from_slice(&self.chance);
        chances
    }

    pub(crate) fn power_mean(&self, k: u32) -> f64 {
        let part = |i: usize| (self.lowest + i as u64) as f64 / self.bins as f64;
        self.chance.iter().enumerate().map(|(i, chance)| chance * part(i).powi(k as i32)).sum()
    }
}

/// P(d given different bins out of `bins` are all occupied), averaged over the d that `k` independent choices give, in
/// closed form: for k ≤ 4, where the alternating sum cancels little.
pub(crate) fn few_occupied(bins: f64, balls: f64, k: u32) -> f64 {
    debug_assert!(k <= 4);
    // stirling[k][d]: ways to split k choices into d different bins.
    const STIRLING: [[f64; 5]; 5] = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 3.0, 1.0, 0.0],
        [0.0, 1.0, 7.0, 6.0, 1.0],
    ];
    (0..=k)
        .map(|d| {
            let different: f64 = (0..d).map(|i| (bins - f64::from(i)) / bins).product();
            let weight =
                STIRLING[k as usize][d as usize] * different / bins.powi(k as i32 - d as i32);
            let mut choose = 1.0;
            let mut all = 0.0;
            for i in 0..=d {
                all += choose * (1.0 - f64::from(i) / bins).powf(balls);
                choose *= -f64::from(d - i) / f64::from(i + 1);
            }
            weight * all
        })
        .sum()
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
                let close =
                    |rate: f64| assert!((rate / exact - 1.0).abs() < 1e-12, "{bins} {balls} {k}");
                close(all_occupied(bins, u64::from(balls), k));
                close(few_occupied(bins as f64, f64::from(balls), k));
            }
        }
    }

    #[test]
    fn both_forms_agree_on_a_lane() {
        for balls in [1, 10, 64, 400] {
            for k in 1..=4 {
                let ratio = all_occupied(64, balls, k) / few_occupied(64.0, balls as f64, k);
                assert!((ratio - 1.0).abs() < 1e-8, "{balls} {k} {ratio}");
            }
        }
    }
}
