//! The slots that binary fuse graphs need (T. Graf, D. Lemire 2022, <https://doi.org/10.1145/3510449>), with three
//! slots per key. A graph is a row of segments; a key's slots are in three consecutive segments. The graph can be
//! solved if all keys can be removed one by one, each when it is the only key in one of its slots.

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// Slots of a key.
pub const ARITY: u32 = 3;

/// Returns the slots of a segment for `keys` keys in one graph, a power of two: 2^⌊log₃.₃₃ n + 1.3⌋, from 2 to 8,192.
///
/// The paper has 2.25 in place of 1.3; measured from 10 to a million keys, the next lower power of two needs the fewest
/// slots in most of each octave. It would continue to grow above 1.5 million keys; 8,192 slots serve 1 to 15 million as
/// well, and allow finer sizes.
pub fn segment_length(keys: u64) -> u32 {
    let power = ((keys.max(1) as f64).ln() / f64::ln(3.33) + 1.3).floor();
    1 << power.clamp(1.0, 13.0) as u32
}

/// Returns the slots per key with which one of the first few seeds solves a graph of `keys` keys: max(1.125, 0.88 +
/// 3.454/ln n). That is 1.125 from 1.4 million keys on, 1.13 at a million, 1.18 at 100,000, 1.26 at 10,000, 1.38 at
/// 1,000. The paper has 0.875 in place of 0.88; measured with these shorter segments, nine of ten seeds succeed.
pub fn slots_per_key(keys: u64) -> f64 {
    (0.88 + 3.454 / (keys.max(2) as f64).ln()).max(1.125)
}

/// Returns the slots of each of `shards` graphs over which hashes spread `keys` keys.
///
/// Several shards have more than a million keys each, and get 1.121 slots for each of n + 5√n keys. Less than one shard
/// in a million has more; even that is solved by a few seeds, as are three in four graphs at 1.12 slots per key.
pub fn slots(keys: u64, shards: u64) -> f64 {
    let each = keys as f64 / shards as f64;
    match shards {
        1 => each * slots_per_key(keys),
        _ => 1.121 * (each + 5.0 * each.sqrt()),
    }
}
