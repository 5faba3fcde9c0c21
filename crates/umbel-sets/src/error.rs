//! Why a job over files can stop.

use std::io;
use std::path::PathBuf;

/// Bytes of the longest line. A stored result has 8 more, its count, and a length of 32 bits.
pub(crate) const LONGEST_LINE: u32 = u32::MAX - 8;

/// The remedy for a missing field: suggests a similar name, if there is one.
fn remedy(near: Option<&str>, otherwise: &str) -> String {
    near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean {near:?}?"))
}

/// Why a job stopped. Nothing is lost: inputs are only read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job was cancelled by [`Progress::cancel`](crate::Progress::cancel).
    #[error("the job was cancelled")]
    Cancelled,
    /// An input could not be read.
    #[error("{name}: {source}")]
    Read {
        /// The input's name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// An input of this name is a directory.
    #[error("{0}: is a directory; name files, or pipe lines in")]
    Directory(String),
    /// An input of this name changed during the job.
    #[error(
        "{0}: changed while it was being read, so the result would be wrong; run again when nothing writes to it"
    )]
    Changed(String),
    /// The memory cap is too low for the job.
    #[error("a memory cap of {} is too small; this run needs at least {}", Size(*.cap), Size(*.least))]
    Memory {
        /// The cap given, in bytes.
        cap: u64,
        /// The least cap that works, in bytes.
        least: u64,
    },
    /// The system has less memory than the cap allows: it did not provide this many bytes.
    #[error("the system cannot provide {} more memory, though the cap allows it; lower the cap", Size(*.0))]
    NoMemory(u64),
    /// The filter cannot accept more keys.
    #[error(
        "{at}: this line would over-fill the filter, which is planned for {keys} keys; the lines before it are recorded; continue with a larger filter, or one that grows"
    )]
    FilterFull {
        /// The place in the input.
        at: Place,
        /// The keys the filter was planned for.
        keys: u64,
    },
    /// The filter has no room for all new lines.
    #[error(
        "found {new} new lines, but the filter, which is planned for {keys} keys, has room for {room}; nothing was written; continue with a larger filter, or one that grows"
    )]
    NoRoom {
        /// The lines that are not in it.
        new: u64,
        /// The keys that it may still accept.
        room: u64,
        /// The keys the filter was planned for.
        keys: u64,
    },
    /// Records without a key cannot be kept if a filter is built or queried; [`Form::keeps_keyless`](crate::Form::keeps_keyless)
    /// names the option that does.
    #[error("records without a key can be neither added nor looked up; leave them out")]
    KeptWithoutKey(&'static str),
    /// The lines of an input cannot be numbered.
    #[error(
        "{0}: its lines cannot be numbered, because some are skipped, padded or left out, or its columns are reordered or use another delimiter; number the lines of an unchanged file"
    )]
    Copied(String),
    /// The filter holds rows, but one of keys is needed.
    #[error(
        "the filter holds rows, so it cannot record which lines were seen; name a filter of keys"
    )]
    UnseenRows,
    /// A filter could not be saved.
    #[error("{0}")]
    Save(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The filter would outgrow the memory cap.
    #[error(
        "the filter has grown as far as a memory cap of {} allows; to grow once more it needs a cap of {}; raise the cap, or rebuild the filter for more keys",
        Size(*.cap), Size(*.next)
    )]
    Outgrown {
        /// The cap given, in bytes.
        cap: u64,
        /// The least cap with which it can grow once more, in bytes.
        next: u64,
    },
    /// A line does not fit in memory.
    #[error(
        "{at}: the line has {length} bytes, too many for a memory cap of {}; a cap of {} is enough",
        Size(*.cap), Size(*.least)
    )]
    LongLine {
        /// The place in the input.
        at: Place,
        /// Its length in bytes, without its end.
        length: u64,
        /// The cap given, in bytes.
        cap: u64,
        /// A cap that works, in bytes.
        least: u64,
    },
    /// A line is longer than any memory cap allows.
    #[error("{at}: the line has {length} bytes; the longest possible has {}", LONGEST_LINE)]
    GiantLine {
        /// The place in the input.
        at: Place,
        /// Its length in bytes.
        length: u64,
    },
    /// A temporary file could not be made, written or read back.
    #[error("{}: temporary files: {source}; free space there, or name another folder", dir.display())]
    Temporary {
        /// The folder.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("writing the result: {0}")]
    Output(#[source] io::Error),
    /// There are fewer than two inputs, or they cannot meet the threshold.
    #[error(
        "a threshold of {at_least} with {inputs} inputs; it must be from 1 to the number of inputs"
    )]
    AtLeast {
        /// The threshold.
        at_least: usize,
        /// Inputs given.
        inputs: usize,
    },
    /// There are more inputs than can be counted.
    #[error("{0} inputs, but at most 65535 can be compared; combine several files into one")]
    Inputs(usize),
    /// The quotes of a record violate RFC 4180.
    #[error(
        "{at}: {flaw}; in CSV a quote starts a field, ends it, or is doubled inside it; correct the record"
    )]
    Quote {
        /// The place where the quoting breaks.
        at: Place,
        /// The violation.
        flaw: QuoteFlaw,
    },
    /// A record is not valid JSON.
    #[error("{at}: not valid JSON: {}; correct the record, or leave it out", without_place(source))]
    Json {
        /// The place where it stops being JSON.
        at: Place,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A record has more or fewer fields than its file has columns, so it cannot be reordered or joined.
    #[error(
        "{at}: the record has {found} field{}, but its file has {columns} column{}; correct the record, or leave it out",
        if *found == 1 { "" } else { "s" },
        if *columns == 1 { "" } else { "s" }
    )]
    Ragged {
        /// The start of the record.
        at: Place,
        /// Its fields.
        found: usize,
        /// The fields of the header, or of the first record.
        columns: usize,
    },
    /// A header's columns differ from the first header's, under which its rows would be written.
    #[error("{name}: the columns differ from those of {first}: {difference}")]
    OtherColumns {
        /// The input's name.
        name: String,
        /// The name of the first input.
        first: String,
        /// The columns that only one of them has, or another difference, and what helps.
        difference: String,
    },
    /// A record lacks a field of the key.
    #[error(
        "{at}: the record has no field {field:?} (found {found}); {} leave this record out",
        near.as_ref().map_or("name a field that all records have, or".into(), |near| format!("did you mean {near:?}? Or"))
    )]
    NoField {
        /// The place in the input.
        at: Place,
        /// The field, as named.
        field: String,
        /// The fields of the record.
        found: Box<str>,
        /// The field that was probably meant.
        near: Option<Box<str>>,
    },
    /// Every record lacks some field of the key.
    #[error(
        "{at}: no record has {} {field:?} (found {found}); {}",
        if *fields > 1 { "all fields of the key; this one lacks" } else { "a field" },
        remedy(near.as_deref(), "name a field that records have")
    )]
    NowhereField {
        /// The place of one such record.
        at: Place,
        /// How many fields the key has.
        fields: usize,
        /// The field, as named.
        field: String,
        /// The fields of that record.
        found: Box<str>,
        /// The field that was probably meant.
        near: Option<Box<str>>,
    },
    /// A header lacks a field of the key.
    #[error(
        "{name}: the header has no field {field:?} (found {found}); {}",
        remedy(near.as_deref(), "name one of these or a number from 1, or say that there is no header")
    )]
    UnknownField {
        /// The input's name.
        name: String,
        /// The field, as named.
        field: String,
        /// The header's names.
        found: String,
        /// The one that was probably meant.
        near: Option<Box<str>>,
    },
    /// The header has a field of the key twice.
    #[error(
        "{name}: columns {} and {} of the header are both named {field:?}; name the one you mean by its number",
        columns[0], columns[1]
    )]
    SameName {
        /// The input's name.
        name: String,
        /// The field, as named.
        field: String,
        /// The first two columns of that name, from 1.
        columns: [usize; 2],
    },
    /// A join's key has a column of an input twice.
    #[error("{name}: the key has field {field} twice; name each field of a joined key once")]
    KeyTwice {
        /// The input's name.
        name: String,
        /// The column, from 1, or the member's name.
        field: String,
    },
    /// A column of the second input has the same name as one of the first, besides the key.
    #[error(
        "{name}: {}",
        if *twice {
            format!("has two columns named {field:?}; joined rows would have both, so rename one of them")
        } else {
            format!("column {field:?} has the same name as a column of the first file, but is not in the key; give such names a prefix")
        }
    )]
    SameColumn {
        /// The second input's name.
        name: String,
        /// The column, as named.
        field: String,
        /// Whether the second input itself has two of that name.
        twice: bool,
    },
    /// A JSON record has a member with the same name as one of the record it is joined with, besides the key.
    #[error(
        "{at}: the joined record would have two members named {field:?}; give the names of one file a prefix"
    )]
    SameMember {
        /// The start of the record.
        at: Place,
        /// The name.
        field: String,
    },
    /// Rows of an input without a partner are to be written, but it is a list of keys, some of which are two records.
    #[error(
        "{0}: has keys such as 1.50, which are a number or a text in JSON, and would be written as both; give records with the key as a member"
    )]
    Doubled(String),
    /// A row has several partners.
    #[error("{name}: several rows have the key {key:?}, but only one partner is allowed")]
    Repeated {
        /// The second input's name.
        name: String,
        /// The values of the key.
        key: String,
    },
    /// A field is given by name, but the input has no header.
    #[error("field {0:?}: without a header, fields are named by number, from 1; give a number")]
    FieldNumber(String),
    /// Other inputs name more or fewer fields of the key.
    #[error("the key has {fields} fields, but other inputs name {others}; name as many, or none")]
    OtherFields {
        /// The fields of the key.
        fields: usize,
        /// The fields named for other inputs.
        others: usize,
    },
    /// The byte cannot be a delimiter.
    #[error("the delimiter {:?} already has a meaning in CSV; choose another byte", char::from(*.0))]
    Delimiter(u8),
    /// A line is on both lists: it must match and must not match.
    #[error(
        "{at}: the line \"{}\" is also among the exceptions in {other}; remove it from one of them",
        line.escape_ascii()
    )]
    BothLists {
        /// The place in the input.
        at: Place,
        /// Its key.
        line: Vec<u8>,
        /// The name of the input of exceptions that contains it.
        other: Box<str>,
    },
    /// The [reader of keys](crate::Normalization::read) refuses a record.
    #[error("{at}: {source}")]
    NoKey {
        /// The start of the record.
        at: Place,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The function that processes keys refuses one.
    #[error("{at}: {source}")]
    Key {
        /// The place in the input.
        at: Place,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The key of another system's filter cannot have several fields.
    #[error("a {format} filter has keys of one field, found {fields}; name one")]
    KeyFields {
        /// The format of the filter.
        format: umbel_foreign::Format,
        /// The number of fields given.
        fields: usize,
    },
    /// The filter holds other keys than those looked up.
    #[error(transparent)]
    OtherKeys(#[from] umbel::internals::format::OtherKeys),
    /// The number of names differs from the number of fields.
    #[error("{names} names for the {fields} fields of the key; give one for each, in their order")]
    Names {
        /// The fields of the key.
        fields: usize,
        /// The names given.
        names: usize,
    },
    /// The attributes of a filter of rows cannot be renamed.
    #[error(
        "a filter of rows uses the column names of its input; rename columns in the input's header"
    )]
    NamesOfRows,
    /// An error of the function that processes keys.
    #[error("{0}")]
    Work(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A filter could not be planned or made.
    #[error(transparent)]
    Filter(umbel::Error),
    /// A filter of another system could not be planned or made.
    #[error(transparent)]
    Foreign(#[from] umbel_foreign::Error),
}

impl Error {
    /// The place in an input that the error is about, if any.
    pub(crate) fn place(&mut self) -> Option<&mut Place> {
        match self {
            Self::FilterFull { at, .. }
            | Self::LongLine { at, .. }
            | Self::GiantLine { at, .. }
            | Self::Quote { at, .. }
            | Self::Json { at, .. }
            | Self::NoField { at, .. }
            | Self::NowhereField { at, .. }
            | Self::Ragged { at, .. }
            | Self::SameMember { at, .. }
            | Self::BothLists { at, .. }
            | Self::NoKey { at, .. }
            | Self::Key { at, .. } => Some(at),
            _ => None,
        }
    }
}

/// A place in an input. Messages show its line and column, which are counted only for an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The input's name.
    pub name: Box<str>,
    /// Bytes from the start of the input.
    pub offset: u64,
    /// The line and the column, both from 1, if they could be counted. Lines end where records do; columns count
    /// characters.
    pub line: Option<(u64, u64)>,
    /// Whether the line is one of a copy without lines that were left out.
    pub is_partial: bool,
}

impl Place {
    pub(crate) fn new(name: &str, offset: u64) -> Self {
        let line = (offset == 0).then_some((1, 1));
        Self { name: name.into(), offset, line, is_partial: false }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            None => write!(f, "{}, byte {}", self.name, self.offset),
            // Most records begin a line.
            Some((line, 1)) => write!(f, "{}, line {line}", self.name),
            Some((line, column)) => write!(f, "{}, line {line}, column {column}", self.name),
        }?;
        f.write_str(if self.is_partial { ", not counting those left out" } else { "" })
    }
}

