//! Records and their keys: where a record ends, and which of its bytes are its key.
//!
//! A *row* is written: all bytes of a record up to the line feed that ends it. Its *key* is hashed and compared: the
//! row itself, or fields of it.
//!
//! | format | a record ends at | the key of one field |
//! |---|---|---|
//! | lines | the separator | the line |
//! | CSV | a line feed with an even number of `"` before it in the input | the field, without quotes |
//! | TSV | a line feed | the field |
//! | fields | the separator | the field, between blanks |
//! | JSON lines | a line feed | a string's text, unescaped; any other value in its [canonical form](json::canonical); none for null |
//!
//! The key of a whole row of CSV is its values between delimiters, each in quotes only if it has a delimiter, a quote
//! or a line feed: two rows are equal if their values are, however they are quoted. Most rows are written like this,
//! and are their own keys.
//!
//! The key of a whole JSON record is its canonical form.
//!
//! The key of several fields is, for each in the given order, the length of its value as a u32, little-endian, then the
//! value: no two lists of values give the same bytes. The key of one field is the value alone, so a filter of plain
//! lines answers for it. **These bytes are part of the format** of filters made with keys: FORMAT.md documents them for
//! other readers.
//!
//! This module splits and extracts; `scan` reads the bytes and assigns them to threads.

mod beside;
pub(crate) mod columns;
mod json;
mod normalize;
mod rank;
mod stored;

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::slice;

use memchr::{memchr, memchr2_iter, memrchr};

pub(crate) use beside::{Beside, Prefixes, Start, members, width};
pub use normalize::{Normalization, ReadKey};
pub(crate) use rank::rank;
pub(crate) use stored::{Layout, MOST_HEADER, Record};

use umbel_numbers::nearest;

use crate::ends::Ends;
use crate::error::{Place, QuoteFlaw};
use crate::line_counter::{MARK, mark};

use crate::Error;

/// The form of inputs' rows: what a record and its key are, which keys are equal, and how unusual records are handled.
/// The default is lines, compared byte by byte.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The format of records, and their key.
    pub records: Records,
    /// The names of the key's fields in inputs after the first, if they differ there: one name for each, or none.
    pub others: Vec<String>,
    /// Columns of CSV or TSV that do not count where whole rows are compared; some inputs may lack them.
    pub ignored: Vec<String>,
    /// Further fields that options of the job name; a number must mean the same column in all inputs under one header.
    pub further: Vec<String>,
    /// Which differences between keys to ignore.
    pub normalization: Normalization,
    /// How many lines at the start of each input are left out.
    pub skip: u64,
    /// Records that begin with this byte are left out.
    pub comment: Option<u8>,
    /// How to handle rows that have fewer or more fields than their input has columns.
    pub ragged: Ragged,
    /// Whether inputs may have different columns: the result has all columns, and those that an input lacks are empty.
    pub by_name: bool,
    /// How to handle records that lack a field of the key.
    pub missing: Missing,
    /// How to handle an empty value in a key.
    pub empty: Empty,
    /// How to handle records that cannot be read.
    pub bad: Bad,
}

impl Form {
    /// Returns which of `"missing"` and `"empty"` keeps records without a key, if one does.
    pub fn keeps_keyless(&self) -> Option<&'static str> {
        match (self.missing, self.empty) {
            (Missing::Keep, _) => Some("missing"),
            (_, Empty::Keep) => Some("empty"),
            _ => None,
        }
    }
}

impl From<Records> for Form {
    /// Records that must all have their key, which is compared byte by byte.
    fn from(records: Records) -> Self {
        Self { records, ..Self::default() }
    }
}

/// How inputs are split into records, and which part of a record is its key.
///
/// Fields are columns, given by their name in the header or by their number from 1 (a name wins), or paths into JSON:
/// `user.id`, `tags.0`, or a JSON pointer such as `/a.b/c` for names with a dot. Without any field the whole record is
/// the key. Empty lines, and blank ones in JSON, are not records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Records {
    /// Lines, each its own key, and the byte that ends them: `\n`, or 0.
    Lines(u8),
    /// Comma-separated values after RFC 4180: fields in quotes may have delimiters and line feeds. A
    /// carriage return before the line feed belongs to the end of the record.
    Csv {
        /// The byte between fields; not a quote, a line feed or a carriage return.
        delimiter: u8,
        /// Whether the first record of each input names the columns.
        header: bool,
        /// The fields of the key.
        key: Vec<String>,
        /// Whether whole rows are compared as they are written, quotes included, and not value by value.
        raw: bool,
    },
    /// Lines of fields separated by runs of spaces and tabs, as in awk; leading and trailing ones are ignored. A
    /// carriage return before the end of a line belongs to the end.
    Fields {
        /// The byte that ends a line: `\n`, or 0.
        end: u8,
        /// The fields of the key, by their numbers from 1.
        key: Vec<String>,
    },
    /// Values between delimiters, in which quotes have no meaning: tab-separated values as IANA registers them, if the
    /// delimiter is a tab. Carriage returns as in CSV.
    Tsv {
        /// The byte between fields, as for CSV.
        delimiter: u8,
        /// Whether the first record of each input names the columns.
        header: bool,
        /// The fields of the key.
        key: Vec<String>,
    },
    /// One JSON text per line. If an object has a name twice, the last one counts.
    JsonLines {
        /// The fields of the key.
        key: Vec<String>,
        /// Whether values are compared as they are written, and not by value.
        raw: bool,
    },
}

impl Default for Records {
    /// Lines that end with `\n`.
    fn default() -> Self {
        Self::Lines(b'\n')
    }
}

