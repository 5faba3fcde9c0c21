//! Which lines an operation selects, and which part of them it writes.

use std::sync::atomic::Ordering;

use super::counts::{Counted, Counts};
use super::marks::Marks;
use crate::Error;
use crate::records::Record;
use crate::spill::{Disk, Merged, Runs, Selected};
use crate::table::{Cursor, Table};

/// Which lines of the first inputs are selected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The minimum number of occurrences, or of inputs that have the line.
    pub(super) at_least: u64,
    /// What is counted, if anything.
    pub(super) counted: Option<Counted>,
    pub(super) others: Others,
    /// Every record with a selected key is written, not only the first or last one of each key.
    pub(super) every: bool,
    /// Results hold rows. Otherwise they hold places only, and one more pass writes the rows.
    pub(super) rows: bool,
}

/// The join with the other inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// No other input has the line, or there are no others.
    Anti,
    /// All others, this many, have the line.
    Semi(u64),
    /// Lines are marked by whether another input has them: with count 2 if so, else 1.
    Mark,
}

impl Rule {
    /// Bytes left for a table if counts of its lines use part of `share`.
    pub(super) fn table(self, share: u64) -> u64 {
        self.counted.map_or(share, |counted| Counts::table(counted, share))
    }

    /// Words of the inputs that have a line, in front of the row of each result.
    pub(super) fn words(self) -> usize {
        match self.counted {
            Some(Counted::Holders(words)) => words.into(),
            _ => 0,
        }
    }

    /// Whether the keys of the other inputs alone decide.
    pub(super) fn is_look_up(self) -> bool {
        self.every || matches!(self.others, Others::Semi(_))
    }

    /// Whether a key that `met` of the other inputs have is wanted.
    pub(super) fn wants(self, met: u64) -> bool {
        match self.others {
            Others::Anti => met == 0,
            Others::Semi(all) => met == all,
            Others::Mark => true,
        }
    }

    /// The count of a result, for a line that occurs `count` times and that `met` of the other inputs have.
    pub(super) fn count(self, count: u64, met: u64) -> u64 {
        if self.others == Others::Mark { 1 + u64::from(met > 0) } else { count }
    }

    /// The record of a line that results need.
    pub(super) fn record<'l>(self, line: Record<'l>) -> Record<'l> {
        if self.rows { line } else { Record::line(line.key()) }
    }

    /// The next selected line of a table, in order of arrival, and its unit.
    pub(super) fn next<'t>(
        self,
        table: &'t Table,
        counts: Option<&Counts>,
        met: Option<&Met>,
        cursor: &mut Cursor,
    ) -> Option<(u64, Selected<'t>)> {
        while let Some((unit, entry)) = table.next(cursor) {
            let count = counts.map_or(1, |counts| counts.get(unit));
            let met = met.map_or(0, |met| met.get(unit));
            if count >= self.at_least && self.wants(met) {
                let place =
                    counts.and_then(|counts| counts.last_place(unit)).unwrap_or(entry.place);
                let row = if self.rows { entry.line.row } else { &[] };
                return Some((unit, Selected { place, count: self.count(count, met), row }));
            }
        }
        None
    }

    /// Appends the selected lines of a table as a run of results, or as several if they do not arrive in the order of
    /// their places: an eighth of `memory` bytes is sorted at a time.
    pub(super) fn append(
        self,
        table: &Table,
        counts: Option<&Counts>,
        met: Option<&Met>,
        disk: &Disk<'_>,
        runs: &mut Runs,
        memory: u64,
    ) -> Result<(), Error> {
        /// Results sorted together, at least and at most; with more than 3 MiB, there would be hardly fewer runs.
        const SOME: [u64; 2] = if cfg!(test) { [16, 16] } else { [1 << 10, 1 << 16] };
        let most = memory / 8 / size_of::<(u64, Selected<'_>)>() as u64;
        let most = most.clamp(SOME[0], SOME[1]).min(table.len()) as usize;
        let mut cursor = Cursor::default();
        let mut next = || self.next(table, counts, met, &mut cursor);
        let (mut some, mut text) = (Vec::with_capacity(most), Vec::new());
        loop {
            some.clear();
            some.extend(std::iter::from_fn(&mut next).take(most));
            if some.is_empty() {
                break;
            }
            if self.counted == Some(Counted::Last) {
                runs.end();
                some.sort_unstable_by_key(|(_, selected)| selected.place);
            }
            for &(unit, selected) in &some {
                runs.push(disk, behind_holders(selected, counts, unit, &mut text))?;
            }
        }
        runs.end();
        Ok(())
    }
}

/// A result after the inputs that have it, if these are counted: `text` holds their words and the row.
fn behind_holders<'t>(
    selected: Selected<'t>,
    counts: Option<&Counts>,
    unit: u64,
    text: &'t mut Vec<u8>,
) -> Selected<'t> {
    let Some(words) = counts.and_then(|counts| counts.holders(unit)) else { return selected };
    text.clear();
    text.extend(words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()));
    text.extend_from_slice(selected.row);
    Selected { row: text, ..selected }
}

/// In how many of the other inputs each record of a table is.
pub(super) enum Met {
    /// Whether it is in any: there is only one, or one is enough.
    Any(Marks),
    Inputs(Counts),
}

impl Met {
    /// For a table that has all its records.
    pub(super) fn of(table: &Table, rule: Rule) -> Self {
        match rule.others {
            Others::Semi(2..) => Self::Inputs(Counts::new(Counted::Inputs)),
            _ => Self::Any(Marks::of(table)),
        }
    }

    /// Bytes left for a table if this uses part of `share`.
    pub(super) fn table(share: u64, rule: Rule) -> u64 {
        match rule.others {
            Others::Semi(2..) => Counts::table(Counted::Inputs, share),
            _ => Marks::table(share),
        }
    }

    pub(super) fn add(&mut self, unit: u64, input: usize) {
        match self {
            Self::Any(marks) => {
                marks.set(unit);
            }
            Self::Inputs(counts) => counts.begin(unit, input, 0),
        }
    }

    pub(super) fn get(&self, unit: u64) -> u64 {
        match self {
            Self::Any(marks) => u64::from(marks.is_set(unit)),
            Self::Inputs(counts) => counts.get(unit),
        }
    }
}

/// All results, by ascending place.
pub(super) enum Results {
    Table { table: Box<Table>, counts: Option<Counts>, rule: Rule, cursor: Cursor, text: Vec<u8> },
    Runs(Merged),
}

impl Results {
    pub(super) fn table(table: Table, counts: Option<Counts>, rule: Rule) -> Self {
        let (cursor, text) = Default::default();
        Self::Table { table: Box::new(table), counts, rule, cursor, text }
    }

    pub(super) fn next(&mut self, disk: &Disk<'_>) -> Result<Option<Selected<'_>>, Error> {
        match self {
            Self::Table { table, counts, rule, cursor, text } => {
                let next = rule.next(table, counts.as_ref(), None, cursor);
                Ok(next.map(|(unit, found)| behind_holders(found, counts.as_ref(), unit, text)))
            }
            Self::Runs(merged) => merged.next(disk),
        }
    }
}
