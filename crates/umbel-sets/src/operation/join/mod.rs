//! The rows of two inputs with equal keys, side by side: a join.
//!
//! ```text
//! 1  filter   the left input: keys → a filter, unless all rows of the right one fit in memory
//! 2  gather   the right input: what rows add whose keys pass → a table of lists, or partitions
//! 3  join     the left input again, in order: each row with its list. Or, if some were spilled, rows whose keys pass a
//!             filter of the gathered ones → partitions
//! 4  settle   each partition: lists → a table, as much as fits at a time; left rows → runs of joined rows;
//!             merge the runs by place
//! ```
//!
//! If the right rows that have a partner need only a few times the memory, left rows are not spilled: the left input is
//! cut into slices, and step 2 writes what later ones need to files, to be read before step 3 of each. One filter serves
//! them all, since a key's hash in it depends on the slice. For 10 million rows on both sides, in five slices, this takes
//! 0.8 times as long as reading the right input again for each.
//!
//! The filter drops the rows without a partner before any are moved (L. F. Mackert and G. M. Lohman 1986, R* optimizer
//! validation and performance evaluation for distributed queries). A key with many rows on both sides has as many pairs as
//! their product: a list too long for a run is written once, and read again for each of its left rows.

mod gather;
mod pass;
mod settle;
mod slices;
#[cfg(test)]
mod tests;

use std::io;

use super::prelude::*;
use crate::error::Place;
use crate::records::{Beside, Flaw, Prefixes};
use crate::report::Joined;
use gather::Gathered;
use pass::{Lists, PIECE, Pass};
use slices::Slices;

/// Which rows without a partner a join keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unpaired {
    /// None: an inner join.
    #[default]
    None,
    /// The first input's: a left join.
    Left,
    /// Both inputs', the second one's at the end: a full join.
    Both,
}

/// The partners of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partners {
    /// All rows of the second input with its key.
    #[default]
    All,
    /// The first of them.
    First,
    /// At most one: a second one is an [`Error::Repeated`].
    Unique,
}

/// A join of two inputs by the key of their records.
///
/// Each row of the first input is written with what the rows of the second with its key add: their columns, words or members
/// that are not the key. Rows are in the order of the first input, and the partners of each in the order of the second.
#[derive(Debug)]
pub struct Join<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    unpaired: Unpaired,
    partners: Partners,
    prefixes: Prefixes<&'a str>,
    /// Whether joined rows are only counted.
    total: bool,
    budget: Budget,
}

