//! Keys of the other inputs, sharded by hash: several threads can add keys at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use umbel::{Blocked, KeyHash};
use umbel_io::threads::on_each;

use super::counts::{Counted, Counts};
use super::marks::Marks;
use super::plan::size;
use crate::Error;
use crate::bulk::{Picked, of_hashes};
use crate::scan::{Lines, Scanner};
use crate::spill::{Disk, Spill};
use crate::table::{Cursor, Table};

/// Some of the keys.
pub(super) struct Shard {
    pub(super) table: Table,
    /// In how many inputs each key is, if needed.
    pub(super) met: Option<Counts>,
}

/// Keys while they are gathered.
pub(super) struct Gathering {
    shards: Vec<Mutex<Shard>>,
}

impl Gathering {
    /// Room for about `keys` keys in at most `budget` bytes, to be filled by `threads` threads.
    pub(super) fn new(
        budget: u64,
        threads: usize,
        keys: u64,
        counted: bool,
    ) -> Result<Self, Error> {
        let counted = counted.then_some(Counted::Inputs);
        let budget = counted.map_or(budget, |counted| Counts::table(counted, budget));
        let tables = Table::shards(budget, threads, keys)?;
        let shard = |table| Mutex::new(Shard { table, met: counted.map(Counts::new) });
        Ok(Self { shards: tables.into_iter().map(shard).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(super) fn index(&self, hash: KeyHash) -> usize {
        index(hash, self.shards.len())
    }

    /// Locks a shard, unless another thread holds it.
    pub(super) fn try_lock(&self, shard: usize) -> Option<MutexGuard<'_, Shard>> {
        self.shards[shard].try_lock().ok()
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].lock().expect("no worker panics")
    }

    /// Bytes that a line longer than a chunk may use, when `spare` are reserved for such lines.
    pub(super) fn room_for_long(&self, spare: u64) -> u64 {
        self.shards
            .iter()
            .map(|shard| shard.lock().expect("no worker panics").table.room_for_long(spare))
            .min()
            .unwrap_or(spare)
    }

    /// The keys, once all are gathered.
    pub(super) fn finish(self) -> KeySet {
        let shard = |shard: Mutex<Shard>| shard.into_inner().expect("no worker panics");
        KeySet { shards: self.shards.into_iter().map(shard).collect() }
    }
}

/// All gathered keys that fit in memory.
pub(super) struct KeySet {
    shards: Vec<Shard>,
}

/// The position of a key: its shard, and the unit there.
pub(super) type At = (usize, u64);

impl KeySet {
    /// None: all were spilled.
    pub(super) fn none() -> Self {
        Self { shards: Vec::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.table.len()).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.table.bytes()).sum()
    }

    pub(super) fn find(&self, hash: KeyHash, key: &[u8]) -> Option<At> {
        let shard = index(hash, self.shards.len());
        Some((shard, self.shards[shard].table.find(hash, key)?))
    }

    /// Loads what look-ups of `hashes` will need: their cache misses overlap.
    pub(super) fn warm(&self, hashes: &[KeyHash]) {
        Table::warm_each(hashes, |hash| &self.shards[index(hash, self.shards.len())].table);
    }

    /// Looks up the lines that pass a filter of these keys, all without it: `take` gets each one's number, and where
    /// its key is.
    #[inline]
    pub(super) fn find_each(
        &self,
        filter: Option<&Blocked>,
        lines: &Lines<'_>,
        picked: &mut Picked,
        mut take: impl FnMut(usize, Option<At>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        picked.pick(filter, lines.hashes());
        self.warm(&picked.hashes);
        for (&i, &hash) in picked.indexes.iter().zip(&picked.hashes) {
            take(i, self.find(hash, lines.key(i)))?;
        }
        Ok(())
    }

    /// Records that a key is in an input.
    pub(super) fn meet(&self, (shard, unit): At, input: usize) {
        if let Some(met) = &self.shards[shard].met {
            met.add(unit, input, 0);
        }
    }

    /// A filter of these keys and the spilled ones in at most `room` bytes. It rejects most lines of the next passes from
    /// a few bits that stay in cache, and keeps them from following spilled keys to disk. `None` if there are so few keys
    /// that the slots stay in cache themselves.
    pub(super) fn filter(
        &self,
        files: &[&Spill],
        scanner: &Scanner<'_>,
        disk: &Disk<'_>,
        room: u64,
    ) -> Result<Option<Blocked>, Error> {
        /// Slots of 512 KiB.
        const FEW: u64 = 1 << 16;
        const BATCH: usize = 1 << 12;
        if files.is_empty() && self.len() < FEW {
            return Ok(None);
        }
        let all = self.len() + files.iter().map(|file| file.lines()).sum::<u64>();
        let filter = Mutex::new(of_hashes(&size(all, room)?)?);
        let insert = |hashes: &mut Vec<KeyHash>| {
            filter.lock().expect("no worker panics").insert_all(hashes);
            hashes.clear();
        };
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Error> {
            let mut hashes = Vec::with_capacity(BATCH);
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                if let Some(shard) = self.shards.get(task) {
                    let mut cursor = Cursor::default();
                    while let Some((_, entry)) = shard.table.next(&mut cursor) {
                        hashes.push(scanner.hasher.hash(entry.line.key()));
                        if hashes.len() == BATCH {
                            insert(&mut hashes);
                        }
                    }
                } else if let Some(file) = files.get(task - self.shards.len()) {
                    let mut keys = file.read(256 << 10);
                    while keys.read_some(disk)? {
                        scanner.hasher.hash_each(keys.keys(), |hash| hashes.push(hash));
                        if hashes.len() > BATCH {
                            insert(&mut hashes);
                        }
                    }
                } else {
                    insert(&mut hashes);
                    return Ok(());
                }
            }
        };
        on_each(scanner.budget.threads, work).into_iter().collect::<Result<(), _>>()?;
        Ok(Some(filter.into_inner().expect("no worker panics")))
    }

    /// In how many inputs a key is; 1 if that is not counted.
    pub(super) fn met(&self, (shard, unit): At) -> u64 {
        self.shards[shard].met.as_ref().map_or(1, |met| met.get(unit))
    }

    /// A mark for each key.
    pub(super) fn marks(&self) -> Vec<Marks> {
        self.shards.iter().map(|shard| Marks::of(&shard.table)).collect()
    }
}

fn index(hash: KeyHash, shards: usize) -> usize {
    // Slots are found by the highest bits.
    hash.low as usize & (shards - 1)
}
