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
//! If the right rows that have a partner need only a few times the memory, none are spilled: the left input is cut into slices,
//! and steps 2 and 3 are done for each. One filter serves them all, since a key's hash in it depends on the slice. With 10
//! million rows on both sides, a pass over the right input took some 1.4 s of CPU, and all work on temporary files 12 s.
//!
//! The filter drops the rows without a partner before any are moved (L. F. Mackert and G. M. Lohman 1986, R* optimizer
//! validation and performance evaluation for distributed queries). A key with many rows on both sides has as many pairs as
//! their product: a list too long for a run is written once, and read again for each of its left rows.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use umbel::internals::GOLDEN;
use umbel::{Blocked, Filter, KeyHash, Plan, Shard};

use super::keys::KeySet;
use super::plan::LEAST_FILTER;
use super::rule::{Others, Rule};
use super::settle::{Part, Settling};
use super::{SetOperation, SetPlan, Steps};
use crate::budget::Budget;
use crate::bulk::{Buckets, Picked, Sharded, of_hashes};
use crate::error::Place;
use crate::hash::LineHasher;
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::places::Places;
use crate::records::{Beside, Flaw, Layout, Record, empty};
use crate::report::{Joined, Report};
use crate::scan::{Lines, Scanner, Tally, Visit, Work};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Scattered, Selected, Spill, SpillWriter};
use crate::table::{Cursor, Inserted, Table};
use crate::{Error, Options};

/// The rows without a partner that a join keeps.
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
    /// One at most: a row with more is an [`Error::Repeated`].
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
    prefix: Option<&'a str>,
    /// Whether joined rows are only counted.
    total: bool,
    budget: Budget,
}

