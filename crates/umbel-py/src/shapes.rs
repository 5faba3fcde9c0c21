//! Inputs in a different shape than the first: bare keys, and records with or without a header. Each is rewritten in the
//! first input's record format before the job.

use std::slice;

use umbel_sets::sources::NamedInput;
use umbel_sets::{
    Error, Form, Input, Options, Records, SpoolWriter, keys, options_of_keys, records_of_keys,
    room_left,
};

use crate::prelude::*;

/// The shape of an input, compared with the job's records.
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
    /// Such records under a header, which the first input lacks.
    Headed,
}

impl Shape {
    pub(crate) fn is_of_keys(self) -> bool {
        matches!(self, Self::Keys | Self::KeysOfFile)
    }

    /// The end of each key.
    fn end(self) -> u8 {
        if self == Self::Keys { 0 } else { b'\n' }
    }

    /// Options to read an input of this shape as a file, before it is rewritten.
    pub(crate) fn options(self, options: &Options) -> Options {
        match self {
            Self::Records => options.clone(),
            Self::Keys | Self::KeysOfFile => options_of_keys(self.end(), options),
            Self::Headless | Self::Headed => {
                let mut records = options.form.records.clone();
                if let Records::Csv { header, key, .. } | Records::Tsv { header, key, .. } =
                    &mut records
                {
                    (*header, *key) = (self == Self::Headed, Vec::new());
                }
                let Form { skip, comment, ragged, bad, .. } = options.form;
                let form = Form { skip, comment, ragged, bad, ..records.into() };
                Options { form, ..options.clone() }
            }
        }
    }

    /// Rewrites an input that was opened with its options as records of the job.
    pub(crate) fn rewritten(self, input: Input, options: &Options) -> Result<Input, Error> {
        let (read, form) = (self.options(options), &options.form);
        if self.is_of_keys() {
            let name = form.others.first().or(form.records.key().first());
            return records_of_keys(&input, self.end(), name.map_or("", String::as_str), options);
        }
        let mut rows = SpoolWriter::new(input.name(), options)?;
        let mut names = self == Self::Headless && form.records.has_header();
        keys(slice::from_ref(&input), room_left(0, &read.resources)?, &read, |batch| {
            batch.iter().try_for_each(|row| {
                // By numbers: a key that is a number finds its column.
                if std::mem::take(&mut names) {
                    let column = form.records.column().unwrap_or(b'\t');
                    let quotes = matches!(form.records, Records::Csv { .. });
                    let width = width(row, column, quotes);
                    let names: Vec<_> = (1..=width).map(|n| n.to_string()).collect();
                    rows.row(names.join(&char::from(column).to_string()).as_bytes())?;
                }
                rows.row(row)
            })
        })?;
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
            "input {}: bare keys can be compared only with records whose key is a named column or a JSON member; give records, or bare \
             keys for all inputs after the first",
            number + 1
        )));
    }
    Ok(())
}

/// The number of fields in a row of columns; a delimiter between `quotes` ends none.
pub(crate) fn width(row: &[u8], delimiter: u8, quotes: bool) -> usize {
    let mut quoted = false;
    let ends = row.iter().filter(|byte| {
        quoted ^= quotes && **byte == b'"';
        **byte == delimiter && !quoted
    });
    ends.count() + 1
}
