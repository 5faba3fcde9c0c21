//! The hashes of the lines that may be in a filter.

use umbel::{AnyFilter, Filter, KeyHash};

use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::{Error, Options};

/// Looks up the lines of `inputs` in a filter of keys, on all threads, and calls `each` with the hashes of lines that
/// may be in it, in order. `beside` are the bytes of memory that the caller uses, without the filter.
///
/// # Errors
/// Read errors; [`Error::NoKey`]; [`Error::Memory`].
pub fn hits(
    inputs: &[Input],
    filter: &AnyFilter,
    beside: u64,
    each: &mut See<'_>,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    let room = scanner.budget.left(filter.bytes().saturating_add(beside))?;
    let mut found = 0;
    let ask = |lines: &Lines<'_>, keep: &mut [bool]| {
        filter.contains_all(lines.hashes(), keep);
        Ok(())
    };
    let see = |lines: &Lines<'_>| {
        found += lines.len() as u64;
        each(lines.hashes());
        Ok(())
    };
    let report = scanner.read(inputs, &Visit::of_some(room, ask, see))?;
    Ok(Report { found, ..report })
}

type See<'a> = dyn FnMut(&[KeyHash]) + Send + 'a;
