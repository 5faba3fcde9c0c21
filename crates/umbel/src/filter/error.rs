//! Why filters refuse insertions, builds, rows and merges.

use core::fmt;

use crate::error::{FieldError, OutOfMemory};
use crate::hash::Scheme;
use crate::plan::{Kind, PlanError};
use crate::prelude::*;

/// Why a filter has no room for a key, which changed nothing. Of many keys, those before it are in the filter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Full {
    /// A scalable filter would grow beyond the limit set for it.
    #[error(
        "the filter would grow to {bytes} bytes, more than the limit of {limit}; \
         raise the limit, or rebuild it for more keys"
    )]
    Limit {
        /// Bytes of its bits after growing.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A scalable filter has as many links of one size as its header can hold.
    #[error(
        "the filter has {links} links of the same size, the most it can have; plan it for more keys, or let \
         its links double"
    )]
    Links {
        /// Its links.
        links: usize,
    },
    /// A scalable filter cannot grow further: its next link is impossible, or has no memory.
    #[error(transparent)]
    Growth(#[from] PlanError),
    /// A coded filter has no cell left for the key.
    #[error(
        "the coded filter is full: it was planned for {keys} keys, and has no cell left for this one; \
         the keys before it were inserted; rebuild it for more keys"
    )]
    Cells {
        /// Keys it was planned for.
        keys: u64,
    },
}

/// Why a key was not inserted or removed; it changed nothing. Of many keys, those before it are in the filter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The filter has no room for the key.
    #[error(transparent)]
    Full(#[from] Full),
    /// The kind accepts no keys once it is built.
    #[error(
        "{article} {0} filter is built from all its keys at once and takes no more; rebuild it with them",
        article = .0.article()
    )]
    BuiltAtOnce(Kind),
    /// A single key was given to a filter of rows.
    #[error("the filter holds rows of {has}, not single keys; name some of these attributes")]
    Rows {
        /// The names of its attributes.
        has: Names,
    },
    /// The kind cannot remove a single key.
    #[error(
        "keys cannot be removed from {article} {0} filter, because keys share its bits; \
         build a counting one, or rebuild it without the key",
        article = .0.article()
    )]
    CannotRemove(Kind),
    /// A window that counts insertions was given a time.
    #[error("the window counts insertions and has no clock; create one with a time span")]
    NoClock,
}

/// Why a filter was not built from its keys.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// More keys were given than the filter is planned for.
    #[error(
        "found {keys} different keys, but the filter is planned for {planned}; plan it for more"
    )]
    Overfull {
        /// Different keys given, in a shard or in all.
        keys: u64,
        /// Keys planned for.
        planned: u64,
    },
    /// A hash was given to another shard than the one it is looked up in.
    #[error(
        "the hash at index {place} falls into shard {found}, not {shard}; divide hashes by `shard_of`"
    )]
    OtherShard {
        /// Its place among the hashes given, from 0.
        place: u64,
        /// Its shard.
        found: u64,
        /// The shard it was given to.
        shard: u64,
    },
    /// A key was given twice with different values.
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
    /// A key is both included and excluded.
    #[error(
        "a key (or two with the same hash) is included at index {} and excluded at index {}; remove it from one of the lists",
        places[0], places[1]
    )]
    OnBothLists {
        /// Its first place among the included keys, and among the excluded ones, from 0.
        places: [u64; 2],
    },
    /// Some included and excluded keys are not told apart by any number of levels.
    #[error(
        "after {0} levels, included and excluded keys are still not separated; choose another seed"
    )]
    TooManyLevels(usize),
    /// A value is wider than the map's.
    #[error(
        "the value {value} at index {place} has more than {bits} bits; build the map with wider values"
    )]
    WideValue {
        /// The value.
        value: u64,
        /// Its place in the input, from 0.
        place: u64,
        /// Bits of the map's values.
        bits: u32,
    },
    /// The plan is impossible, or its memory could not be allocated.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key could not be inserted.
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

