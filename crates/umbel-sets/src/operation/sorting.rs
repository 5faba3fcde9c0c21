//! Orders results by their keys or counts, through temporary files if there are many: an external merge sort (D. E. Knuth, The Art of
//! Computer Programming 3, section 5.4).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use crate::Error;
use crate::records::{Layout, Record};
use crate::spill::{Disk, Selected, Spill, SpillReader, SpillWriter};

/// Bytes of the buffer of a run, at least and at most: below these, a read costs more in calls than in bytes.
const READ: [usize; 2] = if cfg!(test) { [64, 256] } else { [16 << 10, 1 << 20] };
/// Runs that may be open at the same time, and at most merged at once.
const RUNS: usize = if cfg!(test) { 8 } else { 128 };

/// Receives results in any order, and returns all or the first of them in the order of their keys' bytes; equal keys in
/// the order of arrival.
pub(super) struct Sorting<'a> {
    /// The results that are wanted.
    most: u64,
    /// Bytes for results in memory.
    memory: usize,
    disk: &'a Disk<'a>,
    /// Each row, and its key unless it is a part of the row, concatenated.
    bytes: Vec<u8>,
    held: Vec<Held>,
    /// In the order of arrival; no level is above an earlier one.
    runs: Vec<Run>,
}

/// A result in memory: where its row starts, and its length; where the key starts, in or after the row, and its length.
struct Held {
    /// The first bytes of the key as a number, which distinguishes most keys.
    prefix: u64,
    start: usize,
    row: u32,
    key_start: u32,
    key: u32,
    count: u64,
}

impl Held {
    fn row(&self) -> Range<usize> {
        self.start..self.start + self.row as usize
    }

    fn key(&self) -> Range<usize> {
        let start = self.start + self.key_start as usize;
        start..start + self.key as usize
    }

    fn all(&self) -> Range<usize> {
        self.start..self.row().end.max(self.key().end)
    }

    fn record<'b>(&self, bytes: &'b [u8]) -> Record<'b> {
        match self.key().end <= self.row().end {
            true => Record::within(&bytes[self.row()], self.key_start, self.key),
            false => Record::apart(&bytes[self.row()], &bytes[self.key()]),
        }
    }
}

/// Sorted results in a file, and the highest number of times that any of them was merged.
struct Run {
    spill: Spill,
    level: u32,
}

/// The first bytes of a key as a number; keys with different numbers have the same order as these.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// What receives results, in order.
pub(super) type Take<'t> = dyn FnMut(Selected<'_>) -> Result<(), Error> + 't;

impl<'a> Sorting<'a> {
    /// For at most `most` results, in about `memory` bytes.
    pub(super) fn new(most: u64, memory: u64, disk: &'a Disk<'a>) -> Self {
        let (bytes, held, runs) = Default::default();
        Self { most, memory: memory as usize, disk, bytes, held, runs }
    }

    pub(super) fn push(&mut self, key: &[u8], selected: Selected<'_>) -> Result<(), Error> {
        let Selected { count, row, .. } = selected;
        let key_start = key.as_ptr().addr().checked_sub(row.as_ptr().addr());
        let key_start = key_start.filter(|start| start + key.len() <= row.len());
        let apart = if key_start.is_some() { &[] } else { key };
        if self.size() + 3 * (row.len() + apart.len()) > self.memory && !self.held.is_empty() {
            self.sort();
            if 2 * self.size() > self.memory {
                self.spill()?;
            }
        }
        self.held.push(Held {
            prefix: prefix(key),
            start: self.bytes.len(),
            row: row.len() as u32,
            key_start: key_start.unwrap_or(row.len()) as u32,
            key: key.len() as u32,
            count,
        });
        self.bytes.extend_from_slice(row);
        self.bytes.extend_from_slice(apart);
        Ok(())
    }

    /// Bytes of memory. Vectors double: half of their capacity may be unused. Bytes are copied once more when some are dropped.
    fn size(&self) -> usize {
        3 * self.bytes.len() + 2 * size_of_val(&self.held[..])
    }

    /// Sorts the results in memory, and drops those that are not wanted.
    fn sort(&mut self) {
        let bytes = &self.bytes;
        // The prefix of a shorter key does not show where it ends.
        let rest = |a: &Held, b: &Held| match a.key.min(b.key) {
            8.. => bytes[a.key()][8..].cmp(&bytes[b.key()][8..]),
            _ => bytes[a.key()].cmp(&bytes[b.key()]),
        };
        self.held.sort_unstable_by(|a, b| {
            let keys = a.prefix.cmp(&b.prefix).then_with(|| rest(a, b));
            keys.then(a.start.cmp(&b.start))
        });
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        if self.held.len() > most {
            self.held.truncate(most);
            let mut kept = Vec::new();
            for held in &mut self.held {
                let here = held.all();
                held.start = kept.len();
                kept.extend_from_slice(&self.bytes[here]);
            }
            self.bytes = kept;
        }
    }

