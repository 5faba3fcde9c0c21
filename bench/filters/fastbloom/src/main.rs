//! fastbloom's `BloomFilter`, with its default hasher.

use bench_common::{Bench, Case, Hashed, KeyForm, Text, one_by_one};
use fastbloom::BloomFilter;

const NAME: &str = "fastbloom";
const VERSION: &str = "0.17.0";

struct Fast(BloomFilter);

impl Fast {
    fn new(n: u64, fpp: f64) -> Self {
        Self(BloomFilter::with_false_pos(fpp).seed(&1).expected_items(n as usize))
    }

    fn bytes(&self) -> usize {
        self.0.num_bits() / 8
    }
}

one_by_one!(Fast, Hashed, |filter, key| filter.insert_hash(key.0), filter.contains_hash(key.0));
one_by_one!(Fast, u64, |filter, key| filter.insert(key), filter.contains(key));
one_by_one!(Fast, Text, |filter, key| filter.insert(&key.0[..]), filter.contains(&key.0[..]));

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => Bench::<Hashed>::new(case, NAME, VERSION).run::<Fast>(),
        KeyForm::Int => Bench::<u64>::new(case, NAME, VERSION).run::<Fast>(),
        KeyForm::Text => Bench::<Text>::new(case, NAME, VERSION).run::<Fast>(),
    }
}
