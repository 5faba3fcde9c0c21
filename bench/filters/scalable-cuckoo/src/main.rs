//! `ScalableCuckooFilter` with its default hasher: planned for all keys, and grown from a 64th of them. It
//! takes keys only, no hashes.

use bench_common::{Bench, Case, GROWN, GROWN_NAME, one_by_one};
use rand::SeedableRng;
use rand::rngs::StdRng;
use scalable_cuckoo_filter::{DefaultHasher, ScalableCuckooFilter, ScalableCuckooFilterBuilder};

/// With a generator that may be moved between threads, as its usual one may not, and the same each time.
type Cuckoo = ScalableCuckooFilter<u64, DefaultHasher, StdRng>;

/// Planned for a part of the keys.
struct Planned<const PART: u64>(Cuckoo);

impl<const PART: u64> Planned<PART> {
    fn new(n: u64, fpp: f64) -> Self {
        let builder = ScalableCuckooFilterBuilder::new().initial_capacity((n / PART) as usize);
        let builder = builder.false_positive_probability(fpp).rng(StdRng::seed_from_u64(1));
        Self(builder.finish())
    }

    fn bytes(&self) -> usize {
        self.0.bits() as usize / 8
    }
}

one_by_one!(Planned<1>, u64, |filter, key| filter.insert(key), filter.contains(key), {
    const ASKING: &'static [u64] = &[1];
});
one_by_one!(Planned<GROWN>, u64, |filter, key| filter.insert(key), filter.contains(key), {
    const VARIANT: &'static str = GROWN_NAME;
    const ASKING: &'static [u64] = &[1];
});

fn main() {
    let bench = Bench::<u64>::new(Case::from_args(), "scalable_cuckoo_filter", "0.5.1");
    bench.run::<Planned<1>>();
    bench.run::<Planned<GROWN>>();
}