impl Records {
    /// Returns the byte that ends a record.
    pub fn end(&self) -> u8 {
        self.kind().end()
    }

    /// Returns the fields of the key, in order; empty if the whole record is the key.
    pub fn key(&self) -> &[String] {
        match self {
            Self::Lines(_) => &[],
            Self::Csv { key, .. }
            | Self::Tsv { key, .. }
            | Self::Fields { key, .. }
            | Self::JsonLines { key, .. } => key,
        }
    }

    /// Returns the same records with these fields as their key; lines have none.
    #[must_use]
    pub fn with_key(mut self, fields: Vec<String>) -> Self {
        match &mut self {
            Self::Lines(_) => {}
            Self::Csv { key, .. }
            | Self::Tsv { key, .. }
            | Self::Fields { key, .. }
            | Self::JsonLines { key, .. } => *key = fields,
        }
        self
    }

    /// Returns the byte after a column in front of a row; JSON lines have no columns.
    pub fn column(&self) -> Option<u8> {
        match self.kind() {
            Kind::Csv(Csv { delimiter, .. }) | Kind::Tsv(delimiter) => Some(delimiter),
            Kind::Lines(_) | Kind::Fields(_) => Some(b'\t'),
            Kind::Json => None,
        }
    }

    /// Returns whether values count as they are written.
    pub fn is_raw(&self) -> bool {
        matches!(self, Self::Csv { raw: true, .. } | Self::JsonLines { raw: true, .. })
    }

    /// Returns whether the first record of an input names its columns.
    pub fn has_header(&self) -> bool {
        matches!(self, Self::Csv { header: true, .. } | Self::Tsv { header: true, .. })
    }

    pub(crate) fn kind(&self) -> Kind {
        match *self {
            Self::Lines(end) => Kind::Lines(end),
            Self::Csv { delimiter, .. } => Kind::Csv(Csv { delimiter, blanks: false }),
            Self::Tsv { delimiter, .. } => Kind::Tsv(delimiter),
            Self::Fields { end, .. } => Kind::Fields(end),
            Self::JsonLines { .. } => Kind::Json,
        }
    }
}

/// How to handle a record that lacks a field of the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// The job fails with [`Error::NoField`].
    #[default]
    Refuse,
    /// It is left out, and counted in [`Report::missing`](crate::Report::missing).
    Skip,
    /// It gets a unique key.
    Keep,
}

/// How to handle an empty value in a key: `""` in JSON, nothing between delimiters, an empty line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Empty {
    /// A value like any other.
    #[default]
    Value,
    /// The record is left out, and counted in [`Report::empty`](crate::Report::empty).
    Skip,
    /// Equal to nothing, as null in SQL: the record gets a unique key and is counted.
    Keep,
}

/// How to handle a row of CSV or TSV that has fewer or more fields than its input has columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ragged {
    /// It is used as it is; but if columns are moved or joined, the job fails with [`Error::Ragged`].
    #[default]
    Take,
    /// The job fails with [`Error::Ragged`].
    Refuse,
    /// Missing fields are empty, and empty ones beyond the columns are cut off; others are an [`Error::Ragged`].
    Pad,
}

/// How to handle a record that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bad {
    /// The job fails with [`Error::Json`], [`Error::Quote`] or [`Error::Ragged`].
    #[default]
    Refuse,
    /// It is left out, and counted in [`Report::bad`](crate::Report::bad).
    Skip,
}

/// Puts `bytes` from `start` on in quotes, as a CSV value, if they have a delimiter, a quote, a line feed or a carriage
/// return.
///
/// # Panics
/// If `start` is beyond the end.
pub fn quote(bytes: &mut Vec<u8>, start: usize, delimiter: u8) {
    quote_if(bytes, start, [b'"', b'\n', b'\r', delimiter]);
}

/// Puts it in quotes if it has any `special` byte.
fn quote_if<const N: usize>(bytes: &mut Vec<u8>, start: usize, special: [u8; N]) {
    let special = |byte: &u8| special.contains(byte);
    if bytes[start..].iter().any(special) {
        let value = bytes.split_off(start);
        bytes.push(b'"');
        for byte in value {
            bytes.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
        }
        bytes.push(b'"');
    }
}

/// Returns the values of a key of `fields` fields.
///
/// # Panics
/// If `key` has another number of fields.
pub fn values_of(key: &[u8], fields: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = key;
    (0..fields).map(move |_| {
        if fields == 1 {
            return rest;
        }
        let (length, behind) = rest.split_first_chunk().expect("a length for each field");
        let (value, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        rest = behind;
        value
    })
}

/// The line feeds outside of quotes.
fn outside_quotes(bytes: &[u8], quoted: &mut bool) -> impl Iterator<Item = usize> {
    memchr2_iter(b'"', b'\n', bytes).filter(|&at| {
        *quoted ^= bytes[at] == b'"';
        bytes[at] == b'\n' && !*quoted
    })
}

/// A format, checked and ready.
pub(crate) struct Format {
    pub(crate) kind: Kind,
    /// Whether the first record of an input names its columns.
    pub(crate) header: bool,
    /// The fields of the key, as named, and as other inputs name them.
    fields: [Vec<String>; 2],
    /// The same, as paths into JSON.
    paths: [json::Paths; 2],
    /// Columns that do not count in whole rows, as named.
    ignored: Vec<String>,
    pub(crate) normalization: Normalization,
    missing: Missing,
    pub(crate) empty: Empty,
    pub(crate) bad: Bad,
    /// Whole rows are compared, but must have the fields of the key.
    pub(crate) by_row: bool,
    /// Whole rows are compared as they are written.
    raw: bool,
    /// Rows are joined with others, whose members' names get a prefix of this many bytes.
    pub(crate) joined: Option<usize>,
    /// The start of the key of a record without one, which makes it unique.
    alone: [[u8; 8]; 2],
}

/// How CSV is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Csv {
    pub(crate) delimiter: u8,
    /// Whether blanks around quotes do not count.
    pub(crate) blanks: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Lines(u8),
    Csv(Csv),
    Tsv(u8),
    /// Fields between blanks, up to this byte.
    Fields(u8),
    Json,
}

