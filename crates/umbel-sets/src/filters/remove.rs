//! Removes lines from a filter whose kind allows it.

use std::io::Read;
use std::sync::Mutex;

use umbel::AnyFilter;

use super::room::room_left;
use crate::input::{Input, lengths};
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
    let work = TakeOut::new(filter, options)?;
    options.progress.expect(lengths(inputs));
    let mut report = Report::default();
    report.passed(inputs, &scanner.scan(inputs, &work)?);
    report.found = work.removed();
    Ok(report)
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
    let work = TakeOut::new(filter, options)?;
    let before = options.progress.done();
    let tally = scanner.stream(name, source, &work)?;
    let mut report = Report { found: work.removed(), ..Report::default() };
    report.streamed(&tally, options.progress.done() - before);
    Ok(report)
}

/// Removes lines from a filter in order, batch by batch: the order decides which of two lines that share counters
/// counts as present.
struct TakeOut<'a> {
    /// The filter, a buffer for answers, and the number of lines that were in it.
    work: Mutex<(&'a mut AnyFilter, Vec<bool>, u64)>,
    room: u64,
}

impl<'a> TakeOut<'a> {
    fn new(filter: &'a mut AnyFilter, options: &Options) -> Result<Self, Error> {
        filter.as_counting_mut()?;
        let room = room_left(filter.bytes(), options)?;
        Ok(Self { work: Mutex::new((filter, Vec::new(), 0)), room })
    }

    fn removed(self) -> u64 {
        self.work.into_inner().expect("no worker panics").2
    }
}

impl Visit for TakeOut<'_> {
    type Local = ();

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut work = self.work.lock().expect("no worker panics");
        let (filter, removed, count) = &mut *work;
        removed.resize(lines.len(), false);
        filter.as_counting_mut()?.remove_all(lines.hashes(), removed);
        *count += removed.iter().filter(|&&removed| removed).count() as u64;
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}
