//! Steps 3 and 4 with spilled rows.

use std::collections::HashMap;

use super::pass::{Lists, PIECE};
use super::{Joining, Partners};
use crate::operation::plan::LEAST_FILTER;
use crate::operation::prelude::*;
use crate::operation::settle::{Part, Settling};
use crate::spill::{Partitions, SpillWriter};

/// The count of a result that refers to a list.
const LISTED: u64 = u64::MAX;
/// The count of a row without a partner.
pub(super) const ALONE: u64 = 0;
/// From this many bytes on, a list is not written next to each row.
const LONG_LIST: usize = if cfg!(test) { 1 << 8 } else { 64 << 10 };

impl Joining<'_> {
    /// Steps 3 and 4 with spilled rows.
    pub(super) fn settle(&mut self, right: Vec<Spill>, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (disk, budget) = (&self.disk, self.scanner.budget);
        let files: Vec<_> = right.iter().collect();
        let room = (budget.table(0) / 2).max(LEAST_FILTER);
        let filter = KeySet::none().filter(&files, &self.scanner, room)?;
        let filter = filter.expect("some keys are spilled");
        let (buffers, layout) = (budget.spill_buffers(), self.scanner.layout());
        let left = Partitions::new(disk, 0, right.len(), buffers, layout)?;
        let runs = Mutex::new(Runs::new(disk, buffers));
        let spread = Spread { filter: &filter, joining: self, left: &left, runs: &runs };
        let spare = budget.long_line() + budget.table(filter.plan().bytes());
        let tallies = self.scanner.scan(self.inputs, 0..1, &spread.visit(spare))?;
        drop(filter);
        let mut runs = runs.into_inner().expect("no worker panics");
        runs.end();
        let left = left.finish()?;
        self.record_left(&tallies)?;

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

    /// Writes the joined rows of all runs, by the places of their left rows. One row's may come from several runs, in
    /// the order of its partners. That it has no partner comes last, and counts only if it is the only result.
    pub(super) fn write(
        &self,
        runs: Runs,
        lists: &Spill,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
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

    /// The error for a row of the left input with several partners; reads the row again for its key.
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

    /// Appends a result to runs, without its text if it is only counted.
    fn push(&self, runs: &mut Runs, place: u64, count: u64, text: &[u8]) -> Result<(), Error> {
        let row = if self.join.total { &[] } else { text };
        runs.push(Selected { place, count, row })
    }
}

/// Distributes the rows of the left input whose keys may be gathered.
struct Spread<'a> {
    filter: &'a Blocked,
    joining: &'a Joining<'a>,
    left: &'a Partitions,
    /// Receives rows that cannot have a partner, if these are kept.
    runs: &'a Mutex<Runs>,
}

impl Spread<'_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Vec::new(), Scattered::default()))
    }
}

/// The flags mark kept rows that may have a partner; used only if all rows are kept.
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
        let (lists, mut written) = (Lists::of(std::slice::from_ref(table)), HashMap::new());
        let mut text = Vec::new();
        // Counted rows have no text.
        let most = if joining.join.total { usize::MAX } else { LONG_LIST };
        while rows.read_some(hasher)? {
            table.warm(rows.hashes());
            for (hash, place, line) in rows.some() {
                text.clear();
                let count = match lists.find(hash, line.key()) {
                    None if last && joining.keeps_left() => {
                        joining.left(place, line.row, &mut text)?;
                        ALONE
                    }
                    None => continue,
                    Some(at) if joining.refuses(&lists, at) => {
                        return Err(joining.join.repeated(line.key()));
                    }
                    Some(at) => {
                        match joining.listed((place, line.row), &lists, at, most, &mut text)? {
                            Some(count) => count,
                            None => {
                                let range = match written.get(&at) {
                                    Some(range) => *range,
                                    None => *written.entry(at).or_insert(self.list(&lists, at)?),
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
    fn list(self, lists: &Lists<'_>, at: At) -> Result<[u64; 2], Error> {
        let mut file = self.lists.lock().expect("no worker panics");
        let start = file.bytes();
        lists.get(at).try_for_each(|record| file.push(0, Record::line(record.row)))?;
        Ok([start, file.bytes()])
    }
}
