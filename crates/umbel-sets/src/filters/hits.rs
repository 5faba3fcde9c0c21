//! The hashes of the lines that may be in a filter.

use std::sync::Mutex;

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
    let ask = Ask { filter, hits: Mutex::new((each, 0)) };
    let mut report = Report::default();
    scanner.read(inputs, room, &ask, &mut report)?;
    report.found = ask.hits.into_inner().expect("no worker panics").1;
    Ok(report)
}

type See<'a> = dyn FnMut(&[KeyHash]) + Send + 'a;

struct Ask<'a> {
    filter: &'a AnyFilter,
    /// What sees them, and their number.
    hits: Mutex<(&'a mut See<'a>, u64)>,
}

impl Visit for Ask<'_> {
    type Local = ();

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        self.filter.contains_all(lines.hashes(), keep);
        Ok(())
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut hits = self.hits.lock().expect("no worker panics");
        hits.1 += lines.len() as u64;
        (hits.0)(lines.hashes());
        Ok(())
    }
}
