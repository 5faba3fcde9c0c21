//! The rows that only one of two files has.
//!
//! Whole rows are compared first. If they have keys, a row that only one file has may be another version of a row in
//! the other file: that is decided among these rows alone, which are few if the files are similar.

mod cells;
pub mod changes;
mod side_by_side;

use super::counts::second_more;
use super::prelude::*;
use crate::report::Changes;
use crate::scan::RowKeys;
use crate::sink::Hand;
use side_by_side::{Read, Remaining, spool};

/// How a row differs between two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Only the old file has it.
    Removed,
    /// Only the new file has it, and the old one has none with its key.
    Added,
    /// Only the new file has it, and the old one has another row with its key.
    Changed,
    /// Both have it, the new file so many times more.
    Kept(i64),
    /// Only the old file has it, and the new one has another row with its key.
    Replaced,
}

/// Receives rows, and how they differ.
pub(super) type Show<'s> = dyn FnMut(Change, &[u8]) -> Result<(), Error> + Send + 's;

/// The comparison of two files, row by row: each different row once, whatever their order.
///
/// If several rows of a file have the same key, rows that are in both files are kept; any other row of the new file is
/// changed if a row with its key is gone from the old file, and added otherwise.
#[derive(Debug)]
pub struct Diff<'a> {
    /// All rows of both, by the files that have them.
    rows: SetOperation<'a>,
    paired: bool,
}

