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
    /// Bits set, X.
    pub set_bits: u64,
    /// X / m, in [0, 1].
    pub fill: f64,
    /// Different keys inserted, with a 95 % interval.
    pub keys: Estimate,
    /// The chance that a key never inserted passes now: the mean over blocks of the exact rate
    /// given their bits.
    pub fpp: f64,
    /// Whether it certainly holds more keys than planned: by more than 4 standard deviations of
    /// the estimate, which chance alone exceeds once in 30,000 filters filled to the brim.
    pub over_filled: bool,
}

impl Receipt {
    pub(super) fn new(plan: Plan, scheme: Scheme, set_bits: u64, keys: Estimate, fpp: f64) -> Self {
        let fill = set_bits as f64 / plan.bits as f64;
        // A full filter holds any number of keys from some on; it may have been planned to be full.
        let surely =
            if keys.value.is_finite() { keys.value - 4.0 * keys.deviation } else { keys.low };
        Self { plan, scheme, set_bits, fill, keys, fpp, over_filled: surely > plan.keys as f64 }
    }
}
