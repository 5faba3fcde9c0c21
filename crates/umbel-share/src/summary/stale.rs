//! Computes the errors of a filter that lags behind its cache.
//!
//! Y. Zhu and H. Jiang 2006, <https://doi.org/10.1109/ICPP.2006.42>, introduced the analysis: false hits and misses of a
//! replica, from how far it lags behind. The model here is our own. It measures the lag in keys, which a cache counts
//! anyway, and lets requests prefer new keys, as real requests to caches do.
//!
//! A cache holds N keys, and each key that comes replaces one. Once s·N keys have been replaced since its filter was
//! published (the *staleness* s), a replica answers:
//!
//! | key | share of the requests | the replica says | that is |
//! |---|---|---|---|
//! | held then and now | h·(1 − r·s) | yes | right |
//! | came since | h·r·s | yes with chance f, else no | no: a *false miss* |
//! | left since | h·d·s | yes | a *false hit* |
//! | others | the rest | yes with chance f | yes: a *false hit* |
//!
//! h is the share of requests whose key the cache holds, r how many times as often a key that just came is
//! requested as one that the cache holds is on average, d the same for a key that just left, and f the filter's
//! false positive rate. So per request
//!
//! - false misses: h·r·s·(1 − f),
//! - false hits: h·d·s + f·(1 − h − h·d·s).
//!
//! Both are linear in s, so their means over time are their values at the mean staleness. A filter that is published
//! when t·N keys have been replaced is stale by t/2 on average, and by v·D/N more if messages take D seconds and v keys
//! are replaced per second.

/// Which keys the requests looked up in a filter are for: the parameters of the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// h: the share of requests whose key the cache holds, in [0, 1].
    pub held: f64,
    /// r: requests for a key that came since the filter was published, as a multiple of those for an average key that
    /// the cache holds.
    pub new: f64,
    /// d: requests for a key that left since, in the same unit.
    pub departed: f64,
}

impl Mix {
    /// Keys that just came or left are requested like others that the cache holds or held.
    pub fn uniform(held: f64) -> Self {
        Self { held, new: 1.0, departed: 1.0 }
    }
}

/// The errors of a replica, per request looked up in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// It names the cache, which lacks the key: a wasted message.
    pub false_hits: f64,
    /// It omits the cache, which has the key: a page is fetched from its source again.
    pub false_misses: f64,
}

/// Returns the errors of a replica with a false positive rate of `fpp` if a share `staleness`, in [0, 1], of the
/// cache's keys was replaced since it was published.
///
/// ```
/// use umbel_share::summary::stale::{Mix, errors, mean_staleness};
///
/// // Published at 10 %: of a hundred requests, forty for keys that the cache holds, two are missed.
/// let stale = mean_staleness(5_000, 0.1, 0.0, 0.0);
/// let errors = errors(stale, 0.0005, Mix::uniform(0.4));
/// assert!((errors.false_misses - 0.02).abs() < 0.0002);
/// assert!((errors.false_hits - 0.0203).abs() < 0.0001);
/// ```
pub fn errors(staleness: f64, fpp: f64, mix: Mix) -> Errors {
    let unseen = (mix.new * staleness).min(1.0) * mix.held;
    let gone = (mix.departed * staleness * mix.held).min(1.0 - mix.held);
    Errors { false_hits: gone + fpp * (1.0 - mix.held - gone), false_misses: unseen * (1.0 - fpp) }
}

/// Returns the share of the keys of a cache that were replaced since its replica was made, on average over the changes.
///
/// The cache holds `keys` keys, publishes once ⌈`threshold` · `keys`⌉ keys were replaced, and replaces `rate` keys per
/// second; a message takes `delay` seconds. The last change before a publication counts as published.
pub fn mean_staleness(keys: u64, threshold: f64, rate: f64, delay: f64) -> f64 {
    let keys = keys.max(1) as f64;
    let due = (threshold * keys).ceil().max(1.0);
    (((due - 1.0) / 2.0 + rate * delay) / keys).min(1.0)
}
