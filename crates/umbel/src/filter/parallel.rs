//! Filling a filter on several threads.

use core::convert::Infallible;
use core::num::NonZero;
use std::sync::Mutex;
use std::thread;

use super::core::{Merge, Owned};
use super::hashed::{Erased, Hashed};
use crate::hash::{Hashing, Key};
use crate::prelude::*;

/// Bytes of copies that pay off per key: making and merging a byte takes some 0.3 ns, inserting a key 4 ns and more.
const COPIED_PER_KEY: u64 = 6;

/// Lets threads insert parts of some keys into a filter of `bytes` bytes and into copies, and merges these.
pub(crate) fn in_parts<F: Send, E: Send>(
    filter: &mut F,
    (bytes, keys, threads): (u64, usize, NonZero<usize>),
    empty: impl Fn(&F) -> Option<F>,
    insert: impl Fn(&mut F, usize, usize) -> Result<(), E> + Sync,
    mut merge: impl FnMut(&mut F, &F),
) -> Result<(), E> {
    // A filter of no keys may have no bytes.
    let most = keys as u64 * COPIED_PER_KEY / bytes.max(1);
    let wanted = (threads.get() as u64 - 1).min(most);
    // If memory for more copies is lacking, these do the work.
    let mut copies: Vec<F> = (0..wanted).map_while(|_| empty(filter)).collect();
    let parts = copies.len() + 1;
    let left = Mutex::new(copies.iter_mut().enumerate());
    let work = || {
        loop {
            let next = left.lock().expect("the lock is not held over any work").next();
            let Some((i, copy)) = next else { return Ok(()) };
            insert(copy, i + 1, parts)?;
        }
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..parts).map_while(spawn).collect();
        // If no more threads start, these do the work.
        let own = insert(filter, 0, parts).and_then(|()| work());
        let join = |handle: thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(join).fold(own, Result::and)
    })?;
    copies.iter().for_each(|copy| merge(filter, copy));
    Ok(())
}

pub(crate) fn insert_all<C, K: Key<H> + Sync, H: Hashing>(
    filter: &mut Hashed<C, H>,
    threads: NonZero<usize>,
    keys: &[K],
) where
    C: Owned<Refusal = Infallible> + Send,
{
    let insert = |filter: &mut Hashed<C, H>, part, parts| {
        let each = keys.len().div_ceil(parts).max(1);
        filter.insert_keys(keys.chunks(each).nth(part).unwrap_or(&[]))
    };
    let merge = |filter: &mut Hashed<C, H>, copy: &Hashed<C, H>| {
        let merged = filter.core.merge(&copy.core.borrowed(), Merge::Union);
        merged.expect("filters of one plan merge");
    };
    let empty =
        |filter: &Hashed<C, H>| Hashed::make(filter.core.plan(), filter.hasher.clone()).ok();
    let work = (filter.bytes(), keys.len(), threads);
    let Ok(()) = in_parts(filter, work, empty, insert, merge);
}
