//! Step 2: gathers what the rows of the right input add.

use super::Joining;
use super::slices::in_slice;
use crate::operation::prelude::*;
use crate::records::empty;
use crate::spill::{Partitions, part_of};

/// Keys after which the job checks whether all will fit.
const EARLY: u64 = if cfg!(test) { 1 << 4 } else { 1 << 14 };

/// Files of the additions of right rows, each of a part by hash.
pub(super) type Files = Vec<Spill>;

/// The additions of right rows, in parts by hash: all of them in memory, or none.
pub(super) enum Gathered<S> {
    InMemory(Vec<Table>),
    Spilled(S),
}

impl Joining<'_> {
    /// Step 2: what the first slice needs of the right input, and files of what each later one does.
    pub(super) fn gather(
        &mut self,
        filter: Option<&Blocked>,
        later: usize,
        tables: Vec<Table>,
    ) -> Result<(Gathered<Files>, Vec<Files>), Error> {
        let (inputs, budget) = (self.inputs, self.scanner.budget);
        let (parts, buffers) = (tables.len(), budget.spill_buffers() / 2 / later.max(1) as u64);
        let files = |_| Partitions::new(&self.disk, 0, parts, buffers, Layout::Keyed);
        let gather = Gather {
            filter,
            joining: self,
            start: Places::new(inputs).start(1),
            total: lengths(&inputs[1..]),
            gathered: Mutex::new(Gathered::InMemory(tables)),
            later: (0..later).map(files).collect::<Result<_, _>>()?,
        };
        let tallies = self.scanner.scan(inputs, 1..2, &gather.visit(budget.long_line()))?;
        let gathered = match gather.gathered.into_inner().expect("no worker panics") {
            Gathered::InMemory(tables) => Gathered::InMemory(tables),
            Gathered::Spilled(partitions) => Gathered::Spilled(partitions.finish()?),
        };
        let later = gather.later.into_iter().map(Partitions::finish).collect::<Result<_, _>>()?;
        self.record(1..2, &tallies)?;
        Ok((gathered, later))
    }

    /// Puts what a later slice needs in tables, if it fits.
    pub(super) fn fill(&self, files: Files, tables: Vec<Table>) -> Result<Gathered<Files>, Error> {
        let Scanner { hasher, budget, progress, .. } = &self.scanner;
        let tables: Vec<_> = tables.into_iter().map(Mutex::new).collect();
        let buffer = (budget.spill_buffers() as usize / tables.len()).clamp(16 << 10, 1 << 20);
        let fill = |part: usize| -> Result<bool, Error> {
            let mut table = tables[part].lock().expect("no worker panics");
            let mut rows = files[part].read(buffer);
            while rows.read_some(hasher)? {
                progress.check()?;
                table.warm(rows.hashes());
                for (hash, _, record) in rows.some() {
                    if !self.skips(&table, hash, &record)
                        && table.insert_behind(hash, record)? == Inserted::Full
                    {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        };
        // Each holds the longest row.
        let longest = files.iter().map(|file| file.longest).max().unwrap_or(0);
        let threads = (budget.long_line() / longest.max(1)).clamp(1, budget.threads as u64);
        let held = in_order(threads as usize, files.len(), fill);
        if !held.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().all(|held| held) {
            return Ok(Gathered::Spilled(files));
        }
        let tables = tables.into_iter().map(|table| table.into_inner().expect("no worker panics"));
        Ok(Gathered::InMemory(tables.collect()))
    }
}

/// Gathers what the rows of the right input add.
struct Gather<'a> {
    filter: Option<&'a Blocked>,
    joining: &'a Joining<'a>,
    start: u64,
    total: u64,
    /// For the first slice of the left input.
    gathered: Mutex<Gathered<Partitions>>,
    /// For each later one.
    later: Vec<Partitions>,
}

/// The additions of a worker's kept rows, concatenated, and where each part ends.
#[derive(Default)]
struct Added {
    hashes: Vec<KeyHash>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// For each slice, which lines of a batch it may need, and the kept rows among them.
    needed: Vec<Vec<bool>>,
    slices: Vec<Scattered>,
}

impl Gather<'_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        let room = move || match &*self.gathered.lock().expect("no worker panics") {
            Gathered::InMemory(tables) => tables[0].room_for_long(spare),
            Gathered::Spilled(_) => spare,
        };
        let added = || {
            let slices = 1 + self.later.len();
            let scattered = (0..slices).map(|_| Scattered::default()).collect();
            Added { needed: vec![Vec::new(); slices], slices: scattered, ..Added::default() }
        };
        Visit { room: Box::new(room), ..Visit::new(spare, move || (self, added())) }
    }

    /// Moves all lists to partitions.
    fn spill(&self, tables: &[Table], done: u64) -> Result<Partitions, Error> {
        let Joining { disk, scanner, .. } = self.joining;
        let budget = scanner.budget;
        // They are settled in tables of three eighths of the rest, and spilled rows are longer by their places: larger
        // ones would all be divided once more.
        let count = budget.partitions(3 * bytes(tables), done, self.total);
        let buffers = budget.spill_buffers() / if self.later.is_empty() { 1 } else { 2 };
        let partitions = Partitions::new(disk, 0, count, buffers, Layout::Keyed)?;
        for table in tables {
            let mut cursor = Cursor::default();
            while let Some((_, entry)) = table.next(&mut cursor) {
                partitions.push(scanner.hasher.hash(entry.line.key()), 0, entry.line)?;
            }
        }
        Ok(partitions)
    }

    /// Adds a record to its list; returns the partitions of all if the tables are full, or probably will not hold the
    /// rest, judging by the part so far: the sooner lists are spilled, the fewer are moved. Of a slice, all fit by plan.
    fn add(
        &self,
        tables: &mut [Table],
        (hash, place): (KeyHash, u64),
        record: Record<'_>,
    ) -> Result<Option<Partitions>, Error> {
        let part = part_of(hash, 0, tables.len());
        let table = &mut tables[part];
        if self.joining.skips(table, hash, &record) {
            return Ok(None);
        }
        let done = place - self.start;
        if table.insert_behind(hash, record)? == Inserted::Full {
            let partitions = self.spill(tables, done)?;
            partitions.push(hash, 0, record)?;
            return Ok(Some(partitions));
        }
        let is_time = self.later.is_empty() && table.len().is_multiple_of(EARLY);
        let too_many = is_time && done > self.total / 32 && {
            let held = bytes(tables);
            let all = u128::from(held) * u128::from(self.total) / u128::from(done);
            all > 2 * u128::from(held + tables[0].room())
        };
        too_many.then(|| self.spill(tables, done)).transpose()
    }
}

