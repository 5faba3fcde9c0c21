//! The probe: gathers keys of the other inputs that the first ones may have too.

use std::sync::Mutex;

use umbel::Blocked;

use super::build::Doubt;
use super::counts::{CountedTable, INPUTS_AT_ONCE};
use super::in_line::{ByShard, Few};
use super::keys::{KeySet, index};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::Record;
use crate::scan::{Lines, Visit};
use crate::spill::{Later, Scattered, lock_each};
use crate::table::Inserted;

/// Gathers the keys of lines that pass a filter, in no order; each once while there is room.
pub(super) struct Probe<'a> {
    /// Lines absent from it are skipped; without it, every line is gathered.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a [Mutex<CountedTable>],
    /// Receives keys that do not fit.
    pub(super) spilled: &'a Later,
    /// Gathered keys make lines doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first byte to be read, and the number of bytes.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) budget: Budget,
}

/// Inputs are counted in ascending order; the one that keys are gathered from counts as the first.
const INPUT: usize = 0;
const PLACE: u64 = 0;

impl Visit for Probe<'_> {
    /// Lines by shard, and keys that did not fit.
    type Local = (ByShard, Scattered);

    fn local(&self) -> Self::Local {
        (ByShard::new(self.keys.len()), Scattered::default())
    }

    fn batch(
        &self,
        _: &mut Self::Local,
        lines: &Lines<'_>,
        keep: &mut [bool],
    ) -> Result<(), Error> {
        match self.filter {
            Some(filter) => filter.contains_all(lines.hashes(), keep),
            None => keep.fill(true),
        }
        Ok(())
    }

    fn kept(&self, (shards, spilled): &mut Self::Local, lines: &Lines<'_>) -> Result<(), Error> {
        if let Some(doubt) = self.doubt {
            doubt.lock().expect("no worker panics").insert(lines.hashes());
        }
        for (i, &hash) in lines.hashes().iter().enumerate() {
            shards.push(index(hash, self.keys.len()), i, hash);
        }
        let record = |i: usize| Record::line(lines.key(i));
        let is_empty = |few: &Few| few.numbers.is_empty();
        lock_each(self.keys, &mut shards.0, is_empty, |shard, few| {
            for (n, &i) in few.numbers.iter().enumerate() {
                shard.table.warm_from(&few.hashes, n);
                if shard.insert(few.hashes[n], (INPUT, PLACE), record(i))? == Inserted::Full {
                    self.spilled.get_or_make(|| {
                        let done = lines.place(i) - self.start;
                        let held = shard.table.bytes() * self.keys.len() as u64;
                        self.budget.partitions(held, done, self.total)
                    })?;
                    spilled.indexes.push(i);
                }
            }
            few.clear();
            Ok(())
        })?;
        self.spilled.push_some(spilled, |i| (lines.hashes()[i], PLACE, record(i)))
    }

    fn ordered(&self) -> bool {
        false
    }

    fn room(&self, spare: u64) -> u64 {
        let shards = self.keys.iter().map(|shard| shard.lock().expect("no worker panics"));
        shards.map(|shard| shard.table.room_for_long(spare)).min().unwrap_or(spare)
    }
}

/// Counts in how many of the other inputs each gathered key is.
pub(super) struct Recount<'a> {
    /// A filter of all gathered keys, including spilled ones.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a KeySet,
    /// Receives keys that may equal a spilled one, if there are any.
    pub(super) spilled: &'a Later,
}

impl Visit for Recount<'_> {
    /// What to look up, and what is to be spilled.
    type Local = (Picked, Scattered);

    fn batch(
        &self,
        (picked, scattered): &mut Self::Local,
        lines: &Lines<'_>,
        _: &mut [bool],
    ) -> Result<(), Error> {
        self.keys.find_each(self.filter, lines, picked, |i, found| {
            match found {
                Some(at) => self.keys.meet(at, lines.input()),
                None if self.spilled.get().is_some() => scattered.indexes.push(i),
                None => {}
            }
            Ok(())
        })?;
        let record = |i: usize| Record::line(lines.key(i));
        self.spilled.push_some(scattered, |i| (lines.hashes()[i], lines.place(i), record(i)))
    }

    fn inputs_at_once(&self) -> usize {
        INPUTS_AT_ONCE
    }
}
