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

/// The mean of hits and misses, of each the least of three rounds of `cargo x bench --kinds`, for others used the
/// machine too: `bench/record/2026-11-22-kinds.md`.
///
/// Filters of 10 million keys at 1 % take 8 to 110 MB. Those that fit the last cache cost more when they are larger:
/// blocked ones at 100 million keys 16 ns a key and 10 in a batch, others about a memory access more for each line.
pub(crate) fn of(kind: Kind) -> Option<Price> {
    let (one, batch) = match kind {
        Kind::Blocked => (21.0, 6.6),
        Kind::Classic => (117.0, 27.0),
        Kind::Sliced => (95.0, 29.0),
        Kind::Counting => (42.0, 16.0),
        Kind::Scalable => (51.0, 5.4),
        Kind::Stable => (122.0, 69.0),
        Kind::Window => (45.0, 16.0),
        Kind::Bloomier => (22.0, 14.0),
        Kind::Coded => (156.0, 65.0),
        // Of its first level: the others are small.
        Kind::Cascade => (16.0, 4.0),
        // Rows of attributes, and what nobody has measured.
        _ => return None,
    };
    Some(Price { one, batch })
}
