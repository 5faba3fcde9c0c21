//! The deciding pass of a semi-join: writes lines of the first input that all other inputs have.
//!
//! A line is written when it first comes, if its key was gathered and is in all other inputs. If keys were spilled, a
//! doubtful line whose key is not in memory is spilled too. From then on, lines go to a run of results, which is
//! merged with those of the partitions.

use std::sync::Mutex;

use umbel::Blocked;

use super::keys::{At, Keys};
use super::marks::Marks;
use crate::Error;
use crate::bulk::Picked;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Selected};

pub(super) struct SemiJoin<'a, 'o> {
    /// Of all gathered keys, including spilled ones; without it, every line is looked up.
    pub(super) doubt: Option<&'a Blocked>,
    pub(super) keys: &'a Keys,
    pub(super) others: u64,
    /// Keys whose line was written.
    pub(super) given: Vec<Marks>,
    /// Receives lines that may equal a spilled key.
    pub(super) spilled: Option<&'a Partitions>,
    pub(super) output: Mutex<Output<'a, 'o>>,
    pub(super) disk: &'a Disk<'a>,
    pub(super) room: u64,
}

/// Where lines go: to the sink until one is spilled, then to a run.
pub(super) struct Output<'a, 'o> {
    pub(super) sink: &'a mut Sink<'o>,
    pub(super) runs: &'a mut Runs,
    pub(super) late: bool,
}

/// What a worker carries.
#[derive(Default)]
pub(super) struct Local {
    picked: Picked,
    /// Where the key of each kept line is.
    found: Vec<Option<At>>,
    wanted: Vec<usize>,
}

impl Visit for SemiJoin<'_, '_> {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn batch(&self, local: &mut Local, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let Local { picked, found: kept, .. } = local;
        self.keys.find_each(self.doubt, lines, picked, |i, found| {
            keep[i] = match found {
                Some(at) => self.keys.met(at) == self.others && !self.given[at.0].is_set(at.1),
                None => self.spilled.is_some(),
            };
            if keep[i] {
                kept.push(found);
            }
            Ok(())
        })
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
                    runs.push(self.disk, Selected { place, count: 1, row: lines.row(i) })?;
                }
                (Some(_), _) => wanted.push(i),
                (None, Some(spilled)) => {
                    *late = true;
                    spilled.push(lines.hashes()[i], place, lines.record(i))?;
                }
                (None, None) => unreachable!("lines without a key are kept only to be spilled"),
            }
        }
        sink.rows(lines, wanted.drain(..))
    }

    fn room(&self) -> u64 {
        self.room
    }
}
