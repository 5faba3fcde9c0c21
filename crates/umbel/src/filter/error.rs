//! Why filters refuse insertions, builds, rows and merges.

use core::convert::Infallible;
use core::fmt;

use crate::error::{FieldError, OutOfMemory};
use crate::hash::Scheme;
use crate::plan::{Kind, PlanError};
use crate::prelude::*;

/// Why a filter has no room for a key. The filter is unchanged; of many keys, those before the refused one are in it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Full {
    /// A scalable filter would grow beyond its limit: bytes needed, limit.
    #[error(
        "the filter would grow to {0} bytes, more than the limit of {1}; \
         raise the limit, or rebuild it for more keys"
    )]
    Limit(u64, u64),
    /// A scalable filter has this many links of one size, the most that its header can hold.
    #[error(
        "the filter has {0} links of the same size, the most it can have; plan it for more keys, or let \
         its links double"
    )]
    Links(usize),
    /// A scalable filter's next link is impossible, or has no memory.
    #[error(transparent)]
    Growth(#[from] PlanError),
    /// A coded filter, planned for this many keys, has no cell left for the key.
    #[error(
        "the coded filter is full: it was planned for {0} keys, and has no cell left for this one; \
         the keys before it were inserted; rebuild it for more keys"
    )]
    Cells(u64),
}

/// Why a key was not inserted or removed. The filter is unchanged; of many keys, those before the refused one are in
/// it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The filter has no room for the key.
    #[error(transparent)]
    Full(#[from] Full),
    /// The kind accepts no keys once it is built.
    #[error(
        "{article} {0} filter is built from all its keys at once and accepts no more; rebuild it from the old and new keys",
        article = .0.article()
    )]
    BuiltAtOnce(Kind),
    /// A single key was given to a filter of rows with these attributes.
    #[error("the filter holds rows of {0}, not single keys; name some of these attributes")]
    Rows(Names),
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
    /// More different keys were given than the filter is planned for: found, planned.
    #[error("found {0} different keys, but the filter is planned for {1}; plan it for more")]
    Overfull(u64, u64),
    /// A hash was given to another shard than its own: its index, its own shard, the other.
    #[error("the hash at index {0} falls into shard {1}, not {2}; divide hashes by `shard_of`")]
    OtherShard(u64, u64, u64),
    /// A key has two values: its first two places in the input with different ones, from 0, and these values.
    #[error(
        "a key (or two with the same hash) has the value {one} at index {first} and {two} at index {second}; \
         a map has one value per key: leave one out",
        one = .1[0], first = .0[0], two = .1[1], second = .0[1]
    )]
    ValuesDiffer([u64; 2], [u64; 2]),
    /// A key is both included and excluded: its first place in each list, from 0.
    #[error("a key (or two with the same hash) is included at index {first} and excluded at index {second}; remove it from one of the lists",
        first = .0[0], second = .0[1]
    )]
    OnBothLists([u64; 2]),
    /// After this many levels, some included and excluded keys are still not separated.
    #[error(
        "after {0} levels, included and excluded keys are still not separated; choose another seed"
    )]
    TooManyLevels(usize),
    /// A value has more bits than the map's: the value, its index, the bits.
    #[error("the value {0} at index {1} has more than {2} bits; build the map with wider values")]
    WideValue(u64, u64, u32),
    /// The plan is impossible, or its memory could not be allocated.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key could not be inserted.
    #[error(transparent)]
    Insert(#[from] InsertError),
}

#[doc(hidden)]
impl From<Infallible> for InsertError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[doc(hidden)]
impl From<OutOfMemory> for BuildError {
    fn from(error: OutOfMemory) -> Self {
        Self::Plan(error.into())
    }
}

