//! The probe: gathers keys of the other inputs that may also be in the first ones.

use super::build::Doubt;
use super::counts::INPUTS_AT_ONCE;
use super::in_line::Few;
use super::key_set::index;
use super::prelude::*;
use crate::spill::{lock, lock_each};

/// Gathers the keys of lines that pass a filter, in no order; each once while there is room.
pub(super) struct Probe<'a> {
    /// Lines absent from it are skipped; without it, every line is gathered.
    pub(super) filter: Option<&'a Blocked>,
    pub(super) keys: &'a [Mutex<CountedTable>],
    /// Receives keys that do not fit.
    pub(super) spilled: &'a Later,
    /// Gathered keys make lines doubtful.
    pub(super) doubt: Option<&'a Mutex<Doubt>>,
    /// The place of the first byte to be read, and the number of bytes.
    pub(super) start: u64,
    pub(super) total: u64,
    pub(super) budget: Budget,
}

/// Inputs are counted in ascending order; the input whose keys are gathered counts as the first.
const INPUT: usize = 0;
const PLACE: u64 = 0;

impl Probe<'_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        let state = || (ByShard::new(self.keys.len()), Scattered::default());
        let room = move || {
            let shards = self.keys.iter().map(|shard| shard.lock().expect("no worker panics"));
            shards.map(|shard| shard.table.room_for_long(spare)).min().unwrap_or(spare)
        };
        let visit = Visit::new(spare, move || (self, state()));
        Visit { ordered: false, room: Box::new(room), ..visit }
    }
}

/// The lines are kept by shard, and lines that did not fit separately.
impl Work for (&Probe<'_>, (ByShard, Scattered)) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match self.0.filter {
            Some(filter) => filter.contains_all(lines.hashes(), keep),
            None => keep.fill(true),
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (probe, (shards, spilled)) = self;
        if let Some(doubt) = probe.doubt {
            doubt.lock().expect("no worker panics").insert(lines.hashes());
        }
        for (i, &hash) in lines.hashes().iter().enumerate() {
            shards.push(index(hash, probe.keys.len()), i, hash);
        }
        let record = |i: usize| Record::line(lines.key(i));
        lock_each(probe.keys, &mut shards.0, Few::is_empty, lock, |mut shard, few| {
            for (n, &i) in few.numbers.iter().enumerate() {
                Table::warm_from(&few.hashes, n, |_| &shard.table);
                if shard.insert(few.hashes[n], (INPUT, PLACE), record(i))? == Inserted::Full {
                    probe.spilled.get_or_make(|| {
                        let done = lines.place(i) - probe.start;
                        let held = shard.table.bytes() * probe.keys.len() as u64;
                        probe.budget.partitions(held, done, probe.total)
                    })?;
                    spilled.indexes.push(i);
                }
            }
            few.clear();
            Ok(())
        })?;
        probe.spilled.push_some(spilled, |i| (lines.hashes()[i], PLACE, record(i)))
    }
}

/// Counts in how many of the other inputs each gathered key is. `filter` has all gathered keys, including spilled ones;
/// `spilled` receives keys that may equal a spilled one, if there are any.
pub(super) fn recount<'a>(
    spare: u64,
    filter: Option<&'a Blocked>,
    keys: &'a KeySet,
    spilled: &'a Later,
) -> Visit<'a> {
    let visit = Visit::new(spare, move || {
        let (mut picked, mut scattered) = (Picked::default(), Scattered::default());
        move |lines: &Lines<'_>, _: &mut [bool]| {
            keys.find_each(filter, lines, &mut picked, |i, found| {
                match found {
                    Some(at) => keys.meet(at, lines.input()),
                    None if spilled.get().is_some() => scattered.indexes.push(i),
                    None => {}
                }
                Ok(())
            })?;
            let record = |i: usize| Record::line(lines.key(i));
            let at = |i: usize| (lines.hashes()[i], lines.place(i), record(i));
            spilled.push_some(&mut scattered, at)
        }
    });
    Visit { at_once: INPUTS_AT_ONCE, ..visit }
}
