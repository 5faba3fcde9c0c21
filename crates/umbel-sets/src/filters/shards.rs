//! Passes over a blocked filter shard by shard, in order and without seeking: it may be larger than memory.

use std::io::{Read, Write};

use umbel::internals::format::{Reader, Writer};
use umbel::internals::{BLOCK_BITS, BLOCK_BYTES, bytes, bytes_mut, runs};
use umbel::{Block, Blocks, FileError, KeyDescription, KeyHasher, Plan, Secret, Shard, ShardIndex};

use crate::Error;

/// A blocked filter in shards: runs of its blocks, one in memory at a time.
///
/// To fill or query them, first collect the hashes of each shard, by [`index`](Self::index).
pub(super) struct InShards<R> {
    pub(super) plan: Plan,
    pub(super) hasher: KeyHasher,
    pub(super) description: KeyDescription,
    /// The file that the filter is in, unless it is new; only its header was read.
    old: Option<Reader<R>>,
    /// Blocks of a shard; the last one may have fewer.
    size: u64,
}

impl<R: Read> InShards<R> {
    /// A new filter, in one shard.
    pub(super) fn new(plan: Plan, hasher: KeyHasher, description: KeyDescription) -> Self {
        Self { plan, hasher, description, old: None, size: plan.bits() / BLOCK_BITS }
    }

    /// The filter in the file of `length` bytes that `source` holds, in one shard.
    pub(super) fn open(source: R, length: u64, secret: Option<&Secret>) -> Result<Self, FileError> {
        let old = Reader::begin(source, length)?;
        let (plan, hasher, description) = runs::declared(old.header(), length, secret)?;
        Ok(Self { old: Some(old), ..Self::new(plan, hasher, description) })
    }

    /// Divides it into shards of `bytes` bytes, rounded to whole blocks.
    pub(super) fn divide(&mut self, bytes: u64) {
        self.size = (bytes / BLOCK_BYTES).clamp(1, self.total());
    }

    fn total(&self) -> u64 {
        self.plan.bits() / BLOCK_BITS
    }

    /// The number of shards.
    pub(super) fn count(&self) -> u64 {
        self.total().div_ceil(self.size)
    }

    /// The map from hashes to shards.
    pub(super) fn index(&self) -> ShardIndex {
        ShardIndex::new(self.total(), self.size)
    }

    /// Lets `work` query or fill all shards, one after the other, and writes the result to `out`: the same file, byte
    /// for byte, that a [`Blocked`](umbel::Blocked) filter with the same keys has. Returns the tallies of the shards
    /// before, if the filter is not new, and after.
    ///
    /// **Do not rely on any answer before this returns:** then all checksums are verified.
    pub(super) fn pass(
        &mut self,
        out: Option<&mut dyn Write>,
        work: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
    ) -> Result<(runs::ReceiptSum, runs::ReceiptSum), Error> {
        let header = runs::header(&self.plan, self.hasher.scheme(), &self.description)?;
        let mut out = match out {
            Some(out) => {
                let begun = Writer::begin(&header, &mut |bytes| out.write_all(bytes));
                Some((begun.map_err(Error::Output)?, out))
            }
            None => None,
        };
        let mut before = runs::ReceiptSum::new(&self.plan);
        let mut after = before.clone();
        let mut shard = Blocks::zeroed(self.size).map_err(FileError::from)?;
        for _ in 0..self.count() {
            let first = after.blocks();
            let blocks = &mut shard[..(self.total() - first).min(self.size) as usize];
            match &mut self.old {
                Some(old) => {
                    old.read(bytes_mut(blocks))?;
                    before.add(blocks);
                }
                None => blocks.fill(Block::default()),
            }
            work(&mut Shard::new(&self.plan, first, blocks))?;
            after.add(blocks);
            if let Some((writer, out)) = &mut out {
                let put = &mut |bytes: &[u8]| out.write_all(bytes);
                writer.write(bytes(blocks), put).map_err(Error::Output)?;
            }
        }
        if let Some((writer, out)) = out {
            let written = writer.finish(&mut |bytes| out.write_all(bytes));
            written.and_then(|()| out.flush()).map_err(Error::Output)?;
        }
        self.old.take().map(Reader::finish).transpose()?;
        Ok((before, after))
    }
}

#[cfg(test)]
mod tests {
    use umbel::{Blocked, Filter as _, KeyHash, Kind};

    use super::*;

    #[test]
    fn shards_make_the_same_file_and_receipt() {
        let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.001).unwrap();
        let hasher = KeyHasher::default();
        let hashes: Vec<KeyHash> = (0..15_000).map(|key| hasher.hash(key)).collect();
        let (first, others) = hashes.split_at(10_000);
        let mut filter = Blocked::with_plan(&plan, hasher.clone()).unwrap();
        filter.insert_all(first);
        let mut more = filter.clone();
        more.insert_all(others);
        for bytes in [64, 1000, 4096, 1 << 20] {
            let description = filter.description().clone();
            let mut shards = InShards::<&[u8]>::new(plan, hasher.clone(), description.clone());
            shards.divide(bytes);
            let (index, count, mut numbers) = (shards.index(), shards.count(), 0..);
            let mut own = |hashes: &[KeyHash]| -> Vec<KeyHash> {
                let number = numbers.next().unwrap() % count;
                hashes.iter().copied().filter(|hash| index.of(*hash) == number).collect()
            };
            let mut found = Vec::new();
            let mut fill = |shard: &mut Shard<'_>| {
                shard.insert_all(&own(first));
                Ok(())
            };
            let (_, after) = shards.pass(Some(&mut found), &mut fill).unwrap();
            let receipt = after.receipt(&hasher);
            assert!(found == filter.to_bytes(), "{bytes}");
            assert!((receipt.fpp / filter.receipt().fpp - 1.0).abs() < 1e-12);
            assert_eq!(receipt.keys, filter.receipt().keys);
            // Read back, and filled further.
            let open = |file| {
                let mut shards = InShards::open(file, found.len() as u64, None).unwrap();
                shards.divide(bytes);
                assert_eq!((shards.plan, &shards.description), (plan, &description));
                shards
            };
            let ask = &mut |shard: &mut Shard<'_>| {
                let own = own(&hashes);
                let (mut answers, mut expected) = (vec![false; own.len()], vec![true; own.len()]);
                shard.contains_all(&own, &mut answers);
                filter.contains_all(&own, &mut expected);
                assert_eq!(answers, expected);
                Ok(())
            };
            let (_, after) = open(&found[..]).pass(None, ask).unwrap();
            assert_eq!(after.receipt(&hasher).keys, filter.receipt().keys);
            let mut written = Vec::new();
            let fill = &mut |shard: &mut Shard<'_>| {
                shard.insert_all(&own(others));
                Ok(())
            };
            let (before, after) = open(&found[..]).pass(Some(&mut written), fill).unwrap();
            assert_eq!(before.receipt(&hasher).set_bits, filter.receipt().set_bits);
            assert_eq!(after.receipt(&hasher).set_bits, more.receipt().set_bits);
            assert!(written == more.to_bytes());
            // Damage is reported at the end.
            let mut damaged = found.clone();
            damaged[200] ^= 1;
            let read = open(&damaged[..]).pass(None, &mut |_| Ok(()));
            assert!(read.err().unwrap().to_string().contains("the payload is damaged"));
        }
    }
}