impl<'a> Join<'a> {
    /// Makes the inner join of two inputs of records with a key.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    ///
    /// # Panics
    /// Unless there are two inputs, and a key.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        assert_eq!(inputs.len(), 2, "the inputs of a join");
        assert!(!options.form.records.key().is_empty(), "rows are joined by a key");
        Ok(Self {
            inputs,
            options,
            unpaired: Unpaired::None,
            partners: Partners::All,
            prefixes: [None; 2],
            total: false,
            budget: options.resources.budget()?,
        })
    }

    /// Keeps rows without a partner.
    #[must_use]
    pub fn with_unpaired(self, unpaired: Unpaired) -> Self {
        Self { unpaired, ..self }
    }

    /// Sets which partners a row gets.
    #[must_use]
    pub fn with_partners(self, partners: Partners) -> Self {
        Self { partners, ..self }
    }

    /// Puts these in front of names that both inputs have besides the key, and of all members of JSON lines: one prefix
    /// for the first input, one for the second. Without prefixes, names that both have are an error.
    #[must_use]
    pub fn with_prefixes(self, prefixes: [Option<&'a str>; 2]) -> Self {
        Self { prefixes, ..self }
    }

    /// Only counts the joined rows and writes none, without walking the rows of a key for each of its partners.
    #[must_use]
    pub fn only_counted(self) -> Self {
        Self { total: true, ..self }
    }

    /// Sets the budget.
    #[cfg(test)]
    fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Writes rows, or counts them.
    fn put(&self, text: &[u8], rows: u64, sink: &mut Sink<'_>) -> Result<(), Error> {
        sink.text(if self.total { &[] } else { text }, rows)
    }

    /// The error of a key with several rows in the second input.
    fn repeated(&self, key: &[u8]) -> Error {
        let values = crate::values_of(key, self.options.form.records.key().len());
        let values: Vec<_> = values.map(String::from_utf8_lossy).collect();
        Error::Repeated { name: self.inputs[1].name().to_owned(), key: values.join(", ") }
    }

    /// A set operation on some inputs, with the options of the join.
    fn operation<'i>(&self, inputs: &'i [Input], others: Others) -> SetOperation<'i>
    where
        'a: 'i,
    {
        SetOperation::within(self.budget, inputs, Rule::of_first(others, true), self.options)
    }

    /// The inputs in the other order.
    fn turned(&self) -> [Input; 2] {
        [self.inputs[1].again(), self.inputs[0].again()]
    }

    /// Plans the job; reads samples of the inputs.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Doubled`].
    pub fn plan(&self) -> Result<SetPlan, Error> {
        if self.unpaired == Unpaired::Both && self.inputs[1].doubled {
            return Err(Error::Doubled(self.inputs[1].name().to_owned()));
        }
        let semi_join = self.operation(self.inputs, Others::Semi(1));
        let plan = semi_join.plan_start()?;
        let lines = plan.lines.clone();
        let sample = |i: usize| semi_join.sample(&lines, i..i + 1);
        let samples = match self.partners {
            Partners::All => Some([sample(0)?, sample(1)?]),
            Partners::First | Partners::Unique => None,
        };
        let mut plan = semi_join.plan_look_up(plan, 1..2, samples.as_ref())?;
        let pairs = samples.as_ref().and_then(|[left, right]| left.pairs(right));
        let seen = plan.filter().copied();
        plan.steps = Steps::Join { seen, slices: 1 };
        if let Some(seen) = seen
            && plan.bytes_spilled > 0
        {
            let distinct = match &samples {
                Some([left, _]) => left.distinct(),
                None => sample(0)?.distinct(),
            };
            self.slice(&mut plan, seen, distinct);
        }
        plan.pairs = pairs.map(|(all, _)| all);
        plan.product = pairs.map_or(0, |(_, several)| several);
        if self.unpaired == Unpaired::Both {
            let (turned, samples) = (self.turned(), samples.map(|[left, right]| [right, left]));
            let alone = self.operation(&turned, Others::Anti);
            let alone = alone.plan_look_up(alone.plan_start()?, 1..2, samples.as_ref())?;
            plan.later = alone.bytes_read;
            plan.bytes_read += alone.bytes_read;
            plan.bytes_spilled += alone.bytes_spilled;
            plan.passes += alone.passes;
        }
        Ok(plan)
    }

    /// Cuts the left input, which has `distinct` distinct keys, into slices, if that spills less than partitions.
    fn slice(&self, plan: &mut SetPlan, seen: Plan, distinct: u64) {
        /// Each needs a look-up in the filter for each right row.
        const MOST: u64 = 32;
        let (lines, threads) = (&plan.lines, self.budget.threads as u64);
        let length = self.inputs[1].length() / lines[1].max(1);
        let often = lines[0] as f64 / distinct.max(1) as f64;
        let wrongly = lines[1] as f64 * seen.fpp();
        let rows = |count: u64| {
            // Of a key with several left rows, anywhere, several slices need the right ones.
            let share = 1.0 - (1.0 - 1.0 / count as f64).powf(often);
            (((plan.compared as f64 - wrongly).max(0.0) * share + wrongly) * 1.05) as u64
        };
        let spilled = |count: u64| (count - 1) * rows(count) * (length + 12);
        let fits = |&count: &u64| Table::needed(rows(count), length) <= plan.table;
        let most = MOST.min(self.budget.spare_files() / 2 / threads);
        let count = (2..=most).find(fits);
        if let Some(count) = count.filter(|&count| spilled(count) < plan.bytes_spilled) {
            let spilled = spilled(count);
            plan.steps = Steps::Join { seen: Some(seen), slices: count };
            plan.bytes_read = plan.bytes_read - plan.bytes_spilled + spilled;
            plan.bytes_spilled = spilled;
        }
    }

    /// Writes the joined rows to `out`, as [planned](Self::plan).
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `out`; [`Error::SameColumn`] and [`Error::SameMember`] for names
    /// that both inputs have; [`Error::Memory`] if the plan was made with more memory and its filter does not fit.
    /// Output before an error is the beginning of the result.
    pub fn run(&self, plan: &SetPlan, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        self.budget.check_filters(plan.filter().map_or(0, Plan::bytes))?;
        let scanner = Scanner::within(self.budget, self.options, LineHasher::random())?;
        let scanner = scanner.joining_rows(self.prefixes);
        let beside = scanner.beside(self.inputs, self.prefixes);
        let beside = beside.map_err(|error| scanner.located(error, self.inputs))?;
        let [left, right] = beside.widths();
        let inputs = [self.inputs[0].again().joined(left), self.inputs[1].again().joined(right)];
        self.options.resources.progress.expect(plan.bytes_read - plan.later);
        let mut sink = Sink::new(out, self.options.form.records.end());
        let mut passes = Passes::new(&inputs);
        let (seen, count) = match plan.steps {
            Steps::Join { seen, slices } => (seen, slices),
            _ => (None, 1),
        };
        let mut filter = seen.as_ref().map(of_hashes).transpose()?;
        let slices = Slices::new(count, &inputs[0]);
        if let Some(filter) = &mut filter {
            let room = self.budget.line_beside(filter.plan().bytes());
            let sharded = Sharded::new(filter, self.budget.threads);
            let buckets = || (&slices, (&sharded, sharded.buckets(self.budget.bucketed)));
            let fill = Visit::new(room, buckets);
            let tallies = scanner.scan(&inputs, 0..1, &fill)?;
            drop(fill);
            passes.record(&inputs, 0..1, &tallies)?;
        }
        let slices = slices.of(&inputs);
        let mut joining = Joining {
            join: &Join { inputs: &inputs, ..*self },
            inputs: &slices[0],
            rest: slices.len(),
            left: Tally::default(),
            beside: &beside,
            disk: Disk::new(&self.options.resources.tmp),
            passes,
            scanner,
            matched: AtomicU64::new(0),
        };
        joining.run(plan, filter, &slices, &mut sink)?;
        let written = sink.lines;
        let right = match self.unpaired {
            Unpaired::Both => Some(joining.right_alone(&mut sink)?),
            Unpaired::None | Unpaired::Left => None,
        };
        let Joining { disk, passes, matched, .. } = joining;
        let left_matched = matched.into_inner();
        let left_unmatched = passes.tallies[0].map_or(0, |tally| tally.lines) - left_matched;
        let alone = if self.unpaired == Unpaired::None { 0 } else { left_unmatched };
        let right_unmatched = right.is_some().then(|| sink.lines - written);
        let pairs = written - alone;
        let mut report = passes.finish(&inputs, &disk);
        if let Some(right) = right {
            report.passes += right.passes;
            report.follow(right);
        }
        report.joined = Some(Joined { pairs, left_matched, left_unmatched, right_unmatched });
        sink.finish(report)
    }
}

