//! From keys, an error and a number of states to buckets and fingerprints.

use super::StateError;
use super::math::{FREE_CELLS, LEAST_ERROR, collision, pairs};
use super::{BLOCK_BITS, BLOCK_BYTES};
#[cfg(not(feature = "std"))]
use crate::prelude::*;
use umbel::internals::packed;
use umbel::{MAX_BITS, PlanError};

/// Bits of a fingerprint: a byte, and more. Fewer would give a key too few second homes.
const FINGERPRINTS: core::ops::RangeInclusive<u32> = 8..=40;

/// A plan for a table of [`States`](super::States): its size, its error, and how its keys age.
///
/// ```
/// use umbel_net::states::StatesPlan;
///
/// let plan = StatesPlan::for_keys(1_000_000, 0.001, 6)?;
/// assert!(plan.bits_per_key() < 21.4);
/// // Keys that were not touched for 60 ticks are removed, at the latest after 80.
/// let aging = plan.with_wheel(60, 4)?;
/// assert!(aging.bits_per_key() < 23.4);
/// # Ok::<(), umbel_net::states::StateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatesPlan {
    keys: u64,
    goal: Goal,
    states: u8,
    pub(super) wheel: Option<Wheel>,
    /// Bits of a fingerprint, r.
    pub(super) fingerprint: u32,
    /// Buckets of each of the two tables, B.
    pub(super) buckets: u64,
}

/// The input that determines the size.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    /// The error.
    Error(f64),
    /// Buckets of each table.
    Buckets(u64),
}

/// How keys age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wheel {
    /// Ticks that a key stays at least.
    pub(super) lifetime: u64,
    /// Slots, a power of two.
    pub(super) slots: u32,
}

impl Wheel {
    /// Ticks between two turns: when the current slot has just begun, the others reach back at least the lifetime.
    pub(super) fn ticks(self) -> u64 {
        self.lifetime.div_ceil(u64::from(self.slots - 1))
    }
}

impl StatesPlan {
    /// Plans a table of `keys` keys, each in one of `states` states, at least 1.
    ///
    /// `error` bounds the false positives and, for a key that is present, the answer *unknown*; see
    /// [`States`](super::States). 0.01 to 0.0001 is usual.
    ///
    /// # Errors
    /// [`StateError::NoStates`], [`StateError::ErrorOutOfReach`] below 2e-11; [`PlanError::ZeroKeys`],
    /// [`PlanError::Fpp`] unless 0 < `error` < 1, [`PlanError::TooLarge`].
    pub fn for_keys(keys: u64, error: f64, states: u8) -> Result<Self, StateError> {
        Self::sized(keys, Goal::Error(error), states, None)
    }

    /// Plans a table of at most `bytes` bytes, with the lowest error it can have.
    ///
    /// # Errors
    /// [`StateError::NoStates`], [`StateError::MemoryTooSmall`]; [`PlanError::ZeroKeys`].
    pub fn for_memory(keys: u64, bytes: u64, states: u8) -> Result<Self, StateError> {
        let buckets = bytes.min(MAX_BITS / 8) / (2 * BLOCK_BYTES);
        Self::sized(keys, Goal::Buckets(buckets), states, None)
    }

    /// Returns the plan with a timing wheel, which removes keys that are not touched: they stay for at least
    /// `lifetime` ticks, and at most the fraction 1/(`slots` − 1) of that longer, rounded up to a tick.
    ///
    /// A tick is whatever the caller counts: seconds, packets, batches. 2, 4, 8 or 16 slots take 1 to 4 bits of each
    /// cell, from the error or from the size.
    ///
    /// # Errors
    /// [`StateError::Wheel`], and the errors of the original plan.
    pub fn with_wheel(&self, lifetime: u64, slots: u32) -> Result<Self, StateError> {
        if lifetime == 0 || ![2, 4, 8, 16].contains(&slots) {
            return Err(StateError::Wheel { lifetime, slots });
        }
        Self::sized(self.keys, self.goal, self.states, Some(Wheel { lifetime, slots }))
    }