impl Kind {
    /// Refuses a delimiter that has another meaning in CSV.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        match self {
            Self::Csv(Csv { delimiter: delimiter @ (b'"' | b'\n' | b'\r'), .. })
            | Self::Tsv(delimiter @ (b'\n' | b'\r')) => Err(Error::Delimiter(delimiter)),
            kind => Ok(kind),
        }
    }

    /// The byte that ends a record, outside of the quotes of CSV.
    pub(crate) fn end(self) -> u8 {
        match self {
            Self::Lines(separator) | Self::Fields(separator) => separator,
            Self::Csv(_) | Self::Tsv(_) | Self::Json => b'\n',
        }
    }

    /// The end of the first record in `bytes`. `quoted` is whether they start within quotes, and afterwards whether the
    /// bytes read end within them.
    pub(crate) fn find(self, bytes: &[u8], quoted: &mut bool) -> Option<usize> {
        match self {
            Self::Csv(_) => outside_quotes(bytes, quoted).next(),
            _ => memchr(self.end(), bytes),
        }
    }

    /// Like [`find`](Self::find), for the last record; reads all of `bytes`.
    pub(crate) fn find_last(self, bytes: &[u8], quoted: &mut bool) -> Option<usize> {
        match self {
            Self::Csv(_) => outside_quotes(bytes, quoted).last(),
            _ => memrchr(self.end(), bytes),
        }
    }

    /// Whether some bytes that begin with a record end with one.
    pub(crate) fn ends(self, bytes: &[u8]) -> bool {
        let mut quoted = false;
        self.find_last(bytes, &mut quoted) == bytes.len().checked_sub(1) && !quoted
    }

    /// The byte between the values of a written row.
    pub(crate) fn delimiter(self) -> u8 {
        match self {
            Self::Csv(Csv { delimiter, .. }) | Self::Tsv(delimiter) => delimiter,
            _ => b' ',
        }
    }

    /// Appends the value of a column to a row, in the quotes that it needs.
    pub(crate) fn push(self, column: usize, value: &[u8], row: &mut Vec<u8>) {
        if column > 0 {
            row.push(self.delimiter());
        }
        let start = row.len();
        row.extend_from_slice(value);
        if let Self::Csv(Csv { delimiter, .. }) = self {
            quote(row, start, delimiter);
        }
    }

    /// A value of a row as it is written, with its quotes.
    pub(crate) fn written(self, row: &[u8], Value { start, end, .. }: Value) -> &[u8] {
        let quoted = matches!(self, Self::Csv(_)) && start > 0 && row[start - 1] == b'"';
        let quotes = usize::from(quoted);
        &row[start - quotes..end + quotes]
    }

    /// A row without the carriage return that belongs to its end.
    fn text(self, row: &[u8]) -> &[u8] {
        match self {
            Self::Lines(_) => row,
            _ => text(row),
        }
    }

    fn is_blank(self, row: &[u8]) -> bool {
        match self {
            Self::Lines(_) => false,
            Self::Csv(_) | Self::Tsv(_) => text(row).is_empty(),
            Self::Fields(_) | Self::Json => row.trim_ascii().is_empty(),
        }
    }

    /// Passes on each value of a row of columns, with the index of its column; returns how many there are. A carriage
    /// return that belongs to the row's end is still there.
    pub(crate) fn each(
        self,
        row: &[u8],
        mut each: impl FnMut(usize, Value) -> Result<(), Flaw>,
    ) -> Result<usize, Flaw> {
        let mut count = 0;
        let mut each = |column, value| {
            count = column + 1;
            each(column, value)
        };
        let pass = |(column, value)| each(column, value);
        match self {
            Self::Csv(csv) => columns::each(row, csv, each).map(drop)?,
            Self::Fields(_) => columns::between_blanks(text(row)).enumerate().try_for_each(pass)?,
            _ => columns::between(text(row), self.delimiter()).enumerate().try_for_each(pass)?,
        }
        Ok(count)
    }
}

/// The column of a field that a file lacks.
const NOWHERE: usize = u32::MAX as usize;

impl Format {
    pub(crate) fn new(form: &Form) -> Result<Self, Error> {
        let Form { records, others, ignored, normalization, missing, empty, bad, .. } = form;
        let kind = match records.kind().checked()? {
            Kind::Csv(csv) => Kind::Csv(Csv { blanks: normalization.trim, ..csv }),
            kind => kind,
        };
        let header = records.has_header();
        let fields = records.key();
        let others = if others.is_empty() { fields } else { others };
        if others.len() != fields.len() {
            return Err(Error::OtherFields { fields: fields.len(), others: others.len() });
        }
        if let (Kind::Csv(_) | Kind::Tsv(_) | Kind::Fields(_), false) = (kind, header)
            && let Some(field) =
                fields.iter().chain(others).chain(ignored).find(|field| number(field).is_none())
        {
            return Err(Error::FieldNumber(field.clone()));
        }
        let state = RandomState::new();
        let alone = [0, 1].map(|i| state.hash_one(i).to_le_bytes());
        Ok(Self {
            kind,
            header,
            fields: [fields, others].map(<[_]>::to_vec),
            paths: [fields, others].map(json::Paths::new),
            ignored: ignored.clone(),
            normalization: *normalization,
            missing: *missing,
            empty: *empty,
            bad: *bad,
            by_row: false,
            raw: records.is_raw(),
            joined: None,
            alone,
        })
    }

