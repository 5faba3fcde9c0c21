//! xorf's `BinaryFuse8`: built once from all keys, at one rate, 2⁻⁸. It takes 64-bit integers; text
//! is hashed first, with the standard library's hasher, as xorf's `HashProxy` does.

use std::hash::{DefaultHasher, Hash, Hasher};

use bench_common::{Bench, Case, Filter, Hashed, Key, KeyForm, Text};
use xorf::{BinaryFuse8, Filter as _};

struct Fuse(BinaryFuse8);

/// How a form of keys becomes the integers that the filter takes.
trait Integer: Key {
    fn integer(&self) -> u64;
}

impl Integer for Hashed {
    fn integer(&self) -> u64 {
        self.0
    }
}

impl Integer for u64 {
    fn integer(&self) -> u64 {
        *self
    }
}

impl Integer for Text {
    fn integer(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0[..].hash(&mut hasher);
        hasher.finish()
    }
}

fn build(keys: impl ExactSizeIterator<Item = u64> + Clone) -> BinaryFuse8 {
    BinaryFuse8::try_from_iterator(keys).expect("distinct keys")
}

impl<K: Integer> Filter<K> for Fuse {
    fn new(_n: u64, _fpp: f64) -> Self {
        Self(build([0].into_iter()))
    }

    fn insert(&mut self, keys: &[K]) {
        // Built in several passes: hashed before, so that no pass hashes again.
        let integers: Vec<u64> = keys.iter().map(K::integer).collect();
        self.0 = build(integers.iter().copied());
    }

    fn count(&self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.0.contains(&key.integer())).count()
    }

    fn bytes(&self) -> usize {
        self.0.fingerprints.len()
    }
}

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => run::<Hashed>(case),
        KeyForm::Int => run::<u64>(case),
        KeyForm::Text => run::<Text>(case),
    }
}

fn run<K: Integer>(case: Case) {
    Bench::<K>::new(case, "xorf BinaryFuse8", "0.13.0").run::<Fuse>();
}
