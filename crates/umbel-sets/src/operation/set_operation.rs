//! A set operation: its settings, and from its plan to its result.

use std::io;

use super::prelude::*;
use crate::labels::{LabelColumn, Labels};
use crate::passes::EarlierPasses;
use crate::records::Empty;
use crate::sink::Hand;

/// The share of memory for ordering results, 1 in this many, next to the operation that selects them.
const ORDERING: u64 = 4;

/// A set operation over the lines of files.
#[derive(Debug)]
pub struct SetOperation<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) rule: Rule,
    /// Whether the count of its key is written with each line.
    pub(super) counted: bool,
    /// Which of the lines with the same key.
    pub(super) keep: Keep<'a>,
    /// The most frequent lines first, and how many of them.
    pub(super) ranked: Option<Top>,
    pub(super) fpp: Option<f64>,
    pub(super) budget: Budget,
    pub(super) options: &'a Options,
    pub(super) sorted: bool,
}

impl<'a> SetOperation<'a> {
    pub(super) fn new(
        inputs: &'a [Input],
        rule: Rule,
        options: &'a Options,
    ) -> Result<Self, Error> {
        Ok(Self::within(options.resources.budget()?, inputs, rule, options))
    }

    pub(super) fn within(
        budget: Budget,
        inputs: &'a [Input],
        rule: Rule,
        options: &'a Options,
    ) -> Self {
        let (counted, keep, ranked, fpp, sorted) = (false, Keep::First, None, None, false);
        Self { inputs, rule, counted, keep, ranked, fpp, budget, options, sorted }
    }

    /// Sets memory aside to order the results in.
    pub(super) fn in_order(self) -> Self {
        let rest = self.budget.rest - self.budget.rest / ORDERING;
        Self { budget: Budget { rest, ..self.budget }, ..self }
    }

    /// Bytes of that memory.
    pub(super) fn ordering(&self) -> u64 {
        self.budget.rest / (ORDERING - 1)
    }

    /// Selects each different line of all `inputs`, or one of the lines of each key.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads; [`Error::Copied`] for an input whose lines cannot be numbered.
    pub fn distinct(
        inputs: &'a [Input],
        distinct: Distinct<'a>,
        options: &'a Options,
    ) -> Result<Self, Error> {
        let Distinct { counted, keep, numbered, ranked, .. } = distinct;
        if let Some(input) = inputs.iter().find(|input| numbered && input.copied) {
            return Err(Error::Copied(input.name().to_owned()));
        }
        let operation = Self::new(inputs, Rule::of_distinct(distinct), options)?;
        let operation = Self { counted, keep, ranked, ..operation };
        Ok(if ranked.is_some() { operation.in_order() } else { operation })
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
        check_at_least(at_least, inputs)?;
        if at_least > 1 && inputs.len() > usize::from(u16::MAX) {
            return Err(Error::Inputs(inputs.len()));
        }
        let rule = match at_least {
            1 => Rule::DISTINCT,
            all if all == inputs.len() => Rule::of_first(Others::Semi(all as u64 - 1), false),
            some => Rule::counting(Counted::Inputs, some as u64),
        };
        Self::new(inputs, rule, options)
    }

