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
//! The filter drops the rows without a partner before any are moved (L. F. Mackert and G. M. Lohman 1986, R* optimizer
//! validation and performance evaluation for distributed queries). A key with many rows on both sides has as many pairs as
//! their product: a list too long for a run is written once, and read again for each of its left rows.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use umbel::{Blocked, Filter, KeyHash};
use umbel_io::threads::on_parts;

use super::keys::KeySet;
use super::plan::LEAST_FILTER;
use super::rule::{Others, Rule};
use super::{SetOperation, SetPlan};
use crate::budget::Budget;
use crate::bulk::{Picked, fill, of_hashes};
use crate::error::Place;
use crate::hash::LineHasher;
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::places::Places;
use crate::records::{Beside, Flaw, Layout, Record, empty};
use crate::report::{Joined, Report};
use crate::scan::{Lines, Scanner, Tally, Visit};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Scattered, Selected, Spill, SpillWriter};
use crate::table::{Cursor, Inserted, KEPT_LINE, Table};
use crate::{Error, Options, Progress};

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
        assert!(!options.records.key().is_empty(), "rows are joined by a key");
        Ok(Self {
            inputs,
            options,
            unpaired: Unpaired::None,
            partners: Partners::All,
            prefix: None,
            total: false,
            budget: Budget::new(options.memory, options.threads)?,
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
        let values = crate::values_of(key, self.options.records.key().len());
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
    fn turned(&self) -> Result<[Input; 2], Error> {
        Ok([self.inputs[1].again()?, self.inputs[0].again()?])
    }

    /// Plans the job; reads samples of the inputs.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn plan(&self) -> Result<SetPlan, Error> {
        let semi_join = self.operation(self.inputs, Others::Semi(1));
        let plan = semi_join.plan_start()?;
        let sample = |i: usize| semi_join.sample(&plan.lines, i..i + 1);
        let samples = match self.partners {
            Partners::All => Some([sample(0)?, sample(1)?]),
            Partners::First | Partners::Unique => None,
        };
        let plan = semi_join.plan_look_up(plan, 1..2, samples.as_ref())?;
        let pairs = samples.map(|[left, right]| left.pairs(&right));
        // Rows are found by their keys; a filter of these is made only if some are spilled.
        let mut plan = SetPlan {
            doubtful: None,
            pairs: pairs.map(|(all, _)| all),
            product: pairs.map_or(0, |(_, several)| several),
            ..plan
        };
        if self.unpaired == Unpaired::Both {
            let alone = self.operation(&self.turned()?, Others::Anti).plan()?;
            plan.later = alone.bytes_read;
            plan.bytes_read += alone.bytes_read;
            plan.bytes_spilled += alone.bytes_spilled;
            plan.passes += alone.passes;
        }
        Ok(plan)
    }

    /// Writes the joined rows to `out`.
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `out`; [`Error::SameColumn`] and [`Error::SameMember`] for names
    /// that both inputs have. What was written before an error is the beginning of the result.
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        self.run_as(&self.plan()?, out)
    }

    /// Writes the joined rows to `out`, as [planned](Self::plan).
    ///
    /// # Errors
    /// As for [`run`](Self::run); [`Error::Memory`] for a plan, made with more memory, whose filter does not fit.
    pub fn run_as(
        &self,
        plan: &SetPlan,
        out: &mut (dyn io::Write + Send),
    ) -> Result<Report, Error> {
        self.budget.check_filters(plan.seen.as_ref().map_or(0, umbel::Plan::bytes))?;
        let scanner = Scanner::within(self.budget, self.options, LineHasher::random())?;
        let scanner = scanner.joining_rows(self.prefix);
        let beside = scanner.beside(self.inputs, self.prefix);
        let beside = beside.map_err(|error| scanner.located(error, self.inputs))?;
        let [left, right] = beside.widths();
        let inputs = [self.inputs[0].again()?.joined(left), self.inputs[1].again()?.joined(right)];
        Join { inputs: &inputs, ..*self }.run_between(plan, scanner, &beside, out)
    }

    /// As [`run_as`](Self::run_as), with this layout of joined rows.
    fn run_between(
        &self,
        plan: &SetPlan,
        scanner: Scanner<'_>,
        beside: &Beside,
        out: &mut (dyn io::Write + Send),
    ) -> Result<Report, Error> {
        self.options.progress.expect(plan.bytes_read - plan.later);
        let mut sink = Sink::new(out, self.options.separator);
        let mut joining = Joining {
            join: self,
            beside,
            disk: Disk::new(&self.options.tmp),
            passes: Passes::new(self.inputs),
            scanner,
            left: 0,
            matched: AtomicU64::new(0),
        };
        joining.run(plan, &mut sink)?;
        let Joining { disk, passes, scanner, left, matched, .. } = joining;
        let left_matched = matched.into_inner();
        let left_unmatched = left - left_matched;
        let alone = if self.unpaired == Unpaired::None { 0 } else { left_unmatched };
        let pairs = sink.lines() - alone;
        let mut joined = Joined { pairs, left_matched, left_unmatched, right_unmatched: None };
        let tallies = [1, 0].map(|i| passes.tallies()[i]).to_vec();
        let mut report = passes.finish(self.inputs, &disk);
        if self.unpaired == Unpaired::Both {
            let right = self.right_alone(&scanner, tallies, beside, &mut sink)?;
            report.passes += right.passes;
            report.follow(right);
            joined.right_unmatched = Some(sink.lines() - pairs - alone);
        }
        report.joined = Some(joined);
        sink.finish(&mut report)?;
        Ok(report)
    }

    /// Writes the rows of the second input that have no partner.
    fn right_alone(
        &self,
        scanner: &Scanner<'_>,
        tallies: Vec<Option<Tally>>,
        beside: &Beside,
        sink: &mut Sink<'_>,
    ) -> Result<Report, Error> {
        let inputs = self.turned()?;
        let alone = self.operation(&inputs, Others::Anti);
        let seen = Some((scanner.hasher.clone(), tallies));
        let mut text = Vec::new();
        alone.hand_after(seen, &mut |selected| {
            text.clear();
            let at = || Place::new(inputs[0].name(), selected.place);
            let added = beside.right(selected.row, &mut text);
            added.map_err(|flaw| scanner.located(scanner.flawed(flaw, &at()), &inputs))?;
            self.put(&text, 1, sink)
        })
    }
}

