//! Set operations over files, exact and in input order: distinct lines, a semi-join (`common`), an anti-join (`except`).
//!
//! ```text
//! 1  build    the first inputs: lines → a filter; those it may already hold → a filter of doubtful lines
//! 2  probe    the other inputs: keys of lines that pass the filter → memory, and doubtful
//! 3  decide   the first inputs again, by the rule:
//!
//!                             not doubtful     among the other inputs' keys   not among them
//!             distinct        write            –                              write if it is new
//!             anti-join       write            skip                           write if it is new
//!             semi-join       skip             write the first time           skip
//! 4  settle   partitions of lines and keys that did not fit in memory; merge their results
//! ```
//!
//! A repeated line was in the first filter at its second occurrence. So a line that is not doubtful is unique and in no
//! other input; a doubtful one is decided by its bytes. Memory holds repeated lines, keys of other inputs, and the
//! filter's false positives.
//!
//! If every record of the first inputs is wanted, not one per key, only the others' keys decide (`look_up`). If the
//! last record of each key or counts are wanted, nothing is written before all lines were read. If a column decides which
//! record of a key is wanted, or all are, doubtful records are sorted instead of looked up (`groups`).
//!
//! Lines that do not fit in memory are spilled to partitions by hash. Each partition is joined in a table of its own
//! (`settle`), and the results are merged by place. One more pass writes them (`write`), unless few results are
//! expected: then the rows themselves go through temporary files. Without filters, every line is doubtful.

mod build;
mod counts;
mod decide;
mod diff;
mod exclusive;
mod groups;
mod holders;
mod in_line;
mod join;
mod key_set;
mod look_up;
mod marks;
mod merge;
mod numbers;
mod one_pass;
mod plan;
mod prelude;
mod probe;
mod rule;
mod run;
mod set_operation;
mod settle;
mod sorting;
mod write;

pub use diff::{Change, Diff, changes};
pub use exclusive::excludes;
pub use holders::Holders;
pub use join::{Join, Partners, Unpaired};
pub use plan::{SetPlan, Steps};
pub use set_operation::SetOperation;

/// Which of the lines that are equal, or have the same key, [`SetOperation::distinct`] selects, and how they are
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distinct<'a> {
    /// Only lines that occur at least this often.
    pub at_least: u64,
    /// Only lines that occur at most this often.
    pub at_most: u64,
    /// Which of the lines with the same key.
    pub keep: Keep<'a>,
    /// Writes the count of its key with each line: as a column in front, or with JSON lines as
    /// `{"count":3,"record":…}`. If [all lines](Keep::All) of a key are wanted, it is 1.
    pub counted: bool,
    /// Writes where each line begins, counted in lines of its input from 1, in the same way as `line`; with several inputs,
    /// the name of its input as `file` before. Takes the place of the count.
    pub numbered: bool,
    /// Writes the most frequent lines first, equally frequent ones in the order of the input, and only this many.
    pub ranked: Option<Top>,
}

/// The first line of each key.
impl Default for Distinct<'_> {
    fn default() -> Self {
        let (counted, numbered, ranked) = (false, false, None);
        Self { at_least: 1, at_most: u64::MAX, keep: Keep::First, counted, numbered, ranked }
    }
}

/// Which of the lines with the same key to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep<'a> {
    /// The first one.
    #[default]
    First,
    /// The last one.
    Last,
    /// The one with the least value in this column, or under this JSON name; of equal values, the first. Numbers, in
    /// JSON's notation or with leading zeros, are compared exactly, and texts by their bytes, which suits ISO 8601
    /// dates. If a key has numbers, only these count; empty or missing values count only if there are no others.
    Least(&'a str),
    /// The one with the greatest value, by the same rules.
    Greatest(&'a str),
    /// All of them.
    All,
}

impl<'a> Keep<'a> {
    /// Parses `first`, `last`, `min:COLUMN` or `max:COLUMN`.
    pub fn named(name: &'a str) -> Option<Self> {
        match name.split_once(':') {
            Some(("min", column)) if !column.is_empty() => Some(Self::Least(column)),
            Some(("max", column)) if !column.is_empty() => Some(Self::Greatest(column)),
            _ if name == "first" => Some(Self::First),
            _ => (name == "last").then_some(Self::Last),
        }
    }
}

/// The number of most frequent lines to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top(pub u64);

impl Top {
    /// All lines.
    pub const ALL: Self = Self(u64::MAX);
}

#[cfg(test)]
mod tests;
