//! Orders results by their keys or counts, through temporary files if there are many.

use super::prelude::*;

/// Receives results in any order, and returns all or the first of them in the order of their keys' bytes; equal keys in
/// the order of arrival.
pub(super) struct Sorting {
    /// The number of wanted results.
    most: u64,
    /// Bytes for results in memory.
    memory: usize,
    /// Their records.
    bytes: Vec<u8>,
    held: Vec<SortEntry>,
    /// In the order of arrival, by key; places are counts.
    runs: Runs<Vec<u8>>,
}

/// A result in memory.
struct SortEntry {
    /// The first bytes of the key as a number, which distinguishes most keys.
    prefix: u64,
    /// Where its record starts.
    start: usize,
    count: u64,
}

/// How results are stored.
const LAYOUT: Layout = Layout::Keyed;

/// The first bytes of a key as a number; keys with different numbers have the same order as these.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl Sorting {
    /// For at most `most` results, in about `memory` bytes.
    pub(super) fn new(most: u64, memory: u64, disk: &Disk) -> Self {
        let (bytes, held) = Default::default();
        Self { most, memory: memory as usize, bytes, held, runs: Runs::new(disk, memory / 16) }
    }

    pub(super) fn push(&mut self, key: &[u8], selected: Selected<'_>) -> Result<(), Error> {
        let Selected { count, row, .. } = selected;
        let record = Record::keyed(row, key);
        if self.size() + 3 * LAYOUT.size(&record) > self.memory && !self.held.is_empty() {
            self.sort();
            if 2 * self.size() > self.memory {
                self.spill()?;
            }
        }
        self.held.push(SortEntry { prefix: prefix(key), start: self.bytes.len(), count });
        for part in [&LAYOUT.header(&record), row, LAYOUT.tail(&record)] {
            self.bytes.extend_from_slice(part);
        }
        Ok(())
    }

    /// Bytes of memory. Vectors double: half of their capacity may be unused. Bytes are copied once more when some are dropped.
    fn size(&self) -> usize {
        3 * self.bytes.len() + 2 * size_of_val(&self.held[..])
    }

    /// Sorts the results in memory, and drops unwanted ones.
    fn sort(&mut self) {
        let bytes = &self.bytes;
        // A shorter key's prefix does not show where the key ends.
        let keys = |a: &SortEntry, b: &SortEntry| {
            let [a, b] = [a, b].map(|held| LAYOUT.read(&bytes[held.start..]).key());
            let from = if a.len().min(b.len()) < 8 { 0 } else { 8 };
            a[from..].cmp(&b[from..])
        };
        self.held.sort_unstable_by(|a, b| {
            let order = a.prefix.cmp(&b.prefix).then_with(|| keys(a, b));
            order.then(a.start.cmp(&b.start))
        });
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        if self.held.len() > most {
            self.held.truncate(most);
            let mut kept = Vec::new();
            for held in &mut self.held {
                let record = &self.bytes[held.start..];
                held.start = kept.len();
                kept.extend_from_slice(&record[..LAYOUT.size(&LAYOUT.read(record))]);
            }
            self.bytes = kept;
        }
    }

    /// Writes the sorted results in memory to a run.
    fn spill(&mut self) -> Result<(), Error> {
        for held in self.held.drain(..) {
            self.runs.push_line(held.count, LAYOUT.read(&self.bytes[held.start..]))?;
        }
        self.runs.end();
        self.bytes.clear();
        Ok(())
    }

    /// Passes the results on, the lowest keys first.
    pub(super) fn finish(
        mut self,
        mut take: impl FnMut(Selected<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.sort();
        if self.runs.is_empty() {
            return self.held.iter().try_for_each(|held| {
                let row = LAYOUT.read(&self.bytes[held.start..]).row;
                take(Selected { place: 0, count: held.count, row })
            });
        }
        self.spill()?;
        (self.bytes, self.held) = Default::default();
        let mut merged = self.runs.merge(self.memory as u64)?;
        for _ in 0..self.most {
            let Some((count, record)) = merged.next_line()? else { break };
            take(Selected { place: 0, count, row: record.row })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            let disk = Disk::new(&options.resources.tmp);
            let mut sorting = Sorting::new(most, memory, &disk);
            for (i, (key, count)) in rows.iter().enumerate() {
                let row = format!("{i} {}", "x".repeat(i % 40));
                sorting.push(key, Selected { place: 0, count: (*count).into(), row: row.as_bytes() }).unwrap();
            }
            let mut found = Vec::new();
            sorting.finish(|selected| {
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
