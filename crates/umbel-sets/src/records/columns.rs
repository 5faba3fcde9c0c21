//! The fields of a row of columns, strictly after RFC 4180.
//!
//! The crate `csv` and others silently tolerate broken quotes; but after the first one, the ends of records
//! are unknown. So this module refuses them: a quote opens a field or is doubled within quotes, and the closing one is
//! followed by a delimiter or the end. It reads everything it accepts as `csv` does; the tests verify this.

use memchr::{memchr_iter, memchr2};

use super::{Csv, Flaw, KeyAt, Quoting, Value};
use crate::ends::Ends;
use crate::error::QuoteFlaw;

/// Reads the CSV record at the start of `bytes`: finds the values of `columns`, in their order, and returns the
/// record's length without the line feed.
pub(super) fn find(
    bytes: &[u8],
    csv: Csv,
    columns: &[usize],
    values: &mut Vec<Value>,
) -> Result<usize, Flaw> {
    values.resize(columns.len(), Value::MISSING);
    each(bytes, csv, |column, value| {
        put(column, value, columns, values);
        Ok(())
    })
}

/// Finds the values of `columns` among the fields of a row; nothing after the last of them is read.
pub(super) fn find_among(
    mut fields: impl Iterator<Item = Value>,
    columns: &[usize],
    values: &mut Vec<Value>,
) {
    values.resize(columns.len(), Value::MISSING);
    if let [column] = *columns {
        values[0] = fields.nth(column).unwrap_or(Value::MISSING);
        return;
    }
    let most = columns.iter().max().map_or(0, |last| last + 1);
    for (column, value) in fields.take(most).enumerate() {
        put(column, value, columns, values);
    }
}

/// The fields of a row between delimiters, where a quote is an ordinary byte.
pub(super) fn between(row: &[u8], delimiter: u8) -> impl Iterator<Item = Value> {
    let mut next = 0;
    memchr_iter(delimiter, row).chain([row.len()]).map(move |end| {
        let start = std::mem::replace(&mut next, end + 1);
        Value::plain(start, end)
    })
}

/// The fields of a row between runs of spaces and tabs.
pub(super) fn between_blanks(row: &[u8]) -> impl Iterator<Item = Value> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + row[at..].iter().position(|byte| !is_blank(byte))?;
        let end = memchr2(b' ', b'\t', &row[start..]).map_or(row.len(), |length| start + length);
        at = end;
        Some(Value::plain(start, end))
    })
}

/// Stores a value wherever its column is wanted.
fn put(column: usize, value: Value, columns: &[usize], values: &mut [Value]) {
    for (place, _) in values.iter_mut().zip(columns).filter(|(_, wanted)| **wanted == column) {
        *place = value;
    }
}

/// Reads rows without quotes whose key is there, one value or the whole row: one walk over all of them.
pub(crate) struct Simple<'b> {
    pub(super) bytes: &'b [u8],
    /// Delimiters, quotes that are not text, and line feeds.
    pub(super) ends: Ends<'b, 3>,
    /// The column of the key, or that must not be empty.
    pub(super) column: Option<usize>,
    /// Whether the whole row is the key.
    pub(super) whole: bool,
}

impl Simple<'_> {
    /// The length of the row at `start`, which is behind those read before, without its line feed, and its key; `None` for any
    /// other row.
    #[inline]
    pub(crate) fn next(&mut self, start: usize) -> Option<(usize, KeyAt)> {
        let (mut field, mut column, mut key) = (start, 0, start..start);
        for at in self.ends.by_ref().skip_while(|&at| at < start) {
            let is_last = self.bytes[at] == b'\n';
            if self.bytes[at] == b'"' {
                return None;
            }
            let end = at - usize::from(is_last && self.bytes[start..at].ends_with(b"\r"));
            if self.column == Some(column) {
                key = field..end;
            }
            if is_last {
                if self.whole && (self.column.is_none() || !key.is_empty()) {
                    key = start..end;
                }
                let (from, length) = ((key.start - start) as u32, key.len() as u32);
                return (length > 0)
                    .then_some((at - start, KeyAt { copied: false, start: from, length }));
            }
            (field, column) = (at + 1, column + 1);
        }
        None
    }
}

/// Passes on each value of the record at the start of `bytes`, with the index of its column; returns the record's
/// length without the line feed. One walk finds the values, the end, and errors.
pub(crate) fn each(
    bytes: &[u8],
    Csv { delimiter, blanks }: Csv,
    mut each: impl FnMut(usize, Value) -> Result<(), Flaw>,
) -> Result<usize, Flaw> {
    let broken = |flaw, at| Err(Flaw::Quote { flaw, at });
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t') && *byte != delimiter;
    let (mut start, mut ends) = (0, Ends::new([delimiter, b'"', b'\n'], bytes));
    for column in 0.. {
        let quoted = match bytes.get(start) {
            Some(b'"') => true,
            Some(byte) if blanks && is_blank(byte) => {
                let ahead = bytes[start..].iter().take_while(|byte| is_blank(byte)).count();
                let quoted = bytes.get(start + ahead) == Some(&b'"');
                start += if quoted { ahead } else { 0 };
                quoted
            }
            _ => false,
        };
        let next = if quoted {
            let (mut end, mut written) = (start + 1, Quoting::Plain);
            loop {
                match ends.find(|&at| at >= end && bytes[at] == b'"') {
                    None => return broken(QuoteFlaw::Open, start),
                    Some(at) => end = at,
                }
                if bytes.get(end + 1) != Some(&b'"') {
                    break;
                }
                written = Quoting::Doubled;
                end += 2;
            }
            each(column, Value { start: start + 1, end, written })?;
            if blanks {
                end += bytes[end + 1..].iter().take_while(|byte| is_blank(byte)).count();
            }
            // A carriage return belongs to the end of the record.
            match bytes[end + 1..] {
                [b'\r'] | [b'\r', b'\n', ..] => end + 2,
                _ => end + 1,
            }
        } else {
            let next = ends.find(|&at| at >= start).unwrap_or(bytes.len());
            let end = match bytes.get(next) {
                Some(b'"') if bytes[start..next].iter().all(is_blank) => {
                    return broken(QuoteFlaw::Blank, next);
                }
                Some(b'"') => return broken(QuoteFlaw::Bare, next),
                Some(&byte) if byte == delimiter => next,
                _ if bytes[start..next].ends_with(b"\r") => next - 1,
                _ => next,
            };
            each(column, Value::plain(start, end))?;
            next
        };
        match bytes.get(next) {
            None | Some(b'\n') => return Ok(next),
            Some(&byte) if byte == delimiter => start = next + 1,
            Some(_) => {
                let after = bytes[next..].iter().find(|byte| !is_blank(byte));
                let is_end = after.is_none_or(|&byte| byte == delimiter || b"\r\n".contains(&byte));
                return broken(if is_end { QuoteFlaw::Blank } else { QuoteFlaw::Closed }, next);
            }
        }
    }
    unreachable!("a record has an end")
}