    /// The fields of the key as paths into JSON, as the first input or the others name them.
    fn paths(&self, other: bool) -> &json::Paths {
        &self.paths[usize::from(other)]
    }

    /// Whether every line is its own key, unchanged.
    pub(crate) fn is_lines(&self) -> bool {
        matches!(self.kind, Kind::Lines(_))
            && self.normalization.is_none()
            && self.empty == Empty::Value
    }

    /// The maximum bytes of memory per byte of a record while it is processed: its own, and two copies in keys, for
    /// each field that the byte may be part of. Members of a joined record use 40 bytes each and a prefix, twice while
    /// a buffer of them grows, and may have only 5 bytes.
    pub(crate) fn weight(&self) -> u64 {
        let members = match self.joined {
            Some(prefix) if self.kind == Kind::Json => 8 + 3 + 2 * prefix.div_ceil(5) as u64,
            _ => 0,
        };
        let copies = if self.normalization.is_none() { 2 } else { 2 + normalize::GROWTH };
        let by_value = self.kind == Kind::Json && !self.raw;
        let copies = if by_value { copies + json::GROWTH } else { copies };
        let whole = !self.normalization.is_none()
            || (matches!(self.kind, Kind::Csv(_) | Kind::Json) && !self.raw)
            || !self.ignored.is_empty();
        1 + (copies * self.fields[0].len().max(usize::from(whole)) as u64).max(members)
    }

