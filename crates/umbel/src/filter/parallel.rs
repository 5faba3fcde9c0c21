//! Filling a filter on several threads.

use core::convert::Infallible;
use core::num::NonZero;
use std::sync::Mutex;
use std::thread;

use super::bloom::BloomCore;
use super::core::{Merge, MergeCore};
use super::layout::Layout;
use super::{AnyFilter, Filter};
use crate::bits::Blocks;
use crate::hash::{Hashing, Key};
use crate::prelude::*;

/// Bytes of copies per key that pay: to make a byte and to merge it takes some 0.3 ns, and a key 4 ns and more.
const COPIED_PER_KEY: u64 = 6;

/// Lets threads insert parts of some keys: into a filter of `bytes` bytes, and into copies that are merged with it.
fn in_parts<F: Send, E: Send>(
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

impl<L: Layout, H: Hashing> Filter<BloomCore<L, Blocks>, H> {
    /// Like [`insert_all`](Self::insert_all), on several threads; the bits are the same. On two threads it takes some
    /// 0.6 of the time where memory allows; below some 100,000 keys threads cost more than they gain.
    ///
    /// Memory: a copy of the filter for each thread but one, at most 6 bytes per key: with fewer keys, fewer threads run.
    ///
    /// ```
    /// # use std::num::NonZero;
    /// let keys: Vec<u64> = (0..1_000_000).collect();
    /// let mut filter = umbel::Blocked::new(1_000_000, 0.01)?;
    /// filter.insert_all_on(NonZero::new(2).unwrap(), &keys);
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn insert_all_on<K: Key<H> + Sync>(&mut self, threads: NonZero<usize>, keys: &[K]) {
        let insert = |filter: &mut Self, part, parts| {
            let each = keys.len().div_ceil(parts).max(1);
            filter.insert_all(keys.chunks(each).nth(part).unwrap_or(&[]));
            Ok(())
        };
        let merge = |filter: &mut Self, copy: &Self| {
            filter.core.merge(&copy.core, Merge::Union).expect("filters of one plan merge");
        };
        let empty = |filter: &Self| Self::with_plan(filter.plan(), filter.hasher().clone()).ok();
        let work = (self.bytes(), keys.len(), threads);
        let Ok(()) = in_parts::<_, Infallible>(self, work, empty, insert, merge);
    }
}

impl<H: Hashing> AnyFilter<Blocks, H> {
    /// Lets several threads insert a part of some keys each: `insert(filter, part, parts)` inserts the keys of the part
    /// with this number, from 0, of so many. For keys that are not in a slice; otherwise as
    /// [`insert_all_on`](Filter::insert_all_on).
    ///
    /// Blocked, classic and sliced filters have parts. To any other, all keys are inserted as one.
    ///
    /// # Errors
    /// Those of `insert`. Keys of other parts may then be missing.
    pub fn insert_in_parts<E: Send>(
        &mut self,
        threads: NonZero<usize>,
        keys: usize,
        insert: impl Fn(&mut Self, usize, usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let threads = match self {
            Self::Blocked(_) | Self::Classic(_) | Self::Sliced(_) => threads,
            _ => NonZero::<usize>::MIN,
        };
        let empty = |filter: &Self| {
            let mut copy = Self::with_plan(filter.plan(), filter.hasher().clone()).ok()?;
            copy.describe(filter.description().clone());
            Some(copy)
        };
        let merge = |filter: &mut Self, copy: &Self| {
            filter.union(copy).expect("filters of one plan merge");
        };
        in_parts(self, (self.bytes(), keys, threads), empty, insert, merge)
    }
}
