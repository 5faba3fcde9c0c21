//! A blocked filter that is written or read shard by shard, in order and without seeking: it may be larger than memory.

use std::io::{self, Read, Write};

use super::blocked::{BlockedLayout, Shard, ShardIndex};
use super::bloom::{BloomCore, Layout, body, declared};
use super::core::Core;
use super::{Receipt, file};
use crate::bits::{self, BLOCK_BITS, Block, Blocks, Kernel, Run, cast};
use crate::format::{self, FileError, Header, KeyDescription, Out, Payload, Reader};
use crate::hash::{Hashing, KeyHasher, Unlock};
use crate::plan::{Kind, Plan};

/// A pass over the shards of one filter, with one of them in memory.
struct Pass<H> {
    plan: Plan,
    hasher: H,
    kernel: Kernel,
    /// Blocks of a shard; the last one may have fewer.
    size: u64,
    /// Allocated for the first shard.
    shard: Option<Blocks>,
    tally: Tally,
    /// A shard failed, perhaps with some of its bytes read or written.
    failed: bool,
}

/// The blocks done so far, the bits set in them, and the sum of their rates.
#[derive(Default)]
struct Tally {
    blocks: u64,
    set_bits: u64,
    rates: f64,
}

impl Tally {
    fn add(&mut self, blocks: &[Block], plan: &Plan) {
        self.blocks += blocks.len() as u64;
        self.set_bits += bits::count_ones(blocks);
        self.rates += BlockedLayout::fpp(blocks, plan) * blocks.len() as f64;
    }
}

impl<H: Hashing> Pass<H> {
    fn new(plan: &Plan, hasher: H, bytes: u64) -> Self {
        Self {
            plan: *plan,
            hasher,
            kernel: Kernel::detect(plan.probes),
            size: (bytes / bits::BLOCK_BYTES).clamp(1, plan.bits / BLOCK_BITS),
            shard: None,
            tally: Tally::default(),
            failed: false,
        }
    }

    fn total(&self) -> u64 {
        self.plan.bits / BLOCK_BITS
    }

    fn count(&self) -> u64 {
        self.total().div_ceil(self.size)
    }

    fn index(&self) -> ShardIndex {
        ShardIndex { total: self.total(), size: self.size }
    }

    /// Processes the next shard: `begin` sets its initial blocks, `work` works on it, `end` receives them.
    fn next<E: From<FileError>>(
        &mut self,
        begin: impl FnOnce(&mut [Block]) -> Result<(), FileError>,
        work: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
        end: impl FnOnce(&[Block]) -> Result<(), FileError>,
    ) -> Result<(), E> {
        self.check()?;
        let (total, size) = (self.total(), self.size);
        let left = total - self.tally.blocks;
        assert!(left > 0, "a shard is left");
        let shard = match &mut self.shard {
            Some(shard) => shard,
            none => none.insert(Blocks::zeroed(size).map_err(FileError::from)?),
        };
        let size = left.min(size);
        let blocks: &mut [Block] = &mut shard[..size as usize];
        self.failed = true;
        begin(blocks)?;
        let run = Run { first: self.tally.blocks, total };
        work(&mut Shard { run, kernel: self.kernel, blocks })?;
        self.tally.add(blocks, &self.plan);
        end(blocks)?;
        self.failed = false;
        Ok(())
    }

    /// Refuses to go on after a shard that failed.
    fn check(&self) -> Result<(), FileError> {
        if self.failed { Err(FileError::ShardFailed) } else { Ok(()) }
    }

    /// The receipt of the filter, after the whole pass.
    fn receipt(&self) -> Receipt {
        assert_eq!(self.tally.blocks, self.total(), "all shards");
        let clear = self.plan.bits - self.tally.set_bits;
        let keys = BlockedLayout::coverage(&self.plan).keys(clear as f64);
        Receipt::new(
            self.plan,
            self.hasher.scheme(),
            (self.tally.set_bits, self.plan.bits),
            keys,
            self.tally.rates / self.total() as f64,
        )
    }
}

/// Writes a blocked filter shard by shard, with one shard (a run of blocks) in memory.
///
/// The caller collects the hashes of each shard, by [`index`](Self::index). The file is the same, byte for byte, as
/// that of a [`Blocked`](super::Blocked) filter with the same keys.
pub struct ShardWriter<W, H = KeyHasher> {
    writer: format::Writer<Out<W>>,
    pass: Pass<H>,
}

impl<W: Write, H: Hashing> ShardWriter<W, H> {
    /// Begins a file with shards of `bytes` bytes, rounded to whole blocks; `keys` describes its keys.
    ///
    /// For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// What is wrong with the plan; the errors of `out`.
    pub fn new(
        out: W,
        plan: &Plan,
        hasher: H,
        keys: &KeyDescription,
        bytes: u64,
    ) -> Result<Self, FileError> {
        plan.check(Kind::Blocked)?;
        let header = Header::new(plan, hasher.scheme(), keys, &body(plan), plan.bytes());
        let writer = format::Writer::new(Out(out), &header)?;
        Ok(Self { writer, pass: Pass::new(plan, hasher, bytes) })
    }

    /// Returns the number of shards.
    pub fn count(&self) -> u64 {
        self.pass.count()
    }