impl<'a> Diff<'a> {
    /// Makes the comparison of an old and a new file.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    ///
    /// # Panics
    /// Unless there are two inputs.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        assert_eq!(inputs.len(), 2, "an old and a new file");
        let rule = Rule { uneven: true, ..Rule::counting(Counted::Sides, 1) };
        let rows = SetOperation::new(inputs, rule, options)?;
        Ok(Self { rows, paired: false })
    }

    /// If `kept`, rows that both files have equally often are passed on. Otherwise they are only counted, which takes less
    /// time if there are many.
    #[must_use]
    pub fn with_kept(mut self, kept: bool) -> Self {
        self.rows.rule.uneven = !kept;
        self
    }

    /// If `paired`, passes each [replaced](Change::Replaced) row before the first changed row with its key, not with the
    /// removed ones. The rows of the new file are then sorted, through temporary files if there are many.
    #[must_use]
    pub fn paired(self, paired: bool) -> Self {
        Self { paired, ..self }
    }

    /// Plans the comparison.
    ///
    /// # Errors
    /// As for [`SetOperation::plan`].
    pub fn plan(&self) -> Result<SetPlan, Error> {
        let plan = self.rows.plan()?;
        let keyless = self.rows.options.form.keeps_keyless().is_some();
        if !self.rows.rule.uneven || keyless || plan.bytes_spilled == 0 {
            return Ok(plan);
        }
        let Some(filter) = side_by_side::filter(&self.rows.budget, &plan.lines)? else {
            return Ok(plan);
        };
        let bytes_read = lengths(self.rows.inputs);
        Ok(SetPlan { steps: Steps::SideBySide(filter), bytes_read, bytes_spilled: 0, ..plan })
    }

    /// Passes each row that differs to `show`, and rows that both files have but one more often: kept and removed or replaced ones in the order of the old file (with keys, all kept
    /// ones first); then added and changed ones, in the order of the new file.
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of `show`.
    pub fn run(&self, show: &mut Show<'_>) -> Result<Report, Error> {
        if self.rows.rule.uneven
            && let Steps::SideBySide(filter) = self.plan()?.steps
        {
            return self.run_after(side_by_side::read(&self.rows, &filter)?, show);
        }
        self.run_after(Err(Report::default()), show)
    }

    /// Compares what remains, or everything after a comparison was given up.
    fn run_after(&self, remaining: Read, show: &mut Show<'_>) -> Result<Report, Error> {
        let mut changes = Changes::default();
        let mut show = |change: Change, row: &[u8]| {
            match change {
                Change::Removed => changes.removed += 1,
                Change::Added => changes.added += 1,
                Change::Changed => changes.changed += 1,
                Change::Kept(times) => {
                    changes.kept += 1;
                    changes.uneven += u64::from(times != 0);
                }
                Change::Replaced => {}
            }
            show(change, row)
        };
        let (mut report, even) = match remaining {
            Err(given_up) => {
                let (mut report, even) = self.compare(&mut show)?;
                report.follow(given_up);
                (report, even)
            }
            Ok(Remaining { inputs, even, mut report }) => {
                let SetOperation { rule, budget, options, .. } = self.rows;
                let rows = SetOperation::within(budget, &inputs, rule, options);
                let (rest, more) = Diff { rows, ..*self }.compare(&mut show)?;
                report.follow(rest);
                (report, even + more)
            }
        };
        changes.kept += even;
        report.found = changes.different();
        report.changes = Some(changes);
        Ok(report)
    }

    /// Compares all rows; returns also how many are in both files equally often.
    fn compare(
        &self,
        show: &mut (impl FnMut(Change, &[u8]) -> Result<(), Error> + Send),
    ) -> Result<(Report, u64), Error> {
        let boundary = self.rows.inputs[0].length();
        let change = |Selected { place, count, .. }: Selected<'_>| match second_more(count) {
            Some(times) => Change::Kept(times),
            None if place < boundary => Change::Removed,
            None => Change::Added,
        };
        if self.rows.options.form.records.key().is_empty() {
            return self.hand(&mut |selected| show(change(selected), selected.row));
        }
        self.keyed(change, show)
    }

    /// Passes the selected rows to `hand`. Returns also how many others there are, which both files have equally often.
    fn hand<'h>(&self, hand: &'h mut Hand<'h>) -> Result<(Report, u64), Error> {
        let report = self.rows.hand(hand)?;
        // Without filters, every different row was in a table.
        let even = if self.rows.rule.uneven { report.distinct - report.found } else { 0 };
        Ok((report, even))
    }

    /// Compares rows, then the keys of rows that differ.
    fn keyed(
        &self,
        change: impl Fn(Selected<'_>) -> Change + Sync,
        show: &mut (impl FnMut(Change, &[u8]) -> Result<(), Error> + Send),
    ) -> Result<(Report, u64), Error> {
        let SetOperation { inputs, options, budget, .. } = self.rows;
        let [old, new] = inputs else { unreachable!("there are two") };
        let scanner = Scanner::within(budget, options, LineHasher::random())?;
        let spool = |[input, other]: [&Input; 2]| {
            // Places in it are not places in the input.
            let name = format!("rows of {} that {} lacks", input.name(), other.name());
            spool(&name, input, &scanner, options)
        };
        let (mut removed, mut added) = (spool([old, new])?, spool([new, old])?);
        let (mut report, even) = self.hand(&mut |selected| match change(selected) {
            Change::Removed => removed.row(selected.row),
            Change::Added => added.row(selected.row),
            kept => show(kept, selected.row),
        })?;
        // A removed row and an added one with the same key: the row has changed.
        let mut rows = [removed.finish()?, added.finish()?];
        rows[1].other = new.other;
        let part = self.part(&rows);
        let disk = Disk::new(&options.resources.tmp);
        let mut pairs = None;
        if self.paired {
            let keys = [scanner.row_keys_of(old)?, scanner.row_keys_of(new)?];
            pairs = Some(Pairs::new(keys, part.ordering(), &disk));
        }
        let part = part.hand(&mut |selected| match (selected.count, &mut pairs) {
            (..2, _) => show(Change::Removed, selected.row),
            (2.., Some(pairs)) => pairs.push(selected.row, 0),
            (2.., None) => show(Change::Replaced, selected.row),
        })?;
        report.follow(part);
        rows.reverse();
        let part = self.part(&rows).hand(&mut |selected| {
            let change = if selected.count > 1 { Change::Changed } else { Change::Added };
            match &mut pairs {
                Some(pairs) => pairs.new_row(change, selected.row),
                None => show(change, selected.row),
            }
        })?;
        report.follow(part);
        if let Some(pairs) = pairs {
            pairs.finish(show)?;
            report.disk(&disk);
        }
        Ok((report, even))
    }

    /// Marks the rows of the first of two inputs whose key is also in the second.
    fn part<'i>(&self, inputs: &'i [Input]) -> SetOperation<'i>
    where
        'a: 'i,
    {
        let SetOperation { budget, options, .. } = self.rows;
        let part =
            SetOperation::within(budget, inputs, Rule::of_first(Others::Mark, true), options);
        if self.paired { part.in_order() } else { part }
    }
}

