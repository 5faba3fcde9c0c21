//! The receipt of a foreign filter: its present content and rate.

use umbel::{Estimate, Fact};

use crate::measure::Measure;
use crate::{Error, ForeignFilter, Format, Key};

/// The receipt of a foreign filter: figures from its own bits, and declarations of its file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Receipt {
    /// Its format.
    pub format: Format,
    /// The way from keys to positions: only filters of one scheme can be merged.
    pub scheme: String,
    /// Bytes of its content.
    pub bytes: u64,
    /// Bits, m, over all its parts.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Set bits over bits, in [0, 1]; 0 if there are no bits.
    pub fill: f64,
    /// Probes per key, k; in a filter of parts, of the newest.
    pub probes: u32,
    /// Different keys, estimated from its bits with a 95 % interval.
    pub keys: Estimate,
    /// The probability that a key never inserted passes now, from its bits.
    pub fpp: f64,
    /// The filters it is made of, oldest first; empty for a filter of one piece.
    pub parts: Vec<Part>,
    /// Declarations of its file: capacity, count, seed and such. Reported, but not used.
    pub facts: Vec<Fact>,
}

/// A filter that is part of another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// Bits of the part.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Probes per key.
    pub probes: u32,
    /// Estimated keys.
    pub keys: Estimate,
    /// The probability that a key it does not hold passes now.
    pub fpp: f64,
    /// The file's declarations about it.
    pub facts: Vec<Fact>,
}

impl Receipt {
    pub(crate) fn new(
        filter: &dyn ForeignFilter,
        measure: Measure,
        probes: u32,
        parts: Vec<Part>,
        facts: Vec<Fact>,
    ) -> Self {
        let Measure { bits, set_bits, keys, fpp, .. } = measure;
        Self {
            format: filter.format(),
            scheme: filter.scheme(),
            bytes: filter.bytes(),
            bits,
            set_bits,
            fill: set_bits as f64 / bits.max(1) as f64,
            probes,
            keys,
            fpp,
            parts,
            facts,
        }
    }

    /// For a filter of parts, which a key passes if it passes any of them.
    pub(crate) fn of_parts(filter: &dyn ForeignFilter, parts: Vec<Part>, facts: Vec<Fact>) -> Self {
        let measure = Measure {
            bits: parts.iter().map(|part| part.bits).sum(),
            set_bits: parts.iter().map(|part| part.set_bits).sum(),
            keys: sum(parts.iter().map(|part| part.keys)),
            // By logarithms: next to 1, the rates of many small parts would vanish.
            fpp: -parts.iter().map(|part| (-part.fpp).ln_1p()).sum::<f64>().exp_m1(),
            coverage: None,
        };
        let probes = parts.last().map_or(0, |part| part.probes);
        Self::new(filter, measure, probes, parts, facts)
    }
}

impl Part {
    pub(crate) fn new(measure: Measure, probes: u32, facts: Vec<Fact>) -> Self {
        let Measure { bits, set_bits, keys, fpp, .. } = measure;
        Self { bits, set_bits, probes, keys, fpp, facts }
    }
}

/// The rate of a filter that answers by `contains`, whose smallest part has `least_bits` bits and whose keys have `probes` probes in all: `fpp`,
/// unless a sample of keys shows that it is wrong; then the share of the sample that passes.
pub(crate) fn sampled_rate(
    contains: &dyn Fn(Key<'_>) -> Result<bool, Error>,
    least_bits: u64,
    probes: u32,
    fpp: f64,
) -> f64 {
    if least_bits > SMALL.max(SMALL_A_PROBE * u64::from(probes)) {
        return fpp;
    }
    let count = sampled_keys(probes);
    let passes = |i: &u64| {
        let key = crate::hash::mix(*i).to_le_bytes();
        contains(Key::Bytes(&key)).is_ok_and(|found| found)
    };
    let hits = (1..=count).filter(passes).count() as f64;
    let (mean, keys) = (fpp * count as f64, count as f64);
    // 5 standard deviations and a key: not by chance.
    let wrong = (hits - mean).abs() > 5.0 * (mean * (1.0 - fpp)).sqrt() + 1.0;
    if wrong { hits / keys } else { fpp }
}

/// Up to this many bits, probes made from two hashes can be noticeably worse than independent ones: if the step and the
/// bits share a factor, the probes soon return to the same bits, and to similar keys' bits. In 64 bits with 20 probes,
/// as Guava has for one key, 7 % of keys passed where the fill predicted 0.014 %; in 6,400 bits with 444 probes 1 %,
/// with 1e-134 predicted; in a RedisBloom chain that grew by factors of one from links of 64 bits, half of all keys.
const SMALL: u64 = 4096;
/// Like [`SMALL`], per probe.
const SMALL_A_PROBE: u64 = 128;

/// The keys of a sample: 4096, or fewer if a file has more than 1024 probes per key, which limits its receipt to 4
/// million probes.
fn sampled_keys(probes: u32) -> u64 {
    ((1 << 22) / u64::from(probes.max(1))).clamp(64, 4096)
}

/// The sum of independent estimates.
fn sum(estimates: impl Iterator<Item = Estimate> + Clone) -> Estimate {
    let total = |of: fn(Estimate) -> f64| estimates.clone().map(of).sum::<f64>();
    let value = total(|estimate| estimate.value);
    if !value.is_finite() {
        let low = total(|estimate| estimate.low);
        return Estimate::with_interval(value, value, low, value);
    }
    Estimate::new(value, total(|estimate| estimate.deviation.powi(2)).sqrt())
}

#[cfg(test)]
mod tests {
    use umbel::internals::math::binomial_bounds;

    use super::*;
    use crate::{Foreign, ForeignInsert, Parameters};

    #[test]
    fn a_sample_is_few_probes_whatever_a_file_asks_for() {
        assert_eq!([0, 1, 30, 1024].map(sampled_keys), [4096; 4]);
        for probes in [1025, 10_000, crate::bytes::MOST_PROBES] {
            let keys = sampled_keys(probes);
            assert!(keys >= 64 && keys * u64::from(probes) <= 1 << 22, "{probes}: {keys}");
        }
    }

    /// Filters whose rate is far from what their fill predicts.
    #[test]
    fn rates_of_small_filters_are_those_that_keys_find() {
        let spark =
            Parameters { keys: Some(10), bits: Some(6400), seed: Some(0), ..Parameters::default() };
        let chain = Parameters { growth: Some(1), ..Parameters::for_keys(1, 0.2) };
        for (format, given, keys) in [(Format::Spark, spark, 10), (Format::RedisBloom, chain, 50)] {
            let mut filter = Foreign::new(format, &given).unwrap();
            for i in 0..keys {
                filter.insert(Key::Bytes(format!("key-{i}").as_bytes())).unwrap();
            }
            let fpp = filter.receipt().fpp;
            let asked = 20_000u64;
            let passes =
                |i: &u64| filter.contains(Key::Bytes(format!("other-{i}").as_bytes())).unwrap();
            let passed = (0..asked).filter(passes).count() as u64;
            // 4096 keys determine a rate p to within 6 sqrt(p/4096).
            let spread = 6.0 * (fpp / 4096.0).sqrt();
            let [(low, _), (_, high)] = [fpp - spread, fpp + spread]
                .map(|rate| binomial_bounds(asked, rate.clamp(0.0, 1.0), 1e-9));
            assert!((low..=high).contains(&passed) && passed > 5, "{format}: {passed}, {fpp}");
        }
    }
}
