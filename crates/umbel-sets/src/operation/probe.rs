//! The probe: gathers keys of the other inputs that the first ones may have too.

use std::sync::Mutex;

use umbel::{Blocked, KeyHash};

use super::build::Doubt;
use super::counts::INPUTS_AT_ONCE;
use super::keys::{Gathering, KeySet, Shard};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::{Layout, Record};
use crate::scan::{Lines, Visit};
use crate::spill::{Disk, Later, Partitions, Scattered};
use crate::table::Inserted;

/// Gathers the keys of lines that pass a filter, in no order; each once while there is room.
pub(super) struct Probe<'a> {
    /// Lines absent from it are skipped; without it, every line is gathered.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a Gathering,
    /// Receives keys that do not fit.
    pub(super) spilled: &'a Later,
    /// Gathered keys make lines doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first byte to be read, and the number of bytes.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) disk: &'a Disk<'a>,
    pub(super) budget: Budget,
}

/// Lines by shard, with their hashes.
#[derive(Default)]
pub(super) struct Sorted {
    shards: Vec<(Vec<usize>, Vec<KeyHash>)>,
    /// Keys that did not fit.
    spilled: Scattered,
}

/// Inputs are counted in ascending order; the one that keys are gathered from counts as the first.
const INPUT: usize = 0;
const PLACE: u64 = 0;

impl Probe<'_> {
    /// Adds lines to a shard; notes those that do not fit.
    fn add(
        &self,
        shard: &mut Shard,
        lines: &Lines<'_>,
        (indexes, hashes): &mut (Vec<usize>, Vec<KeyHash>),
        spilled: &mut Vec<usize>,
    ) -> Result<(), Error> {
        for (n, &i) in indexes.iter().enumerate() {
            shard.table.warm_from(hashes, n);
            let (hash, key) = (hashes[n], Record::line(lines.key(i)));
            match (shard.table.insert(hash, PLACE, key)?, &mut shard.met) {
                (Inserted::New(unit) | Inserted::Known(unit), Some(met)) => {
                    met.begin(unit, INPUT, PLACE);
                }
                (Inserted::New(_) | Inserted::Known(_), None) => {}
                (Inserted::Full, _) => {
                    let make = || {
                        let done = lines.place(i) - self.start;
                        let held = shard.table.bytes() * self.keys.len() as u64;
                        let count = self.budget.partitions(held, done, self.total);
                        let buffers = self.budget.spill_buffers();
                        Partitions::new(self.disk, 0, count, buffers, Layout::Lines)
                    };
                    self.spilled.get_or_make(make)?;
                    spilled.push(i);
                }
            }
        }
        indexes.clear();
        hashes.clear();
        Ok(())
    }
}

impl Visit for Probe<'_> {
    type Local = Sorted;

    fn local(&self) -> Sorted {
        let mut sorted = Sorted::default();
        sorted.shards.resize_with(self.keys.len(), Default::default);
        sorted
    }

    fn batch(&self, _: &mut Sorted, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match self.filter {
            Some(filter) => filter.contains_all(lines.hashes(), keep),
            None => keep.fill(true),
        }
        Ok(())
    }

    fn kept(&self, sorted: &mut Sorted, lines: &Lines<'_>) -> Result<(), Error> {
        if let Some(doubt) = self.doubt {
            doubt.lock().expect("no worker panics").insert(lines.hashes());
        }
        let Sorted { shards, spilled } = sorted;
        for (i, &hash) in lines.hashes().iter().enumerate() {
            let (indexes, hashes) = &mut shards[self.keys.index(hash)];
            indexes.push(i);
            hashes.push(hash);
        }
        // Shards that no other worker holds come first.
        for (shard, sorted) in shards.iter_mut().enumerate() {
            if let Some(mut shard) = self.keys.try_lock(shard) {
                self.add(&mut shard, lines, sorted, &mut spilled.indexes)?;
            }
        }
        for (shard, sorted) in shards.iter_mut().enumerate() {
            if !sorted.0.is_empty() {
                self.add(&mut self.keys.lock(shard), lines, sorted, &mut spilled.indexes)?;
            }
        }
        match self.spilled.get() {
            Some(parts) => {
                parts.push_some(spilled, |i| (lines.hashes()[i], PLACE, Record::line(lines.key(i))))
            }
            None => Ok(()),
        }
    }

    fn ordered(&self) -> bool {
        false
    }

    fn room(&self, spare: u64) -> u64 {
        self.keys.room_for_long(spare)
    }
}

/// Counts in how many of the other inputs each gathered key is.
pub(super) struct Recount<'a> {
    /// A filter of all gathered keys, including spilled ones.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a KeySet,
    /// Receives keys that may equal a spilled one.
    pub(super) spilled: Option<&'a Partitions>,
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
                None if self.spilled.is_some() => scattered.indexes.push(i),
                None => {}
            }
            Ok(())
        })?;
        match self.spilled {
            Some(spilled) => spilled.push_some(scattered, |i| {
                (lines.hashes()[i], lines.place(i), Record::line(lines.key(i)))
            }),
            None => Ok(()),
        }
    }

    fn inputs_at_once(&self) -> usize {
        INPUTS_AT_ONCE
    }
}
