//! What the keys of an index are, as options and as stored in its file.

use crate::index::layout::{FIELD, NORMALIZATION};
use umbel_sets::{Bad, Missing, Normalization, Options, Records};

/// What the keys of an index are.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The byte that ends a line.
    pub(crate) separator: u8,
    pub(crate) records: Records,
    pub(crate) normalization: Normalization,
    pub(crate) missing: Missing,
    pub(crate) bad: Bad,
}

impl Settings {
    pub(crate) fn of(options: &Options) -> Self {
        let Options { separator, records, normalization, missing, bad, .. } = options;
        let (separator, records) = (*separator, records.clone());
        Self { separator, records, normalization: *normalization, missing: *missing, bad: *bad }
    }

    /// The options of a job on files of this index.
    pub(crate) fn apply(&self, options: &Options) -> Options {
        let Self { separator, records, normalization, missing, bad } = self.clone();
        Options { separator, records, normalization, missing, bad, ..options.clone() }
    }

    /// Whether keys are the words of lines, and not the field of a record.
    pub(crate) fn are_words(&self) -> bool {
        self.records == Records::Lines
    }

    /// As names and values. Part of the format.
    pub(crate) fn entries(&self) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        let mut say = |name: &str, value: &str| entries.push((name.to_owned(), value.to_owned()));
        let yes_no = |yes: bool| if yes { "yes" } else { "no" };
        say("separator", &self.separator.to_string());
        let records = match &self.records {
            Records::Csv { delimiter, header, .. } => {
                say("delimiter", &delimiter.to_string());
                say("header", yes_no(*header));
                "csv"
            }
            Records::Tsv { header, .. } => {
                say("header", yes_no(*header));
                "tsv"
            }
            Records::Fields { .. } => "fields",
            Records::JsonLines { .. } => "jsonl",
            _ => "lines",
        };
        say("records", records);
        self.records.key().iter().for_each(|field| say(FIELD, field));
        self.normalization.steps().for_each(|step| say(NORMALIZATION, step));
        say("missing", yes_no(self.missing == Missing::Skip));
        say("bad", yes_no(self.bad == Bad::Skip));
        entries
    }

    /// From names and values; `None` if they are invalid.
    pub(crate) fn from_entries(entries: &[(String, String)]) -> Option<Self> {
        let all = |name: &'static str| {
            entries.iter().filter(move |entry| entry.0 == name).map(|entry| entry.1.as_str())
        };
        let one = |name| all(name).next();
        let yes = |name| match one(name) {
            Some("yes") => Some(true),
            Some("no") => Some(false),
            _ => None,
        };
        let key: Vec<_> = all(FIELD).map(str::to_owned).collect();
        let records = match one("records")? {
            "lines" if key.is_empty() => Records::Lines,
            "csv" => Records::Csv {
                delimiter: one("delimiter")?.parse().ok()?,
                header: yes("header")?,
                key,
                raw: false,
            },
            "tsv" => Records::Tsv { header: yes("header")?, key },
            "fields" => Records::Fields { key },
            "jsonl" => Records::JsonLines { key },
            _ => return None,
        };
        let known = records == Records::Lines || !records.key().is_empty();
        known.then_some(Self {
            separator: one("separator")?.parse().ok()?,
            records,
            normalization: Normalization::of_steps(all(NORMALIZATION))?,
            missing: if yes("missing")? { Missing::Skip } else { Missing::Refuse },
            bad: if yes("bad")? { Bad::Skip } else { Bad::Refuse },
        })
    }
}
