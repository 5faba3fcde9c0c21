//! Filling a filter on several threads.

use core::convert::Infallible;
use core::num::NonZero;
use std::sync::Mutex;
use std::thread;

use super::Filter;
use super::core::{InsertCore, MakeCore};
use crate::hash::{Hashing, Key};
use crate::prelude::*;

/// Bytes of copies per key that pay: to make a byte and to merge it takes some 0.3 ns, and a key 4 ns and more.
const COPIED_PER_KEY: u64 = 6;

/// Lets threads insert parts of some keys: into a filter of `bytes` bytes, and into copies that are merged with it.
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
    // Without the memory for more, those that are there do the work.
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
        // Without the threads for more, those that are there do the work.
        let own = insert(filter, 0, parts).and_then(|()| work());
        let join = |handle: thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(join).fold(own, Result::and)
    })?;
    copies.iter().for_each(|copy| merge(filter, copy));
    Ok(())
}

/// Lets threads insert keys into a filter, as [`insert_all_on`](crate::Blocked::insert_all_on).
pub(crate) fn insert_all<C, K: Key<H> + Sync, H: Hashing>(
    filter: &mut Filter<C, H>,
    threads: NonZero<usize>,
    keys: &[K],
    merge: impl Fn(&mut C, &C),
) where
    C: MakeCore + InsertCore<Full = Infallible> + Send,
{
    let insert = |filter: &mut Filter<C, H>, part, parts| {
        let each = keys.len().div_ceil(parts).max(1);
        filter.insert_keys(keys.chunks(each).nth(part).unwrap_or(&[]))
    };
    let merge =
        |filter: &mut Filter<C, H>, copy: &Filter<C, H>| merge(&mut filter.core, &copy.core);
    let empty = |filter: &Filter<C, H>| {
        let core = C::make(filter.plan()).ok()?;
        Some(Filter::of(core, filter.hasher().clone()))
    };
    let work = (filter.bytes(), keys.len(), threads);
    let Ok(()) = in_parts(filter, work, empty, insert, merge);
}
