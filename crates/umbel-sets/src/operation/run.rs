//! The steps of a running operation, and what each passes to the next.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use umbel::{Blocked, Filter};

use super::build::{Build, Doubt};
use super::counts::{Counted, CountedTable};
use super::decide::Decide;
use super::in_line::InLine;
use super::keys::KeySet;
use super::look_up::{self, LookUp};
use super::plan::{self, SetPlan};
use super::probe::{Probe, Recount};
use super::rule::{InTables, Others, Results, Rule};
use super::settle::{Part, Settling};
use super::write::{self, Write};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::{fill, of_hashes};
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::places::Places;
use crate::records::Layout;
use crate::scan::{Scanner, Tally};
use crate::sink::Sink;
use crate::spill::{Disk, Later, Runs, Spill};
use crate::table::Table;

/// A running operation.
pub(super) struct Run<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) rule: Rule,
    /// The number of inputs, from the first on, whose lines may be written.
    pub(super) from: usize,
    pub(super) scanner: Scanner<'a>,
    pub(super) places: Places,
    pub(super) disk: Disk,
    pub(super) passes: Passes,
}

impl Run<'_> {
    /// Records a finished pass; refuses inputs without any key.
    pub(super) fn seen(&mut self, range: Range<usize>, tallies: &[Tally]) -> Result<(), Error> {
        self.passes.seen(self.inputs, range, tallies)?;
        match self.rule.others {
            // These are part of a job's lines, so all of them may lack keys.
            Others::Mark => Ok(()),
            _ => self.scanner.check_keyed(self.inputs, self.passes.tallies()),
        }
    }

    pub(super) fn exact(&mut self, plan: &SetPlan, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (seen, doubt) = self.build(plan)?;
        let probed = self.probe(plan, seen, doubt)?;
        sink.header(self.scanner.header(self.inputs)?.as_deref())?;
        match self.rule.is_look_up() {
            true => self.look_up(probed, sink),
            false => self.anti_join(probed, sink),
        }
    }

    /// Step 1. Returns the filter of all lines, if other inputs probe it, and the filter of doubtful ones, if it is filled now.
    fn build(&mut self, plan: &SetPlan) -> Result<(Option<Blocked>, Option<Doubt>), Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let Some(size) = &plan.seen else { return Ok((None, None)) };
        let mut seen = of_hashes(size)?;
        let room = |filters: u64| (budget.rest - filters).max(budget.long_line());
        let mut doubt = None;
        let tallies = match &plan.doubtful {
            Some(doubtful) if !rule.is_look_up() => {
                let mut filter = of_hashes(doubtful)?;
                let room = room(size.bytes() + doubtful.bytes());
                let build = Build::new(&mut seen, &mut filter, budget);
                let tallies = self.scanner.scan_some(self.inputs, 0..self.from, room, &build)?;
                let keys = build.keys.into_inner();
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
    ) -> Result<Probed, Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let filters = seen.as_ref().map_or(0, |seen| seen.plan().bytes())
            + doubt.as_ref().map_or(0, |doubt| doubt.filter.plan().bytes());
        let share = rule.table(budget.table(filters));
        let several = matches!(rule.others, Others::Semi(2..));
        let expected = if self.from < self.inputs.len() { plan.compared } else { 0 };
        let keys = KeySet::gathering(share, budget.threads, expected, several)?;
        let doubt = doubt.map(Mutex::new);
        let spilled = Later::new(&self.disk, 0, budget.spill_buffers(), Layout::Lines);
        let range = rule.gathered(plan, self.inputs.len());
        let probe = Probe {
            filter: seen.as_ref(),
            keys: &keys,
            spilled: &spilled,
            doubt: doubt.as_ref(),
            start: self.places.start(range.start),
            total: lengths(&self.inputs[range.clone()]),
            budget,
        };
        let spare = budget.long_line();
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), spare, &probe)?;
        self.seen(range.clone(), &tallies)?;
        drop(seen);
        let keys = KeySet::of(keys);
        let spilled = spilled.finish()?.unwrap_or_default();
        let spilled: Vec<_> = spilled.into_iter().map(|file| vec![file]).collect();
        let doubt = match doubt {
            _ if rule.is_look_up() => {
                let room = budget.table(keys.bytes()).max(plan::LEAST_FILTER);
                let files: Vec<_> = spilled.iter().flatten().collect();
                keys.filter(&files, &self.scanner, room)?
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
        let recount = Recount { filter: doubt.as_ref(), keys, spilled: &again };
        let spare = room_left(self.scanner.budget, keys, doubt.as_ref());
        for range in ranges {
            let tallies = self.scanner.scan_some(self.inputs, range.clone(), spare, &recount)?;
            self.seen(range, &tallies)?;
        }
        let pairs = spilled.iter_mut().zip(again.finish()?.into_iter().flatten());
        pairs.for_each(|(files, again)| files.push(again));
        Ok(())
    }

    /// As many partitions as keys were spilled to, if any.
    fn partitions(&self, count: usize, layout: Layout) -> Result<Later, Error> {
        let later = Later::new(&self.disk, 0, self.scanner.budget.spill_buffers(), layout);
        if count > 0 {
            later.get_or_make(|| count)?;
        }
        Ok(later)
    }

    /// Steps 3 and 4 of distinct lines and of an anti-join.
    fn anti_join(&mut self, probed: Probed, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (Probed { doubt, keys, spilled }, rule) = (probed, self.rule);
        let gathered = keys.len();
        // Nothing is written at first sight.
        let later = rule.counted.is_some() || !sink.is_plain();
        let Decided { held, rest, undecided } =
            self.decide(doubt.as_ref(), keys, spilled.len(), sink)?;
        self.passes.report.distinct =
            gathered + held.iter().map(|held| held.table.len()).sum::<u64>();
        if rest.is_none() && !later {
            return Ok(());
        }
        let from = if later { 0 } else { undecided };
        let mut results = match rest {
            None if rule.counted != Some(Counted::Last) => {
                Results::Tables(InTables::new(held, rule))
            }
            rest => {
                let mut runs = Runs::new(&self.disk, 1 << 18);
                // The partitions get all memory: what is not written of the tables becomes runs, too.
                for held in held {
                    rule.append(&held, None, from, &mut runs, self.scanner.budget.rest)?;
                }
                self.settle(rest.unwrap_or_default(), spilled, doubt.as_ref(), runs)?
            }
        };
        if !rule.rows {
            return self.write_by_place(doubt.as_ref(), from, &mut results, sink);
        }
        self.write_results(&mut results, sink)
    }

    /// The deciding pass of distinct lines and of an anti-join. Writes to `sink` what can be written now.
    fn decide(
        &mut self,
        doubt: Option<&Blocked>,
        keys: KeySet,
        spilled: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Decided, Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let layout = if rule.rows { self.scanner.layout() } else { Layout::Lines };
        let share = rule.table(budget.table(doubt.map_or(0, |doubt| doubt.plan().bytes())));
        let share = share.saturating_sub(keys.bytes());
        let mut tables = Table::shards(share, budget.threads, layout)?;
        if spilled > 0 {
            // A line that is not among the keys in memory may be among the spilled ones.
            tables.iter_mut().for_each(Table::close);
        }
        let tables = tables.into_iter().map(|table| CountedTable::new(table, rule.counted));
        let decide = Decide {
            doubt,
            keys: Some(&keys).filter(|keys| keys.len() > 0),
            writes: rule.counted.is_none() && sink.is_plain(),
            held: InLine::new(tables, sink),
            rest: Later::new(&self.disk, 0, budget.spill_buffers(), layout),
            partitions: (spilled > 0).then_some(spilled),
            undecided: AtomicU64::new(u64::MAX),
            rule,
            total: lengths(&self.inputs[..self.from]),
            budget,
        };
        let spare = budget.long_line();
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, spare, &decide)?;
        self.seen(0..self.from, &tallies)?;
        let Decide { held, rest, undecided, .. } = decide;
        let held = held.into_shards().collect();
        Ok(Decided { held, rest: rest.finish()?, undecided: undecided.into_inner() })
    }

    /// Steps 3 and 4 where the keys of the other inputs alone decide.
    fn look_up(&mut self, probed: Probed, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (Probed { doubt, keys, spilled }, rule) = (probed, self.rule);
        let rest = self.partitions(spilled.len(), self.scanner.layout())?;
        let mut runs = Runs::new(&self.disk, 1 << 18);
        let look_up = LookUp {
            doubt: doubt.as_ref(),
            keys: &keys,
            rule,
            given: (!rule.every).then(|| keys.marks()),
            spilled: &rest,
            output: Mutex::new(look_up::SinkOrRun { sink, runs: &mut runs, late: false }),
        };
        let spare = room_left(self.scanner.budget, &keys, doubt.as_ref());
        let tallies = self.scanner.scan_some(self.inputs, 0..self.from, spare, &look_up)?;
        drop(look_up);
        self.seen(0..self.from, &tallies)?;
        self.passes.report.distinct = keys.len();
        let Some(rest) = rest.finish()? else { return Ok(()) };
        runs.end();
        drop(keys);
        let mut results = self.settle(rest, spilled, doubt.as_ref(), runs)?;
        self.write_results(&mut results, sink)
    }

    /// Step 4, with the memory that the filter of doubtful lines leaves. Returns all results not yet written.
    fn settle(
        &mut self,
        lines: Vec<Spill>,
        others: Vec<Vec<Spill>>,
        doubt: Option<&Blocked>,
        mut runs: Runs,
    ) -> Result<Results, Error> {
        let Scanner { budget, hasher, progress, .. } = &self.scanner;
        let memory = budget.rest - doubt.map_or(0, |doubt| doubt.plan().bytes());
        let (disk, rule) = (&self.disk, self.rule);
        let settling = Settling { disk, hasher, budget: *budget, progress, memory };
        let settle =
            |settling, part, runs: &mut Runs| rule.settle(settling, &self.places, part, runs);
        let needed = |part: &Part| part.lines.in_memory();
        let parts = Part::all(lines, others, 0);
        let distinct = settling.run(parts, &mut runs, needed, settle)?;
        self.passes.report.distinct += distinct;
        Ok(Results::Runs(runs.merge(memory / 4)?))
    }

    /// Writes results as they come.
    fn write_results(&self, results: &mut Results, sink: &mut Sink<'_>) -> Result<(), Error> {
        while let Some(result) = results.next()? {
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
        results: &mut Results,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let output = Mutex::new(write::ResultWriter::new(results, sink)?);
        let write =
            Write { doubt, from, once: rule.at_least < 2, words: rule.words(), output: &output };
        // The merge has a quarter.
        let spare = (budget.rest / 4 * 3 - doubt.map_or(0, |doubt| doubt.plan().bytes()))
            .max(budget.long_line());
        // Everything before that place is written.
        let range = self.places.input_of(from).min(self.from)..self.from;
        let tallies = self.scanner.scan_some(self.inputs, range.clone(), spare, &write)?;
        self.seen(range, &tallies)
    }
}

/// Bytes left for a line longer than a chunk, with keys and their filter in memory.
fn room_left(budget: Budget, keys: &KeySet, filter: Option<&Blocked>) -> u64 {
    let left = budget.table(filter.map_or(0, |filter| filter.plan().bytes()));
    budget.long_line() + left.saturating_sub(keys.bytes())
}

/// The outcome of step 2.
struct Probed {
    /// The filter of doubtful lines.
    doubt: Option<Blocked>,
    keys: KeySet,
    /// Keys that did not fit: the files of each partition.
    spilled: Vec<Vec<Spill>>,
}

/// The outcome of the deciding pass.
struct Decided {
    held: Vec<CountedTable>,
    /// Lines that did not fit.
    rest: Option<Vec<Spill>>,
    /// The place of the first of them.
    undecided: u64,
}