#[doc(hidden)]
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
    /// More attributes than a filter may have: found, most.
    #[error("found {0} attributes; a filter of rows has 1 to {1}{hint}", hint = match .1 {
        64 => "",
        _ => " if every subset of them has a tag; tag the whole row instead",
    })]
    AttributeCount(usize, usize),
    /// The name is not valid for an attribute.
    #[error("attribute \"{0}\": a name has 1 to 255 bytes of UTF-8, found {bytes}", bytes = .0.0[0].len())]
    AttributeName(Names),
    /// An attribute is named twice.
    #[error("attribute \"{0}\" is named twice; name each attribute once")]
    AttributeTwice(Names),
    /// The filter lacks this attribute: the name, its attributes.
    #[error("the filter has no attribute \"{0}\" (found {1}); name one of these")]
    UnknownAttribute(Names, Names),
    /// Attributes are missing from a row: the missing ones, all.
    #[error("a row of this filter has a value for each of {1}; name {0} too")]
    AttributesMissing(Names, Names),
    /// A query names none of these attributes.
    #[error("the filter holds rows of {0}, not single keys; name some of these attributes")]
    Unnamed(Names),
    /// A row has the wrong number of values: attributes, values.
    #[error(
        "found a row of {1} values, but the filter has {0} attributes; give one value for each"
    )]
    RowLength(usize, usize),
    /// A value is too long: its bytes.
    #[error("found a value of {0} bytes; values of rows have fewer than 2^32")]
    ValueTooLong(usize),
    /// The plan is impossible, or its memory could not be allocated.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Names of attributes, displayed with commas between them and control characters escaped.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    pub(crate) fn of<T: AsRef<str>>(names: &[T]) -> Self {
        Self(names.iter().map(|name| name.as_ref().to_owned()).collect())
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|name| name.escape_debug().to_string()).collect();
        f.write_str(&names.join(", "))
    }
}

/// Why two filters were not combined or compared, or one not folded or converted. Both are unchanged. Pairs of values
/// belong to the left and the right filter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Filters of this kind do not merge.
    #[error(
        "{0} filters do not merge: {why}, or query both", why = .0.unmerged().unwrap_or_default()
    )]
    NotMergeable(Kind),
    /// The bits of this kind do not reveal what sets share.
    #[error(
        "the bits of {0} filters do not show what they share; build a blocked or a classic filter from the keys of each"
    )]
    NotComparable(Kind),
    /// The kinds differ.
    #[error(
        "{left} {0} and {right} {1} filter cannot be combined; build both as the same kind",
        left = .0.article(), right = .1.article()
    )]
    KindsDiffer(Kind, Kind),
    /// The hash schemes differ.
    #[error("the filters hash keys differently ({0} and {1}); rebuild one of them from its keys")]
    SchemesDiffer(Scheme, Scheme),
    /// The descriptions of the keys differ.
    #[error(
        "the filters hold keys of different fields or types; build both from the same fields in the same way"
    )]
    KeysDiffer,
    /// The numbers of probes differ.
    #[error("the numbers of probes per key differ ({0} and {1}); plan both for the same fpp")]
    ProbesDiffer(u32, u32),
    /// The widths of cells differ, in bits.
    #[error("the cells differ in size ({0} and {1} bits); plan both with cells of the same size")]
    CellsDiffer(u32, u32),
    /// The sizes differ, in this unit. The larger filter would have to be folded, which raises its rate.
    #[error(
        "the filters have {0} and {1} {2}, and folding the larger to the smaller size would raise its rate; plan both for the same keys and fpp, or fold the larger one"
    )]
    SizesDiffer(u64, u64, &'static str),
    /// A filter of this size does not fold by this divisor; with the unit of the size.
    #[error("{0} {2} do not divide into {1} equal parts; fold by a number that divides {0}")]
    Indivisible(u64, u64, &'static str),
    /// Filters of this kind do not fold to a smaller size.
    #[error(
        "{article} {0} filter does not fold to a smaller size; build a smaller one from the keys",
        article = .0.article()
    )]
    NotFolding(Kind),
    /// Neither size is a multiple of the other, so neither filter folds to the other; with their unit.
    #[error(
        "sizes of {0} and {1} {2} do not fold to each other (one must divide the other); \
         plan both for the same keys and fpp, or for numbers of keys that differ by a power of two"
    )]
    NotFoldable(u64, u64, &'static str),
    /// The attributes of rows differ.
    #[error(
        "one filter has rows of {0}, the other of {1}; only rows of the same attributes in the same order merge"
    )]
    AttributesDiffer(Names, Names),
    /// The tags of rows or the inner filters differ, given as parameters of the kind.
    #[error("one filter is attributes:{0}, the other attributes:{1}; build both the same way")]
    TagsDiffer(u32, u32),
    /// The first kind does not convert to the second.
    #[error("{own} {0} filter does not convert to {wanted} {1} one; {hint}", hint = match .1 {
        Kind::Blocked => "only counting ones do, and scalable ones that have not grown",
        _ => "only counting filters, and scalable ones that have not grown, convert to blocked ones",
    }, own = .0.article(), wanted = .1.article())]
    CannotConvert(Kind, Kind),
    /// A scalable filter of this many links cannot be converted.
    #[error(
        "a scalable filter of {0} links does not convert to a blocked one, because each link has a key in other positions; build a blocked filter from the keys"
    )]
    Grown(usize),
    /// The memory for the result could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}