/// Keys after which the job checks whether all will fit.
const EARLY: u64 = if cfg!(test) { 1 << 4 } else { 1 << 14 };
/// A piece of output that is written at once.
const PIECE: usize = 64 << 10;
/// The count of a result that refers to a list.
const LISTED: u64 = u64::MAX;
/// The count of a row without a partner.
const ALONE: u64 = 0;
/// From this many bytes on, a list is not written next to each row.
const LONG_LIST: usize = if cfg!(test) { 1 << 8 } else { 64 << 10 };

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
            prefix: None,
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

    /// Puts `prefix` in front of the names of the second input that the first has too, besides the key, and of all members
    /// of JSON lines; without it, names that both have are an error.
    #[must_use]
    pub fn with_prefix(self, prefix: Option<&'a str>) -> Self {
        Self { prefix, ..self }
    }

    /// Only counts the joined rows, and writes none: the rows of a key are not walked for each row with it.
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
    /// Errors of reading.
    pub fn plan(&self) -> Result<SetPlan, Error> {
        let semi_join = self.operation(self.inputs, Others::Semi(1));
        let plan = semi_join.plan_start()?;
        let lines = plan.lines.clone();
        let sample = |i: usize| semi_join.sample(&lines, i..i + 1);
        let samples = match self.partners {
            Partners::All => Some([sample(0)?, sample(1)?]),
            Partners::First | Partners::Unique => None,
        };
        let mut plan = semi_join.plan_look_up(plan, 1..2, samples.as_ref())?;
        let pairs = samples.as_ref().map(|[left, right]| left.pairs(right));
        let seen = plan.filter().copied();
        plan.steps = Steps::Join { seen, slices: 1 };
        if seen.is_some() && plan.bytes_spilled > 0 {
            let distinct = match &samples {
                Some([left, _]) => left.distinct(),
                None => sample(0)?.distinct(),
            };
            self.slice(&mut plan, distinct);
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

    /// Cuts the left input, with so many distinct keys, into slices, if that takes less than temporary files.
    fn slice(&self, plan: &mut SetPlan, distinct: u64) {
        /// Bytes of the right input that are read again in the time that one spilled byte takes.
        const WORTH: u64 = 3;
        let (right, lines) = (self.inputs[1].length(), &plan.lines);
        let length = right / lines[1].max(1);
        let often = lines[0] as f64 / distinct.max(1) as f64;
        let fits = |&count: &u64| {
            // Of a key with several left rows, anywhere, several slices need the right ones.
            let share = 1.0 - (1.0 - 1.0 / count as f64).powf(often);
            let rows = (plan.compared as f64 * share * 1.05) as u64;
            Table::needed(rows, length) <= plan.table
        };
        let worth = |count: &u64| (count - 1) * right <= WORTH * plan.bytes_spilled;
        if let Some(count) = (2..).take_while(worth).find(fits) {
            plan.steps = Steps::Join { seen: plan.filter().copied(), slices: count };
            plan.bytes_read += (count - 1) * right;
            plan.bytes_read -= std::mem::take(&mut plan.bytes_spilled);
            plan.passes += (count - 1) as u32;
        }
    }

    /// Writes the joined rows to `out`, as [planned](Self::plan).
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `out`; [`Error::SameColumn`] and [`Error::SameMember`] for names
    /// that both inputs have; [`Error::Memory`] for a plan, made with more memory, whose filter does not fit. What was
    /// written before an error is the beginning of the result.
    pub fn run(&self, plan: &SetPlan, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        self.budget.check_filters(plan.filter().map_or(0, Plan::bytes))?;
        let scanner = Scanner::within(self.budget, self.options, LineHasher::random())?;
        let scanner = scanner.joining_rows(self.prefix);
        let beside = scanner.beside(self.inputs, self.prefix);
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
            passes.seen(&inputs, 0..1, &tallies)?;
        }
        let slices = slices.of(&inputs);
        let joins: Vec<_> = slices.iter().map(|inputs| Join { inputs, ..*self }).collect();
        let whole = Join { inputs: &inputs, ..*self };
        let mut joining = Joining {
            join: &whole,
            rest: joins.len(),
            left: Tally::default(),
            beside: &beside,
            disk: Disk::new(&self.options.resources.tmp),
            passes,
            scanner,
            matched: AtomicU64::new(0),
        };
        joining.run(plan, filter, &joins, &mut sink)?;
        joining.join = &whole;
        let written = sink.lines();
        let right = match self.unpaired {
            Unpaired::Both => Some(joining.right_alone(&mut sink)?),
            Unpaired::None | Unpaired::Left => None,
        };
        let Joining { disk, passes, matched, .. } = joining;
        let left_matched = matched.into_inner();
        let left_unmatched = passes.tallies()[0].map_or(0, |tally| tally.lines) - left_matched;
        let alone = if self.unpaired == Unpaired::None { 0 } else { left_unmatched };
        let right_unmatched = right.is_some().then(|| sink.lines() - written);
        let pairs = written - alone;
        let mut report = passes.finish(&inputs, &disk);
        if let Some(right) = right {
            report.passes += right.passes;
            report.follow(right);
        }
        report.joined = Some(Joined { pairs, left_matched, left_unmatched, right_unmatched });
        sink.finish(&mut report)?;
        Ok(report)
    }
}

