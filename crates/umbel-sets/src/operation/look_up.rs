//! The deciding pass if only the keys of the other inputs decide: a semi-join, or every record of the first input
//! marked by whether the others have its key.
//!
//! A line whose key was gathered is decided immediately; so is a line that is in no other input. If keys were spilled,
//! a doubtful line whose key is not in memory is spilled too. From then on, lines go to a run of results, which is
//! merged with the partitions' runs.

use std::sync::Mutex;

use umbel::Blocked;

use super::keys::{At, KeySet};
use super::marks::Marks;
use super::rule::Rule;
use crate::Error;
use crate::bulk::Picked;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;
use crate::spill::{Disk, Partitions, Runs, Scattered, Selected};

pub(super) struct LookUp<'a, 'o> {
    /// A filter of all gathered keys, including spilled ones; without it, every line is looked up.
    pub(super) doubt: Option<&'a Blocked>,
    pub(super) keys: &'a KeySet,
    pub(super) rule: Rule,
    /// Keys whose line was written, if each is written once.
    pub(super) given: Option<Vec<Marks>>,
    /// Receives lines that may equal a spilled key.
    pub(super) spilled: Option<&'a Partitions>,
    pub(super) output: Mutex<SinkOrRun<'a, 'o>>,
    pub(super) disk: &'a Disk<'a>,
}

/// The destination of lines: the sink until one is spilled, then a run.
pub(super) struct SinkOrRun<'a, 'o> {
    pub(super) sink: &'a mut Sink<'o>,
    pub(super) runs: &'a mut Runs,
    pub(super) late: bool,
}

/// What to do with a line.
#[derive(Clone, Copy)]
enum Verdict {
    Skip,
    /// Write it, with its count.
    Write(u64),
    /// Write it unless its key was written before.
    Give(At),
    /// Spill it.
    Spill,
}

/// The state of a worker.
#[derive(Default)]
pub(super) struct Local {
    picked: Picked,
    batch: Vec<Verdict>,
    /// For the kept lines.
    kept: Vec<Verdict>,
    wanted: Vec<usize>,
    spilled: Scattered,
}

impl LookUp<'_, '_> {
    fn verdict(&self, found: Option<At>) -> Verdict {
        let met = found.map_or(0, |at| self.keys.met(at));
        match (found, &self.given) {
            (None, _) if self.spilled.is_some() => Verdict::Spill,
            _ if !self.rule.wants(met) => Verdict::Skip,
            (Some(at), Some(given)) if given[at.0].is_set(at.1) => Verdict::Skip,
            (Some(at), Some(_)) => Verdict::Give(at),
            _ => Verdict::Write(self.rule.count(1, met)),
        }
    }
}

impl Visit for LookUp<'_, '_> {
    type Local = Local;

    fn batch(&self, local: &mut Local, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let Local { picked, batch, kept, .. } = local;
        if !self.rule.wants(0) {
            // Lines that are not looked up are skipped, as most are.
            return self.keys.find_each(self.doubt, lines, picked, |i, found| {
                let verdict = self.verdict(found);
                keep[i] = !matches!(verdict, Verdict::Skip);
                if keep[i] {
                    kept.push(verdict);
                }
                Ok(())
            });
        }
        batch.clear();
        batch.resize(lines.len(), Verdict::Write(self.rule.count(1, 0)));
        self.keys.find_each(self.doubt, lines, picked, |i, found| {
            batch[i] = self.verdict(found);
            Ok(())
        })?;
        for (keep, verdict) in keep.iter_mut().zip(&*batch) {
            *keep = !matches!(verdict, Verdict::Skip);
            if *keep {
                kept.push(*verdict);
            }
        }
        Ok(())
    }

    fn kept(&self, local: &mut Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut output = self.output.lock().expect("no worker panics");
        let SinkOrRun { sink, runs, late } = &mut *output;
        let Local { kept, wanted, spilled, .. } = local;
        for (i, verdict) in kept.drain(..).enumerate() {
            let place = lines.place(i);
            let count = match (verdict, &self.given) {
                (Verdict::Write(count), _) => count,
                (Verdict::Give((shard, unit)), Some(given)) => {
                    if !given[shard].set(unit) {
                        continue;
                    }
                    1
                }
                (Verdict::Spill, _) => {
                    *late = true;
                    spilled.indexes.push(i);
                    continue;
                }
                _ => unreachable!("what is skipped is not kept"),
            };
            let selected = Selected { place, count, row: lines.row(i) };
            if *late {
                runs.push(self.disk, selected)?;
            } else if sink.is_plain() {
                wanted.push(i);
            } else {
                sink.result(selected)?;
            }
        }
        if let Some(parts) = self.spilled {
            parts.push_some(spilled, |i| (lines.hashes()[i], lines.place(i), lines.record(i)))?;
        }
        sink.rows(lines, wanted.drain(..))
    }
}
