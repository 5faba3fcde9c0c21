//! The lines of the other inputs that the first one may have, by their bytes.

use std::sync::{Mutex, RwLock};

use umbel::Blocked;

use super::EXCLUDED;
use super::doubt::Doubt;
use crate::Error;
use crate::budget::Budget;
use crate::bulk::Picked;
use crate::records::{Layout, Record};
use crate::scan::{Lines, Visit};
use crate::spill::{Disk, Partitions};
use crate::table::{Inserted, Table};

/// Keeps the lines that `seen` lets pass, each once as long as there is room.
pub(super) struct Exclude<'a> {
    /// A filter of the first input; without it every line is kept.
    pub(super) seen: Option<&'a Blocked>,
    pub(super) table: &'a RwLock<Table>,
    /// Where lines go that the table has no room for.
    pub(super) rest: &'a Mutex<Option<Partitions>>,
    /// What is like an excluded line is doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first input's first byte, and the bytes of all.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) disk: &'a Disk<'a>,
    pub(super) budget: Budget,
}

impl Visit for Exclude<'_> {
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
        picked.pick(self.seen, lines.hashes());
        if picked.hashes.is_empty() {
            return Ok(());
        }
        // What is known now stays known: no need to wait for a turn to find that out.
        let table = self.table.read().expect("no worker panics");
        table.warm(&picked.hashes);
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            keep[i] = table.find(hash, lines.key(i)).is_none();
        }
        Ok(())
    }

    fn kept(&self, _: &mut Picked, lines: &Lines<'_>) -> Result<(), Error> {
        if let Some(doubt) = self.doubt {
            doubt.lock().expect("no worker panics").insert(lines.hashes());
        }
        let mut table = self.table.write().expect("no worker panics");
        for i in 0..lines.len() {
            table.warm_from(lines.hashes(), i);
            let (hash, line) = (lines.hashes()[i], Record::line(lines.key(i)));
            if table.insert(hash, EXCLUDED, line)? == Inserted::Full {
                let mut rest = self.rest.lock().expect("no worker panics");
                if rest.is_none() {
                    let done = lines.place(i) - self.start;
                    let count = self.budget.partitions(table.bytes(), done, self.total);
                    let buffers = self.budget.spill_buffers();
                    // Of these only the keys matter.
                    *rest = Some(Partitions::new(self.disk, 0, count, buffers, Layout::Lines)?);
                }
                rest.as_ref().expect("just made").push(self.disk, hash, EXCLUDED, line)?;
            }
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        self.table.read().expect("no worker panics").room_for_long(self.budget.long_line())
    }
}