/// A running join.
struct Joining<'a> {
    /// The job for a slice of the left input.
    join: &'a Join<'a>,
    /// The slices still to be joined, this one included.
    rest: usize,
    /// What was read of the slices before.
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
        mut filter: Option<Blocked>,
        slices: &'a [Join<'a>],
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let budget = self.scanner.budget;
        let filters = filter.as_ref().map_or(0, |filter| filter.plan().bytes());
        let mut cleared = None;
        for (number, join) in slices.iter().enumerate() {
            self.join = join;
            let table = match cleared.take() {
                Some(table) => table,
                None => {
                    let rows =
                        if slices.len() > 1 { plan.compared / slices.len() as u64 } else { 0 };
                    let bytes = rows * (join.inputs[1].length() / plan.lines[1].max(1));
                    Table::for_lines(budget.table(filters), Layout::Keyed, rows, bytes)?
                }
            };
            let gathered = self.gather(filter.as_ref(), number as u64, slices.len() > 1, table)?;
            if self.rest == 1 {
                filter = None;
            }
            if number == 0
                && let Some(header) = &self.beside.header
            {
                join.put(header, 0, sink)?;
            }
            match gathered {
                Gathered::Held(mut table) => {
                    self.join(&table, sink)?;
                    table.clear();
                    cleared = Some(table);
                }
                Gathered::Spilled(right) => {
                    let held = filter.as_ref().map_or(0, |_| filters);
                    self.settle(right.finish()?, held, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Step 2, for a slice.
    fn gather(
        &mut self,
        filter: Option<&Blocked>,
        slice: u64,
        sliced: bool,
        table: Table,
    ) -> Result<Gathered, Error> {
        let (inputs, budget) = (self.join.inputs, self.scanner.budget);
        let gather = Gather {
            filter,
            slice,
            sliced,
            joining: self,
            start: Places::new(inputs).start(1),
            total: lengths(&inputs[1..]),
            gathered: Mutex::new(Gathered::Held(table)),
        };
        let tallies = self.scanner.scan(inputs, 1..2, &gather.visit(budget.long_line()))?;
        let gathered = gather.gathered.into_inner().expect("no worker panics");
        self.seen(1..2, &tallies)?;
        Ok(gathered)
    }

    /// Records the last pass over a slice of the left input.
    fn seen_left(&mut self, tallies: &[Tally]) -> Result<(), Error> {
        tallies.iter().for_each(|&tally| self.left.add(tally));
        self.rest -= 1;
        if self.rest > 0 { Ok(()) } else { self.seen(0..1, &[self.left]) }
    }

    /// Records the last pass over an input.
    fn seen(&mut self, range: Range<usize>, tallies: &[Tally]) -> Result<(), Error> {
        self.passes.seen(self.join.inputs, range, tallies)?;
        self.scanner.check_keyed(self.join.inputs, self.passes.tallies())
    }

    /// Step 3 with all lists in memory.
    fn join(&mut self, table: &Table, sink: &mut Sink<'_>) -> Result<(), Error> {
        self.passes.report.distinct += table.len();
        let pass = Pass { joining: self, lists: Lists::of(table), sink: Mutex::new(sink) };
        let spare = self.scanner.budget.long_line() + table.room() / 2;
        let tallies = self.scanner.scan(self.join.inputs, 0..1, &pass.visit(spare))?;
        self.seen_left(&tallies)
    }

    /// Steps 3 and 4 with what was spilled, next to `held` bytes.
    fn settle(&mut self, right: Vec<Spill>, held: u64, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (disk, budget) = (&self.disk, self.scanner.budget);
        let budget = Budget { rest: budget.rest - held, ..budget };
        let files: Vec<_> = right.iter().collect();
        let room = (budget.table(0) / 2).max(LEAST_FILTER);
        let filter = KeySet::none().filter(&files, &self.scanner, room)?;
        let filter = filter.expect("some keys are spilled");
        let (buffers, layout) = (budget.spill_buffers(), self.scanner.layout());
        let left = Partitions::new(disk, 0, right.len(), buffers, layout)?;
        let runs = Mutex::new(Runs::new(disk, buffers));
        let spread = Spread { filter: &filter, joining: self, left: &left, runs: &runs };
        let spare = budget.long_line() + budget.table(filter.plan().bytes());
        let tallies = self.scanner.scan(self.join.inputs, 0..1, &spread.visit(spare))?;
        drop(filter);
        let mut runs = runs.into_inner().expect("no worker panics");
        runs.end();
        let left = left.finish()?;
        self.seen_left(&tallies)?;

        let Scanner { hasher, progress, .. } = &self.scanner;
        let (disk, memory) = (&self.disk, budget.rest - budget.rest / 4);
        let settling = Settling { disk, hasher, budget, progress, memory };
        let parts = Part::all(left, right.into_iter().map(|right| vec![right]).collect(), 0);
        let lists = Mutex::new(SpillWriter::new(disk, PIECE, Layout::Lines)?);
        let needed = |part: &Part| part.others[0].in_memory();
        let settle = |settling, part, runs: &mut Runs| {
            Settle { joining: self, settling, lists: &lists }.part(part, runs)
        };
        let keys = settling.run(parts, &mut runs, needed, settle)?;
        let lists = lists.into_inner().expect("no worker panics").finish()?;
        self.passes.report.distinct += keys;
        self.write(runs, &lists, sink)
    }

    /// Writes the joined rows of all runs, by the places of their left rows. Those of one row may come from several runs,
    /// in the order of its partners; that it is alone comes last, and is only true if it came with none before.
    fn write(&self, runs: Runs, lists: &Spill, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut merged = runs.merge(self.scanner.budget.rest / 4)?;
        let mut last = None;
        while let Some(Selected { place, count, row }) = merged.next()? {
            match (last.replace(place) == Some(place), self.join.partners) {
                (true, _) if count == ALONE => continue,
                (true, Partners::First) => continue,
                (true, Partners::Unique) => return Err(self.repeated(place)),
                (true, Partners::All) => {}
                (false, _) => {
                    self.matched.fetch_add(u64::from(count != ALONE), Ordering::Relaxed);
                }
            }
            if count < LISTED {
                self.join.put(row, count.max(1), sink)?;
                continue;
            }
            let (ends, _) = row.as_chunks::<8>();
            let [start, end] = [0, 1].map(|i| u64::from_le_bytes(ends[i]));
            let mut list = lists.read_range(start..end, PIECE);
            self.long((place, &row[16..]), sink, |put| {
                while list.advance()? {
                    put(list.line().1.row)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The error of a row of the left input with several partners, for whose key it is read again.
    fn repeated(&self, place: u64) -> Error {
        let (inputs, spare) = (self.join.inputs, self.scanner.budget.long_line());
        let find = Visit::in_order(spare, |lines| {
            match (0..lines.len()).find(|&i| lines.place(i) == place) {
                Some(i) => Err(self.join.repeated(lines.key(i))),
                None => Ok(()),
            }
        });
        let found = self.scanner.scan(inputs, 0..1, &find);
        found.err().unwrap_or_else(|| inputs[0].changed())
    }

    /// Writes the rows of the second input that have no partner.
    fn right_alone(&self, sink: &mut Sink<'_>) -> Result<Report, Error> {
        let inputs = self.join.turned();
        let alone = self.join.operation(&inputs, Others::Anti);
        let tallies = self.passes.tallies().iter().rev().copied().collect();
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

    /// Appends the joined rows of a left one, at a place, and returns how many they are; `None` and none of them if `text`
    /// would have more than `most` bytes. If they are only counted, checks the row.
    fn listed(
        &self,
        (place, left): (u64, &[u8]),
        lists: &Lists<'_>,
        unit: u64,
        most: usize,
        text: &mut Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let (start, mut count) = (text.len(), 0);
        if self.join.total {
            if start + left.len() > most {
                return Ok(None);
            }
            self.left(place, left, text)?;
            text.truncate(start);
            return Ok(Some(lists.length(unit)));
        }
        for record in lists.table.list(unit) {
            if text.len() + left.len() + record.row.len() > most {
                text.truncate(start);
                return Ok(None);
            }
            self.both(place, left, record.row, text)?;
            count += 1;
        }
        Ok(Some(count))
    }

    /// Writes the joined rows of a left one, at a place, with all that `each` passes on: some at a time.
    fn long(
        &self,
        (place, left): (u64, &[u8]),
        sink: &mut Sink<'_>,
        each: impl FnOnce(&mut Put<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut text, mut rows) = (Vec::new(), 0);
        each(&mut |added| {
            self.both(place, left, added, &mut text)?;
            rows += 1;
            if text.len() >= PIECE {
                sink.text(&text, std::mem::take(&mut rows))?;
                text.clear();
                self.scanner.progress.check()?;
            }
            Ok(())
        })?;
        sink.text(&text, rows)
    }

    /// Appends a result to runs, without its text if it is only counted.
    fn push(&self, runs: &mut Runs, place: u64, count: u64, text: &[u8]) -> Result<(), Error> {
        let row = if self.join.total { &[] } else { text };
        runs.push(Selected { place, count, row })
    }

    fn keeps_left(&self) -> bool {
        self.join.unpaired != Unpaired::None
    }

    /// Whether a right row is left out, because it is not the first with its key.
    fn skips(&self, table: &Table, hash: KeyHash, record: &Record<'_>) -> bool {
        self.join.partners == Partners::First && table.find(hash, record.key()).is_some()
    }

    /// Whether a row may not have so many partners.
    fn refuses(&self, lists: &Lists<'_>, unit: u64) -> bool {
        self.join.partners == Partners::Unique && lists.table.list(unit).nth(1).is_some()
    }
}

/// Receives what rows of the right input add.
type Put<'p> = dyn FnMut(&[u8]) -> Result<(), Error> + 'p;

/// Makes room for a joined row; for a long one, no more than it needs.
fn reserve(to: &mut Vec<u8>, row: usize) {
    if row > PIECE {
        to.reserve_exact(row + 2);
    }
}

/// What the rows of the right input add: all of it in memory, or none.
enum Gathered {
    Held(Table),
    Spilled(Partitions),
}

/// Slices of the left input, of about the same size.
struct Slices {
    size: u64,
    /// Where the first record of each starts, unless it has none.
    starts: Vec<AtomicU64>,
}

/// The hash of a key in the filter of all slices.
fn in_slice(hash: KeyHash, slice: u64) -> KeyHash {
    KeyHash { high: hash.high ^ slice.wrapping_mul(GOLDEN), ..hash }
}

impl Slices {
    fn new(count: u64, left: &Input) -> Self {
        let starts = (0..count).map(|i| AtomicU64::new(if i == 0 { 0 } else { u64::MAX }));
        Self { size: left.length().div_ceil(count).max(1), starts: starts.collect() }
    }

    /// The inputs with each slice.
    fn of(self, [left, right]: &[Input; 2]) -> Vec<[Input; 2]> {
        let mut end = left.length();
        let mut parts: Vec<_> = self
            .starts
            .into_iter()
            .rev()
            .map(|start| {
                let start = start.into_inner().min(end);
                [start, std::mem::replace(&mut end, start)]
            })
            .collect();
        parts.reverse();
        let parts = parts.into_iter();
        parts.map(|part| [left.again().within(part), right.again()]).collect()
    }
}

/// Fills the filter of all slices, and finds where these start.
impl Work for (&Slices, (&Sharded<'_>, Buckets)) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (Slices { size, starts }, (filter, buckets)) = self;
        let (mut slice, mut end) = (0, 0);
        for (i, &hash) in lines.hashes().iter().enumerate() {
            let place = lines.place(i);
            if place >= end {
                slice = place / *size;
                end = (slice + 1) * *size;
                starts[slice as usize].fetch_min(place, Ordering::Relaxed);
            }
            filter.add(buckets, in_slice(hash, slice), Shard::insert_all);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        Box::new(self.1).finish()
    }
}

/// Gathers what the rows of the right input add.
struct Gather<'a> {
    filter: Option<&'a Blocked>,
    /// The slice of the left input, and whether there are several: then the plan says that its rows fit.
    slice: u64,
    sliced: bool,
    joining: &'a Joining<'a>,
    start: u64,
    total: u64,
    gathered: Mutex<Gathered>,
}

/// What the kept rows of a worker add, concatenated, and where each part ends.
#[derive(Default)]
struct Added {
    /// Hashes of keys in the slice.
    hashes: Vec<KeyHash>,
    picked: Picked,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    spilled: Scattered,
}

impl Gather<'_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        let room = move || match &*self.gathered.lock().expect("no worker panics") {
            Gathered::Held(table) => table.room_for_long(spare),
            Gathered::Spilled(_) => spare,
        };
        Visit { room: Box::new(room), ..Visit::new(spare, move || (self, Added::default())) }
    }

    /// Moves all lists to partitions.
    fn spill(&self, table: &Table, done: u64) -> Result<Partitions, Error> {
        let Joining { disk, scanner, .. } = self.joining;
        let budget = scanner.budget;
        // They are settled in tables of three eighths of the rest, and spilled rows are longer by their places: larger ones
        // would all be divided once more.
        let count = budget.partitions(3 * table.bytes(), done, self.total);
        let partitions = Partitions::new(disk, 0, count, budget.spill_buffers(), Layout::Keyed)?;
        let mut cursor = Cursor::default();
        while let Some((_, entry)) = table.next(&mut cursor) {
            partitions.push(scanner.hasher.hash(entry.line.key()), 0, entry.line)?;
        }
        Ok(partitions)
    }

    /// Adds a record to its list; returns the partitions of all if the table is full, or probably will not hold the rest,
    /// judging by the part so far: the sooner lists are spilled, the fewer are moved.
    fn add(
        &self,
        table: &mut Table,
        (hash, place): (KeyHash, u64),
        record: Record<'_>,
    ) -> Result<Option<Partitions>, Error> {
        if self.joining.skips(table, hash, &record) {
            return Ok(None);
        }
        let done = place - self.start;
        if table.insert_behind(hash, record)? == Inserted::Full {
            let partitions = self.spill(table, done)?;
            partitions.push(hash, 0, record)?;
            return Ok(Some(partitions));
        }
        let all = u128::from(table.bytes()) * u128::from(self.total) / u128::from(done.max(1));
        let too_many = !self.sliced
            && table.len().is_multiple_of(EARLY)
            && done > self.total / 32
            && all > 2 * u128::from(table.bytes() + table.room());
        too_many.then(|| self.spill(table, done)).transpose()
    }
}

impl Work for (&Gather<'_>, Added) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (gather, Added { hashes, picked, bytes, ends, .. }) = self;
        hashes.clear();
        hashes.extend(lines.hashes().iter().map(|&hash| in_slice(hash, gather.slice)));
        picked.pick(gather.filter, hashes);
        keep.fill(false);
        for &i in &picked.indexes {
            let flawed = |flaw| gather.joining.scanner.flawed(flaw, &lines.at(i));
            gather.joining.beside.add(lines.row(i), bytes).map_err(flawed)?;
            ends.push(bytes.len());
            keep[i] = true;
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (gather, Added { bytes, ends, spilled, .. }) = self;
        let mut gathered = gather.gathered.lock().expect("no worker panics");
        let record = |i: usize| {
            let start = i.checked_sub(1).map_or(0, |before| ends[before]);
            Record::keyed(&bytes[start..ends[i]], lines.key(i))
        };
        for i in 0..ends.len() {
            match &mut *gathered {
                Gathered::Held(table) => {
                    table.warm_from(lines.hashes(), i);
                    let at = (lines.hashes()[i], lines.place(i));
                    if let Some(partitions) = gather.add(table, at, record(i))? {
                        *gathered = Gathered::Spilled(partitions);
                    }
                }
                Gathered::Spilled(_) => spilled.indexes.push(i),
            }
        }
        if let Gathered::Spilled(partitions) = &*gathered {
            partitions.push_some(spilled, |i| (lines.hashes()[i], 0, record(i)))?;
        }
        ends.clear();
        empty(bytes, gather.joining.scanner.budget.chunk);
        Ok(())
    }
}

/// Lists in a table.
struct Lists<'a> {
    table: &'a Table,
    /// The lengths of long ones, by their units.
    lengths: Mutex<HashMap<u64, u64>>,
}

impl<'a> Lists<'a> {
    fn of(table: &'a Table) -> Self {
        Self { table, lengths: Mutex::default() }
    }

    /// The length of a list; a long one is counted only once.
    fn length(&self, unit: u64) -> u64 {
        const SHORT: usize = 64;
        let some = self.table.list(unit).take(SHORT + 1).count();
        if some <= SHORT {
            return some as u64;
        }
        let mut lengths = self.lengths.lock().expect("no worker panics");
        *lengths.entry(unit).or_insert_with(|| self.table.list(unit).count() as u64)
    }
}

/// Joins the rows of the left input with lists in memory.
struct Pass<'a, 'o> {
    joining: &'a Joining<'a>,
    lists: Lists<'a>,
    sink: Mutex<&'a mut Sink<'o>>,
}

/// Joined rows of a worker.
#[derive(Default)]
struct Rows {
    text: Vec<u8>,
    /// For each kept row, where its text ends, and how many rows it has; `None` if there was no room for it, or several
    /// partners are an error: then it is joined in its turn.
    rows: Vec<(usize, Option<u64>)>,
    /// Rows of the left input with a partner.
    matched: u64,
}

impl Pass<'_, '_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Rows::default()))
    }

    fn find(&self, lines: &Lines<'_>, i: usize) -> Option<u64> {
        self.lists.table.find(lines.hashes()[i], lines.key(i))
    }

    /// Appends the joined rows of a row, unless the text has no room for them: only one thread at a time has a long one.
    fn row(
        &self,
        lines: &Lines<'_>,
        i: usize,
        Rows { text, matched, .. }: &mut Rows,
    ) -> Result<Option<u64>, Error> {
        let (joining, most) = (self.joining, self.joining.scanner.budget.chunk / 2);
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            None if !joining.keeps_left() => Ok(Some(0)),
            None if text.len() + row.len() > most => Ok(None),
            None => joining.left(place, row, text).map(|()| Some(1)),
            Some(unit) if joining.refuses(&self.lists, unit) => Ok(None),
            Some(unit) => {
                *matched += 1;
                joining.listed((place, row), &self.lists, unit, most, text)
            }
        }
    }

    /// Writes the joined rows for which a worker had no room.
    fn write(&self, lines: &Lines<'_>, i: usize, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (joining, mut text) = (self.joining, Vec::new());
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            Some(unit) if joining.refuses(&self.lists, unit) => {
                Err(joining.join.repeated(lines.key(i)))
            }
            Some(unit) if !joining.join.total => joining.long((place, row), sink, |put| {
                self.lists.table.list(unit).try_for_each(|record| put(record.row))
            }),
            found => {
                joining.left(place, row, &mut text)?;
                joining.join.put(&text, found.map_or(1, |unit| self.lists.length(unit)), sink)
            }
        }
    }
}

