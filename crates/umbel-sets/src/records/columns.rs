//! The fields of a row of columns, strictly after RFC 4180.
//!
//! The crate `csv` and its like take broken quotes as well as they can and do not tell; but after
//! the first one, nobody knows where records end. So this refuses them: a quote opens a field or is
//! doubled within quotes, and after the closing one comes a delimiter or the end. What it accepts it
//! reads as `csv` does, which the tests compare.

use memchr::{memchr, memchr_iter, memchr3};

use super::{Flaw, Value, Written};
use crate::error::QuoteFlaw;

/// Reads the record of CSV that starts `bytes`, up to its end: finds the values of `columns`, in their
/// order, and gives its length without the line feed.
pub(super) fn find(
    bytes: &[u8],
    delimiter: u8,
    columns: &[usize],
    values: &mut Vec<Value>,
) -> Result<usize, Flaw> {
    let mut count = 0;
    let length = if let [wanted] = *columns {
        each(bytes, delimiter, |column, value| {
            count = column + 1;
            if column == wanted {
                values.push(value);
            }
            Ok(())
        })?
    } else {
        values.resize(columns.len(), MISSING);
        each(bytes, delimiter, |column, value| {
            count = column + 1;
            put(column, value, columns, values);
            Ok(())
        })?
    };
    present(columns, count).map(|()| length)
}

/// Finds the values of `columns` in a row of TSV.
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
    values.resize(columns.len(), MISSING);
    let mut count = 0;
    each_unquoted(row, delimiter, |column, value| {
        count = column + 1;
        put(column, value, columns, values);
        Ok(())
    })?;
    present(columns, count)
}

const MISSING: Value = Value { start: usize::MAX, end: 0, written: Written::Plain };

/// Keeps a value wherever its column is asked for.
fn put(column: usize, value: Value, columns: &[usize], values: &mut [Value]) {
    for (place, _) in values.iter_mut().zip(columns).filter(|(_, wanted)| **wanted == column) {
        *place = value;
    }
}

/// Whether all of `columns` are among the first `count`.
fn present(columns: &[usize], count: usize) -> Result<(), Flaw> {
    match columns.iter().position(|&column| column >= count) {
        None => Ok(()),
        Some(field) => {
            let s = if count == 1 { "" } else { "s" };
            Err(Flaw::NoField { field, found: format!("{count} field{s}") })
        }
    }
}

/// Shows each value of the record that starts `bytes`, with the number of its column from 0; gives
/// the record's length without the line feed. One walk finds the values, the end, and what is broken.
pub(super) fn each(
    bytes: &[u8],
    delimiter: u8,
    mut each: impl FnMut(usize, Value) -> Result<(), Flaw>,
) -> Result<usize, Flaw> {
    let broken = |flaw, at| Err(Flaw::Quote { flaw, at });
    let mut start = 0;
    for column in 0.. {
        let next = if bytes.get(start) == Some(&b'"') {
            let (mut end, mut written) = (start + 1, Written::Plain);
            loop {
                match memchr(b'"', &bytes[end..]) {
                    None => return broken(QuoteFlaw::Open, start),
                    Some(at) => end += at,
                }
                if bytes.get(end + 1) != Some(&b'"') {
                    break;
                }
                written = Written::Doubled;
                end += 2;
            }
            each(column, Value { start: start + 1, end, written })?;
            // A carriage return belongs to the end of the record.
            match bytes[end + 1..] {
                [b'\r'] | [b'\r', b'\n', ..] => end + 2,
                _ => end + 1,
            }
        } else {
            let rest = &bytes[start..];
            let next = memchr3(delimiter, b'"', b'\n', rest).map_or(bytes.len(), |at| start + at);
            let end = match bytes.get(next) {
                Some(b'"') => return broken(QuoteFlaw::Bare, next),
                Some(&byte) if byte == delimiter => next,
                _ if bytes[start..next].ends_with(b"\r") => next - 1,
                _ => next,
            };
            each(column, Value { start, end, written: Written::Plain })?;
            next
        };
        match bytes.get(next) {
            None | Some(b'\n') => return Ok(next),
            Some(&byte) if byte == delimiter => start = next + 1,
            Some(_) => return broken(QuoteFlaw::Closed, next),
        }
    }
    unreachable!("a record has an end")
}

/// As [`each`], of a row where a quote is a byte like others.
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
