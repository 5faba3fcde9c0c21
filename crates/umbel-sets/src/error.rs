//! What can stop a job over files.

use std::io;
use std::path::PathBuf;

/// Why a job stopped. Nothing was lost: inputs are only read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input could not be read.
    #[error("{name}: {source}")]
    Read {
        /// The input's name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// An input is a directory.
    #[error("{name}: is a directory; name files, or pipe lines in")]
    Directory {
        /// The input's name.
        name: String,
    },
    /// An input was written to while it was being worked on.
    #[error(
        "{name}: changed while it was being read, so the result would be wrong; run again when nothing writes to it"
    )]
    Changed {
        /// The input's name.
        name: String,
    },
    /// Less memory than any job needs.
    #[error("a memory cap of {} is too small; this run needs at least {}", Size(*.cap), Size(*.least))]
    Memory {
        /// The cap given, in bytes.
        cap: u64,
        /// The least cap that works, in bytes.
        least: u64,
    },
    /// The system has less memory than the cap allows.
    #[error("the system cannot provide {} more memory, though the cap allows it; lower the cap", Size(*.bytes))]
    NoMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A filter that may take no more keys.
    #[error(
        "{at}: this line would over-fill the filter, which is planned for {keys} keys; the lines before it are recorded; continue with a larger filter, or one that grows"
    )]
    FilterFull {
        /// Where.
        at: Place,
        /// The keys the filter was planned for.
        keys: u64,
    },
    /// A filter that has no room for all new lines.
    #[error(
        "found {new} new lines, but the filter, which is planned for {keys} keys, has room for {room}; nothing was written; continue with a larger filter, or one that grows"
    )]
    NoRoom {
        /// Lines that it does not know.
        new: u64,
        /// Keys that it may still take.
        room: u64,
        /// The keys the filter was planned for.
        keys: u64,
    },
    /// Records without a key that are to be kept, where a filter is made or looked up.
    #[error("a filter can neither hold nor find records without a key; leave them out")]
    KeptWithoutKey,
    /// A filter of rows where one of keys is needed.
    #[error(
        "the filter holds rows, so it cannot record which lines were seen; name a filter of keys"
    )]
    SeenRows,
    /// A filter could not be saved.
    #[error("{0}")]
    Save(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A filter that would outgrow the memory cap.
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
    /// A line that does not fit in memory.
    #[error(
        "{at}: the line has {length} bytes, too many for a memory cap of {}; a cap of {} is enough",
        Size(*.cap), Size(*.least)
    )]
    LongLine {
        /// Where.
        at: Place,
        /// Its length in bytes, without its end.
        length: u64,
        /// The cap given, in bytes.
        cap: u64,
        /// A cap that works, in bytes.
        least: u64,
    },
    /// A line longer than any memory cap allows.
    #[error("{at}: the line has {length} bytes; the longest possible has {}", u32::MAX)]
    GiantLine {
        /// Where.
        at: Place,
        /// Its length in bytes.
        length: u64,
    },
    /// More input than offsets can count.
    #[error("the inputs have {0} bytes in total; at most 2^48 are supported")]
    TooMuch(u64),
    /// A temporary file could not be made, written or read back.
    #[error("{}: temporary files: {source}; free space there, or name another folder", dir.display())]
    Temporary {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("writing the result: {0}")]
    Output(#[source] io::Error),
    /// Fewer than two inputs, or a threshold that they cannot meet.
    #[error(
        "a threshold of {at_least} with {inputs} inputs; it must be from 1 to the number of inputs"
    )]
    AtLeast {
        /// The threshold.
        at_least: usize,
        /// Inputs given.
        inputs: usize,
    },
    /// A record whose quotes do not follow RFC 4180.
    #[error(
        "{at}: {flaw}; in CSV a quote starts a field, ends it, or is doubled inside it; correct the record"
    )]
    Quote {
        /// Where the quoting breaks.
        at: Place,
        /// What is there.
        flaw: QuoteFlaw,
    },
    /// A record that is no JSON text.
    #[error("{at}: not valid JSON: {}; correct the record, or leave it out", without_place(source))]
    Json {
        /// Where the text stops being JSON.
        at: Place,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A record of columns that are to be put in another order, with more or fewer fields than the header.
    #[error(
        "{at}: the record has {found} field{}, but the header has {columns}, so they cannot be put in the column order of the first file; correct the record, or leave it out",
        if *found == 1 { "" } else { "s" }
    )]
    Ragged {
        /// Where the record starts.
        at: Place,
        /// Its fields.
        found: usize,
        /// Those of the header.
        columns: usize,
    },
    /// A header with other columns than the first one, under which its rows would go out.
    #[error(
        "{name}: the columns differ from those of {first}: {difference}; give both the same columns"
    )]
    OtherColumns {
        /// The input's name.
        name: String,
        /// The name of the first input.
        first: String,
        /// What only one of them has.
        difference: String,
    },
    /// A record without a field of the key.
    #[error(
        "{at}: the record has no field {field:?} (found {found}); name a field that all records have, or leave this record out"
    )]
    NoField {
        /// Where.
        at: Place,
        /// The field as it was named.
        field: String,
        /// What the record has instead.
        found: String,
    },
    /// A header without a field of the key.
    #[error(
        "{name}: the header has no field {field:?} (found {found}); name one of these or a number from 1, or say that there is no header"
    )]
    UnknownField {
        /// The input's name.
        name: String,
        /// The field as it was named.
        field: String,
        /// The names there are.
        found: String,
    },
    /// A field of the key that the header names twice.
    #[error(
        "{name}: columns {} and {} of the header are both named {field:?}; name the one you mean by its number",
        columns[0], columns[1]
    )]
    SameName {
        /// The input's name.
        name: String,
        /// The field as it was named.
        field: String,
        /// The first two columns of that name, from 1.
        columns: [usize; 2],
    },
    /// A field named where there are no names.
    #[error("field {field:?}: without a header, fields are named by number, from 1; give a number")]
    FieldNumber {
        /// The field as it was named.
        field: String,
    },
    /// A byte that cannot stand between fields.
    #[error("the delimiter {:?} already has a meaning in CSV; choose another byte", char::from(*delimiter))]
    Delimiter {
        /// The byte.
        delimiter: u8,
    },
    /// A line that is to match and not to match.
    #[error(
        "{at}: the line \"{}\" is also among the exceptions in {other}; remove it from one of them",
        line.escape_ascii()
    )]
    BothLists {
        /// Where.
        at: Place,
        /// Its key.
        line: Vec<u8>,
        /// The name of the input of exceptions that has it.
        other: String,
    },
    /// A key that the work with keys refuses.
    #[error("{at}: {source}")]
    Key {
        /// Where.
        at: Place,
        /// Why it is refused.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Several fields as the key of another system's filter.
    #[error("a {format} filter has keys of one field, found {fields}; name one")]
    KeyFields {
        /// The format of the filter.
        format: umbel_foreign::Format,
        /// Fields named.
        fields: usize,
    },
    /// A filter of other keys than those that are looked up.
    #[error(
        "the filter was built from {filter}, so it cannot answer for {wanted}; look up the same fields in the same order, compared in the same way, or rebuild the filter"
    )]
    OtherKeys {
        /// What its keys are, in words.
        filter: String,
        /// What the keys of the job are.
        wanted: String,
    },
    /// Names for fields, but not one for each.
    #[error("{names} names for the {fields} fields of the key; give one for each, in their order")]
    Names {
        /// Fields of the key.
        fields: usize,
        /// Names given.
        names: usize,
    },
    /// Other names for the attributes of a filter of rows.
    #[error(
        "a filter of rows is queried by the names of its attributes; name the fields as it does"
    )]
    NamesOfRows,
    /// What the work with keys has to say of itself.
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
    /// The place of what is wrong in an input, if it has one.
    pub(crate) fn place(&mut self) -> Option<&mut Place> {
        match self {
            Self::FilterFull { at, .. }
            | Self::LongLine { at, .. }
            | Self::GiantLine { at, .. }
            | Self::Quote { at, .. }
            | Self::Json { at, .. }
            | Self::NoField { at, .. }
            | Self::Ragged { at, .. }
            | Self::BothLists { at, .. }
            | Self::Key { at, .. } => Some(at),
            _ => None,
        }
    }
}

