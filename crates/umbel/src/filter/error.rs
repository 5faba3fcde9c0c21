//! What filters refuse.

use core::fmt;

use crate::error::{FieldError, OutOfMemory};
use crate::hash::Scheme;
use crate::plan::{Kind, PlanError};
use crate::prelude::*;

/// Why a key was not inserted, or not removed. The filter is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// A filter that would grow beyond the limit set for it.
    #[error(
        "the filter would grow to {bytes} bytes, more than the limit of {limit}; \
         raise the limit, or rebuild it for more keys"
    )]
    GrowthLimit {
        /// Bytes of its bits after it grew.
        bytes: u64,
        /// Bytes it may take.
        limit: u64,
    },
    /// A scalable filter whose header has room for no more links.
    #[error(
        "the filter has {links} links of the same size, the most it can have; plan it for more keys, or let \
         its links double"
    )]
    TooManyLinks {
        /// Links that it has.
        links: usize,
    },
    /// A filter that can grow no more.
    #[error(transparent)]
    Growth(#[from] PlanError),
    /// A table without room for a key.
    #[error(
        "the {kind} filter is full: it was planned for {keys} keys, and has no cell left for this one; \
         the keys before it were inserted; rebuild it for more keys"
    )]
    Full {
        /// Its kind.
        kind: Kind,
        /// Keys it was planned for.
        keys: u64,
    },
    /// A kind that takes no keys once it is built.
    #[error(
        "{article} {0} filter is built from all its keys at once and takes no more; rebuild it with them",
        article = .0.article()
    )]
    BuiltAtOnce(Kind),
    /// Single keys for a filter of rows.
    #[error("the filter holds rows of {has}, not single keys; name some of these attributes")]
    Rows {
        /// The names of its attributes.
        has: Names,
    },
    /// A kind that cannot forget a single key.
    #[error(
        "keys cannot be removed from {article} {0} filter, because keys share its bits; \
         build a counting one, or rebuild it without the key",
        article = .0.article()
    )]
    CannotRemove(Kind),
    /// A window that counts insertions was told the time.
    #[error("the window counts insertions and has no clock; create one with a time span")]
    NoClock,
}

/// Why a filter was not built of its keys.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// More keys given to a filter that is built at once than it is planned for.
    #[error(
        "found {keys} different keys, but the filter is planned for {planned}; plan it for more"
    )]
    Overfull {
        /// Different keys given, of a shard or of all.
        keys: u64,
        /// Keys planned for.
        planned: u64,
    },
    /// A key given twice with different values.
    #[error(
        "a key (or two with the same hash) has the value {} at index {} and {} at index {}; a map has one value per key: \
         leave one out",
        values[0], places[0], values[1], places[1]
    )]
    ValuesDiffer {
        /// The first two places in the input where its values differ, from 0.
        places: [u64; 2],
        /// The values there.
        values: [u64; 2],
    },
    /// A key both included and excluded.
    #[error(
        "a key (or two with the same hash) is included at index {} and excluded at index {}; remove it from one of the lists",
        places[0], places[1]
    )]
    OnBothLists {
        /// Its first place among the keys included, and among those excluded, from 0.
        places: [u64; 2],
    },
    /// Keys that no level of a cascade tells apart.
    #[error(
        "after {0} levels, included and excluded keys are still not separated; choose another seed"
    )]
    TooManyLevels(usize),
    /// A value that does not fit.
    #[error(
        "the value {value} at index {place} has more than {bits} bits; build the map with wider values"
    )]
    WideValue {
        /// The value.
        value: u64,
        /// Where it is in the input.
        place: u64,
        /// Bits of a value.
        bits: u32,
    },
    /// There is no such plan, or no memory for it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key that was not inserted.
    #[error(transparent)]
    Insert(#[from] InsertError),
}

impl From<OutOfMemory> for BuildError {
    fn from(error: OutOfMemory) -> Self {
        Self::Plan(error.into())
    }
}

impl From<FieldError> for BuildError {
    fn from(error: FieldError) -> Self {
        Self::Plan(error.into())
    }
}

/// Why rows of attributes were not taken, or not looked up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A filter of rows without names for their values.
    #[error("a filter of rows needs the names of its attributes; name each")]
    NoAttributes,
    /// More attributes than a filter may have.
    #[error("found {found} attributes; a filter of rows has 1 to {most}{}", match most {
        64 => "",
        _ => " if every subset of them has a tag; tag the whole row instead",
    })]
    AttributeCount {
        /// Attributes named.
        found: usize,
        /// Most that there may be.
        most: usize,
    },
    /// A name that no attribute can have.
    #[error("attribute \"{name}\": a name has 1 to 255 bytes of UTF-8, found {}", name.first().len())]
    AttributeName {
        /// The name.
        name: Names,
    },
    /// An attribute named twice.
    #[error("attribute \"{name}\" is named twice; name each attribute once")]
    AttributeTwice {
        /// The name.
        name: Names,
    },
    /// A name that the filter does not have.
    #[error("the filter has no attribute \"{name}\" (found {has}); name one of these")]
    UnknownAttribute {
        /// The name asked for.
        name: Names,
        /// The names there are.
        has: Names,
    },
    /// Attributes left out where a row needs a value for each.
    #[error("a row of this filter has a value for each of {has}; name {missing} too")]
    AttributesMissing {
        /// The names left out.
        missing: Names,
        /// The names there are.
        has: Names,
    },
    /// No attribute named where one is needed.
    #[error("the filter holds rows of {has}, not single keys; name some of these attributes")]
    Unnamed {
        /// The names there are.
        has: Names,
    },
    /// A row with more values than there are attributes, or fewer.
    #[error(
        "found a row of {found} values, but the filter has {expected} attributes; give one value for each"
    )]
    RowLength {
        /// Attributes of the filter.
        expected: usize,
        /// Values in the row.
        found: usize,
    },
    /// A value too long for a row.
    #[error("found a value of {bytes} bytes; values of rows have fewer than 2^32")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// There is no such plan, or no memory for it.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Names of attributes; shown with commas between them, line ends and the like escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    pub(crate) fn of<T: AsRef<str>>(names: &[T]) -> Self {
        Self(names.iter().map(|name| name.as_ref().to_owned()).collect())
    }

    /// The names.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    fn first(&self) -> &str {
        self.0.first().map_or("", |name| name)
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}", name.escape_debug())?;
        }
        Ok(())
    }
}

