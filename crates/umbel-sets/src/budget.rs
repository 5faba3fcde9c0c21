//! How the memory cap is divided.
//!
//! ```text
//! cap = base | many inputs | workers × (chunk buffer + kept lines + buckets) | rest
//! rest, filling filters:  filters ≤ 3/4
//! rest, gathering lines:  filters + table + spill buffers ≤ 1/16 + long lines 1/16, of that 16 MiB
//!                         outside the cap
//! rest, settling:         table, or one a thread + spill buffers + long lines
//! ```
//!
//! A worker's share is the same for records with keys: it reads half as much at a time, and hands on half as many
//! lines; the other half is for keys that are not a part of their line.

use crate::input::held;
use crate::pages::within_page;
use crate::table::{KEPT_LINE, MOST_BYTES, MOST_KEYS};
use crate::{Error, Resources};

/// The smallest memory cap: 16 MiB.
pub const LEAST_MEMORY: u64 = 16 << 20;

/// The program itself, its stacks and what the allocator retains; 5 MiB were measured.
const BASE: u64 = 6 << 20;

/// For a line longer than a chunk, outside the cap: few jobs have one, and the process may use 32 MiB above its cap
/// for it.
const LONG_LINE: u64 = if cfg!(test) { 1 << 10 } else { 16 << 20 };

/// A partition is planned this much smaller than the memory it is settled in: hashes do not divide lines evenly, and a
/// quarter is for buffers and results next to the table.
const MARGIN: f64 = 1.5;

/// The minimum bytes of a write buffer, with many files.
pub(crate) const LEAST_BUFFER: usize = 4 << 10;

/// Lines that a worker hands on together, at least and at most; 32 bytes each.
const KEPT: [u64; 2] = if cfg!(test) { [300, 300] } else { [1 << 10, 1 << 14] };
/// Hashes that a worker collects for the shards of a filter before it locks one; 16 bytes each.
const BUCKETED: [u64; 2] = [1 << 12, 1 << 16];

/// The minimum and maximum bytes of input that a worker reads at a time. Large chunks waste less at their ends; 1 MiB still
/// fits in the second-level cache.
const CHUNK: [u64; 2] = [64 << 10, 1 << 20];
/// The minimum rest that workers must leave.
const LEAST_REST: u64 = 4 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cap: u64,
    pub(crate) threads: usize,
    /// Bytes of input that a worker reads at a time.
    pub(crate) chunk: usize,
    /// Lines that a worker hands on together.
    pub(crate) kept: usize,
    /// Hashes that a worker collects before it locks a shard of a filter.
    pub(crate) bucketed: usize,
    /// Bytes for filters, tables and everything else whose size a job chooses.
    pub(crate) rest: u64,
    /// Files that the process may have open.
    pub(crate) files: u64,
}

impl Resources {
    pub(crate) fn budget(&self) -> Result<Budget, Error> {
        Budget::new(self.memory, self.threads)
    }
}

impl Budget {
    pub(crate) fn new(cap: u64, threads: usize) -> Result<Self, Error> {
        // Other jobs of the process open and close inputs meanwhile: what they hold is read once.
        let (held, threads) = (held(), threads.max(1));
        let budget = Self::beside(held, cap, threads);
        if cap < LEAST_MEMORY || budget.rest < LEAST_REST {
            let least = Self::least_cap_beside(held, threads, LEAST_REST);
            return Err(Error::Memory { cap, least });
        }
        Ok(budget)
    }

    /// A budget next to `held` bytes of inputs.
    fn beside(held: u64, cap: u64, threads: usize) -> Self {
        // All workers together use a twenty-fifth of the cap, unless that is too little for each. So the memory they
        // leave, and the amount spilled, hardly depend on their number.
        let part =
            |part: u64, [least, most]: [u64; 2]| (cap / part / threads as u64).clamp(least, most);
        let chunk = part(128, CHUNK);
        let chunk = chunk - within_page(chunk) as u64;
        let (kept, bucketed) = (part(128 * 32, KEPT), part(64 * 16, BUCKETED));
        let workers = worker(chunk, kept, bucketed).saturating_mul(threads as u64);
        let rest = cap.saturating_sub(workers.saturating_add(BASE + held));
        let [chunk, kept, bucketed] = [chunk, kept, bucketed].map(|size| size as usize);
        Self { cap, threads, chunk, kept, bucketed, rest, files: umbel_io::open_files() }
    }

