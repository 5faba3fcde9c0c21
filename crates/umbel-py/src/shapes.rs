//! Inputs of other shapes than the first: bare keys, and records with or without a header. Each is rewritten as records like
//! those of the first, before the job.

use std::slice;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use umbel_sets::inputs::NamedInput;
use umbel_sets::{
    Error, Form, Input, Normalization, Options, Records, SpoolWriter, keys, quote, room_left,
};

/// What an input is, compared with the records of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Such records.
    #[default]
    Records,
    /// Values of the key's only field: lines of a file, whose empty lines and carriage returns do not count.
    KeysOfFile,
    /// Such values from Python, each with a zero byte behind it.
    Keys,
    /// Such records, but without a header.
    Headless,
    /// Such records under a header, which those of the first input do not have.
    Headed,
}

impl Shape {
    pub(crate) fn is_of_keys(self) -> bool {
        matches!(self, Self::Keys | Self::KeysOfFile)
    }

    /// Options to read an input of this shape as a file, before it is rewritten.
    pub(crate) fn options(self, options: &Options) -> Options {
        let end = if self == Self::Keys { 0 } else { b'\n' };
        let is_file = self == Self::KeysOfFile;
        let form = match self {
            Self::Records => return options.clone(),
            Self::Keys | Self::KeysOfFile => Form {
                normalization: Normalization { crlf: is_file, ..Normalization::default() },
                ..Records::Lines(end).into()
            },
            Self::Headless | Self::Headed => {
                let mut records = options.form.records.clone();
                if let Records::Csv { header, key, .. } | Records::Tsv { header, key, .. } =
                    &mut records
                {
                    (*header, *key) = (self == Self::Headed, Vec::new());
                }
                Form { bad: options.form.bad, ..records.into() }
            }
        };
        Options { form, ..options.clone() }
    }

    /// Rewrites an input that was opened with its options as records of the job.
    pub(crate) fn rewritten(self, input: Input, options: &Options) -> Result<Input, Error> {
        let (read, form) = (self.options(options), &options.form);
        let mut rows = SpoolWriter::new(input.name(), options)?;
        let name = form.others.first().or(form.records.key().first()).map_or("", String::as_str);
        let mut header = form.records.has_header();
        keys(slice::from_ref(&input), room_left(0, &read.resources)?, &read, |batch| {
            for (i, key) in batch.iter().enumerate() {
                match self {
                    Self::KeysOfFile if key.is_empty() => continue,
                    // By numbers: a key that is a number finds its column.
                    Self::Headless if std::mem::take(&mut header) => {
                        let column = form.records.column().unwrap_or(b'\t');
                        let names: Vec<_> =
                            (1..=fields(key, column).len()).map(|n| n.to_string()).collect();
                        rows.row(names.join(&char::from(column).to_string()).as_bytes())?;
                    }
                    _ => {}
                }
                if !self.is_of_keys() {
                    rows.row(key)?;
                    continue;
                }
                let refuse = |why| batch.refuse(i, why);
                if std::mem::take(&mut header) {
                    rows.row(&row_of(name.as_bytes(), &form.records, name).map_err(refuse)?)?;
                }
                rows.row(&row_of(key, &form.records, name).map_err(refuse)?)?;
            }
            Ok(())
        })?;
        if header && self.is_of_keys() {
            rows.row(&row_of(name.as_bytes(), &form.records, name).unwrap_or_default())?;
        }
        rows.finish()
    }
}

/// Names the field of the key that all inputs after the first have, if all of these are keys; otherwise records name it.
pub(crate) fn name_key(inputs: &[(NamedInput, Shape)], form: &mut Form) -> PyResult<()> {
    let bare = |&(_, shape): &(NamedInput, Shape)| shape.is_of_keys();
    let Some(number) = inputs.iter().position(bare) else { return Ok(()) };
    let name = form.others.first().or(form.records.key().first());
    let is_json = matches!(form.records, Records::JsonLines { .. });
    // The first column, or a member of an object.
    let is_first =
        |name: &String| name == "1" || is_json && !name.starts_with('/') && !name.contains('.');
    let named = form.records.has_header() || name.is_some_and(is_first);
    if !form.records.has_header() && inputs[1..].iter().all(bare) {
        form.others = vec!["1".to_owned()];
    } else if !named {
        return Err(PyValueError::new_err(format!(
            "input {}: bare keys go with records whose key is a column with a name or a member of JSON; give records, or bare \
             keys for all inputs after the first",
            number + 1
        )));
    }
    Ok(())
}

/// A key as a record of its own; an error if no such record has it.
fn row_of(key: &[u8], records: &Records, name: &str) -> Result<Vec<u8>, &'static str> {
    let mut row = key.to_vec();
    let blanks: &[u8] = match records {
        Records::Csv { delimiter, .. } => {
            quote(&mut row, 0, *delimiter);
            // An empty line is no record.
            row.extend_from_slice(if key.is_empty() { b"\"\"" } else { b"" });
            return Ok(row);
        }
        Records::JsonLines { .. } => {
            return Ok(
                [b"{", &json_text(name.as_bytes())[..], b":", &json_text(key), b"}"].concat()
            );
        }
        Records::Tsv { .. } => b"\t\n",
        _ => b" \t\n\r\0",
    };
    if key.is_empty() || key.ends_with(b"\r") || key.iter().any(|byte| blanks.contains(byte)) {
        return Err(
            "a key that is empty, or has a tab, a blank or a line end, is no field of such records; leave it out",
        );
    }
    Ok(row)
}

/// A text of JSON.
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

/// The fields of a row of CSV, or of TSV without quotes in it, without their quotes.
pub(crate) fn fields(row: &[u8], delimiter: u8) -> Vec<String> {
    let mut quoted = false;
    let fields = row.split(|byte| {
        quoted ^= *byte == b'"';
        *byte == delimiter && !quoted
    });
    let unquoted = |field: &[u8]| {
        let text = String::from_utf8_lossy(field);
        match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\""),
            None => text.into_owned(),
        }
    };
    fields.map(unquoted).collect()
}
