//! xorf's `BinaryFuse8`, and `BinaryFuse16` for rates of 0.1 % and less: built once from all keys, at one rate, 2⁻⁸ or
//! 2⁻¹⁶. They accept 64-bit integers; text is hashed first, with the standard library's hasher, like xorf's
//! `HashProxy`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use bench_common::{Bench, Case, Filter, Hashed, Key, KeyForm, Text};
use xorf::{BinaryFuse8, BinaryFuse16, Filter as _};

struct Fuse<F>(F);

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

/// The same for both widths of fingerprint.
macro_rules! fuse {
    ($type:ident, $bits:literal) => {
        impl<K: Integer> Filter<K> for Fuse<$type> {
            fn new(_n: u64, _fpp: f64) -> Self {
                Self($type::try_from_iterator([0].into_iter()).expect("a key"))
            }

            fn insert(&mut self, keys: &[K]) {
                // Built in several passes: hashing first avoids hashing again in each pass.
                let integers: Vec<u64> = keys.iter().map(K::integer).collect();
                let integers = integers.iter().copied();
                self.0 = $type::try_from_iterator(integers).expect("distinct keys");
            }

            fn count(&self, keys: &[K]) -> usize {
                keys.iter().filter(|key| self.0.contains(&key.integer())).count()
            }

            fn bytes(&self) -> usize {
                self.0.fingerprints.len() * $bits / 8
            }

            fn is_built(&self) -> bool {
                true
            }

            fn promise(&self, _fpp: f64) -> RangeInclusive<f64> {
                let rate = 0.5f64.powi($bits);
                0.8 * rate..=1.25 * rate
            }
        }
    };
}

fuse!(BinaryFuse8, 8);
fuse!(BinaryFuse16, 16);

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => run::<Hashed>(case),
        KeyForm::Int => run::<u64>(case),
        KeyForm::Text => run::<Text>(case),
    }
}

fn run<K: Integer>(case: Case) {
    const VERSION: &str = "0.13.0";
    if case.fpp > 0.001 {
        Bench::<K>::new(case, "xorf BinaryFuse8", VERSION).run::<Fuse<BinaryFuse8>>();
    } else {
        Bench::<K>::new(case, "xorf BinaryFuse16", VERSION).run::<Fuse<BinaryFuse16>>();
    }
}
