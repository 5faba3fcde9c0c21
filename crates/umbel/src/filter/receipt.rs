//! What a filter really delivers now, told from its own bits.

use crate::hash::Scheme;
use crate::math::Estimate;
use crate::plan::Plan;

/// The receipt of a filter. Everything but the plan is computed from the bits, nothing is believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receipt {
    /// What it was planned for.
    pub plan: Plan,
    /// How it hashes.
    pub scheme: Scheme,
    /// Filters it is made of: 1, or the links of a scalable one.
    pub links: u32,
    /// Bits, m, of all links.
    pub bits: u64,
    /// Bits set, X.
    pub set_bits: u64,
    /// X / m, in [0, 1].
    pub fill: f64,
    /// Different keys inserted, with a 95 % interval.
    pub keys: Estimate,
    /// The chance that a key never inserted passes now: the mean over blocks of the exact rate
    /// given their bits. Of a scalable filter, the chance to pass any link.
    pub fpp: f64,
    /// Whether it certainly holds more keys than planned: by more than 4 standard deviations of
    /// the estimate, which chance alone exceeds once in 30,000 filters filled to the brim. A scalable
    /// filter never holds more: it would tell of links whose bits contradict that.
    pub over_filled: bool,
}

impl Receipt {
    pub(super) fn new(plan: Plan, scheme: Scheme, set_bits: u64, keys: Estimate, fpp: f64) -> Self {
        let (bits, fill) = (plan.bits, set_bits as f64 / plan.bits as f64);
        let mut receipt =
            Self { plan, scheme, links: 1, bits, set_bits, fill, keys, fpp, over_filled: false };
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
