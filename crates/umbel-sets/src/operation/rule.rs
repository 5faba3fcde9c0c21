//! Which lines an operation selects, and which part of them it writes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::counts::{Counts, second_more};
use super::prelude::*;
use crate::spill::Merged;

/// Which lines an operation selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Whether only lines of the first input may be selected, not of all inputs.
    pub(super) first_only: bool,
    /// The minimum number of occurrences, or of inputs that have the line.
    pub(super) at_least: u64,
    /// The maximum number of occurrences.
    pub(super) at_most: u64,
    /// The count to keep, if any.
    pub(super) counted: Option<Counted>,
    pub(super) others: Others,
    /// Every record with a selected key is written, not only the first or last one of each key.
    pub(super) every: bool,
    /// The number of its line is in front of each row.
    pub(super) numbered: bool,
    /// Of two sides, lines that both have equally often are not selected.
    pub(super) uneven: bool,
    /// Results hold rows. Otherwise they hold places only, and one more pass writes the rows. Set by
    /// [`SetPlan::complete`](super::SetPlan::complete).
    pub(super) rows: bool,
}

/// The answer that filters of the other inputs must give for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// No filter matters.
    Nothing,
    /// None of them has it.
    Absence,
    /// At least this many inputs have it, counting its own.
    AtLeast(usize),
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
    /// Each different line of all inputs, once.
    pub(super) const DISTINCT: Self = Self {
        first_only: false,
        at_least: 1,
        at_most: u64::MAX,
        counted: None,
        others: Others::Anti,
        every: false,
        numbered: false,
        uneven: false,
        rows: false,
    };

    /// Each different line of all inputs whose count is at least this.
    pub(super) const fn counting(counted: Counted, at_least: u64) -> Self {
        Self { at_least, counted: Some(counted), ..Self::DISTINCT }
    }

    /// Lines of the first input that the others decide: each different one, or every occurrence.
    pub(super) const fn of_first(others: Others, every: bool) -> Self {
        Self { first_only: true, others, every, ..Self::DISTINCT }
    }

    /// Which of the lines with the same key are selected, and whether they are counted.
    pub(super) fn of_distinct(distinct: Distinct<'_>) -> Self {
        let Distinct { at_least, at_most, keep, counted, numbered, ranked } = distinct;
        let counts = at_least > 1 || at_most < u64::MAX || counted || ranked.is_some();
        let counted = match keep {
            Keep::Last => Some(Counted::Last),
            Keep::First => counts.then_some(Counted::Lines),
            // Selected by sorting.
            Keep::Least(_) | Keep::Greatest(_) | Keep::All => None,
        };
        Self { at_least, at_most, counted, numbered, ..Self::DISTINCT }
    }

    /// The number of inputs, from the first on, whose lines may be selected.
    pub(super) fn inputs(self, all: usize) -> usize {
        if self.first_only { all.min(1) } else { all }
    }

    /// The inputs whose keys are gathered, if keys decide: the smallest one, by these numbers of lines, that contains
    /// all selected lines.
    pub(super) fn gathered(self, lines: &[u64]) -> Range<usize> {
        let all = lines.len();
        match self.others {
            Others::Semi(_) => {
                let smallest = (1..all).min_by_key(|&i| lines[i]).unwrap_or(0);
                smallest..smallest + 1
            }
            Others::Anti | Others::Mark => self.inputs(all)..all,
        }
    }

    /// The answer that filters of the other inputs must give for a line if they alone decide; `inputs` is their total.
    pub(super) fn need(self, inputs: usize) -> Need {
        match (self.others, self.counted) {
            (Others::Semi(_), _) => Need::AtLeast(inputs),
            (_, Some(Counted::Inputs)) => Need::AtLeast(self.at_least as usize),
            _ if self.inputs(inputs) < inputs => Need::Absence,
            _ => Need::Nothing,
        }
    }

    /// Whether a single occurrence may be enough.
    pub(super) fn once(self) -> bool {
        self.at_least < 2 || self.counted == Some(Counted::Last)
    }

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
        table: &'t CountedTable,
        met: Option<&Matches>,
        cursor: &mut Cursor,
    ) -> Option<(u64, Selected<'t>)> {
        std::iter::from_fn(|| table.table.next(cursor))
            .find_map(|(unit, entry)| Some((unit, self.select(table, met, unit, &entry)?)))
    }

    /// The selected record of a table's entry.
    fn select<'t>(
        self,
        CountedTable { counts, .. }: &CountedTable,
        met: Option<&Matches>,
        unit: u64,
        entry: &Entry<'t>,
    ) -> Option<Selected<'t>> {
        let count = counts.as_ref().map_or(1, |counts| counts.get(unit));
        let met = met.map_or(0, |met| met.get(unit));
        if self.uneven && second_more(count) == Some(0) {
            return None;
        }
        if !(self.at_least..=self.at_most).contains(&count) || !self.wants(met) {
            return None;
        }
        let last = counts.as_ref().and_then(|counts| counts.last_place(unit));
        let row = if self.rows { entry.line.row } else { &[] };
        Some(Selected { place: last.unwrap_or(entry.place), count: self.count(count, met), row })
    }

    /// Appends the selected lines of a table, from the place `from` on, as a run of results, or as several if they do not
    /// arrive in the order of their places: an eighth of `memory` bytes is sorted at a time.
    pub(super) fn append(
        self,
        table: &CountedTable,
        met: Option<&Matches>,
        from: u64,
        runs: &mut Runs,
        memory: u64,
    ) -> Result<(), Error> {
        /// Results sorted together, at least and at most; with more than 3 MiB, there would be hardly fewer runs.
        const SOME: [u64; 2] = if cfg!(test) { [16, 16] } else { [1 << 10, 1 << 16] };
        let most = memory / 8 / size_of::<(u64, Selected<'_>)>() as u64;
        let most = most.clamp(SOME[0], SOME[1]).min(table.table.len()) as usize;
        let mut cursor = Cursor::default();
        let mut next = || self.next(table, met, &mut cursor);
        let (mut some, mut text) = (Vec::with_capacity(most), Vec::new());
        loop {
            some.clear();
            let late = |(_, selected): &(u64, Selected<'_>)| selected.place >= from;
            some.extend(std::iter::from_fn(&mut next).filter(late).take(most));
            if some.is_empty() {
                break;
            }
            if self.counted == Some(Counted::Last) {
                runs.end();
                some.sort_unstable_by_key(|(_, selected)| selected.place);
            }
            for &(unit, selected) in &some {
                runs.push(behind_holders(selected, table, unit, &mut text))?;
            }
        }
        runs.end();
        Ok(())
    }
}

/// A result after the inputs that have it, if these are counted: `text` holds their words and the row.
fn behind_holders<'t>(
    selected: Selected<'t>,
    CountedTable { counts, .. }: &CountedTable,
    unit: u64,
    text: &'t mut Vec<u8>,
) -> Selected<'t> {
    let Some(words) = counts.as_ref().and_then(|counts| counts.holders(unit)) else {
        return selected;
    };
    text.clear();
    text.extend(words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()));
    text.extend_from_slice(selected.row);
    Selected { row: text, ..selected }
}