/// A running join.
struct Joining<'a> {
    /// Rows of the left input, and how many of them have a partner.
    left: u64,
    matched: AtomicU64,
    join: &'a Join<'a>,
    scanner: Scanner<'a>,
    beside: &'a Beside,
    disk: Disk<'a>,
    passes: Passes,
}

impl Joining<'_> {
    fn run(&mut self, plan: &SetPlan, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (inputs, budget) = (self.join.inputs, self.scanner.budget);
        let mut filter = plan.seen.as_ref().map(of_hashes).transpose()?;
        if let Some(filter) = &mut filter {
            let room = (budget.rest - filter.plan().bytes()).max(budget.long_line());
            let tallies = fill(&self.scanner, &inputs[..1], filter, room)?;
            self.passes.seen(inputs, 0..1, &tallies)?;
        }
        let gathered = self.gather(filter)?;
        if let Some(header) = self.beside.header() {
            self.join.put(header, 0, sink)?;
        }
        match gathered {
            Gathered::Held(table) => {
                self.passes.report.distinct = table.len();
                self.join(&table, sink)
            }
            Gathered::Spilled(files) => self.settle(files, sink),
        }
    }

    /// Step 2.
    fn gather(&mut self, filter: Option<Blocked>) -> Result<Gathered, Error> {
        let (inputs, budget) = (self.join.inputs, self.scanner.budget);
        let filters = filter.as_ref().map_or(0, |filter| filter.plan().bytes());
        let state =
            Gathering { table: Table::new(budget.table(filters), Layout::Keyed)?, spilled: None };
        let gather = Gather {
            filter: filter.as_ref(),
            joining: self,
            start: Places::new(inputs).start(1),
            total: lengths(&inputs[1..]),
            state: Mutex::new(state),
        };
        let tallies = self.scanner.scan_some(inputs, 1..2, budget.long_line(), &gather)?;
        let Gathering { table, spilled } = gather.state.into_inner().expect("no worker panics");
        self.passes.seen(inputs, 1..2, &tallies)?;
        self.scanner.check_keyed(inputs, self.passes.tallies())?;
        Ok(match spilled {
            Some(partitions) => Gathered::Spilled(partitions.finish(&self.disk)?),
            None => Gathered::Held(table),
        })
    }

    /// Step 3 with all lists in memory.
    fn join(&mut self, table: &Table, sink: &mut Sink<'_>) -> Result<(), Error> {
        let inputs = self.join.inputs;
        let counts = Mutex::default();
        let pass = Pass { joining: self, table, counts, sink: Mutex::new(sink) };
        let spare = self.scanner.budget.long_line() + table.room() / 2;
        let tallies = self.scanner.scan_some(inputs, 0..1, spare, &pass)?;
        self.left_seen(&tallies)
    }

    fn left_seen(&mut self, tallies: &[crate::scan::Tally]) -> Result<(), Error> {
        let inputs = self.join.inputs;
        self.left = tallies.iter().map(|tally| tally.lines).sum();
        self.passes.seen(inputs, 0..1, tallies)?;
        self.scanner.check_keyed(inputs, self.passes.tallies())
    }

    /// Steps 3 and 4 with what was spilled.
    fn settle(&mut self, right: Vec<Spill>, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (inputs, budget) = (self.join.inputs, self.scanner.budget);
        let files: Vec<_> = right.iter().collect();
        let room = (budget.table(0) / 2).max(LEAST_FILTER);
        let filter = KeySet::none().filter(&files, &self.scanner, &self.disk, room)?;
        let filter = filter.expect("some keys are spilled");
        let left = Partitions::new(
            &self.disk,
            0,
            right.len(),
            budget.spill_buffers(),
            self.scanner.layout(),
        )?;
        let runs = Mutex::new(Runs::new(budget.spill_buffers()));
        let spread = Spread { filter: &filter, joining: self, left: &left, runs: &runs };
        let spare = budget.long_line() + budget.table(filter.plan().bytes());
        let tallies = self.scanner.scan_some(inputs, 0..1, spare, &spread)?;
        self.left_seen(&tallies)?;
        drop(filter);
        let left = left.finish(&self.disk)?;
        let mut runs = runs.into_inner().expect("no worker panics");
        runs.end();
        let longest = left.iter().chain(&right).map(Spill::longest).max().unwrap_or(0);
        let memory = budget.rest - budget.rest / 4;
        let (count, each) = (right.len() as u64, needed(&right) / right.len() as u64);
        let threads = budget.settling_threads(memory, longest, count, each);
        let lists = Mutex::new(SpillWriter::new(&self.disk, PIECE, Layout::Lines)?);
        let settle = Settle {
            joining: self,
            memory: memory / threads as u64,
            lists: &lists,
            progress: self.scanner.progress,
        };
        let start = || (0, Runs::new(settle.memory / 16));
        let work = |(right, left), (keys, runs): &mut (u64, Runs)| {
            *keys += settle.part(right, left, 1, runs)?;
            Ok::<_, Error>(Vec::new())
        };
        let parts = right.into_iter().zip(left).collect();
        for (keys, more) in on_parts(threads, parts, start, work)? {
            self.passes.report.distinct += keys;
            runs.join(more, &self.disk)?;
        }
        let lists = lists.into_inner().expect("no worker panics").finish(&self.disk)?;
        self.write(runs, &lists, sink)
    }

    /// Writes the joined rows of all runs, by the places of their left rows.
    fn write(&self, runs: Runs, lists: &Spill, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut merged = runs.merge(&self.disk, self.scanner.budget.rest / 4)?;
        let (mut text, mut last) = (Vec::new(), None);
        while let Some(Selected { place, count, row }) = merged.next(&self.disk)? {
            if count == ALONE {
                self.join.put(row, 1, sink)?;
                continue;
            }
            // Its partners may come from several runs.
            if last.replace(place) != Some(place) {
                self.matched.fetch_add(1, Ordering::Relaxed);
            }
            if count < LISTED {
                self.join.put(row, count, sink)?;
                continue;
            }
            let word = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().expect("8 bytes"));
            let mut list = lists.read_range(word(0)..word(8), PIECE);
            while list.read_some(&self.disk)? {
                let mut some = 0;
                for i in 0..list.len() {
                    self.both(place, &row[16..], list.get(i).1.row, &mut text)?;
                    some += 1;
                    if text.len() >= PIECE || i + 1 == list.len() {
                        sink.text(&text, std::mem::take(&mut some))?;
                        text.clear();
                    }
                }
                self.scanner.progress.check()?;
            }
        }
        Ok(())
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

    /// Appends a result to runs, without its text if it is only counted.
    fn push(&self, runs: &mut Runs, place: u64, count: u64, text: &[u8]) -> Result<(), Error> {
        let row = if self.join.total { &[] } else { text };
        runs.push(&self.disk, Selected { place, count, row })
    }

    /// The error for a flaw in a row of the left input; places are its offsets.
    fn left_flaw(&self, flaw: Flaw, place: u64) -> Error {
        self.scanner.flawed(flaw, &Place::new(self.join.inputs[0].name(), place))
    }

    fn keeps_left(&self) -> bool {
        self.join.unpaired != Unpaired::None
    }
}

