//! Times a filter, checks its answers, prints the results.

use std::ops::RangeInclusive;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::{Case, Key};

/// The minimum time of a figure: short work is repeated.
const TIMED: Duration = Duration::from_millis(150);
/// The approximate maximum time of one pass: a slower filter is queried for fewer keys.
const PASS: Duration = Duration::from_secs(4);
/// From this many keys on, one filter is filled for a figure, without warm-up.
const LARGE: u64 = 10_000_000;
/// The most keys queried in one pass; a filter of more keys is queried for some of them.
const ASKED: u64 = 10_000_000;
/// The minimum number of absent keys for counting the rate: at 0.1 % it is precise to 1.6 %.
const TRIALS: u64 = 4_000_000;
/// The approximate number of false positives to count for lower rates: precise to 3 %.
const RATE_HITS: f64 = 1_000.0;
/// Filters that grow are also planned for this fraction of the keys.
pub const GROWN: u64 = 64;
/// The name of such a filter.
pub const GROWN_NAME: &str = "grown from 1/64";
/// Numbers of keys never inserted start here.
const FRESH: u64 = 1 << 40;
/// Keys passed on together: as hashes 16 KiB, which fit in the first-level cache.
pub const BATCH: usize = 1024;
/// Keys made at a time if they are not kept.
const BLOCK: u64 = 1 << 16;

/// A filter under measurement, for keys of form `K`.
pub trait Filter<K>: Sync + Sized {
    /// Distinguishes it from other filters of the same program; empty for the usual one.
    const VARIANT: &'static str = "";
    /// `one` for one key per call, `batch` for many.
    const MODE: &'static str = "one";
    /// Threads that `insert` uses.
    const INSERTING: u64 = 1;
    /// The numbers of threads that query together; each number is measured.
    const ASKING: &'static [u64] = &[1, 2];

    /// Makes an empty filter for `n` keys at a rate of `fpp`.
    fn new(n: u64, fpp: f64) -> Self;
    /// Inserts all the keys that will ever be inserted.
    fn insert(&mut self, keys: &[K]);
    /// Returns how many of the keys it finds.
    fn count(&self, keys: &[K]) -> usize;
    /// Bytes of its data.
    fn bytes(&self) -> usize;

    /// The range of rates allowed for a requested `fpp`; a filter with a fixed rate returns that.
    fn promise(&self, fpp: f64) -> RangeInclusive<f64> {
        fpp / 20.0..=1.5 * fpp
    }

    /// Whether it is built once from all its keys, which `insert` then does.
    fn is_built(&self) -> bool {
        false
    }

    /// Whether it drops old keys for new ones and may miss members.
    fn forgets(&self) -> bool {
        false
    }
}

/// Implements `Filter` for a type and one form of keys, one key per call. The type has its own `new` and `bytes`; other
/// differences are given at the end, in braces.
#[macro_export]
macro_rules! one_by_one {
    ($type:ty, $key:ty, |$filter:ident, $k:ident| $insert:expr, $contains:expr
     $(, { $($unusual:tt)* })?) => {
        impl $crate::Filter<$key> for $type {
            $($($unusual)*)?

            fn new(n: u64, fpp: f64) -> Self {
                <$type>::new(n, fpp)
            }

            fn insert(&mut self, keys: &[$key]) {
                let $filter = &mut self.0;
                for $k in keys {
                    $insert;
                }
            }

            fn count(&self, keys: &[$key]) -> usize {
                let $filter = &self.0;
                let contains = |$k: &$key| $contains;
                keys.iter().filter(|key| contains(key)).count()
            }

            fn bytes(&self) -> usize {
                <$type>::bytes(self)
            }
        }
    };
}

/// The keys of a case.
pub struct Bench<K> {
    case: Case,
    peer: &'static str,
    version: &'static str,
    members: Vec<K>,
    misses: Vec<K>,
}

/// One figure.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Distinguishes it from others of the same program.
    pub variant: &'static str,
    /// `one` or `batch`.
    pub mode: &'static str,
    /// Threads at work.
    pub threads: u64,
    /// `insert`, `hit`, `miss` or `read`.
    pub op: &'static str,
    /// Wall time over keys.
    pub ns_per_key: f64,
    /// Rate counted; `None` if it is not a filter.
    pub fpr: Option<f64>,
    /// Whether `insert` makes the whole filter.
    pub built: bool,
    /// Share of the queried members that were found; below 1 only in filters that forget.
    pub found: f64,
    /// Bytes of data.
    pub bytes: u64,
}

impl<K: Key> Bench<K> {
    /// Makes the keys of a case.
    pub fn new(case: Case, peer: &'static str, version: &'static str) -> Self {
        let keys = |first: u64, count: u64| (first..first + count).map(K::nth).collect();
        let misses = keys(FRESH, case.n.min(ASKED));
        Self { case, peer, version, members: keys(0, case.n), misses }
    }

    /// The keys inserted.
    pub fn members(&self) -> &[K] {
        &self.members
    }

    /// Fills and queries filters of one type, and prints a line for each figure.
    ///
    /// # Panics
    /// If a filter that does not forget lacks an inserted key, or the counted rate is not within the promised range.
    pub fn run<F: Filter<K>>(&self) {
        let (filter, insert_ns) = self.fill::<F>();
        let bytes = filter.bytes() as u64;
        let fpr = self.rate(&filter);
        // Some of many members, from the middle: their places in the filter are random all the same.
        let hits = &self.members[(self.members.len() - self.misses.len()) / 2..];
        let hits = &hits[..self.misses.len()];
        let found = filter.count(hits) as f64 / hits.len() as f64;
        assert!(found == 1.0 || filter.forgets(), "an inserted key is not found");
        let sample = |op, threads, ns_per_key| Sample {
            variant: F::VARIANT,
            mode: F::MODE,
            threads,
            op,
            ns_per_key,
            fpr: Some(fpr),
            built: filter.is_built(),
            found,
            bytes,
        };
        self.print(&sample("insert", F::INSERTING, insert_ns));
        for &threads in F::ASKING {
            let ns = self.time(threads, hits, |keys| filter.count(keys));
            self.print(&sample("hit", threads, ns));
            let ns = self.time(threads, &self.misses, |keys| filter.count(keys));
            self.print(&sample("miss", threads, ns));
        }
    }

