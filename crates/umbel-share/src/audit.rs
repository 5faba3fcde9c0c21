//! Audits a filter: how much its holder learns about the keys.
//!
//! A filter does not store keys, but it answers for any key: a *dictionary attack* looks up every key that someone can
//! think of. False positives hide the members among them, but not all members: a holder sees bits, and [`Cover`] finds
//! the candidates that are members for certain. This module has the arithmetic of these attacks, and recognizes keys
//! that are [easily enumerated](Guessable). It reads no keys and no clock: that is for its callers.

use umbel::Estimate;
use umbel::internals::math::binomial_bounds;

mod bits;
mod guessable;

pub use bits::{Cover, Expected, block_rates};
pub use guessable::Guessable;

/// The answers of a filter to a list of candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hits {
    /// Candidates looked up, each of them once.
    pub candidates: u64,
    /// Candidates that pass.
    pub hits: u64,
    /// The filter's false positive rate now, from its own bits.
    pub fpp: f64,
}

impl Hits {
    /// Estimates how many of the candidates are members, with a 95 % interval.
    ///
    /// Of N candidates with M members, M pass for certain, and the others with probability f each: H = M + (N − M)·f on
    /// average. The interval holds every M for which the observed H is within the central 95 % of that binomial
    /// distribution. Cost: O(√(N·f)·log H).
    ///
    /// ```
    /// use umbel_share::audit::Hits;
    /// let members = Hits { candidates: 10_000, hits: 1_090, fpp: 0.01 }.members();
    /// assert_eq!(members.value.round(), 1_000.0);
    /// assert!(members.low > 970.0 && members.high < 1_020.0);
    /// ```
    pub fn members(&self) -> Estimate {
        let Self { candidates, hits, fpp } = *self;
        let found = (hits as f64 - candidates as f64 * fpp) / (1.0 - fpp);
        let value = if fpp < 1.0 { found.max(0.0) } else { 0.0 };
        let false_hits = |members: u64| binomial_bounds(candidates - members, fpp, 0.05);
        // With one more member, one hit less is due to chance, and the bounds decrease by at most one.
        let low = first(hits, |members| hits - members <= false_hits(members).1);
        let beyond =
            first(hits + 1, |members| members > hits || hits - members < false_hits(members).0);
        let high = beyond.saturating_sub(1);
        let deviation = (candidates as f64 - value) * fpp * (1.0 - fpp);
        let (low, high) = (low as f64, high.max(low) as f64);
        Estimate::with_interval(value.clamp(low, high), deviation.sqrt(), low, high)
    }

    /// Returns how many of the hits are expected to be false.
    pub fn expected_false(&self) -> f64 {
        (self.candidates as f64 - self.members().value) * self.fpp
    }

    /// Returns the share of the candidates that are members, as the hits show it: the prior of a holder who knows nothing
    /// else; 0 without candidates.
    pub fn share(&self) -> f64 {
        if self.candidates == 0 { 0.0 } else { self.members().value / self.candidates as f64 }
    }
}

/// The smallest number up to `most` that fulfils `enough`, which holds for all greater ones too; `most` if none does.
fn first(most: u64, enough: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Returns the probability that a key that passes is a member, if it was one with probability `prior` before: Bayes' rule,
/// with likelihoods 1 and `fpp`. Pass the rate of the key's own block (see [`block_rates`]) for the probability of that
/// key. A key that does not pass is certainly not a member, unless the filter forgets.
///
/// ```
/// use umbel_share::audit::posterior;
/// assert!((posterior(0.5, 0.01) - 0.990).abs() < 1e-3);
/// assert!((posterior(1e-4, 0.01) - 0.0099).abs() < 1e-4);
/// assert_eq!(posterior(0.0, 0.01), 0.0);
/// ```
pub fn posterior(prior: f64, fpp: f64) -> f64 {
    if prior == 0.0 { 0.0 } else { prior / (prior + (1.0 - prior) * fpp) }
}

/// The keys listed by looking up a whole universe, if it contains all keys of the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listing {
    /// Members, all of which are listed.
    pub members: f64,
    /// Keys listed: the members, and the false positives among all others.
    pub listed: f64,
}

impl Listing {
    /// For a filter of this many `keys`, with the rate `fpp`, and a universe of `universe` possible keys.
    pub fn of(universe: u64, keys: f64, fpp: f64) -> Self {
        let universe = universe as f64;
        let members = keys.min(universe);
        Self { members, listed: members + (universe - members) * fpp }
    }

    /// Returns the share of the listed keys that are members; 0 if none is listed.
    pub fn precision(&self) -> f64 {
        if self.listed == 0.0 { 0.0 } else { self.members / self.listed }
    }
}

#[cfg(test)]
mod tests {
    use umbel::Filter as _;
    use umbel::{Blocked, Kind, Plan};

    use super::*;

    /// Audits of filters with known members: intervals of 95 % miss the truth in at most a share that chance explains.
    #[test]
    fn the_interval_holds_the_members() {
        let (mut misses, mut trials) = (0, 0);
        for fpp in [0.3, 0.03, 0.001] {
            for seed in 0..60u64 {
                let members = 50 * (seed % 5);
                let plan = Plan::for_keys(Kind::Blocked, 2_000, fpp).unwrap();
                let hasher = umbel::KeyHasher::with_seed(seed);
                let mut filter = Blocked::with_plan(&plan, hasher).unwrap();
                filter.extend(0..2_000u64);
                let candidates = (2_000 - members)..(5_000 - members);
                let hits = candidates.filter(|&key| filter.contains(key)).count() as u64;
                let found = Hits { candidates: 3_000, hits, fpp: filter.receipt().fpp }.members();
                let truth = members as f64;
                misses += u64::from(truth < found.low || truth > found.high);
                trials += 1;
                assert!(found.low <= found.value && found.value <= found.high);
            }
        }
        let (_, most) = binomial_bounds(trials, 0.05, 1e-9);
        assert!(misses <= most, "{misses} of {trials}, at most {most}");
    }

    #[test]
    fn extreme_answers_have_extreme_estimates() {
        let none = Hits { candidates: 0, hits: 0, fpp: 0.01 };
        assert_eq!((none.members().value, none.share(), none.expected_false()), (0.0, 0.0, 0.0));
        // An empty filter lets nothing pass; a full one, everything.
        let empty = Hits { candidates: 10, hits: 0, fpp: 0.0 }.members();
        assert_eq!((empty.low, empty.high), (0.0, 0.0));
        let full = Hits { candidates: 10, hits: 10, fpp: 1.0 }.members();
        assert_eq!((full.low, full.high), (0.0, 10.0));
        let all = Hits { candidates: 1_000, hits: 1_000, fpp: 0.001 };
        assert_eq!((all.members().high, all.members().low >= 995.0), (1_000.0, true));
        assert!(all.expected_false() < 0.01);
    }

    #[test]
    fn listings_and_posteriors_agree() {
        // For a listed universe, the prior is the share of its keys that are members.
        for (universe, keys, fpp) in [(1 << 32, 1e6, 0.01), (10_000, 5_000.0, 0.5), (7, 0.0, 0.1)] {
            let listing = Listing::of(universe, keys, fpp);
            let posterior = posterior(keys / universe as f64, fpp);
            assert!((listing.precision() - posterior).abs() < 1e-12);
        }
        assert_eq!(Listing::of(10, 20.0, 0.5), Listing { members: 10.0, listed: 10.0 });
        assert_eq!(Listing::of(10, 0.0, 0.0).precision(), 0.0);
        assert_eq!(posterior(1.0, 0.0), 1.0);
    }
}
