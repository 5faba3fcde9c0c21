//! External tests of the library, in one program.

mod prefixes;
mod states;

use umbel::internals::{GOLDEN, mix};

/// Two-sided level of the binomial check.
const ALPHA: f64 = 1e-9;

/// How many trials a long test makes: a part of them, or with `cargo x test --full` all.
fn long(all: u64, part: u64) -> u64 {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

/// Output `number` of SplitMix64 with seed 0: a bijection of 64 bits.
fn splitmix(number: u64) -> u64 {
    mix(number.wrapping_add(1).wrapping_mul(GOLDEN))
}