/// Makes room for a joined row; for a long one, no more than it needs.
fn reserve(to: &mut Vec<u8>, row: usize) {
    if row > PIECE {
        to.reserve_exact(row + 2);
    }
}

/// Bytes of a table of all lines of some files.
fn needed(files: &[Spill]) -> u64 {
    files.iter().map(|file| file.bytes() + KEPT_LINE * file.lines()).sum()
}

/// The outcome of step 2.
enum Gathered {
    Held(Table),
    /// The files of each partition: nothing is in memory.
    Spilled(Vec<Spill>),
}

/// Gathers what the rows of the right input add.
struct Gather<'a> {
    filter: Option<&'a Blocked>,
    joining: &'a Joining<'a>,
    start: u64,
    total: u64,
    state: Mutex<Gathering>,
}

struct Gathering {
    table: Table,
    spilled: Option<Partitions>,
}

/// What the kept rows of a worker add, concatenated, and where each part ends.
#[derive(Default)]
struct Added {
    picked: Picked,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    spilled: Scattered,
}

impl Gather<'_> {
    /// Moves all lists to partitions.
    fn spill(&self, state: &mut Gathering, done: u64) -> Result<(), Error> {
        let Joining { disk, scanner, .. } = self.joining;
        let budget = scanner.budget;
        let count = budget.partitions(state.table.bytes(), done, self.total);
        let partitions = Partitions::new(disk, 0, count, budget.spill_buffers(), Layout::Keyed)?;
        let mut cursor = Cursor::default();
        while let Some((_, entry)) = state.table.next(&mut cursor) {
            partitions.push(scanner.hasher.hash(entry.line.key()), 0, entry.line)?;
        }
        state.table = Table::new(0, Layout::Keyed)?;
        state.spilled = Some(partitions);
        Ok(())
    }

    fn add(
        &self,
        state: &mut Gathering,
        lines: &Lines<'_>,
        i: usize,
        added: &[u8],
    ) -> Result<(), Error> {
        let (hash, record) = (lines.hashes()[i], Record::apart(added, lines.key(i)));
        let first = self.joining.join.partners == Partners::First;
        if first && state.table.find(hash, record.key()).is_some() {
            return Ok(());
        }
        let done = lines.place(i) - self.start;
        match state.table.insert_behind(hash, record)? {
            Inserted::Full => {
                self.spill(state, done)?;
                let spilled = state.spilled.as_ref().expect("just made");
                spilled.push(hash, 0, record)
            }
            _ if state.table.len().is_multiple_of(EARLY)
                && self.will_be_full(&state.table, done) =>
            {
                self.spill(state, done)
            }
            _ => Ok(()),
        }
    }

    /// Whether the table will probably not hold the rest, judging by the part so far: the sooner lists are spilled, the
    /// fewer are moved.
    fn will_be_full(&self, table: &Table, done: u64) -> bool {
        let all = u128::from(table.bytes()) * u128::from(self.total) / u128::from(done.max(1));
        done > self.total / 32 && all > 2 * u128::from(table.bytes() + table.room())
    }
}

