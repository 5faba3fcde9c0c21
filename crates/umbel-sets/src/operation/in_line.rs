//! Shards that workers go through in line, in the order of the inputs.
//!
//! A worker locks the next shard before it leaves the last, and so to the end: none overtakes another, each shard sees
//! all lines in the order of the inputs, and as many workers as there are shards can be at work.

use std::sync::{MutexGuard, RwLock, RwLockReadGuard};

use super::prelude::*;
use crate::spill::lock_each;

/// Shards, and what comes after them, such as the output.
pub(super) struct InLine<S, E> {
    pub(super) shards: Vec<RwLock<S>>,
    end: Mutex<End<E>>,
}

struct End<E> {
    end: E,
    /// Whether a worker failed: then none that follow get to the end.
    failed: bool,
}

impl<S, E> InLine<S, E> {
    pub(super) fn new(shards: impl IntoIterator<Item = S>, end: E) -> Self {
        let shards = shards.into_iter().map(RwLock::new).collect();
        Self { shards, end: Mutex::new(End { end, failed: false }) }
    }

    /// Goes through all shards, and stays at the end; calls `pass` as soon as another may follow.
    pub(super) fn walk(
        &self,
        pass: &dyn Fn(),
        mut visit: impl FnMut(usize, &mut S) -> Result<(), Error>,
    ) -> Result<AtEnd<'_, E>, Error> {
        let lock = |number: usize| self.shards[number].write().expect("no worker panics");
        let mut shard = lock(0);
        pass();
        let mut done = visit(0, &mut shard);
        for number in 1..self.shards.len() {
            shard = lock(number);
            done = done.and_then(|()| visit(number, &mut shard));
        }
        let mut end = self.end.lock().expect("no worker panics");
        drop(shard);
        end.failed |= done.is_err();
        done.map(|()| AtEnd(end))
    }

    /// Passes each shard of some lines to `look`, and empties their lists; starts with idle shards.
    pub(super) fn read_each(
        &self,
        lines: &mut ByShard,
        mut look: impl FnMut(&S, &Few),
    ) -> Result<(), Error> {
        lock_each(&self.shards, &mut lines.0, Few::is_empty, read, |shard, few| {
            look(&shard, few);
            few.clear();
            Ok(())
        })
    }

    pub(super) fn into_shards(self) -> impl Iterator<Item = S> {
        self.shards.into_iter().map(|shard| shard.into_inner().expect("no worker panics"))
    }
}

/// Locks a shard for [`lock_each`].
fn read<S>(shard: &RwLock<S>, wait: bool) -> Option<RwLockReadGuard<'_, S>> {
    if wait { Some(shard.read().expect("no worker panics")) } else { shard.try_read().ok() }
}

/// A worker that has gone through all shards; no other gets there before it leaves.
pub(super) struct AtEnd<'l, E>(MutexGuard<'l, End<E>>);

impl<E> AtEnd<'_, E> {
    /// Does the last of the work, unless a worker before failed.
    pub(super) fn finish(
        mut self,
        work: impl FnOnce(&mut E) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.0.failed {
            return Ok(());
        }
        let done = work(&mut self.0.end);
        self.0.failed = done.is_err();
        done
    }
}

/// Numbers of lines, with their hashes, by shard.
#[derive(Default)]
pub(super) struct ByShard(pub(super) Vec<Few>);

/// The numbers and hashes of one shard.
#[derive(Clone, Default)]
pub(super) struct Few {
    pub(super) numbers: Vec<usize>,
    pub(super) hashes: Vec<KeyHash>,
}

impl Few {
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.hashes.clear();
    }
}

impl ByShard {
    /// Empty lists for this many shards.
    pub(super) fn new(shards: usize) -> Self {
        Self(vec![Few::default(); shards])
    }

    #[inline]
    pub(super) fn push(&mut self, shard: usize, number: usize, hash: KeyHash) {
        let few = &mut self.0[shard];
        few.numbers.push(number);
        few.hashes.push(hash);
    }
}