/// The most changed rows of a key with a replaced row of their own: their numbers take 512 KiB.
const MOST_OF_KEY: usize = 1 << 16;

/// Puts the replaced rows of each key before its changed ones, each in their order, by two sorts: by key, to find that row; and then
/// by the order in which rows are shown.
struct Pairs<'a> {
    /// The keys of old rows, and of new ones.
    keys: [RowKeys<'a>; 2],
    /// Replaced rows, after the numbers of the changed ones with their key.
    by_key: Sorting,
    /// All rows of the new file by number, and replaced ones by the number of the row they are shown before.
    by_number: Sorting,
    /// The number of rows of the new file so far.
    number: u64,
    key: Vec<u8>,
}

impl<'a> Pairs<'a> {
    fn new(keys: [RowKeys<'a>; 2], memory: u64, disk: &Disk) -> Self {
        let sorting = || Sorting::new(u64::MAX, memory / 2, disk);
        Self { keys, by_key: sorting(), by_number: sorting(), number: 0, key: Vec::new() }
    }

    /// Adds to the first sort, by the key of `row`: numbers, which are not 0, and then rows.
    fn push(&mut self, row: &[u8], number: u64) -> Result<(), Error> {
        let key = self.keys[usize::from(number > 0)].key(row)?.unwrap_or_default();
        self.key.clear();
        // The length in front keeps any key from being a prefix of another.
        self.key.extend_from_slice(&(key.len() as u64).to_be_bytes());
        self.key.extend_from_slice(key);
        self.key.push(u8::from(number == 0));
        let row = if number == 0 { row } else { &[] };
        self.by_key.push(&self.key, Selected { place: 0, count: number, row })
    }

    fn new_row(&mut self, change: Change, row: &[u8]) -> Result<(), Error> {
        self.number += 1;
        if change == Change::Changed {
            self.push(row, self.number)?;
        }
        place(&mut self.by_number, self.number, change, row)
    }

    /// Passes the rows of the new file on, with the replaced ones.
    fn finish(
        self,
        show: &mut impl FnMut(Change, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { by_key, mut by_number, .. } = self;
        // The first numbers of a key, followed by its other numbers and then rows: each goes to a number of its own, surplus ones to
        // the last.
        let (mut numbers, mut rows) = (Vec::new(), 1);
        by_key.finish(|Selected { count: number, row, .. }| {
            if number == 0 {
                let number = numbers[rows.min(numbers.len() - 1)];
                rows += 1;
                return place(&mut by_number, number, Change::Replaced, row);
            }
            if std::mem::take(&mut rows) > 0 {
                numbers.clear();
            }
            if numbers.len() < MOST_OF_KEY {
                numbers.push(number);
            }
            Ok(())
        })?;
        by_number.finish(|Selected { count, row, .. }| show(SORTED[count as usize], row))
    }
}

/// The kinds of rows in the sort by number.
const SORTED: [Change; 3] = [Change::Replaced, Change::Changed, Change::Added];

/// Adds a row to the sort by number.
fn place(sorting: &mut Sorting, number: u64, change: Change, row: &[u8]) -> Result<(), Error> {
    let kind = SORTED.iter().position(|kind| *kind == change).expect("no other is sorted");
    let mut key = [0; 9];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8] = u8::from(kind > 0);
    sorting.push(&key, Selected { place: 0, count: kind as u64, row })
}