    /// A filter with all members, and the nanoseconds a key took from the empty filter on.
    fn fill<F: Filter<K>>(&self) -> (F, f64) {
        let case = &self.case;
        let fill = || {
            let mut filter = F::new(case.n, case.fpp);
            let start = Instant::now();
            filter.insert(&self.members);
            (filter, start.elapsed())
        };
        if case.n < LARGE {
            fill(); // warm-up
        }
        let (mut filter, mut total) = fill();
        let mut keys = case.n;
        while case.n < LARGE && total < TIMED {
            let (next, time) = fill();
            filter = next;
            total += time;
            keys += case.n;
        }
        (filter, total.as_nanos() as f64 / keys as f64)
    }

    /// The rate, counted over keys never inserted.
    fn rate<F: Filter<K>>(&self, filter: &F) -> f64 {
        let promise = filter.promise(self.case.fpp);
        let trials = TRIALS.max((RATE_HITS / promise.end()) as u64);
        let first = FRESH + ASKED;
        let found: usize = (first..first + trials)
            .step_by(BLOCK as usize)
            .map(|block| {
                let end = (block + BLOCK).min(first + trials);
                filter.count(&(block..end).map(K::nth).collect::<Vec<K>>())
            })
            .sum();
        let rate = found as f64 / trials as f64;
        assert!(promise.contains(&rate), "{}: rate {rate}, not within {promise:?}", self.peer);
        rate
    }

    /// Nanoseconds per key, of wall time, after a warm-up that determines how often to repeat the keys. The threads
    /// share them.
    pub fn time(&self, threads: u64, keys: &[K], work: impl Fn(&[K]) -> usize + Sync) -> f64 {
        let warmup = &keys[..keys.len().min(1_000_000)];
        let start = Instant::now();
        std::hint::black_box(work(warmup));
        let pass = start.elapsed().mul_f64(keys.len() as f64 / warmup.len() as f64);
        let share = PASS.as_secs_f64() / pass.as_secs_f64();
        let keys = &keys[..(keys.len() as f64 * share.min(1.0)).ceil() as usize];
        let parts: Vec<&[K]> = keys.chunks(keys.len().div_ceil(threads as usize)).collect();
        let passes =
            (TIMED.as_secs_f64() / pass.as_secs_f64() * threads as f64).ceil().max(1.0) as u64;
        let time = parallel(parts.len(), |part| {
            for _ in 0..passes {
                std::hint::black_box(work(std::hint::black_box(parts[part])));
            }
        });
        time.as_nanos() as f64 / (passes * keys.len() as u64) as f64
    }

    /// Prints a figure as a JSON object.
    pub fn print(&self, sample: &Sample) {
        let Self { case: Case { n, fpp, .. }, peer, version, .. } = self;
        let Sample { variant, mode, threads, op, ns_per_key, fpr, built, found, bytes } = sample;
        let fpr = fpr.map_or("null".to_owned(), |fpr| fpr.to_string());
        let bits_per_key = (8 * bytes) as f64 / *n as f64;
        println!(
            "{{\"type\":\"sample\",\"peer\":\"{peer}\",\"version\":\"{version}\",\
             \"variant\":\"{variant}\",\"n\":{n},\"fpp_asked\":{fpp},\"keys\":\"{}\",\
             \"mode\":\"{mode}\",\"threads\":{threads},\"op\":\"{op}\",\
             \"ns_per_key\":{ns_per_key:.4},\"fpr\":{fpr},\"built\":{built},\"found\":{found},\"bits_per_key\":{bits_per_key:.4},\
             \"bytes\":{bytes}}}",
            K::NAME
        );
    }
}

/// Counts what `contains` finds, [`BATCH`] keys at a time.
pub fn count<K>(keys: &[K], mut contains: impl FnMut(&[K], &mut [bool])) -> usize {
    let mut found = [false; BATCH];
    let counts = keys.chunks(BATCH).map(|keys| {
        let found = &mut found[..keys.len()];
        contains(keys, found);
        // Added up in bytes: that takes a twentieth of a nanosecond each.
        let of_chunk = |chunk: &[bool]| chunk.iter().map(|&found| u8::from(found)).sum::<u8>();
        found.chunks(128).map(|chunk| usize::from(of_chunk(chunk))).sum::<usize>()
    });
    counts.sum()
}

/// Runs `work(0)`, `work(1)` … on threads of their own; returns the time from the first start to the last end. The
/// threads are started before the clock; a single one is the caller's.
pub fn parallel(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    if threads == 1 {
        let start = Instant::now();
        work(0);
        return start.elapsed();
    }
    let (barrier, work) = (Barrier::new(threads), &work);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    work(thread);
                    (start, Instant::now())
                })
            })
            .collect();
        let times: Vec<_> =
            handles.into_iter().map(|handle| handle.join().expect("a thread failed")).collect();
        let start = times.iter().map(|time| time.0).min().expect("a thread");
        times.iter().map(|time| time.1).max().expect("a thread") - start
    })
}
