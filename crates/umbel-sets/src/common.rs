//! The lines that all of several files have, exactly, under a memory cap.
//!
//! ```text
//! 1  fill filters    every input but the first: its lines → a filter (of those the last one lets pass)
//! 2  gather          the first input: lines the filters let pass → a table, each once
//! 3  mark            the other inputs again: a line found in the table, byte by byte, marks it
//! 4  write           marked lines, in order of arrival
//! ```
//!
//! Steps 1 and 2 bring the lines down to those that may be shared and some false ones, so that
//! few bytes have to be kept; step 3 compares bytes, so no answer rests on a hash. What the table
//! cannot hold goes to partitions on disk in step 2, what may meet it follows in step 3, and each
//! partition is settled in a table of its own (`join`). Without filters, the same steps are a hybrid
//! hash join.

mod one_pass;

use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

use umbel::{Blocked, KeyHasher, Kind, Plan};

use crate::budget::{Budget, KEPT_LINE};
use crate::bulk::{Picked, fill};
use crate::input::{Input, estimate_lines, lengths};
use crate::join::{Join, Part, Settling};
use crate::passes::Passes;
use crate::places::Places;
use crate::records::{Layout, Record};
use crate::report::Report;
use crate::sample::Sample;
use crate::scan::{Lines, Scanner, Visit, job_hasher};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Spill};
use crate::table::{Inserted, Table};
use crate::{Error, Options};

/// The rate of the filters: a lower one costs bits, which cost cache misses; a higher one costs
/// lines kept for nothing, some 100 bytes each. Flat between 0.3 and 2 %.
const RATE: f64 = 0.01;
/// With fewer bits a key a filter lets more than 38 % pass: then it is not worth a pass.
const LEAST_BITS_PER_KEY: u64 = 2;
/// Inputs up to this size go straight to the table: it stays in cache, and a pass is saved.
const SMALL: u64 = 16 << 20;

/// The job: which lines are in all of the inputs.
#[derive(Debug)]
pub struct Common<'a> {
    inputs: &'a [Input],
    /// With an error allowed, that and in how many of the inputs lines are.
    one_pass: Option<(f64, usize)>,
    budget: Budget,
    options: &'a Options,
}

/// How a job will be done.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonPlan {
    /// The way chosen.
    pub strategy: Strategy,
    /// Filters, in the order they are filled: the input's index and the filter's plan.
    pub filters: Vec<(usize, Plan)>,
    /// Estimated lines of each input.
    pub lines: Vec<u64>,
    /// Lines expected to be kept and compared by their bytes.
    pub compared: u64,
    /// Bytes for the lines that are kept, before any go to disk.
    pub table: u64,
    /// Bytes that will be read over all passes, as far as estimated those of temporary files too.
    pub bytes_read: u64,
    /// Estimated bytes that will be written to temporary files.
    pub bytes_spilled: u64,
    /// How often an input will be read from end to end, summed over inputs.
    pub passes: u32,
}

/// The ways to find common lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Keep all lines that may come first, no filters: small inputs, or no room for filters.
    Table,
    /// Filter after filter, each of the lines that the one before lets pass; the last one selects
    /// what is kept.
    Chain,
    /// Filters alone, with an error.
    OnePass,
}

