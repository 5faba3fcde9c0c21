//! How far the rate of a single filter, computed from its own bits, is from the mean over hashings.
//!
//! The rate is nearly normal over hashings, with a tail to the right if most of it comes from a few full blocks. So a
//! [`Spread`] has four cumulants, and [`Spread::upper`] is the rate that 99.9 % of all filters stay below.
//!
//! - Classic: X of m bits are set, with variance m·e^−λ(1 − (1 + λ)e^−λ), λ = kn/m. f = (X/m)^k.
//! - Sliced: the same in each slice, with λ = n/s; slices are independent, and ln f is the sum of theirs.
//! - Blocked: f is the mean over B blocks of R, the rate of a block given its bits. The loads L of blocks are Poisson
//!   variables whose sum is known to be n. So Var f = (Var R − Cov(R, L)²/Var L)/B, the variance of the residual of R
//!   after its regression on L. With R' that residual, the third cumulant is κ₃(R')/B² and the fourth (κ₄(R') −
//!   3·E[R'²(L − λ)]²/λ)/B³: derivatives at 0 of min over t of K(s, t) − λt, with K the cumulant generating function of
//!   R' and L. The moments of R given L are exact: those of the occupancy of 512 bits, or of eight lanes of 64.

use crate::bits::Once;

use super::stable::Cells;
use super::{blocked, classic as classic_rate, coded, occupancy, poisson, sliced as sliced_rate};
use crate::prelude::*;

/// The 99.95 % quantile of the normal distribution. Half of the 0.1 % that may exceed [`Spread::upper`] covers what
/// four cumulants leave out, and hashes that are not quite random: with the integers 0, 1, 2, … as keys, the mean rate
/// of blocked filters is above the formula's by 0.1 to 0.2 % at 1e-4 and by 0.6 % at 1e-6 (a million keys, 400
/// filters); with integers from SplitMix64 it is not.
const Z: f64 = 3.290_527;

/// The moments, over hashings, of the rate that filters of one plan compute from their own bits: these four
/// and no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The expectation.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The third cumulant over the third power of the deviation; 0 for a normal distribution.
    pub skewness: f64,
    /// The fourth cumulant over the fourth power of the deviation; 0 for a normal distribution.
    pub kurtosis: f64,
}

impl Spread {
    /// Returns the spread of a rate that is the same under every hashing.
    pub fn fixed(rate: f64) -> Self {
        Self { mean: rate, deviation: 0.0, skewness: 0.0, kurtosis: 0.0 }
    }

    /// The spread of a filter for `times` the keys in `times` the bits.
    pub fn resized(self, times: f64) -> Self {
        let root = times.sqrt();
        Self {
            mean: self.mean,
            deviation: self.deviation / root,
            skewness: self.skewness / root,
            kurtosis: self.kurtosis / times,
        }
    }

    /// Returns the rate that 99.9 % of all filters keep by their own bits; at most 1.
    ///
    /// The quantile of E. A. Cornish, R. A. Fisher 1938: z + (z² − 1)γ/6 + (z³ − 3z)κ/24 − (2z³ − 5z)γ²/36 deviations
    /// above the mean, with skewness γ and kurtosis κ. For skewness above 1 (blocked, 100,000 keys, below 4e-7) the
    /// terms of the series are no longer small; the last two are then bounded by 0 and the first correction.
    pub fn upper(&self) -> f64 {
        let Self { mean, deviation, skewness, kurtosis } = *self;
        let first = (Z * Z - 1.0) / 6.0 * skewness;
        let fourth = (Z.powi(3) - 3.0 * Z) / 24.0 * kurtosis;
        let square = (2.0 * Z.powi(3) - 5.0 * Z) / 36.0 * skewness * skewness;
        let second = (fourth - square).clamp(0.0, first.max(0.0));
        (mean + (Z + first + second) * deviation).min(1.0)
    }
}

/// Returns the spread of a classic filter; `bits` and `probes` must be at least 1.
pub fn classic(keys: u64, bits: u64, probes: u32) -> Spread {
    let (m, k) = (bits as f64, f64::from(probes));
    let relative = fill_deviation(k * keys as f64 / m, m);
    of_power(classic_rate::fpp(keys, bits, probes), relative, k)
}

/// Returns the spread of a sliced filter with slices of `slice` bits; `slice` and `probes` must be at least 1.
pub fn sliced(keys: u64, slice: u64, probes: u32) -> Spread {
    let (s, k) = (slice as f64, f64::from(probes));
    let relative = fill_deviation(keys as f64 / s, s);
    // The product of k independent fills has the spread of a power with √k times their deviation.
    of_power(sliced_rate::fpp(keys, slice, probes), relative / k.sqrt(), k)
}

/// The relative standard deviation of the number of set bits, with λ balls thrown for each of m bits.
fn fill_deviation(lambda: f64, m: f64) -> f64 {
    let (empty, set) = ((-lambda).exp(), -(-lambda).exp_m1());
    if set <= 0.0 {
        return 0.0;
    }
    (empty * (1.0 - (1.0 + lambda) * empty) / m).max(0.0).sqrt() / set
}

/// The spread of x^k, for x normal with a small `relative` deviation.
fn of_power(mean: f64, relative: f64, k: f64) -> Spread {
    let skewness = 3.0 * (k - 1.0) * relative;
    Spread {
        mean,
        deviation: mean * k * relative,
        skewness,
        kurtosis: 16.0 / 9.0 * skewness * skewness,
    }
}