    /// Reads the start of an input: `bytes`, which are `all` of it or may continue. `None` if more bytes are needed.
    pub(crate) fn head(
        &self,
        name: &str,
        bytes: &[u8],
        all: bool,
        other: bool,
    ) -> Result<Option<Head<'_>>, Error> {
        let fields = &self.fields[usize::from(other)];
        // Processes a line that arrives alone before a pipe has more.
        if bytes.len() < MARK.len() && MARK.starts_with(bytes) && !all {
            return Ok(None);
        }
        let head = |start, row, [columns, ignored]: [Vec<usize>; 2]| {
            Ok(Some(Head { format: self, start, row, columns, ignored, other, width: None }))
        };
        let mut start = mark(bytes);
        if !self.header {
            let numbers =
                |fields: &Vec<String>| fields.iter().filter_map(|field| number(field)).collect();
            return head(start, None, [fields, &self.ignored].map(numbers));
        }
        while start < bytes.len() {
            let rest = &bytes[start..];
            let (row, length) = match self.kind.find(rest, &mut false) {
                Some(at) => (&rest[..at], at + 1),
                None if all => (rest, rest.len()),
                None => return Ok(None),
            };
            if !self.kind.is_blank(row) {
                let columns = |fields: &[String]| self.columns(name, row, start as u64, fields);
                // Another input may have it.
                let found = |fields: &[String], without: &[usize]| {
                    let column = |field| match columns(slice::from_ref(field)) {
                        Err(Error::UnknownField { .. }) => Ok(without.to_vec()),
                        columns => columns,
                    };
                    fields.iter().map(column).collect::<Result<Vec<_>, _>>().map(|all| all.concat())
                };
                let key = match self.missing {
                    Missing::Refuse => columns(fields)?,
                    _ => found(fields, &[NOWHERE])?,
                };
                let columns = [key, found(&self.ignored, &[])?];
                return head(start + length, Some(start..start + row.len()), columns);
            }
            start += length;
        }
        if all { head(start, None, Default::default()) } else { Ok(None) }
    }

    /// A key as bytes that sort by its first value, then by the second, and so on: each ends with two zeros, and a zero within
    /// it is followed by a one. If numbers are compared by value, so are they sorted. Unless the key itself sorts so, these
    /// bytes are put into `text`.
    pub(crate) fn sort_key<'k>(&self, key: &'k [u8], text: &'k mut Vec<u8>) -> &'k [u8] {
        let Normalization { number, thousands, read, .. } = self.normalization;
        let (fields, by_value) = (self.fields[0].len(), number || thousands);
        // A row of CSV is not sorted by its quotes, but by its values.
        let by_bytes =
            fields == 1 || fields == 0 && (self.raw || !matches!(self.kind, Kind::Csv(_)));
        if by_bytes && !by_value || self.by_row || read.is_some() {
            return key;
        }
        text.clear();
        let mut ranked = Vec::new();
        let mut put = |value: &[u8]| {
            ranked.clear();
            match by_value {
                true => rank(value, &mut ranked),
                false => ranked.extend_from_slice(value),
            }
            for part in ranked.split_inclusive(|byte| *byte == 0) {
                text.extend_from_slice(part);
                text.extend(part.ends_with(&[0]).then_some(1u8));
            }
            text.extend_from_slice(&[0, 0]);
        };
        match self.kind {
            // A whole row, which is its own key.
            Kind::Csv(_) | Kind::Tsv(_) if fields == 0 => {
                let copy = |_, value: Value| {
                    let mut copied = Vec::new();
                    value.copy(key, &mut copied).map(|()| put(&copied))
                };
                self.kind.each(key, copy).unwrap_or_default();
            }
            _ => values_of(key, fields.max(1)).for_each(put),
        }
        text
    }

    /// Checks the quotes of a record so far; `goes_on` is whether it continues.
    pub(crate) fn check_quotes(&self, start: &[u8], goes_on: bool) -> Result<(), Flaw> {
        let Kind::Csv(csv) = self.kind else { return Ok(()) };
        match columns::find(start, csv, &[], &mut Vec::new()) {
            Err(Flaw::Quote { flaw: QuoteFlaw::Open, .. }) if goes_on => Ok(()),
            result => result.map(drop),
        }
    }

    /// The values of the key of a JSON record, as written; none if it lacks one.
    pub(crate) fn json_key(&self, row: &[u8]) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        let found = json::find(self.kind.text(row), &self.paths[0], true, &mut values);
        let written = |&Value { start, end, written }: &Value| {
            // A string without escapes was found without its quotes.
            let quotes =
                usize::from(written == Quoting::Plain && start > 0 && row[start - 1] == b'"');
            row[start - quotes..end + quotes].to_vec()
        };
        if found.is_ok() { values.iter().map(written).collect() } else { Vec::new() }
    }

    /// Passes on each name in a header.
    pub(crate) fn each_name(&self, row: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Flaw> {
        let mut name = Vec::new();
        let copy = |_, value: Value| {
            name.clear();
            value.copy(row, &mut name)?;
            each(if self.normalization.trim { name.trim_ascii() } else { &name });
            Ok(())
        };
        self.kind.each(row, copy).map(drop)
    }

    /// All names in the header of an input.
    pub(crate) fn names(&self, name: &str, header: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut names = Vec::new();
        let read = self.each_name(header, |name| names.push(name.to_vec()));
        read.map(|()| names).map_err(|flaw| self.error(flaw, name, 0))
    }

    /// The columns of fields, in their order, from the header.
    pub(crate) fn columns(
        &self,
        name: &str,
        header: &[u8],
        offset: u64,
        fields: &[String],
    ) -> Result<Vec<usize>, Error> {
        let (mut found, mut count, mut some) = (vec![Vec::new(); fields.len()], 0, Vec::new());
        let read = self.each_name(header, |name| {
            for (field, places) in fields.iter().zip(&mut found) {
                if field.as_bytes() == name && places.len() < 2 {
                    places.push(count);
                }
            }
            // A header may have about as many names as bytes: only some are kept, for a message.
            if count < json::KEPT_NAMES {
                some.push(name.to_vec());
            }
            count += 1;
        });
        read.map_err(|flaw| self.error(flaw, name, offset))?;
        let find = |(field, found): (&String, Vec<usize>)| match found[..] {
            [column] => Ok(column),
            [first, second, ..] => Err(Error::SameName {
                name: name.to_owned(),
                field: field.clone(),
                columns: [first + 1, second + 1],
            }),
            [] => number(field)
                .filter(|&column| column < count)
                .ok_or_else(|| unknown_field(name, field, &some, count)),
        };
        fields.iter().zip(found).map(find).collect()
    }

    /// The error for a run in which every record lacks a field of the key; the first such record is at `offset`. `None`
    /// if that record has the field, with the value null.
    pub(crate) fn nowhere(&self, flaw: Flaw, name: &str, offset: u64) -> Option<Error> {
        match self.error(flaw, name, offset) {
            Error::NoField { found, .. } if *found == *json::NULL => None,
            Error::NoField { at, field, found, near } => {
                Some(Error::NowhereField { at, fields: self.fields[0].len(), field, found, near })
            }
            other => Some(other),
        }
    }

    /// The error for the record at `offset` of the input `name`.
    pub(crate) fn error(&self, flaw: Flaw, name: &str, offset: u64) -> Error {
        let place = |within: usize| Place::new(name, offset + within as u64);
        match flaw {
            Flaw::Quote { flaw, at } => Error::Quote { at: place(at), flaw },
            Flaw::NoField { field, found, names } => {
                let field = self.fields.iter().flatten().nth(field).expect("one of them").clone();
                let near = names.and_then(|names| names.nearest(&field)).map(Into::into);
                Error::NoField { at: place(0), field, found: found.into(), near }
            }
            Flaw::Json(source) => {
                Error::Json { at: place(source.column().saturating_sub(1)), source }
            }
            Flaw::Ragged { found, columns } => Error::Ragged { at: place(0), found, columns },
            Flaw::SameMember(field) => Error::SameMember { at: place(0), field },
            Flaw::NoKey(source) => Error::NoKey { at: place(0), source },
            Flaw::GiantKey(length) => Error::GiantLine { at: place(0), length },
        }
    }
}

/// A column by its number: 0 for `1`.
pub(crate) fn number(field: &str) -> Option<usize> {
    field.parse::<usize>().ok()?.checked_sub(1)
}

/// The error for a field that the input `name` lacks, whose header has `count` names, the first of which are these.
pub(crate) fn unknown_field(name: &str, field: &str, names: &[Vec<u8>], count: usize) -> Error {
    // A header with another delimiter is one long name, which is not a useful suggestion.
    let known = names.iter().filter(|name| !name.iter().any(|byte| b";\t|".contains(byte)));
    let near = nearest(field, known.map(|name| String::from_utf8_lossy(name)));
    let (name, field, found) = (name.to_owned(), field.to_owned(), list(names.iter(), count));
    Error::UnknownField { name, field, found, near: near.map(|near| near.into_owned().into()) }
}

/// Names that a message lists.
const LISTED: usize = 20;

/// Names for a message: the first of `all`.
pub(crate) fn list<T: AsRef<[u8]>>(names: impl Iterator<Item = T>, all: usize) -> String {
    let mut list: Vec<String> = names
        .take(LISTED)
        .map(|name| String::from_utf8_lossy(name.as_ref()).escape_debug().take(100).collect())
        .collect();
    if all > LISTED {
        list.push(format!("and {} more", all - LISTED));
    }
    list.join(", ")
}