impl Visit for Gather<'_> {
    type Local = Added;

    fn batch(&self, local: &mut Added, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let Added { picked, bytes, ends, .. } = local;
        picked.pick(self.filter, lines.hashes());
        keep.fill(false);
        for &i in &picked.indexes {
            let flawed = |flaw| self.joining.scanner.flawed(flaw, &lines.at(i));
            self.joining.beside.add(lines.row(i), bytes).map_err(flawed)?;
            ends.push(bytes.len());
            keep[i] = true;
        }
        Ok(())
    }

    fn kept(&self, local: &mut Added, lines: &Lines<'_>) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        let Added { bytes, ends, spilled, .. } = local;
        let added = |i: usize| &bytes[i.checked_sub(1).map_or(0, |before| ends[before])..ends[i]];
        let held = (0..ends.len()).try_fold(0, |held, i| match state.spilled {
            None => self.add(&mut state, lines, i, added(i)).map(|()| held + 1),
            Some(_) => Ok(held),
        })?;
        if let Some(partitions) = &state.spilled {
            spilled.indexes.extend(held..ends.len());
            partitions.push_some(spilled, |i| {
                (lines.hashes()[i], 0, Record::apart(added(i), lines.key(i)))
            })?;
        }
        ends.clear();
        empty(bytes, self.joining.scanner.budget.chunk);
        Ok(())
    }

    fn room(&self, spare: u64) -> u64 {
        self.state.lock().expect("no worker panics").table.room_for_long(spare)
    }
}