    fn sized(keys: u64, goal: Goal, states: u8, wheel: Option<Wheel>) -> Result<Self, StateError> {
        if keys == 0 {
            return Err(PlanError::ZeroKeys.into());
        }
        if states == 0 {
            return Err(StateError::NoStates);
        }
        let plan = |fingerprint, buckets| Self { keys, goal, states, wheel, fingerprint, buckets };
        // Keys of both homes together.
        let cells = |fingerprint| f64::from(plan(fingerprint, 0).cells_per_bucket());
        let shared = |fingerprint| 2.0 * (cells(fingerprint) - FREE_CELLS);
        match goal {
            Goal::Error(error) if error > 0.0 && error < 1.0 => {
                if error < LEAST_ERROR {
                    return Err(StateError::ErrorOutOfReach { error });
                }
                let buckets = |fingerprint: u32| {
                    let for_error = keys as f64 / error / pairs(1, fingerprint);
                    (keys as f64 / shared(fingerprint)).max(for_error).ceil().max(1.0)
                };
                let best = FINGERPRINTS.min_by(|&a, &b| buckets(a).total_cmp(&buckets(b)));
                let fingerprint = best.expect("some widths");
                let bits = 2.0 * buckets(fingerprint) * BLOCK_BITS as f64;
                if bits > MAX_BITS as f64 {
                    return Err(PlanError::TooLarge(bits).into());
                }
                Ok(plan(fingerprint, buckets(fingerprint) as u64))
            }
            Goal::Error(error) => Err(PlanError::Fpp(error).into()),
            Goal::Buckets(buckets) => {
                let fits = |width: &u32| keys as f64 / shared(*width) <= buckets as f64;
                let widest = FINGERPRINTS.rev().find(fits).map(|widest| plan(widest, buckets));
                widest.filter(|plan| plan.error() < 1.0).ok_or_else(|| {
                    let needed = keys as f64 / shared(*FINGERPRINTS.start());
                    let needed = (needed.ceil() as u64).saturating_mul(2 * BLOCK_BYTES);
                    StateError::MemoryTooSmall { keys, bytes: buckets * 2 * BLOCK_BYTES, needed }
                })
            }
        }
    }

    /// Returns the most keys that the error is for.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the number of states.
    pub fn states(&self) -> u8 {
        self.states
    }

    /// Returns the probability, with all planned keys, that an absent key has the fingerprint of a present one: at
    /// most the planned error.
    pub fn error(&self) -> f64 {
        self.error_at(self.keys)
    }

    /// Like [`error`](Self::error), with this many keys.
    pub fn error_at(&self, keys: u64) -> f64 {
        collision(keys, self.pairs())
    }

    /// Returns F, the number of pairs of home and fingerprint: two keys that share one are indistinguishable.
    pub fn pairs(&self) -> f64 {
        pairs(self.buckets, self.fingerprint)
    }

