//! Binary fuse graphs: how many slots so many keys need.
//!
//! T. Graf, D. Lemire 2022, <https://doi.org/10.1145/3510449>, with three slots per key. A graph is a row of
//! segments; a key's slots lie in three segments that follow each other. It can be solved when its keys
//! can be taken away one by one, always one that has a slot for itself.

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// Slots of a key.
pub const ARITY: u32 = 3;

/// Slots of a segment for `keys` keys in one graph, a power of two: 2^⌊log₃.₃₃ n + 1.3⌋, from 2 to 8,192.
///
/// The paper adds 2.25 where this adds 1.3: measured from 10 to a million keys, the power of two that needs
/// the fewest slots is the one below in most of each octave. Above 1.5 million keys it would go on
/// growing; 8,192 slots serve 1 to 15 million keys as well, and let sizes be chosen finer.
pub fn segment_length(keys: u64) -> u32 {
    let power = ((keys.max(1) as f64).ln() / f64::ln(3.33) + 1.3).floor();
    1 << power.clamp(1.0, 13.0) as u32
}

/// Slots for each key with which `keys` keys in one graph are solved by one of the first few seeds:
/// max(1.125, 0.88 + 3.454/ln n). That is 1.125 from 1.4 million keys on, 1.13 at a million, 1.18 at 100,000, 1.26
/// at 10,000, 1.38 at 1,000.
///
/// Of the paper's form, which has 0.875 for 0.88: measured at shorter segments, nine of ten seeds solve at
/// this many.
pub fn slots_per_key(keys: u64) -> f64 {
    (0.88 + 3.454 / (keys.max(2) as f64).ln()).max(1.125)
}

/// Slots of each of `shards` graphs over which hashes spread `keys` keys.
///
/// The shards have more than a million keys, and get 1.121 slots for each of n + 5√n of them: less than one
/// in a million draws more, and would still be solved by a few seeds, for three in four graphs are at 1.12.
pub fn slots(keys: u64, shards: u64) -> f64 {
    let each = keys as f64 / shards as f64;
    match shards {
        1 => each * slots_per_key(keys),
        _ => 1.121 * (each + 5.0 * each.sqrt()),
    }
}
