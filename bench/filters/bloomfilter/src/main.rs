//! bloomfilter's `Bloom`. It takes keys only, no hashes.

use bench_common::{Bench, Case, KeyForm, Text, one_by_one};
use bloomfilter::Bloom;

const NAME: &str = "bloomfilter";
const VERSION: &str = "3.0.2";

struct Plain<K: ?Sized>(Bloom<K>);

impl<K: ?Sized> Plain<K> {
    fn new(n: u64, fpp: f64) -> Self {
        // Its two hashes take one half of the seed each: equal halves would make them one.
        let seed = std::array::from_fn(|i| i as u8);
        let bloom = Bloom::new_for_fp_rate_with_seed(n as usize, fpp, &seed);
        Self(bloom.expect("a size that can be had"))
    }

    fn bytes(&self) -> usize {
        self.0.len() as usize / 8
    }
}

one_by_one!(Plain<u64>, u64, |filter, key| filter.set(key), filter.check(key));
one_by_one!(Plain<[u8]>, Text, |filter, key| filter.set(&key.0[..]), filter.check(&key.0[..]));

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => panic!("no hashes"),
        KeyForm::Int => Bench::<u64>::new(case, NAME, VERSION).run::<Plain<u64>>(),
        KeyForm::Text => Bench::<Text>::new(case, NAME, VERSION).run::<Plain<[u8]>>(),
    }
}
