//! Passes over a blocked filter shard by shard, in order and without seeking: it may be larger than memory.

use std::io::{Read, Write};

use umbel::internals::format::Writer;
use umbel::internals::format::{Header, Reader};
use umbel::internals::{BLOCK_BITS, BLOCK_BYTES};
use umbel::internals::{bytes, bytes_mut, runs};
use umbel::{Block, Blocks, FileError, KeyDescription, KeyHasher, Plan, Receipt, Secret};
use umbel::{Shard, ShardIndex};

use crate::Error;

/// A division of a blocked filter into shards: runs of its blocks, one in memory at a time.
///
/// To fill or query them, first collect the hashes of each shard, by [`index`](Self::index).
#[derive(Clone, Copy, Debug)]
pub struct InShards {
    plan: Plan,
    /// Blocks of a shard; the last one may have fewer.
    size: u64,
}

/// A blocked filter in a file; only its header was read.
pub struct OldShards<R> {
    payload: Reader<R>,
    plan: Plan,
    hasher: KeyHasher,
    description: KeyDescription,
}

impl<R: Read> OldShards<R> {
    /// Opens the file of `length` bytes that `source` holds.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](umbel::AnyFilter::read), except for the checksums of the payload; [`FileError::Kind`] if
    /// the filter is not blocked.
    pub fn open(source: R, length: u64, secret: Option<&Secret>) -> Result<Self, FileError> {
        let payload = Reader::begin(source, length)?;
        let (plan, hasher, description) = runs::declared(payload.header(), length, secret)?;
        Ok(Self { payload, plan, hasher, description })
    }

    /// Returns the filter's plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the filter's hasher.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Returns the description of its keys.
    pub fn description(&self) -> &KeyDescription {
        &self.description
    }
}

impl InShards {
    /// Shards of `bytes` bytes, rounded to whole blocks.
    pub fn new(plan: &Plan, bytes: u64) -> Self {
        Self { plan: *plan, size: (bytes / BLOCK_BYTES).clamp(1, plan.bits() / BLOCK_BITS) }
    }

    fn total(&self) -> u64 {
        self.plan.bits() / BLOCK_BITS
    }

    /// Returns the number of shards.
    pub fn count(&self) -> u64 {
        self.total().div_ceil(self.size)
    }

    /// Returns the map from hashes to shards.
    pub fn index(&self) -> ShardIndex {
        ShardIndex::new(self.total(), self.size)
    }

    /// Writes a filter whose shards `fill` fills one after the other. The file equals, byte for byte, the file of a
    /// [`Blocked`](umbel::Blocked) filter with the same keys. Returns its receipt.
    ///
    /// # Errors
    /// [`Error::Output`]; errors of `fill`; a plan of another kind.
    pub fn write(
        &self,
        hasher: &KeyHasher,
        keys: &KeyDescription,
        out: &mut dyn Write,
        fill: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
    ) -> Result<Receipt, Error> {
        let header = runs::header(&self.plan, hasher.scheme(), keys)?;
        let mut empty = |blocks: &mut [Block]| {
            blocks.fill(Block::default());
            Ok(())
        };
        Ok(self.pass(&header, &mut empty, fill, Some(out))?.receipt(hasher))
    }

    /// Lets `work` query the shards of a filter one after the other, or fill them further. Returns its receipt, including
    /// the inserted keys.
    ///
    /// **Do not rely on any answer before this returns:** then all checksums are verified.
    ///
    /// # Errors
    /// Read errors, with [`FileError::PayloadDamaged`] after the last shard; errors of `work`.
    ///
    /// # Panics
    /// If the filter is of another size.
    pub fn read<R: Read>(
        &self,
        old: OldShards<R>,
        work: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
    ) -> Result<Receipt, Error> {
        Ok(self.change(old, None, work)?.1)
    }

    /// Like [`read`](Self::read), and writes the filter to `out` as `work` leaves it. Returns the receipts before and
    /// after.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Error::Output`].
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn rewrite<R: Read>(
        &self,
        old: OldShards<R>,
        out: &mut dyn Write,
        work: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
    ) -> Result<(Receipt, Receipt), Error> {
        self.change(old, Some(out), work)
    }

