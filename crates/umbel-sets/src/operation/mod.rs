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
//! If every record of the first inputs is wanted, not one per key, only the keys of the others decide (`look_up`). If
//! the last record of each key is wanted, or counts are, nothing is written before all lines were read.
//!
//! Lines that do not fit in memory are spilled to partitions by hash. Each partition is joined in a table of its own
//! (`settle`), and the results are merged by place. One more pass writes them (`write`), unless few results are
//! expected: then the rows themselves go through temporary files. Without filters, every line is doubtful.

mod build;
mod counts;
mod decide;
mod diff;
mod join;
mod keys;
mod look_up;
mod marks;
mod one_pass;
mod plan;
mod probe;
mod ranking;
mod rule;
mod run;
mod settle;
mod write;

use std::io;

use crate::budget::Budget;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::passes::Passes;
use crate::places::Places;
use crate::report::Report;
use crate::scan::Scanner;
use crate::sink::{Hand, RowStyle, Sink};
use crate::spill::Disk;
use crate::{Error, Options};
use counts::Counted;
pub use diff::{Change, Diff};
pub use join::{Join, Partners, Unpaired};
pub use plan::{SetPlan, Strategy};
use ranking::Ranking;
use rule::{Others, Rule};
use run::Run;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// Each different line of all inputs.
    Distinct(Distinct),
    /// Each different line that at least this many inputs have, 2 or more.
    Several(usize),
    /// Each different line of the first input that no other has, or every occurrence.
    Except { every: bool },
    /// Each different line of the first input that all others, one or more, have, or every occurrence.
    Common { every: bool },
    /// Each different row of all of them, whatever its key, counted by the inputs that have it.
    Rows,
    /// Every line of the first input, with count 2 if another has its key, else 1.
    Mark,
}

/// Which of several lines that are equal, or have the same key, [`SetOperation::distinct`] selects, and how they are
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

/// Results are ranked in one part in this many of the memory, next to the operation that selects them.
const RANKING: u64 = 4;

/// A set operation over the lines of files.
#[derive(Debug)]
pub struct SetOperation<'a> {
    inputs: &'a [Input],
    wanted: Selection,
    fpp: Option<f64>,
    budget: Budget,
    options: &'a Options,
}

impl<'a> SetOperation<'a> {
    fn new(inputs: &'a [Input], wanted: Selection, options: &'a Options) -> Result<Self, Error> {
        let mut budget = Budget::new(options.memory, options.threads)?;
        if let Selection::Distinct(Distinct { ranked: Some(_), .. }) = wanted {
            budget.rest -= budget.rest / RANKING;
        }
        Ok(Self { inputs, wanted, fpp: None, budget, options })
    }

