//! The classic filter (Bloom 1970, method 2): k independent bits anywhere among m.
//!
//! Probe i goes to bit ⌊mix(high + i·low)·m / 2⁶⁴⌋. With the bare arithmetic progression of double hashing (Kirsch,
//! Mitzenmacher 2006), all probes of two keys collide more often than by chance. Mixing each term, by a bijection,
//! removes that for two multiplications per probe, little compared with a cache miss.

use super::Filter;
use super::bloom::BloomCore;
use super::layout::Layout;
use crate::bits::{self, Block, Blocks};
use crate::hash::{Hashing, Key, KeyHash, KeyHasher, mix};
use crate::math::Coverage;
use crate::plan::{Kind, Plan};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// A classic Bloom filter: the fewest bits of the Bloom kinds, any m and k, and up to k cache misses per key.
pub type Classic<S = Blocks, H = KeyHasher> = Filter<BloomCore<ClassicLayout, S>, H>;

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
        let (plan, hash) = (*self.plan(), key.key_hash(&self.hasher));
        (0..u64::from(plan.probes)).map(move |i| ClassicLayout::position(&plan, hash, i))
    }
}

/// The layout of the classic kind.
#[derive(Clone, Copy, Debug)]
pub struct ClassicLayout;

/// The hash of probe `i`. Part of the format.
#[inline]
pub(super) fn probe(hash: KeyHash, i: u64) -> u64 {
    mix(hash.high.wrapping_add(i.wrapping_mul(hash.low)))
}

impl Layout for ClassicLayout {
    const KIND: Kind = Kind::Classic;
    const UNIT: &'static str = "bits";

    fn units(plan: &Plan) -> u64 {
        plan.bits
    }

    #[inline]
    fn position(plan: &Plan, hash: KeyHash, i: u64) -> u64 {
        bits::place(probe(hash, i), plan.bits)
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        (bits::count_ones(blocks) as f64 / plan.bits as f64).powi(plan.probes as i32)
    }

    fn coverage(plan: &Plan) -> Coverage {
        Coverage::classic(plan.bits, plan.probes)
    }
}
