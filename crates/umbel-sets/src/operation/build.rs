//! The first pass: builds a filter of the lines that may be wanted, and finds those that may be repeated.
//!
//! Every hash goes into a filter that reports whether it may hold it already. If so, it also goes into a second filter,
//! of *doubtful* lines. One of two equal lines comes second, even with several threads; so a repeated line is doubtful,
//! and a line that is not doubtful is unique.

use super::prelude::*;

/// The rate at which unique lines are wrongly doubtful. Such a line costs some 100 bytes of the table and a turn;
/// another bit per line costs little, because few lines are doubtful.
const RATE: f64 = 0.005;
/// Eight probes are the fastest pattern, and about the best for the rate.
const PROBES: u32 = 8;

/// The filter of doubtful lines.
pub(super) struct Doubt {
    pub(super) filter: Blocked,
    /// Hashes in it.
    pub(super) keys: u64,
}

impl Doubt {
    /// Plans for the doubtful among `lines` lines in at most `bytes` bytes. The number of blocks is a power of
    /// two: the filter can be folded once their number is known.
    pub(super) fn plan(lines: u64, bytes: u64) -> Plan {
        /// At the rate above a key takes 12 bits. With more than a quarter of the lines in it, few are left to be
        /// wrongly doubtful.
        const BITS_A_LINE: u64 = 3;
        let wanted = (lines.saturating_mul(BITS_A_LINE) / 512 + 1).next_power_of_two();
        let bits = 512 * wanted.min(1 << (bytes / 64).max(1).ilog2());
        Plan::from_parts(Kind::Blocked, lines, RATE, bits, PROBES)
            .expect("a power of two of blocks, for lines")
    }

    pub(super) fn insert(&mut self, hashes: &[KeyHash]) {
        self.filter.insert_all(hashes);
        self.keys += hashes.len() as u64;
    }

    /// Returns the filter, as small as its keys allow.
    pub(super) fn fold(mut self) -> Result<Blocked, Error> {
        let plan = *self.filter.plan();
        let keys = self.keys.max(1);
        let folded = |divisor| {
            let plan = Plan::from_parts(Kind::Blocked, keys, RATE, plan.bits() / divisor, PROBES);
            plan.expect("a power of two of blocks")
        };
        let mut divisor = 1;
        while plan.bits() / divisor > 512 && folded(2 * divisor).predicted_fpp() <= RATE {
            divisor *= 2;
        }
        self.filter.fold(divisor)?;
        Ok(self.filter)
    }
}

/// Fills both filters.
pub(super) struct Build<'a> {
    seen: Sharded<'a>,
    doubtful: Sharded<'a>,
    /// New doubtful hashes.
    pub(super) keys: AtomicU64,
    bucketed: usize,
}

impl<'a> Build<'a> {
    pub(super) fn new(
        seen: &'a mut Blocked,
        doubtful: &'a mut Blocked,
        Budget { threads, bucketed, .. }: Budget,
    ) -> Self {
        let (seen, doubtful) = (Sharded::new(seen, threads), Sharded::new(doubtful, threads));
        Self { seen, doubtful, keys: AtomicU64::new(0), bucketed }
    }
}

/// Data that a worker has collected besides the hashes of its lines.
struct Carried {
    doubtful: Buckets,
    new: Vec<bool>,
    keys: u64,
}

impl Build<'_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        let buckets = || self.seen.buckets(self.bucketed - self.bucketed / 4);
        let doubtful = || self.doubtful.buckets(self.bucketed / 4);
        let carried = move || Carried { doubtful: doubtful(), new: Vec::new(), keys: 0 };
        Visit::new(spare, move || (self, buckets(), carried()))
    }

    /// Inserts hashes that all fall into `shard`, and passes on those it may have held.
    fn see(&self, shard: &mut Shard<'_>, hashes: &[KeyHash], carried: &mut Carried) {
        let Carried { doubtful, new, keys } = carried;
        new.resize(hashes.len().max(new.len()), false);
        shard.insert_all_new(hashes, &mut new[..hashes.len()]);
        for (&hash, _) in hashes.iter().zip(&*new).filter(|(_, new)| !**new) {
            self.doubtful.add(doubtful, hash, |shard, hashes| *keys += doubt(shard, hashes));
        }
    }
}

/// Inserts doubtful hashes and returns how many were new.
fn doubt(shard: &mut Shard<'_>, hashes: &[KeyHash]) -> u64 {
    let mut new = [false; 64];
    let count = |some: &[KeyHash]| {
        shard.insert_all_new(some, &mut new[..some.len()]);
        new[..some.len()].iter().filter(|new| **new).count() as u64
    };
    hashes.chunks(64).map(count).sum()
}

impl Work for (&Build<'_>, Buckets, Carried) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (build, seen, carried) = self;
        for &hash in lines.hashes() {
            build.seen.add(seen, hash, |shard, hashes| build.see(shard, hashes, carried));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        let (build, seen, carried) = &mut *self;
        build.seen.finish(seen, |shard, hashes| build.see(shard, hashes, carried));
        let Carried { doubtful, keys, .. } = carried;
        build.doubtful.finish(doubtful, |shard, hashes| *keys += doubt(shard, hashes));
        build.keys.fetch_add(*keys, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_few_doubtful_lines_is_folded() {
        let plan = Doubt::plan(1_000_000, 1 << 20);
        let mut doubt = Doubt { filter: of_hashes(&plan).unwrap(), keys: 0 };
        let hashes: Vec<_> = (0..1000u128).map(|i| KeyHash::from_u128(i << 64 | i)).collect();
        doubt.insert(&hashes);
        let filter = doubt.fold().unwrap();
        let folded = *filter.plan();
        let rate = |bits| {
            Plan::from_parts(Kind::Blocked, 1000, RATE, bits, PROBES).unwrap().predicted_fpp()
        };
        assert!(rate(folded.bits()) <= RATE && rate(folded.bits() / 2) > RATE, "{folded:?}");
    }
}
