//! How many bits of a block are set: the distribution over hashings.

use umbel::MAX_PROBES;
use umbel::internals::BLOCK_BITS;

/// Returns the probabilities that 0, 1, … 512 bits of a block are set if blocks hold `load` keys on average: the
/// occupancy of its bits by L keys, L ~ Poisson(`load`). 513 probabilities that sum to 1.
///
/// A block is eight lanes of 64 bits, independent given L, whose counts add up. Takes a few milliseconds at most,
/// except for blocks many times too full. `load` must be at least 0 and `probes` in 1 to [`MAX_PROBES`].
pub(crate) fn set_bits(load: f64, probes: u32) -> Vec<f64> {
    // At this load 1e-14 of the bits are clear; fuller blocks are treated the same.
    const MOST_BALLS: f64 = 16_384.0;
    debug_assert!((1..=MAX_PROBES).contains(&probes));
    let load = load.min(MOST_BALLS / f64::from(probes));
    let in_lanes = probes.is_multiple_of(8);
    let (bins, balls) =
        if in_lanes { (64, u64::from(probes / 8)) } else { (BLOCK_BITS, probes.into()) };
    let mut occupancy = Occupancy::new(bins);
    let (first, weights) = poisson(load);
    occupancy.throw(first * balls);
    let mut chances = vec![0.0; BLOCK_BITS as usize + 1];
    for weight in weights {
        let mut of_load = occupancy.chances();
        if in_lanes {
            // 2, 4, then 8 lanes.
            for _ in 0..3 {
                of_load = sum_of_two(&of_load);
            }
        }
        for (chance, of_load) in chances.iter_mut().zip(of_load) {
            *chance += weight * of_load;
        }
        occupancy.throw(balls);
    }
    chances
}

/// The distribution of the sum of two independent variables with this distribution.
fn sum_of_two(chances: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; 2 * chances.len() - 1];
    for (i, &left) in chances.iter().enumerate().filter(|(_, left)| **left > 0.0) {
        for (sum, right) in sum[i..].iter_mut().zip(chances) {
            *sum += left * right;
        }
    }
    sum
}

/// The probability of each load for L ~ Poisson(`lambda`), from the smallest load whose probability is at least 1e-24
/// of the mode's.
fn poisson(lambda: f64) -> (u64, Vec<f64>) {
    let mode = lambda.floor() as u64;
    let follow = |next: &dyn Fn(u64) -> f64, loads: &mut dyn Iterator<Item = u64>| -> Vec<f64> {
        let mut weight = 1.0;
        let weights = loads.map_while(|load| {
            weight *= next(load);
            (weight >= 1e-24).then_some(weight)
        });
        weights.collect()
    };
    let below = follow(&|load| (load + 1) as f64 / lambda, &mut (0..mode).rev());
    let above = follow(&|load| lambda / load as f64, &mut (mode + 1..));
    let weights: Vec<f64> = below.iter().rev().copied().chain([1.0]).chain(above).collect();
    let total: f64 = weights.iter().sum();
    (mode - below.len() as u64, weights.into_iter().map(|weight| weight / total).collect())
}

/// The distribution of the number of occupied bins.
struct Occupancy {
    bins: u64,
    /// `chance[i]`: probability that `lowest + i` bins are occupied.
    lowest: u64,
    chance: Vec<f64>,
}

impl Occupancy {
    fn new(bins: u64) -> Self {
        Self { bins, lowest: 0, chance: vec![1.0] }
    }

    fn throw(&mut self, balls: u64) {
        // Keeps rates down to 1e-18 exact to 12 digits, with some 12 √bins states.
        const NEGLIGIBLE: f64 = 1e-30;
        // Exact for powers of two, such as the 512 bits of a block; four times as fast as division.
        let each = 1.0 / self.bins as f64;
        for _ in 0..balls {
            self.chance.push(0.0);
            for i in (0..self.chance.len()).rev() {
                let occupied = self.lowest + i as u64;
                let hit = occupied as f64 * each;
                let miss = |occupied: u64| 1.0 - occupied as f64 * each;
                let from_below = if i == 0 { 0.0 } else { self.chance[i - 1] * miss(occupied - 1) };
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
    fn chances(&self) -> Vec<f64> {
        let mut chances = vec![0.0; self.bins as usize + 1];
        chances[self.lowest as usize..][..self.chance.len()].copy_from_slice(&self.chance);
        chances
    }
}

#[cfg(test)]
mod tests {
    use umbel::formulas::{blocked, classic};

    use super::*;

    /// The library tracks given bins, not the number of occupied ones.
    #[test]
    fn both_ways_agree() {
        for (bins, keys) in [(64, 1), (64, 100), (512, 87), (512, 300), (4096, 200)] {
            for probes in [1, 4, 7, 32] {
                let mut occupied = Occupancy::new(bins);
                occupied.throw(keys * u64::from(probes));
                let mean = occupied.chances().into_iter().zip(0..).map(|(chance, occupied)| {
                    chance * (f64::from(occupied) / bins as f64).powi(probes as i32)
                });
                let ratio = classic::fpp(keys, bins, probes) / mean.sum::<f64>();
                assert!((ratio - 1.0).abs() < 1e-9, "{bins} {keys} {probes} {ratio}");
            }
        }
    }

    /// The probability that two different random bits of a block are both clear if its number of keys is
    /// Poisson(`load`): a key that spares both with probability s leaves them clear with e^(−load·(1 − s)).
    fn both_clear(load: f64, probes: u32) -> f64 {
        let clear = |spared: f64| (-load * (1.0 - spared)).exp();
        if probes.is_multiple_of(8) {
            let rounds = probes as i32 / 8;
            let same_lane = clear((1.0 - 2.0 / 64.0_f64).powi(rounds));
            let other_lane = clear((1.0 - 1.0 / 64.0_f64).powi(2 * rounds));
            (63.0 * same_lane + 448.0 * other_lane) / 511.0
        } else {
            clear((1.0 - 2.0 / 512.0_f64).powi(probes as i32))
        }
    }

    #[test]
    fn set_bits_of_a_block_have_the_mean_and_variance_of_the_formulas() {
        for (load, probes) in
            [(0.0, 8), (0.01, 5), (10.0, 3), (50.7, 8), (33.0, 16), (30.0, 9), (1e9, 7), (1e9, 24)]
        {
            let chances = set_bits(load, probes);
            assert_eq!(chances.len(), 513);
            let moment = |f: &dyn Fn(f64) -> f64| -> f64 {
                chances.iter().zip(0..).map(|(chance, bits)| chance * f(f64::from(bits))).sum()
            };
            assert!((moment(&|_| 1.0) - 1.0).abs() < 1e-9, "{load} {probes}");
            let clear = (-load * blocked::bit_chance(probes)).exp();
            assert!((moment(&|set| 512.0 - set) - 512.0 * clear).abs() < 1e-6, "{load} {probes}");
            let pairs = 512.0 * 511.0 * both_clear(load, probes);
            let found = moment(&|set| (512.0 - set) * (511.0 - set));
            assert!((found - pairs).abs() < 1e-4, "{load} {probes}: {found} {pairs}");
        }
    }
}
