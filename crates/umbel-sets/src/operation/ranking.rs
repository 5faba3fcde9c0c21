//! Orders results by their counts, through temporary files if there are many.

use std::cmp::Reverse;

use crate::Error;
use crate::sink::Sink;
use crate::spill::{Disk, Runs, Selected};

/// Receives results in the order of their places, and returns those with the highest counts first.
pub(super) struct Ranking<'a> {
    most: u64,
    /// Bytes for results in memory.
    memory: usize,
    disk: &'a Disk<'a>,
    results: Vec<Held>,
    rows: Vec<u8>,
    runs: Runs,
    spilled: bool,
}

/// A result whose row is in memory.
#[derive(Clone, Copy)]
struct Held {
    count: u64,
    start: usize,
    length: usize,
}

impl<'a> Ranking<'a> {
    /// For at most `most` results, in about `memory` bytes.
    pub(super) fn new(most: u64, memory: u64, disk: &'a Disk<'a>) -> Self {
        let (results, rows, runs) = (Vec::new(), Vec::new(), Runs::new(1 << 18));
        Self { most, memory: memory as usize, disk, results, rows, runs, spilled: false }
    }

    pub(super) fn push(&mut self, selected: Selected<'_>) -> Result<(), Error> {
        let Selected { count, row, .. } = selected;
        // Vectors double: half of their capacity may be unused. Rows are copied once more when some are dropped.
        let held = 3 * self.rows.len() + 2 * size_of_val(&self.results[..]);
        if held + 3 * row.len() > self.memory && !self.results.is_empty() {
            self.sort();
            if 6 * self.rows.len() > self.memory {
                self.spill()?;
            }
        }
        self.results.push(Held { count, start: self.rows.len(), length: row.len() });
        self.rows.extend_from_slice(row);
        Ok(())
    }

    /// Sorts the results in memory, and drops those not among the first.
    fn sort(&mut self) {
        // Equal counts stay in order: that of their rows, of which one may be empty.
        self.results.sort_unstable_by_key(|held| (Reverse(held.count), held.start, held.length));
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        if self.results.len() > most {
            self.results.truncate(most);
            let mut rows = Vec::new();
            for held in &mut self.results {
                let row = held.start..held.start + held.length;
                held.start = rows.len();
                rows.extend_from_slice(&self.rows[row]);
            }
            self.rows = rows;
        }
    }

    fn held(&self) -> impl Iterator<Item = Selected<'_>> {
        self.results.iter().map(|&Held { count, start, length }| {
            // Runs are merged by ascending place.
            let place = u64::MAX - count;
            Selected { place, count, row: &self.rows[start..start + length] }
        })
    }

    /// Writes the sorted results to a run.
    fn spill(&mut self) -> Result<(), Error> {
        let mut runs = std::mem::replace(&mut self.runs, Runs::new(1 << 18));
        self.held().try_for_each(|selected| runs.push(self.disk, selected))?;
        runs.end();
        (self.runs, self.spilled) = (runs, true);
        self.results.clear();
        self.rows.clear();
        Ok(())
    }

    /// Writes the results, the highest counts first, equal counts in the order of places.
    pub(super) fn write(mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        self.sort();
        if !self.spilled {
            return self.held().try_for_each(|selected| sink.result(selected));
        }
        self.spill()?;
        let mut merged = self.runs.merge(self.disk, self.memory as u64)?;
        for _ in 0..self.most {
            let Some(selected) = merged.next(self.disk)? else { break };
            sink.result(selected)?;
        }
        Ok(())
    }
}
