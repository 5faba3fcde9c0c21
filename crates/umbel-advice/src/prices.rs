//! What a look-up takes, as measured.

use umbel::Kind;

/// Where the prices come from.
pub const MEASURED_ON: &str =
    "AMD EPYC, 2 CPUs, 32 MiB of L3; 10 million keys at 1 %, one thread, 2026-11-21";

/// Nanoseconds of a look-up, the key already hashed; half of the keys there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// One key a call.
    pub one: f64,
    /// In a batch, cache misses overlapped.
    pub batch: f64,
}

/// The mean of hits and misses, of each the least of three rounds of `cargo x bench --kinds`, for others used the
/// machine too: `bench/record/2026-11-21-kinds-4.md`.
///
/// Filters of 10 million keys at 1 % take 8 to 110 MB. Those that fit the last cache cost more when they are larger:
/// blocked ones at 100 million keys 22 ns a key and 11 in a batch, others about a memory access more for each line.
pub(crate) fn of(kind: Kind) -> Option<Price> {
    let (one, batch) = match kind {
        Kind::Blocked => (29.0, 8.1),
        Kind::Classic => (182.0, 69.0),
        Kind::Sliced => (206.0, 75.0),
        Kind::Counting => (131.0, 20.0),
        Kind::Scalable => (101.0, 11.0),
        Kind::Stable => (208.0, 115.0),
        Kind::Window => (80.0, 45.0),
        Kind::Bloomier => (77.0, 26.0),
        Kind::Coded => (202.0, 81.0),
        // Of its first level: the others are small.
        Kind::Cascade => (35.0, 7.0),
        // Rows of attributes, and what nobody has measured.
        _ => return None,
    };
    Some(Price { one, batch })
}
