//! The blocked filter: every key's probes fall into one block of 512 bits (F. Putze, P. Sanders, J. Singler 2007,
//! <https://doi.org/10.1145/1498698.1594230>). The numbers of keys in blocks are approximately Poisson distributed, and
//! the rate is the mean over them. Fuller blocks raise it above the classic formula's, the more the lower the rate.
//! Inside a block the rate is exact for the [`Pattern`].

use core::array;

use crate::bits::Once;
use crate::kinds::prelude::*;
use crate::math::search::border;
use crate::math::{occupancy, poisson};

/// The rates of a block by its number of keys, for one number of probes. Computing one takes up to half a millisecond
/// (k = 31); evaluating it sums about 30 √λ terms.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// `rates[load]`; beyond the end the rate is 1 to 12 digits.
    rates: Vec<[f64; 1]>,
}

impl Pattern {
    /// Computes the pattern of `probes` probes: lanes if it is a multiple of 8, scatter otherwise. Panics if `probes`
    /// is 0 or above [`MAX_PROBES`].
    pub fn new(probes: u32) -> Self {
        assert!((1..=MAX_PROBES).contains(&probes), "probes {probes}");
        Self { rates: moments(probes) }
    }

    /// Returns the pattern of [`new`](Self::new), computed once per process.
    pub fn shared(probes: u32) -> &'static Self {
        static PATTERNS: [Once<Pattern>; MAX_PROBES as usize + 1] =
            [const { Once::new() }; MAX_PROBES as usize + 1];
        PATTERNS[probes as usize].get_or_init(|| Self::new(probes))
    }

    /// Returns the false positive rate if a block holds `load` keys on average: Σ Poisson(L; load)·f(L).
    ///
    /// Poisson loads vary more than the true binomial ones, and overstate the rate if there are few blocks: at 1 % and
    /// eight probes by 9 % of it with two blocks and 19 % with one. If the rate is a concave function of the load, as
    /// with one probe, they understate it by up to 0.05 % with two blocks, 0.1 % with one. 0 for load 0.
    pub fn fpp(&self, load: f64) -> f64 {
        // All loads with any weight are beyond the table; the sum would cost √load.
        if load > 4.0 * self.rates.len() as f64 {
            return 1.0;
        }
        poisson::mean(load, |keys| at(&self.rates, keys)[0])
    }

    /// Returns the highest mean load with a rate of at most `fpp`; 512 divided by it are the bits per key.
    pub fn load_for(&self, fpp: f64) -> f64 {
        border(0.0, self.rates.len() as f64 * 2.0, 60, &|load| self.fpp(load) <= fpp)[0]
    }
}

/// The bits of a part of a block, the probes in it, and the number of parts: eight lanes, or the whole block.
pub(crate) fn parts(probes: u32) -> (u64, u32, i32) {
    if probes.is_multiple_of(8) { (64, probes / 8, 8) } else { (BLOCK_BITS, probes, 1) }
}

/// E[R] to E[R^N] of a block's rate R given its load, for each load from 0 on; beyond the end all are 1 to 12 digits.
fn moments<const N: usize>(probes: u32) -> Vec<[f64; N]> {
    // R is a power of the product of the lanes' fills. Lanes are independent given the load; scatter has one.
    let (bins, power, lanes) = parts(probes);
    let powers: [_; N] = array::from_fn(|j| occupancy::choices(bins, (j as u32 + 1) * power));
    let mut covered = occupancy::Covered::new(bins, N as u32 * power);
    let mut by_load = Vec::new();
    loop {
        let moments = powers.each_ref().map(|power| covered.mean(power).powi(lanes));
        by_load.push(moments);
        if moments[0] > 1.0 - 1e-12 {
            return by_load;
        }
        covered.throw(u64::from(power));
    }
}

fn at<const N: usize>(by_load: &[[f64; N]], load: u64) -> [f64; N] {
    by_load.get(load as usize).copied().unwrap_or([1.0; N])
}

/// Returns the probability that a key sets a given bit of its block: 1 − (63/64)^(k/8) with lanes, from the bit's own
/// lane only; 1 − (511/512)^k with scatter.
pub fn bit_chance(probes: u32) -> f64 {
    let (bits, rounds, _) = parts(probes);
    1.0 - (1.0 - 1.0 / bits as f64).powi(rounds as i32)
}

