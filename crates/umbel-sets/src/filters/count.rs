//! Counts lines, or the keys that another system reads in them, to size a filter.

use umbel_foreign::{Format, KeyCounter, KeyType};

use super::filter::{about, checked_type, each_batch};
use crate::prelude::*;

/// Counts the lines of `inputs`: an upper bound of their different keys.
///
/// # Errors
/// Read errors.
pub fn count(inputs: &[Input], options: &Options) -> Result<u64, Error> {
    let scanner = Scanner::new(options, KeyHasher::default())?;
    Ok(scanner.read(inputs, &Visit::in_any_order(scanner.budget.rest, |_| Ok(())))?.lines)
}

/// Counts the keys that another system reads in the lines of `inputs`, as it does to size a filter.
///
/// # Errors
/// Read errors; [`Error::Key`] for a line that is not a key, if the system parses keys to count them.
pub fn count_keys(
    inputs: &[Input],
    format: Format,
    key_type: Option<KeyType>,
    options: &Options,
) -> Result<u64, Error> {
    let key_type = checked_type(format, key_type)?;
    one_field(format, &options.form)?;
    if !format.counts_keys() {
        return count(inputs, options);
    }
    let scanner = Scanner::new(options, KeyHasher::default())?;
    let mut counter = KeyCounter::new(format);
    let count = |lines: &Lines<'_>| {
        each_batch(key_type, lines, |first, keys| {
            let mut keys = (first..).zip(keys);
            keys.try_for_each(|(i, key)| counter.add(*key).map_err(|error| about(lines, i, error)))
        })
    };
    scanner.read(inputs, &Visit::in_order(scanner.budget.rest, count))?;
    Ok(counter.keys())
}

/// Keys of other systems are single values, not rows.
pub(super) fn one_field(format: Format, form: &Form) -> Result<(), Error> {
    match form.records.key().len() {
        0 | 1 => Ok(()),
        fields => Err(Error::KeyFields { format, fields }),
    }
}
