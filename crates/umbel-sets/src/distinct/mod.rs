//! The different lines of some inputs, in the order they come first, and without those of others:
//! exactly, under a memory cap.
//!
//! ```text
//! 1  note       lines → a filter; those it may hold already → a second filter, of doubtful lines
//! 2  exclude    lines of the other inputs that the first filter lets pass → a table, and doubtful
//! 3  decide     the lines again: those not doubtful come once, they are written as they lie;
//!               doubtful ones are looked up in the table, and written and added when they are new
//! ```
//!
//! A line that comes twice was in the first filter when it came the second time, so whatever is not
//! doubtful comes once; what is doubtful is settled by its bytes. The table holds lines that repeat,
//! excluded ones, and a few taken for such: of a list without repeats, some percent.
//!
//! When the table is full, doubtful lines that are not in it go to partitions on disk, each is settled
//! in a table of its own (`settle`), and one more pass writes what is left (`write`). So it does when
//! it is wanted how often lines come. Without filters, every line is doubtful.

mod counts;
mod decide;
mod doubt;
mod exclude;
mod one_pass;
mod plan;
mod settle;
mod write;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use crate::budget::Budget;
use crate::input::{Input, lengths};
use crate::join::Settling;
use crate::passes::Passes;
use crate::places::Places;
use crate::records::Layout;
use crate::report::Report;
use crate::scan::{Scanner, job_hasher};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Spill};
use crate::table::Table;
use crate::{Error, Options};
use counts::{Counted, Counts};
use decide::Decide;
use doubt::{Doubt, Note};
use exclude::Exclude;
pub use plan::{DistinctPlan, DistinctStrategy};
use settle::{Known, Part, Settle, Verdict};
use write::{Output, Write};

/// The place of excluded lines: no line has it.
const EXCLUDED: u64 = (1 << 48) - 1;

/// Which lines are wanted, of those that are in no other input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Least {
    Once,
    Twice,
    /// In so many inputs, 2 or more.
    Inputs(usize),
}

/// The job: the different lines of the first `from` inputs, without those of the others.
#[derive(Debug)]
pub struct Distinct<'a> {
    inputs: &'a [Input],
    from: usize,
    least: Least,
    counted: bool,
    fpp: Option<f64>,
    budget: Budget,
    options: &'a Options,
}

impl<'a> Distinct<'a> {
    /// Each different line of all `inputs`.
    ///
    /// # Errors
    /// [`Error::TooMuch`] above 2⁴⁸ bytes; [`Error::Memory`] for a cap under what the threads need.
    pub fn lines(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, inputs.len(), options)
    }

    /// Each different line that at least `at_least` of `inputs` have.
    ///
    /// # Errors
    /// As [`lines`](Self::lines); [`Error::AtLeast`].
    pub fn in_several(
        inputs: &'a [Input],
        at_least: usize,
        options: &'a Options,
    ) -> Result<Self, Error> {
        if at_least == 0 || at_least > inputs.len() || inputs.len() > usize::from(u16::MAX) {
            return Err(Error::AtLeast { at_least, inputs: inputs.len() });
        }
        let least = if at_least == 1 { Least::Once } else { Least::Inputs(at_least) };
        Ok(Self { least, ..Self::lines(inputs, options)? })
    }

    /// Each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// As [`lines`](Self::lines).
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, inputs.len().min(1), options)
    }

    fn new(inputs: &'a [Input], from: usize, options: &'a Options) -> Result<Self, Error> {
        Places::small(inputs)?;
        let budget = Budget::new(options.memory, options.threads)?;
        let least = Least::Once;
        Ok(Self { inputs, from, least, counted: false, fpp: None, budget, options })
    }

    /// Only lines that come more than once.
    #[must_use]
    pub fn repeated(self, repeated: bool) -> Self {
        Self { least: if repeated { Least::Twice } else { Least::Once }, ..self }
    }

    /// With how often each comes, as a column in front.
    ///
    /// # Errors
    /// [`Error::CountedJson`] for JSON lines, which have no columns.
    pub fn counted(self, counted: bool) -> Result<Self, Error> {
        if counted && self.options.records.column().is_none() {
            return Err(Error::CountedJson);
        }
        Ok(Self { counted, ..self })
    }

    /// By filters alone: every input is read once, and each line may be left out wrongly with a chance
    /// of `fpp`. Neither repeated nor counted lines are told so.
    #[must_use]
    pub fn with_error(self, fpp: Option<f64>) -> Self {
        Self { fpp, ..self }
    }

    /// With a budget of its own.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Writes the lines to `out`, in the order of their first places over the inputs.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `out`. What was written before one is the beginning
    /// of the result.
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let plan = self.plan()?;
        let hasher = job_hasher(plan.strategy != DistinctStrategy::OnePass);
        let scanner = Scanner::within(self.budget, self.options, hasher)?;
        let column = self.options.records.column();
        let mut header = scanner.header(self.inputs)?;
        if let (true, Some(column), Some(row)) = (self.counted, column, &mut header) {
            row.splice(0..0, [b"count", &[column][..]].concat());
        }
        self.options.progress.expect(plan.bytes_read);
        let mut run = Run {
            inputs: self.inputs,
            from: self.from,
            places: Places::small(self.inputs)?,
            disk: Disk::new(&self.options.tmp),
            passes: Passes::new(self.inputs),
            scanner,
            header,
            column: column.filter(|_| self.counted),
        };
        let mut sink = Sink::new(out, self.options.separator);
        if plan.strategy == DistinctStrategy::OnePass {
            one_pass::run(&mut run, &plan, &mut sink)?;
        } else {
            let (at_least, counted) = match self.least {
                Least::Once => (1, self.counted.then_some(Counted::Lines)),
                Least::Twice => (2, Some(Counted::Lines)),
                Least::Inputs(at_least) => (at_least as u64, Some(Counted::Inputs)),
            };
            // Else they go through temporary files at every level; one more pass over the input is less.
            let rows =
                self.least != Least::Once || (plan.seen.is_none() && plan.bytes_spilled == 0);
            run.exact(&plan, Verdict { at_least, counted, rows }, &mut sink)?;
        }
        let mut report = run.passes.finish(self.inputs, &run.disk);
        sink.finish(&mut report)?;
        Ok(report)
    }
}