/// Joins the rows of the left input with lists in memory.
struct Pass<'a, 'o> {
    joining: &'a Joining<'a>,
    table: &'a Table,
    counts: Mutex<Counts>,
    sink: Mutex<&'a mut Sink<'o>>,
}

/// The lengths of long lists in a table, by their units.
type Counts = HashMap<u64, u64>;

/// The length of a list; a long one is counted only once.
fn length(table: &Table, unit: u64, counts: &Mutex<Counts>) -> u64 {
    const SHORT: usize = 64;
    let some = table.list(unit).take(SHORT + 1).count();
    if some <= SHORT {
        return some as u64;
    }
    let mut counts = counts.lock().expect("no worker panics");
    *counts.entry(unit).or_insert_with(|| table.list(unit).count() as u64)
}

/// Joined rows of a worker.
#[derive(Default)]
struct Rows {
    text: Vec<u8>,
    rows: Vec<Piece>,
    /// Rows of the left input with a partner.
    matched: u64,
}

/// The joined part of a kept row.
struct Piece {
    /// Where its text ends, and how many rows it has.
    end: usize,
    count: u64,
    /// What is written in its turn, because there was no room for its text.
    later: Option<Later>,
}

#[derive(Clone, Copy)]
enum Later {
    /// The row with each record of this list.
    List(u64),
    /// The row alone.
    Alone,
    /// An error: it has several partners.
    Several,
}

impl Pass<'_, '_> {
    /// Appends the joined rows of a row, unless the text has no room for them: only one thread at a time has a long one.
    fn row(
        &self,
        lines: &Lines<'_>,
        i: usize,
        Rows { text, matched, .. }: &mut Rows,
    ) -> Result<(u64, Option<Later>), Error> {
        let (joining, most) = (self.joining, self.joining.scanner.budget.chunk / 2);
        let (row, place) = (lines.row(i), lines.place(i));
        let Some(unit) = self.table.find(lines.hashes()[i], lines.key(i)) else {
            return match joining.keeps_left() {
                false => Ok((0, None)),
                true if text.len() + row.len() > most => Ok((0, Some(Later::Alone))),
                true => joining.left(place, row, text).map(|()| (1, None)),
            };
        };
        if joining.join.partners == Partners::Unique && self.table.list(unit).nth(1).is_some() {
            return Ok((0, Some(Later::Several)));
        }
        *matched += 1;
        let (start, mut count) = (text.len(), 0);
        if joining.join.total {
            if start + row.len() > most {
                return Ok((0, Some(Later::List(unit))));
            }
            joining.left(place, row, text)?;
            text.truncate(start);
            return Ok((length(self.table, unit, &self.counts), None));
        }
        for record in self.table.list(unit) {
            if text.len() + row.len() + record.row.len() > most {
                text.truncate(start);
                return Ok((0, Some(Later::List(unit))));
            }
            joining.both(place, row, record.row, text)?;
            count += 1;
        }
        Ok((count, None))
    }

