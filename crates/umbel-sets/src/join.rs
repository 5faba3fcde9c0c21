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
use crate::records::Layout;
use crate::spill::{Disk, Partitions, Runs, Spill};
use crate::table::{Inserted, Table};

pub(crate) struct Join<'a> {
    pub(crate) settling: Settling<'a>,
    pub(crate) places: &'a Places,
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

/// What settling a part has.
#[derive(Clone, Copy)]
pub(crate) struct Settling<'a> {
    pub(crate) disk: &'a Disk<'a>,
    pub(crate) hasher: KeyHasher,
    pub(crate) budget: Budget,
    /// Bytes for all threads together, or for one part.
    pub(crate) memory: u64,
}

impl Settling<'_> {
    /// Bytes of a buffer to read a file with.
    pub(crate) fn buffer(&self) -> usize {
        (self.memory / 32).clamp(16 << 10, 1 << 20) as usize
    }

    /// Partitions for lines without room that are settled at `level`.
    pub(crate) fn partitions(
        &self,
        level: u32,
        count: usize,
        layout: Layout,
    ) -> Result<Partitions, Error> {
        Partitions::new(self.disk, level, count, self.memory / 16, layout)
    }

    /// How many of those for the rest of a file, `seen` lines of which had room.
    pub(crate) fn partitions_of_rest(&self, file: &Spill, seen: u64) -> usize {
        self.budget.partitions_of_rest(file.lines(), seen, self.memory / 16)
    }

    /// Fills a table with the lines of a file; gives those without room, in partitions for `level`.
    pub(crate) fn load(
        &self,
        table: &mut Table,
        file: &Spill,
        level: u32,
    ) -> Result<Option<Partitions>, Error> {
        let mut rest = None;
        let mut lines = file.read(self.buffer());
        let mut seen = 0;
        while let Some((place, line)) = lines.next(self.disk)? {
            seen += 1;
            let hash = self.hasher.hash(line.key());
            if table.insert(hash, place, line)? == Inserted::Full {
                if rest.is_none() {
                    let count = self.partitions_of_rest(file, seen);
                    rest = Some(self.partitions(level, count, file.layout())?);
                }
                rest.as_ref().expect("just made").push(self.disk, hash, place, line)?;
            }
        }
        Ok(rest)
    }
}

/// Works off all parts on as many threads as their `longest` lines allow; `work` settles one with its share of the memory,
/// gives the parts that come of it, and the number of different lines it held. Gives the sum of those.
pub(crate) fn work_off<P: Send>(
    parts: Vec<P>,
    settling: Settling<'_>,
    longest: impl Fn(&P) -> u64,
    work: impl Fn(P, Settling<'_>) -> Result<(Vec<P>, u64), Error> + Sync,
) -> Result<u64, Error> {
    let longest = parts.iter().map(longest).max().unwrap_or(0);
    let threads = settling.budget.settling_threads(settling.memory, longest);
    let settling = Settling { memory: settling.memory / threads as u64, ..settling };
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
            let result = work(part, settling);
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
        let longest = |part: &Part| part.candidates.longest().max(part.others.longest());
        work_off(parts, self.settling, longest, |part, settling| self.part(part, settling, &runs))
    }

    /// Joins one part; gives what has to be joined at the next level, and the lines held.
    fn part(
        &self,
        part: Part,
        settling: Settling<'_>,
        runs: &Mutex<&mut Runs>,
    ) -> Result<(Vec<Part>, u64), Error> {
        let level = part.level + 1;
        let layout = part.candidates.layout();
        let mut table = Table::with_marks(settling.memory - settling.memory / 8, layout)?;
        let rest = settling.load(&mut table, &part.candidates, level)?;
        table.freeze();
        let rest = match rest {
            None => None,
            Some(rest) => {
                let others = settling.partitions(level, rest.len(), part.others.layout())?;
                Some((rest.finish()?, others))
            }
        };
        let mut others = part.others.read(settling.buffer());
        let mut input = None;
        while let Some((place, line)) = others.next(settling.disk)? {
            let from = self.places.input_of(place);
            if input.is_some_and(|before| before != from) {
                table.count_marks();
            }
            input = Some(from);
            let hash = settling.hasher.hash(line.key());
            match (table.find(hash, line.key()), &rest) {
                (Some(unit), _) => table.mark(unit),
                (None, Some((_, others))) => others.push(settling.disk, hash, place, line)?,
                (None, None) => {}
            }
        }
        drop(others);
        let results = table.met(self.places.inputs());
        runs.lock().expect("no worker panics").add(settling.disk, results)?;
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