    /// The lowest cap, in whole MiB, that leaves `rest` bytes besides `threads` workers.
    pub(crate) fn least_cap(threads: usize, rest: u64) -> u64 {
        Self::least_cap_beside(held(), threads, rest)
    }

    fn least_cap_beside(held: u64, threads: usize, rest: u64) -> u64 {
        let rest_of = |mib: u64| Self::beside(held, mib << 20, threads).rest;
        // Most of each additional byte is left for the job.
        let (mut least, mut most) = (LEAST_MEMORY >> 20, u64::MAX >> 20);
        while least < most {
            let cap = least + (most - least) / 2;
            match rest_of(cap) >= rest {
                true => most = cap,
                false => least = cap + 1,
            }
        }
        if rest_of(least) < rest { u64::MAX } else { least << 20 }
    }

    /// For filters. If they cannot have all the bits they want, a bit saves more lines here than in a table.
    pub(crate) fn filters(&self) -> u64 {
        self.rest / 4 * 3
    }

    pub(crate) fn spill_buffers(&self) -> u64 {
        // Enough to write 256 files in pieces of 32 KiB; more gains nothing.
        (self.rest / 16).min(8 << 20)
    }

    /// For a line longer than a chunk, whatever else is in memory.
    pub(crate) fn long_line(&self) -> u64 {
        (self.rest / 16).max(LONG_LINE)
    }

    /// All but the reserve for a long line.
    pub(crate) fn lasting(&self) -> u64 {
        self.rest - (self.long_line() - LONG_LINE)
    }

    /// Checks that filters of this many bytes in total fit, with room for a long line; the error names the lowest cap.
    pub(crate) fn check_filters(&self, bytes: u64) -> Result<(), Error> {
        if bytes <= self.lasting() {
            return Ok(());
        }
        Err(self.too_small(bytes.saturating_add(bytes.div_ceil(7))))
    }

    /// The memory left for lines next to `bytes` bytes; the error names the lowest cap that leaves enough.
    pub(crate) fn left(&self, bytes: u64) -> Result<u64, Error> {
        const LEAST_ROOM: u64 = 1 << 20;
        let room = self.rest.checked_sub(bytes).filter(|room| *room >= LEAST_ROOM);
        room.ok_or_else(|| self.too_small(bytes.saturating_add(LEAST_ROOM)))
    }

    /// The error of a cap that does not leave `rest` bytes besides the workers: it names the lowest sufficient one.
    pub(crate) fn too_small(&self, rest: u64) -> Error {
        Error::Memory { cap: self.cap, least: Self::least_cap(self.threads, rest) }
    }

    /// For a line longer than a chunk while `bytes` bytes of filters are all that is in memory.
    pub(crate) fn line_beside(&self, bytes: u64) -> u64 {
        (self.rest - bytes).max(self.long_line())
    }

    /// For the table while `filters` bytes of filters are in memory.
    pub(crate) fn table(&self, filters: u64) -> u64 {
        self.lasting().saturating_sub(filters + self.spill_buffers())
    }

    /// Bytes that a table can use of `room` for lines of `length` bytes.
    pub(crate) fn held(length: u64, room: u64) -> u64 {
        room.min(MOST_KEYS.saturating_mul(length + KEPT_LINE)).min(MOST_BYTES)
    }

    /// Bytes spilled because they do not fit in a table of `table` bytes, if `lines` lines of `length` bytes each are
    /// kept; twice as many if there cannot be enough partitions at a time.
    pub(crate) fn spilled(&self, lines: u64, length: u64, table: u64) -> u64 {
        let table = Self::held(length, table);
        let rest = lines.saturating_mul(length + KEPT_LINE).saturating_sub(table) as f64;
        let most = self.most_partitions(self.spill_buffers());
        // Partitions too large for several threads are settled one after the other.
        let levels = 1 + u64::from(rest > self.rest as f64 / MARGIN * most as f64);
        Self::set_aside(lines, length, table) * levels
    }

    /// The same, counting each line once.
    pub(crate) fn set_aside(lines: u64, length: u64, table: u64) -> u64 {
        let needed = lines.saturating_mul(length + KEPT_LINE);
        let table = Self::held(length, table);
        let share = needed.saturating_sub(table) as f64 / needed.max(1) as f64;
        // A line is stored with its place and length.
        (lines as f64 * share) as u64 * (length + 12)
    }

