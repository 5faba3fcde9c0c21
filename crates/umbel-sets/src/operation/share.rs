//! The pass that decides which lines of the first input all others have.
//!
//! A line that is among the keys of the others, met in all of them, is
//! wanted when it comes for the first time. Where keys have been spilled, a doubtful line that is not found is
//! spilled too; from then on lines go to a run of results, which is merged with those of the partitions.

use std::sync::Mutex;

use umbel::Blocked;

use super::keys::{At, Keys};
use super::marks::Marks;
use crate::Error;
use crate::bulk::Picked;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Told};

pub(super) struct Share<'a, 'o> {
    /// Of the keys of the others, those spilled included; without it, all may be among them.
    pub(super) doubt: Option<&'a Blocked>,
    pub(super) keys: &'a Keys,
    pub(super) others: u64,
    /// Keys whose line has come.
    pub(super) given: Vec<Marks>,
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
    /// Of each kept line, where its key is.
    found: Vec<Option<At>>,
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
        self.keys.warm(hashes);
        for (&i, &hash) in indexes.iter().zip(hashes) {
            let found = self.keys.find(hash, lines.key(i));
            keep[i] = match found {
                Some(at) => self.keys.met(at) == self.others && !self.given[at.0].is_set(at.1),
                None => self.spilled.is_some(),
            };
            if keep[i] {
                local.found.push(found);
            }
        }
        Ok(())
    }

    fn kept(&self, local: &mut Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut output = self.output.lock().expect("no worker panics");
        let Output { sink, runs, late } = &mut *output;
        let Local { found, wanted, .. } = local;
        for (i, found) in found.drain(..).enumerate() {
            let place = lines.place(i);
            match (found, self.spilled) {
                (Some((shard, unit)), _) if !self.given[shard].set(unit) => {}
                (Some(_), _) if *late => {
                    runs.push(self.disk, Told { place, count: 1, row: lines.row(i) })?;
                }
                (Some(_), _) => wanted.push(i),
                (None, Some(spilled)) => {
                    *late = true;
                    spilled.push(lines.hashes()[i], place, lines.record(i))?;
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