    /// Selects each different line of all `inputs`, or one of the lines of each key.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn distinct(
        inputs: &'a [Input],
        distinct: Distinct,
        options: &'a Options,
    ) -> Result<Self, Error> {
        Self::new(inputs, Selection::Distinct(distinct), options)
    }

    /// Selects each different line that at least `at_least` of `inputs` have.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads; [`Error::AtLeast`] for
    /// a threshold of 0 or more than there are inputs; [`Error::Inputs`] for 2¹⁶ inputs or more.
    pub fn common(
        inputs: &'a [Input],
        at_least: usize,
        options: &'a Options,
    ) -> Result<Self, Error> {
        if at_least == 0 || at_least > inputs.len() {
            return Err(Error::AtLeast { at_least, inputs: inputs.len() });
        }
        if at_least > 1 && inputs.len() > usize::from(u16::MAX) {
            return Err(Error::Inputs { inputs: inputs.len() });
        }
        let wanted = match at_least {
            1 => Selection::Distinct(Distinct::default()),
            all if all == inputs.len() => Selection::Common { every: false },
            some => Selection::Several(some),
        };
        Self::new(inputs, wanted, options)
    }

    /// Selects each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, Selection::Except { every: false }, options)
    }

    /// Selects every line of the first of two or more inputs whose key all others have, or with
    /// [`except`](Self::except) none of them, including repeats: a semi-join or an anti-join. Other operations are
    /// unchanged.
    #[must_use]
    pub fn every(self) -> Self {
        let wanted = match self.wanted {
            Selection::Except { .. } => Selection::Except { every: true },
            Selection::Common { .. } => Selection::Common { every: true },
            wanted => wanted,
        };
        Self { wanted, ..self }
    }

    /// Uses filters alone and reads every input once. The probabilities that a line is wrongly left out and, if other
    /// inputs matter, wrongly written, are together at most `fpp`. Writes the first line of each key, as it is.
    #[must_use]
    pub fn with_error(self, fpp: Option<f64>) -> Self {
        Self { fpp, ..self }
    }

    /// Sets the budget.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The number of inputs, from the first on, whose lines may be written.
    fn from(&self) -> usize {
        match self.wanted {
            Selection::Distinct(_) | Selection::Several(_) | Selection::Rows => self.inputs.len(),
            Selection::Except { .. } | Selection::Common { .. } | Selection::Mark => {
                self.inputs.len().min(1)
            }
        }
    }

    fn scanner(&self, hasher: impl Into<LineHasher>) -> Result<Scanner<'a>, Error> {
        let scanner = Scanner::within(self.budget, self.options, hasher)?;
        Ok(if self.wanted == Selection::Rows { scanner.comparing_rows() } else { scanner })
    }

    fn header(&self) -> Result<Option<Vec<u8>>, Error> {
        self.scanner(LineHasher::random())?.header(self.inputs)
    }

    /// Writes the selected lines to `out`, in the order of their places over the inputs unless they are ranked.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `out`. What was written before an error is the beginning of the
    /// result.
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let (Selection::Distinct(Distinct { counted, ranked, .. }), None) = (self.wanted, self.fpp)
        else {
            return self.write(Sink::new(out, self.options.separator));
        };
        let style = || match self.options.records.column() {
            _ if !counted => RowStyle::Rows,
            Some(column) => RowStyle::Column(column),
            None => RowStyle::Object,
        };
        let Some(Top(most)) = ranked else {
            return self.write(Sink::new(out, self.options.separator).with_style(style()));
        };
        let disk = Disk::new(&self.options.tmp);
        let mut ranking = Ranking::new(most, self.budget.rest / (RANKING - 1), &disk);
        let mut report = self.hand(&mut |selected| ranking.push(selected))?;
        let mut sink = Sink::new(out, self.options.separator).with_style(style());
        sink.header(self.header()?.as_deref())?;
        ranking.write(&mut sink)?;
        sink.finish(&mut report)?;
        report.disk(&disk);
        Ok(report)
    }

    /// Passes the results to `hand`.
    fn hand<'h>(&self, hand: &'h mut Hand<'h>) -> Result<Report, Error> {
        let mut nowhere = io::sink();
        self.write(
            Sink::new(&mut nowhere, self.options.separator).with_style(RowStyle::Handed(hand)),
        )
    }

    fn write(&self, mut sink: Sink<'_>) -> Result<Report, Error> {
        let plan = self.plan()?;
        // An exact answer does not depend on the hash; any other one does, and is the same for the same inputs.
        let hasher = match plan.strategy {
            Strategy::OnePass => LineHasher::repeatable(),
            _ => LineHasher::random(),
        };
        let scanner = self.scanner(hasher)?;
        scanner.check_headers(self.inputs)?;
        self.options.progress.expect(plan.bytes_read);
        let mut run = Run {
            inputs: self.inputs,
            from: self.from(),
            places: Places::new(self.inputs),
            disk: Disk::new(&self.options.tmp),
            passes: Passes::new(self.inputs),
            alone: matches!(self.wanted, Selection::Common { .. } | Selection::Rows),
            scanner,
        };
        if plan.strategy == Strategy::OnePass {
            one_pass::run(&mut run, &plan, self.wanted, &mut sink)?;
        } else {
            run.exact(&plan, self.rule(&plan), &mut sink)?;
        }
        let mut report = run.passes.finish(self.inputs, &run.disk);
        sink.finish(&mut report)?;
        Ok(report)
    }

    fn rule(&self, plan: &SetPlan) -> Rule {
        let (at_least, counted) = match self.wanted {
            Selection::Distinct(Distinct { at_least, keep: Keep::Last, .. }) => {
                (at_least, Some(Counted::Last))
            }
            Selection::Distinct(Distinct { at_least, counted, ranked, .. }) => {
                let counts = at_least > 1 || counted || ranked.is_some();
                (at_least, counts.then_some(Counted::Lines))
            }
            Selection::Several(at_least) => (at_least as u64, Some(Counted::Inputs)),
            Selection::Rows => (1, Some(Counted::Inputs)),
            Selection::Except { .. } | Selection::Common { .. } | Selection::Mark => (1, None),
        };
        let (others, every) = match self.wanted {
            Selection::Common { every } => (Others::Semi(self.inputs.len() as u64 - 1), every),
            Selection::Except { every } => (Others::Anti, every),
            Selection::Mark => (Others::Mark, true),
            _ => (Others::Anti, false),
        };
        let few = at_least > 1 || matches!(self.wanted, Selection::Common { .. });
        // Many rows would go through temporary files at every level; one more pass over the input is cheaper.
        let rows = few || (plan.seen.is_none() && plan.bytes_spilled == 0);
        // A last line is not in the table.
        let rows = (rows && counted != Some(Counted::Last)) || every;
        Rule { at_least, counted, others, every, rows }
    }
}

#[cfg(test)]
mod tests;
