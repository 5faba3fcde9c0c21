//! The deciding pass of distinct lines and of an anti-join: writes lines that are new and in no other input, or counts them.
//!
//! Lines that are not doubtful are known to be unique. A doubtful line is looked up in the table, and if it is
//! absent, added in its turn. As long as there is room, every line is decided when it is read, and if wanted,
//! written immediately. From the first line on that is not in the table and does not fit, doubtful lines are spilled
//! and nothing is written.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use super::counts::{Counted, CountedTable, INPUTS_AT_ONCE};
use super::keys::KeySet;
use super::rule::Rule;
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::scan::{Lines, Visit};
use crate::sink::{Pieces, Sink};
use crate::spill::{Later, Scattered};
use crate::table::Inserted;

pub(super) struct Decide<'a, 'o> {
    /// Lines that may be repeated or excluded; without it, all.
    pub(super) doubt: Option<&'a Blocked>,
    /// The keys of the other inputs, if any.
    pub(super) keys: Option<&'a KeySet>,
    pub(super) held: &'a RwLock<CountedTable>,
    /// Receives doubtful lines that do not fit in the table.
    pub(super) rest: &'a Later,
    /// The number of partitions, if keys were spilled to some; the table accepts no lines then.
    pub(super) partitions: Option<usize>,
    /// The output of lines at their first occurrence.
    pub(super) sink: Option<&'a Mutex<&'a mut Sink<'o>>>,
    /// The place of the first line that could not be decided; all ones at first.
    pub(super) undecided: &'a AtomicU64,
    pub(super) rule: Rule,
    /// Bytes of the inputs.
    pub(super) total: u64,
    pub(super) budget: Budget,
}

/// The state of a worker.
#[derive(Default)]
pub(super) struct Local {
    picked: Picked,
    /// Unique lines, to be written directly.
    between: Pieces,
    pieces: Pieces,
    spilled: Scattered,
}

impl Decide<'_, '_> {
    fn writes(&self) -> bool {
        self.sink.is_some() && self.undecided.load(Ordering::Relaxed) == u64::MAX
    }
}

impl Visit for Decide<'_, '_> {
    type Local = Local;

    fn batch(&self, local: &mut Local, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        local.picked.pick(self.doubt, lines.hashes());
        let Picked { indexes, hashes, .. } = &local.picked;
        if !indexes.is_empty() {
            if let Some(keys) = self.keys {
                keys.warm(hashes);
            }
            // Lines already in the table occurred before: no need to wait for a turn.
            let held = self.held.read().expect("no worker panics");
            held.table.warm(hashes);
            for (&i, &hash) in indexes.iter().zip(hashes) {
                let key = lines.key(i);
                if self.keys.is_some_and(|keys| keys.find(hash, key).is_some()) {
                    keep[i] = false;
                    continue;
                }
                let known = held.table.find(hash, key);
                keep[i] = known.is_none();
                if let (Some(unit), Some(counts)) = (known, &held.counts) {
                    counts.add(unit, lines.input(), lines.place(i));
                }
            }
        }
        if self.writes() {
            let mut looked_up = local.picked.indexes.iter().peekable();
            for i in 0..lines.len() {
                if looked_up.next_if(|index| **index == i).is_none() {
                    local.between.add(lines.extent(i), 1);
                }
            }
        }
        Ok(())
    }

    fn carries(&self, local: &Local) -> bool {
        !local.between.0.is_empty()
    }

    fn kept(&self, local: &mut Local, lines: &Lines<'_>) -> Result<(), Error> {
        let Local { between, pieces, spilled, .. } = local;
        let mut writes = self.writes();
        let mut between = between.0.drain(..).peekable();
        if lines.len() > 0 {
            let mut held = self.held.write().expect("no worker panics");
            for i in 0..lines.len() {
                let own = lines.extent(i);
                while let Some((extent, lines)) =
                    between.next_if(|(extent, _)| extent.start < own.start)
                {
                    if writes {
                        pieces.add(extent, lines);
                    }
                }
                let (place, line) = (lines.place(i), self.rule.record(lines.record(i)));
                match held.insert(lines.hashes()[i], (lines.input(), place), line)? {
                    // Without a sink, results are handed on later.
                    Inserted::New(_) if writes => pieces.add(own, 1),
                    Inserted::New(_) | Inserted::Known(_) => {}
                    Inserted::Full => {
                        writes = false;
                        self.undecided.fetch_min(place, Ordering::Relaxed);
                        // These inputs are the first of all.
                        let held = held.table.bytes();
                        let estimate = || self.budget.partitions(held, place, self.total);
                        self.rest.get_or_make(|| self.partitions.unwrap_or_else(estimate))?;
                        spilled.indexes.push(i);
                    }
                }
            }
        }
        between.filter(|_| writes).for_each(|(extent, lines)| pieces.add(extent, lines));
        let record = |i: usize| self.rule.record(lines.record(i));
        self.rest.push_some(spilled, |i| (lines.hashes()[i], lines.place(i), record(i)))?;
        match self.sink {
            Some(sink) => sink.lock().expect("no worker panics").put(lines.buffer(), pieces),
            None => Ok(()),
        }
    }

    fn inputs_at_once(&self) -> usize {
        match self.rule.counted {
            Some(Counted::Inputs) => INPUTS_AT_ONCE,
            _ => usize::MAX,
        }
    }

    fn room(&self, spare: u64) -> u64 {
        self.held.read().expect("no worker panics").table.room_for_long(spare)
    }
}
