//! The steps of a running operation, and the data passed between them.

use super::build::{Build, Doubt};
use super::decide::Decide;
use super::look_up::{self, LookUp};
use super::numbers::Numbers;
use super::plan;
use super::prelude::*;
use super::probe::{Probe, recount};
use super::rule::InTables;
use super::settle::{Part, Settling};
use super::write::{ResultWriter, Write};

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
    pub(super) fn record(&mut self, range: Range<usize>, tallies: &[Tally]) -> Result<(), Error> {
        self.passes.record(self.inputs, range, tallies)?;
        match self.rule.others {
            // These inputs are part of a job's lines, so all of them may lack keys.
            Others::Mark => Ok(()),
            _ => self.scanner.check_keyed(self.inputs, &self.passes.tallies),
        }
    }

    /// Distinct lines, or an anti-join: doubtful lines are looked up among earlier ones and the keys of other inputs.
    pub(super) fn decide(
        &mut self,
        plan: &SetPlan,
        filters: Option<&[Plan; 2]>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let built = filters.map(|filters| self.build(filters)).transpose()?;
        let (seen, doubt) = built.unzip();
        let (alone, doubt) = (self.from == self.inputs.len(), doubt.map(Mutex::new));
        let seen = seen.filter(|_| !alone);
        let range = self.from..self.inputs.len();
        let expected = if alone { 0 } else { plan.compared };
        let Gathered { keys, spilled } = self.gather(range, seen, doubt.as_ref(), expected)?;
        let doubt = doubt.map(|doubt| doubt.into_inner().expect("no worker panics").fold());
        sink.header(self.scanner.header(self.inputs)?.as_deref())?;
        self.anti_join(doubt.transpose()?, keys, spilled, sink)
    }

    /// A semi-join, or every record of the first inputs: the keys of the `gathered` inputs decide.
    pub(super) fn look_up(
        &mut self,
        plan: &SetPlan,
        seen: Option<&Plan>,
        gathered: &Range<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let seen = seen.map(|size| self.fill(size)).transpose()?;
        let mut found = self.gather(gathered.clone(), seen, None, plan.compared)?;
        let files: Vec<_> = found.spilled.iter().flatten().collect();
        let room = self.scanner.budget.table(found.keys.bytes()).max(plan::LEAST_FILTER);
        let key_filter = found.keys.filter(&files, &self.scanner, room)?;
        if matches!(self.rule.others, Others::Semi(2..)) {
            let others = [self.from..gathered.start, gathered.end..self.inputs.len()];
            self.recount(others, key_filter.as_ref(), &mut found)?;
        }
        sink.header(self.scanner.header(self.inputs)?.as_deref())?;
        self.semi_join(key_filter.as_ref(), found, sink)
    }

    /// Step 1. Fills the filter of all lines and the filter of doubtful ones.
    pub(super) fn build(
        &mut self,
        [seen, doubtful]: &[Plan; 2],
    ) -> Result<(Blocked, Doubt), Error> {
        let budget = self.scanner.budget;
        let room = budget.line_beside(seen.bytes() + doubtful.bytes());
        let (mut seen, mut filter) = (of_hashes(seen)?, of_hashes(doubtful)?);
        let build = Build::new(&mut seen, &mut filter, budget);
        let tallies = self.scanner.scan(self.inputs, 0..self.from, &build.visit(room))?;
        let keys = build.keys.into_inner();
        self.record(0..self.from, &tallies)?;
        Ok((seen, Doubt { filter, keys }))
    }

    /// Step 1, without a filter of doubtful lines.
    fn fill(&mut self, size: &Plan) -> Result<Blocked, Error> {
        let budget = self.scanner.budget;
        let room = budget.line_beside(size.bytes());
        let mut seen = of_hashes(size)?;
        let tallies = fill(&self.scanner, &self.inputs[..self.from], &mut seen, room)?;
        self.record(0..self.from, &tallies)?;
        Ok(seen)
    }

    /// Step 2. Gathers about `expected` keys of some inputs; for a semi-join with several, of the smallest one.
    fn gather(
        &mut self,
        range: Range<usize>,
        seen: Option<Blocked>,
        doubt: Option<&Mutex<Doubt>>,
        expected: u64,
    ) -> Result<Gathered, Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let doubtful =
            |doubt: &Mutex<Doubt>| doubt.lock().expect("no worker panics").filter.plan().bytes();
        let filters =
            seen.as_ref().map_or(0, |seen| seen.plan().bytes()) + doubt.map_or(0, doubtful);
        let share = rule.table(budget.table(filters));
        let several = matches!(rule.others, Others::Semi(2..));
        let keys = KeySet::gathering(share, budget.threads, expected, several)?;
        let spilled = Later::new(&self.disk, 0, budget.spill_buffers(), Layout::Lines);
        let probe = Probe {
            filter: seen.as_ref(),
            keys: &keys,
            spilled: &spilled,
            doubt,
            start: self.places.start(range.start),
            total: lengths(&self.inputs[range.clone()]),
            budget,
        };
        let spare = budget.long_line();
        let tallies = self.scanner.scan(self.inputs, range.clone(), &probe.visit(spare))?;
        self.record(range, &tallies)?;
        let spilled = spilled.finish()?.into_iter().flatten().map(|file| vec![file]).collect();
        Ok(Gathered { keys: KeySet::of(keys), spilled })
    }

    /// Counts in how many of some inputs the gathered keys are; spills keys that may equal a spilled one.
    fn recount(
        &mut self,
        others: [Range<usize>; 2],
        key_filter: Option<&Blocked>,
        Gathered { keys, spilled }: &mut Gathered,
    ) -> Result<(), Error> {
        let again = self.partitions(spilled.len(), Layout::Lines)?;
        let spare = room_left(self.scanner.budget, keys, key_filter);
        let visit = recount(spare, key_filter, keys, &again);
        for range in others {
            let tallies = self.scanner.scan(self.inputs, range.clone(), &visit)?;
            self.record(range, &tallies)?;
        }
        drop(visit);
        let again = again.finish()?.unwrap_or_default();
        spilled.iter_mut().zip(again).for_each(|(files, again)| files.push(again));
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
    fn anti_join(
        &mut self,
        doubt: Option<Blocked>,
        keys: KeySet,
        spilled: Vec<Vec<Spill>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let rule = self.rule;
        let gathered = keys.len();
        // Nothing is written when a line first occurs.
        let later = rule.counted.is_some() || !sink.is_plain();
        let Decided { held, rest, undecided } =
            self.decide_each(doubt.as_ref(), keys, spilled.len(), sink)?;
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
                // The partitions get all memory: results of the tables that are not yet written become runs.
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

    /// The deciding pass of distinct lines and of an anti-join. Writes the lines to `sink` that can be written now.
    fn decide_each(
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
        // Two for each thread: one that looks lines up then seldom waits for one that adds some.
        let shards = if budget.threads > 1 { 2 * budget.threads } else { 1 };
        let mut tables = Table::shards(share, shards, layout, 0)?;
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
        let tallies = self.scanner.scan(self.inputs, 0..self.from, &decide.visit(spare))?;
        self.record(0..self.from, &tallies)?;
        let Decide { held, rest, undecided, .. } = decide;
        let held = held.into_shards().collect();
        Ok(Decided { held, rest: rest.finish()?, undecided: undecided.into_inner() })
    }

    /// Steps 3 and 4 where the keys of the other inputs alone decide.
    fn semi_join(
        &mut self,
        key_filter: Option<&Blocked>,
        Gathered { keys, spilled }: Gathered,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let rule = self.rule;
        let rest = self.partitions(spilled.len(), self.scanner.layout())?;
        let mut runs = Runs::new(&self.disk, 1 << 18);
        let look_up = LookUp {
            key_filter,
            keys: &keys,
            rule,
            given: (!rule.every).then(|| keys.marks()),
            spilled: &rest,
            output: Mutex::new(look_up::SinkOrRun { sink, runs: &mut runs, late: false }),
        };
        let spare = room_left(self.scanner.budget, &keys, key_filter);
        let tallies = self.scanner.scan(self.inputs, 0..self.from, &look_up.visit(spare))?;
        drop(look_up);
        self.record(0..self.from, &tallies)?;
        self.passes.report.distinct = keys.len();
        let Some(rest) = rest.finish()? else { return Ok(()) };
        runs.end();
        drop(keys);
        let mut results = self.settle(rest, spilled, key_filter, runs)?;
        self.write_results(&mut results, sink)
    }

    /// Step 4, with the memory that this filter leaves. Returns all results not yet written.
    fn settle(
        &mut self,
        lines: Vec<Spill>,
        others: Vec<Vec<Spill>>,
        filter: Option<&Blocked>,
        mut runs: Runs,
    ) -> Result<Results, Error> {
        let Scanner { budget, hasher, progress, .. } = &self.scanner;
        let memory = budget.rest - filter.map_or(0, |filter| filter.plan().bytes());
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
    pub(super) fn write_by_place(
        &mut self,
        doubt: Option<&Blocked>,
        from: u64,
        results: &mut Results,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let (budget, rule) = (self.scanner.budget, self.rule);
        let numbers =
            rule.numbered.then(|| Numbers::new(self.inputs, self.scanner.format.kind.end()));
        let output = Mutex::new(ResultWriter::new(results, numbers, sink)?);
        let write = Write { doubt, from, rule, output: &output };
        // The merge has a quarter.
        let spare = (budget.rest / 4 * 3 - doubt.map_or(0, |doubt| doubt.plan().bytes()))
            .max(budget.long_line());
        // Everything before that place is written.
        let range = self.places.input_of(from).min(self.from)..self.from;
        let tallies = self.scanner.scan(self.inputs, range.clone(), &write.visit(spare))?;
        self.record(range, &tallies)
    }
}

/// Bytes left for a line longer than a chunk, with keys and their filter in memory.
fn room_left(budget: Budget, keys: &KeySet, filter: Option<&Blocked>) -> u64 {
    let left = budget.table(filter.map_or(0, |filter| filter.plan().bytes()));
    budget.long_line() + left.saturating_sub(keys.bytes())
}

/// The outcome of step 2.
struct Gathered {
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
