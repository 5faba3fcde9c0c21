//! Settling lines that did not fit in memory: each partition is joined in a table of its own.
//!
//! A partition has *candidates*, lines in order of first place, and *others*, keys of lines met in
//! later passes. As many different candidates as fit enter a table; the others mark them; what is marked
//! often enough is a run of results. Candidates without room go, with their others, to partitions of
//! the next level. Every table takes at least one line and all its repeats, so this ends for any
//! input, equal lines and colliding hashes included: those cost time, never memory.

use std::sync::{Condvar, Mutex};
use std::thread;

use umbel::KeyHasher;

use crate::Error;
use crate::budget::Budget;
use crate::places::Places;
use crate::spill::{Disk, Partitions, Runs, Spill};
use crate::table::{Inserted, Table};

pub(crate) struct Join<'a> {
    pub(crate) disk: &'a Disk<'a>,
    pub(crate) hasher: KeyHasher,
    pub(crate) places: &'a Places,
    pub(crate) budget: Budget,
    /// Bytes for all threads together.
    pub(crate) memory: u64,
}

/// Lines set aside together.
pub(crate) struct Part {
    pub(crate) candidates: Spill,
    pub(crate) others: Spill,
    pub(crate) level: u32,
}

struct Queue<P> {
    parts: Vec<P>,
    /// Parts being worked on, which may add others.
    working: usize,
    stopped: bool,
}

/// Works off all parts on `threads` threads; `work` gives the parts that come of one, and the number
/// of different lines it held. Gives the sum of those.
pub(crate) fn work_off<P: Send>(
    parts: Vec<P>,
    threads: usize,
    work: impl Fn(P) -> Result<(Vec<P>, u64), Error> + Sync,
) -> Result<u64, Error> {
    let queue = Mutex::new(Queue { parts, working: 0, stopped: false });
    let changed = Condvar::new();
    let work = || -> Result<u64, Error> {
        let mut distinct = 0;
        loop {
            let mut state = queue.lock().expect("no worker panics");
            let part = loop {
                if state.stopped || (state.parts.is_empty() && state.working == 0) {
                    return Ok(distinct);
                }
                if let Some(part) = state.parts.pop() {
                    break part;
                }
                state = changed.wait(state).expect("no worker panics");
            };
            state.working += 1;
            drop(state);
            let result = work(part);
            let mut state = queue.lock().expect("no worker panics");
            state.working -= 1;
            match result {
                Ok((more, held)) => {
                    state.parts.extend(more);
                    distinct += held;
                    changed.notify_all();
                }
                Err(error) => {
                    state.stopped = true;
                    changed.notify_all();
                    return Err(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut total = work();
        for handle in others {
            let distinct = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            total = total.and_then(|sum| Ok(sum + distinct?));
        }
        total
    })
}

impl Join<'_> {
    /// Joins all parts; appends their results to `runs` and gives the number of different
    /// candidates.
    pub(crate) fn run(&self, parts: Vec<Part>, runs: &mut Runs) -> Result<u64, Error> {
        let runs = Mutex::new(runs);
        let longest = parts.iter().map(|part| part.candidates.longest().max(part.others.longest()));
        let threads = self.budget.settling_threads(self.memory, longest.max().unwrap_or(0));
        let memory = self.memory / threads as u64;
        work_off(parts, threads, |part| self.part(part, memory, &runs))
    }

    /// Joins one part with `memory` bytes; gives what has to be joined at the next level, and the lines held.
    fn part(
        &self,
        part: Part,
        memory: u64,
        runs: &Mutex<&mut Runs>,
    ) -> Result<(Vec<Part>, u64), Error> {
        let buffer = (memory / 32).clamp(16 << 10, 1 << 20) as usize;
        let layout = part.candidates.layout();
        let mut table = Table::with_marks(memory - memory / 8, layout)?;
        let mut rest: Option<Partitions> = None;
        let mut candidates = part.candidates.read(buffer);
        let (mut seen, level) = (0, part.level + 1);
        while let Some((place, line)) = candidates.next(self.disk)? {
            seen += 1;
            let hash = self.hasher.hash(line.key());
            if table.insert(hash, place, line)? == Inserted::Full {
                if rest.is_none() {
                    let all = part.candidates.lines();
                    let count = self.budget.partitions_of_rest(all, seen, memory / 16);
                    rest = Some(Partitions::new(self.disk, level, count, memory / 16, layout)?);
                }
                rest.as_ref().expect("just made").push(self.disk, hash, place, line)?;
            }
        }
        drop(candidates);
        table.freeze();
        let rest = match rest {
            None => None,
            Some(rest) => {
                let (count, layout) = (rest.len(), part.others.layout());
                let others = Partitions::new(self.disk, level, count, memory / 16, layout)?;
                Some((rest.finish()?, others))
            }
        };
        let mut others = part.others.read(buffer);
        let mut input = None;
        while let Some((place, line)) = others.next(self.disk)? {
            let from = self.places.input_of(place);
            if input.is_some_and(|before| before != from) {
                table.count_marks();
            }
            input = Some(from);
            let hash = self.hasher.hash(line.key());
            match (table.find(hash, line.key()), &rest) {
                (Some(unit), _) => table.mark(unit),
                (None, Some((_, others))) => others.push(self.disk, hash, place, line)?,
                (None, None) => {}
            }
        }
        drop(others);
        let results = table.met(self.places.inputs());
        runs.lock().expect("no worker panics").add(self.disk, results)?;
        let mut parts = Vec::new();
        if let Some((candidates, others)) = rest {
            for (candidates, others) in candidates.into_iter().zip(others.finish()?) {
                if candidates.bytes() > 0 {
                    parts.push(Part { candidates, others, level });
                }
            }
        }
        Ok((parts, table.len()))
    }
}
