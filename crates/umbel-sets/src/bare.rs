//! Lists of bare keys as records of one field.

use std::slice;

use crate::filters::room_left;
use crate::input::{Input, SpoolWriter};
use crate::keys::keys;
use crate::records::{json_number, quote, width};
use crate::{Bad, Empty, Error, Form, Normalization, Options, Records};

/// Returns the options that read bare keys, each up to the byte `end`. Keys of lines are not empty, and have no carriage
/// return at their end; lines that the options skip or take for comments are none.
#[must_use]
pub fn options_of_keys(end: u8, options: &Options) -> Options {
    let lines = end == b'\n';
    let Form { skip, comment, .. } = if lines { options.form.clone() } else { Form::default() };
    let form = Form {
        normalization: Normalization { crlf: lines, ..Normalization::default() },
        empty: if lines { Empty::Skip } else { Empty::Value },
        skip,
        comment,
        ..Records::Lines(end).into()
    };
    Options { form, ..options.clone() }
}

/// Rewrites an input of bare keys, read as [`options_of_keys`] says, as records of [`Form::records`]: `field` is the name of
/// each key in JSON and in the header, if records have one. A line in quotes is a value of CSV. A key that is a number may also
/// be one of JSON, and then becomes two records.
///
/// # Errors
/// Read errors and errors of temporary files; [`Error::Key`] for a key that the records cannot represent.
pub fn records_of_keys(
    input: &Input,
    end: u8,
    field: &str,
    options: &Options,
) -> Result<Input, Error> {
    let (read, records) = (options_of_keys(end, options), &options.form.records);
    let lines_of_csv = end == b'\n' && matches!(records, Records::Csv { .. });
    let (mut rows, mut doubled) = (SpoolWriter::new(input.name(), options)?, false);
    if records.has_header() {
        rows.row(&row_of(field.as_bytes(), &options.form, field).unwrap_or_default())?;
    }
    keys(slice::from_ref(input), room_left(0, &read.resources)?, &read, |batch| {
        batch.iter().enumerate().try_for_each(|(i, key)| {
            let quoted = lines_of_csv && key.starts_with(b"\"");
            if quoted && matches!(width(records.kind(), key), Ok(Some(1))) {
                return rows.row(key);
            }
            if let Some(number) = json_number(key, records).filter(|number| number != key) {
                doubled = true;
                rows.row(&member(field, &number))?;
            }
            rows.row(&row_of(key, &options.form, field).map_err(|why| batch.refuse(i, why))?)
        })
    })?;
    let mut records = rows.finish()?;
    records.doubled = doubled;
    Ok(records)
}

/// A key as a one-field record; an error if such a record cannot represent it.
fn row_of(key: &[u8], form: &Form, field: &str) -> Result<Vec<u8>, &'static str> {
    let (mut row, records) = (key.to_vec(), &form.records);
    let is_outside = |byte: &u8| match records {
        Records::Tsv { delimiter, .. } => [*delimiter, b'\n'].contains(byte),
        _ => b" \t\n\r\0".contains(byte),
    };
    match records {
        Records::Csv { delimiter, .. } => {
            quote(&mut row, 0, *delimiter);
            // An empty line would not be a record.
            row.extend_from_slice(if key.is_empty() { b"\"\"" } else { b"" });
            Ok(row)
        }
        // Otherwise it is counted where it is left out.
        Records::JsonLines { .. } if form.bad == Bad::Refuse && str::from_utf8(key).is_err() => {
            Err("a key that is not UTF-8 cannot be a string in JSON; leave it out")
        }
        Records::JsonLines { .. } => Ok(member(field, &json_text(key))),
        _ if key.is_empty() || key.ends_with(b"\r") || key.iter().any(is_outside) => Err(
            "a key that is empty, or has a delimiter or a line end, cannot be a field of such records; leave it out",
        ),
        _ => Ok(row),
    }
}

/// An object with one member.
fn member(name: &str, value: &[u8]) -> Vec<u8> {
    [b"{", &json_text(name.as_bytes())[..], b":", value, b"}"].concat()
}

/// A JSON string of any bytes, which need not be UTF-8.
fn json_text(text: &[u8]) -> Vec<u8> {
    let mut json = vec![b'"'];
    for &byte in text {
        match byte {
            b'"' | b'\\' => json.extend([b'\\', byte]),
            0..0x20 => json.extend(format!("\\u{byte:04x}").bytes()),
            _ => json.push(byte),
        }
    }
    json.push(b'"');
    json
}
