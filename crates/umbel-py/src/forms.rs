//! Options of jobs as Python gives them in a dict, and the format of rows that they define. `umbel._files` has checked them
//! together.

use umbel_sets::{Bad, Empty, Form, Missing, Normalization, Ragged, Records};

use crate::prelude::*;
use crate::values::choice;

/// An option; one that is not given is None.
pub(crate) fn option<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let py = given.py();
    let value = given.get_item(name)?.unwrap_or_else(|| py.None().into_bound(py));
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyTypeError>(py) {
            true => PyTypeError::new_err(format!("argument '{name}': {}", error.value(py))),
            false => error,
        }
    })
}

/// Whether an option is given and true.
pub(crate) fn flag(given: &Bound<'_, PyDict>, name: &str) -> PyResult<bool> {
    Ok(option::<Option<bool>>(given, name)?.unwrap_or_default())
}

/// The values of an option; none if it is not given.
pub(crate) fn list<'py, T>(given: &Bound<'py, PyDict>, name: &str) -> PyResult<Vec<T>>
where
    Vec<T>: FromPyObjectOwned<'py>,
{
    Ok(option::<Option<Vec<T>>>(given, name)?.unwrap_or_default())
}

/// The false positive rate, if it is given.
pub(crate) fn fpp(given: &Bound<'_, PyDict>) -> PyResult<Option<f64>> {
    match option(given, "fpp")? {
        Some(fpp) if !(fpp > 0.0 && fpp < 1.0) => {
            Err(PyValueError::new_err("fpp: expected a probability above 0 and below 1"))
        }
        fpp => Ok(fpp),
    }
}

/// The value that an option's word stands for, if given; an error names all words.
pub(crate) fn word<T: Copy>(
    given: &Bound<'_, PyDict>,
    name: &str,
    words: &[(&str, T)],
) -> PyResult<Option<T>> {
    option::<Option<String>>(given, name)?.map(|found| meaning(name, &found, words)).transpose()
}

fn meaning<T: Copy>(name: &str, found: &str, words: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found) {
        return Ok(*meaning);
    }
    let mut names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    let last = names.pop().unwrap_or_default();
    Err(choice(name, &format!("{} or {last}", names.join(", ")), found))
}

/// The byte of an option.
fn byte(name: &str, text: &str) -> PyResult<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(choice(name, "one byte", text)),
    }
}

/// How empty values in a key are treated.
pub(crate) const EMPTY: &[(&str, Empty)] =
    &[("value", Empty::Value), ("skip", Empty::Skip), ("keep", Empty::Keep)];

/// The format of a job's rows, except for empty values; and the delimiters of columns: one for all inputs, or one for each.
pub(crate) fn form(given: &Bound<'_, PyDict>) -> PyResult<(Form, Vec<u8>)> {
    let delimiters: Vec<String> = list(given, "delimiter")?;
    let delimiters: Vec<_> =
        delimiters.iter().map(|text| byte("delimiter", text)).collect::<PyResult<_>>()?;
    let key: Vec<String> = list(given, "key")?;
    let header = option::<Option<bool>>(given, "header")?.unwrap_or(true);
    let (end, raw) = (if flag(given, "null")? { 0 } else { b'\n' }, flag(given, "raw")?);
    let quotes = word(given, "quotes", &[("double", true), ("none", false)])?.unwrap_or(true);
    let ragged = word(given, "ragged", &[("refuse", Ragged::Refuse), ("pad", Ragged::Pad)])?;
    let comment: Option<String> = option(given, "comment")?;
    let comment = comment.map(|text| byte("comment", &text)).transpose()?;
    let skip: i64 = option::<Option<_>>(given, "skip")?.unwrap_or_default();
    let skip = u64::try_from(skip)
        .map_err(|_| choice("skip", "a number of lines, at least 0", &skip.to_string()))?;
    let delimiter = *delimiters.first().unwrap_or(&b',');
    let records = match option::<Option<String>>(given, "records")?.as_deref() {
        None if key.is_empty() => Records::Lines(end),
        None => {
            return Err(PyValueError::new_err(
                "key names a field of a record: set the format with records=\"csv\", \"tsv\", \"jsonl\" or \"fields\"",
            ));
        }
        Some("csv") if quotes => Records::Csv { delimiter, header, key, raw },
        Some("csv") => Records::Tsv { delimiter, header, key },
        Some("tsv") => Records::Tsv { delimiter: b'\t', header, key },
        Some("jsonl") => Records::JsonLines { key, raw },
        Some("fields") => Records::Fields { end, key },
        Some(other) => return Err(choice("records", "csv, tsv, jsonl or fields", other)),
    };
    let mut normalization = Normalization {
        crlf: flag(given, "crlf")?,
        trim: flag(given, "trim")?,
        ignore_case: flag(given, "ignore_case")?,
        ..Normalization::default()
    };
    for form in list::<String>(given, "normalize")? {
        let forms = [("url", 0), ("email", 1), ("number", 2), ("thousands", 3), ("nfc", 4)];
        let Normalization { url, email, number, thousands, nfc, .. } = &mut normalization;
        *[url, email, number, thousands, nfc][meaning("normalize", &form, &forms)?] = true;
    }
    let missing = [("error", Missing::Refuse), ("skip", Missing::Skip), ("keep", Missing::Keep)];
    let form = Form {
        others: list(given, "others")?,
        ignored: list(given, "ignored")?,
        normalization,
        skip,
        comment,
        ragged: ragged.unwrap_or_default(),
        by_name: flag(given, "by_name")?,
        missing: word(given, "missing", &missing)?.unwrap_or_default(),
        bad: word(given, "bad", &[("error", Bad::Refuse), ("skip", Bad::Skip)])?
            .unwrap_or_default(),
        ..records.into()
    };
    Ok((form, delimiters))
}
