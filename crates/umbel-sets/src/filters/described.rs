//! The description of a job's keys, as the file of a filter has it.
//!
//! Hashes do not depend on where a key came from, so a filter of one column accepts keys of another, and answers that
//! all of them are absent. The description in its file distinguishes them.

use umbel::{KeyDescription, KeyForm, Kind};

use crate::{Error, Form, Records};

/// Returns the description for a filter made from the keys of a job, which have a form. `names` are the filter's names for
/// the fields of the key; empty if it uses the job's.
///
/// A filter of rows stores the names of its fields itself, and queries can name any of them in any order: they are not
/// repeated.
///
/// # Errors
/// [`Error::Names`] if there are names, but not one for each field; [`Error::NamesOfRows`]; [`Error::Filter`] if they
/// are too long.
pub fn describe_keys(
    kind: Kind,
    form: &Form,
    names: &[String],
    key_form: KeyForm,
) -> Result<KeyDescription, Error> {
    let fields = form.records.key();
    if let Some(option) = form.keeps_keyless() {
        return Err(Error::KeptWithoutKey(option));
    }
    if kind.rows() && !names.is_empty() {
        return Err(Error::NamesOfRows);
    }
    let names = if names.is_empty() { fields } else { names };
    if names.len() != fields.len() {
        return Err(Error::Names { fields: fields.len(), names: names.len() });
    }
    let mut keys = KeyDescription::default();
    let mut say =
        |name, value: &str| keys.push(name, value).map_err(|error| Error::Filter(error.into()));
    if !kind.rows() {
        // In the order of the key.
        names.iter().try_for_each(|field| say("field", field))?;
    }
    say("type", key_form.name())?;
    if let Some(step) = whole(&form.records).filter(|_| !kind.rows()) {
        say("normalization", &step)?;
    }
    let steps = form.records.is_raw().then_some("raw").into_iter();
    steps.chain(form.normalization.steps()).try_for_each(|step| say("normalization", step))?;
    Ok(keys)
}

/// The step that makes a key of a whole record, which is no line.
fn whole(records: &Records) -> Option<String> {
    let (form, usual, delimiter) = match *records {
        _ if !records.key().is_empty() => return None,
        Records::Lines(_) | Records::Fields { .. } => return None,
        Records::Csv { delimiter, .. } => ("csv", b',', delimiter),
        Records::Tsv { delimiter, .. } => ("tsv", b'\t', delimiter),
        Records::JsonLines { .. } => return Some("jsonl".to_owned()),
    };
    let other =
        (delimiter != usual).then(|| format!(" {}", char::from(delimiter).escape_default()));
    Some(form.to_owned() + &other.unwrap_or_default())
}