/// In how many of the other inputs each record of a table is.
pub(super) enum Matches {
    /// Whether it is in any: there is only one, or one is enough.
    Any(Marks),
    Inputs(Counts),
}

impl Matches {
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
    Tables(InTables),
    Runs(Merged),
}

impl Results {
    pub(super) fn next(&mut self) -> Result<Option<Selected<'_>>, Error> {
        match self {
            Self::Tables(tables) => Ok(tables.next()),
            Self::Runs(merged) => merged.next(),
        }
    }
}

/// The selected lines of tables, each of which has them by ascending place.
pub(super) struct InTables {
    rule: Rule,
    tables: Vec<(CountedTable, Cursor)>,
    /// The next line of each table: its place, the table and its unit.
    next: BinaryHeap<Reverse<(u64, usize, u64)>>,
    text: Vec<u8>,
}

impl InTables {
    pub(super) fn new(tables: Vec<CountedTable>, rule: Rule) -> Self {
        let tables: Vec<_> = tables.into_iter().map(|table| (table, Cursor::default())).collect();
        let (next, text) = Default::default();
        let mut all = Self { rule, tables, next, text };
        (0..all.tables.len()).for_each(|number| all.advance(number));
        all
    }

    /// Notes the next line of a table.
    fn advance(&mut self, number: usize) {
        let (table, cursor) = &mut self.tables[number];
        if let Some((unit, selected)) = self.rule.next(table, None, cursor) {
            self.next.push(Reverse((selected.place, number, unit)));
        }
    }

    fn next(&mut self) -> Option<Selected<'_>> {
        let Reverse((_, number, unit)) = self.next.pop()?;
        self.advance(number);
        let table = &self.tables[number].0;
        let selected = self.rule.select(table, None, unit, &table.table.entry(unit))?;
        Some(behind_holders(selected, table, unit, &mut self.text))
    }
}
