//! The classic filter (Bloom 1970, method 2): k independent bits anywhere among m.

mod plan;
pub mod rate;

pub(crate) use plan::Plans;

use super::plain::{Folding, Meaning};
use super::spread::{Layout, SpreadCore, positions};
use crate::bits::{self, Block, Blocks};
use crate::filter::Filter;
use crate::hash::{Hashing, Key, KeyHasher};
use crate::math::Coverage;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// A classic Bloom filter: the fewest bits of the Bloom kinds, any m and k, and up to k cache misses per key.
pub type Classic<S = Blocks, H = KeyHasher> = Filter<SpreadCore<Plans, S>, H>;

impl<S: AsRef<[Block]>, H: Hashing> Classic<S, H> {
    /// Returns the bit positions of a key, in the order of its probes: k numbers below m, possibly with repeats.
    ///
    /// ```
    /// use umbel::Classic;
    /// let filter = Classic::new(1_000, 0.01)?;
    /// let bits: Vec<u64> = filter.positions("apples").collect();
    /// assert_eq!(bits.len(), 7);
    /// assert!(bits.iter().all(|&bit| bit < filter.plan().bits()));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn positions<K: Key<H>>(&self, key: K) -> impl Iterator<Item = u64> + use<S, H, K> {
        positions::<Plans>(self.plan(), key.key_hash(&self.hasher))
    }
}

impl Layout for Plans {
    const MEANING: Meaning = Meaning {
        folding: Folding {
            unit: "bits",
            units: |plan| plan.bits,
            fold: |blocks, plan, divisor| bits::fold(blocks, plan.bits, divisor),
        },
        fpp: |blocks, plan| {
            (bits::count_ones(blocks) as f64 / plan.bits as f64).powi(plan.probes as i32)
        },
        coverage: |plan| Coverage::classic(plan.bits, plan.probes),
    };
    const SLICED: bool = false;
}
