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
mod keys;
mod look_up;
mod marks;
mod one_pass;
mod plan;
mod probe;
mod ranking;
mod rule;
mod settle;
mod write;

use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use crate::budget::Budget;
use crate::bulk::{fill, of_hashes};
use crate::hash::LineHasher;
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::places::Places;
use crate::records::Layout;
use crate::report::Report;
use crate::scan::{Scanner, Tally};
use crate::sink::{Form, Hand, Sink};
use crate::spill::{Disk, Later, Partitions, Runs, Spill};
use crate::table::Table;
use crate::{Error, Options};
use build::{Build, Doubt};
use counts::{Counted, Counts};
use decide::Decide;
pub use diff::{Change, Diff};
use keys::{Gathering, Keys};
use look_up::LookUp;
pub use plan::{SetPlan, Strategy};
use probe::{Probe, Recount};
use ranking::Ranking;
use rule::{Others, Results, Rule};
use settle::{Part, Settle};
use write::Write;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
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
    wanted: Wanted,
    fpp: Option<f64>,
    budget: Budget,
    options: &'a Options,
}

impl<'a> SetOperation<'a> {
    fn new(inputs: &'a [Input], wanted: Wanted, options: &'a Options) -> Result<Self, Error> {
        let mut budget = Budget::new(options.memory, options.threads)?;
        if let Wanted::Distinct(Distinct { ranked: Some(_), .. }) = wanted {
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
        Self::new(inputs, Wanted::Distinct(distinct), options)
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
            1 => Wanted::Distinct(Distinct::default()),
            all if all == inputs.len() => Wanted::Common { every: false },
            some => Wanted::Several(some),
        };
        Self::new(inputs, wanted, options)
    }

    /// Selects each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, Wanted::Except { every: false }, options)
    }

    /// Selects every line of the first of two or more inputs whose key all others have, or with
    /// [`except`](Self::except) none of them, including repeats: a semi-join or an anti-join. Other operations are
    /// unchanged.
    #[must_use]
    pub fn every(self) -> Self {
        let wanted = match self.wanted {
            Wanted::Except { .. } => Wanted::Except { every: true },
            Wanted::Common { .. } => Wanted::Common { every: true },
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
            Wanted::Distinct(_) | Wanted::Several(_) | Wanted::Rows => self.inputs.len(),
            Wanted::Except { .. } | Wanted::Common { .. } | Wanted::Mark => {
                self.inputs.len().min(1)
            }
        }
    }

    fn scanner(&self, hasher: impl Into<LineHasher>) -> Result<Scanner<'a>, Error> {
        let scanner = Scanner::within(self.budget, self.options, hasher)?;
        Ok(if self.wanted == Wanted::Rows { scanner.comparing_rows() } else { scanner })
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
        let (Wanted::Distinct(Distinct { counted, ranked, .. }), None) = (self.wanted, self.fpp)
        else {
            return self.write(Sink::new(out, self.options.separator));
        };
        let form = || match self.options.records.column() {
            _ if !counted => Form::Rows,
            Some(column) => Form::Column(column),
            None => Form::Object,
        };
        let Some(Top(most)) = ranked else {
            return self.write(Sink::new(out, self.options.separator).with_form(form()));
        };
        let disk = Disk::new(&self.options.tmp);
        let mut ranking = Ranking::new(most, self.budget.rest / (RANKING - 1), &disk);
        let mut report = self.hand(&mut |selected| ranking.push(selected))?;
        let mut sink = Sink::new(out, self.options.separator).with_form(form());
        sink.header(self.header()?.as_deref())?;
        ranking.write(&mut sink)?;
        sink.finish(&mut report)?;
        report.disk(&disk);
        Ok(report)
    }

    /// Passes the results to `hand`.
    fn hand<'h>(&self, hand: &'h mut Hand<'h>) -> Result<Report, Error> {
        let mut nowhere = io::sink();
        self.write(Sink::new(&mut nowhere, self.options.separator).with_form(Form::Handed(hand)))
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
            alone: matches!(self.wanted, Wanted::Common { .. } | Wanted::Rows),
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
            Wanted::Distinct(Distinct { at_least, keep: Keep::Last, .. }) => {
                (at_least, Some(Counted::Last))
            }
            Wanted::Distinct(Distinct { at_least, counted, ranked, .. }) => {
                let counts = at_least > 1 || counted || ranked.is_some();
                (at_least, counts.then_some(Counted::Lines))
            }
            Wanted::Several(at_least) => (at_least as u64, Some(Counted::Inputs)),
            Wanted::Rows => (1, Some(Counted::Inputs)),
            Wanted::Except { .. } | Wanted::Common { .. } | Wanted::Mark => (1, None),
        };
        let (others, every) = match self.wanted {
            Wanted::Common { every } => (Others::Semi(self.inputs.len() as u64 - 1), every),
            Wanted::Except { every } => (Others::Anti, every),
            Wanted::Mark => (Others::Mark, true),
            _ => (Others::Anti, false),
        };
        let few = at_least > 1 || matches!(self.wanted, Wanted::Common { .. });
        // Many rows would go through temporary files at every level; one more pass over the input is cheaper.
        let rows = few || (plan.seen.is_none() && plan.bytes_spilled == 0);
        // A last line is not in the table.
        let rows = (rows && counted != Some(Counted::Last)) || every;
        Rule { at_least, counted, others, every, rows }
    }
}

