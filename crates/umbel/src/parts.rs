//! Divides one set among several filters or machines.

use core::num::NonZeroU32;

use crate::bits;
use crate::hash::{Hashing, Key, KeyHasher};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// Divides keys among the parts of a set that is too large for one filter, or for one machine.
///
/// A part is an ordinary filter of its share of the keys. Compute a key's part before you add it or look it up; a
/// look-up then reads one filter, however many there are. Parts are ranges of the hash: doubling their number splits
/// each in two.
///
/// ```
/// use std::num::NonZeroU32;
/// use umbel::{Blocked, Parts};
///
/// let parts = Parts::new(NonZeroU32::new(4).unwrap());
/// let share = parts.share(1_000_000);
/// let mut filters = (0..4).map(|_| Blocked::new(share, 0.01)).collect::<Result<Vec<_>, _>>()?;
/// for key in ["apple", "mango"] {
///     filters[parts.part(key) as usize].insert(key);
/// }
/// assert!(filters[parts.part("mango") as usize].contains("mango"));
/// # Ok::<(), umbel::Error>(())
/// ```
///
/// # Which part
/// Part ⌊low32 · parts / 2³²⌋, where low32 is the lower half of [`high`](crate::KeyHash::high). Blocked filters select
/// blocks by the upper half of `high` and bits by `low`, so a part spreads its keys as evenly as one filter, if it has
/// far fewer than 2³² blocks (256 GiB). A bloomier fingerprint is the lowest bits of `high`, and the keys of a part
/// share log₂ parts of these, from bit 32 − log₂ parts on. A rate below parts · 2⁻³² (3.7e-9 with 16 parts) becomes up
/// to parts times as high; for such rates, divide keys by another hasher.
///
/// All programs must divide keys by the same hasher; the filters may use another.
#[derive(Clone, Copy, Debug)]
pub struct Parts<H = KeyHasher> {
    count: NonZeroU32,
    hasher: H,
}

impl Parts {
    /// Divides keys into `count` parts by XXH3 with seed 0, the filters' default. Anyone who knows the seed can choose
    /// keys that all fall into one part; for untrusted keys, use [`with_hasher`](Self::with_hasher) and
    /// [`KeyHasher::keyed`].
    pub fn new(count: NonZeroU32) -> Self {
        Self::with_hasher(count, KeyHasher::default())
    }
}

impl<H: Hashing> Parts<H> {
    /// Divides keys into `count` parts by their hashes under `hasher`.
    pub fn with_hasher(count: NonZeroU32, hasher: H) -> Self {
        Self { count, hasher }
    }

    /// Returns the number of parts.
    #[doc(hidden)]
    pub fn count(&self) -> u32 {
        self.count.get()
    }

    /// Returns the part of a key, from 0.
    #[inline]
    pub fn part(&self, key: impl Key<H>) -> u32 {
        let lower = key.key_hash(&self.hasher).high << 32;
        bits::place(lower, self.count.get().into()) as u32
    }

    /// Returns the number of keys to plan each part for, if the set has `keys` keys. With a probability of at least
    /// 99.9 %, no part gets more.
    ///
    /// A part's keys are binomially distributed with mean μ = keys/parts and variance σ² = μ·(1 − 1/parts). By
    /// Bernstein's inequality they exceed μ + t with a probability of at most exp(−t²/(2σ² + 2t/3)), here 0.001/parts.
    /// With 16 parts of 10 million keys that is 0.14 % more than the mean; with 16 of 1,000 it is 14 %.
    ///
    /// S. Boucheron, G. Lugosi, P. Massart 2013, "Concentration Inequalities", theorem 2.10.
    pub fn share(&self, keys: u64) -> u64 {
        let parts = f64::from(self.count.get());
        let mean = keys as f64 / parts;
        let variance = mean * (1.0 - 1.0 / parts);
        let log = (1000.0 * parts).ln();
        let more = log / 3.0 + (log * log / 9.0 + 2.0 * log * variance).sqrt();
        ((mean + more).ceil() as u64).min(keys)
    }
}
