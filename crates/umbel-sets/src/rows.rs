//! Records in bytes that the caller reads: where they end, and their keys.

use std::ops::Range;

use crate::line_counter::LineCounter;
use crate::records::{Copied, Flaw, Format, Found, Records, json_number};
use crate::{Error, Form};

/// Cuts bytes into records, for jobs that do not read their inputs from start to end.
pub struct Rows {
    format: Format,
    records: Records,
}

/// The start of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Where the first record starts, after any header.
    pub first: usize,
    /// The header, without the end of its line.
    pub header: Option<Vec<u8>>,
}

impl Rows {
    /// Cuts records of this form, and their keys.
    ///
    /// # Errors
    /// [`Error::Delimiter`], [`Error::FieldNumber`].
    pub fn new(form: &Form) -> Result<Self, Error> {
        Ok(Self { format: Format::new(form)?, records: form.records.clone() })
    }

    /// Reads the start of an input, `bytes`, which are `all` of it or may continue; `None` if more bytes are needed.
    ///
    /// # Errors
    /// Errors for a header without the fields of the key.
    pub fn start(&self, name: &str, bytes: &[u8], all: bool) -> Result<Option<Start>, Error> {
        let head = self.format.head(name, bytes, all, false)?;
        Ok(head.map(|head| Start {
            first: head.start,
            header: head.row.map(|row| bytes[row].to_vec()),
        }))
    }

    /// Returns where the last record that ends in `bytes` ends; they start with a record.
    pub fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        self.format.kind.find_last(bytes, &mut false).map(|at| at + 1)
    }

    /// Returns the keys that a value of the field may have: without the differences that the form ignores, and of JSON, where it
    /// may be a text or a number, both.
    pub fn keys_of(&self, value: &[u8]) -> Vec<Vec<u8>> {
        let mut keys = vec![value.to_vec()];
        keys.extend(json_number(value, &self.records));
        for key in &mut keys {
            self.format.normalization.apply(key, 0);
        }
        keys.dedup();
        keys
    }

    /// Passes each record of `bytes`, which start with one, to `see`: its place among them, and its key. They are at `offset`
    /// and behind some `lines`, if they were counted, of the input `name`, under its `header`. Records that the form leaves out are skipped.
    ///
    /// # Errors
    /// Errors for records that cannot be read or have no key, and errors of `see`.
    pub fn each(
        &self,
        name: &str,
        header: Option<&[u8]>,
        bytes: &[u8],
        (offset, lines): (u64, Option<u64>),
        mut see: impl FnMut(Range<usize>, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let head = self.format.head(name, header.unwrap_or_default(), true, false)?;
        let head = head.expect("all of it is there");
        let (mut copied, mut at, end) = (Copied::default(), 0, self.format.kind.end());
        let failed = |flaw: Flaw, at: usize| {
            let error = self.format.error(flaw, name, offset + at as u64);
            match lines {
                Some(lines) => LineCounter::after(lines, end).locate(error, bytes, offset),
                None => error,
            }
        };
        while at < bytes.len() {
            copied.bytes.clear();
            let (length, found) = head
                .next(&bytes[at..], offset + at as u64, &mut copied)
                .map_err(|flaw| failed(flaw, at))?;
            let row = at..at + length;
            if let Found::Key(key) | Found::Alone(key, _) | Found::Empty(Some(key)) = found {
                see(row.clone(), key.record(&bytes[row], &copied.bytes).key())?;
            }
            at += length + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_follows_the_last_line_end() {
        let rows = Rows::new(&Form::default()).unwrap();
        let mut seen = Vec::new();
        rows.each("f", None, b"a\n\nbc\n", (0, None), |row, key| {
            seen.push((row, key.to_vec()));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [(0..1, b"a".to_vec()), (2..2, Vec::new()), (3..5, b"bc".to_vec())]);
    }
}