    /// The number of partitions for lines that a table has no room for; each is then likely to fit in one thread's
    /// table. The table reached `held` bytes after `done` of `total` bytes; the rest is assumed proportional.
    pub(crate) fn partitions(&self, held: u64, done: u64, total: u64) -> usize {
        let left = total.saturating_sub(done) as f64 / done.max(1) as f64 * held as f64;
        let most = self.most_partitions(self.spill_buffers());
        (left / self.each_partition()).ceil().clamp(2.0, most as f64) as usize
    }

    /// Bytes of one thread's table when partitions are settled.
    fn each_partition(&self) -> f64 {
        self.rest as f64 / self.settlers(self.rest) as f64 / MARGIN
    }

    /// Threads that settle partitions with `memory` bytes in total. With less for each, the unused ends of tables' last
    /// segments would add noticeably to what is spilled again.
    fn settlers(&self, memory: u64) -> usize {
        /// Eight segments of a table.
        const LEAST: u64 = if cfg!(test) { 1 } else { 8 << 20 };
        usize::try_from(memory / LEAST).unwrap_or(usize::MAX).clamp(1, self.threads)
    }

    /// The same for the rest of `all` lines if a table was full after `seen` of them, with `buffers` bytes of write
    /// buffers.
    pub(crate) fn partitions_of_rest(&self, all: u64, seen: u64, buffers: u64) -> usize {
        ((all - seen) / seen.max(1) + 2).min(self.most_partitions(buffers)) as usize
    }

    /// The maximum number of files to spill to at a time, with `buffers` bytes of write buffers in total. Pieces of a
    /// page each suffice, because the system merges them. Two sets of files are open at each of two levels or more, on
    /// each thread.
    fn most_partitions(&self, buffers: u64) -> u64 {
        let files = self.spare_files() / (4 * self.settlers(self.rest) as u64);
        (buffers / LEAST_BUFFER as u64).clamp(16, 256).min(files).max(2)
    }

    /// Threads that settle `count` partitions of `each` bytes in memory on average, with `memory` bytes in total. Each holds
    /// the longest line up to three times: as read, in the table, and on its way to another file. If there could not be
    /// enough partitions, fewer threads settle them than would have to spill them again.
    pub(crate) fn settling_threads(
        &self,
        memory: u64,
        longest: u64,
        count: u64,
        each: u64,
    ) -> usize {
        let capped = count >= self.most_partitions(self.spill_buffers());
        let each = if capped { (each as f64 * MARGIN) as u64 } else { 0 };
        let most = memory / longest.saturating_mul(3).max(each).max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.settlers(memory).min(most).max(1)
    }

    /// Files that may be open besides inputs, outputs and the system's.
    pub(crate) fn spare_files(&self) -> u64 {
        const OTHERS: u64 = 96;
        self.files.saturating_sub(OTHERS)
    }

    /// A cap that certainly fits a line of `length` bytes, if `room` bytes were too few.
    pub(crate) fn cap_for_line(&self, length: u64, room: u64) -> u64 {
        // The buffer grows by quarters, and the line may start anywhere in its first chunk. At least a sixteenth of
        // each additional byte goes to the room.
        let short = (length + length / 4 + 2 * CHUNK[1]).saturating_sub(room);
        Self::least_cap(self.threads, self.rest.max(16 * LONG_LINE) + 16 * short)
    }
}

/// Returns the maximum number of threads that leaves at least half of `memory` for data.
pub fn most_threads(memory: u64) -> usize {
    let threads = memory.saturating_sub(BASE) / 2 / worker(CHUNK[0], KEPT[0], BUCKETED[0]);
    usize::try_from(threads).unwrap_or(usize::MAX).max(1)
}

