//! growable-bloom-filter's `GrowableBloom`: planned for all keys, and grown from a 64th of them. It takes
//! keys only, no hashes, and does not tell its size: that is the length of its serialized form.

use std::ops::RangeInclusive;

use bench_common::{Bench, Case, GROWN, GROWN_NAME, one_by_one};
use growable_bloom_filter::GrowableBloom;

/// Planned for a part of the keys.
struct Planned<const PART: u64>(GrowableBloom);

impl<const PART: u64> Planned<PART> {
    fn new(n: u64, fpp: f64) -> Self {
        Self(GrowableBloom::new(fpp, (n / PART) as usize))
    }

    /// Of its bit vectors, and some ten of numbers.
    fn bytes(&self) -> usize {
        postcard::to_allocvec(&self.0).expect("memory").len()
    }
}

one_by_one!(Planned<1>, u64, |filter, key| filter.insert(key), filter.contains(key), {
    const ASKING: &'static [u64] = &[1];
});
one_by_one!(Planned<GROWN>, u64, |filter, key| filter.insert(key), filter.contains(key), {
    const VARIANT: &'static str = GROWN_NAME;
    const ASKING: &'static [u64] = &[1];

    // Each filter has 0.85 times the rate of the one before, and the first has all of `fpp`: with
    // seven of them more than four times the requested rate.
    fn promise(&self, fpp: f64) -> RangeInclusive<f64> {
        fpp..=5.0 * fpp
    }
});

fn main() {
    let bench = Bench::<u64>::new(Case::from_args(), "growable-bloom-filter", "2.1.1");
    bench.run::<Planned<1>>();
    bench.run::<Planned<GROWN>>();
}
