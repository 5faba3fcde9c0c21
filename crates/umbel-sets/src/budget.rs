//! How the memory cap is divided.
//!
//! ```text
//! cap = base | workers × (chunk buffer + kept lines + buckets) | rest
//! rest, filling filters:  filters ≤ 1/2
//! rest, gathering lines:  filters + table + spill buffers 1/16 + long lines 1/8
//! rest, settling:         table, or one a thread + spill buffers + long lines
//! ```

use crate::Error;

/// The smallest `--memory`: 16 MiB.
pub const LEAST_MEMORY: u64 = 16 << 20;

/// The program itself, its stacks and what the allocator holds back; 5 MiB were measured.
const BASE: u64 = 6 << 20;

/// Lines that one worker hands on at once; 32 bytes each.
pub(crate) const KEPT: usize = if cfg!(test) { 300 } else { 1 << 14 };
/// Hashes that one worker collects for the shards of a filter before it locks one; 16 bytes each.
pub(crate) const BUCKETED: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cap: u64,
    pub(crate) threads: usize,
    /// Bytes of input that one worker reads at once.
    pub(crate) chunk: usize,
    /// Bytes for filters, tables and everything else that a job chooses the size of.
    pub(crate) rest: u64,
}

impl Budget {
    pub(crate) fn new(cap: u64, threads: usize) -> Result<Self, Error> {
        let threads = threads.max(1);
        let smallest = Self::with_chunk(cap, threads, 64 << 10);
        let least = LEAST_MEMORY
            .max(cap.saturating_sub(smallest.rest) + (4 << 20))
            .next_multiple_of(1 << 20);
        if cap < LEAST_MEMORY || smallest.rest < 4 << 20 {
            return Err(Error::Memory { cap, least });
        }
        // Large chunks waste less on cutting; 1 MiB still lies in the second-level cache.
        let chunk = (cap / 64 / threads as u64).clamp(64 << 10, 1 << 20) as usize;
        Ok(Self::with_chunk(cap, threads, chunk))
    }

    fn with_chunk(cap: u64, threads: usize, chunk: usize) -> Self {
        let worker = 2 * chunk as u64 + 32 * KEPT as u64 + 16 * BUCKETED as u64;
        Self { cap, threads, chunk, rest: cap.saturating_sub(BASE + threads as u64 * worker) }
    }

    pub(crate) fn filters(&self) -> u64 {
        self.rest / 2
    }

    pub(crate) fn spill_buffers(&self) -> u64 {
        self.rest / 16
    }

    /// For a line longer than a chunk, whatever else is in memory.
    pub(crate) fn long_line(&self) -> u64 {
        self.rest / 8
    }

    /// For the table while `filters` bytes of filters are in memory.
    pub(crate) fn table(&self, filters: u64) -> u64 {
        self.rest.saturating_sub(filters + self.spill_buffers() + self.long_line())
    }

    /// A cap with which a line of `length` bytes certainly fits: it stands in the buffer and in the
    /// table, beside what is fixed.
    pub(crate) fn cap_for_line(&self, length: u64) -> u64 {
        let fixed = self.cap - self.rest + 2 * self.chunk as u64 * self.threads as u64;
        (fixed + length.saturating_mul(10)).next_multiple_of(1 << 20)
    }
}
