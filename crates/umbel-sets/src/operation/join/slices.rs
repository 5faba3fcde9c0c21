//! Slices of the left input, and the filter of the keys of all.

use umbel::internals::GOLDEN;

use crate::operation::prelude::*;

/// Slices of the left input, of about the same size.
pub(super) struct Slices {
    size: u64,
    /// Where the first record of each starts, unless it has none.
    starts: Vec<AtomicU64>,
}

/// The hash of a key in the filter of all slices.
pub(super) fn in_slice(hash: KeyHash, slice: u64) -> KeyHash {
    KeyHash { high: hash.high ^ slice.wrapping_mul(GOLDEN), ..hash }
}

impl Slices {
    pub(super) fn new(count: u64, left: &Input) -> Self {
        let starts = (0..count).map(|i| AtomicU64::new(if i == 0 { 0 } else { u64::MAX }));
        Self { size: left.length().div_ceil(count).max(1), starts: starts.collect() }
    }

    /// The inputs with each slice.
    pub(super) fn of(self, [left, right]: &[Input; 2]) -> Vec<[Input; 2]> {
        let starts = self.starts.into_iter().map(AtomicU64::into_inner);
        let mut starts: Vec<_> = starts.chain([left.length()]).collect();
        for i in (1..starts.len()).rev() {
            starts[i - 1] = starts[i - 1].min(starts[i]);
        }
        let part = |ends: &[u64]| [left.again().within([ends[0], ends[1]]), right.again()];
        starts.windows(2).map(part).collect()
    }
}

/// Fills the filter of all slices, and finds where these start.
impl Work for (&Slices, (&Sharded<'_>, Buckets)) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (Slices { size, starts }, (filter, buckets)) = self;
        let (mut slice, mut end) = (0, 0);
        for (i, &hash) in lines.hashes().iter().enumerate() {
            let place = lines.place(i);
            if place >= end {
                slice = place / *size;
                end = (slice + 1) * *size;
                starts[slice as usize].fetch_min(place, Ordering::Relaxed);
            }
            filter.add(buckets, in_slice(hash, slice), Shard::insert_all);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        Box::new(self.1).finish()
    }
}
