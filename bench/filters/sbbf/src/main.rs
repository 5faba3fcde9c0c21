//! sbbf-rs-safe, a split block Bloom filter as Parquet has it. It takes hashes only.

use bench_common::{Bench, Case, Hashed, one_by_one};
use sbbf_rs_safe::Filter;

/// Bits of one of its blocks: eight words of 32.
const BLOCK_BITS: f64 = 256.0;

struct Split(Filter);

impl Split {
    /// The crate has no size for a rate: the smallest whose rate by the Poisson sum is the one asked
    /// for.
    fn new(n: u64, fpp: f64) -> Self {
        let (mut low, mut high) = (1.0, 64.0); // bits per key
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if rate(BLOCK_BITS / middle) > fpp { low = middle } else { high = middle }
        }
        Self(Filter::new(8, (high * n as f64 / 8.0).ceil() as usize))
    }

    fn bytes(&self) -> usize {
        self.0.as_bytes().len()
    }
}

/// The mean of (1 − (31/32)^j)⁸ over blocks of j keys, j Poisson with mean `load`.
fn rate(load: f64) -> f64 {
    let mut chance = (-load).exp();
    let mut sum = 0.0;
    for j in 1..2000 {
        chance *= load / f64::from(j);
        sum += chance * (1.0 - (31.0f64 / 32.0).powi(j)).powi(8);
    }
    sum
}

one_by_one!(Split, Hashed, |filter, key| filter.insert_hash(key.0), filter.contains_hash(key.0));

fn main() {
    Bench::<Hashed>::new(Case::from_args(), "sbbf-rs-safe", "0.3.2").run::<Split>();
}