impl Work for (&Pass<'_, '_>, Rows) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (pass, local) = self;
        for (i, keep) in keep.iter_mut().enumerate() {
            pass.lists.table.warm_from(lines.hashes(), i);
            let count = pass.row(lines, i, local)?;
            *keep = count != Some(0);
            if *keep {
                local.rows.push((local.text.len(), count));
            }
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (pass, local) = self;
        let (join, mut sink) = (pass.joining.join, pass.sink.lock().expect("no worker panics"));
        let (mut start, mut before) = (0, 0);
        for (i, (end, count)) in local.rows.drain(..).enumerate() {
            before += count.unwrap_or(0);
            if count.is_none() {
                join.put(&local.text[start..end], std::mem::take(&mut before), &mut sink)?;
                start = end;
                pass.write(lines, i, &mut sink)?;
            }
        }
        join.put(&local.text[start..], before, &mut sink)?;
        pass.joining.matched.fetch_add(std::mem::take(&mut local.matched), Ordering::Relaxed);
        empty(&mut local.text, pass.joining.scanner.budget.chunk);
        Ok(())
    }
}

/// Distributes the rows of the left input whose keys may be gathered.
struct Spread<'a> {
    filter: &'a Blocked,
    joining: &'a Joining<'a>,
    left: &'a Partitions,
    /// Receives the others, if they are kept.
    runs: &'a Mutex<Runs>,
}

