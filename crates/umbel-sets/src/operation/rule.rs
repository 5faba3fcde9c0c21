//! What makes a line wanted, and what is told of it.

use super::counts::{Counted, Counts};
use super::marks::Marks;
use crate::Error;
use crate::records::Record;
use crate::spill::{Disk, Merged, Runs, Told};
use crate::table::{Cursor, Table};

/// Which lines of the first inputs are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Those that come at least so often, or in so many inputs.
    pub(super) at_least: u64,
    /// What must be counted of lines, if anything.
    pub(super) counted: Option<Counted>,
    pub(super) others: Others,
    /// What is told at the end are rows; otherwise only where they stand, and one more pass writes them.
    pub(super) rows: bool,
}

/// What the other inputs have to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// None of them may have the line; or there are none.
    Without,
    /// All of them, so many, must have it.
    All(u64),
}

impl Rule {
    /// Of a share of memory, what is left to a table beside what is counted of its lines.
    pub(super) fn table(self, share: u64) -> u64 {
        self.counted.map_or(share, |counted| Counts::table(counted, share))
    }

    /// The record of a line for what is wanted of it later.
    pub(super) fn record<'l>(self, line: Record<'l>) -> Record<'l> {
        if self.rows { line } else { Record::line(line.key()) }
    }

    /// The next wanted line of a table, in the order they came.
    pub(super) fn next<'t>(
        self,
        table: &'t Table,
        counts: Option<&Counts>,
        met: Option<&Met>,
        cursor: &mut Cursor,
    ) -> Option<Told<'t>> {
        while let Some((unit, entry)) = table.next(cursor) {
            let count = counts.map_or(1, |counts| counts.get(unit));
            let met = met.map_or(0, |met| met.get(unit));
            let others = match self.others {
                Others::Without => met == 0,
                Others::All(all) => met == all,
            };
            if count >= self.at_least && others {
                let row = if self.rows { entry.line.row } else { &[] };
                return Some(Told { place: entry.place, count, row });
            }
        }
        None
    }

    /// Appends what is told of the lines of a table as a run.
    pub(super) fn tell(
        self,
        table: &Table,
        counts: Option<&Counts>,
        met: Option<&Met>,
        disk: &Disk<'_>,
        runs: &mut Runs,
    ) -> Result<(), Error> {
        let mut cursor = Cursor::default();
        while let Some(told) = self.next(table, counts, met, &mut cursor) {
            runs.push(disk, told)?;
        }
        runs.end();
        Ok(())
    }
}

/// In how many of the others each record of a table was met.
pub(super) enum Met {
    /// In one or none: there is only one, or one is enough.
    Any(Marks),
    Inputs(Counts),
}

impl Met {
    /// For the records of a table that no more are added to, under a rule.
    pub(super) fn of(table: &Table, rule: Rule) -> Self {
        match rule.others {
            Others::All(2..) => Self::Inputs(Counts::new(Counted::Inputs)),
            _ => Self::Any(Marks::of(table)),
        }
    }

    /// Of a share of memory, what is left to a table of whose records this is known.
    pub(super) fn table(share: u64, rule: Rule) -> u64 {
        match rule.others {
            Others::All(2..) => Counts::table(Counted::Inputs, share),
            _ => Marks::table(share),
        }
    }

    pub(super) fn add(&mut self, unit: u64, input: usize) {
        match self {
            Self::Any(marks) => {
                marks.set(unit);
            }
            Self::Inputs(counts) => counts.begin(unit, input),
        }
    }

    fn get(&self, unit: u64) -> u64 {
        match self {
            Self::Any(marks) => u64::from(marks.is_set(unit)),
            Self::Inputs(counts) => counts.get(unit),
        }
    }
}

/// What is told of all lines that were looked up, by ascending place.
pub(super) enum Known {
    Table { table: Box<Table>, counts: Option<Counts>, rule: Rule, cursor: Cursor },
    Runs(Merged),
}

impl Known {
    pub(super) fn table(table: Table, counts: Option<Counts>, rule: Rule) -> Self {
        Self::Table { table: Box::new(table), counts, rule, cursor: Cursor::default() }
    }

    pub(super) fn next(&mut self, disk: &Disk<'_>) -> Result<Option<Told<'_>>, Error> {
        match self {
            Self::Table { table, counts, rule, cursor } => {
                Ok(rule.next(table, counts.as_ref(), None, cursor))
            }
            Self::Runs(merged) => merged.next(disk),
        }
    }
}
