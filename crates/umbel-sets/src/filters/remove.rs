//! Removes lines from a filter whose kind allows it.

use std::io::Read;

use umbel::{AnyFilter, Filter};

use super::room::room_left;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Each, Lines, Scanner, Visitor};
use crate::{Error, Options};

/// Removes every line of `inputs` from `filter`, in order. The report's `found` counts the lines that were in it;
/// the others definitely were not, and changed nothing.
///
/// # Errors
/// Read errors; [`Error::Memory`] if the filter does not fit in the cap; [`umbel::InsertError::CannotRemove`] for a
/// kind that keys cannot be removed from.
pub fn remove(
    inputs: &[Input],
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    take_out(filter, options, |visit, room, report| scanner.read(inputs, room, visit, report))
}

/// Removes every line of `source` from `filter`; see [`remove`].
///
/// # Errors
/// As [`remove`].
pub fn remove_stream(
    name: &str,
    source: &mut dyn Read,
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    take_out(filter, options, |visit, room, report| {
        scanner.read_stream((name, source), room, visit, report)
    })
}

/// Removes the lines that are read, in order, batch by batch: of two lines that share counters, the order decides
/// which one counts as present.
fn take_out(
    filter: &mut AnyFilter,
    options: &Options,
    read: impl FnOnce(&dyn Visitor, u64, &mut Report) -> Result<(), Error>,
) -> Result<Report, Error> {
    let filter = filter.as_counting_mut()?;
    let room = room_left(umbel::Filter::bytes(filter), options)?;
    let (mut removed, mut found, mut report) = (Vec::new(), 0, Report::default());
    let take = Each::in_order(|lines: &Lines<'_>| {
        removed.resize(lines.len(), false);
        filter.remove_all(lines.hashes(), &mut removed);
        found += removed.iter().filter(|&&removed| removed).count() as u64;
        Ok(())
    });
    read(&take, room, &mut report)?;
    Ok(Report { found, ..report })
}
