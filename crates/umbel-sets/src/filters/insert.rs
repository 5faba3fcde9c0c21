//! Inserts lines into a filter of any kind, or of another system.

use std::io::Read;
use std::sync::Mutex;

use umbel::AnyFilter;
use umbel_foreign::{ForeignFilter, ForeignInsert};

use super::count::one_field;
use super::filter::{Filter, ForeignLines};
use super::room::{growth, outgrown, room_left, room_to_fill};
use super::rows::Indices;
use crate::budget::Budget;
use crate::bulk::Fill;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit, Visitor};
use crate::{Error, Options};

/// Inserts every line of `inputs` into `filter`, on all threads.
///
/// # Errors
/// Those of reading; [`Error::Memory`] if the filter does not fit in the cap; [`Error::Outgrown`] if it would grow
/// beyond: then it holds the lines before; [`Error::Key`] for a line that is not a key of another system.
pub fn insert(inputs: &[Input], filter: &mut Filter, options: &Options) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, options)?;
    let fill: &dyn Visitor = match filter {
        Filter::Own(AnyFilter::Blocked(filter)) => &Fill::new(filter, scanner.budget),
        Filter::Own(other) => &FillWhole::new(other, scanner.budget, options)?,
        Filter::Foreign(lines) => &FillForeign::new(lines, scanner.budget),
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
        Filter::Own(filter) => &FillWhole::new(filter, scanner.budget, options)?,
        Filter::Foreign(lines) => &FillForeign::new(lines, scanner.budget),
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

/// Fills a filter of any kind, one batch at a time.
struct FillWhole<'a> {
    filter: Mutex<&'a mut AnyFilter>,
    /// Whether its bits depend on the order of the keys, as in a filter that grows.
    in_order: bool,
    /// For a filter of rows.
    places: Option<Indices>,
    budget: Budget,
}

impl<'a> FillWhole<'a> {
    fn new(filter: &'a mut AnyFilter, budget: Budget, options: &Options) -> Result<Self, Error> {
        let in_order = filter.plan().kind().in_order();
        let places = Indices::of_all(filter, options)?;
        Ok(Self { filter: Mutex::new(filter), in_order, places, budget })
    }

    fn insert(&self, lines: &Lines<'_>) -> Result<(), Error> {
        let mut filter = self.filter.lock().expect("no worker panics");
        if let (AnyFilter::Attributes(filter), Some(places)) = (&mut **filter, &self.places) {
            return places.insert(filter, lines);
        }
        filter.try_insert_all(lines.hashes()).map_err(|error| growth(error, self.budget))
    }
}

impl Visit for FillWhole<'_> {
    type Local = ();

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(self.in_order);
        if self.in_order { Ok(()) } else { self.insert(lines) }
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        self.insert(lines)
    }
}

/// Fills another system's filter with lines in order: counts and parts of some formats depend on it.
struct FillForeign<'a> {
    lines: Mutex<&'a mut ForeignLines>,
    budget: Budget,
}

impl<'a> FillForeign<'a> {
    fn new(lines: &'a mut ForeignLines, budget: Budget) -> Self {
        Self { lines: Mutex::new(lines), budget }
    }
}

impl Visit for FillForeign<'_> {
    type Local = ();

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let inserted = self.lines.lock().expect("no worker panics").insert(lines);
        inserted.map_err(|error| match error {
            Error::Foreign(umbel_foreign::Error::GrowthLimit { bytes, .. }) => {
                outgrown(bytes, self.budget)
            }
            error => error,
        })
    }
}