/// The start of an input, by which the keys of its records are found.
pub(crate) struct Head<'f> {
    pub(crate) format: &'f Format,
    /// Where its records start.
    pub(crate) start: usize,
    /// Where the header is, if there is one.
    pub(crate) row: Option<Range<usize>>,
    /// The columns of the key.
    columns: Vec<usize>,
    /// The columns that do not count in whole rows.
    pub(crate) ignored: Vec<usize>,
    /// Whether the input names the fields by [`Form::others`].
    other: bool,
    /// The columns of a row that is joined with another.
    pub(crate) width: Option<usize>,
}

/// The location of a key: in its row, or among the keys that had to be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyAt {
    copied: bool,
    start: u32,
    length: u32,
}

impl KeyAt {
    /// A row with its key, which may be among the `copied`.
    pub(crate) fn record<'a>(self, row: &'a [u8], copied: &'a [u8]) -> Record<'a> {
        Record::keyed(row, self.of(if self.copied { copied } else { row }))
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..self.length as usize]
    }
}

/// The flaw of a record; positions are in the record.
pub(crate) enum Flaw {
    Quote {
        flaw: QuoteFlaw,
        at: usize,
    },
    /// It lacks a field of the key, and has `found`.
    NoField {
        field: usize,
        found: String,
        /// The names present instead of the missing one.
        names: Option<json::Members>,
    },
    Json(serde_json::Error),
    /// It has `found` fields where its input has `columns`, and would have been reordered or joined.
    Ragged {
        found: usize,
        columns: usize,
    },
    /// The joined record has a name twice.
    SameMember(String),
    /// A key of this many bytes, 2³² or more.
    GiantKey(u64),
    /// The reader of keys refuses it.
    NoKey(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of reading a record.
pub(crate) enum Found {
    /// A record with a key.
    Key(KeyAt),
    /// A record that lacks a field of the key, with a key of its own.
    Alone(KeyAt, Flaw),
    /// An empty line, which is not a record.
    Blank,
    /// A record left out because it lacks a field of the key.
    Missing(Flaw),
    /// A record with an empty value in its key: left out, or with a key of its own.
    Empty(Option<KeyAt>),
    /// A record left out because it cannot be read.
    Bad,
}

/// A value in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) start: usize,
    pub(crate) end: usize,
    written: Quoting,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    Plain,
    /// Quotes in it are doubled.
    Doubled,
    /// A JSON string with its quotes.
    Escaped,
    /// Another JSON value, which counts in its canonical form.
    Json,
}

/// Keys that are not a part of their row.
#[derive(Default)]
pub(crate) struct Copied {
    pub(crate) bytes: Vec<u8>,
    /// The values of the present record.
    values: Vec<Value>,
}

impl Head<'_> {
    /// What reads most rows of `bytes` faster than [`next`](Self::next).
    pub(crate) fn simple<'b>(&self, bytes: &'b [u8]) -> Option<columns::Simple<'b>> {
        let Format { kind, fields, normalization, bad, by_row, .. } = self.format;
        let checked = *bad == Bad::Skip && self.width.is_some();
        let as_written = !checked && self.ignored.is_empty() && normalization.is_none();
        let ends = match *kind {
            Kind::Csv(Csv { delimiter, .. }) => [delimiter, b'"', b'\n'],
            Kind::Tsv(delimiter) => [delimiter, b'\n', b'\n'],
            _ => return None,
        };
        let (ends, column) = (Ends::new(ends, bytes), self.columns.first().copied());
        let whole = *by_row || fields[0].is_empty();
        let simple = columns::Simple { bytes, ends, column, whole };
        (as_written && self.columns.len() < 2).then_some(simple)
    }

    /// Reads the record at the start of `bytes`, which are at some place of the input: returns its length without its
    /// end, and what it is.
    pub(crate) fn next(
        &self,
        bytes: &[u8],
        place: u64,
        copied: &mut Copied,
    ) -> Result<(usize, Found), Flaw> {
        copied.values.clear();
        let (length, found) = self.find(bytes, copied)?;
        let (format, row) = (self.format, &bytes[..length]);
        let skips = format.bad == Bad::Skip;
        let key = match found {
            Ok(false) => return Ok((length, Found::Blank)),
            _ if skips && !self.can_be_joined(row) => return Ok((length, Found::Bad)),
            Ok(true) => {
                self.check_present(row, &copied.values).and_then(|()| self.key(row, copied))
            }
            Err(flaw) => Err(flaw),
        };
        let found = match key {
            Ok(Some(key))
                if format.empty != Empty::Value && self.has_empty(key, row, copied)? =>
            {
                let alone = || copied.alone(format.alone, place);
                Found::Empty((format.empty == Empty::Keep).then(alone))
            }
            Ok(key) => key.map_or(Found::Blank, Found::Key),
            Err(Flaw::NoKey(_) | Flaw::Json(_)) if skips => Found::Bad,
            Err(Flaw::NoField { field, found, names }) => {
                // The others' names follow the first input's.
                let field = field + usize::from(self.other) * format.fields[0].len();
                let flaw = Flaw::NoField { field, found, names };
                match format.missing {
                    Missing::Refuse => return Err(flaw),
                    Missing::Skip => Found::Missing(flaw),
                    // Rows are compared whatever their keys.
                    Missing::Keep if format.by_row => {
                        self.key(row, copied)?.map_or(Found::Blank, |key| Found::Alone(key, flaw))
                    }
                    Missing::Keep => Found::Alone(copied.alone(format.alone, place), flaw),
                }
            }
            Err(flaw) => return Err(flaw),
        };
        Ok((length, found))
    }

    /// Whether a value of a key is empty. Whole rows that are compared are left out for it, but not kept apart.
    fn has_empty(&self, key: KeyAt, row: &[u8], copied: &mut Copied) -> Result<bool, Flaw> {
        let (format, begin) = (self.format, copied.bytes.len());
        let (fields, mut key) = (format.fields[0].len(), key);
        if format.by_row && fields > 0 {
            if format.empty == Empty::Keep {
                return Ok(false);
            }
            copied.values.clear();
            self.find(row, copied)?.1?;
            key = copied.key(format.kind.text(row), format.normalization)?;
        }
        let record = key.record(row, &copied.bytes);
        let empty = values_of(record.key(), fields.max(1)).any(<[u8]>::is_empty);
        copied.bytes.truncate(begin);
        Ok(empty)
    }

    /// Whether it reads any row as another does, and no row gets a key of its own.
    pub(crate) fn reads_as(&self, other: &Self) -> bool {
        let Format { missing, empty, .. } = self.format;
        *missing != Missing::Keep
            && *empty != Empty::Keep
            // The key of JSON has a path in each input; columns have places, compared below.
            && (self.format.kind != Kind::Json || self.other == other.other)
            && self.width == other.width
            && self.columns == other.columns
            && self.ignored == other.ignored
    }

    /// The length of the record at the start of `bytes`, whether it is one, and its values, with missing ones marked.
    fn find(&self, bytes: &[u8], copied: &mut Copied) -> Result<(usize, Result<bool, Flaw>), Flaw> {
        let (format, columns, values) = (self.format, &self.columns[..], &mut copied.values);
        if let Kind::Csv(csv) = format.kind {
            return match blank(bytes) {
                Some(length) => Ok((length, Ok(false))),
                None => Ok((columns::find(bytes, csv, columns, values)?, Ok(true))),
            };
        }
        let end = format.kind.find(bytes, &mut false).unwrap_or(bytes.len());
        let row = &bytes[..end];
        if format.kind.is_blank(row) {
            return Ok((end, Ok(false)));
        }
        let (text, mut found) = (format.kind.text(row), Ok(()));
        match format.kind {
            Kind::Tsv(delimiter) => {
                columns::find_among(columns::between(text, delimiter), columns, values);
            }
            Kind::Fields(_) => columns::find_among(columns::between_blanks(text), columns, values),
            Kind::Json => found = json::find(text, format.paths(self.other), format.raw, values),
            Kind::Lines(_) | Kind::Csv(_) => {}
        }
        Ok((end, found.map(|()| true)))
    }

    /// Whether a row to be joined has the columns of its input, or is an object.
    fn can_be_joined(&self, row: &[u8]) -> bool {
        let Some(wanted) = self.width else { return true };
        let found = width(self.format.kind, self.format.kind.text(row));
        found.is_ok_and(|found| found.is_none_or(|found| found == wanted))
    }

    /// Checks that all values of a row of columns are present.
    fn check_present(&self, row: &[u8], values: &[Value]) -> Result<(), Flaw> {
        let Some(field) = values.iter().position(Value::is_missing) else { return Ok(()) };
        let count = self.format.kind.each(row, |_, _| Ok(()))?;
        let s = if count == 1 { "" } else { "s" };
        Err(Flaw::NoField { field, found: format!("{count} field{s}"), names: None })
    }

    /// The key of a row in which the values were found; `None` if the reader of keys finds none.
    fn key(&self, row: &[u8], copied: &mut Copied) -> Result<Option<KeyAt>, Flaw> {
        let (format, text) = (self.format, self.format.kind.text(row));
        if format.fields[0].is_empty() || format.by_row {
            let normalizes = !format.normalization.is_none();
            let by_values = match format.kind {
                Kind::Csv(_) => !format.raw && (normalizes || memchr(b'"', text).is_some()),
                Kind::Tsv(_) => normalizes,
                _ => false,
            };
            if by_values || !self.ignored.is_empty() {
                let key = copied.row(row, format.kind, format.normalization, &self.ignored)?;
                return copied.read(key, format.normalization.read);
            }
            let (mut start, mut end) = (0, text.len());
            if format.kind == Kind::Json {
                start = end - text.trim_ascii_start().len();
                end = text.trim_ascii_end().len();
            }
            let by_value = format.kind == Kind::Json && !format.raw;
            let written = if by_value { Quoting::Json } else { Quoting::Plain };
            copied.values.clear();
            copied.values.push(Value { start, end, written });
        }
        let key = copied.key(text, format.normalization)?;
        copied.read(key, format.normalization.read)
    }
}