    /// Returns the map from hashes to shards.
    pub fn index(&self) -> ShardIndex {
        self.pass.index()
    }

    /// Lets `fill` fill the next shard, and writes it.
    ///
    /// # Errors
    /// The errors of `fill` and of writing; [`FileError::OutOfMemory`]; after an error, [`FileError::ShardFailed`].
    ///
    /// # Panics
    /// If all shards are written.
    pub fn shard<E: From<FileError>>(
        &mut self,
        fill: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { writer, pass } = self;
        let empty = |blocks: &mut [Block]| {
            blocks.fill(Block::default());
            Ok(())
        };
        pass.next(empty, fill, |blocks| Ok(writer.write(cast::bytes(blocks))?))
    }

    /// Like [`shard`](Self::shard), for a filter that already has the keys of `old`: reads the next shard of `old`,
    /// fills it further, and writes it.
    ///
    /// # Errors
    /// As [`shard`](Self::shard), and those of reading.
    ///
    /// # Panics
    /// As [`shard`](Self::shard); if the filters differ in size.
    pub fn shard_of<R: Read, E: From<FileError>>(
        &mut self,
        old: &mut ShardReader<R, H>,
        fill: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { writer, pass } = self;
        pass.check()?;
        old.pass.check()?;
        assert_eq!(
            (pass.plan, pass.tally.blocks),
            (old.pass.plan, old.pass.tally.blocks),
            "both alike"
        );
        let before = |blocks: &mut [Block]| old.read(blocks);
        pass.next(before, fill, |blocks| Ok(writer.write(cast::bytes(blocks))?))
    }

    /// Ends the file and returns the filter's receipt.
    ///
    /// # Errors
    /// The errors of writing.
    ///
    /// # Panics
    /// If shards are missing.
    pub fn finish(self) -> io::Result<Receipt> {
        let receipt = self.pass.receipt();
        self.writer.finish()?;
        Ok(receipt)
    }
}

/// Reads a blocked filter shard by shard, with one shard (a run of blocks) in memory.
///
/// **Do not rely on any answer of a shard before [`finish`](Self::finish)** has verified all checksums.
pub struct ShardReader<R, H = KeyHasher> {
    payload: Payload<R>,
    pass: Pass<H>,
    description: KeyDescription,
}

impl<R: Read, H: Hashing> ShardReader<R, H> {
    /// Opens the file of `length` bytes that `source` holds, in shards of `bytes` bytes, rounded to whole blocks.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](super::AnyFilter::read), except for the checksums of the payload; [`FileError::Kind`] if
    /// the filter is not blocked.
    pub fn new<U: Unlock<Hasher = H>>(
        source: R,
        length: u64,
        unlock: U,
        bytes: u64,
    ) -> Result<Self, FileError> {
        let reader = Reader::begin(source, length)?;
        let header = reader.header();
        match header.kind()? {
            Kind::Blocked => {}
            found => return Err(FileError::Kind { expected: Kind::Blocked, found }),
        }
        let layout = BloomCore::<BlockedLayout, &[Block]>::layout;
        let (_, hasher, description) = file::checked_by(header, length, unlock, &layout)?;
        let plan = declared(header)?;
        plan.check(Kind::Blocked)?;
        let pass = Pass::new(&plan, hasher, bytes);
        Ok(Self { payload: reader.payload(), pass, description })
    }

    /// Returns the filter's plan.
    pub fn plan(&self) -> &Plan {
        &self.pass.plan
    }

    /// Returns the filter's hasher.
    pub fn hasher(&self) -> &H {
        &self.pass.hasher
    }

    /// Returns the description of its keys.
    pub fn description(&self) -> &KeyDescription {
        &self.description
    }

    /// Returns the number of shards.
    pub fn count(&self) -> u64 {
        self.pass.count()
    }

    /// Returns the map from hashes to shards.
    pub fn index(&self) -> ShardIndex {
        self.pass.index()
    }

    /// Reads the next shard and lets `work` look keys up in it, or insert some: the file does not change.
    ///
    /// # Errors
    /// The errors of `work` and of reading; [`FileError::OutOfMemory`]; after an error, [`FileError::ShardFailed`].
    ///
    /// # Panics
    /// If all shards are read.
    pub fn shard<E: From<FileError>>(
        &mut self,
        work: impl FnOnce(&mut Shard<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { payload, pass, .. } = self;
        let read = |blocks: &mut [Block]| payload.read(cast::bytes_mut(blocks));
        pass.next(read, work, |_| Ok(()))
    }

    /// Reads the next blocks into `blocks`.
    fn read(&mut self, blocks: &mut [Block]) -> Result<(), FileError> {
        self.pass.failed = true;
        self.payload.read(cast::bytes_mut(blocks))?;
        self.pass.failed = false;
        self.pass.tally.add(blocks, &self.pass.plan);
        Ok(())
    }

    /// Verifies the checksums and returns the filter's receipt, including what was inserted meanwhile.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`], [`FileError::ChecksumsDamaged`], [`FileError::ShardFailed`], and those of reading.
    ///
    /// # Panics
    /// If shards were not read.
    pub fn finish(self) -> Result<Receipt, FileError> {
        self.pass.check()?;
        let receipt = self.pass.receipt();
        self.payload.finish()?;
        Ok(receipt)
    }
}
