//! The deciding pass of distinct lines and of an anti-join: writes or counts lines that are new and in no other input.
//!
//! Lines that are not doubtful are known to be unique. A doubtful line is looked up in the tables, and if it is
//! absent, added in its turn: workers go through the tables in line. As long as there is room, every line is decided when
//! it is read, and if wanted, written immediately. From the first line on that is not in its table and does not fit,
//! nothing is written, and lines that do not fit are spilled.

use super::counts::INPUTS_AT_ONCE;
use super::key_set::index;
use super::prelude::*;
use crate::sink::Pieces;

pub(super) struct Decide<'a, 'o> {
    /// Lines that may be repeated or excluded; without it, all.
    pub(super) doubt: Option<&'a Blocked>,
    /// The keys of the other inputs, if any.
    pub(super) keys: Option<&'a KeySet>,
    /// Whether lines are written at their first occurrence.
    pub(super) writes: bool,
    pub(super) held: InLine<CountedTable, &'a mut Sink<'o>>,
    /// Receives doubtful lines that do not fit in their table.
    pub(super) rest: Later,
    /// The number of partitions, if keys were spilled to some; the tables accept no lines then.
    pub(super) partitions: Option<usize>,
    /// The place of the first line that could not be decided; all ones at first.
    pub(super) undecided: AtomicU64,
    pub(super) rule: Rule,
    /// Bytes of the inputs.
    pub(super) total: u64,
    pub(super) budget: Budget,
}

/// The state of a worker.
#[derive(Default)]
struct Local {
    picked: Picked,
    looked_up: ByShard,
    /// Unique lines, to be written directly.
    between: Pieces,
    /// The number of kept lines that were not handed on yet, and these by shard.
    kept: usize,
    shards: ByShard,
    /// For each of them, whether it is new.
    new: Vec<bool>,
    pieces: Pieces,
    spilled: Scattered,
}

impl Decide<'_, '_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        let inputs = self.rule.counted == Some(Counted::Inputs);
        let at_once = if inputs { INPUTS_AT_ONCE } else { usize::MAX };
        let held = &self.held.shards;
        let room = move || {
            let shards = held.iter().map(|shard| shard.read().expect("no worker panics"));
            shards.map(|shard| shard.table.room_for_long(spare)).min().unwrap_or(spare)
        };
        let visit = Visit::new(spare, move || {
            let [looked_up, shards] = [(); 2].map(|()| ByShard::new(held.len()));
            (self, Local { looked_up, shards, ..Local::default() })
        });
        Visit { at_once, room: Box::new(room), ..visit }
    }
}

impl Work for (&Decide<'_, '_>, Local) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (decide, Local { picked, looked_up, between, kept, shards, .. }) = self;
        picked.pick(decide.doubt, lines.hashes());
        if let Some(keys) = decide.keys {
            keys.warm(&picked.hashes);
        }
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            if decide.keys.is_none_or(|keys| keys.find(hash, lines.key(i)).is_none()) {
                looked_up.push(index(hash, decide.held.shards.len()), i, hash);
            }
        }
        // Lines already in a table occurred before: no need to wait for a turn.
        decide.held.read_each(looked_up, |CountedTable { table, counts }, few| {
            table.warm(&few.hashes);
            for (&i, &hash) in few.numbers.iter().zip(&few.hashes) {
                let known = table.find(hash, lines.key(i));
                keep[i] = known.is_none();
                if let (Some(unit), Some(counts)) = (known, counts) {
                    counts.add(unit, lines.input(), lines.place(i));
                }
            }
        })?;
        for (_, &hash) in picked.indexes.iter().zip(&picked.hashes).filter(|(i, _)| keep[**i]) {
            shards.push(index(hash, decide.held.shards.len()), *kept, hash);
            *kept += 1;
        }
        if decide.writes && decide.undecided.load(Ordering::Relaxed) == u64::MAX {
            let mut doubtful = picked.indexes.iter().peekable();
            for i in 0..lines.len() {
                if doubtful.next_if(|index| **index == i).is_none() {
                    between.add(lines.extent(i), 1);
                }
            }
        }
        Ok(())
    }

    fn carries(&self) -> bool {
        !self.1.between.0.is_empty()
    }

    fn kept(&mut self, lines: &Lines<'_>, pass: &dyn Fn()) -> Result<(), Error> {
        let (decide, Local { between, kept, shards, new, pieces, spilled, .. }) = self;
        *kept = 0;
        new.clear();
        new.resize(lines.len(), false);
        let record = |i: usize| decide.rule.record(lines.record(i));
        let at_end = decide.held.walk(pass, |number, held| {
            let few = &mut shards.0[number];
            for (&i, &hash) in few.numbers.iter().zip(&few.hashes) {
                match held.insert(hash, (lines.input(), lines.place(i)), record(i))? {
                    Inserted::New(_) => new[i] = true,
                    Inserted::Known(_) => {}
                    Inserted::Full => {
                        let place = lines.place(i);
                        decide.undecided.fetch_min(place, Ordering::Relaxed);
                        // These inputs are the first of all.
                        let bytes = held.table.bytes() * decide.held.shards.len() as u64;
                        let estimate = || decide.budget.partitions(bytes, place, decide.total);
                        decide.rest.get_or_make(|| decide.partitions.unwrap_or_else(estimate))?;
                        spilled.indexes.push(i);
                    }
                }
            }
            few.clear();
            Ok(())
        })?;
        at_end.finish(|sink| {
            // No line from the first undecided one on is written, whichever worker found it.
            let most = decide.undecided.load(Ordering::Relaxed);
            let mut add = |extent: Range<usize>, count| {
                if decide.writes && lines.place_of(extent.start) < most {
                    pieces.add(extent, count);
                }
            };
            let mut between = between.0.drain(..).peekable();
            for (i, _) in new.iter().enumerate().filter(|(_, is_new)| **is_new) {
                let own = lines.extent(i);
                let is_before = |(extent, _): &(Range<usize>, u64)| extent.start < own.start;
                while let Some((extent, count)) = between.next_if(is_before) {
                    add(extent, count);
                }
                add(own, 1);
            }
            between.for_each(|(extent, count)| add(extent, count));
            spilled.indexes.sort_unstable();
            decide.rest.push_some(spilled, |i| (lines.hashes()[i], lines.place(i), record(i)))?;
            sink.put(lines.buffer(), pieces)
        })
    }
}