/// The canonical form of a text that is a number in JSON, if its values are compared.
pub(crate) fn json_number(text: &[u8], records: &Records) -> Option<Vec<u8>> {
    let compared = matches!(records, Records::JsonLines { raw: false, .. });
    let is_number = matches!(text.first(), Some(b'-' | b'0'..=b'9'))
        && text.trim_ascii_end() == text
        && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
    (compared && is_number).then(|| canonical(text, Normalization::default()))
}

/// The canonical form of a JSON value, whose strings are normalized.
pub(crate) fn canonical(value: &[u8], normalization: Normalization) -> Vec<u8> {
    let mut form = Vec::new();
    json::canonical(value, normalization, &mut form);
    form
}

/// A row without the carriage return that belongs to its end.
pub(crate) fn text(row: &[u8]) -> &[u8] {
    split_end(row).0
}

/// A row without the carriage return that belongs to its end, and that carriage return.
pub(crate) fn split_end(row: &[u8]) -> (&[u8], &[u8]) {
    row.split_at(row.len() - usize::from(row.ends_with(b"\r")))
}

/// The length of an empty line, if `bytes` start with one.
pub(crate) fn blank(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [] | [b'\n', ..] => Some(0),
        [b'\r'] | [b'\r', b'\n', ..] => Some(1),
        _ => None,
    }
}