/// The parser's message without line and column, which it counts within the record.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The violations of RFC 4180 in quoting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuoteFlaw {
    /// There is a quote in a field that does not begin with one.
    #[error("a quote inside an unquoted field")]
    Bare,
    /// There are only blanks between a quote and the delimiter before or after its field; without them, the record is correct.
    #[error("a blank between a quote and a delimiter")]
    Blank,
    /// There is something between the closing quote and the next delimiter.
    #[error("text after the closing quote of a field")]
    Closed,
    /// A quote is never closed.
    #[error("a quote that is never closed")]
    Open,
}

/// Bytes, in the largest unit that keeps them readable.
pub(crate) struct Size(pub(crate) u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(bytes) = *self;
        match bytes.trailing_zeros() {
            30..64 => write!(f, "{}GiB", bytes >> 30),
            20..30 => write!(f, "{}MiB", bytes >> 20),
            10..20 => write!(f, "{}KiB", bytes >> 10),
            _ => write!(f, "{bytes} bytes"),
        }
    }
}

/// Converts the errors of filters to errors of jobs.
macro_rules! from_filters {
    ($($error:ident),*) => {$(
        impl From<umbel::$error> for Error {
            fn from(error: umbel::$error) -> Self {
                Self::Filter(error.into())
            }
        }
    )*};
}

from_filters!(PlanError, InsertError, BuildError, RowError, MergeError, FileError);

impl From<umbel::OutOfMemory> for Error {
    fn from(umbel::OutOfMemory { bytes }: umbel::OutOfMemory) -> Self {
        Self::NoMemory(bytes)
    }
}
