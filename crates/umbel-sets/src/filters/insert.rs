//! Inserts lines into a filter of any kind, or of another system, or removes them.

use umbel::{AnyFilter, Attributes, Filter as _};
use umbel_foreign::{ForeignFilter, ForeignInsert};

use super::count::one_field;
use super::filter::Filter;
use super::room::{outgrown, room_to_fill};
use super::rows::Indices;
use crate::bulk::Sharded;
use crate::prelude::*;

/// Inserts every line that is read into `filter`: lines of files on all threads, if its kind allows it.
///
/// # Errors
/// Read errors; [`Error::Memory`] if the filter does not fit in the cap; [`Error::Outgrown`] if it would outgrow the
/// cap: then it holds the lines before; [`Error::Key`] for a line that is not a key of another system.
pub fn insert<'r>(
    from: impl Into<ReadFrom<'r>>,
    filter: &mut Filter,
    options: &Options,
) -> Result<Report, Error> {
    let from = from.into();
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, &scanner.budget, options)?;
    let Budget { threads, bucketed, .. } = scanner.budget;
    match (filter, &from) {
        (Filter::Own(AnyFilter::Blocked(filter)), ReadFrom::Files(_)) => {
            scanner.read(from, &Sharded::new(filter, threads).fill(bucketed, room))
        }
        (filter, _) => scanner.read(from, &fill_whole(filter, room, scanner.budget, options)?),
    }
}

/// Like [`room_to_fill`], for a filter of umbel or of another system.
fn room_to_insert(filter: &mut Filter, budget: &Budget, options: &Options) -> Result<u64, Error> {
    let lines = match filter {
        Filter::Own(filter) => return room_to_fill(filter, budget),
        Filter::Foreign(lines) => lines,
    };
    let format = lines.filter.format();
    one_field(format, &options.form)?;
    let room = budget.left(lines.filter.bytes_to_fill())?;
    if !format.grows() {
        return Ok(room);
    }
    lines.filter.set_limit(budget.lasting());
    Ok(room.min(budget.long_line()))
}

/// Fills a filter one batch at a time; in order if its bits depend on the order of the keys, as in a filter that grows.
fn fill_whole<'a>(
    filter: &'a mut Filter,
    room: u64,
    budget: Budget,
    options: &Options,
) -> Result<Visit<'a>, Error> {
    let (places, in_order) = match filter {
        Filter::Own(filter) => {
            let places = Indices::of(filter, options, Attributes::indices_of_all)?;
            (places, filter.plan().kind().in_order())
        }
        // Counts and parts of some formats depend on it.
        Filter::Foreign(_) => (None, true),
    };
    let fill = move |lines: &Lines<'_>| {
        let filled = match (&mut *filter, &places) {
            (Filter::Own(AnyFilter::Attributes(filter)), Some(places)) => {
                places.insert(filter, lines)
            }
            (Filter::Own(filter), _) => filter.try_insert_all(lines.hashes()).map_err(Error::from),
            (Filter::Foreign(filter), _) => filter.insert(lines),
        };
        filled.map_err(|error| outgrown(error, budget))
    };
    Ok(if in_order { Visit::in_order(room, fill) } else { Visit::in_any_order(room, fill) })
}

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
    let room = scanner.budget.left(umbel::Filter::bytes(filter))?;
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