    /// Selects each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, Rule::of_first(Others::Anti, false), options)
    }

    /// With `all`, selects every line of the first of two or more inputs whose key all others have, or with
    /// [`except`](Self::except) none of them, including repeats: a semi-join or an anti-join. Other operations are
    /// unchanged.
    #[must_use]
    pub fn every(self, all: bool) -> Self {
        Self { rule: Rule { every: all && self.rule.first_only, ..self.rule }, ..self }
    }

    /// Uses filters alone and reads every input once. A line is wrongly left out or, if other inputs matter, wrongly
    /// written with a total probability of at most `fpp`. Writes the first line of each key, as it is.
    #[must_use]
    pub fn with_error(self, fpp: Option<f64>) -> Self {
        Self { fpp, ..self }
    }

    /// If `sorted`, writes the result in the order of the keys' bytes, as `LC_ALL=C sort` sorts lines; records without
    /// a key come first. If [numbers are normalized](crate::Normalization::number), they come in the order of their
    /// values, before other values by their bytes, and empty ones last. Results with an error, and [ranked](Distinct::ranked) ones, keep their own order.
    #[must_use]
    pub fn sorted(self, sorted: bool) -> Self {
        if sorted { Self { sorted, ..self.in_order() } } else { self }
    }

    /// Sets the budget.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Whether records are sorted by their keys to choose among them.
    pub(super) fn groups(&self) -> bool {
        matches!(self.keep, Keep::Least(_) | Keep::Greatest(_) | Keep::All)
    }

    /// The number of inputs, from the first on, whose lines may be written.
    pub(super) fn from(&self) -> usize {
        self.rule.inputs(self.inputs.len())
    }

    pub(super) fn scanner(&self, hasher: impl Into<LineHasher>) -> Result<Scanner<'a>, Error> {
        let mut scanner = Scanner::within(self.budget, self.options, hasher)?;
        scanner.format.by_row = self.rule.counted == Some(Counted::Sides);
        Ok(scanner)
    }

    pub(super) fn header(&self) -> Result<Option<Vec<u8>>, Error> {
        self.scanner(LineHasher::random())?.header(self.inputs)
    }

    /// Writes the selected lines to `out`, in the order of their places over the inputs unless they are ranked.
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `out`. Output before an error is the beginning of the result.
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        if self.rule.numbered {
            return self.run_numbered(out);
        }
        let style = match self.counted && self.fpp.is_none() {
            true => RowStyle::Behind("count", self.options.form.records.column()),
            false => RowStyle::Rows,
        };
        let mut sink = Sink::new(out, self.options.form.records.end()).with_style(style);
        if self.fpp.is_some() || (self.ranked.is_none() && !self.sorted) {
            return self.write(sink, None);
        }
        sink.header(self.header()?.as_deref())?;
        let report = self.hand_in_order(0, &mut |selected| sink.result(selected))?;
        sink.finish(report)
    }

    /// Writes where each selected line begins, and then the line.
    fn run_numbered(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let records = &self.options.form.records;
        let (column, several) = (records.column(), self.inputs.len() > 1);
        let name = match column {
            Some(column) if several => format!("file{}line", char::from(column)),
            None if several => "file".to_owned(),
            _ => "line".to_owned(),
        };
        let mut sink = Sink::new(out, records.end()).with_style(RowStyle::Behind(&name, column));
        sink.header(self.header()?.as_deref())?;
        let names = self.inputs.iter().map(Input::name);
        let names = LabelColumn::new(Labels::Names, names, records);
        let mut text = Vec::new();
        let report = self.hand_in_order(16, &mut |selected| {
            let (words, row) = selected.row.split_at(16);
            let [number, input] =
                [0, 8].map(|at| u64::from_le_bytes(words[at..at + 8].try_into().expect("8 bytes")));
            text.clear();
            if several {
                names.write_one(input as usize, &mut text);
                match column {
                    Some(column) => text.push(column),
                    None => text.extend_from_slice(b",\"line\":"),
                }
            }
            text.extend_from_slice(number.to_string().as_bytes());
            sink.row(&text, row)
        })?;
        sink.finish(report)
    }

    /// Passes the results to `hand`, ordered by their counts or keys if wanted; `before` bytes precede each row.
    pub(super) fn hand_in_order<'h>(
        &self,
        before: usize,
        hand: &'h mut Hand<'h>,
    ) -> Result<Report, Error> {
        let ranked = self.ranked;
        if ranked.is_none() && !self.sorted {
            return self.hand(hand);
        }
        let disk = Disk::new(&self.options.resources.tmp);
        let Top(most) = ranked.unwrap_or(Top::ALL);
        let mut sorting = Sorting::new(most, self.ordering(), &disk);
        let mut report = if ranked.is_some() {
            self.hand(&mut |selected| sorting.push(&(!selected.count).to_be_bytes(), selected))?
        } else {
            let mut scanner = self.scanner(LineHasher::random())?;
            // In the order, an empty value is one.
            scanner.format.empty = Empty::Value;
            let (mut keys, mut text) = ([None, None], Vec::new());
            let places = Places::new(self.inputs);
            self.hand(&mut |selected| {
                // Other inputs may name the fields of the key differently.
                let input = &self.inputs[places.input_of(selected.place)];
                let keys = match &mut keys[usize::from(input.other)] {
                    Some(keys) => keys,
                    none => none.insert(scanner.row_keys_of(input)?),
                };
                sorting.push(keys.sort_key(&selected.row[before..], &mut text)?, selected)
            })?
        };
        sorting.finish(hand)?;
        report.disk(&disk);
        Ok(report)
    }

    /// Passes the results to `hand`.
    pub(super) fn hand<'h>(&self, hand: &'h mut Hand<'h>) -> Result<Report, Error> {
        self.hand_after(None, hand)
    }

    /// Like [`hand`](Self::hand), after other passes of the job over the same inputs.
    pub(super) fn hand_after<'h>(
        &self,
        seen: Option<EarlierPasses>,
        hand: &'h mut Hand<'h>,
    ) -> Result<Report, Error> {
        let mut nowhere = io::sink();
        let sink = Sink::new(&mut nowhere, self.options.form.records.end());
        self.write(sink.with_style(RowStyle::Handed(hand)), seen)
    }

    fn write(&self, mut sink: Sink<'_>, seen: Option<EarlierPasses>) -> Result<Report, Error> {
        let (mut plan, mut passes) = (self.plan()?, Passes::new(self.inputs));
        if plan.steps == Steps::Merge {
            let (progress, disk) =
                (&self.options.resources.progress, Disk::new(&self.options.resources.tmp));
            let before = progress.done();
            progress.expect(plan.bytes_read);
            if let Some(report) = self.merge(&disk, &mut sink)? {
                return sink.finish(report);
            }
            let read = progress.done() - before;
            progress.give_up(plan.bytes_read - read);
            passes.report.bytes_read = read;
            passes.report.disk(&disk);
            plan = self.plan_unsorted()?;
        }
        // An exact answer does not depend on the hash. An inexact one does, and must be the same for the same inputs.
        let hasher = match seen {
            Some((hasher, tallies)) => {
                passes.tallies = tallies;
                hasher
            }
            None if self.fpp.is_some() => LineHasher::repeatable(),
            None => LineHasher::random(),
        };
        let scanner = self.scanner(hasher)?;
        scanner.check_headers(self.inputs)?;
        self.options.resources.progress.expect(plan.bytes_read);
        let mut run = Run {
            inputs: self.inputs,
            rule: plan.complete(self.rule),
            from: self.from(),
            places: Places::new(self.inputs),
            disk: Disk::new(&self.options.resources.tmp),
            passes,
            scanner,
        };
        match &plan.steps {
            Steps::OnePass { written, others } => run.one_pass(written, others, &mut sink)?,
            Steps::LookUp { seen, gathered, .. } => {
                run.look_up(&plan, seen.as_ref(), gathered, &mut sink)?;
            }
            Steps::Decide { filters } if self.groups() => {
                run.group(self, filters.as_ref(), &mut sink)?;
            }
            Steps::Decide { filters } => run.decide(&plan, filters.as_ref(), &mut sink)?,
            Steps::Merge | Steps::SideBySide(_) | Steps::Join { .. } => {
                unreachable!("unsorted lines, not rows of a join or diff")
            }
        }
        sink.finish(run.passes.finish(self.inputs, &run.disk))
    }
}

/// Refuses a threshold of 0 inputs, or more than there are.
pub(super) fn check_at_least(at_least: usize, inputs: &[Input]) -> Result<(), Error> {
    match (1..=inputs.len()).contains(&at_least) {
        true => Ok(()),
        false => Err(Error::AtLeast { at_least, inputs: inputs.len() }),
    }
}
