//! A set operation from its plan to its result.

use std::io;

use super::merge::Merge;
use super::plan::Strategy;
use super::run::Run;
use super::sorting::Sorting;
use super::{Distinct, Selection, SetOperation, Top, one_pass};
use crate::Error;
use crate::hash::LineHasher;
use crate::passes::Passes;
use crate::places::Places;
use crate::report::Report;
use crate::sink::{Hand, RowStyle, Sink};
use crate::spill::Disk;

impl SetOperation<'_> {
    /// Writes the selected lines to `out`, in the order of their places over the inputs unless they are ranked.
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `out`. Output before an error is the beginning of the result.
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let counted = matches!(self.wanted, Selection::Distinct(Distinct { counted: true, .. }));
        let style = match self.options.records.column() {
            _ if !counted || self.fpp.is_some() => RowStyle::Rows,
            Some(column) => RowStyle::Column(column),
            None => RowStyle::Object,
        };
        let mut sink = Sink::new(out, self.options.separator).with_style(style);
        if self.fpp.is_some() || (self.ranked().is_none() && !self.sorted) {
            return self.write(sink);
        }
        sink.header(self.header()?.as_deref())?;
        let mut report = self.hand_in_order(0, &mut |selected| sink.result(selected))?;
        sink.finish(&mut report)?;
        Ok(report)
    }

    /// Passes the results to `hand`, ordered by their counts or keys if wanted; `before` bytes precede each row.
    pub(super) fn hand_in_order<'h>(
        &self,
        before: usize,
        hand: &'h mut Hand<'h>,
    ) -> Result<Report, Error> {
        let ranked = self.ranked();
        if ranked.is_none() && !self.sorted {
            return self.hand(hand);
        }
        let disk = Disk::new(&self.options.tmp);
        let Top(most) = ranked.unwrap_or(Top::ALL);
        let mut sorting = Sorting::new(most, self.ordering(), &disk);
        let mut report = if ranked.is_some() {
            self.hand(&mut |selected| sorting.push(&(!selected.count).to_be_bytes(), selected))?
        } else {
            let scanner = self.scanner(LineHasher::random())?;
            let (header, places) = (self.header()?, Places::new(self.inputs));
            let (mut keys, mut text) = ([None, None], Vec::new());
            self.hand(&mut |selected| {
                // Other inputs may name the fields of the key differently.
                let other = self.inputs[places.input_of(selected.place)].is_of_others();
                let keys = match &mut keys[usize::from(other)] {
                    Some(keys) => keys,
                    none => none.insert(scanner.row_keys(header.as_deref(), other)?),
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
        let mut nowhere = io::sink();
        self.write(
            Sink::new(&mut nowhere, self.options.separator).with_style(RowStyle::Handed(hand)),
        )
    }

    fn write(&self, mut sink: Sink<'_>) -> Result<Report, Error> {
        let mut plan = self.plan()?;
        if plan.strategy == Strategy::Merge {
            self.options.progress.expect(plan.bytes_read);
            let disk = Disk::new(&self.options.tmp);
            if let Some(mut report) = Merge::new(self).run(&disk, &mut sink)? {
                sink.finish(&mut report)?;
                return Ok(report);
            }
            plan = self.plan_unsorted()?;
        }
        // An exact answer does not depend on the hash. An inexact one does, and must be the same for the same inputs.
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
            keyed: self.wanted != Selection::Mark,
            scanner,
        };
        if plan.strategy == Strategy::OnePass {
            one_pass::run(&mut run, &plan, self.wanted, &mut sink)?;
        } else {
            run.exact(&plan, self.wanted.rule(&plan, self.inputs.len()), &mut sink)?;
        }
        let mut report = run.passes.finish(self.inputs, &run.disk);
        sink.finish(&mut report)?;
        Ok(report)
    }
}
