//! Settles lines that did not fit in memory, each partition in tables of its own.
//!
//! A partition has *lines* of the first inputs in input order, and keys of the *others*. As many distinct
//! lines as fit enter a table; then the others are looked up there, and the selected lines become a run of results. Lines
//! that do not fit go to partitions of the next level, with the others that are not in the table. Every table holds at
//! least one line and all its repeats, so this ends for any input. Equal lines and colliding hashes cost time, never memory.

use umbel::KeyHash;
use umbel_io::threads::on_parts;

use super::counts::Counts;
use super::rule::{Met, Rule};
use crate::budget::Budget;
use crate::hash::LineHasher;
use crate::places::Places;
use crate::records::{Layout, Record};
use crate::spill::{Disk, Later, Partitions, Runs, Selected, Spill, SpillReader};
use crate::table::{Inserted, KEPT_LINE, Table};
use crate::{Error, Progress};

/// A partition.
pub(super) struct Part {
    lines: Spill,
    others: Vec<Spill>,
    level: u32,
}

impl Part {
    /// The partitions of one level, with the others of each, if any.
    pub(super) fn all(lines: Vec<Spill>, others: Vec<Vec<Spill>>, level: u32) -> Vec<Self> {
        let mut others = others.into_iter();
        let parts = lines.into_iter().map(|lines| {
            let others = others.next().unwrap_or_default();
            Self { lines, others, level }
        });
        parts.filter(|part| part.lines.bytes() > 0).collect()
    }

    fn longest(&self) -> u64 {
        self.others.iter().chain([&self.lines]).map(Spill::longest).max().unwrap_or(0)
    }
}

/// The context for settling a partition.
#[derive(Clone, Copy)]
pub(super) struct Settle<'a> {
    pub(super) disk: &'a Disk<'a>,
    pub(super) hasher: &'a LineHasher,
    pub(super) budget: Budget,
    pub(super) places: &'a Places,
    pub(super) rule: Rule,
    pub(super) progress: &'a Progress,
    /// Bytes for all threads together, or for one partition.
    pub(super) memory: u64,
}