impl Spread<'_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Vec::new(), Scattered::default()))
    }
}

/// With which of the kept rows may have a partner, if others are kept, too.
impl Work for (&Spread<'_>, Vec<bool>, Scattered) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (spread, found, _) = self;
        spread.filter.contains_all(lines.hashes(), keep);
        if spread.joining.keeps_left() {
            found.extend_from_slice(keep);
            keep.fill(true);
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (spread, found, spilled) = self;
        if spread.joining.keeps_left() {
            let mut text = Vec::new();
            let mut runs = spread.runs.lock().expect("no worker panics");
            for (i, found) in found.drain(..).enumerate() {
                if found {
                    spilled.indexes.push(i);
                } else {
                    text.clear();
                    spread.joining.left(lines.place(i), lines.row(i), &mut text)?;
                    spread.joining.push(&mut runs, lines.place(i), ALONE, &text)?;
                }
            }
        } else {
            spilled.indexes.extend(0..lines.len());
        }
        spread.left.push_some(spilled, |i| (lines.hashes()[i], lines.place(i), lines.record(i)))
    }
}

/// Joins partitions: `lines` of the left input, and one of the `others`.
#[derive(Clone, Copy)]
struct Settle<'a> {
    joining: &'a Joining<'a>,
    settling: Settling<'a>,
    /// Receives long lists.
    lists: &'a Mutex<SpillWriter>,
}