/// A running operation.
struct Run<'a> {
    inputs: &'a [Input],
    from: usize,
    scanner: Scanner<'a>,
    places: Places,
    disk: Disk<'a>,
    passes: Passes,
    /// Whether every input must have records with keys.
    alone: bool,
}

impl Run<'_> {
    /// Records a finished pass; refuses inputs without any key. Each counts by itself where each has a part of its own.
    fn seen(&mut self, range: Range<usize>, tallies: &[Tally]) -> Result<(), Error> {
        self.passes.seen(self.inputs, range.clone(), tallies)?;
        let inputs = &self.inputs[range];
        if !self.alone {
            return self.scanner.check_keyed(inputs, tallies);
        }
        let mut each = inputs.chunks(1).zip(tallies.chunks(1));
        each.try_for_each(|(input, tally)| self.scanner.check_keyed(input, tally))
    }

    fn exact(&mut self, plan: &SetPlan, rule: Rule, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (seen, doubt) = self.build(plan, rule)?;
        let probed = self.probe(plan, seen, doubt, rule)?;
        sink.header(self.scanner.header(self.inputs)?.as_deref())?;
        if rule.is_look_up() {
            self.look_up(probed, rule, sink)
        } else {
            self.anti_join(probed, rule, sink)
        }
    }

    /// Step 1. Returns the filter of all lines, if other inputs probe it, and the filter of doubtful ones, if it is filled now.
    fn build(
        &mut self,
        plan: &SetPlan,
        rule: Rule,
    ) -> Result<(Option<Blocked>, Option<Doubt>), Error> {
        let budget = self.scanner.budget;
        let Some(size) = &plan.seen else { return Ok((None, None)) };
        let mut seen = of_hashes(size)?;
        let room = |filters: u64| (budget.rest - filters).max(budget.long_line());
        let mut doubt = None;
        let tallies = match &plan.doubtful {
            Some(doubtful) if !rule.is_look_up() => {
                let mut filter = of_hashes(doubtful)?;
                let room = room(size.bytes() + doubtful.bytes());
                let build = Build::new(&mut seen, &mut filter, budget, room);
                let tallies = self.scanner.scan_some(self.inputs, 0..self.from, &build)?;
                let keys = build.keys();
                doubt = Some(Doubt { filter, keys });
                tallies
            }
            _ => fill(&self.scanner, &self.inputs[..self.from], &mut seen, room(size.bytes()))?,
        };
        self.seen(0..self.from, &tallies)?;
        let probed = self.from < self.inputs.len();
        Ok((probed.then_some(seen), doubt))
    }

    /// Step 2. For a semi-join with several inputs, gathers the keys of the smallest one and counts in how many of the
    /// rest they are.
    fn probe(
        &mut self,
        plan: &SetPlan,
        seen: Option<Blocked>,
        doubt: Option<Doubt>,
        rule: Rule,
    ) -> Result<Probed, Error> {
        let budget = self.scanner.budget;
        let filters = seen.as_ref().map_or(0, |seen| seen.plan().bytes())
            + doubt.as_ref().map_or(0, |doubt| doubt.filter.plan().bytes());
        let share = rule.table(budget.table(filters));
        let several = matches!(rule.others, Others::Semi(2..));
        let expected = if self.from < self.inputs.len() { plan.compared } else { 0 };
        let keys = Gathering::new(share, budget.threads, expected, several)?;
        let doubt = doubt.map(Mutex::new);
        let spilled = Later::default();
        let range = match rule.others {
            Others::Semi(_) => plan.smallest..plan.smallest + 1,
            Others::Anti | Others::Mark => self.from..self.inputs.len(),
        };
        let probe = Probe {
            filter: seen.as_ref(),
            keys: &keys,
            spilled: &spilled,
            doubt: doubt.as_ref(),
            start: self.places.start(range.start),
            total: lengths(&self.inputs[range.clone()]),
            disk: &self.disk,
            budget,
        };
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), &probe)?;
        self.seen(range.clone(), &tallies)?;
        drop(seen);
        let keys = keys.finish();
        let spilled = spilled.finish(&self.disk)?.unwrap_or_default();
        let spilled: Vec<_> = spilled.into_iter().map(|file| vec![file]).collect();
        let doubt = match doubt {
            _ if rule.is_look_up() => {
                let room = budget.table(keys.bytes()).max(plan::LEAST_FILTER);
                keys.filter(&spilled, &self.scanner, &self.disk, room)?
            }
            None => None,
            Some(doubt) => Some(doubt.into_inner().expect("no worker panics").fold()?),
        };
        let mut probed = Probed { doubt, keys, spilled };
        if several {
            self.recount([self.from..range.start, range.end..self.inputs.len()], &mut probed)?;
        }
        Ok(probed)
    }

    /// Counts in how many of some inputs the gathered keys are; spills what may equal a spilled key.
    fn recount(
        &mut self,
        ranges: [Range<usize>; 2],
        Probed { doubt, keys, spilled }: &mut Probed,
    ) -> Result<(), Error> {
        let again = self.partitions(spilled.len(), Layout::Lines)?;
        let recount = Recount {
            filter: doubt.as_ref(),
            keys,
            spilled: again.as_ref(),
            room: room_left(self.scanner.budget, keys, doubt.as_ref()),
        };
        for range in ranges {
            let tallies = self.scanner.scan_some(self.inputs, range.clone(), &recount)?;
            self.seen(range, &tallies)?;
        }
        let again = again.map(|parts| parts.finish(&self.disk)).transpose()?;
        let pairs = spilled.iter_mut().zip(again.into_iter().flatten());
        pairs.for_each(|(files, again)| files.push(again));
        Ok(())
    }

    /// As many partitions as keys were spilled to, if any.
    fn partitions(&self, count: usize, layout: Layout) -> Result<Option<Partitions>, Error> {
        let buffers = self.scanner.budget.spill_buffers();
        (count > 0).then(|| Partitions::new(&self.disk, 0, count, buffers, layout)).transpose()
    }

    /// Steps 3 and 4 of distinct lines and of an anti-join.
    fn anti_join(&mut self, probed: Probed, rule: Rule, sink: &mut Sink<'_>) -> Result<(), Error> {
        let Probed { doubt, keys, spilled } = probed;
        let gathered = keys.len();
        let decided = self.decide(doubt.as_ref(), keys, rule, spilled.len(), sink)?;
        let Decided { table, counts, rest, undecided } = decided;
        self.passes.report.distinct = gathered + table.len();
        if rest.is_none() && rule.counted.is_none() {
            return Ok(());
        }
        let from = if rule.counted.is_some() { 0 } else { undecided };
        let mut results = match rest {
            None if rule.counted != Some(Counted::Last) => Results::table(table, counts, rule),
            rest => {
                let mut runs = Runs::new(1 << 18);
                // The partitions get all memory: the table's results become a run like theirs.
                if rule.counted.is_some() {
                    rule.append(&table, counts.as_ref(), None, &self.disk, &mut runs)?;
                }
                drop((table, counts));
                self.settle(rest.unwrap_or_default(), spilled, doubt.as_ref(), rule, runs)?
            }
        };
        if !rule.rows {
            return self.write_by_place(doubt.as_ref(), from, rule, &mut results, sink);
        }
        self.write_results(&mut results, sink)
    }

    /// The deciding pass of distinct lines and of an anti-join. Writes to `sink` what can be written now.
    fn decide(
        &mut self,
        doubt: Option<&Blocked>,
        keys: Keys,
        rule: Rule,
        spilled: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Decided, Error> {
        let budget = self.scanner.budget;
        let layout = if rule.rows { self.scanner.layout() } else { Layout::Lines };
        let share = rule.table(budget.table(doubt.map_or(0, |doubt| doubt.plan().bytes())));
        let mut table = Table::new(share.saturating_sub(keys.bytes()), layout)?;
        if spilled > 0 {
            // A line that is not among the keys in memory may be among the spilled ones.
            table.close();
        }
        let table = RwLock::new(table);
        let counts = rule.counted.map(|counted| RwLock::new(Counts::new(counted)));
        let rest = Later::default();
        let undecided = AtomicU64::new(u64::MAX);
        let sink = rule.counted.is_none().then(|| Mutex::new(sink));
        let decide = Decide {
            doubt,
            keys: Some(&keys).filter(|keys| keys.len() > 0),
            table: &table,
            counts: counts.as_ref(),
            rest: &rest,
            partitions: (spilled > 0).then_some(spilled),
            sink: sink.as_ref(),
            undecided: &undecided,
            rule,
            total: lengths(&self.inputs[..self.from]),
            disk: &self.disk,
            budget,
            layout,
        };
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, &decide)?;
        self.seen(0..self.from, &tallies)?;
        Ok(Decided {
            table: table.into_inner().expect("no worker panics"),
            counts: counts.map(|counts| counts.into_inner().expect("no worker panics")),
            rest: rest.finish(&self.disk)?,
            undecided: undecided.into_inner(),
        })
    }

    /// Steps 3 and 4 where the keys of the other inputs alone decide.
    fn look_up(&mut self, probed: Probed, rule: Rule, sink: &mut Sink<'_>) -> Result<(), Error> {
        let Probed { doubt, keys, spilled } = probed;
        let budget = self.scanner.budget;
        let rest = self.partitions(spilled.len(), self.scanner.layout())?;
        let mut runs = Runs::new(1 << 18);
        let look_up = LookUp {
            doubt: doubt.as_ref(),
            keys: &keys,
            rule,
            given: (!rule.every).then(|| keys.marks()),
            spilled: rest.as_ref(),
            output: Mutex::new(look_up::Output { sink, runs: &mut runs, late: false }),
            disk: &self.disk,
            room: room_left(budget, &keys, doubt.as_ref()),
        };
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, &look_up)?;
        drop(look_up);
        self.seen(0..self.from, &tallies)?;
        self.passes.report.distinct = keys.len();
        let Some(rest) = rest else { return Ok(()) };
        runs.end();
        drop(keys);
        let mut results =
            self.settle(rest.finish(&self.disk)?, spilled, doubt.as_ref(), rule, runs)?;
        self.write_results(&mut results, sink)
    }

    /// Step 4, with the memory that the filter of doubtful lines leaves. Returns all results that are still to be written.
    fn settle(
        &mut self,
        lines: Vec<Spill>,
        others: Vec<Vec<Spill>>,
        doubt: Option<&Blocked>,
        rule: Rule,
        mut runs: Runs,
    ) -> Result<Results, Error> {
        let Scanner { budget, hasher, progress, .. } = &self.scanner;
        let memory = budget.rest - doubt.map_or(0, |doubt| doubt.plan().bytes());
        let (disk, places) = (&self.disk, &self.places);
        let (budget, progress) = (*budget, *progress);
        let settle = Settle { disk, hasher, budget, places, rule, progress, memory };
        self.passes.report.distinct += settle.run(Part::all(lines, others, 0), &mut runs)?;
        Ok(Results::Runs(runs.merge(&self.disk, memory / 4)?))
    }

    /// Writes results as they come.
    fn write_results(&self, results: &mut Results, sink: &mut Sink<'_>) -> Result<(), Error> {
        while let Some(result) = results.next(&self.disk)? {
            sink.result(result)?;
        }
        Ok(())
    }

    /// Reads the first inputs again and writes, from a place on, lines that are not doubtful and those among the results.
    /// Without `doubt`, all lines are doubtful.
    fn write_by_place(
        &mut self,
        doubt: Option<&Blocked>,
        from: u64,
        rule: Rule,
        results: &mut Results,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let budget = self.scanner.budget;
        let output = Mutex::new(write::Output::new(results, sink, &self.disk)?);
        let write = Write {
            doubt,
            from,
            once: rule.at_least < 2,
            output: &output,
            disk: &self.disk,
            // The merge has a quarter.
            room: (budget.rest / 4 * 3 - doubt.map_or(0, |doubt| doubt.plan().bytes()))
                .max(budget.long_line()),
        };
        // Everything before that place is written.
        let range = self.places.input_of(from).min(self.from)..self.from;
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), &write)?;
        self.seen(range, &tallies)
    }
}

/// Bytes left for a line longer than a chunk, with keys and their filter in memory.
fn room_left(budget: Budget, keys: &Keys, filter: Option<&Blocked>) -> u64 {
    let left = budget.table(filter.map_or(0, |filter| filter.plan().bytes()));
    budget.long_line() + left.saturating_sub(keys.bytes())
}

/// The outcome of step 2.
struct Probed {
    /// The filter of doubtful lines.
    doubt: Option<Blocked>,
    keys: Keys,
    /// Keys that did not fit: the files of each partition.
    spilled: Vec<Vec<Spill>>,
}

/// The outcome of the deciding pass.
struct Decided {
    table: Table,
    counts: Option<Counts>,
    /// Lines that did not fit.
    rest: Option<Vec<Spill>>,
    /// The place of the first of them.
    undecided: u64,
}

#[cfg(test)]
mod tests;
