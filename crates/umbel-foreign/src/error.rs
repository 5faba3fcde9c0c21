//! Why a foreign filter was refused. Messages give what was expected, what was found and, where it is known, what to
//! do; the caller that knows a path puts it in front.

use std::fmt;

use crate::{Format, KeyType};

/// Why a filter, a file, a parameter or a key was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no format has.
    #[error("{name:?} is not a format of another system; the formats are {}", names(Format::ALL.map(Format::name)))]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// A name that no type of key has.
    #[error("{name:?} is not a type of keys; the types are {}", names(KeyType::ALL.map(KeyType::name)))]
    UnknownKeyType {
        /// The name.
        name: String,
    },
    /// A field of a file that is not as its format has it.
    #[error("{format}: `{field}` is {found}; expected {expected}; another format, or damaged?")]
    Field {
        /// Format it was read as.
        format: Format,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        found: Value,
        /// What would be right.
        expected: &'static str,
    },
    /// A file that is not the JSON that its format has.
    #[error(
        "{format}: not the expected JSON: {source}; expected an object with whole numbers m and k and a string b; another format, or damaged?"
    )]
    Json {
        /// Format it was read as.
        format: Format,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// Fewer bytes than a file declares, or more.
    #[error("{format}: declares {expected} bytes, found {found}; {}",
        if found < expected { "truncated? copy it again" } else { "another format, or was something appended?" })]
    Length {
        /// Format it was read as.
        format: Format,
        /// Bytes that its fields ask for.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },

    /// A parameter that a format cannot be given, or that is missing.
    #[error("{format}: the parameter `{parameter}` is {found}; expected {expected}")]
    Parameter {
        /// Format to be made.
        format: Format,
        /// Name of the parameter.
        parameter: &'static str,
        /// Value found, or the text `missing`.
        found: Value,
        /// What would be right.
        expected: &'static str,
    },
    /// A false-positive probability outside (0, 1).
    #[error("fpp {0} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %")]
    Fpp(f64),
    /// A filter for no keys, of a system that makes none.
    #[error("zero keys: a filter is planned for at least 1 key")]
    ZeroKeys,
    /// More bits than the system can have in a filter.
    #[error("the filter would need {bits:.3e} bits, more than the system supports")]
    TooLarge {
        /// Bits that the parameters ask for.
        bits: f64,
    },

    /// A type of key that the system does not hash.
    #[error("{format} filters do not hold keys of type {found}; their types are {}", names(format.key_types().iter().map(|key| key.name())))]
    KeyType {
        /// Format of the filter.
        format: Format,
        /// Type of the key.
        found: &'static str,
    },
    /// A key that the system refuses.
    #[error("{format} filters refuse {what}")]
    Key {
        /// Format of the filter.
        format: Format,
        /// What is refused.
        what: &'static str,
    },
    /// A line that is no key of the type asked for.
    #[error("\"{}\" is not of type {expected}; name the right type of keys, or leave the line out", line.escape_ascii())]
    KeyText {
        /// The line.
        line: Vec<u8>,
        /// What it should be.
        expected: KeyType,
    },
    /// A filter that takes no more keys.
    #[error("the {format} filter is full: it was planned for {keys} keys; build one for more")]
    Full {
        /// Format of the filter.
        format: Format,
        /// Keys it was made for.
        keys: u64,
    },
    /// A filter that would grow beyond the limit set for it.
    #[error(
        "the filter would grow to {bytes} bytes, more than the limit of {limit}; \
         raise the limit, or rebuild it for more keys"
    )]
    GrowthLimit {
        /// Bytes in memory while it grows.
        bytes: u64,
        /// Bytes it may take.
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
    /// Filters that put keys in different places cannot be merged.
    #[error(
        "the {what} of one filter is {left}, of the other {right}; build both with the same parameters"
    )]
    Differ {
        /// What differs.
        what: &'static str,
        /// That of the left filter.
        left: Value,
        /// That of the right filter.
        right: Value,
    },
    /// A filter whose bits are of no use in the format asked for.
    #[error(
        "a {from} filter does not convert to {to}, which puts keys in other positions; a filter does not store its keys, so build one in that format from them"
    )]
    CannotConvert {
        /// Format of the filter.
        from: Format,
        /// Format asked for.
        to: Format,
    },

    /// A filter that does not tell what it shares with another.
    #[error(
        "{format}: a filter of several parts, or one without probes, cannot be compared; build each filter in one part, for all of its keys"
    )]
    NotComparable {
        /// Format of the filter.
        format: Format,
    },

    /// The memory for a filter could not be had.
    #[error("cannot allocate {bytes} bytes of memory for the filter")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A value that an [`Error`] is about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A whole number that may be negative.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// What is there, when that is not a number.
    Words(&'static str),
    /// A text that was given or made: an option, a scheme.
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

/// The first of `names` in which two filters differ is an error.
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

/// Names in a row, for a message.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