impl Settle<'_> {
    /// Settles all partitions, on as many threads as their longest lines allow; returns how many distinct lines they held.
    pub(super) fn run(self, parts: Vec<Part>, runs: &mut Runs) -> Result<u64, Error> {
        let longest = parts.iter().map(Part::longest).max().unwrap_or(0);
        let count = parts.len() as u64;
        let all: u64 =
            parts.iter().map(|part| part.lines.bytes() + KEPT_LINE * part.lines.lines()).sum();
        let each = all / count.max(1);
        let threads = self.budget.settling_threads(self.memory, longest, count, each);
        let settle = Settle { memory: self.memory / threads as u64, ..self };
        let start = || (0, Runs::new(settle.write_buffers()));
        let work = |part, (distinct, runs): &mut (u64, Runs)| {
            settle.progress.check()?;
            let (more, held) = settle.part(part, runs)?;
            *distinct += held;
            Ok::<_, Error>(more)
        };
        let mut distinct = 0;
        for (held, more) in on_parts(threads, parts, start, work)? {
            distinct += held;
            runs.join(more, self.disk)?;
        }
        Ok(distinct)
    }

    /// Settles one partition; returns the partitions left for the next level, and how many distinct lines it held.
    fn part(self, part: Part, runs: &mut Runs) -> Result<(Vec<Part>, u64), Error> {
        let (rule, level, layout) = (self.rule, part.level + 1, part.lines.layout());
        let mut counts = rule.counted.map(Counts::new);
        let share = rule.table(self.memory - self.memory / 4);
        let share = if part.others.is_empty() { share } else { Met::table(share, rule) };
        // Written lines are read again from the partition.
        let held = if rule.every { Layout::Lines } else { layout };
        let mut table = Table::for_lines(share, held, part.lines.lines(), part.lines.bytes())?;
        let rest = Later::default();
        let mut lines = part.lines.read(self.buffer());
        let (mut seen, mut hashes) = (0, Vec::new());
        while lines.read_some(self.disk)? {
            self.hash(&lines, &mut hashes);
            table.warm(&hashes);
            for (i, &hash) in hashes.iter().enumerate() {
                let (place, line) = lines.get(i);
                let input = self.places.input_of(place);
                seen += 1;
                let record = if rule.every { Record::line(line.key()) } else { line };
                match (table.insert(hash, place, record)?, &mut counts) {
                    (Inserted::New(unit), Some(counts)) => counts.begin(unit, input, place),
                    (Inserted::Known(unit), Some(counts)) => counts.add(unit, input, place),
                    (Inserted::New(_) | Inserted::Known(_), None) => {}
                    (Inserted::Full, _) => {
                        let (all, buffers) = (part.lines.lines(), self.write_buffers());
                        let count = || self.budget.partitions_of_rest(all, seen, buffers);
                        let make = || self.partitions(level, count(), layout);
                        rest.get_or_make(make)?.push(hash, place, line)?;
                    }
                }
            }
        }
        drop(lines);
        let mut met = (!part.others.is_empty()).then(|| Met::of(&table, rule));
        let others = match rest.get() {
            Some(rest) if met.is_some() => {
                Some(self.partitions(level, rest.len(), Layout::Lines)?)
            }
            _ => None,
        };
        for file in part.others {
            let met = met.as_mut().expect("there are others");
            let mut keys = file.read(self.buffer());
            while keys.read_some(self.disk)? {
                self.hash(&keys, &mut hashes);
                table.warm(&hashes);
                for (i, &hash) in hashes.iter().enumerate() {
                    let (place, key) = keys.get(i);
                    match (table.find(hash, key.key()), &others) {
                        (Some(unit), _) => met.add(unit, self.places.input_of(place)),
                        (None, Some(others)) => others.push(hash, place, key)?,
                        (None, None) => {}
                    }
                }
            }
        }
        if rule.every {
            self.append_every(&part.lines, &table, met.as_ref(), runs)?;
        } else {
            let (counts, met) = (counts.as_ref(), met.as_ref());
            rule.append(&table, counts, met, self.disk, runs, self.memory)?;
        }
        let others = others.map(|parts| parts.finish(self.disk)).transpose()?.unwrap_or_default();
        let others = others.into_iter().map(|file| vec![file]).collect();
        let rest = rest.finish(self.disk)?.unwrap_or_default();
        Ok((Part::all(rest, others, level), table.len()))
    }

    /// Appends, as a run of results, every line of a partition whose key is in the table and wanted.
    fn append_every(
        self,
        lines: &Spill,
        table: &Table,
        met: Option<&Met>,
        runs: &mut Runs,
    ) -> Result<(), Error> {
        let (mut lines, mut hashes) = (lines.read(self.buffer()), Vec::new());
        while lines.read_some(self.disk)? {
            self.hash(&lines, &mut hashes);
            table.warm(&hashes);
            for (i, &hash) in hashes.iter().enumerate() {
                let (place, line) = lines.get(i);
                let Some(unit) = table.find(hash, line.key()) else { continue };
                let met = met.map_or(0, |met| met.get(unit));
                if self.rule.wants(met) {
                    let count = self.rule.count(1, met);
                    runs.push(self.disk, Selected { place, count, row: line.row })?;
                }
            }
        }
        runs.end();
        Ok(())
    }

    /// Hashes the lines read last.
    fn hash(self, lines: &SpillReader, hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        self.hasher.hash_each(lines.keys(), |hash| hashes.push(hash));
    }

    /// Bytes of a read buffer.
    fn buffer(self) -> usize {
        (self.memory / 32).clamp(16 << 10, 1 << 20) as usize
    }

    /// Bytes of the write buffers of all files of a level together.
    fn write_buffers(self) -> u64 {
        self.memory / 16
    }

    fn partitions(self, level: u32, count: usize, layout: Layout) -> Result<Partitions, Error> {
        Partitions::new(self.disk, level, count, self.write_buffers(), layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::SpillWriter;
    use crate::testing::workplace;

    #[test]
    fn the_longest_line_is_one_of_any_input() {
        let (_dir, options) = workplace(b'\n');
        let disk = Disk::new(&options.tmp);
        let spill = |lengths: &[usize]| {
            let mut lines = SpillWriter::new(&disk, 1 << 12, Layout::Lines).unwrap();
            for &length in lengths {
                lines.push(0, Record::line(&vec![b'x'; length])).unwrap();
            }
            lines.finish(&disk).unwrap()
        };
        let others = vec![vec![spill(&[40])], vec![spill(&[1]), spill(&[9_000, 2])]];
        let parts = Part::all(vec![spill(&[3, 700]), spill(&[5])], others, 0);
        // Each is stored with its place and length.
        assert_eq!(parts.iter().map(Part::longest).collect::<Vec<_>>(), [712, 9_012]);
    }
}
