//! The `BloomFilter` of Apache DataSketches. It takes keys only, no hashes.

use bench_common::{Bench, Case, KeyForm, Text, one_by_one};
use datasketches::bloom::{BloomFilter, BloomFilterBuilder};

const NAME: &str = "datasketches";
const VERSION: &str = "0.6.0";

struct Sketch(BloomFilter);

impl Sketch {
    fn new(n: u64, fpp: f64) -> Self {
        Self(BloomFilterBuilder::with_accuracy(n, fpp).seed(1).build().expect("memory"))
    }

    fn bytes(&self) -> usize {
        self.0.capacity() / 8
    }
}

one_by_one!(Sketch, u64, |filter, key| filter.insert(*key), filter.contains(key));
one_by_one!(Sketch, Text, |filter, key| filter.insert(&key.0[..]), filter.contains(&&key.0[..]));

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => panic!("no hashes"),
        KeyForm::Int => Bench::<u64>::new(case, NAME, VERSION).run::<Sketch>(),
        KeyForm::Text => Bench::<Text>::new(case, NAME, VERSION).run::<Sketch>(),
    }
}