/// Why two filters were not combined or compared, or one not folded or converted. Both are as they were.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A kind whose filters cannot be combined.
    #[error(
        "{0} filters do not merge: {why}, or query both",
        why = match .0 {
            Kind::Window => "their generations differ in age, so keys would be forgotten too early or too \
                late; add the keys of one to the other",
            Kind::Coded => "a code does not show which bucket its key belongs to; add the keys of one to the \
                other",
            Kind::Stable => "which keys fade depends on the order of all insertions; add the keys of one to \
                the other",
            kind if kind.built_at_once() => "each is built from all its keys at once; build one from the \
                keys of both",
            _ => "a chain of both could not keep the promised rate; add the keys of one to the other",
        }
    )]
    NotMergeable(Kind),
    /// Filters of a kind whose bits do not tell what their sets share.
    #[error(
        "the bits of {0} filters do not show what they share; build a blocked or a classic filter from the keys of each"
    )]
    NotComparable(Kind),
    /// Filters of different kinds cannot be combined.
    #[error("{} {left} and {} {right} filter cannot be merged or compared; build both as the same kind", left.article(), right.article())]
    KindsDiffer {
        /// Kind of the left filter.
        left: Kind,
        /// Kind of the right filter.
        right: Kind,
    },
    /// Filters that turn keys into hashes differently cannot be combined.
    #[error(
        "the filters hash keys differently ({left} and {right}); rebuild one of them from its keys"
    )]
    SchemesDiffer {
        /// Scheme of the left filter.
        left: Scheme,
        /// Scheme of the right filter.
        right: Scheme,
    },
    /// Filters of keys that are described differently cannot be combined.
    #[error(
        "the filters hold keys of different fields or types; build both from the same fields in the same way"
    )]
    KeysDiffer,
    /// Filters with different numbers of probes cannot be combined.
    #[error(
        "the numbers of probes per key differ ({left} and {right}); plan both for the same fpp"
    )]
    ProbesDiffer {
        /// Probes of the left filter.
        left: u32,
        /// Probes of the right filter.
        right: u32,
    },
    /// Filters with cells of different widths cannot be combined.
    #[error("the cells differ in size ({left} and {right} bits); plan both for the same")]
    CellsDiffer {
        /// Bits of a cell of the left filter.
        left: u32,
        /// Bits of a cell of the right filter.
        right: u32,
    },
    /// Neither size folds to the other.
    #[error(
        "sizes of {left} and {right} {unit} do not fold to each other (one must divide the other); \
         plan both for the same number of keys, or for numbers that differ by a power of two"
    )]
    SizesDiffer {
        /// Size of the left filter.
        left: u64,
        /// Size of the right filter.
        right: u64,
        /// What the sizes count: `blocks` or `bits`.
        unit: &'static str,
    },
    /// Filters of rows with different attributes cannot be combined.
    #[error(
        "one filter has rows of {left}, the other of {right}; only rows of the same attributes in the same order merge"
    )]
    AttributesDiffer {
        /// Names of the left filter.
        left: Names,
        /// Names of the right filter.
        right: Names,
    },
    /// Filters of rows made differently cannot be combined.
    #[error(
        "one filter is attributes:{left}, the other attributes:{right}; build both the same way"
    )]
    TagsDiffer {
        /// Detail of the left filter.
        left: u32,
        /// Detail of the right filter.
        right: u32,
    },
    /// A kind that does not turn into the one asked for.
    #[error("{} {from} filter does not convert to {} {to} one; {}", from.article(), to.article(), match to {
        Kind::Blocked => "only counting ones do, and scalable ones that have not grown",
        _ => "only counting ones, and scalable ones that have not grown, convert, to blocked ones",
    })]
    CannotConvert {
        /// Kind of the filter.
        from: Kind,
        /// Kind asked for.
        to: Kind,
    },
    /// A scalable filter that has grown has no fixed form.
    #[error(
        "a scalable filter of {links} links does not convert to a blocked one, because each link has a key in other positions; build a blocked filter from the keys"
    )]
    Grown {
        /// Its links.
        links: usize,
    },
    /// The memory for the result could not be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}
