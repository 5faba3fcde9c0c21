//! What a foreign filter really delivers.

use super::measure::Measure;
use super::{ForeignFilter, Format};
use crate::filter::Fact;
use crate::math::Estimate;

/// The receipt of a foreign filter: figures from its own bits beside what its file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Its format.
    pub format: Format,
    /// How keys become positions: only filters of one scheme can be joined.
    pub scheme: String,
    /// Bytes of its content.
    pub bytes: u64,
    /// Bits, m, of all its parts.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Set bits over bits, in [0, 1]; 0 where there are none.
    pub fill: f64,
    /// Probes a key, k; of a filter of parts, of the newest.
    pub probes: u32,
    /// Different keys in it, with a 95 % interval, from its bits.
    pub keys: Estimate,
    /// The chance that a key never inserted passes now, from its bits.
    pub fpp: f64,
    /// The filters it is made of, oldest first; none when it is of one piece.
    pub parts: Vec<Part>,
    /// What its file declares: capacity, count, seed and such. Not believed, only told.
    pub facts: Vec<Fact>,
}

/// A filter that is part of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Bits of the part.
    pub bits: u64,
    /// Bits set.
    pub set_bits: u64,
    /// Probes a key.
    pub probes: u32,
    /// Keys in it.
    pub keys: Estimate,
    /// The chance that a key it has not passes it now.
    pub fpp: f64,
    /// What the file declares of it.
    pub facts: Vec<Fact>,
}

impl Receipt {
    /// Of a filter of parts, which a key passes when it passes any of them.
    pub(super) fn of_parts(
        filter: &impl ForeignFilter,
        parts: Vec<Part>,
        facts: Vec<Fact>,
    ) -> Self {
        let bits = parts.iter().map(|part| part.bits).sum();
        let set_bits = parts.iter().map(|part| part.set_bits).sum();
        Self {
            format: filter.format(),
            scheme: filter.scheme(),
            bytes: filter.bytes(),
            bits,
            set_bits,
            fill: set_bits as f64 / bits.max(1) as f64,
            probes: parts.last().map_or(0, |part| part.probes),
            keys: sum(parts.iter().map(|part| part.keys)),
            // By way of logarithms: the rates of many small parts would vanish beside 1.
            fpp: -parts.iter().map(|part| (-part.fpp).ln_1p()).sum::<f64>().exp_m1(),
            parts,
            facts,
        }
    }
}

impl Part {
    pub(super) fn new(measure: Measure, probes: u32, facts: Vec<Fact>) -> Self {
        let Measure { bits, set_bits, keys, fpp } = measure;
        Self { bits, set_bits, probes, keys, fpp, facts }
    }
}

/// The sum of independent estimates.
fn sum(estimates: impl Iterator<Item = Estimate> + Clone) -> Estimate {
    let total = |of: fn(Estimate) -> f64| estimates.clone().map(of).sum::<f64>();
    let value = total(|estimate| estimate.value);
    if !value.is_finite() {
        let low = total(|estimate| estimate.low);
        return Estimate { value, low, high: value, deviation: value };
    }
    Estimate::new(value, total(|estimate| estimate.deviation.powi(2)).sqrt())
}
