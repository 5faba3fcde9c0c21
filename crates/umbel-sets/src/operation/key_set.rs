//! Keys of the other inputs, sharded by hash: several threads can add keys at the same time.

use super::counts::Counts;
use super::plan::size;
use super::prelude::*;

/// Keys while they are gathered: some in each table, with the number of inputs that have each, if needed.
pub(super) type Gathering = Vec<Mutex<CountedTable>>;

/// All gathered keys that fit in memory.
pub(super) struct KeySet {
    shards: Vec<CountedTable>,
}

/// The position of a key: its shard, and the unit there.
pub(super) type At = (usize, u64);

impl KeySet {
    /// Room for about `keys` keys in at most `budget` bytes, to be filled by `threads` threads.
    pub(super) fn gathering(
        budget: u64,
        threads: usize,
        keys: u64,
        counted: bool,
    ) -> Result<Gathering, Error> {
        let counted = counted.then_some(Counted::Inputs);
        let budget = counted.map_or(budget, |counted| Counts::table(counted, budget));
        let tables = Table::shards_of_keys(budget, threads, keys)?.into_iter();
        Ok(tables.map(|table| Mutex::new(CountedTable::new(table, counted))).collect())
    }

    /// Those that were gathered.
    pub(super) fn of(gathered: Gathering) -> Self {
        let shards = gathered.into_iter();
        Self { shards: shards.map(|shard| shard.into_inner().expect("no worker panics")).collect() }
    }

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
        if let Some(met) = &self.shards[shard].counts {
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
        room: u64,
    ) -> Result<Option<Blocked>, Error> {
        /// Slots of 512 KiB.
        const FEW: u64 = 1 << 16;
        const BATCH: usize = 1 << 12;
        if files.is_empty() && self.len() < FEW {
            return Ok(None);
        }
        let all = self.len() + files.iter().map(|file| file.lines).sum::<u64>();
        let filter = Mutex::new(of_hashes(&size(all, room)?)?);
        let insert = |hashes: &mut Vec<KeyHash>| {
            filter.lock().expect("no worker panics").insert_all(hashes);
            hashes.clear();
        };
        let of_part = |part: usize| -> Result<(), Error> {
            let mut hashes = Vec::with_capacity(BATCH);
            if let Some(shard) = self.shards.get(part) {
                let mut cursor = Cursor::default();
                while let Some((_, entry)) = shard.table.next(&mut cursor) {
                    hashes.push(scanner.hasher.hash(entry.line.key()));
                    if hashes.len() == BATCH {
                        insert(&mut hashes);
                    }
                }
            } else {
                let mut keys = files[part - self.shards.len()].read(256 << 10);
                while keys.read_some(&scanner.hasher)? {
                    hashes.extend_from_slice(keys.hashes());
                    if hashes.len() > BATCH {
                        insert(&mut hashes);
                    }
                }
            }
            insert(&mut hashes);
            Ok(())
        };
        let parts = self.shards.len() + files.len();
        in_order(scanner.budget.threads, parts, of_part).into_iter().collect::<Result<(), _>>()?;
        Ok(Some(filter.into_inner().expect("no worker panics")))
    }

    /// In how many inputs a key is; 1 if that is not counted.
    pub(super) fn met(&self, (shard, unit): At) -> u64 {
        self.shards[shard].counts.as_ref().map_or(1, |met| met.get(unit))
    }

    /// A mark for each key.
    pub(super) fn marks(&self) -> Vec<Marks> {
        self.shards.iter().map(|shard| Marks::of(&shard.table)).collect()
    }
}

/// The shard of a key.
pub(super) fn index(hash: KeyHash, shards: usize) -> usize {
    // Slots are found by the highest bits.
    hash.low as usize & (shards - 1)
}