impl<'a> Common<'a> {
    /// Lines in all of `inputs`. [`Distinct::in_several`](crate::Distinct::in_several) gives those in some of them.
    ///
    /// # Errors
    /// [`Error::AtLeast`] without inputs, or with 2¹⁶ or more; [`Error::TooMuch`] above 2⁴⁸ bytes; [`Error::Memory`] for
    /// a cap under what the threads need.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        if inputs.is_empty() || inputs.len() > usize::from(u16::MAX) {
            return Err(Error::AtLeast { at_least: inputs.len(), inputs: inputs.len() });
        }
        Places::small(inputs)?;
        let budget = Budget::new(options.memory, options.threads)?;
        Ok(Self { inputs, one_pass: None, budget, options })
    }

    /// Lines in at least `at_least` of `inputs` by filters alone: every input is read once. Half of `fpp` is the chance
    /// of a line in fewer of them to be written, half that of a line to be left out.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::AtLeast`].
    pub fn with_error(
        inputs: &'a [Input],
        at_least: usize,
        fpp: f64,
        options: &'a Options,
    ) -> Result<Self, Error> {
        if at_least == 0 || at_least > inputs.len() {
            return Err(Error::AtLeast { at_least, inputs: inputs.len() });
        }
        Ok(Self { one_pass: Some((fpp, at_least)), ..Self::new(inputs, options)? })
    }

    /// With a budget of its own.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// How the job will be done; reads samples of the inputs.
    ///
    /// # Errors
    /// Those of reading; with `fpp`, [`Error::Memory`] when the filters do not fit.
    pub fn plan(&self) -> Result<CommonPlan, Error> {
        let lines = estimate_lines(self.inputs, self.options.separator)?;
        let budget = &self.budget;
        let (first, length) = (lines[0], self.inputs[0].length());
        let (mut strategy, mut filters) = match self.one_pass {
            Some((fpp, at_least)) => {
                (Strategy::OnePass, one_pass::plan(at_least, fpp, &lines, budget)?)
            }
            None => self.exact_plan(&lines, budget)?,
        };
        let mut compared = match strategy {
            Strategy::OnePass => 0,
            _ => first,
        };
        if strategy == Strategy::Chain {
            let shared = self.shared(&lines)?;
            // A third of the table as a margin of the estimate.
            let held = length + KEPT_LINE * first;
            let fits = held <= budget.table(0) / 3 * 2;
            // A pass over inputs that are much larger costs more than a few look-ups less in the one that stays.
            let small = fits && length < lengths(&self.inputs[1..]) / 4;
            if small || shared > first / 4 * 3 || (fits && shared > first / 5 * 3) {
                (strategy, filters) = (Strategy::Table, Vec::new());
            } else {
                let passes = filters.iter().map(|(_, plan)| plan.fpp()).fold(0.0, f64::max);
                compared = (shared + (first as f64 * passes) as u64).min(first);
            }
        }
        let read = |indexes: &mut dyn Iterator<Item = usize>| -> (u32, u64) {
            indexes.fold((0, 0), |(passes, bytes), i| (passes + 1, bytes + self.inputs[i].length()))
        };
        let filling = read(&mut filters.iter().map(|(input, _)| *input));
        let gathering = read(&mut self.gathered());
        let marks = strategy != Strategy::OnePass;
        let marking = if marks { read(&mut (1..self.inputs.len())) } else { (0, 0) };
        // The filter that selects is the last one of a chain.
        let table = budget.table(filters.last().map_or(0, |(_, plan)| plan.bytes()));
        // What is set aside, and what may meet it.
        let bytes_spilled = 2 * budget.spilled(compared, length / first, table);
        Ok(CommonPlan {
            strategy,
            compared,
            table,
            bytes_read: filling.1 + gathering.1 + marking.1 + bytes_spilled,
            bytes_spilled,
            passes: filling.0 + gathering.0 + marking.0,
            filters,
            lines,
        })
    }

    /// About how many lines of the first input are in all others too, from samples.
    fn shared(&self, lines: &[u64]) -> Result<u64, Error> {
        let scanner = Scanner::within(self.budget, self.options, KeyHasher::default())?;
        let (first, others) = self.inputs.split_at(1);
        let first = Sample::of(&scanner, first, lines[0])?;
        let mut least = lines[0];
        for (other, lines) in others.chunks(1).zip(&lines[1..]) {
            // Where samples tell nothing, filters are the safe choice.
            least = least.min(first.shared(&Sample::of(&scanner, other, *lines)?).unwrap_or(0));
        }
        Ok(least)
    }

    /// A line that is wanted is met first in one of these.
    fn gathered(&self) -> Range<usize> {
        0..self.one_pass.map_or(1, |(_, at_least)| self.inputs.len() - at_least + 1)
    }

    fn exact_plan(
        &self,
        lines: &[u64],
        budget: &Budget,
    ) -> Result<(Strategy, Vec<(usize, Plan)>), Error> {
        let table = (Strategy::Table, Vec::new());
        if self.inputs.len() == 1 || self.inputs[0].length() <= SMALL.min(budget.table(0) / 2) {
            return Ok(table);
        }
        let mut order: Vec<usize> = (1..self.inputs.len()).collect();
        order.sort_by_key(|&i| lines[i]);
        // A much smaller first input, when no filter fits the others well: let it go first, so
        // that theirs need only hold what passes it. One pass more.
        let bits = budget.filters().saturating_mul(8);
        if lines[order[0]].saturating_mul(10) > bits && lines[0] < lines[order[0]] / 2 {
            order.insert(0, 0);
        }
        // The filter being filled, and the one before it.
        let room = budget.filters() / order.len().min(2) as u64;
        // What passes the first filter is about as many keys as it has, or fewer.
        let keys = |i: usize| lines[i].min(lines[order[0]]);
        if order.iter().any(|&i| room.saturating_mul(8) / keys(i) < LEAST_BITS_PER_KEY) {
            return Ok(table);
        }
        let size = |&i: &usize| -> Result<(usize, Plan), Error> {
            let plan = Plan::for_keys(Kind::Blocked, keys(i), RATE)?;
            let fits = plan.bytes() <= room;
            Ok((i, if fits { plan } else { Plan::for_memory(Kind::Blocked, keys(i), room)? }))
        };
        Ok((Strategy::Chain, order.iter().map(size).collect::<Result<_, _>>()?))
    }

    /// Writes the common lines to `out`, each once, in order of first place over the inputs.
    ///
    /// Nothing is written before all inputs have been read; an error before that leaves `out` alone.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `out`.
    pub fn run(&self, out: &mut (dyn Write + Send)) -> Result<Report, Error> {
        let plan = self.plan()?;
        let hasher = job_hasher(plan.strategy != Strategy::OnePass);
        let scanner = Scanner::within(self.budget, self.options, hasher)?;
        let header = scanner.header(self.inputs)?;
        self.options.progress.expect(plan.bytes_read);
        let mut run = Run {
            inputs: self.inputs,
            at_least: self.one_pass.map_or(self.inputs.len(), |(_, at_least)| at_least),
            places: Places::small(self.inputs)?,
            disk: Disk::new(&self.options.tmp),
            passes: Passes::new(self.inputs),
            header,
            scanner,
        };
        let mut sink = Sink::new(out, self.options.separator);
        if let Strategy::OnePass = plan.strategy {
            one_pass::run(&mut run, &plan, self.gathered(), &mut sink)?;
        } else {
            run.exact(&plan, &mut sink)?;
        }
        let mut report = run.passes.finish(self.inputs, &run.disk);
        sink.finish(&mut report)?;
        Ok(report)
    }
}