/// A place in an input: for messages its line and column, which are counted only when there is something to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The input's name.
    pub name: String,
    /// Bytes from the start of the input.
    pub offset: u64,
    /// The line and the column, both from 1, if they could be counted. Lines end as records do, columns are characters.
    pub line: Option<(u64, u64)>,
}

impl Place {
    pub(crate) fn new(name: &str, offset: u64) -> Self {
        Self { name: name.to_owned(), offset, line: None }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            None => write!(f, "{}, byte {}", self.name, self.offset),
            // Most records begin a line.
            Some((line, 1)) => write!(f, "{}, line {line}", self.name),
            Some((line, column)) => write!(f, "{}, line {line}, column {column}", self.name),
        }
    }
}

/// Counts lines and columns up to a place, in pieces of any size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCounter {
    separator: u8,
    /// Lines that ended.
    lines: u64,
    /// Characters of the line that has not.
    characters: u64,
}

impl LineCounter {
    pub(crate) fn new(separator: u8) -> Self {
        Self { separator, lines: 0, characters: 0 }
    }

    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if let Some(last) = memchr::memrchr(self.separator, bytes) {
            self.lines += memchr::memchr_iter(self.separator, &bytes[..=last]).count() as u64;
            self.characters = 0;
            rest = &bytes[last + 1..];
        }
        if self.lines == 0 && self.characters == 0 {
            rest = &rest[crate::records::mark(rest)..];
        }
        // Bytes that go on with a character do not begin one.
        self.characters += rest.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }

    /// An error with the line and column of its place, if that is in the `bytes` from an offset on, up to which all was passed.
    pub(crate) fn locate(mut self, mut error: Error, bytes: &[u8], offset: u64) -> Error {
        if let Some(place) = error.place()
            && let Some(before) = place.offset.checked_sub(offset)
            && let Some(bytes) = bytes.get(..before as usize)
        {
            self.pass(bytes);
            place.line = Some(self.place());
        }
        error
    }

    /// The line and the column behind all that was passed.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.lines + 1, self.characters + 1)
    }
}

/// What a parser says of a record, without the line and column that it counts in it alone.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// How quotes are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteFlaw {
    /// A quote in a field that does not begin with one.
    Bare,
    /// Something between the closing quote and the next delimiter.
    Closed,
    /// A quote that is never closed.
    Open,
}

impl std::fmt::Display for QuoteFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bare => "a quote inside an unquoted field",
            Self::Closed => "text after the closing quote of a field",
            Self::Open => "a quote that is never closed",
        })
    }
}

/// Bytes, in the largest unit that keeps them readable.
pub(crate) struct Size(pub(crate) u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes.is_multiple_of(1 << 30) && bytes > 0 => write!(f, "{}GiB", bytes >> 30),
            bytes if bytes.is_multiple_of(1 << 20) && bytes > 0 => write!(f, "{}MiB", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) && bytes > 0 => write!(f, "{}KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

/// Every error of the filters is one of a job.
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
        Self::NoMemory { bytes }
    }
}