/// A running join.
struct Joining<'a> {
    join: &'a Join<'a>,
    /// A slice of the left input, and the right one.
    inputs: &'a [Input; 2],
    /// The slices still to be joined, this one included.
    rest: usize,
    /// The tally of the slices before.
    left: Tally,
    /// Rows of the left input with a partner.
    matched: AtomicU64,
    scanner: Scanner<'a>,
    beside: &'a Beside,
    disk: Disk,
    passes: Passes,
}

impl<'a> Joining<'a> {
    /// Steps 2 to 4 for each slice; `filter` has their keys.
    fn run(
        &mut self,
        plan: &SetPlan,
        filter: Option<Blocked>,
        slices: &'a [[Input; 2]],
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let (budget, threads) = (self.scanner.budget, self.scanner.budget.threads);
        let filters = filter.as_ref().map_or(0, |filter| filter.plan().bytes());
        let keys = if slices.len() > 1 { plan.compared / slices.len() as u64 } else { 0 };
        let tables = || Table::shards(budget.table(filters), threads, Layout::Keyed, keys);
        let (mut gathered, later) = self.gather(filter.as_ref(), slices.len() - 1, tables()?)?;
        drop(filter);
        if let Some(header) = &self.beside.header {
            self.join.put(header, 0, sink)?;
        }
        let mut later = later.into_iter();
        for inputs in slices {
            self.inputs = inputs;
            let cleared = match gathered {
                Gathered::InMemory(mut tables) => {
                    self.join(&tables, sink)?;
                    tables.iter_mut().for_each(Table::clear);
                    tables
                }
                Gathered::Spilled(right) => {
                    self.settle(right, sink)?;
                    Vec::new()
                }
            };
            let Some(files) = later.next() else { break };
            gathered = self.fill(files, if cleared.is_empty() { tables()? } else { cleared })?;
        }
        Ok(())
    }