    /// Writes the sorted results in memory to a run.
    fn spill(&mut self) -> Result<(), Error> {
        let mut run = self.writer()?;
        for held in self.held.drain(..) {
            run.push(held.count, held.record(&self.bytes))?;
        }
        self.bytes.clear();
        self.runs.push(Run { spill: run.finish(self.disk)?, level: 0 });
        if self.runs.len() == RUNS {
            // The least merged ones, at least half: each is merged as often as if all had the same size.
            let level = self.runs[RUNS / 2].level;
            let from = self.runs.partition_point(|run| run.level > level);
            self.merge_neighbours(from)?;
        }
        Ok(())
    }

    fn writer(&self) -> Result<SpillWriter, Error> {
        SpillWriter::new(self.disk, (self.memory / 4).clamp(READ[0], READ[1]), Layout::Keyed)
    }

    /// How many runs can be read at the same time. The buffer of each grows to its longest record, and its lowest key is held
    /// once more, in a vector that may have twice its length.
    fn fan_in(&self) -> usize {
        let longest = self.runs.iter().map(|run| run.spill.longest()).max().unwrap_or(0);
        (self.memory / READ[0].max(3 * longest as usize)).clamp(2, RUNS)
    }

    /// Merges runs from this one on with those next to them.
    fn merge_neighbours(&mut self, from: usize) -> Result<(), Error> {
        (self.bytes, self.held) = Default::default();
        let fan_in = self.fan_in();
        let mut runs = self.runs.split_off(from);
        let level = runs[0].level + 1;
        while !runs.is_empty() {
            let rest = runs.split_off(fan_in.min(runs.len()));
            let mut run = self.writer()?;
            self.merge(&runs, &mut |count, record| run.push(count, record))?;
            self.runs.push(Run { spill: run.finish(self.disk)?, level });
            runs = rest;
        }
        Ok(())
    }

    /// Passes the results on, the lowest keys first.
    pub(super) fn finish(mut self, take: &mut Take<'_>) -> Result<(), Error> {
        self.sort();
        if self.runs.is_empty() {
            return self.held.iter().try_for_each(|held| {
                take(Selected { place: 0, count: held.count, row: &self.bytes[held.row()] })
            });
        }
        self.spill()?;
        (self.bytes, self.held) = Default::default();
        while self.runs.len() > self.fan_in() {
            self.merge_neighbours(0)?;
        }
        let mut take =
            |count, record: Record<'_>| take(Selected { place: 0, count, row: record.row });
        self.merge(&self.runs, &mut take)
    }

    /// Merges runs.
    fn merge(
        &self,
        runs: &[Run],
        take: &mut dyn FnMut(u64, Record<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let buffer = (self.memory / runs.len()).clamp(READ[0], READ[1]);
        let mut readers: Vec<_> = runs.iter().map(|run| (run.spill.read(buffer), 0)).collect();
        let mut heads = BinaryHeap::new();
        for (number, (reader, _)) in readers.iter_mut().enumerate() {
            if reader.read_some(self.disk)? {
                heads.push(Reverse((reader.get(0).1.key().to_vec(), number)));
            }
        }
        for _ in 0..self.most {
            let Some(mut head) = heads.peek_mut() else { break };
            let Reverse((key, number)) = &mut *head;
            let (reader, at): &mut (SpillReader, usize) = &mut readers[*number];
            let (count, record) = reader.get(*at);
            take(count, record)?;
            *at += 1;
            if *at == reader.len() {
                *at = 0;
                if !reader.read_some(self.disk)? {
                    PeekMut::pop(head);
                    continue;
                }
            }
            key.clear();
            key.extend_from_slice(reader.get(*at).1.key());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, ProptestConfig, any, prop_assert_eq, prop_oneof, proptest};

    use super::*;
    use crate::testing::{long, workplace};

    proptest! {
        #![proptest_config(ProptestConfig { cases: long(2000, 200), ..ProptestConfig::default() })]

        #[test]
        fn results_come_in_the_order_of_their_keys(
            rows in proptest::collection::vec((proptest::collection::vec(prop_oneof![3 => Just(97u8), 1 => 0u8..3], 0..12), any::<u16>()), 0..300),
            memory in 0u64..20_000,
            most in prop_oneof![Just(u64::MAX), 0u64..400],
        ) {
            let (_dir, options) = workplace(b'\n');
            let disk = Disk::new(&options.tmp);
            let mut sorting = Sorting::new(most, memory, &disk);
            for (i, (key, count)) in rows.iter().enumerate() {
                let row = format!("{i} {}", "x".repeat(i % 40));
                sorting.push(key, Selected { place: 0, count: (*count).into(), row: row.as_bytes() }).unwrap();
            }
            let mut found = Vec::new();
            sorting.finish(&mut |selected| {
                let row = std::str::from_utf8(selected.row).unwrap();
                found.push((row.split(' ').next().unwrap().parse::<usize>().unwrap(), selected.count));
                Ok(())
            }).unwrap();
            let mut expected: Vec<_> = (0..rows.len()).collect();
            expected.sort_by_key(|i| &rows[*i].0);
            expected.truncate(most.min(1000) as usize);
            let expected: Vec<_> = expected.into_iter().map(|i| (i, u64::from(rows[i].1))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