/// Returns the spread of a blocked filter; `blocks` must be at least 1, `probes` in 1 to
/// [`MAX_PROBES`](super::MAX_PROBES).
///
/// The first call for a number of probes takes up to some milliseconds, the next ones some sums of 30 √λ terms.
pub fn blocked(keys: u64, blocks: u64, probes: u32) -> Spread {
    let load = keys as f64 / blocks as f64;
    let mean = blocked::Pattern::shared(probes).fpp(load);
    let moments = Moments::shared(probes);
    if mean <= 0.0 || load > 4.0 * moments.by_load.len() as f64 {
        return Spread::fixed(mean);
    }
    // R is relative to its mean, so that no power underflows.
    let slope = poisson::mean(load, |keys| {
        let [rate, ..] = moments.of(keys);
        rate / mean * (keys as f64 - load)
    }) / load;
    // The sums of the weight times E[(R/f + a)^j] given the load, with a the rest of the residual.
    let residual = |power: usize, weight: &dyn Fn(f64) -> f64| {
        poisson::mean(load, |keys| {
            let over = keys as f64 - load;
            let [first, second, third, fourth] = moments.of(keys).map(|moment| moment / mean);
            let (second, third, fourth) =
                (second / mean, third / mean / mean, fourth / mean.powi(3));
            let a = -1.0 - slope * over;
            let of_load = match power {
                2 => second + a * (2.0 * first + a),
                3 => third + a * (3.0 * second + a * (3.0 * first + a)),
                _ => fourth + a * (4.0 * third + a * (6.0 * second + a * (4.0 * first + a))),
            };
            weight(over) * of_load
        })
    };
    let blocks = blocks as f64;
    let variance = residual(2, &|_| 1.0).max(f64::MIN_POSITIVE);
    let third = residual(3, &|_| 1.0);
    let with_load = residual(2, &|over| over);
    let fourth =
        residual(4, &|_| 1.0) - 3.0 * variance * variance - 3.0 * with_load * with_load / load;
    Spread {
        mean,
        deviation: mean * (variance / blocks).sqrt(),
        skewness: third / (variance.powf(1.5) * blocks.sqrt()),
        kurtosis: fourth / (variance * variance * blocks),
    }
}

/// E[R] to E[R⁴] of a block's rate given its load, for one number of probes.
struct Moments {
    /// Loads beyond the end have rate 1 to 12 digits.
    by_load: Vec<[f64; 4]>,
}

impl Moments {
    fn shared(probes: u32) -> &'static Self {
        static ALL: [Once<Moments>; super::MAX_PROBES as usize + 1] =
            [const { Once::new() }; super::MAX_PROBES as usize + 1];
        ALL[probes as usize].get_or_init(|| Self::new(probes))
    }

    fn new(probes: u32) -> Self {
        // R is the product of the lanes' fills to a power, lanes independent given the load; scatter has one lane.
        let (bins, power, lanes) = blocked::parts(probes);
        let powers = [1, 2, 3, 4].map(|j| occupancy::choices(bins, j * power));
        let mut covered = occupancy::Covered::new(bins, 4 * power);
        let mut by_load = Vec::new();
        loop {
            let moments = powers.each_ref().map(|power| covered.mean(power).powi(lanes));
            by_load.push(moments);
            if moments[0] > 1.0 - 1e-12 {
                return Self { by_load };
            }
            covered.throw(u64::from(power));
        }
    }

    fn of(&self, load: u64) -> [f64; 4] {
        self.by_load.get(load as usize).copied().unwrap_or([1.0; 4])
    }
}

/// Returns the spread of the compound rate of `generations` equal filters, 1 − ∏(1 − fᵢ).
///
/// −ln(1 − f) is additive, and so are its cumulants.
pub fn compound(each: Spread, generations: u32) -> Spread {
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

/// Returns an upper bound of the spread of a stable filter at its stable point, about twice the deviation measured.
///
/// f = F^K, with F the fraction of cells above 0. Given everything that was lowered, cells were last set independently
/// of each other; so Var F is at most F(1 − F)/m plus the variance of the mean given what was lowered. A cell is 0 with
/// probability e^(−qT) there, where T is the time in which it was lowered Max times: a Gamma variable, so that the
/// variance is v = (1 + 2κ)^−Max − (1 + κ)^−2Max. Cells at a distance x share the part 1 − x/P of what lowers them, and
/// have at most that part of v in common: in total at most P·v/m. That the total of all lowering is fixed is ignored.
pub fn stable(cells: Cells) -> Spread {
    let fill = cells.fill();
    let variance = (fill * (1.0 - fill) + cells.lowered * cells.variance_of_zero()) / cells.cells;
    of_power(cells.fpp_with_spread(), variance.sqrt() / fill, cells.probes)
}

/// The spread of a coded table, whose rate is the mean over buckets of the codes compared from there; `buckets` is at
/// least 1.
pub(crate) fn coded(mean: f64, load: f64, buckets: u64, code: u32) -> Spread {
    // The rate is then a bound, the same for all tables.
    if coded::is_too_full(load, code) {
        return Spread::fixed(mean);
    }
    let (variance, third) = coded::cumulants(load, code);
    let buckets = buckets as f64;
    // Buckets hardly ever overflow: all tables then have one rate.
    if variance < 1e-12 {
        return Spread::fixed(mean);
    }
    let skewness = third / (variance.powf(1.5) * buckets.sqrt());
    Spread {
        mean,
        deviation: (variance / buckets).sqrt() / coded::codes(code) as f64,
        skewness,
        // As in a gamma distribution.
        kurtosis: 1.5 * skewness * skewness,
    }
}
