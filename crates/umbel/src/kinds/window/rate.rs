//! The rate of a window filter: a key may pass any generation, with one place and one pattern in all of them.

use crate::kinds::blocked::rate::fpp_of_block;
use crate::kinds::prelude::*;

/// Returns the rate of each of `generations` filters whose compound rate is `fpp`: 1 − (1 − p)^(1/G). Equal shares are
/// best: every generation passes through every age, so all have one size.
pub fn share(fpp: f64, generations: u32) -> f64 {
    -f64::exp_m1((-fpp).ln_1p() / f64::from(generations))
}

/// Returns the probability to pass any generation, from the rate of each: 1 − ∏(1 − fᵢ).
///
/// Exact for patterns of one bit per lane. A pattern that repeats positions passes any generation more easily, so its
/// passes coincide: the true rate is then slightly lower.
pub fn compound(rates: impl IntoIterator<Item = f64>) -> f64 {
    let none: f64 = rates.into_iter().map(|rate| (-rate).ln_1p()).sum();
    -f64::exp_m1(none)
}

/// Returns the spread of the compound rate of `generations` equal filters, 1 − ∏(1 − fᵢ). The cumulants of −ln(1 − f)
/// add up.
pub fn spread(each: Spread, generations: u32) -> Spread {
    let count = f64::from(generations);
    let none = 1.0 - each.mean;
    if none <= 0.0 {
        return Spread::fixed(1.0);
    }
    let mean = -f64::exp_m1(count * (-each.mean).ln_1p());
    Spread {
        mean,
        deviation: (1.0 - mean) / none * each.deviation * count.sqrt(),
        skewness: each.skewness / count.sqrt(),
        kurtosis: each.kurtosis / count,
    }
}

/// The probability that an absent key with this place passes any of these blocks, given their bits; exact up to 2^G ·
/// `negligible`. By inclusion and exclusion: a key has the same bits in all, so it passes several blocks if it passes
/// their AND. If a set of blocks is passed with negligible probability, its supersets are skipped. Blocks covered by
/// another one add nothing and are left out, so generations with the same keys cost no more than one.
pub(super) fn fpp_of_group(blocks: &[Block], probes: u32, negligible: f64) -> f64 {
    let left = blocks.iter().enumerate().filter(|(i, block)| {
        // Of equal blocks, the first stays.
        let covers = |(j, other): (usize, &Block)| other.has(block) && (other != *block || j < *i);
        !blocks.iter().enumerate().any(covers)
    });
    let left: Vec<Block> = left.map(|(_, block)| *block).collect();
    union(&left, &Block([u64::MAX; 8]), probes, negligible)
}

/// The probability to pass all of `with`, and any of `blocks`.
fn union(blocks: &[Block], with: &Block, probes: u32, negligible: f64) -> f64 {
    let mut sum = 0.0;
    for (i, block) in blocks.iter().enumerate() {
        let mut both = *block;
        both.and(with);
        let pass = fpp_of_block(both.0.map(u64::count_ones), probes);
        sum += pass;
        if pass > negligible {
            // Keys that also pass a later block count there.
            sum -= union(&blocks[i + 1..], &both, probes, negligible);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn shares_compound_to_the_whole() {
        for fpp in [0.9, 0.5, 0.01, 1e-6, 1e-12] {
            for generations in 2..=8 {
                let share = share(fpp, generations);
                let whole = compound((0..generations).map(|_| share));
                assert!((whole / fpp - 1.0).abs() < 1e-12, "{fpp} {generations}: {whole}");
            }
        }
    }

    /// Compares with trying every pattern of two free bits.
    #[test]
    fn the_chance_of_a_group_is_that_of_all_patterns() {
        let scatter = |blocks: &[Block]| {
            let bit = |block: &Block, j: usize| block.0[j / 64] >> (j % 64) & 1 == 1;
            let mut passes = 0;
            for first in 0..512 {
                for second in 0..512 {
                    passes += usize::from(blocks.iter().any(|b| bit(b, first) && bit(b, second)));
                }
            }
            passes as f64 / (512.0 * 512.0)
        };
        for size in 1..=5u64 {
            let blocks: Vec<Block> = (0..size)
                .map(|i| {
                    let word = |w| mix(100 * i + w as u64) & mix(7_000 + i + w as u64);
                    Block(std::array::from_fn(word))
                })
                .collect();
            let found = fpp_of_group(&blocks, 2, 0.0);
            assert!((found - scatter(&blocks)).abs() < 1e-12, "{size}: {found}");
            // The same keys in two generations pass no more.
            let twice: Vec<_> = blocks.iter().chain(&blocks).copied().collect();
            assert!((fpp_of_group(&twice, 2, 0.0) - found).abs() < 1e-12);
        }
        let (empty, full) = (Block::default(), Block([u64::MAX; 8]));
        assert_eq!(fpp_of_group(&[empty, empty], 8, 1e-12), 0.0);
        assert_eq!(fpp_of_group(&[empty, full], 8, 1e-12), 1.0);
    }
}