/// A job at work.
pub(crate) struct Run<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) at_least: usize,
    pub(crate) scanner: Scanner<'a>,
    places: Places,
    disk: Disk<'a>,
    pub(crate) passes: Passes,
    /// What goes out before all rows.
    pub(crate) header: Option<Vec<u8>>,
}

impl Run<'_> {
    /// Inserts the lines of an input into a filter; with `only`, those that are in it.
    pub(crate) fn fill(
        &mut self,
        input: usize,
        filter: &mut Blocked,
        only: Option<&Blocked>,
        room: u64,
    ) -> Result<u64, Error> {
        let range = input..input + 1;
        let tallies = fill(&self.scanner, &self.inputs[range.clone()], filter, only, room)?;
        self.passes.seen(self.inputs, range, &tallies)?;
        Ok(tallies[0].lines)
    }

    fn exact(&mut self, plan: &CommonPlan, sink: &mut Sink<'_>) -> Result<(), Error> {
        let filter = self.fill_filters(plan)?;
        let (mut table, candidates) = self.gather(plan, filter)?;
        let parts = self.mark(&mut table, candidates)?;
        self.passes.report.distinct = table.len();
        sink.header(self.header.as_deref())?;
        let all = self.inputs.len();
        if parts.is_empty() {
            return table.met(all).try_for_each(|(_, line)| sink.line(line));
        }
        let Budget { threads, rest, .. } = self.scanner.budget;
        // What was kept stays in memory when the parts can be settled beside it, each in one table;
        // otherwise its result is a run like theirs.
        let beside = rest.saturating_sub(table.bytes());
        let largest = parts.iter().map(|part| part.candidates.bytes()).max().unwrap_or(0);
        let stays = largest.saturating_mul(2 * threads as u64) < beside;
        let mut runs = Runs::new();
        let mut table = Some(table);
        if !stays && let Some(table) = table.take() {
            runs.add(&self.disk, table.met(all))?;
        }
        let memory = if stays { beside } else { rest };
        let Scanner { budget, hasher, .. } = self.scanner;
        let settling = Settling { disk: &self.disk, hasher, budget, memory };
        let join = Join { settling, places: &self.places };
        self.passes.report.distinct += join.run(parts, &mut runs)?;
        let held = table.iter().flat_map(|table| table.met(all));
        let (mut held, mut merged) = (held.peekable(), runs.merge(&self.disk, memory / 2)?);
        while let Some((place, line)) = merged.next(&self.disk)? {
            while let Some((_, line)) = held.next_if(|held| held.0 < place) {
                sink.line(line)?;
            }
            sink.line(line)?;
        }
        held.try_for_each(|(_, line)| sink.line(line))
    }

    /// Step 1. Gives the filter that selects: the last one.
    fn fill_filters(&mut self, plan: &CommonPlan) -> Result<Option<Blocked>, Error> {
        let mut last: Option<Blocked> = None;
        for (input, size) in &plan.filters {
            let mut filter = Blocked::with_plan(size, self.scanner.hasher)?;
            let held = last.as_ref().map_or(0, |filter| filter.plan().bytes());
            let room = self.scanner.budget.rest - size.bytes() - held;
            self.fill(*input, &mut filter, last.as_ref(), room)?;
            last = Some(filter);
        }
        Ok(last)
    }

    /// Step 2. Gives the table, and the candidates it had no room for.
    fn gather(
        &mut self,
        plan: &CommonPlan,
        filter: Option<Blocked>,
    ) -> Result<(Table, Option<Vec<Spill>>), Error> {
        let budget = self.scanner.budget;
        let layout = self.scanner.layout();
        let gather = Gather {
            filter: filter.as_ref(),
            total: self.inputs[0].length(),
            state: Mutex::new(Gathered {
                table: Table::with_marks(plan.table, layout)?,
                rest: None,
            }),
            disk: &self.disk,
            budget,
            layout,
        };
        let tallies = self.scanner.scan_some(self.inputs, 0..1, &gather)?;
        let state = gather.state.into_inner().expect("no worker panics");
        self.passes.seen(self.inputs, 0..1, &tallies)?;
        let rest = state.rest.map(|rest| rest.finish()).transpose()?;
        Ok((state.table, rest))
    }

    /// Step 3. Gives the parts that are to be joined.
    fn mark(
        &mut self,
        table: &mut Table,
        candidates: Option<Vec<Spill>>,
    ) -> Result<Vec<Part>, Error> {
        table.freeze();
        let budget = self.scanner.budget;
        let candidates = candidates.unwrap_or_default();
        let filter = self.filter_candidates(table, &candidates)?;
        let others = match candidates.len() {
            0 => None,
            // Of these only the keys matter.
            count => {
                let buffers = budget.spill_buffers();
                Some(Partitions::new(&self.disk, 0, count, buffers, Layout::Lines)?)
            }
        };
        for input in 1..self.inputs.len() {
            let mark = Mark {
                table,
                filter: filter.as_ref(),
                others: others.as_ref(),
                disk: &self.disk,
                room: budget.long_line() + table.room(),
            };
            let range = input..input + 1;
            let tallies = self.scanner.scan_some(self.inputs, range.clone(), &mark)?;
            self.passes.seen(self.inputs, range, &tallies)?;
            if input + 1 < self.inputs.len() {
                table.count_marks();
            }
        }
        let Some(others) = others else { return Ok(Vec::new()) };
        let parts = candidates.into_iter().zip(others.finish()?);
        Ok(parts.map(|(candidates, others)| Part { candidates, others, level: 0 }).collect())
    }

    /// A filter of all candidates: most lines of a pass are none, and find it out in a few bits that
    /// stay in cache instead of in the slots of the table; and few of them follow the candidates to
    /// disk. None when the slots stay in cache themselves.
    fn filter_candidates(
        &self,
        table: &Table,
        spilled: &[Spill],
    ) -> Result<Option<Blocked>, Error> {
        /// Slots of 512 KiB.
        const FEW: u64 = 1 << 16;
        if spilled.is_empty() && table.len() < FEW {
            return Ok(None);
        }
        let budget = self.scanner.budget;
        let keys = table.len() + spilled.iter().map(Spill::lines).sum::<u64>();
        let room = budget.table(table.bytes());
        let mut size = Plan::for_keys(Kind::Blocked, keys, RATE)?;
        if size.bytes() > room {
            size = Plan::for_memory(Kind::Blocked, keys, room.max(64 << 10))?;
        }
        let hasher = self.scanner.hasher;
        let mut filter = Blocked::with_plan(&size, hasher)?;
        let mut hashes = Vec::with_capacity(1 << 12);
        let mut add = |key: &[u8]| {
            hashes.push(hasher.hash(key));
            if hashes.len() == hashes.capacity() {
                filter.insert_all(&hashes);
                hashes.clear();
            }
        };
        table.entries().for_each(|(_, entry)| add(entry.line.key()));
        for spill in spilled {
            let mut reader = spill.read(256 << 10);
            while let Some((_, line)) = reader.next(&self.disk)? {
                add(line.key());
            }
        }
        filter.insert_all(&hashes);
        Ok(Some(filter))
    }
}

