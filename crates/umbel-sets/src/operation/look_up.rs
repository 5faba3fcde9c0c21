//! The deciding pass if only the keys of the other inputs decide: a semi-join, or every record of the first input
//! marked by whether the others have its key.
//!
//! A line whose key was gathered is decided immediately; so is a line that is in no other input. If keys were spilled,
//! a doubtful line whose key is not in memory is spilled as well. From then on, lines go to a run of results, which is
//! merged with the partitions' runs.

use std::iter;

use super::prelude::*;

pub(super) struct LookUp<'a, 'o> {
    /// A filter of all gathered keys, including spilled ones; without it, every line is looked up.
    pub(super) key_filter: Option<&'a Blocked>,
    pub(super) keys: &'a KeySet,
    pub(super) rule: Rule,
    /// Keys whose line was written, if each is written once.
    pub(super) given: Option<Vec<Marks>>,
    /// Receives lines that may equal a spilled key, if there are any.
    pub(super) spilled: &'a Later,
    pub(super) output: Mutex<SinkOrRun<'a, 'o>>,
}

/// The destination of lines: the sink until one is spilled, then a run.
pub(super) struct SinkOrRun<'a, 'o> {
    pub(super) sink: &'a mut Sink<'o>,
    pub(super) runs: &'a mut Runs,
    pub(super) late: bool,
}

/// The decision on a line that is not skipped.
#[derive(Clone, Copy)]
enum Verdict {
    /// Write it, with its count.
    Write(u64),
    /// Write it unless its key was written before.
    Give(At),
    /// Spill it.
    Spill,
}

/// The state of a worker.
#[derive(Default)]
struct Local {
    picked: Picked,
    /// For the kept lines.
    kept: Vec<Verdict>,
    wanted: Vec<usize>,
    spilled: Scattered,
}

impl LookUp<'_, '_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Local::default()))
    }
}

impl Work for (&LookUp<'_, '_>, Local) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (LookUp { key_filter, keys, rule, given, spilled, .. }, Local { picked, kept, .. }) =
            self;
        // Lines that are not looked up are all wanted, or none are.
        let wanted = rule.wants(0);
        keep.fill(wanted);
        let write = Verdict::Write(rule.count(1, 0));
        let mut next = 0;
        keys.find_each(*key_filter, lines, picked, |i, found| {
            if wanted {
                kept.extend(iter::repeat_n(write, i - next));
                next = i + 1;
            }
            let met = found.map_or(0, |at| keys.met(at));
            let verdict = match (found, given) {
                (None, _) if spilled.get().is_some() => Some(Verdict::Spill),
                _ if !rule.wants(met) => None,
                (Some(at), Some(given)) => (!given[at.0].is_set(at.1)).then_some(Verdict::Give(at)),
                _ => Some(Verdict::Write(rule.count(1, met))),
            };
            keep[i] = verdict.is_some();
            kept.extend(verdict);
            Ok(())
        })?;
        if wanted {
            kept.extend(iter::repeat_n(write, lines.len() - next));
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (look_up, Local { kept, wanted, spilled, .. }) = self;
        let mut output = look_up.output.lock().expect("no worker panics");
        let SinkOrRun { sink, runs, late } = &mut *output;
        for (i, verdict) in kept.drain(..).enumerate() {
            let place = lines.place(i);
            let count = match verdict {
                Verdict::Write(count) => count,
                Verdict::Give((shard, unit)) => {
                    if !look_up.given.as_ref().is_some_and(|given| given[shard].set(unit)) {
                        continue;
                    }
                    1
                }
                Verdict::Spill => {
                    *late = true;
                    spilled.indexes.push(i);
                    continue;
                }
            };
            let selected = Selected { place, count, row: lines.row(i) };
            if *late {
                runs.push(selected)?;
            } else if sink.is_plain() {
                wanted.push(i);
            } else {
                sink.result(selected)?;
            }
        }
        let line = |i: usize| (lines.hashes()[i], lines.place(i), lines.record(i));
        look_up.spilled.push_some(spilled, line)?;
        sink.rows(lines, wanted.drain(..))
    }
}