/// Bytes of tables, which share their room.
fn bytes(tables: &[Table]) -> u64 {
    tables.iter().map(Table::bytes).sum()
}

impl Work for (&Gather<'_>, Added) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (gather, Added { hashes, bytes, ends, needed, slices }) = self;
        keep.fill(gather.filter.is_none());
        for (slice, needed) in (0..).zip(&mut *needed) {
            needed.resize(lines.len(), true);
            if let Some(filter) = gather.filter {
                hashes.clear();
                hashes.extend(lines.hashes().iter().map(|&hash| in_slice(hash, slice)));
                filter.contains_all(hashes, needed);
                keep.iter_mut().zip(&*needed).for_each(|(keep, needed)| *keep |= needed);
            }
        }
        for i in (0..lines.len()).filter(|&i| keep[i]) {
            let flawed = |flaw| gather.joining.scanner.flawed(flaw, &lines.at(i));
            gather.joining.beside.add(lines.row(i), bytes).map_err(flawed)?;
            for (slice, _) in slices.iter_mut().zip(&*needed).filter(|(_, needed)| needed[i]) {
                slice.indexes.push(ends.len());
            }
            ends.push(bytes.len());
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (gather, Added { hashes, bytes, ends, slices, .. }) = self;
        let record = |i: usize| {
            let start = i.checked_sub(1).map_or(0, |before| ends[before]);
            Record::keyed(&bytes[start..ends[i]], lines.key(i))
        };
        let get = |i: usize| (lines.hashes()[i], 0, record(i));
        let mut gathered = gather.gathered.lock().expect("no worker panics");
        let (first, later) = slices.split_first_mut().expect("a slice");
        if let Gathered::InMemory(tables) = &mut *gathered {
            hashes.clear();
            hashes.extend(first.indexes.iter().map(|&i| lines.hashes()[i]));
            let (mut added, mut spilled) = (0, None);
            while added < hashes.len() && spilled.is_none() {
                let table = |hash| &tables[part_of(hash, 0, tables.len())];
                Table::warm_from(hashes, added, table);
                let i = first.indexes[added];
                spilled = gather.add(tables, (hashes[added], lines.place(i)), record(i))?;
                added += 1;
            }
            first.indexes.drain(..added);
            if let Some(partitions) = spilled {
                *gathered = Gathered::Spilled(partitions);
            }
        }
        if let Gathered::Spilled(partitions) = &*gathered {
            partitions.push_some(first, get)?;
        }
        later.iter_mut().zip(&gather.later).try_for_each(|(rows, to)| to.push_some(rows, get))?;
        ends.clear();
        empty(bytes, gather.joining.scanner.budget.chunk);
        Ok(())
    }
}