/// Why rows of attributes were not inserted or looked up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A filter of rows needs names for its attributes.
    #[error("a filter of rows needs the names of its attributes; name each")]
    NoAttributes,
    /// There are more attributes than a filter may have.
    #[error("found {found} attributes; a filter of rows has 1 to {most}{}", match most {
        64 => "",
        _ => " if every subset of them has a tag; tag the whole row instead",
    })]
    AttributeCount {
        /// Attributes given.
        found: usize,
        /// The maximum.
        most: usize,
    },
    /// The name is not valid for an attribute.
    #[error("attribute \"{name}\": a name has 1 to 255 bytes of UTF-8, found {}", name.first().len())]
    AttributeName {
        /// The name.
        name: Names,
    },
    /// An attribute is named twice.
    #[error("attribute \"{name}\" is named twice; name each attribute once")]
    AttributeTwice {
        /// The name.
        name: Names,
    },
    /// The filter has no attribute of this name.
    #[error("the filter has no attribute \"{name}\" (found {has}); name one of these")]
    UnknownAttribute {
        /// The name given.
        name: Names,
        /// The filter's names.
        has: Names,
    },
    /// Attributes are missing where a row needs a value for each.
    #[error("a row of this filter has a value for each of {has}; name {missing} too")]
    AttributesMissing {
        /// The missing names.
        missing: Names,
        /// The filter's names.
        has: Names,
    },
    /// No attribute is named where one is needed.
    #[error("the filter holds rows of {has}, not single keys; name some of these attributes")]
    Unnamed {
        /// The filter's names.
        has: Names,
    },
    /// A row has more or fewer values than the filter has attributes.
    #[error(
        "found a row of {found} values, but the filter has {expected} attributes; give one value for each"
    )]
    RowLength {
        /// Attributes of the filter.
        expected: usize,
        /// Values in the row.
        found: usize,
    },
    /// A value is too long.
    #[error("found a value of {bytes} bytes; values of rows have fewer than 2^32")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The plan is impossible, or its memory could not be allocated.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Names of attributes, displayed with commas between them and control characters escaped.
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

/// Why two filters were not combined or compared, or one not folded or converted. Both are unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Filters of this kind cannot be combined.
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
    /// Filters of this kind cannot be compared: their bits do not reveal what their sets share.
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
    /// Filters with different hash schemes cannot be combined.
    #[error(
        "the filters hash keys differently ({left} and {right}); rebuild one of them from its keys"
    )]
    SchemesDiffer {
        /// Scheme of the left filter.
        left: Scheme,
        /// Scheme of the right filter.
        right: Scheme,
    },
    /// Filters with different descriptions of their keys cannot be combined.
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
    /// The sizes differ, and one filter would have to be folded, which raises its rate.
    #[error(
        "the filters have {left} and {right} {unit}, and the larger would be folded to the smaller size, at a \
         higher rate; plan both for the same number of keys, or let it be folded"
    )]
    SizesDiffer {
        /// Size of the left filter.
        left: u64,
        /// Size of the right filter.
        right: u64,
        /// The unit of the sizes: `blocks`, `bits` or `bits per slice`.
        unit: &'static str,
    },
    /// A filter does not fold by this divisor.
    #[error(
        "{size} {unit} do not divide into {divisor} equal parts; fold by a number that divides {size}"
    )]
    Indivisible {
        /// Its size.
        size: u64,
        /// The divisor.
        divisor: u64,
        /// The unit of the size.
        unit: &'static str,
    },
    /// Neither size is a multiple of the other, so neither filter folds to the other.
    #[error(
        "sizes of {left} and {right} {unit} do not fold to each other (one must divide the other); \
         plan both for the same number of keys, or for numbers that differ by a power of two"
    )]
    NotFoldable {
        /// Size of the left filter.
        left: u64,
        /// Size of the right filter.
        right: u64,
        /// The unit of the sizes: `blocks`, `bits` or `bits per slice`.
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
    /// Filters of rows with different tags or inner filters cannot be combined.
    #[error(
        "one filter is attributes:{left}, the other attributes:{right}; build both the same way"
    )]
    TagsDiffer {
        /// Detail of the left filter.
        left: u32,
        /// Detail of the right filter.
        right: u32,
    },
    /// The filter's kind does not convert to the requested one.
    #[error("{} {from} filter does not convert to {} {to} one; {}", from.article(), to.article(), match to {
        Kind::Blocked => "only counting ones do, and scalable ones that have not grown",
        _ => "only counting ones, and scalable ones that have not grown, convert, to blocked ones",
    })]
    CannotConvert {
        /// Kind of the filter.
        from: Kind,
        /// The requested kind.
        to: Kind,
    },
    /// A scalable filter that has grown cannot be converted.
    #[error(
        "a scalable filter of {links} links does not convert to a blocked one, because each link has a key in other positions; build a blocked filter from the keys"
    )]
    Grown {
        /// Its links.
        links: usize,
    },
    /// The memory for the result could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}
