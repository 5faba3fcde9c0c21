//! The order among workers: kept lines are handed on in the order of the inputs.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Why a worker ends early: its error, or `None` if another one failed.
pub(super) type Halt = Option<Error>;

/// The turn of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) turns: &'a Turns,
    pub(super) chunk: u64,
    /// Whether the turn is kept to the end: its line is so long that it must be alone in memory, or later inputs wait.
    pub(super) keeps: bool,
}

impl Turn<'_> {
    /// Waits until all chunks before are done.
    pub(super) fn wait(&self) -> Result<(), Halt> {
        self.turns.wait(self.chunk)
    }

    /// Lets the next chunk begin, before this one is done.
    pub(super) fn pass(&self) {
        if !self.keeps {
            self.turns.done(self.chunk);
        }
    }
}

/// Makes workers proceed in the order of their chunks where that matters.
pub(super) struct Turns {
    state: Mutex<TurnState>,
    /// Workers wait here, by their chunk's number: a finished one wakes only those whose turn it is.
    changed: [Condvar; SEATS],
}

/// As many chunks as threads usually have at a time; more share one.
const SEATS: usize = 64;

impl Default for Turns {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: std::array::from_fn(|_| Condvar::new()) }
    }
}

#[derive(Default)]
struct TurnState {
    /// All chunks before this one are done.
    next: u64,
    done_early: BTreeSet<u64>,
    /// The next chunk whose quotes will be counted.
    counted: u64,
    /// Whether the next chunk of an input starts within quotes: of even ones and of odd ones, since two may be read side by side.
    quoted: [bool; 2],
    stopped: bool,
}

impl Turns {
    fn seat(&self, chunk: u64) -> &Condvar {
        &self.changed[(chunk % SEATS as u64) as usize]
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the chunks before `chunk`, as long as their state is `behind`.
    fn wait_while(
        &self,
        chunk: u64,
        behind: impl Fn(&TurnState) -> bool,
    ) -> Result<MutexGuard<'_, TurnState>, Halt> {
        let behind = |state: &mut TurnState| !state.stopped && behind(state);
        let state = self.seat(chunk).wait_while(self.state(), behind);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        if state.stopped { Err(None) } else { Ok(state) }
    }

    /// Waits until all chunks before `chunk` are done.
    pub(super) fn wait(&self, chunk: u64) -> Result<(), Halt> {
        self.wait_while(chunk, |state| state.next < chunk).map(drop)
    }

    /// Whether `chunk` of an input starts within quotes; the `first` one does not. `turned` is whether it ends the
    /// other way. Waits until that is known for all chunks before.
    pub(super) fn quotes(
        &self,
        chunk: u64,
        input: usize,
        first: bool,
        turned: bool,
    ) -> Result<bool, Halt> {
        let mut state = self.wait_while(chunk, |state| state.counted < chunk)?;
        let before = state.quoted[input % 2] && !first;
        state.counted += 1;
        state.quoted[input % 2] = before ^ turned;
        drop(state);
        self.seat(chunk + 1).notify_all();
        Ok(before)
    }

    /// A chunk is done, or the rest of its work is ordered by other means; called once or twice.
    pub(super) fn done(&self, chunk: u64) {
        let mut state = self.state();
        if chunk < state.next {
            return;
        }
        state.done_early.insert(chunk);
        let before = state.next;
        while state.done_early.first() == Some(&state.next) {
            state.done_early.pop_first();
            state.next += 1;
        }
        let next = state.next;
        drop(state);
        for chunk in (before + 1..=next).take(SEATS) {
            self.seat(chunk).notify_all();
        }
    }
}

/// Wakes the other workers if this one ends by an error or a panic.
pub(super) struct StopOnDrop<'a>(pub(super) &'a Turns);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state().stopped = true;
        self.0.changed.iter().for_each(Condvar::notify_all);
    }
}