    /// Returns the bits of a fingerprint, 8 to 40.
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint
    }

    /// Returns the bits of a cell: fingerprint, state and slot of the wheel.
    pub fn cell_bits(&self) -> u32 {
        let slot_bits = self.wheel.map_or(0, |wheel| wheel.slots.trailing_zeros());
        self.fingerprint + self.state_bits() + slot_bits
    }

    /// Returns the cells of a bucket.
    pub fn cells_per_bucket(&self) -> u32 {
        packed::count(self.cell_bits())
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> u64 {
        2 * self.buckets
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.buckets() * BLOCK_BYTES
    }

    /// Returns the bits per planned key.
    pub fn bits_per_key(&self) -> f64 {
        (self.buckets() * BLOCK_BITS) as f64 / self.keys as f64
    }

    /// Returns the ticks that keys stay at least, and at most; `None` if they do not age.
    pub fn lifetime(&self) -> Option<(u64, u64)> {
        self.wheel.map(|wheel| (wheel.lifetime, wheel.ticks().saturating_mul(wheel.slots.into())))
    }

    /// Bits for the states and an unknown one.
    pub(super) fn state_bits(&self) -> u32 {
        (u32::from(self.states) + 1).next_power_of_two().trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_keep_the_error_and_the_free_cells() {
        for keys in [1, 2, 7, 100, 65_536, 1_000_000_007] {
            for error in [0.9, 0.1, 0.01, 1e-3, 1e-6, 2e-11] {
                for states in [1, 2, 6, 14, 255] {
                    let still = StatesPlan::for_keys(keys, error, states).unwrap();
                    let aging = |ticks, slots| still.with_wheel(ticks, slots).unwrap();
                    for plan in [still, aging(1, 2), aging(9, 16)] {
                        assert!(plan.error() <= error, "{plan:?}");
                        assert!(plan.cell_bits() <= packed::MOST_WIDTH, "{plan:?}");
                        assert!(plan.cells_per_bucket() <= 64, "{plan:?}");
                        let each = keys as f64 / plan.buckets() as f64;
                        assert!(each + FREE_CELLS <= plan.cells_per_bucket().into(), "{plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_documentation() {
        let text = include_str!("mod.rs");
        for (shown, error) in [("1 %", 0.01), ("0.1 %", 1e-3), ("1e-4", 1e-4), ("1e-6", 1e-6)] {
            let plan = |states| StatesPlan::for_keys(1_000_000, error, states).unwrap();
            let plans = [plan(2), plan(6), plan(6).with_wheel(60, 4).unwrap(), plan(14)];
            let [a, b, c, d] = plans.map(|plan| plan.bits_per_key());
            let row = format!("/// | {shown} | {a:.1} | {b:.1} | {c:.1} | {d:.1} |");
            assert!(text.contains(&row), "{row}");
        }
    }

    #[test]
    fn memory_gives_the_lowest_error() {
        let plan = StatesPlan::for_keys(1_000_000, 1e-3, 6).unwrap();
        let same = StatesPlan::for_memory(1_000_000, plan.bytes() + 127, 6).unwrap();
        assert_eq!((same.bytes(), same.error()), (plan.bytes(), plan.error()));
        let (bytes, needed) = match StatesPlan::for_memory(1_000_000, 1_000_000, 6) {
            Err(StateError::MemoryTooSmall { bytes, needed, .. }) => (bytes, needed),
            other => panic!("{other:?}"),
        };
        assert!(bytes <= 1_000_000 && needed > 1_000_000);
        assert!(StatesPlan::for_memory(1_000_000, needed, 6).unwrap().error() < 0.4);
        assert!(StatesPlan::for_memory(1_000_000, needed - 128, 6).is_err());
    }

    #[test]
    fn impossible_plans_are_refused() {
        let refused = |keys, error, states| StatesPlan::for_keys(keys, error, states).unwrap_err();
        assert_eq!(refused(0, 0.1, 2), PlanError::ZeroKeys.into());
        assert_eq!(refused(1, 1.0, 2), PlanError::Fpp(1.0).into());
        assert!(matches!(refused(1, f64::NAN, 2), StateError::Plan(PlanError::Fpp(_))));
        assert_eq!(refused(1, 1e-11, 2), StateError::ErrorOutOfReach { error: 1e-11 });
        assert_eq!(refused(1, 0.1, 0), StateError::NoStates);
        assert!(matches!(refused(u64::MAX, 0.1, 2), StateError::Plan(PlanError::TooLarge(..))));
        let plan = StatesPlan::for_keys(1, 0.1, 2).unwrap();
        for (lifetime, slots) in [(0, 4), (1, 0), (1, 1), (1, 3), (1, 32)] {
            let error = StateError::Wheel { lifetime, slots };
            assert_eq!(plan.with_wheel(lifetime, slots), Err(error));
        }
        assert_eq!(plan.with_wheel(u64::MAX, 2).unwrap().lifetime(), Some((u64::MAX, u64::MAX)));
    }
}