impl Settle<'_> {
    /// The most levels: partitions that are still too large then have few keys.
    const LEVELS: u32 = 4;

    /// Joins a partition, or divides it; returns its parts, and how many keys its right rows have. One whose rows fill several
    /// blocks counts in each.
    fn part(self, part: Part, runs: &mut Runs) -> Result<(Vec<Part>, u64), Error> {
        let Part { lines: left, others, level } = part;
        let (right, level) = (&others[0], level + 1);
        if right.lines == 0 && !self.joining.keeps_left() {
            return Ok((Vec::new(), 0));
        }
        let (needed, room) = (right.in_memory(), self.settling.memory / 2);
        if needed <= room || level > Self::LEVELS {
            return Ok((Vec::new(), self.blocks(right, &left, room, runs)?));
        }
        let count = (needed / room + 2).min(16) as usize;
        let lefts = self.divide(&left, level, count)?;
        let rights = self.divide(right, level, count)?.into_iter().map(|right| vec![right]);
        let mut parts = Part::all(lefts, rights.collect(), level);
        for part in &mut parts {
            // One key has most of it, and would dominate any part.
            if part.others[0].bytes > right.bytes / 4 * 3 {
                part.level = Self::LEVELS;
            }
        }
        Ok((parts, 0))
    }

    fn divide(self, spill: &Spill, level: u32, count: usize) -> Result<Vec<Spill>, Error> {
        let hasher = self.settling.hasher;
        let buffers = self.settling.write_buffers();
        let parts = Partitions::new(self.settling.disk, level, count, buffers, spill.layout)?;
        let mut lines = spill.read(self.settling.buffer());
        while lines.read_some(hasher)? {
            for (hash, place, line) in lines.some() {
                parts.push(hash, place, line)?;
            }
        }
        parts.finish()
    }

    /// Joins a partition, with as many of its right rows in memory at a time as fit in `room` bytes.
    fn blocks(self, right: &Spill, left: &Spill, room: u64, runs: &mut Runs) -> Result<u64, Error> {
        let hasher = self.settling.hasher;
        let mut rows = right.read(self.settling.buffer());
        let mut keys = 0;
        let (mut more, mut next) = (rows.read_some(hasher)?, 0);
        loop {
            let mut table = Table::new(room, Layout::Keyed)?;
            'filling: while more {
                for (i, (hash, _, record)) in rows.some().enumerate().skip(next) {
                    if !self.joining.skips(&table, hash, &record)
                        && table.insert_behind(hash, record)? == Inserted::Full
                    {
                        next = i;
                        break 'filling;
                    }
                }
                (more, next) = (rows.read_some(hasher)?, 0);
            }
            keys += table.len();
            self.block(&table, left, !more, runs)?;
            if !more {
                return Ok(keys);
            }
        }
    }

    /// Joins the left rows with some of the right ones; `last`: no others follow. Rows without a partner among these are
    /// alone unless they had one before.
    fn block(self, table: &Table, left: &Spill, last: bool, runs: &mut Runs) -> Result<(), Error> {
        let (joining, hasher) = (self.joining, self.settling.hasher);
        let mut rows = left.read(self.settling.buffer());
        let (lists, mut written) = (Lists::of(table), HashMap::new());
        let mut text = Vec::new();
        // Only counted, there is no text.
        let most = if joining.join.total { usize::MAX } else { LONG_LIST };
        while rows.read_some(hasher)? {
            table.warm(rows.hashes());
            for (hash, place, line) in rows.some() {
                text.clear();
                let count = match table.find(hash, line.key()) {
                    None if last && joining.keeps_left() => {
                        joining.left(place, line.row, &mut text)?;
                        ALONE
                    }
                    None => continue,
                    Some(unit) if joining.refuses(&lists, unit) => {
                        return Err(joining.join.repeated(line.key()));
                    }
                    Some(unit) => {
                        match joining.listed((place, line.row), &lists, unit, most, &mut text)? {
                            Some(count) => count,
                            None => {
                                let range = match written.get(&unit) {
                                    Some(range) => *range,
                                    None => *written.entry(unit).or_insert(self.list(table, unit)?),
                                };
                                text.reserve_exact(16 + line.row.len());
                                range.iter().for_each(|at| text.extend(u64::to_le_bytes(*at)));
                                text.extend_from_slice(line.row);
                                LISTED
                            }
                        }
                    }
                };
                joining.push(runs, place, count, &text)?;
            }
        }
        runs.end();
        Ok(())
    }

    /// Writes a list, and returns where it starts and ends.
    fn list(self, table: &Table, unit: u64) -> Result<[u64; 2], Error> {
        let mut lists = self.lists.lock().expect("no worker panics");
        let start = lists.bytes();
        table.list(unit).try_for_each(|record| lists.push(0, Record::line(record.row)))?;
        Ok([start, lists.bytes()])
    }
}

#[cfg(test)]
mod tests;
