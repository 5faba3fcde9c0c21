//! The definition of an index's keys, as stored in its file.

use crate::index::layout::{FIELD, NORMALIZATION};
use umbel_sets::{Bad, Form, Missing, Normalization, Records};

/// As names and values. Part of the format.
pub(crate) fn entries(form: &Form) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut say = |name: &str, value: &str| entries.push((name.to_owned(), value.to_owned()));
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    say("separator", &form.records.end().to_string());
    if let Records::Csv { delimiter, header, .. } | Records::Tsv { delimiter, header, .. } =
        &form.records
    {
        say("delimiter", &delimiter.to_string());
        say("header", yes_no(*header));
    }
    let records = match &form.records {
        Records::Csv { .. } => "csv",
        Records::Tsv { .. } => "tsv",
        Records::Fields { .. } => "fields",
        Records::JsonLines { .. } => "jsonl",
        _ => "lines",
    };
    say("records", records);
    form.records.key().iter().for_each(|field| say(FIELD, field));
    form.normalization.steps().for_each(|step| say(NORMALIZATION, step));
    say("missing", yes_no(form.missing == Missing::Skip));
    say("bad", yes_no(form.bad == Bad::Skip));
    entries
}

/// From names and values; `None` if they are invalid.
pub(crate) fn from_entries(entries: &[(String, String)]) -> Option<Form> {
    let named = |name: &'static str| entries.iter().filter(move |entry| entry.0 == name);
    let all = |name| named(name).map(|entry| entry.1.as_str());
    let one = |name| all(name).next();
    let yes = |name| match one(name) {
        Some("yes") => Some(true),
        Some("no") => Some(false),
        _ => None,
    };
    let key: Vec<_> = all(FIELD).map(str::to_owned).collect();
    let end = one("separator")?.parse().ok()?;
    let delimiter = || one("delimiter")?.parse().ok();
    let records = match one("records")? {
        "lines" if key.is_empty() => Records::Lines(end),
        "csv" => Records::Csv { delimiter: delimiter()?, header: yes("header")?, key, raw: false },
        "tsv" => Records::Tsv { delimiter: delimiter()?, header: yes("header")?, key },
        "fields" => Records::Fields { end, key },
        "jsonl" => Records::JsonLines { key, raw: false },
        _ => return None,
    };
    let known = matches!(records, Records::Lines(_)) || !records.key().is_empty();
    let ended = records.end() == end;
    (known && ended).then_some(Form {
        normalization: Normalization::of_steps(all(NORMALIZATION))?,
        missing: if yes("missing")? { Missing::Skip } else { Missing::Refuse },
        bad: if yes("bad")? { Bad::Skip } else { Bad::Refuse },
        ..records.into()
    })
}