    /// Writes the joined rows for which a worker had no room.
    fn write(
        &self,
        lines: &Lines<'_>,
        i: usize,
        later: Later,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let (joining, mut text) = (self.joining, Vec::new());
        let (row, place) = (lines.row(i), lines.place(i));
        let unit = match later {
            Later::List(unit) => unit,
            Later::Alone => {
                joining.left(place, row, &mut text)?;
                return joining.join.put(&text, 1, sink);
            }
            Later::Several => return Err(joining.join.repeated(lines.key(i))),
        };
        if joining.join.total {
            joining.left(place, row, &mut text)?;
            return sink.text(&[], length(self.table, unit, &self.counts));
        }
        let mut list = self.table.list(unit).peekable();
        while list.peek().is_some() {
            let mut some = 0;
            text.clear();
            while text.len() < PIECE
                && let Some(record) = list.next()
            {
                joining.both(place, row, record.row, &mut text)?;
                some += 1;
            }
            sink.text(&text, some)?;
            joining.scanner.progress.check()?;
        }
        Ok(())
    }
}

impl Visit for Pass<'_, '_> {
    type Local = Rows;

    fn batch(&self, local: &mut Rows, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        for (i, keep) in keep.iter_mut().enumerate() {
            self.table.warm_from(lines.hashes(), i);
            let (count, later) = self.row(lines, i, local)?;
            *keep = count > 0 || later.is_some();
            if *keep {
                local.rows.push(Piece { end: local.text.len(), count, later });
            }
        }
        Ok(())
    }

    fn finish(&self, local: Rows) -> Result<(), Error> {
        self.joining.matched.fetch_add(local.matched, Ordering::Relaxed);
        Ok(())
    }

    fn kept(&self, local: &mut Rows, lines: &Lines<'_>) -> Result<(), Error> {
        let (join, mut sink) = (self.joining.join, self.sink.lock().expect("no worker panics"));
        let (mut start, mut before, mut until) = (0, 0, 0);
        for (i, Piece { end, count, later }) in local.rows.drain(..).enumerate() {
            (until, before) = (end, before + count);
            if let Some(later) = later {
                join.put(&local.text[start..end], std::mem::take(&mut before), &mut sink)?;
                start = end;
                self.write(lines, i, later, &mut sink)?;
            }
        }
        join.put(&local.text[start..until], before, &mut sink)?;
        empty(&mut local.text, self.joining.scanner.budget.chunk);
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

impl Visit for Spread<'_> {
    type Local = (Vec<bool>, Vec<bool>, Scattered);

    fn batch(
        &self,
        (found, kept, _): &mut Self::Local,
        lines: &Lines<'_>,
        keep: &mut [bool],
    ) -> Result<(), Error> {
        if self.joining.keeps_left() {
            found.resize(lines.len(), false);
            self.filter.contains_all(lines.hashes(), found);
            kept.extend_from_slice(found);
            keep.fill(true);
        } else {
            self.filter.contains_all(lines.hashes(), keep);
        }
        Ok(())
    }

    fn kept(&self, (_, kept, spilled): &mut Self::Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut text = Vec::new();
        let mut runs =
            self.joining.keeps_left().then(|| self.runs.lock().expect("no worker panics"));
        for i in 0..lines.len() {
            let place = lines.place(i);
            match (&mut runs, kept.get(i)) {
                (Some(runs), Some(false)) => {
                    text.clear();
                    self.joining.left(place, lines.row(i), &mut text)?;
                    self.joining.push(runs, place, ALONE, &text)?;
                }
                _ => spilled.indexes.push(i),
            }
        }
        kept.clear();
        self.left.push_some(spilled, |i| (lines.hashes()[i], lines.place(i), lines.record(i)))
    }
}

/// Joins partitions.
#[derive(Clone, Copy)]
struct Settle<'a> {
    joining: &'a Joining<'a>,
    /// Bytes of one partition.
    memory: u64,
    /// Receives long lists.
    lists: &'a Mutex<SpillWriter>,
    progress: &'a Progress,
}

