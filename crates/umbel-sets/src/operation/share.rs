//! The pass that decides which lines of the first input all others have.
//!
//! The table holds keys of the others, each with the inputs it was met in. A line that is found there, met in all, is
//! wanted when it comes for the first time. Where keys have been spilled, a doubtful line that is not in the table is
//! spilled too; from then on lines go to a run of results, which is merged with those of the partitions.

use std::sync::Mutex;

use umbel::Blocked;

use super::counts::Counts;
use super::marks::Marks;
use crate::Error;
use crate::bulk::Picked;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Told};
use crate::table::Table;

pub(super) struct Share<'a, 'o> {
    /// Of the keys of the others, those spilled included; without it, all may be among them.
    pub(super) doubt: Option<&'a Blocked>,
    pub(super) table: &'a Table,
    /// In how many other inputs each key was met, where they are several.
    pub(super) met: Option<&'a Counts>,
    pub(super) others: u64,
    /// Lines that have come.
    pub(super) given: Marks,
    /// Where lines are spilled that a spilled key may be like.
    pub(super) spilled: Option<&'a Partitions>,
    pub(super) output: Mutex<Output<'a, 'o>>,
    pub(super) disk: &'a Disk<'a>,
    pub(super) room: u64,
}

/// Where lines go: to the sink, or after the first one that was spilled to a run.
pub(super) struct Output<'a, 'o> {
    pub(super) sink: &'a mut Sink<'o>,
    pub(super) runs: &'a mut Runs,
    pub(super) late: bool,
}

/// What a worker carries.
#[derive(Default)]
pub(super) struct Local {
    picked: Picked,
    /// Of each kept line, its record in the table.
    units: Vec<Option<u64>>,
    wanted: Vec<usize>,
}

impl Visit for Share<'_, '_> {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn batch(&self, local: &mut Local, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        local.picked.pick(self.doubt, lines.hashes());
        let Picked { indexes, hashes, .. } = &local.picked;
        self.table.warm(hashes);
        for (&i, &hash) in indexes.iter().zip(hashes) {
            let unit = self.table.find(hash, lines.key(i));
            keep[i] = match unit {
                Some(unit) => {
                    self.met.is_none_or(|met| met.get(unit) == self.others)
                        && !self.given.is_set(unit)
                }
                None => self.spilled.is_some(),
            };
            if keep[i] {
                local.units.push(unit);
            }
        }
        Ok(())
    }

    fn kept(&self, local: &mut Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut output = self.output.lock().expect("no worker panics");
        let Output { sink, runs, late } = &mut *output;
        let Local { units, wanted, .. } = local;
        for (i, unit) in units.drain(..).enumerate() {
            let place = lines.place(i);
            match (unit, self.spilled) {
                (Some(unit), _) if !self.given.set(unit) => {}
                (Some(_), _) if *late => {
                    runs.push(self.disk, Told { place, count: 1, row: lines.row(i) })?;
                }
                (Some(_), _) => wanted.push(i),
                (None, Some(spilled)) => {
                    *late = true;
                    spilled.push(self.disk, lines.hashes()[i], place, lines.record(i))?;
                }
                (None, None) => unreachable!("what no key is like is not kept"),
            }
        }
        sink.rows(lines, wanted.drain(..))
    }

    fn room(&self) -> u64 {
        self.room
    }
}
