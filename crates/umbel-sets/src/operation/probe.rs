//! The probe: lines of the other inputs that may be among the first ones', by their keys.

use std::sync::Mutex;

use umbel::{Blocked, KeyHash};

use super::build::Doubt;
use super::counts::INPUTS_AT_ONCE;
use super::keys::{Gathering, Keys, Shard};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::{Layout, Record};
use crate::scan::{Lines, Visit};
use crate::spill::{Disk, Partitions};
use crate::table::Inserted;

/// Gathers the keys of lines that a filter lets pass, each once as long as there is room, in no order.
pub(super) struct Probe<'a> {
    /// What it does not hold is passed over; without it every line is gathered.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a Gathering,
    /// Where keys are spilled that there is no room for.
    pub(super) spilled: &'a Mutex<Option<Partitions>>,
    /// What is like a key is doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first byte that is read, and the bytes of all.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) disk: &'a Disk<'a>,
    pub(super) budget: Budget,
}

/// Of some lines those that fall into each shard, and their hashes.
#[derive(Default)]
pub(super) struct Sorted {
    shards: Vec<(Vec<usize>, Vec<KeyHash>)>,
}

impl Probe<'_> {
    /// Adds lines to a shard.
    fn add(
        &self,
        shard: &mut Shard,
        lines: &Lines<'_>,
        (indexes, hashes): &mut (Vec<usize>, Vec<KeyHash>),
    ) -> Result<(), Error> {
        for (n, &i) in indexes.iter().enumerate() {
            shard.table.warm_from(hashes, n);
            let (hash, place) = (hashes[n], lines.place(i));
            let key = Record::line(lines.key(i));
            match (shard.table.insert(hash, place, key)?, &mut shard.met) {
                (Inserted::New(unit) | Inserted::Known(unit), Some(met)) => {
                    met.begin(unit, lines.input());
                }
                (Inserted::New(_) | Inserted::Known(_), None) => {}
                (Inserted::Full, _) => {
                    let mut spilled = self.spilled.lock().expect("no worker panics");
                    if spilled.is_none() {
                        let done = place - self.start;
                        let held = shard.table.bytes() * self.keys.len() as u64;
                        let count = self.budget.partitions(held, done, self.total);
                        let buffers = self.budget.spill_buffers();
                        // Of these only the keys matter.
                        *spilled =
                            Some(Partitions::new(self.disk, 0, count, buffers, Layout::Lines)?);
                    }
                    spilled.as_ref().expect("just made").push(hash, place, key)?;
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
        for (i, &hash) in lines.hashes().iter().enumerate() {
            let (indexes, hashes) = &mut sorted.shards[self.keys.index(hash)];
            indexes.push(i);
            hashes.push(hash);
        }
        // First the shards that no other worker holds.
        for (shard, sorted) in sorted.shards.iter_mut().enumerate() {
            if let Some(mut shard) = self.keys.try_lock(shard) {
                self.add(&mut shard, lines, sorted)?;
            }
        }
        for (shard, sorted) in sorted.shards.iter_mut().enumerate() {
            if !sorted.0.is_empty() {
                self.add(&mut self.keys.lock(shard), lines, sorted)?;
            }
        }
        Ok(())
    }

    fn ordered(&self) -> bool {
        false
    }

    fn room(&self) -> u64 {
        self.keys.room_for_long(self.budget.long_line())
    }
}

/// Counts the other inputs in which keys are that were gathered from one of them.
pub(super) struct Recount<'a> {
    /// Of all keys gathered, those spilled included.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a Keys,
    /// Where lines are spilled that may be like a spilled key.
    pub(super) spilled: Option<&'a Partitions>,
    pub(super) room: u64,
}

impl Visit for Recount<'_> {
    type Local = Picked;

    fn local(&self) -> Picked {
        Picked::default()
    }

    fn batch(&self, picked: &mut Picked, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        picked.pick(self.filter, lines.hashes());
        self.keys.warm(&picked.hashes);
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            let key = lines.key(i);
            match (self.keys.find(hash, key), self.spilled) {
                (Some(at), _) => self.keys.meet(at, lines.input()),
                (None, Some(spilled)) => {
                    spilled.push(hash, lines.place(i), Record::line(key))?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn inputs_at_once(&self) -> usize {
        INPUTS_AT_ONCE
    }

    fn room(&self) -> u64 {
        self.room
    }
}
