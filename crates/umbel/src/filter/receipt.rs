//! What a filter really delivers now, told from its own bits.

use crate::hash::Scheme;
use crate::math::Estimate;
use crate::plan::Plan;
use crate::prelude::*;

/// The receipt of a filter. Everything but the plan is computed from the bits, nothing is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// What it was planned for.
    pub plan: Plan,
    /// How it hashes.
    pub scheme: Scheme,
    /// Bits, m, of all its parts.
    pub bits: u64,
    /// Bits set, X; in kinds made of cells, cells that are not empty.
    pub set_bits: u64,
    /// Set bits over bits, or cells in use over cells, in [0, 1].
    pub fill: f64,
    /// Different keys inserted, with a 95 % interval.
    pub keys: Estimate,
    /// The chance that a key never inserted passes now: the mean over blocks of the exact rate
    /// given their bits. Of a filter made of parts, the chance to pass all of it.
    pub fpp: f64,
    /// Keys it takes, about, until it has as many as planned; of a scalable one, until it grows.
    pub room: u64,
    /// Whether it certainly holds more keys than planned: by more than 4 standard deviations of
    /// the estimate, which chance alone exceeds once in 30,000 filters filled to the brim. A scalable
    /// filter never holds more: it would tell of links whose bits contradict that.
    pub over_filled: bool,
    /// The filters it is made of, in the order of the file; none when it is of one piece.
    pub parts: Vec<Part>,
    /// What only filters of its kind have to tell.
    pub facts: Vec<Fact>,
}

/// A filter that is part of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What the kind calls its parts, such as `link`.
    pub what: &'static str,
    /// Its own name, where parts have one.
    pub name: Option<String>,
    /// What it was planned for.
    pub plan: Plan,
    /// Keys it has.
    pub keys: f64,
    /// The chance that a key it has not passes it now, from its own bits.
    pub fpp: f64,
}

/// A figure that only filters of one kind have.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name, in lower case, words joined by underscores.
    pub name: &'static str,
    /// Its value.
    pub figure: Figure,
}

/// The value of a [`Fact`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// A chance, from 0 to 1.
    Rate(f64),
    /// Words.
    Text(String),
}

impl Receipt {
    /// Of a filter of one piece, from its set bits (or cells) among `bits` (or cells).
    pub(super) fn new(
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

    /// Keys it certainly holds.
    pub(super) fn surely(&self) -> f64 {
        // A full filter holds any number of keys from some on; it may have been planned to be full.
        let keys = self.keys;
        if keys.value.is_finite() { keys.value - 4.0 * keys.deviation } else { keys.low }
    }

    /// How far its rate now is below the promised one; negative when above.
    pub fn fpp_left(&self) -> f64 {
        self.plan.fpp - self.fpp
    }

    /// Bytes of its bits.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(512) * 64
    }
}
