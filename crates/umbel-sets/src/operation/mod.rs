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
//! last record of each key or counts are wanted, nothing is written before all lines were read.
//!
//! Lines that do not fit in memory are spilled to partitions by hash. Each partition is joined in a table of its own
//! (`settle`), and the results are merged by place. One more pass writes them (`write`), unless few results are
//! expected: then the rows themselves go through temporary files. Without filters, every line is doubtful.

mod build;
mod counts;
mod decide;
mod diff;
mod holders;
mod join;
mod keys;
mod look_up;
mod marks;
mod merge;
mod one_pass;
mod perform;
mod plan;
mod probe;
mod rule;
mod run;
mod set;
mod settle;
mod sorting;
mod write;

use counts::Counted;
pub use diff::{Change, Diff, changes};
pub use holders::{Holders, Labels};
pub use join::{Join, Partners, Unpaired};
pub use plan::{SetPlan, Strategy};
use rule::{Others, Rule};
pub use set::SetOperation;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// Each different line of all inputs.
    Distinct(Distinct),
    /// Each different line that at least this many inputs have, 2 or more.
    Several(usize),
    /// Each different line of the first input that is in no other, or every occurrence.
    Except { every: bool },
    /// Each different line of the first input that all others, one or more, have, or every occurrence.
    Common { every: bool },
    /// Each different line that at least this many inputs have, after a bit for each input that has it.
    Holders(usize),
    /// Each different row of both inputs, whatever its key, counted by its sides.
    Rows,
    /// Every line of the first input, with count 2 if another has its key, else 1; these are part of a job's lines, so
    /// all of them may lack keys.
    Mark,
}

impl Selection {
    /// The number of inputs, from the first on, whose lines may be written.
    fn from(self, inputs: usize) -> usize {
        match self {
            Self::Distinct(_) | Self::Several(_) | Self::Holders(_) | Self::Rows => inputs,
            Self::Except { .. } | Self::Common { .. } | Self::Mark => inputs.min(1),
        }
    }

    /// How lines are decided with a plan for that many inputs.
    fn rule(self, plan: &SetPlan, inputs: usize) -> Rule {
        let (at_least, counted) = match self {
            Self::Distinct(Distinct { at_least, keep: Keep::Last, .. }) => {
                (at_least, Some(Counted::Last))
            }
            Self::Distinct(Distinct { at_least, counted, ranked, .. }) => {
                let counts = at_least > 1 || counted || ranked.is_some();
                (at_least, counts.then_some(Counted::Lines))
            }
            Self::Several(at_least) => (at_least as u64, Some(Counted::Inputs)),
            Self::Holders(at_least) => {
                (at_least as u64, Some(Counted::Holders(inputs.div_ceil(64) as u16)))
            }
            Self::Rows => (1, Some(Counted::Sides)),
            Self::Except { .. } | Self::Common { .. } | Self::Mark => (1, None),
        };
        let (others, every) = match self {
            Self::Common { every } => (Others::Semi(inputs as u64 - 1), every),
            Self::Except { every } => (Others::Anti, every),
            Self::Mark => (Others::Mark, true),
            _ => (Others::Anti, false),
        };
        let few = at_least > 1 || matches!(self, Self::Common { .. });
        // Many rows would go through temporary files at every level; one more pass over the input is cheaper.
        let rows = few || (plan.seen.is_none() && plan.bytes_spilled == 0);
        // A last line is not in the table.
        let rows = (rows && counted != Some(Counted::Last)) || every;
        Rule { at_least, counted, others, every, rows }
    }
}

/// Which lines [`SetOperation::distinct`] selects among equal ones, or ones with the same key, and how they are
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Only lines that occur at least this often.
    pub at_least: u64,
    /// Which of the lines with the same key.
    pub keep: Keep,
    /// Writes the count of its key with each line: as a column in front, or with JSON lines as
    /// `{"count":3,"record":…}`.
    pub counted: bool,
    /// Writes the most frequent lines first, equally frequent ones in the order of the input, and only this many.
    pub ranked: Option<Top>,
}

/// The first line of each key.
impl Default for Distinct {
    fn default() -> Self {
        Self { at_least: 1, keep: Keep::First, counted: false, ranked: None }
    }
}

/// Which of the lines with the same key to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The first one.
    #[default]
    First,
    /// The last one.
    Last,
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
