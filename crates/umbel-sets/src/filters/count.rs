//! Counts lines, or the keys that they are for another system, to size a filter.

use umbel::KeyHasher;
use umbel_foreign::{Format, KeyCounter, KeyType};

use super::filter::LineKeys;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Each, Lines, Nothing, Scanner};
use crate::{Error, Options};

/// Counts the lines of `inputs`: an upper bound of their different keys.
///
/// # Errors
/// Those of reading.
pub fn count(inputs: &[Input], options: &Options) -> Result<u64, Error> {
    let scanner = Scanner::new(options, KeyHasher::default())?;
    let mut report = Report::default();
    scanner.read(inputs, scanner.budget.rest, &Nothing, &mut report)?;
    Ok(report.lines)
}

/// Counts the keys that the lines of `inputs` are for another system, the way it does to size a filter.
///
/// # Errors
/// Those of reading; [`Error::Key`] for a line that is not a key, if the system reads keys to count them.
pub fn count_keys(
    inputs: &[Input],
    format: Format,
    key_type: Option<KeyType>,
    options: &Options,
) -> Result<u64, Error> {
    let keys = LineKeys::new(format, key_type)?;
    one_field(format, options)?;
    if !format.counts_keys() {
        return count(inputs, options);
    }
    let scanner = Scanner::new(options, KeyHasher::default())?;
    let mut counter = KeyCounter::new(format);
    let count = Each::in_order(|lines: &Lines<'_>| keys.count(&mut counter, lines));
    scanner.read(inputs, scanner.budget.rest, &count, &mut Report::default())?;
    Ok(counter.keys())
}

/// Keys of other systems are single values, not rows.
pub(super) fn one_field(format: Format, options: &Options) -> Result<(), Error> {
    match options.records.key().len() {
        0 | 1 => Ok(()),
        fields => Err(Error::KeyFields { format, fields }),
    }
}