/// Returns the false positive rate of one block, from the numbers of set bits in its eight 64-bit words.
pub fn fpp_of_block(ones: [u32; 8], probes: u32) -> f64 {
    if probes.is_multiple_of(8) {
        let product: f64 = ones.iter().map(|&ones| f64::from(ones) / 64.0).product();
        product.powi(probes as i32 / 8)
    } else {
        (f64::from(ones.iter().sum::<u32>()) / 512.0).powi(probes as i32)
    }
}

/// Returns the spread of a blocked filter; `blocks` must be at least 1, `probes` in 1 to [`MAX_PROBES`]. The first call
/// for a number of probes takes up to some milliseconds, later ones some sums of 30 √λ terms.
///
/// f is the mean over B blocks of R, the rate of a block given its bits. The loads L of blocks are Poisson variables
/// with the known sum n. So Var f = (Var R − Cov(R, L)²/Var L)/B, the variance of R', the residual of R after its
/// regression on L. The third cumulant is κ₃(R')/B² and the fourth (κ₄(R') − 3·E[R'²(L − λ)]²/λ)/B³: derivatives at 0
/// of min over t of K(s, t) − λt, with K the cumulant generating function of R' and L. The moments of R given L are
/// exact, from the occupancy of 512 bits, or of eight lanes of 64.
pub fn spread(keys: u64, blocks: u64, probes: u32) -> Spread {
    let load = keys as f64 / blocks as f64;
    let mean = Pattern::shared(probes).fpp(load);
    static MOMENTS: [Once<Vec<[f64; 4]>>; MAX_PROBES as usize + 1] =
        [const { Once::new() }; MAX_PROBES as usize + 1];
    let moments = MOMENTS[probes as usize].get_or_init(|| moments(probes));
    if mean <= 0.0 || load > 4.0 * moments.len() as f64 {
        return Spread::fixed(mean);
    }
    // Relative to the mean, to keep powers from underflowing.
    let slope = poisson::mean(load, |keys| {
        let [rate, ..] = at(moments, keys);
        rate / mean * (keys as f64 - load)
    }) / load;
    // E[(R/f + a)^j], with a the rest of the residual; the square also times the load's distance from its mean.
    let [second, third, fourth, with_load] = poisson::means(load, |keys| {
        let over = keys as f64 - load;
        let [first, second, third, fourth] = at(moments, keys).map(|moment| moment / mean);
        let (second, third, fourth) = (second / mean, third / mean / mean, fourth / mean.powi(3));
        let a = -1.0 - slope * over;
        let square = second + a * (2.0 * first + a);
        [
            square,
            third + a * (3.0 * second + a * (3.0 * first + a)),
            fourth + a * (4.0 * third + a * (6.0 * second + a * (4.0 * first + a))),
            over * square,
        ]
    });
    let blocks = blocks as f64;
    let variance = second.max(f64::MIN_POSITIVE);
    let fourth = fourth - 3.0 * variance * variance - 3.0 * with_load * with_load / load;
    Spread {
        mean,
        deviation: mean * (variance / blocks).sqrt(),
        skewness: third / (variance.powf(1.5) * blocks.sqrt()),
        kurtosis: fourth / (variance * variance * blocks),
    }
}

impl Coverage {
    /// Returns the coverage of the blocked kind, with `blocks` blocks of 512 bits. With lanes, 63 other bits share a
    /// bit's lane, and 448 are independent of it given the block.
    pub fn blocked(blocks: u64, probes: u32) -> Self {
        let (bits, rounds, lanes) = parts(probes);
        let (block, lane, rounds) = (BLOCK_BITS as f64, bits as f64, rounds as i32);
        let same = (lane - 1.0, (1.0 - 2.0 / lane).powi(rounds));
        let others = (block - lane, (1.0 - 1.0 / lane).powi(2 * rounds));
        let pairs = &[same, others][..lanes.min(2) as usize];
        Self::in_blocks(blocks as f64, block, 1.0 - bit_chance(probes), pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_grow_with_load_from_zero_to_one() {
        for probes in [1, 3, 8, 15, 16, 24, 32] {
            let pattern = Pattern::new(probes);
            assert_eq!(pattern.rates[0], [0.0]);
            let mut pairs = pattern.rates.windows(2);
            assert!(pairs.all(|pair| pair[0][0] <= pair[1][0] + 1e-15), "{probes}");
            assert!(pattern.fpp(1e5) > 0.999_999);
            assert_eq!(pattern.fpp(u64::MAX as f64), 1.0, "at once");
            let end = 4.0 * pattern.rates.len() as f64;
            assert!(pattern.fpp(end) > 1.0 - 1e-12, "nothing is lost at the end of the table");
        }
    }
}
