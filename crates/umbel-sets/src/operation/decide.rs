//! The deciding pass of distinct lines and of an anti-join: writes lines that are new and in no other input, or counts them.
//!
//! Lines that are not doubtful are known to be unique. A doubtful line is looked up in the table, and if it is
//! absent, added in its turn. As long as there is room, every line is decided when it is read, and if wanted,
//! written immediately. From the first line on that is not in the table and does not fit, doubtful lines are spilled
//! and nothing is written.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use super::counts::{Counted, Counts, INPUTS_AT_ONCE};
use super::keys::KeySet;
use super::rule::Rule;
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::Layout;
use crate::scan::{Lines, Visit};
use crate::sink::{Pieces, Sink};
use crate::spill::{Disk, Later, Partitions, Scattered};
use crate::table::{Inserted, Table};

pub(super) struct Decide<'a, 'o> {
    /// Lines that may be repeated or excluded; without it, all.
    pub(super) doubt: Option<&'a Blocked>,
    /// The keys of the other inputs, if any.
    pub(super) keys: Option<&'a KeySet>,
    pub(super) table: &'a RwLock<Table>,
    /// The counts of the table's lines, if needed.
    pub(super) counts: Option<&'a RwLock<Counts>>,
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
    pub(super) disk: &'a Disk<'a>,
    pub(super) budget: Budget,
    pub(super) layout: Layout,
}

/// The state of a worker.
#[derive(Default)]
pub(super) struct Local {
    picked: Picked,
    /// Kept lines that were not passed on yet.
    kept: usize,
    /// The lines between the kept ones.
    between: Vec<Between>,
    pieces: Pieces,
    spilled: Scattered,
}

/// Adjacent unique lines, to be written directly.
struct Between {
    /// The number of kept lines before them.
    kept: usize,
    extent: Range<usize>,
    lines: u64,
}

impl Local {
    /// Adds the lines of a batch that were not looked up.
    fn pass(&mut self, lines: &Lines<'_>, keep: &[bool]) {
        let mut looked_up = self.picked.indexes.iter().peekable();
        let mut kept = self.kept;
        for (i, keep) in keep.iter().enumerate() {
            if looked_up.next_if(|index| **index == i).is_some() {
                kept += usize::from(*keep);
                continue;
            }
            let extent = lines.extent(i);
            match self.between.last_mut() {
                Some(last) if last.kept == kept && last.extent.end == extent.start => {
                    last.extent.end = extent.end;
                    last.lines += 1;
                }
                _ => self.between.push(Between { kept, extent, lines: 1 }),
            }
        }
    }
}

impl Decide<'_, '_> {
    fn writes(&self) -> bool {
        self.sink.is_some() && self.undecided.load(Ordering::Relaxed) == u64::MAX
    }

    /// Notes that a line is to be spilled.
    fn spill(
        &self,
        table: &Table,
        place: u64,
        i: usize,
        spilled: &mut Scattered,
    ) -> Result<(), Error> {
        self.undecided.fetch_min(place, Ordering::Relaxed);
        let make = || {
            // These inputs are the first of all.
            let estimate = || self.budget.partitions(table.bytes(), place, self.total);
            let count = self.partitions.unwrap_or_else(estimate);
            let buffers = self.budget.spill_buffers();
            Partitions::new(self.disk, 0, count, buffers, self.layout)
        };
        self.rest.get_or_make(make)?;
        spilled.indexes.push(i);
        Ok(())
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
            let table = self.table.read().expect("no worker panics");
            let counts = self.counts.map(|counts| counts.read().expect("no worker panics"));
            table.warm(hashes);
            for (&i, &hash) in indexes.iter().zip(hashes) {
                let key = lines.key(i);
                if self.keys.is_some_and(|keys| keys.find(hash, key).is_some()) {
                    keep[i] = false;
                    continue;
                }
                let known = table.find(hash, key);
                keep[i] = known.is_none();
                if let (Some(unit), Some(counts)) = (known, &counts) {
                    counts.add(unit, lines.input(), lines.place(i));
                }
            }
        }
        if self.writes() {
            local.pass(lines, keep);
        }
        local.kept += keep.iter().filter(|keep| **keep).count();
        Ok(())
    }

    fn carries(&self, local: &Local) -> bool {
        !local.between.is_empty()
    }

    fn kept(&self, local: &mut Local, lines: &Lines<'_>) -> Result<(), Error> {
        let Local { kept, between, pieces, spilled, .. } = local;
        let mut writes = self.writes();
        let mut between = between.drain(..).peekable();
        if lines.len() > 0 {
            let mut table = self.table.write().expect("no worker panics");
            let mut counts = self.counts.map(|counts| counts.write().expect("no worker panics"));
            for i in 0..lines.len() {
                while let Some(Between { extent, lines, .. }) =
                    between.next_if(|some| some.kept <= i)
                {
                    if writes {
                        pieces.add(extent, lines);
                    }
                }
                let (hash, place) = (lines.hashes()[i], lines.place(i));
                let inserted = table.insert(hash, place, self.rule.record(lines.record(i)))?;
                match (inserted, &mut counts) {
                    (Inserted::New(unit), Some(counts)) => counts.begin(unit, lines.input(), place),
                    (Inserted::Known(unit), Some(counts)) => counts.add(unit, lines.input(), place),
                    // Without a sink, results are handed on later.
                    (Inserted::New(_), None) if writes => pieces.add(lines.extent(i), 1),
                    (Inserted::New(_) | Inserted::Known(_), None) => {}
                    (Inserted::Full, _) => {
                        writes = false;
                        self.spill(&table, place, i, spilled)?;
                    }
                }
            }
        }
        for Between { extent, lines, .. } in between.filter(|_| writes) {
            pieces.add(extent, lines);
        }
        *kept = 0;
        if let Some(parts) = self.rest.get() {
            parts.push_some(spilled, |i| {
                (lines.hashes()[i], lines.place(i), self.rule.record(lines.record(i)))
            })?;
        }
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
        self.table.read().expect("no worker panics").room_for_long(spare)
    }
}
