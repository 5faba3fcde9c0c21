//! What a look-up takes, as measured.

use umbel::Kind;

/// Where the prices come from.
pub const MEASURED_ON: &str =
    "AMD EPYC, 2 CPUs, 32 MiB of L3; 10 million keys at 1 %, one thread, 2026-11-22";

/// Nanoseconds of a look-up, the key already hashed; half of the keys there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// One key a call.
    pub one: f64,
    /// In a batch, cache misses overlapped.
    pub batch: f64,
}

/// The mean of hits and misses, of each the median of three rounds of `cargo x bench --kinds`:
/// `bench/record/2026-11-22-kinds.md`.
///
/// Filters of 10 million keys at 1 % take 8 to 110 MB. Those that fit the last cache cost more when they are larger:
/// blocked ones at 100 million keys 16 ns a key and 10 in a batch, others about a memory access more for each line.
pub(crate) fn of(kind: Kind) -> Option<Price> {
    let (one, batch) = match kind {
        Kind::Blocked => (21.0, 6.4),
        Kind::Classic => (85.0, 27.0),
        Kind::Sliced => (119.0, 34.0),
        Kind::Counting => (40.0, 18.0),
        Kind::Scalable => (72.0, 9.2),
        Kind::Stable => (120.0, 71.0),
        Kind::Window => (50.0, 23.0),
        Kind::Bloomier => (49.0, 19.0),
        Kind::Coded => (195.0, 91.0),
        // Of its first level: the others are small.
        Kind::Cascade => (30.0, 6.5),
        // Rows of attributes, and what nobody has measured.
        _ => return None,
    };
    Some(Price { one, batch })
}