impl Copied {
    /// The key of the values found in `row`.
    fn key(&mut self, row: &[u8], normalization: Normalization) -> Result<KeyAt, Flaw> {
        if let [Value { start, end, written: Quoting::Plain }] = self.values[..]
            && normalization.is_none()
        {
            let (start, length) = (start as u32, (end - start) as u32);
            return Ok(KeyAt { copied: false, start, length });
        }
        let (begin, several) = (self.bytes.len(), self.values.len() > 1);
        for value in &self.values {
            let prefix = self.bytes.len();
            self.bytes.extend_from_slice(if several { &[0; 4] } else { &[] });
            let start = self.bytes.len();
            match &row[value.start..value.end] {
                // Its parts are normalized, and not what is between them.
                json @ [b'{' | b'[' | b'"', ..] if value.written == Quoting::Json => {
                    json::canonical(json, normalization, &mut self.bytes);
                }
                _ => {
                    value.copy(row, &mut self.bytes)?;
                    normalization.apply(&mut self.bytes, start);
                }
            }
            if several {
                // A value is at most as long as its row, or a few times that if normalized.
                let length = (self.bytes.len() - start) as u32;
                self.bytes[prefix..start].copy_from_slice(&length.to_le_bytes());
            }
        }
        self.copied_from(begin)
    }

    /// The key of a whole row of columns, value by value, without `ignored` columns.
    fn row(
        &mut self,
        row: &[u8],
        kind: Kind,
        normalization: Normalization,
        ignored: &[usize],
    ) -> Result<KeyAt, Flaw> {
        let (begin, bytes, delimiter) = (self.bytes.len(), &mut self.bytes, kind.delimiter());
        let mut follows = false;
        kind.each(row, |column, value| {
            if ignored.contains(&column) {
                return Ok(());
            }
            if std::mem::replace(&mut follows, true) {
                bytes.push(delimiter);
            }
            let start = bytes.len();
            value.copy(row, bytes)?;
            normalization.apply(bytes, start);
            if matches!(kind, Kind::Csv(_)) {
                quote_if(bytes, start, [b'"', b'\n', delimiter]);
            }
            Ok(())
        })?;
        self.copied_from(begin)
    }

    /// The key that was copied from a place on.
    fn copied_from(&self, begin: usize) -> Result<KeyAt, Flaw> {
        let length = self.bytes.len() - begin;
        match (u32::try_from(begin), u32::try_from(length)) {
            (Ok(start), Ok(length)) => Ok(KeyAt { copied: true, start, length }),
            _ => Err(Flaw::GiantKey(length as u64)),
        }
    }

    /// Replaces a key just copied by the key that `read` finds in it, if this function is set.
    #[inline(always)]
    fn read(&mut self, key: KeyAt, read: Option<ReadKey>) -> Result<Option<KeyAt>, Flaw> {
        let Some(read) = read else { return Ok(Some(key)) };
        assert!(key.copied, "keys that are normalized are copied");
        let text = self.bytes.split_off(key.start as usize);
        let read = read(&text, &mut self.bytes).map_err(Flaw::NoKey)?;
        let length = (self.bytes.len() - key.start as usize) as u32;
        Ok(read.then_some(KeyAt { length, ..key }))
    }

    /// A unique key.
    fn alone(&mut self, start: [[u8; 8]; 2], place: u64) -> KeyAt {
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(start.as_flattened());
        self.bytes.extend_from_slice(&u128::from(place).to_le_bytes());
        KeyAt { copied: true, start: begin, length: 32 }
    }

    /// Appends a key of `other`; returns its location here.
    pub(crate) fn keep(&mut self, key: KeyAt, other: &Self) -> KeyAt {
        if !key.copied {
            return key;
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key.of(&other.bytes));
        KeyAt { start, ..key }
    }
}

/// Empties a buffer; keeps at most `most` bytes of memory.
pub(crate) fn empty(buffer: &mut Vec<u8>, most: usize) {
    buffer.clear();
    if buffer.capacity() > most {
        *buffer = Vec::new();
    }
}

impl Value {
    /// Stands for a missing value.
    const MISSING: Self = Self::plain(usize::MAX, 0);

    pub(crate) const fn plain(start: usize, end: usize) -> Self {
        Self { start, end, written: Quoting::Plain }
    }

    fn is_missing(&self) -> bool {
        self.start == usize::MAX
    }

    /// Appends the value itself.
    pub(crate) fn copy(self, row: &[u8], to: &mut Vec<u8>) -> Result<(), Flaw> {
        let bytes = &row[self.start..self.end];
        match self.written {
            Quoting::Plain => to.extend_from_slice(bytes),
            Quoting::Doubled => {
                let mut from = 0;
                while let Some(at) = memchr(b'"', &bytes[from..]) {
                    to.extend_from_slice(&bytes[from..=from + at]);
                    from += at + 2;
                }
                to.extend_from_slice(&bytes[from..]);
            }
            Quoting::Json => json::canonical(bytes, Normalization::default(), to),
            Quoting::Escaped => {
                let text: String = serde_json::from_slice(bytes).map_err(Flaw::Json)?;
                to.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