    fn change<R: Read>(
        &self,
        old: OldShards<R>,
        out: Option<&mut dyn Write>,
        work: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
    ) -> Result<(Receipt, Receipt), Error> {
        let OldShards { mut payload, plan, hasher, description } = old;
        assert_eq!(plan, self.plan, "the filter that is divided");
        let header = runs::header(&plan, hasher.scheme(), &description)?;
        let mut before = runs::Tally::new(&plan);
        let mut read = |blocks: &mut [Block]| {
            payload.read(bytes_mut(blocks))?;
            before.add(blocks);
            Ok(())
        };
        let after = self.pass(&header, &mut read, work, out)?;
        payload.finish()?;
        Ok((before.receipt(&hasher), after.receipt(&hasher)))
    }

    /// Processes all shards: `begin` sets their blocks, `work` changes them, then they are written.
    fn pass(
        &self,
        header: &Header,
        begin: &mut dyn FnMut(&mut [Block]) -> Result<(), Error>,
        work: &mut dyn FnMut(&mut Shard<'_>) -> Result<(), Error>,
        mut out: Option<&mut dyn Write>,
    ) -> Result<runs::Tally, Error> {
        let mut writer = match &mut out {
            Some(out) => {
                let begun = Writer::begin(header, &mut |bytes| out.write_all(bytes));
                Some(begun.map_err(Error::Output)?)
            }
            None => None,
        };
        let mut tally = runs::Tally::new(&self.plan);
        let mut shard = Blocks::zeroed(self.size).map_err(FileError::from)?;
        for _ in 0..self.count() {
            let first = tally.blocks();
            let blocks = &mut shard[..(self.total() - first).min(self.size) as usize];
            begin(blocks)?;
            work(&mut Shard::new(&self.plan, first, blocks))?;
            tally.add(blocks);
            if let (Some(writer), Some(out)) = (&mut writer, &mut out) {
                let put = &mut |bytes: &[u8]| out.write_all(bytes);
                writer.write(bytes(blocks), put).map_err(Error::Output)?;
            }
        }
        if let (Some(writer), Some(out)) = (writer, out) {
            let written = writer.finish(&mut |bytes| out.write_all(bytes));
            written.and_then(|()| out.flush()).map_err(Error::Output)?;
        }
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use umbel::Filter as _;
    use umbel::{Blocked, KeyHash, Kind};

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
            let shards = InShards::new(&plan, bytes);
            let (index, mut numbers) = (shards.index(), 0..);
            let mut own = |hashes: &[KeyHash]| -> Vec<KeyHash> {
                let number = numbers.next().unwrap() % shards.count();
                hashes.iter().copied().filter(|hash| index.of(*hash) == number).collect()
            };
            let mut found = Vec::new();
            let mut fill = |shard: &mut Shard<'_>| {
                shard.insert_all(&own(first));
                Ok(())
            };
            let receipt =
                shards.write(&hasher, filter.description(), &mut found, &mut fill).unwrap();
            assert!(found == filter.to_bytes(), "{bytes}");
            assert!((receipt.fpp / filter.receipt().fpp - 1.0).abs() < 1e-12);
            assert_eq!(receipt.keys, filter.receipt().keys);
            // Read back, and filled further.
            let open = |file| OldShards::open(file, found.len() as u64, None).unwrap();
            let ask = &mut |shard: &mut Shard<'_>| {
                let own = own(&hashes);
                let (mut answers, mut expected) = (vec![false; own.len()], vec![true; own.len()]);
                shard.contains_all(&own, &mut answers);
                filter.contains_all(&own, &mut expected);
                assert_eq!(answers, expected);
                Ok(())
            };
            let receipt = shards.read(open(&found[..]), ask).unwrap();
            assert_eq!(receipt.keys, filter.receipt().keys);
            let mut written = Vec::new();
            let fill = &mut |shard: &mut Shard<'_>| {
                shard.insert_all(&own(others));
                Ok(())
            };
            let (before, after) = shards.rewrite(open(&found[..]), &mut written, fill).unwrap();
            assert_eq!(before.set_bits, filter.receipt().set_bits);
            assert_eq!(after.set_bits, more.receipt().set_bits);
            assert!(written == more.to_bytes());
            // Damage is reported at the end.
            let mut damaged = found.clone();
            damaged[200] ^= 1;
            let read = shards.read(open(&damaged[..]), &mut |_| Ok(()));
            assert!(read.unwrap_err().to_string().contains("the payload is damaged"));
        }
    }
}
