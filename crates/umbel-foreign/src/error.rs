//! Why a foreign filter was refused. Messages name what was expected, what was found and, if known, what to do; a
//! caller that knows the path puts it in front.

use std::fmt;

use umbel::internals::Exact;

use crate::{Format, KeyType};

/// Why a filter, a file, a parameter or a key was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of the format is unknown.
    #[error("unknown format {name:?}; the formats are {}", names(Format::ALL.iter().copied().map(Format::name)))]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// The name of the type of keys is unknown.
    #[error("unknown key type {name:?}; the types are {}", names(KeyType::ALL.iter().copied().map(KeyType::name)))]
    UnknownKeyType {
        /// The name.
        name: String,
    },
    /// A field of a file is invalid in its format.
    #[error("{format}: `{field}` is {found}; expected {expected}; another format, or damaged?")]
    Field {
        /// The format it was read as.
        format: Format,
        /// Name of the field.
        field: &'static str,
        /// The value found.
        found: Value,
        /// The valid values.
        expected: &'static str,
    },
    /// A file is not the JSON that its format needs.
    #[error(
        "{format}: not the expected JSON: {source}; expected an object with whole numbers m and k and a string b; another format, or damaged?"
    )]
    Json {
        /// The format it was read as.
        format: Format,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A file has fewer bytes than it declares, or more.
    #[error("{format}: declares {expected} bytes, found {found}; {}",
        if found < expected { "truncated? copy it again" } else { "another format, or was something appended?" })]
    Length {
        /// The format it was read as.
        format: Format,
        /// The bytes that its fields declare.
        expected: u64,
        /// The bytes found.
        found: u64,
    },

    /// A format does not accept a parameter, or one is missing.
    #[error("{format}: the parameter `{parameter}` is {found}; expected {expected}")]
    Parameter {
        /// The format to make.
        format: Format,
        /// Name of the parameter.
        parameter: &'static str,
        /// The value found, or the text `nothing`.
        found: Value,
        /// The valid values.
        expected: &'static str,
    },
    /// The false positive rate is outside (0, 1).
    #[error("fpp {} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %", Exact(*.0))]
    Fpp(f64),
    /// The system makes no filters for zero keys.
    #[error("zero keys: a filter is planned for at least 1 key")]
    ZeroKeys,
    /// The filter would need more bits than the system supports.
    #[error("the filter would need {} bits, more than the system supports", Exact(*bits))]
    TooLarge {
        /// The bits that the parameters need.
        bits: f64,
    },

    /// The system does not hash this type of key.
    #[error("{format} filters do not hold keys of type {found}; their types are {}", names(format.key_types().iter().map(|key| key.name())))]
    KeyType {
        /// Format of the filter.
        format: Format,
        /// Type of the key.
        found: &'static str,
    },
    /// The system refuses this key.
    #[error("{format} filters refuse {what}")]
    Key {
        /// Format of the filter.
        format: Format,
        /// The refused key, in words.
        what: &'static str,
    },
    /// A line is not a key of the requested type.
    #[error("\"{}\" is not of type {expected}; choose the right key type, or leave the line out", line.escape_ascii())]
    KeyText {
        /// The line.
        line: Vec<u8>,
        /// The type requested.
        expected: KeyType,
    },
    /// The filter accepts no more keys.
    #[error("the {format} filter is full: it was planned for {keys} keys; build one for more")]
    Full {
        /// Format of the filter.
        format: Format,
        /// The keys it was made for.
        keys: u64,
    },
    /// The filter would grow beyond the limit set for it.
    #[error(
        "the filter would grow to {bytes} bytes, more than the limit of {limit}; \
         raise the limit, or rebuild it for more keys"
    )]
    GrowthLimit {
        /// The bytes in memory while it grows.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },

    /// Filters of different formats cannot be merged.
    #[error("a {left} and a {right} filter cannot be merged; build both in one format")]
    FormatsDiffer {
        /// Format of the left filter.
        left: Format,
        /// Format of the right filter.
        right: Format,
    },
    /// Filters that place keys differently cannot be merged.
    #[error(
        "the {what} of one filter is {left}, of the other {right}; build both with the same parameters"
    )]
    Differ {
        /// The property that differs.
        what: &'static str,
        /// Its value in the left filter.
        left: Value,
        /// Its value in the right filter.
        right: Value,
    },
    /// Filters of this format have no union.
    #[error("{format} filters cannot be merged; build one filter from the keys of both")]
    NoUnion {
        /// Format of the filters.
        format: Format,
    },
    /// The filter does not convert to the requested format.
    #[error(
        "a {from} filter does not convert to {to}, which puts keys in other positions; a filter does not store its keys, so build one in that format from them"
    )]
    CannotConvert {
        /// Format of the filter.
        from: Format,
        /// The requested format.
        to: Format,
    },

    /// The filter cannot be compared with another.
    #[error(
        "{format}: a filter of several parts, or one without probes, cannot be compared; build each filter in one part, for all of its keys"
    )]
    NotComparable {
        /// Format of the filter.
        format: Format,
    },

    /// The memory for a filter could not be allocated.
    #[error("cannot allocate {bytes} bytes of memory for the filter")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A value in an [`Error`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A whole number that may be negative.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// A description of something that is not a number.
    Words(&'static str),
    /// A text, such as an option or a scheme.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Words(words) => f.write_str(words),
            Self::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! values {
    ($($variant:ident: $($type:ty)+;)*) => {$($(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )+)*};
}

values! {
    Count: u8 u16 u32 u64;
    Integer: i8 i32 i64;
    Number: f64;
    Words: &'static str;
    Text: String;
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

/// Returns an error for the first of `names` in which two filters differ.
pub(crate) fn differ<const N: usize>(
    names: [&'static str; N],
    left: [Value; N],
    right: [Value; N],
) -> Result<(), Error> {
    for (what, (left, right)) in names.into_iter().zip(left.into_iter().zip(right)) {
        if left != right {
            return Err(Error::Differ { what, left, right });
        }
    }
    Ok(())
}

/// A list of names, for a message.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