struct Gathered {
    table: Table,
    rest: Option<Partitions>,
}

/// Keeps the lines that the filter lets pass, each once.
struct Gather<'a> {
    filter: Option<&'a Blocked>,
    /// Bytes of the input.
    total: u64,
    state: Mutex<Gathered>,
    disk: &'a Disk<'a>,
    budget: Budget,
    layout: Layout,
}

impl Visit for Gather<'_> {
    type Local = ();

    fn local(&self) {}

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match self.filter {
            Some(filter) => filter.contains_all(lines.hashes(), keep),
            None => keep.fill(true),
        }
        Ok(())
    }

    fn kept(&self, _: &mut Self::Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        let Gathered { table, rest } = &mut *state;
        for i in 0..lines.len() {
            table.warm_from(lines.hashes(), i);
            let (hash, place) = (lines.hashes()[i], lines.place(i));
            if table.insert(hash, place, lines.record(i))? == Inserted::Full {
                if rest.is_none() {
                    // Those that are gathered are the first ones.
                    let count = self.budget.partitions(table.bytes(), place, self.total);
                    let buffers = self.budget.spill_buffers();
                    *rest = Some(Partitions::new(self.disk, 0, count, buffers, self.layout)?);
                }
                rest.as_ref().expect("just made").push(self.disk, hash, place, lines.record(i))?;
            }
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        let table = &self.state.lock().expect("no worker panics").table;
        table.room_for_long(self.budget.long_line())
    }
}

/// Marks the lines of the table; sets aside lines that may meet a candidate on disk.
struct Mark<'a> {
    table: &'a Table,
    /// Of all candidates.
    filter: Option<&'a Blocked>,
    /// Where lines go that may meet a candidate on disk, if any are there.
    others: Option<&'a Partitions>,
    disk: &'a Disk<'a>,
    room: u64,
}

impl Visit for Mark<'_> {
    type Local = Picked;

    fn local(&self) -> Picked {
        Picked::default()
    }

    fn batch(&self, picked: &mut Picked, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        picked.pick(self.filter, lines.hashes());
        self.table.warm(&picked.hashes);
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            let key = lines.key(i);
            match (self.table.find(hash, key), self.others) {
                (Some(unit), _) => self.table.mark(unit),
                (None, Some(others)) => {
                    others.push(self.disk, hash, lines.place(i), Record::line(key))?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}

#[cfg(test)]
mod tests;
