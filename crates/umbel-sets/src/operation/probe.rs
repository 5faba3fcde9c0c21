//! The probe: gathers keys of the other inputs that the first ones may have too.

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

/// Gathers the keys of lines that pass a filter, in no order; each once while there is room.
pub(super) struct Probe<'a> {
    /// Lines absent from it are skipped; without it, every line is gathered.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a Gathering,
    /// Receives keys that do not fit.
    pub(super) spilled: &'a Mutex<Option<Partitions>>,
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
}

impl Probe<'_> {
    /// Adds lines to a shard.
    fn add(
        &self,
        shard: &mut Shard,
        lines: &Lines<'_>,
        (indexes, hashes): &mut (Vec<usize>, Vec<KeyHash>),
    ) -> Result<(), Error> {
        // Inputs are counted in ascending order, whichever one the keys are gathered from: that one counts as the
        // first.
        const INPUT: usize = 0;
        const PLACE: u64 = 0;
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
                    let mut spilled = self.spilled.lock().expect("no worker panics");
                    Partitions::push_to(&mut spilled, make, hash, PLACE, key)?;
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
        // Shards that no other worker holds come first.
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

/// Counts in how many of the other inputs each gathered key is.
pub(super) struct Recount<'a> {
    /// A filter of all gathered keys, including spilled ones.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a Keys,
    /// Receives keys that may equal a spilled one.
    pub(super) spilled: Option<&'a Partitions>,
    pub(super) room: u64,
}

impl Visit for Recount<'_> {
    type Local = Picked;

    fn local(&self) -> Picked {
        Picked::default()
    }

    fn batch(&self, picked: &mut Picked, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        self.keys.find_each(self.filter, lines, picked, |i, found| match (found, self.spilled) {
            (Some(at), _) => {
                self.keys.meet(at, lines.input());
                Ok(())
            }
            (None, Some(spilled)) => {
                spilled.push(lines.hashes()[i], lines.place(i), Record::line(lines.key(i)))
            }
            (None, None) => Ok(()),
        })
    }

    fn inputs_at_once(&self) -> usize {
        INPUTS_AT_ONCE
    }

    fn room(&self) -> u64 {
        self.room
    }
}
