//! The memory that a filter leaves for work with lines, and the size it may grow to.

use umbel::{AnyFilter, Capacity, Filter as _, Full, InsertError};
use umbel_foreign::ForeignFilter;

use super::filter::Filter;
use crate::budget::Budget;
use crate::{Error, Resources};

/// Returns the bytes that the memory cap leaves besides a filter of this many bytes, for work with lines.
///
/// # Errors
/// [`Error::Memory`], with a cap that suffices, if that is too little.
pub fn room_left(bytes: u64, resources: &Resources) -> Result<u64, Error> {
    resources.budget()?.left(bytes)
}

impl Filter {
    /// Returns what [`room_left`] does, next to this filter while lines are inserted into it: one that grows may use
    /// everything.
    ///
    /// # Errors
    /// As [`room_left`].
    pub fn room_beside(&self, resources: &Resources) -> Result<u64, Error> {
        let grows = match self {
            Self::Own(filter) => filter.plan().kind().capacity() == Capacity::First,
            Self::Foreign(lines) => lines.filter.format().grows(),
        };
        let room = room_left(self.bytes(), resources)?;
        Ok(if grows { 0 } else { room })
    }
}

/// Like [`room_left`] for a filter that may grow: sets its limit, and leaves the rest to a long line.
pub(crate) fn room_to_fill(filter: &mut AnyFilter, budget: &Budget) -> Result<u64, Error> {
    // Even without lines, a filter that accepts no keys is refused.
    if !filter.plan().kind().rows() {
        filter.check_inserts()?;
    }
    let room = budget.left(filter.bytes())?;
    if filter.plan().kind().capacity() != Capacity::First {
        return Ok(room);
    }
    filter.set_limit(budget.lasting());
    Ok(room.min(budget.long_line()))
}

/// The error of an insertion; if a filter reached its limit, with the cap that it needs to grow once more.
pub(crate) fn outgrown(error: Error, budget: Budget) -> Error {
    let bytes = match error {
        Error::Filter(umbel::Error::Insert(InsertError::Full(Full::Limit(bytes, _)))) => bytes,
        Error::Foreign(umbel_foreign::Error::GrowthLimit { bytes, .. }) => bytes,
        error => return error,
    };
    // A sixteenth of the memory besides the workers' is for a long line.
    let next = Budget::least_cap(budget.threads, bytes + bytes / 15 + 1);
    Error::Outgrown { cap: budget.cap, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_to_grow_with_suffices_and_less_does_not() {
        let budget = Budget::new(64 << 20, 2).unwrap();
        let lasting = |cap| Budget::new(cap, 2).unwrap().lasting();
        for bytes in [50 << 20, 1 << 30, 5 << 30] {
            let full = InsertError::from(Full::Limit(bytes, bytes)).into();
            let Error::Outgrown { next, .. } = outgrown(full, budget) else { unreachable!() };
            assert!(lasting(next) >= bytes && lasting(next - (3 << 20)) < bytes, "{bytes}: {next}");
        }
    }
}
