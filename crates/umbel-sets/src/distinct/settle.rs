//! Deciding about lines that did not fit in memory: each partition in a table of its own.
//!
//! A partition has *excluded* lines, and doubtful *lines* in the order they came. The former enter a
//! table first; then a line that is not there is the first of its kind. What finds no room goes to
//! partitions of the next level. Every table takes at least one line and all its repeats, so this ends
//! for any input.

use std::sync::Mutex;

use super::EXCLUDED;
use super::counts::{Counted, Counts};
use crate::Error;
use crate::join::{Settling, work_off};
use crate::places::Places;
use crate::records::Record;
use crate::spill::{Disk, Merged, Partitions, Push, Runs, Spill};
use crate::table::{Cursor, Inserted, Table};

/// Lines set aside together.
pub(super) struct Part {
    pub(super) excluded: Option<Spill>,
    pub(super) lines: Spill,
    pub(super) level: u32,
}

impl Part {
    /// The partitions of one level.
    pub(super) fn all(excluded: Option<Vec<Spill>>, lines: Vec<Spill>, level: u32) -> Vec<Self> {
        let mut excluded = excluded.map(Vec::into_iter);
        let parts = lines.into_iter().map(|lines| {
            let excluded = excluded.as_mut().and_then(Iterator::next);
            Self { excluded, lines, level }
        });
        parts.filter(|part| part.lines.bytes() > 0).collect()
    }
}

pub(super) struct Settle<'a> {
    pub(super) settling: Settling<'a>,
    pub(super) places: &'a Places,
    pub(super) verdict: Verdict,
}

impl Settle<'_> {
    /// Decides about all parts; gives the number of different lines they held.
    pub(super) fn run(&self, parts: Vec<Part>, runs: &mut Runs) -> Result<u64, Error> {
        let longest = |part: &Part| {
            part.lines.longest().max(part.excluded.as_ref().map_or(0, Spill::longest))
        };
        let runs = Mutex::new(runs);
        work_off(parts, self.settling, longest, |part, settling| self.part(part, settling, &runs))
    }

    /// Decides about one part; gives what is left for the next level, and the lines held.
    fn part(
        &self,
        part: Part,
        settling: Settling<'_>,
        runs: &Mutex<&mut Runs>,
    ) -> Result<(Vec<Part>, u64), Error> {
        let mut counts = self.verdict.counted.map(Counts::new);
        let layout = part.lines.layout();
        let mut table =
            Table::new(self.verdict.table(settling.memory - settling.memory / 4), layout)?;
        let level = part.level + 1;
        let excluded = part.excluded.as_ref();
        let excluded =
            excluded.map(|file| settling.load(&mut table, file, level)).transpose()?.flatten();
        let mut rest: Option<Partitions> = None;
        let mut reader = part.lines.read(settling.buffer());
        let mut seen = 0;
        while let Some((place, line)) = reader.next(settling.disk)? {
            seen += 1;
            let hash = settling.hasher.hash(line.key());
            match (table.insert(hash, place, line)?, &mut counts) {
                (Inserted::New(unit), Some(counts)) => {
                    counts.begin(unit, self.places.input_of(place));
                }
                (Inserted::Known(unit), Some(counts)) => {
                    counts.add(unit, self.places.input_of(place));
                }
                (Inserted::New(_) | Inserted::Known(_), None) => {}
                (Inserted::Full, _) => {
                    if rest.is_none() {
                        let estimate = || settling.partitions_of_rest(&part.lines, seen);
                        let count = excluded.as_ref().map_or_else(estimate, Partitions::len);
                        rest = Some(settling.partitions(level, count, layout)?);
                    }
                    rest.as_ref().expect("just made").push(settling.disk, hash, place, line)?;
                }
            }
        }
        let verdict = self.verdict;
        runs.lock()
            .expect("no worker panics")
            .run(settling.disk, |push| verdict.each(&table, counts.as_ref(), push))?;
        let excluded = excluded.map(|rest| rest.finish()).transpose()?;
        let parts = match rest {
            Some(rest) => Part::all(excluded, rest.finish()?, level),
            None => Vec::new(),
        };
        Ok((parts, table.len()))
    }
}

/// What is to be told of a line that came for the first time: a record of a run, at its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// Only of lines that came at least so often, or in so many inputs.
    pub(super) at_least: u64,
    /// What must be counted of lines, if anything.
    pub(super) counted: Option<Counted>,
    /// Tell the row.
    pub(super) rows: bool,
}

impl Verdict {
    /// Of a share of memory, what is left to a table beside what is counted of its lines.
    pub(super) fn table(self, share: u64) -> u64 {
        self.counted.map_or(share, |counted| Counts::table(counted, share))
    }

    /// Pushes the verdicts about the lines of a table, in the order they came: how often as u64, and
    /// the row if it is wanted.
    pub(super) fn each(
        self,
        table: &Table,
        counts: Option<&Counts>,
        push: &mut Push<'_>,
    ) -> Result<(), Error> {
        let (mut bytes, mut cursor) = (Vec::new(), Cursor::default());
        while let Some(Told { place, count, row }) = self.next(table, counts, &mut cursor) {
            bytes.clear();
            bytes.extend_from_slice(&count.to_le_bytes());
            if self.rows {
                bytes.extend_from_slice(row);
            }
            push(place, &bytes)?;
        }
        Ok(())
    }

    /// The next line of a table that there is a verdict about.
    fn next<'t>(
        self,
        table: &'t Table,
        counts: Option<&Counts>,
        cursor: &mut Cursor,
    ) -> Option<Told<'t>> {
        while let Some((unit, entry)) = table.next(cursor) {
            let count = counts.map_or(1, |counts| counts.get(unit));
            if entry.place != EXCLUDED && count >= self.at_least {
                return Some(Told { place: entry.place, count, row: entry.line.row });
            }
        }
        None
    }

    /// The record of a line for what is wanted of it later.
    pub(super) fn record<'l>(self, line: Record<'l>) -> Record<'l> {
        if self.rows { line } else { Record::line(line.key()) }
    }
}

/// A verdict about a line that came for the first time at its place.
pub(super) struct Told<'a> {
    pub(super) place: u64,
    /// How often it came; 1 where that does not matter.
    pub(super) count: u64,
    /// Empty where it is not wanted.
    pub(super) row: &'a [u8],
}

/// The verdicts about all lines that were looked up, by ascending place.
pub(super) enum Known {
    Table { table: Box<Table>, counts: Option<Counts>, verdict: Verdict, cursor: Cursor },
    Runs(Merged),
}

impl Known {
    pub(super) fn table(table: Table, counts: Option<Counts>, verdict: Verdict) -> Self {
        Self::Table { table: Box::new(table), counts, verdict, cursor: Cursor::default() }
    }

    /// The next verdict.
    pub(super) fn next(&mut self, disk: &Disk<'_>) -> Result<Option<Told<'_>>, Error> {
        match self {
            Self::Table { table, counts, verdict, cursor } => {
                Ok(verdict.next(table, counts.as_ref(), cursor))
            }
            Self::Runs(merged) => Ok(merged.next(disk)?.map(|(place, bytes)| {
                let (count, row) = bytes.split_at(8);
                let count = u64::from_le_bytes(count.try_into().expect("8 bytes"));
                Told { place, count, row }
            })),
        }
    }
}
