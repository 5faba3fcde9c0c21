//! qfilter's `Filter`, a quotient filter: planned for all keys, and grown from a 64th of them.

use bench_common::{Bench, Case, GROWN, GROWN_NAME, Hashed, one_by_one};
use qfilter::Filter;

/// Planned for a part of the keys. The crate wants to know the most keys beforehand: fingerprints are as long from the start.
struct Quotient<const PART: u64>(Filter);

impl<const PART: u64> Quotient<PART> {
    fn new(n: u64, fpp: f64) -> Self {
        Self(Filter::new_resizeable(n / PART, n, fpp).expect("fingerprints that fit 64 bits"))
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

one_by_one!(
    Quotient<1>,
    Hashed,
    |filter, key| filter.insert_fingerprint(false, key.0).expect("room"),
    filter.contains_fingerprint(key.0),
    {
        const ASKING: &'static [u64] = &[1];
    }
);
one_by_one!(
    Quotient<GROWN>,
    Hashed,
    |filter, key| filter.insert_fingerprint(false, key.0).expect("room"),
    filter.contains_fingerprint(key.0),
    {
        const VARIANT: &'static str = GROWN_NAME;
        const ASKING: &'static [u64] = &[1];
    }
);

fn main() {
    let bench = Bench::<Hashed>::new(Case::from_args(), "qfilter", "0.3.1");
    bench.run::<Quotient<1>>();
    bench.run::<Quotient<GROWN>>();
}
