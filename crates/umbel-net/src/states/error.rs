//! Why tables of states cannot be planned, or refuse keys.

use super::math::LEAST_ERROR;
use umbel::internals::Exact;
use umbel::{OutOfMemory, PlanError};

/// Why a table of states was not planned or made, or why a call failed. The table is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The plan has zero states.
    #[error("zero states: a table is planned for at least 1")]
    NoStates,
    /// The error is lower than the widest fingerprints reach.
    #[error("an error rate of {} is out of reach; the lowest is {LEAST_ERROR:e}; use a hash map", Exact(*error))]
    ErrorOutOfReach {
        /// The error requested.
        error: f64,
    },
    /// The memory is too small for the keys.
    #[error(
        "{keys} keys do not fit into {bytes} bytes with an error below 1; give them at least {needed}"
    )]
    MemoryTooSmall {
        /// The keys to plan for.
        keys: u64,
        /// The bytes given.
        bytes: u64,
        /// The fewest bytes for these keys.
        needed: u64,
    },
    /// The wheel is impossible.
    #[error(
        "a wheel of {slots} slots for {lifetime} ticks; expected 2, 4, 8 or 16 slots, and at least 1 tick"
    )]
    Wheel {
        /// Ticks that keys should stay.
        lifetime: u64,
        /// Slots requested.
        slots: u32,
    },
    /// The keys were planned without a number, or the memory cannot be had.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The table has no such state.
    #[error("found state {found}, but the table has the states 0 to {}; plan it for more", states - 1)]
    State {
        /// The state given.
        found: u8,
        /// States of the table.
        states: u8,
    },
    /// No cell is left for the key.
    #[error(
        "the table is full: it was planned for {keys} keys and holds {held}, and no cell is left for this one; \
         remove keys, let them age, or rebuild it for more"
    )]
    Full {
        /// Keys it was planned for.
        keys: u64,
        /// Keys it holds.
        held: u64,
    },
    /// The table has no wheel, so its keys do not age.
    #[error("the keys of this table do not age; plan it with a wheel")]
    NoWheel,
}

impl From<OutOfMemory> for StateError {
    fn from(error: OutOfMemory) -> Self {
        Self::Plan(error.into())
    }
}