/// A job at work.
struct Run<'a> {
    inputs: &'a [Input],
    from: usize,
    scanner: Scanner<'a>,
    places: Places,
    disk: Disk<'a>,
    passes: Passes,
    /// What goes out before all rows.
    header: Option<Vec<u8>>,
    /// What follows the number in front of a row, where one is wanted.
    column: Option<u8>,
}

impl Run<'_> {
    fn exact(
        &mut self,
        plan: &DistinctPlan,
        verdict: Verdict,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let budget = self.scanner.budget;
        let (seen, doubt) = self.note(plan)?;
        let filters = seen.as_ref().map_or(0, |seen| seen.plan().bytes())
            + doubt.as_ref().map_or(0, |doubt| doubt.filter.plan().bytes());
        let share = |filters| verdict.table(budget.table(filters));
        let layout = if verdict.rows { self.scanner.layout() } else { Layout::Lines };
        let table = RwLock::new(Table::new(share(filters), layout)?);
        let doubt = doubt.map(Mutex::new);
        let excluded = self.exclude(seen.as_ref(), doubt.as_ref(), &table)?;
        drop(seen);
        let mut doubt = doubt.map(|doubt| doubt.into_inner().expect("no worker panics"));
        if let Some(doubt) = &mut doubt {
            doubt.fold()?;
        }
        let doubt = doubt.map(|doubt| doubt.filter);
        let filters = doubt.as_ref().map_or(0, |doubt| doubt.plan().bytes());
        let mut table = table.into_inner().expect("no worker panics");
        table.widen(share(filters));

        sink.header(self.header.as_deref())?;
        let partitions = excluded.as_ref().map(Vec::len);
        let decided = self.decide(doubt.as_ref(), table, verdict, partitions, sink)?;
        self.passes.report.distinct = decided.table.len();
        if decided.rest.is_none() && verdict.counted.is_none() {
            return Ok(());
        }
        let from = if verdict.counted.is_some() { 0 } else { decided.undecided };
        let mut known = self.settle(decided, excluded, verdict, budget.rest - filters)?;
        if !verdict.rows {
            return self.write(doubt.as_ref(), from, &mut known, sink);
        }
        while let Some(told) = known.next(&self.disk)? {
            match self.column {
                Some(column) => sink.counted(told.count, column, told.row)?,
                None => sink.line(told.row)?,
            }
        }
        Ok(())
    }

    /// Step 1. Gives the filter of all lines and that of the doubtful ones.
    fn note(&mut self, plan: &DistinctPlan) -> Result<(Option<Blocked>, Option<Doubt>), Error> {
        let (Some(seen), Some(doubtful)) = (&plan.seen, &plan.doubtful) else {
            return Ok((None, None));
        };
        let budget = self.scanner.budget;
        let room = budget.rest - seen.bytes() - doubtful.bytes();
        let mut seen = Blocked::with_plan(seen, self.scanner.hasher)?;
        let mut filter = Blocked::with_plan(doubtful, self.scanner.hasher)?;
        let note = Note::new(&mut seen, &mut filter, budget.threads, room);
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, &note)?;
        self.passes.seen(self.inputs, 0..self.from, &tallies)?;
        let keys = note.keys();
        // With a single input there is nothing to exclude, and nobody asks the filter again.
        let excludes = self.from < self.inputs.len();
        Ok((excludes.then_some(seen), Some(Doubt { filter, keys })))
    }

    /// Step 2. Gives the excluded lines that the table has no room for.
    fn exclude(
        &mut self,
        seen: Option<&Blocked>,
        doubt: Option<&Mutex<Doubt>>,
        table: &RwLock<Table>,
    ) -> Result<Option<Vec<Spill>>, Error> {
        let rest = Mutex::new(None);
        let range = self.from..self.inputs.len();
        let exclude = Exclude {
            seen,
            table,
            rest: &rest,
            doubt,
            start: self.places.start(self.from),
            total: lengths(&self.inputs[range.clone()]),
            disk: &self.disk,
            budget: self.scanner.budget,
        };
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), &exclude)?;
        self.passes.seen(self.inputs, range, &tallies)?;
        let rest: Option<Partitions> = rest.into_inner().expect("no worker panics");
        rest.map(|rest| rest.finish()).transpose()
    }

    /// Step 3. Writes to `sink` what can be written now.
    fn decide(
        &mut self,
        doubt: Option<&Blocked>,
        table: Table,
        verdict: Verdict,
        partitions: Option<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<Decided, Error> {
        let table = RwLock::new(table);
        let counts = verdict.counted.map(|counted| RwLock::new(Counts::new(counted)));
        let rest = Mutex::new(None);
        let undecided = AtomicU64::new(u64::MAX);
        let sink = verdict.counted.is_none().then(|| Mutex::new(sink));
        let decide = Decide {
            doubt,
            table: &table,
            counts: counts.as_ref(),
            rest: &rest,
            partitions,
            sink: sink.as_ref(),
            undecided: &undecided,
            verdict,
            total: lengths(&self.inputs[..self.from]),
            disk: &self.disk,
            budget: self.scanner.budget,
            layout: if verdict.rows { self.scanner.layout() } else { Layout::Lines },
        };
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, &decide)?;
        self.passes.seen(self.inputs, 0..self.from, &tallies)?;
        let rest: Option<Partitions> = rest.into_inner().expect("no worker panics");
        Ok(Decided {
            table: table.into_inner().expect("no worker panics"),
            counts: counts.map(|counts| counts.into_inner().expect("no worker panics")),
            rest: rest.map(|rest| rest.finish()).transpose()?,
            undecided: undecided.into_inner(),
        })
    }

    /// Decides about the lines set aside, with `memory` bytes. Gives what is known of all lines that
    /// are still to be written.
    fn settle(
        &mut self,
        decided: Decided,
        excluded: Option<Vec<Spill>>,
        verdict: Verdict,
        memory: u64,
    ) -> Result<Known, Error> {
        let Decided { table, counts, rest, .. } = decided;
        let Some(rest) = rest else { return Ok(Known::table(table, counts, verdict)) };
        let mut runs = Runs::new();
        // All memory goes to the partitions: what is known of the table becomes a run like theirs.
        if verdict.counted.is_some() {
            runs.run(&self.disk, |push| verdict.each(&table, counts.as_ref(), push))?;
        }
        drop((table, counts));
        let Scanner { budget, hasher, .. } = self.scanner;
        let settling = Settling { disk: &self.disk, hasher, budget, memory };
        let settle = Settle { settling, places: &self.places, verdict };
        self.passes.report.distinct += settle.run(Part::all(excluded, rest, 0), &mut runs)?;
        Ok(Known::Runs(runs.merge(&self.disk, memory / 4)?))
    }

    /// Writes lines from a place on: those that are not doubtful, and those that are `known`. Without
    /// `doubt` all are doubtful.
    fn write(
        &mut self,
        doubt: Option<&Blocked>,
        from: u64,
        known: &mut Known,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let output = Mutex::new(Output::new(known, sink, &self.disk)?);
        let write = Write {
            doubt,
            from,
            column: self.column,
            output: &output,
            disk: &self.disk,
            // The merge has a quarter.
            room: self.scanner.budget.rest / 4 * 3 - doubt.map_or(0, |doubt| doubt.plan().bytes()),
        };
        // All before is written.
        let range = self.places.input_of(from).min(self.from)..self.from;
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), &write)?;
        self.passes.seen(self.inputs, range, &tallies)
    }
}

/// What the deciding pass leaves.
struct Decided {
    table: Table,
    counts: Option<Counts>,
    /// Lines set aside.
    rest: Option<Vec<Spill>>,
    /// The place of the first of them.
    undecided: u64,
}

#[cfg(test)]
mod tests;
