//! The probe: lines of the other inputs that may be among the first ones', by their bytes.

use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use super::build::Doubt;
use super::counts::{Counts, INPUTS_AT_ONCE};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::{Layout, Record};
use crate::scan::{Lines, Visit};
use crate::spill::{Disk, Partitions};
use crate::table::{Inserted, Table};

/// Keeps the keys of lines that a filter lets pass, each once as long as there is room, in no order.
pub(super) struct Probe<'a> {
    /// What it does not hold is passed over; without it every line is looked up.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) table: &'a RwLock<Table>,
    /// Whether keys that the table does not have enter it; otherwise they matter only where some have been spilled.
    pub(super) enter: bool,
    /// In how many inputs each key was met, where that matters.
    pub(super) met: Option<&'a RwLock<Counts>>,
    /// Where keys are spilled that the table has no room for.
    pub(super) spilled: &'a Mutex<Option<Partitions>>,
    /// What is like a kept line is doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first byte that is read, and the bytes of all.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) disk: &'a Disk<'a>,
    pub(super) budget: Budget,
}

impl Visit for Probe<'_> {
    type Local = Picked;

    fn local(&self) -> Picked {
        Picked::default()
    }

    fn batch(
        &self,
        picked: &mut Picked,
        lines: &Lines<'_>,
        keep: &mut [bool],
    ) -> Result<(), Error> {
        picked.pick(self.filter, lines.hashes());
        if picked.hashes.is_empty() {
            return Ok(());
        }
        let unknown = self.enter || self.spilled.lock().expect("no worker panics").is_some();
        let table = self.table.read().expect("no worker panics");
        let met = self.met.map(|met| met.read().expect("no worker panics"));
        table.warm(&picked.hashes);
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            match (table.find(hash, lines.key(i)), &met) {
                (Some(unit), Some(met)) => met.add(unit, lines.input()),
                (Some(_), None) => {}
                (None, _) => keep[i] = unknown,
            }
        }
        Ok(())
    }

    fn kept(&self, _: &mut Picked, lines: &Lines<'_>) -> Result<(), Error> {
        if let Some(doubt) = self.doubt {
            doubt.lock().expect("no worker panics").insert(lines.hashes());
        }
        let mut table = self.table.write().expect("no worker panics");
        let mut met = self.met.map(|met| met.write().expect("no worker panics"));
        for i in 0..lines.len() {
            table.warm_from(lines.hashes(), i);
            let (hash, place) = (lines.hashes()[i], lines.place(i));
            let line = Record::line(lines.key(i));
            let inserted =
                if self.enter { table.insert(hash, place, line)? } else { Inserted::Full };
            match (inserted, &mut met) {
                (Inserted::New(unit) | Inserted::Known(unit), Some(met)) => {
                    met.begin(unit, lines.input());
                }
                (Inserted::New(_) | Inserted::Known(_), None) => {}
                (Inserted::Full, _) => {
                    let mut spilled = self.spilled.lock().expect("no worker panics");
                    if spilled.is_none() {
                        let done = place - self.start;
                        let count = self.budget.partitions(table.bytes(), done, self.total);
                        let buffers = self.budget.spill_buffers();
                        // Of these only the keys matter.
                        *spilled =
                            Some(Partitions::new(self.disk, 0, count, buffers, Layout::Lines)?);
                    }
                    spilled.as_ref().expect("just made").push(self.disk, hash, place, line)?;
                }
            }
        }
        Ok(())
    }

    fn ordered(&self) -> bool {
        false
    }

    fn inputs_at_once(&self) -> usize {
        if self.met.is_some() { INPUTS_AT_ONCE } else { usize::MAX }
    }

    fn room(&self) -> u64 {
        self.table.read().expect("no worker panics").room_for_long(self.budget.long_line())
    }
}
