//! The fields of a row of columns, strictly after RFC 4180.
//!
//! The crate `csv` and its like take broken quotes as well as they can and do not tell; but after
//! the first one, nobody knows where records end. So this refuses them: a quote opens a field or is
//! doubled within quotes, and after the closing one comes a delimiter or the end. What it accepts it
//! reads as `csv` does, which the tests compare.

use memchr::{memchr, memchr_iter, memchr2};

use super::{Flaw, Value, Written};
use crate::error::QuoteFlaw;

/// Finds the values of `columns`, in their order; checks the whole row.
pub(super) fn find(
    row: &[u8],
    delimiter: u8,
    columns: &[usize],
    values: &mut Vec<Value>,
) -> Result<(), Flaw> {
    if memchr(b'"', row).is_none() {
        return find_unquoted(row, delimiter, columns, values);
    }
    pick(columns, values, |each| self::each(row, delimiter, each))
}

/// As [`find`], where a quote is a byte like others.
pub(super) fn find_unquoted(
    row: &[u8],
    delimiter: u8,
    columns: &[usize],
    values: &mut Vec<Value>,
) -> Result<(), Flaw> {
    if let [column] = *columns {
        // Nothing behind that one column is looked at.
        let mut ends = memchr_iter(delimiter, row);
        let start = if column == 0 { Some(0) } else { ends.nth(column - 1).map(|at| at + 1) };
        if let Some(start) = start {
            let end = ends.next().unwrap_or(row.len());
            values.push(Value { start, end, written: Written::Plain });
            return Ok(());
        }
    }
    pick(columns, values, |each| each_unquoted(row, delimiter, each))
}

/// Keeps the values of `columns` of all that `walk` goes through.
fn pick(
    columns: &[usize],
    values: &mut Vec<Value>,
    walk: impl FnOnce(&mut dyn FnMut(usize, Value) -> Result<(), Flaw>) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    const MISSING: Value = Value { start: usize::MAX, end: 0, written: Written::Plain };
    values.resize(columns.len(), MISSING);
    let mut count = 0;
    walk(&mut |number, value| {
        count = number + 1;
        for (place, _) in values.iter_mut().zip(columns).filter(|(_, wanted)| **wanted == number) {
            *place = value;
        }
        Ok(())
    })?;
    match columns.iter().position(|&column| column >= count) {
        None => Ok(()),
        Some(field) => {
            let s = if count == 1 { "" } else { "s" };
            Err(Flaw::NoField { field, found: format!("{count} field{s}") })
        }
    }
}

/// Shows each value of a row with the number of its column, from 0.
pub(super) fn each(
    row: &[u8],
    delimiter: u8,
    mut each: impl FnMut(usize, Value) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let broken = |flaw, at| Err(Flaw::Quote { flaw, at });
    let mut start = 0;
    for column in 0.. {
        let next = if row.get(start) == Some(&b'"') {
            let (mut end, mut written) = (start + 1, Written::Plain);
            loop {
                match memchr(b'"', &row[end..]) {
                    None => return broken(QuoteFlaw::Open, start),
                    Some(at) => end += at,
                }
                if row.get(end + 1) != Some(&b'"') {
                    break;
                }
                written = Written::Doubled;
                end += 2;
            }
            each(column, Value { start: start + 1, end, written })?;
            end + 1
        } else {
            let end = memchr2(delimiter, b'"', &row[start..]).map_or(row.len(), |at| start + at);
            if row.get(end) == Some(&b'"') {
                return broken(QuoteFlaw::Bare, end);
            }
            each(column, Value { start, end, written: Written::Plain })?;
            end
        };
        match row.get(next) {
            None => break,
            Some(&byte) if byte == delimiter => start = next + 1,
            Some(_) => return broken(QuoteFlaw::Closed, next),
        }
    }
    Ok(())
}

/// As [`each`], where a quote is a byte like others.
pub(super) fn each_unquoted(
    row: &[u8],
    delimiter: u8,
    mut each: impl FnMut(usize, Value) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let mut start = 0;
    for (column, end) in memchr_iter(delimiter, row).chain([row.len()]).enumerate() {
        each(column, Value { start, end, written: Written::Plain })?;
        start = end + 1;
    }
    Ok(())
}
