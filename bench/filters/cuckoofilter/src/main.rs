//! cuckoofilter's `CuckooFilter` with its default hasher. It takes keys only, no hashes, and has one rate:
//! fingerprints of 8 bits in buckets of four, some 3 % when full.

use std::hash::DefaultHasher;
use std::ops::RangeInclusive;

use bench_common::{Bench, Case, one_by_one};
use cuckoofilter::CuckooFilter;

/// Share of its slots that can be filled before it finds no room.
const LOAD: f64 = 0.94;

struct Cuckoo(CuckooFilter<DefaultHasher>);

impl Cuckoo {
    /// It takes the next power of two for its slots, but fails before they are full.
    fn new(n: u64, _fpp: f64) -> Self {
        Self(CuckooFilter::with_capacity((n as f64 / LOAD) as usize))
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

one_by_one!(Cuckoo, u64, |filter, key| filter.add(key).expect("room"), filter.contains(key), {
    const ASKING: &'static [u64] = &[1];

    fn promise(&self, _fpp: f64) -> RangeInclusive<f64> {
        0.01..=0.035 // eight slots of one in 255 each, from half full to full
    }
});

fn main() {
    Bench::<u64>::new(Case::from_args(), "cuckoofilter", "0.5.0").run::<Cuckoo>();
}
