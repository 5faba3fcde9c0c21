//! Removes lines from a filter whose kind allows it.

use std::io::Read;
use std::sync::Mutex;

use umbel::AnyFilter;

use super::room::room_left;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::{Error, Options};

/// Removes every line of `inputs` from `filter`, in order. The report's `found` are the lines that were in it; the
/// others certainly were not, and changed nothing.
///
/// # Errors
/// Those of reading; [`Error::Memory`] if the filter does not fit in the cap; [`umbel::InsertError::CannotRemove`] for
/// a kind that keys cannot be removed from.
pub fn remove(
    inputs: &[Input],
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    take_out(filter, options, |work, room, report| scanner.read(inputs, room, work, report))
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
    take_out(filter, options, |work, room, report| {
        scanner.read_stream((name, source), room, work, report)
    })
}

/// Removes the lines that are read.
fn take_out(
    filter: &mut AnyFilter,
    options: &Options,
    read: impl FnOnce(&TakeOut<'_>, u64, &mut Report) -> Result<(), Error>,
) -> Result<Report, Error> {
    filter.as_counting_mut()?;
    let room = room_left(filter.bytes(), options)?;
    let work = TakeOut(Mutex::new((filter, Vec::new(), 0)));
    let mut report = Report::default();
    read(&work, room, &mut report)?;
    report.found = work.0.into_inner().expect("no worker panics").2;
    Ok(report)
}

/// Removes lines from a filter in order, batch by batch: the order decides which of two lines that share counters
/// counts as present.
///
/// The filter, a buffer for answers, and the number of lines that were in it.
struct TakeOut<'a>(Mutex<(&'a mut AnyFilter, Vec<bool>, u64)>);

impl Visit for TakeOut<'_> {
    type Local = ();

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut work = self.0.lock().expect("no worker panics");
        let (filter, removed, count) = &mut *work;
        removed.resize(lines.len(), false);
        filter.as_counting_mut()?.remove_all(lines.hashes(), removed);
        *count += removed.iter().filter(|&&removed| removed).count() as u64;
        Ok(())
    }
}
