//! Step 2: gathers what the rows of the right input add.

use super::Joining;
use super::slices::in_slice;
use crate::operation::prelude::*;
use crate::records::empty;
use crate::spill::Partitions;
use crate::table::Cursor;

/// Keys after which the job checks whether all will fit.
const EARLY: u64 = if cfg!(test) { 1 << 4 } else { 1 << 14 };

/// The additions of the right input's rows: all of them in memory, or none.
pub(super) enum Gathered {
    Held(Table),
    Spilled(Partitions),
}

/// Gathers what the rows of the right input add.
pub(super) struct Gather<'a> {
    pub(super) filter: Option<&'a Blocked>,
    /// The slice of the left input, and whether there are several: then the rows fit by plan.
    pub(super) slice: u64,
    pub(super) sliced: bool,
    pub(super) joining: &'a Joining<'a>,
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) gathered: Mutex<Gathered>,
}

/// The additions of a worker's kept rows, concatenated, and where each part ends.
#[derive(Default)]
struct Added {
    /// Hashes of keys in the slice.
    hashes: Vec<KeyHash>,
    picked: Picked,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    spilled: Scattered,
}

impl Gather<'_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        let room = move || match &*self.gathered.lock().expect("no worker panics") {
            Gathered::Held(table) => table.room_for_long(spare),
            Gathered::Spilled(_) => spare,
        };
        Visit { room: Box::new(room), ..Visit::new(spare, move || (self, Added::default())) }
    }

    /// Moves all lists to partitions.
    fn spill(&self, table: &Table, done: u64) -> Result<Partitions, Error> {
        let Joining { disk, scanner, .. } = self.joining;
        let budget = scanner.budget;
        // They are settled in tables of three eighths of the rest, and spilled rows are longer by their places: larger
        // ones would all be divided once more.
        let count = budget.partitions(3 * table.bytes(), done, self.total);
        let partitions = Partitions::new(disk, 0, count, budget.spill_buffers(), Layout::Keyed)?;
        let mut cursor = Cursor::default();
        while let Some((_, entry)) = table.next(&mut cursor) {
            partitions.push(scanner.hasher.hash(entry.line.key()), 0, entry.line)?;
        }
        Ok(partitions)
    }

    /// Adds a record to its list; returns the partitions of all if the table is full, or probably will not hold the rest,
    /// judging by the part so far: the sooner lists are spilled, the fewer are moved.
    fn add(
        &self,
        table: &mut Table,
        (hash, place): (KeyHash, u64),
        record: Record<'_>,
    ) -> Result<Option<Partitions>, Error> {
        if self.joining.skips(table, hash, &record) {
            return Ok(None);
        }
        let done = place - self.start;
        if table.insert_behind(hash, record)? == Inserted::Full {
            let partitions = self.spill(table, done)?;
            partitions.push(hash, 0, record)?;
            return Ok(Some(partitions));
        }
        let all = u128::from(table.bytes()) * u128::from(self.total) / u128::from(done.max(1));
        let too_many = !self.sliced
            && table.len().is_multiple_of(EARLY)
            && done > self.total / 32
            && all > 2 * u128::from(table.bytes() + table.room());
        too_many.then(|| self.spill(table, done)).transpose()
    }
}

impl Work for (&Gather<'_>, Added) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (gather, Added { hashes, picked, bytes, ends, .. }) = self;
        hashes.clear();
        hashes.extend(lines.hashes().iter().map(|&hash| in_slice(hash, gather.slice)));
        picked.pick(gather.filter, hashes);
        keep.fill(false);
        for &i in &picked.indexes {
            let flawed = |flaw| gather.joining.scanner.flawed(flaw, &lines.at(i));
            gather.joining.beside.add(lines.row(i), bytes).map_err(flawed)?;
            ends.push(bytes.len());
            keep[i] = true;
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (gather, Added { bytes, ends, spilled, .. }) = self;
        let mut gathered = gather.gathered.lock().expect("no worker panics");
        let record = |i: usize| {
            let start = i.checked_sub(1).map_or(0, |before| ends[before]);
            Record::keyed(&bytes[start..ends[i]], lines.key(i))
        };
        for i in 0..ends.len() {
            match &mut *gathered {
                Gathered::Held(table) => {
                    table.warm_from(lines.hashes(), i);
                    let at = (lines.hashes()[i], lines.place(i));
                    if let Some(partitions) = gather.add(table, at, record(i))? {
                        *gathered = Gathered::Spilled(partitions);
                    }
                }
                Gathered::Spilled(_) => spilled.indexes.push(i),
            }
        }
        if let Gathered::Spilled(partitions) = &*gathered {
            partitions.push_some(spilled, |i| (lines.hashes()[i], 0, record(i)))?;
        }
        ends.clear();
        empty(bytes, gather.joining.scanner.budget.chunk);
        Ok(())
    }
}
