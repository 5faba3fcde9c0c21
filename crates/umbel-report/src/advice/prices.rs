//! The measured time of a look-up in each kind.

use umbel::{Kind, Plan};

/// The machine and date of the measurement.
pub const MEASURED_ON: &str =
    "AMD EPYC, 2 CPUs, 32 MiB of L3; 10 million keys at 1 %, one thread, 2026-11-22";

/// Nanoseconds of a look-up, with the key already hashed and half of the keys present.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Price {
    /// With one key per call.
    pub one: f64,
    /// In a batch, with overlapping cache misses.
    pub batch: f64,
}

/// The mean of hits and misses, each the median of three rounds of `cargo x bench --kinds`:
/// `bench/record/2026-11-22-kinds.md`.
///
/// Filters of 10 million keys at 1 % have 8 to 110 MB. Those that fit in the last-level cache cost more when they are
/// larger: with 100 million keys, blocked ones take 16 ns per key, and 10 in a batch; others take about one more memory
/// access per cache line.
///
/// If every probe of a key has its own cache line, a hit takes time for each probe, and a miss for about two, since
/// half of the bits are set: 300 ns per hit, not 111, for the 20 probes of a classic filter at 1e-6.
pub(crate) fn of(plan: &Plan) -> Option<Price> {
    // Hits and misses with one key per call, and in a batch; the number of probes they were measured with.
    let scattered = |one: [f64; 2], batch: [f64; 2], measured: u32| {
        let times = f64::from(plan.probes()) / f64::from(measured);
        let mean = |[hit, miss]: [f64; 2]| (hit * times + miss) / 2.0;
        (mean(one), mean(batch))
    };
    let (one, batch) = match plan.kind() {
        Kind::Blocked => (21.0, 6.4),
        Kind::Classic => scattered([111.0, 59.0], [24.4, 30.5], 7),
        Kind::Sliced => scattered([172.0, 66.2], [39.6, 29.3], 7),
        Kind::Counting => (40.0, 18.0),
        Kind::Scalable => (72.0, 9.2),
        Kind::Stable => scattered([138.0, 102.0], [81.3, 61.4], 6),
        Kind::Window => (50.0, 23.0),
        Kind::Bloomier => (49.0, 19.0),
        Kind::Coded => (195.0, 91.0),
        // The price of its first level: the others are small.
        Kind::Cascade => (30.0, 6.5),
        // Rows of attributes, and anything not measured.
        _ => return None,
    };
    Some(Price { one, batch })
}
