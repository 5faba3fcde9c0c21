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

/// Receives results in any order, and returns them, or the first of them, in that of their keys' bytes; those with equal keys
/// in the order of their arrival.
pub(super) struct Sorting<'a> {
    /// The results that are wanted.
    most: u64,
    /// Bytes for results in memory.
    memory: usize,
    disk: &'a Disk<'a>,
    /// The key and the row of each, one after the other.
    bytes: Vec<u8>,
    held: Vec<Held>,
    runs: Vec<Spill>,
}

/// A result in memory: where its key starts, behind which is its row, and their lengths.
struct Held {
    /// The first bytes of the key, by which most are told apart, as a number.
    prefix: u64,
    start: usize,
    key: u32,
    row: u32,
    count: u64,
}

impl Held {
    fn key(&self) -> Range<usize> {
        self.start..self.start + self.key as usize
    }

    fn row(&self) -> Range<usize> {
        let start = self.key().end;
        start..start + self.row as usize
    }
}

/// The first bytes of a key as a number, in whose order keys with others are.
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
        if self.size() + 3 * (key.len() + row.len()) > self.memory && !self.held.is_empty() {
            self.sort();
            if 2 * self.size() > self.memory {
                self.spill()?;
            }
        }
        let (start, prefix) = (self.bytes.len(), prefix(key));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
        let (key, row) = (key.len() as u32, row.len() as u32);
        self.held.push(Held { prefix, start, key, row, count });
        Ok(())
    }

    /// Bytes of memory. Vectors double: half of their capacity may be unused. Bytes are copied once more when some are dropped.
    fn size(&self) -> usize {
        3 * self.bytes.len() + 2 * size_of_val(&self.held[..])
    }

    /// Sorts the results in memory, and drops those that are not wanted.
    fn sort(&mut self) {
        let bytes = &self.bytes;
        // The prefix of a shorter key does not tell where it ends.
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
                let here = held.start..held.row().end;
                held.start = kept.len();
                kept.extend_from_slice(&self.bytes[here]);
            }
            self.bytes = kept;
        }
    }

    /// Writes the sorted results in memory to a run.
    fn spill(&mut self) -> Result<(), Error> {
        let mut run = SpillWriter::new(self.disk, READ[1], Layout::Keyed)?;
        for held in self.held.drain(..) {
            let (row, key) = (&self.bytes[held.row()], &self.bytes[held.key()]);
            run.push(held.count, Record::apart(row, key))?;
        }
        self.bytes.clear();
        self.runs.push(run.finish(self.disk)?);
        // Few enough to be read, and to be open, at the same time.
        if self.runs.len() == self.fan_in() {
            let mut run = SpillWriter::new(self.disk, READ[1], Layout::Keyed)?;
            self.merge(&mut |count, record| run.push(count, record))?;
            self.runs = vec![run.finish(self.disk)?];
        }
        Ok(())
    }

    fn fan_in(&self) -> usize {
        (self.memory / READ[0]).clamp(2, 128)
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
        self.merge(&mut |count, record| take(Selected { place: 0, count, row: record.row }))
    }

    /// Merges all runs.
    fn merge(
        &self,
        take: &mut dyn FnMut(u64, Record<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let buffer = (self.memory / self.runs.len().max(1)).clamp(READ[0], READ[1]);
        let mut readers: Vec<_> = self.runs.iter().map(|run| (run.read(buffer), 0)).collect();
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
    use crate::temporary::TempFolders;
    use crate::testing::long;

    proptest! {
        #![proptest_config(ProptestConfig { cases: long(2000, 200), ..ProptestConfig::default() })]

        #[test]
        fn results_come_in_the_order_of_their_keys(
            rows in proptest::collection::vec((proptest::collection::vec(prop_oneof![3 => Just(97u8), 1 => 0u8..3], 0..12), any::<u16>()), 0..300),
            memory in 0u64..20_000,
            most in prop_oneof![Just(u64::MAX), 0u64..400],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let folders = TempFolders::new(&[dir.path().to_owned()]);
            let disk = Disk::new(&folders);
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
