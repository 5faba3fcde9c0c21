//! Removes lines from a filter whose kind allows it.

use umbel::{AnyFilter, Filter};

use crate::inputs::ReadFrom;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::{Error, Options};

/// Removes every line that is read from `filter`, in order: of two lines that share counters, the order decides which
/// one counts as present. The report's `found` counts the lines that were in it; the others definitely were not, and
/// changed nothing.
///
/// # Errors
/// Read errors; [`Error::Memory`] if the filter does not fit in the cap; [`umbel::InsertError::CannotRemove`] for a
/// kind that keys cannot be removed from.
pub fn remove<'r>(
    from: impl Into<ReadFrom<'r>>,
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    let filter = filter.as_counting_mut()?;
    let room = scanner.budget.left(Filter::bytes(filter))?;
    let (mut removed, mut found) = (Vec::new(), 0);
    let take = |lines: &Lines<'_>| {
        removed.resize(lines.len(), false);
        filter.remove_all(lines.hashes(), &mut removed);
        found += removed.iter().filter(|&&removed| removed).count() as u64;
        Ok(())
    };
    let report = scanner.read(from, &Visit::in_order(room, take))?;
    Ok(Report { found, ..report })
}
