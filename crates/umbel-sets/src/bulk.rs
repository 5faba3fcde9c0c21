//! A blocked filter of lines: filled by all threads, queried in batches.

use umbel::{Blocked, Filter, Plan, Shard, Shards};

use crate::prelude::*;

/// Makes a filter that is queried by hashes alone, from any source.
pub(crate) fn of_hashes(plan: &Plan) -> Result<Blocked, Error> {
    Ok(Blocked::with_plan(plan, KeyHasher::default())?)
}

/// Inserts the lines of inputs into a blocked filter.
pub(crate) fn fill(
    scanner: &Scanner<'_>,
    inputs: &[Input],
    filter: &mut Blocked,
    room: u64,
) -> Result<Vec<Tally>, Error> {
    let filter = Sharded::new(filter, scanner.budget.threads);
    scanner.scan(inputs, 0..inputs.len(), &filter.fill(scanner.budget.bucketed, room))
}

/// The lines of a batch that a filter lets pass.
#[derive(Default)]
pub(crate) struct Picked {
    pub(crate) indexes: Vec<usize>,
    pub(crate) hashes: Vec<KeyHash>,
    found: Vec<bool>,
}

impl Picked {
    /// Looks up all `hashes`; without a filter, all pass.
    pub(crate) fn pick(&mut self, filter: Option<&Blocked>, hashes: &[KeyHash]) {
        self.indexes.clear();
        self.hashes.clear();
        match filter {
            None => {
                self.indexes.extend(0..hashes.len());
                self.hashes.extend_from_slice(hashes);
            }
            Some(filter) => {
                self.found.resize(hashes.len(), false);
                filter.contains_all(hashes, &mut self.found);
                // Without a branch, which would be mispredicted for nearly every line that passes.
                self.indexes.resize(hashes.len(), 0);
                let mut picked = 0;
                for (i, &found) in self.found.iter().enumerate() {
                    self.indexes[picked] = i;
                    picked += usize::from(found);
                }
                self.indexes.truncate(picked);
                self.hashes.extend(self.indexes.iter().map(|&i| hashes[i]));
            }
        }
    }
}

/// A blocked filter divided into shards that many threads fill: a worker collects hashes by shard and empties a full
/// bucket while it holds the shard's lock and the shard is in its cache. This is faster than atomic words, eight of
/// which would cost some 100 cycles per key, and there is hardly any waiting.
pub(crate) struct Sharded<'a> {
    map: Shards<'a>,
    shards: Vec<Mutex<Shard<'a>>>,
}

/// The hashes that a worker has collected, with a bucket for each shard. They are one block of memory: the system
/// interrupts all threads whenever a block is given back, and one worker may have 256 buckets.
#[derive(Default)]
pub(crate) struct Buckets {
    hashes: Vec<KeyHash>,
    /// How many each bucket holds.
    filled: Vec<usize>,
    capacity: usize,
}

impl Buckets {
    /// Empty ones for `shards` shards, with room for `hashes` hashes in all.
    pub(crate) fn new(shards: usize, hashes: usize) -> Self {
        let capacity = (hashes / shards.max(16)).max(1);
        let hashes = vec![KeyHash::default(); capacity * shards];
        Self { hashes, filled: vec![0; shards], capacity }
    }

    /// Adds a hash to the bucket of its shard; returns its hashes, and empties it, once it is full.
    #[inline]
    pub(crate) fn add(&mut self, shard: usize, hash: KeyHash) -> Option<&[KeyHash]> {
        let filled = &mut self.filled[shard];
        self.hashes[shard * self.capacity + *filled] = hash;
        *filled += 1;
        (*filled == self.capacity).then(|| self.empty(shard))
    }

    /// Empties the bucket of a shard, and returns its hashes.
    pub(crate) fn empty(&mut self, shard: usize) -> &[KeyHash] {
        let begin = shard * self.capacity;
        &self.hashes[begin..begin + std::mem::take(&mut self.filled[shard])]
    }
}

impl<'a> Sharded<'a> {
    pub(crate) fn new(filter: &'a mut Blocked, threads: usize) -> Self {
        /// Half of a usual second-level cache's way share: stays there while a bucket is emptied into it.
        const SHARD_BYTES: u64 = 128 << 10;
        let count = (filter.plan().bytes() / SHARD_BYTES).max(2 * threads as u64).min(256);
        let mut map = filter.shards(count as usize);
        let shards = std::mem::take(&mut map.shards).into_iter().map(Mutex::new).collect();
        Self { map, shards }
    }

    /// Empty buckets for `hashes` hashes in all.
    pub(crate) fn buckets(&self, hashes: usize) -> Buckets {
        Buckets::new(self.shards.len(), hashes)
    }

    /// Adds a hash to its bucket; a full one is processed by `work` and emptied.
    // Called for each line in two places: as a call, it makes `common` execute 3 % more instructions.
    #[inline(always)]
    pub(crate) fn add(
        &self,
        buckets: &mut Buckets,
        hash: KeyHash,
        mut work: impl FnMut(&mut Shard<'a>, &[KeyHash]),
    ) {
        let shard = self.map.index(hash);
        if let Some(full) = buckets.add(shard, hash) {
            work(&mut self.shards[shard].lock().expect("no worker panics"), full);
        }
    }

    /// Processes everything left in the buckets.
    pub(crate) fn finish(
        &self,
        buckets: &mut Buckets,
        mut work: impl FnMut(&mut Shard<'a>, &[KeyHash]),
    ) {
        for (i, shard) in self.shards.iter().enumerate() {
            work(&mut shard.lock().expect("no worker panics"), buckets.empty(i));
        }
    }

    /// Inserts all lines, in any order; a worker collects `bucketed` hashes.
    pub(crate) fn fill(&self, bucketed: usize, room: u64) -> Visit<'_> {
        Visit::new(room, move || (self, self.buckets(bucketed)))
    }
}

impl Work for (&Sharded<'_>, Buckets) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (filter, buckets) = self;
        for &hash in lines.hashes() {
            filter.add(buckets, hash, Shard::insert_all);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.0.finish(&mut self.1, Shard::insert_all);
        Ok(())
    }
}
