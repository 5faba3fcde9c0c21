//! Receipts: the keys and rate of a filter, computed from its own bits.

use crate::hash::Scheme;
use crate::math::Estimate;
use crate::plan::{Kind, Plan};
use crate::prelude::*;

/// The present content and rate of a filter. Everything but the plan is computed from the bits, not read from the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Receipt {
    /// The plan.
    pub plan: Plan,
    /// The hash scheme.
    pub scheme: Scheme,
    /// Bits, m, over all its parts.
    pub bits: u64,
    /// Bits set, X; for kinds made of cells, cells that are not empty.
    pub set_bits: u64,
    /// Set bits over bits, or used cells over cells, in [0, 1].
    pub fill: f64,
    /// Different keys inserted, estimated with a 95 % interval.
    pub keys: Estimate,
    /// The probability that a key never inserted passes now: the mean over blocks of the exact rate given their bits.
    /// For a filter made of parts, the probability to pass the whole.
    pub fpp: f64,
    /// Approximate number of keys until it holds the planned keys; for a scalable filter, until it grows. The planned
    /// keys of one that forgets by age, [`u64::MAX`] for one that forgets by chance, 0 for one built at once.
    pub room: u64,
    /// Whether it certainly holds more keys than planned: by more than 4 standard deviations of the estimate, which one
    /// in 30,000 filters filled exactly as planned exceeds by chance. A scalable filter never holds more; true then
    /// means that a link's bits contradict this.
    pub over_filled: bool,
    /// The filters it is made of, in the order of the file; empty for a filter of one piece.
    pub parts: Vec<Part>,
    /// Figures that only its kind has, as its documentation lists them.
    pub facts: Vec<Fact>,
}

/// A filter that is part of another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// The kind's word for its parts, such as `link`.
    pub what: &'static str,
    /// Its name, if parts have names.
    pub name: Option<String>,
    /// Its plan.
    pub plan: Plan,
    /// Its keys, estimated or, in links, generations and cascade levels, counted.
    pub keys: f64,
    /// The probability that a key it does not hold passes now, from its own bits.
    pub fpp: f64,
}

/// A figure that only one kind has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fact {
    /// Its name, in lower case, words joined by underscores.
    pub name: &'static str,
    /// Its value.
    pub figure: Figure,
}

impl Fact {
    /// Makes a fact.
    #[doc(hidden)]
    pub const fn new(name: &'static str, figure: Figure) -> Self {
        Self { name, figure }
    }

    pub(crate) fn count(name: &'static str, count: u64) -> Self {
        Self::new(name, Figure::Count(count))
    }

    pub(crate) fn text(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Figure::Text(text.into()))
    }
}

/// The value of a [`Fact`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// A probability, from 0 to 1.
    Rate(f64),
    /// Words.
    Text(String),
}

impl Receipt {
    /// For a filter of one piece, from its set bits (or used cells) among `bits` (or cells).
    pub(crate) fn new(
        plan: Plan,
        scheme: Scheme,
        (set_bits, bits): (u64, u64),
        keys: Estimate,
        fpp: f64,
    ) -> Self {
        let mut receipt = Self {
            plan,
            scheme,
            bits: plan.bits,
            set_bits,
            fill: set_bits as f64 / bits as f64,
            keys,
            fpp,
            room: (plan.keys as f64 - keys.value).max(0.0) as u64,
            over_filled: false,
            parts: Vec::new(),
            facts: Vec::new(),
        };
        receipt.over_filled = receipt.surely() > plan.keys as f64;
        receipt
    }

    /// The keys that it certainly holds. With all bits set, only the lower bound counts: the plan may have intended
    /// that.
    pub(crate) fn surely(&self) -> f64 {
        let keys = self.keys;
        if keys.value.is_finite() { keys.value - 4.0 * keys.deviation } else { keys.low }
    }

    /// Returns the bytes of its bits.
    #[doc(hidden)]
    pub fn bytes(&self) -> u64 {
        match self.plan.kind() {
            // Each inner filter ends with a whole block.
            Kind::Attributes => self.parts.iter().map(|part| part.plan.bytes()).sum(),
            _ => self.bits.div_ceil(512) * 64,
        }
    }
}
