//! Inserts lines into a filter of any kind, or of another system.

use std::io::Read;

use umbel::{AnyFilter, Filter as _};
use umbel_foreign::{ForeignFilter, ForeignInsert};

use super::count::one_field;
use super::filter::{Filter, ForeignLines};
use super::room::{growth, outgrown, room_left, room_to_fill};
use super::rows::Indices;
use crate::budget::Budget;
use crate::bulk::Fill;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Each, Lines, Scanner, Visit, Visitor};
use crate::{Error, Options};

/// Inserts every line of `inputs` into `filter`, on all threads.
///
/// # Errors
/// Read errors; [`Error::Memory`] if the filter does not fit in the cap; [`Error::Outgrown`] if it would outgrow the
/// cap: then it holds the lines before; [`Error::Key`] for a line that is not a key of another system.
pub fn insert(inputs: &[Input], filter: &mut Filter, options: &Options) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, options)?;
    let fill: &dyn Visitor = match filter {
        Filter::Own(AnyFilter::Blocked(filter)) => &Fill::new(filter, scanner.budget),
        Filter::Own(other) => &fill_whole(other, scanner.budget, options)?,
        Filter::Foreign(lines) => &fill_foreign(lines, scanner.budget),
    };
    let mut report = Report::default();
    scanner.read(inputs, room, fill, &mut report)?;
    Ok(report)
}

/// Inserts every line of `source` into `filter`.
///
/// # Errors
/// As [`insert`].
pub fn insert_stream(
    name: &str,
    source: &mut dyn Read,
    filter: &mut Filter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, options)?;
    let fill: &dyn Visitor = match filter {
        Filter::Own(filter) => &fill_whole(filter, scanner.budget, options)?,
        Filter::Foreign(lines) => &fill_foreign(lines, scanner.budget),
    };
    let mut report = Report::default();
    scanner.read_stream((name, source), room, fill, &mut report)?;
    Ok(report)
}

/// Like [`room_to_fill`], for a filter of umbel or of another system.
fn room_to_insert(filter: &mut Filter, options: &Options) -> Result<u64, Error> {
    let lines = match filter {
        Filter::Own(filter) => return room_to_fill(filter, options),
        Filter::Foreign(lines) => lines,
    };
    let format = lines.filter().format();
    one_field(format, options)?;
    let room = room_left(lines.filter().bytes_to_fill(), options)?;
    if !format.grows() {
        return Ok(room);
    }
    let budget = Budget::new(options.memory, options.threads)?;
    lines.filter_mut().set_limit(budget.lasting());
    Ok(room.min(budget.long_line()))
}

/// Fills a filter of any kind, one batch at a time; in order if its bits depend on the order of the keys, as in a filter that
/// grows.
fn fill_whole<'a>(
    filter: &'a mut AnyFilter,
    budget: Budget,
    options: &Options,
) -> Result<impl Visit + 'a, Error> {
    let places = Indices::of_all(filter, options)?;
    Ok(Each::new(filter.plan().kind().in_order(), move |lines: &Lines<'_>| {
        match (&mut *filter, &places) {
            (AnyFilter::Attributes(filter), Some(places)) => places.insert(filter, lines),
            (filter, _) => {
                filter.try_insert_all(lines.hashes()).map_err(|error| growth(error, budget))
            }
        }
    }))
}

/// Fills another system's filter with lines in order: counts and parts of some formats depend on the order.
fn fill_foreign(filter: &mut ForeignLines, budget: Budget) -> impl Visit {
    Each::in_order(move |lines: &Lines<'_>| {
        filter.insert(lines).map_err(|error| match error {
            Error::Foreign(umbel_foreign::Error::GrowthLimit { bytes, .. }) => {
                outgrown(bytes, budget)
            }
            error => error,
        })
    })
}