    /// Records the last pass over a slice of the left input.
    fn record_left(&mut self, tallies: &[Tally]) -> Result<(), Error> {
        tallies.iter().for_each(|&tally| self.left.add(tally));
        self.rest -= 1;
        if self.rest > 0 { Ok(()) } else { self.record(0..1, &[self.left]) }
    }

    /// Records the last pass over an input.
    fn record(&mut self, range: Range<usize>, tallies: &[Tally]) -> Result<(), Error> {
        self.passes.record(self.join.inputs, range, tallies)?;
        self.scanner.check_keyed(self.join.inputs, &self.passes.tallies)
    }

    /// Step 3 with all lists in memory.
    fn join(&mut self, tables: &[Table], sink: &mut Sink<'_>) -> Result<(), Error> {
        self.passes.report.distinct += tables.iter().map(Table::len).sum::<u64>();
        let pass = Pass { joining: self, lists: Lists::of(tables), sink: Mutex::new(sink) };
        let spare = self.scanner.budget.long_line() + tables[0].room() / 2;
        let tallies = self.scanner.scan(self.inputs, 0..1, &pass.visit(spare))?;
        self.record_left(&tallies)
    }

    /// Writes the rows of the second input that have no partner.
    fn right_alone(&self, sink: &mut Sink<'_>) -> Result<Report, Error> {
        let inputs = self.join.turned();
        let alone = self.join.operation(&inputs, Others::Anti);
        let tallies = self.passes.tallies.iter().rev().copied().collect();
        let seen = Some((self.scanner.hasher.clone(), tallies));
        let mut text = Vec::new();
        alone.hand_after(seen, &mut |selected| {
            text.clear();
            let at = || Place::new(inputs[0].name(), selected.place);
            let added = self.beside.right(selected.row, &mut text);
            let flawed = |flaw| self.scanner.located(self.scanner.flawed(flaw, &at()), &inputs);
            added.map_err(flawed)?;
            self.join.put(&text, 1, sink)
        })
    }

    /// Appends a joined row.
    fn both(&self, place: u64, left: &[u8], added: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        reserve(to, left.len() + added.len());
        self.beside.both(left, added, to).map_err(|flaw| self.left_flaw(flaw, place))
    }

    /// Appends a left row without a partner.
    fn left(&self, place: u64, left: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        reserve(to, left.len());
        self.beside.left(left, to).map_err(|flaw| self.left_flaw(flaw, place))
    }

    /// The error for a flaw in a row of the left input; places are its offsets.
    fn left_flaw(&self, flaw: Flaw, place: u64) -> Error {
        self.scanner.flawed(flaw, &Place::new(self.join.inputs[0].name(), place))
    }

    fn keeps_left(&self) -> bool {
        self.join.unpaired != Unpaired::None
    }

    /// Whether a right row is left out because it is not the first with its key.
    fn skips(&self, table: &Table, hash: KeyHash, record: &Record<'_>) -> bool {
        self.join.partners == Partners::First && table.find(hash, record.key()).is_some()
    }

    /// Whether a row with this list has too many partners.
    fn refuses(&self, lists: &Lists<'_>, at: At) -> bool {
        self.join.partners == Partners::Unique && lists.get(at).nth(1).is_some()
    }
}

/// Makes room for a joined row; for a long one, no more than it needs.
fn reserve(to: &mut Vec<u8>, row: usize) {
    if row > PIECE {
        to.reserve_exact(row + 2);
    }
}
