//! The column in front of a line that names the inputs, or the filters, that have it.

use crate::Records;
use crate::records::quote;

/// How the column names an input or filter that has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Its number, from 1.
    Numbers,
    /// Its name.
    Names,
}

/// Writes the labels of some of several inputs, separated by commas; for JSON lines, as an array.
#[derive(Debug)]
pub(crate) struct LabelColumn<'a> {
    labels: Vec<Vec<u8>>,
    /// Between labels: no comma, if that would end the column.
    between: u8,
    records: &'a Records,
}

impl<'a> LabelColumn<'a> {
    pub(crate) fn new<'n>(
        labels: Labels,
        names: impl Iterator<Item = &'n str>,
        records: &'a Records,
    ) -> Self {
        let json = records.column().is_none();
        let commas = matches!(records, Records::Tsv { delimiter: b',', .. });
        let label = |(number, name): (usize, &str)| match labels {
            Labels::Numbers => number.to_string(),
            Labels::Names if json => serde_json::Value::from(name).to_string(),
            // A tab or a line feed would end the column.
            Labels::Names => name.replace(|c: char| c.is_control() || commas && c == ',', "?"),
        };
        let labels = (1..).zip(names).map(label).map(String::into_bytes).collect();
        Self { labels, between: if commas { b';' } else { b',' }, records }
    }

    /// Sets `text` to the label of one of them.
    pub(crate) fn write_one(&self, number: usize, text: &mut Vec<u8>) {
        self.labels[number].clone_into(text);
        if let Records::Csv { delimiter, .. } = *self.records {
            quote(text, 0, delimiter);
        }
    }

    /// Sets `text` to the labels of the inputs or filters for which `has` is true.
    pub(crate) fn write(&self, has: impl Fn(usize) -> bool, text: &mut Vec<u8>) {
        text.clear();
        for (_, label) in self.labels.iter().enumerate().filter(|(i, _)| has(*i)) {
            text.push(self.between);
            text.extend_from_slice(label);
        }
        match *self.records {
            Records::JsonLines { .. } => {
                text[0] = b'[';
                text.push(b']');
            }
            Records::Csv { delimiter, .. } => {
                text.remove(0);
                quote(text, 0, delimiter);
            }
            _ => drop(text.remove(0)),
        }
    }
}
