//! Settles lines that did not fit in memory, each partition in tables of its own.
//!
//! A partition has *lines* of the first inputs in input order, and keys of the *others*. As many distinct
//! lines as fit enter a table; then the others are looked up there, and the selected lines become a run of results. Lines
//! that do not fit go to partitions of the next level, with the others that are not in the table. Every table holds at
//! least one line and all its repeats, so this ends for any input. Equal lines and colliding hashes cost time, never memory.

use super::prelude::*;
use super::rule::Matches;
use crate::Progress;

/// A partition.
pub(super) struct Part {
    pub(super) lines: Spill,
    pub(super) others: Vec<Spill>,
    pub(super) level: u32,
}

impl Part {
    /// The partitions of one level, with the others of each, if any.
    pub(super) fn all(lines: Vec<Spill>, others: Vec<Vec<Spill>>, level: u32) -> Vec<Self> {
        let mut others = others.into_iter();
        let parts = lines.into_iter().map(|lines| {
            let others = others.next().unwrap_or_default();
            Self { lines, others, level }
        });
        parts.filter(|part| part.lines.bytes > 0).collect()
    }

    fn longest(&self) -> u64 {
        self.others.iter().chain([&self.lines]).map(|file| file.longest).max().unwrap_or(0)
    }
}

/// The data needed to settle any partition.
#[derive(Clone, Copy)]
pub(super) struct Settling<'a> {
    pub(super) disk: &'a Disk,
    pub(super) hasher: &'a LineHasher,
    pub(super) budget: Budget,
    pub(super) progress: &'a Progress,
    /// Bytes for all threads together, or for one partition.
    pub(super) memory: u64,
}

impl Settling<'_> {
    /// Settles all partitions, on as many threads as their longest lines allow. `settle` returns the partitions left for the
    /// next level, and how many keys it held, of which this returns the sum; in memory, a partition has `needed` bytes.
    pub(super) fn run(
        self,
        parts: Vec<Part>,
        runs: &mut Runs,
        needed: impl Fn(&Part) -> u64,
        settle: impl Fn(Self, Part, &mut Runs) -> Result<(Vec<Part>, u64), Error> + Sync,
    ) -> Result<u64, Error> {
        let longest = parts.iter().map(Part::longest).max().unwrap_or(0);
        let count = parts.len() as u64;
        let each = parts.iter().map(needed).sum::<u64>() / count.max(1);
        let threads = self.budget.settling_threads(self.memory, longest, count, each);
        let one = Self { memory: self.memory / threads as u64, ..self };
        let start = || (0, Runs::new(one.disk, one.write_buffers()));
        let work = |part, (keys, runs): &mut (u64, Runs)| {
            one.progress.check()?;
            let (more, held) = settle(one, part, runs)?;
            *keys += held;
            Ok::<_, Error>(more)
        };
        let mut keys = 0;
        for (held, more) in on_parts(threads, parts, start, work)? {
            keys += held;
            runs.join(more)?;
        }
        Ok(keys)
    }

    /// Bytes of a read buffer.
    pub(super) fn buffer(self) -> usize {
        (self.memory / 32).clamp(16 << 10, 1 << 20) as usize
    }

    /// Bytes of the write buffers of all files of a level together.
    pub(super) fn write_buffers(self) -> u64 {
        self.memory / 16
    }
}

impl Rule {
    /// Selects the lines of a partition; returns the partitions left for the next level, and how many distinct lines it held.
    pub(super) fn settle(
        self,
        settling: Settling<'_>,
        places: &Places,
        part: Part,
        runs: &mut Runs,
    ) -> Result<(Vec<Part>, u64), Error> {
        let Settling { hasher, budget, memory, .. } = settling;
        let (level, layout) = (part.level + 1, part.lines.layout);
        let share = self.table(memory - memory / 4);
        let share = if part.others.is_empty() { share } else { Matches::table(share, self) };
        // Written lines are read again from the partition.
        let kept = if self.every { Layout::Lines } else { layout };
        let (count, bytes) = (part.lines.lines, part.lines.bytes);
        let table = Table::for_lines(share, kept, count, bytes)?;
        let mut held = CountedTable::new(table, self.counted);
        let rest = Later::new(settling.disk, level, settling.write_buffers(), layout);
        let mut lines = part.lines.read(settling.buffer());
        let mut seen = 0;
        while lines.read_some(hasher)? {
            held.table.warm(lines.hashes());
            for (hash, place, line) in lines.some() {
                seen += 1;
                let record = if self.every { Record::line(line.key()) } else { line };
                let at = (places.input_of(place), place);
                if held.insert(hash, at, record)? == Inserted::Full {
                    let buffers = settling.write_buffers();
                    let parts = || budget.partitions_of_rest(count, seen, buffers);
                    rest.get_or_make(parts)?.push(hash, place, line)?;
                }
            }
        }
        drop(lines);
        let table = &held.table;
        let mut met = (!part.others.is_empty()).then(|| Matches::of(table, self));
        let others = Later::new(settling.disk, level, settling.write_buffers(), Layout::Lines);
        if let (Some(rest), Some(_)) = (rest.get(), &met) {
            others.get_or_make(|| rest.len())?;
        }
        for file in part.others {
            let met = met.as_mut().expect("there are others");
            let mut keys = file.read(settling.buffer());
            while keys.read_some(hasher)? {
                table.warm(keys.hashes());
                for (hash, place, key) in keys.some() {
                    match (table.find(hash, key.key()), others.get()) {
                        (Some(unit), _) => met.add(unit, places.input_of(place)),
                        (None, Some(others)) => others.push(hash, place, key)?,
                        (None, None) => {}
                    }
                }
            }
        }
        if self.every {
            self.append_every(settling, &part.lines, table, met.as_ref(), runs)?;
        } else {
            self.append(&held, met.as_ref(), 0, runs, memory)?;
        }
        let others = others.finish()?.unwrap_or_default().into_iter().map(|file| vec![file]);
        let rest = rest.finish()?.unwrap_or_default();
        Ok((Part::all(rest, others.collect(), level), table.len()))
    }

    /// Appends, as a run of results, every line of a partition whose key is in the table and wanted.
    fn append_every(
        self,
        settling: Settling<'_>,
        lines: &Spill,
        table: &Table,
        met: Option<&Matches>,
        runs: &mut Runs,
    ) -> Result<(), Error> {
        let mut lines = lines.read(settling.buffer());
        while lines.read_some(settling.hasher)? {
            table.warm(lines.hashes());
            for (hash, place, line) in lines.some() {
                let Some(unit) = table.find(hash, line.key()) else { continue };
                let met = met.map_or(0, |met| met.get(unit));
                if self.wants(met) {
                    let count = self.count(1, met);
                    runs.push(Selected { place, count, row: line.row })?;
                }
            }
        }
        runs.end();
        Ok(())
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
        let disk = Disk::new(&options.resources.tmp);
        let spill = |lengths: &[usize]| {
            let mut lines = SpillWriter::new(&disk, 1 << 12, Layout::Lines).unwrap();
            for &length in lengths {
                lines.push(0, Record::line(&vec![b'x'; length])).unwrap();
            }
            lines.finish().unwrap()
        };
        let others = vec![vec![spill(&[40])], vec![spill(&[1]), spill(&[9_000, 2])]];
        let parts = Part::all(vec![spill(&[3, 700]), spill(&[5])], others, 0);
        // Each is stored with its place and length.
        assert_eq!(parts.iter().map(Part::longest).collect::<Vec<_>>(), [712, 9_012]);
    }
}
