//! Intervals around estimates and counted rates.

use core::iter::successors;

use crate::prelude::*;

/// The two-sided 95 % quantile of the normal distribution.
pub(super) const Z95: f64 = 1.959_964;

/// An estimate with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Lower end of the interval, at least 0.
    pub low: f64,
    /// Upper end of the interval; infinite if the filter is too full for one.
    pub high: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl Estimate {
    /// Makes an estimate from a value and its standard deviation: the interval is 1.96 deviations to either side, cut
    /// at 0.
    ///
    /// ```
    /// use umbel::Estimate;
    /// let keys = Estimate::new(1000.0, 10.0);
    /// assert_eq!((keys.low.round(), keys.high.round()), (980.0, 1020.0));
    /// ```
    #[doc(hidden)]
    pub fn new(value: f64, deviation: f64) -> Self {
        let (low, high) = (value - Z95 * deviation, value + Z95 * deviation);
        Self { value, low: low.max(0.0), high, deviation }
    }

    /// Makes an estimate from a value, its standard deviation, and an interval found in another way.
    #[doc(hidden)]
    pub const fn with_interval(value: f64, deviation: f64, low: f64, high: f64) -> Self {
        Self { value, low, high, deviation }
    }
}

/// Returns the smallest and largest number of hits in `trials` trials that the probability `rate` explains at a
/// two-sided level `alpha`, by summing the terms of the binomial distribution's tails.
///
/// The probability outside `low..=high` is at most `alpha`. Cost: O(√(trials·rate)), in time and in memory.
pub fn binomial_bounds(trials: u64, rate: f64, alpha: f64) -> (u64, u64) {
    if rate.is_nan() {
        return (0, trials);
    }
    if rate <= 0.0 {
        return (0, 0);
    }
    if rate >= 1.0 {
        return (trials, trials);
    }
    // NaN becomes 1 too, where both bounds are the median.
    let alpha = alpha.min(1.0);
    let odds = rate / (1.0 - rate);
    let mode = ((trials.saturating_add(1) as f64 * rate) as u64).min(trials);
    // Terms relative to the mode's, outwards until they are negligible.
    let above = successors(Some((mode, 1.0)), |&(hits, term)| {
        let next = term * odds * (trials - hits) as f64 / (hits + 1) as f64;
        (next >= 1e-30).then_some((hits + 1, next))
    });
    let below = successors(Some((mode, 1.0)), |&(hits, term)| {
        let next = term * (hits as f64 / (odds * (trials - hits + 1) as f64));
        (next >= 1e-30).then(|| (hits - 1, next))
    });
    let mut terms: Vec<(u64, f64)> = below.skip(1).collect();
    terms.reverse();
    terms.extend(above);
    let total: f64 = terms.iter().map(|(_, term)| term).sum();
    let end = |terms: &mut dyn Iterator<Item = &(u64, f64)>| {
        let mut sum = 0.0;
        let mut outside = terms.skip_while(|(_, term)| {
            sum += term;
            sum / total <= alpha / 2.0
        });
        outside.next().map_or(mode, |(hits, _)| *hits)
    };
    (end(&mut terms.iter()), end(&mut terms.iter().rev()))
}
