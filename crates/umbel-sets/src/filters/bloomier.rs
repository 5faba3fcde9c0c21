//! Building a filter that accepts no keys afterwards: the hashes of all lines are collected in memory, by shard, then
//! the shards are built on all threads.

use umbel::{Bloomier, BloomierBuilder, BloomierShard, Plan};
use umbel_io::threads::on_parts;

use crate::bulk::Buckets;
use crate::prelude::*;

/// Builds a Bloomier filter of lines.
///
/// Memory: the filter, 20 bytes per planned key, and for each thread the memory to build a shard.
pub struct BloomierBuild<'a> {
    scanner: Scanner<'a>,
    hasher: KeyHasher,
    gather: Gather,
    room: u64,
    report: Report,
}

impl<'a> BloomierBuild<'a> {
    /// Begins a filter with a plan.
    ///
    /// # Errors
    /// [`Error::Memory`], with a cap that suffices, if the hashes of the planned keys do not fit; an invalid plan.
    pub fn new(plan: &Plan, hasher: KeyHasher, options: &'a Options) -> Result<Self, Error> {
        let scanner = Scanner::new(options, hasher.clone())?;
        let Budget { threads, rest, .. } = scanner.budget;
        // Checked before the filter is allocated.
        if plan.bytes() > rest {
            let needed = plan.bytes().saturating_add(plan.keys().saturating_mul(21));
            return Err(scanner.budget.too_small(needed));
        }
        let builder = BloomierBuilder::new(plan)?;
        let shards = builder.count();
        // A quarter more than planned: duplicates are then seldom searched for.
        let most = (plan.keys() as usize / shards).saturating_mul(5) / 4 + 1024;
        let hashes = (16 * most as u64).saturating_mul(shards as u64);
        let working = builder.shard_bytes() * shards.min(threads) as u64;
        let room = scanner.budget.left(plan.bytes() + hashes.saturating_add(working))?;
        let hashes = (0..shards).map(|_| Mutex::default()).collect();
        let gather = Gather { builder, hashes, most, planned: plan.keys() };
        Ok(Self { scanner, hasher, gather, room, report: Report::default() })
    }

    /// Adds the lines that are read.
    ///
    /// # Errors
    /// Read errors; [`Error::Filter`] if there are more different lines than planned.
    pub fn read<'r>(&mut self, from: impl Into<ReadFrom<'r>>) -> Result<(), Error> {
        let (gather, bucketed) = (&self.gather, self.scanner.budget.bucketed);
        let visit = Visit::new(self.room, || (gather, Buckets::new(gather.hashes.len(), bucketed)));
        self.report.add(self.scanner.read(from, &visit)?);
        Ok(())
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`Error::Filter`] if there are more different lines than planned.
    pub fn finish(self) -> Result<(Bloomier, Report), Error> {
        let Gather { mut builder, hashes, .. } = self.gather;
        let shards = builder.shards().zip(hashes).collect();
        let build = |(shard, hashes): (BloomierShard<'_>, Mutex<Vec<_>>), _: &mut ()| {
            shard.build(&mut hashes.into_inner().expect("no worker panics"))?;
            Ok::<_, umbel::BuildError>(Vec::new())
        };
        on_parts(self.scanner.budget.threads, shards, || (), build)?;
        Ok((builder.finish(self.hasher)?, self.report))
    }
}

/// Hashes by shard.
struct Gather {
    builder: BloomierBuilder,
    hashes: Vec<Mutex<Vec<KeyHash>>>,
    /// The maximum number of hashes of a shard; at that number, duplicates are dropped.
    most: usize,
    planned: u64,
}

impl Gather {
    fn take(&self, shard: usize, bucket: &[KeyHash]) -> Result<(), Error> {
        let mut hashes = self.hashes[shard].lock().expect("no worker panics");
        if hashes.capacity() == 0 {
            hashes.reserve_exact(self.most);
        }
        for &hash in bucket {
            if hashes.len() == self.most {
                hashes.sort_unstable();
                hashes.dedup();
                // If less than a tenth is freed, there are more keys than planned, beyond chance.
                if hashes.len() > self.most / 10 * 9 {
                    let keys = (hashes.len() * self.hashes.len()) as u64;
                    return Err(umbel::BuildError::Overfull(keys, self.planned).into());
                }
            }
            hashes.push(hash);
        }
        Ok(())
    }
}

impl Work for (&Gather, Buckets) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (gather, buckets) = self;
        lines.hashes().iter().try_for_each(|&hash| {
            let shard = gather.builder.shard_of(hash);
            buckets.add(shard, hash).map_or(Ok(()), |full| gather.take(shard, full))
        })
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        let (gather, buckets) = &mut *self;
        (0..gather.hashes.len()).try_for_each(|shard| gather.take(shard, buckets.empty(shard)))
    }
}