impl Settle<'_> {
    /// The most levels: partitions that are still too large then have few keys.
    const LEVELS: u32 = 4;

    /// Joins a partition; returns how many keys its right rows have. One whose rows fill several blocks counts in each.
    fn part(self, right: Spill, left: Spill, level: u32, runs: &mut Runs) -> Result<u64, Error> {
        self.progress.check()?;
        let none = left.lines() == 0 || (right.lines() == 0 && !self.joining.keeps_left());
        if none {
            return Ok(0);
        }
        let needed = needed(std::slice::from_ref(&right));
        let table = self.memory / 2;
        let whole = right.bytes();
        if needed <= table || level > Self::LEVELS {
            return self.blocks(&right, &left, table, runs);
        }
        let count = (needed / table + 2).min(16) as usize;
        let parts = [right, left].map(|spill| self.divide(&spill, level, count));
        let [right, left] = parts;
        let mut keys = 0;
        for (right, left) in right?.into_iter().zip(left?) {
            // One key has most of it, and would dominate any part.
            let level = if right.bytes() > whole / 4 * 3 { Self::LEVELS } else { level };
            keys += self.part(right, left, level + 1, runs)?;
        }
        Ok(keys)
    }

    fn divide(self, spill: &Spill, level: u32, count: usize) -> Result<Vec<Spill>, Error> {
        let disk = &self.joining.disk;
        let parts = Partitions::new(disk, level, count, self.memory / 8, spill.layout())?;
        let (mut lines, mut hashes) = (spill.read(self.buffer()), Vec::new());
        while lines.read_some(disk)? {
            self.hash(&lines, &mut hashes);
            for (i, &hash) in hashes.iter().enumerate() {
                let (place, line) = lines.get(i);
                parts.push(hash, place, line)?;
            }
        }
        parts.finish(disk)
    }

    /// Joins a partition, with as many of its right rows in memory at a time as fit, and as many of its left rows as can be
    /// noted next to them: for a key with billions of rows, a bit for each would exceed the memory.
    fn blocks(self, right: &Spill, left: &Spill, room: u64, runs: &mut Runs) -> Result<u64, Error> {
        let Range { start, end } = left.range();
        let (mut from, mut all) = (start, 0);
        while from < end {
            let mut some = LeftRows { from, until: None, met: Met::default() };
            let keys = self.blocks_of(right, left, &mut some, room, runs)?;
            // The keys are the same each time.
            all = keys;
            from = some.until.expect("one block at least");
        }
        Ok(all)
    }

    /// As [`blocks`](Self::blocks), with some of the left rows.
    fn blocks_of(
        self,
        right: &Spill,
        left: &Spill,
        some: &mut LeftRows,
        room: u64,
        runs: &mut Runs,
    ) -> Result<u64, Error> {
        let Joining { join, disk, .. } = self.joining;
        let (mut rows, mut hashes) = (right.read(self.buffer()), Vec::new());
        let mut keys = 0;
        let (mut more, mut next) = (rows.read_some(disk)?, 0);
        loop {
            let mut table = Table::new(room, Layout::Keyed)?;
            'filling: while more {
                self.hash(&rows, &mut hashes);
                for (i, &hash) in hashes.iter().enumerate().skip(next) {
                    let record = rows.get(i).1;
                    let known = join.partners == Partners::First
                        && table.find(hash, record.key()).is_some();
                    if !known && table.insert_behind(hash, record)? == Inserted::Full {
                        next = i;
                        break 'filling;
                    }
                }
                (more, next) = (rows.read_some(disk)?, 0);
            }
            keys += table.len();
            self.block(&table, left, (some, !more), runs)?;
            if !more {
                return Ok(keys);
            }
        }
    }

    /// Joins the left rows with some of the right ones; `last`: no others follow.
    fn block(
        self,
        table: &Table,
        left: &Spill,
        (some, last): (&mut LeftRows, bool),
        runs: &mut Runs,
    ) -> Result<(), Error> {
        let Self { joining, .. } = self;
        let Joining { join, disk, .. } = joining;
        let LeftRows { from, until, met } = some;
        let range = *from..until.unwrap_or(left.range().end);
        let (mut rows, mut hashes) = (left.read_range(range, self.buffer()), Vec::new());
        let (mut text, mut number) = (Vec::new(), 0);
        let (mut lists, counts) = (HashMap::new(), Mutex::default());
        // Only if right rows follow in another block, and it matters whether a row has a partner.
        let notes = !last && (joining.keeps_left() || join.partners != Partners::All);
        let most = if notes && until.is_none() { self.most_noted() } else { usize::MAX };
        while number < most && rows.read_some(disk)? {
            self.hash(&rows, &mut hashes);
            table.warm(&hashes);
            for (i, &hash) in hashes.iter().enumerate() {
                let (place, line) = rows.get(i);
                let row = number;
                number += 1;
                text.clear();
                let Some(unit) = table.find(hash, line.key()) else {
                    if last && joining.keeps_left() && !met.is_set(row) {
                        joining.left(place, line.row, &mut text)?;
                        joining.push(runs, place, ALONE, &text)?;
                    }
                    continue;
                };
                let is_met = met.is_set(row);
                match join.partners {
                    Partners::First if is_met => continue,
                    Partners::Unique if is_met || table.list(unit).nth(1).is_some() => {
                        return Err(join.repeated(line.key()));
                    }
                    _ => {}
                }
                if notes {
                    met.set(row);
                }
                if join.total {
                    joining.left(place, line.row, &mut text)?;
                    joining.push(runs, place, length(table, unit, &counts), &text)?;
                    continue;
                }
                let (mut count, mut long) = (0, false);
                for record in table.list(unit) {
                    long = text.len() + line.row.len() + record.row.len() > LONG_LIST;
                    if long {
                        break;
                    }
                    joining.both(place, line.row, record.row, &mut text)?;
                    count += 1;
                }
                if long {
                    let (start, end) = match lists.get(&unit) {
                        Some(range) => *range,
                        None => *lists.entry(unit).or_insert(self.list(table, unit)?),
                    };
                    text.clear();
                    text.reserve_exact(16 + line.row.len());
                    text.extend_from_slice(&u64::to_le_bytes(start));
                    text.extend_from_slice(&u64::to_le_bytes(end));
                    text.extend_from_slice(line.row);
                    count = LISTED;
                }
                joining.push(runs, place, count, &text)?;
            }
        }
        until.get_or_insert(rows.offset());
        runs.end();
        Ok(())
    }

    /// Left rows noted at a time, and up to 63 more: a bit for each in a 32nd of the memory, in a vector that doubles.
    fn most_noted(self) -> usize {
        if cfg!(test) { 50 } else { self.memory as usize / 4 }
    }

    /// Writes a list, and returns where it is.
    fn list(self, table: &Table, unit: u64) -> Result<(u64, u64), Error> {
        let mut lists = self.lists.lock().expect("no worker panics");
        let start = lists.bytes();
        table.list(unit).try_for_each(|record| lists.push(0, Record::line(record.row)))?;
        Ok((start, lists.bytes()))
    }

    fn hash(self, lines: &crate::spill::SpillReader, hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        self.joining.scanner.hasher.hash_each(lines.keys(), |hash| hashes.push(hash));
    }

    /// Bytes of a read buffer.
    fn buffer(self) -> usize {
        (self.memory / 16).clamp(16 << 10, 1 << 20) as usize
    }
}

/// Some of the left rows of a partition: where they start in its file, where they end, once that is known, and which of them
/// have a partner.
struct LeftRows {
    from: u64,
    until: Option<u64>,
    met: Met,
}

/// A bit for each row.
#[derive(Default)]
struct Met(Vec<u64>);

impl Met {
    fn is_set(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn set(&mut self, row: usize) {
        if self.0.len() <= row / 64 {
            self.0.resize(row / 64 + 1, 0);
        }
        self.0[row / 64] |= 1 << (row % 64);
    }
}

#[cfg(test)]
mod tests;
