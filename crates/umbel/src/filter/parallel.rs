//! Filling a blocked filter on several threads.

use core::num::NonZero;
use std::sync::Mutex;

use super::{Blocked, Shard};
use crate::bits::Blocks;
use crate::hash::{Hashing, Key, KeyHash};
use crate::prelude::*;

/// Approximate bytes of a shard: it stays in the second-level cache while a bucket is emptied into it.
const SHARD_BYTES: u64 = 128 << 10;
/// The maximum number of shards: each has a bucket in each thread.
const MOST_SHARDS: u64 = 256;
/// Hashes of a bucket: 8 KiB, dozens for each acquisition of the shard's lock.
const BUCKET: usize = 512;

impl<H: Hashing> Blocked<Blocks, H> {
    /// Like [`insert_all`](super::Filter::insert_all), on several threads; the bits are the same. On two threads it is
    /// twice as fast, as far as memory allows; below some 100,000 keys threads cost more than they gain.
    ///
    /// Each thread hashes a part of the keys into buckets, one for each shard (a run of blocks), and empties a full
    /// bucket while the shard is in its cache. Memory: 2 MiB per thread.
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
        let threads = threads.get().min(keys.len().div_ceil(BUCKET));
        if threads < 2 {
            return self.insert_all(keys);
        }
        let hasher = *self.hasher();
        let count = (self.bytes() / SHARD_BYTES).clamp(2 * threads as u64, MOST_SHARDS);
        let mut shards = self.shards(count as usize);
        let all: Vec<Mutex<Shard<'_>>> =
            core::mem::take(&mut shards.shards).into_iter().map(Mutex::new).collect();
        let (all, shards) = (&all, &shards);
        let insert = |index: usize, bucket: &mut Vec<KeyHash>| {
            all[index].lock().expect("no thread panics").insert_all(bucket);
            bucket.clear();
        };
        std::thread::scope(|scope| {
            for keys in keys.chunks(keys.len().div_ceil(threads)) {
                scope.spawn(move || {
                    let mut buckets = vec![Vec::with_capacity(BUCKET); all.len()];
                    for key in keys {
                        let hash = key.key_hash(&hasher);
                        let index = shards.index(hash);
                        buckets[index].push(hash);
                        if buckets[index].len() == BUCKET {
                            insert(index, &mut buckets[index]);
                        }
                    }
                    buckets
                        .iter_mut()
                        .enumerate()
                        .for_each(|(index, bucket)| insert(index, bucket));
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_set_the_same_bits() {
        for (keys, planned) in [(0u64, 10), (1, 10), (5_000, 100), (300_000, 300_000)] {
            let keys: Vec<u64> = (0..keys).collect();
            let mut one = Blocked::new(planned, 0.01).unwrap();
            one.insert_all(&keys);
            for threads in [1, 2, 3, 7] {
                let mut many = Blocked::new(planned, 0.01).unwrap();
                many.insert_all_on(NonZero::new(threads).unwrap(), &keys);
                assert!(many == one, "{} keys on {threads}", keys.len());
            }
        }
    }
}