/// Bytes of a worker.
fn worker(chunk: u64, kept: u64, bucketed: u64) -> u64 {
    2 * chunk + 32 * kept + 16 * bucketed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_cap_works_and_less_does_not() {
        for threads in [1, 2, 3, 16, 500] {
            for rest in [LEAST_REST, 20 << 20, 67_108_864, 1 << 30, 5 << 40] {
                let least = Budget::least_cap(threads, rest);
                assert!(Budget::new(least, threads).unwrap().rest >= rest, "{threads} {rest}");
                let less = Budget::new(least - (1 << 20), threads);
                assert!(less.map_or(0, |budget| budget.rest) < rest, "{threads} {rest}");
            }
        }
        assert_eq!(Budget::least_cap(usize::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_cap_for_a_long_line_has_sixteen_times_what_was_missing() {
        let budget = Budget::new(64 << 20, 2).unwrap();
        for (length, room) in [(20 << 20, 1 << 20), (33 << 20, 32 << 20), (1 << 30, 4 << 20)] {
            let cap = budget.cap_for_line(length, room);
            // The buffer grows by quarters.
            let missing = length / 4 * 5 - room;
            let rest = Budget::new(cap, 2).unwrap().rest;
            assert!(rest >= budget.rest + 16 * missing, "{length}: {cap}");
            assert!(rest < budget.rest + 17 * missing + (64 << 20), "{length}: {cap}");
        }
    }

    #[test]
    fn what_does_not_fit_is_spilled_once_or_twice() {
        let line = 70 + KEPT_LINE;
        // Half of 1,000 lines fit; the others go to disk with place and length.
        assert_eq!(Budget::set_aside(1000, 70, 500 * line), 500 * (70 + 12));
        assert_eq!(Budget::set_aside(1000, 70, 1000 * line), 0);
        // A table has at most 751 million lines and 256 GiB of them, however large the memory.
        let (most, more) = (MOST_KEYS, 2 * MOST_KEYS);
        assert_eq!(Budget::set_aside(most, 70, u64::MAX), 0);
        assert_eq!(Budget::set_aside(more, 70, u64::MAX), most * (70 + 12));
        assert_eq!(Budget::held(MOST_BYTES, u64::MAX), MOST_BYTES);
        let budget = Budget::new(64 << 20, 2).unwrap();
        assert_eq!(budget.spilled(1000, 70, 500 * line), 500 * (70 + 12));
        // 256 partitions of the rest together hold less than 4 GiB.
        let many = 1 << 30;
        assert_eq!(budget.spilled(many, 70, 0), 2 * many * (70 + 12));
    }

    #[test]
    fn workers_and_the_rest_fit_in_the_cap() {
        for (cap, threads) in [(16 << 20, 1), (64 << 20, 2), (1 << 30, 16), (1 << 36, 64)] {
            let budget = Budget::new(cap, threads).unwrap();
            let (chunk, kept) = (budget.chunk as u64, budget.kept as u64);
            let hashes = budget.bucketed as u64 * size_of::<umbel::KeyHash>() as u64;
            let workers = threads as u64 * (2 * chunk + 32 * kept + hashes);
            let used = BASE + held() + workers + budget.rest;
            // Other tests hold little meanwhile.
            assert!(used.abs_diff(cap) < 1 << 20, "{threads} in {cap}: {used}");
        }
    }

    #[test]
    fn what_inputs_hold_is_not_left() {
        let rest = |held| Budget::beside(held, 64 << 20, 2).rest;
        assert_eq!(rest(20 << 20), rest(0) - (20 << 20));
        assert_eq!(rest(64 << 20), 0);
    }

    #[test]
    fn partitions_are_as_few_as_fit() {
        let budget = Budget::new(64 << 20, 2).unwrap();
        for (held, done, total) in [(30 << 20, 100, 1_000), (40 << 20, 7_000, 9_999)] {
            let left = held as f64 * (total - done) as f64 / done as f64;
            let count = budget.partitions(held, done, total);
            let parts = [count, count - 1].map(|count| left / count as f64);
            assert!(parts[0] <= budget.each_partition());
            assert!(count == 2 || parts[1] > budget.each_partition(), "{count}");
        }
        for (all, seen) in [(1_000, 100), (1_000, 999), (5_000, 77)] {
            let count = budget.partitions_of_rest(all, seen, 1 << 20) as u64;
            assert!((all - seen..all + 2 * seen).contains(&(count * seen)), "{count}");
        }
        assert_eq!(budget.partitions(1 << 20, 0, u64::MAX), 256);
        assert_eq!(budget.partitions_of_rest(1 << 60, 0, 1 << 20), 256);
    }

    #[test]
    fn every_cap_has_threads_that_it_suffices_for() {
        for mib in [16, 17, 64, 256, 1 << 20] {
            let threads = most_threads(mib << 20);
            assert!(Budget::new(mib << 20, threads).is_ok(), "{mib} MiB, {threads} threads");
        }
        assert_eq!(most_threads(0), 1);
        let half = BASE + 2 * 100 * worker(CHUNK[0], KEPT[0], BUCKETED[0]);
        assert_eq!([half, half - 1].map(most_threads), [100, 99]);
    }
}
