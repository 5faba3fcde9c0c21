//! What a job tells while it works and when it is done.

use std::sync::atomic::{AtomicU64, Ordering};

/// The error of an answer that is not exact, from the bits of the filters that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// The chance of a line that is in too few inputs to be written all the same.
    pub extra: f64,
    /// The chance of a line that should be written to be left out.
    pub missing: f64,
}

/// How many rows of two files differ, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows only in the old file, without those that changed.
    pub removed: u64,
    /// Rows only in the new file, without those that changed.
    pub added: u64,
    /// Rows in the new file that are other versions of rows in the old one.
    pub changed: u64,
    /// Rows in both files.
    pub kept: u64,
}

impl Changes {
    /// Rows that one file has and the other has not; of a row that changed, the new one.
    pub fn different(self) -> u64 {
        self.removed + self.added + self.changed
    }
}

/// How far a job is, for another thread to look at.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    bad: AtomicU64,
}

impl Progress {
    /// Bytes of input gone through, over all passes.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes of input there are to go through, over all passes, as far as planned; 0 when unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Records left out of [`Rewritten`](crate::Rewritten) inputs since they cannot be read; no [`Report`] has them.
    pub fn bad(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    pub(crate) fn leave_out(&self) {
        self.bad.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What a job did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Lines of all inputs, each input counted once.
    pub lines: u64,
    /// Records left out, of those lines none, since they have not all fields of the key.
    pub missing: u64,
    /// Records left out since they cannot be read.
    pub bad: u64,
    /// Different lines among those that were kept to be compared by their bytes.
    pub distinct: u64,
    /// Lines put out.
    pub found: u64,
    /// Bytes read from inputs and temporary files, over all passes.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub bytes_spilled: u64,
    /// Bytes of result written.
    pub bytes_written: u64,
    /// How often an input was read from end to end, summed over inputs.
    pub passes: u32,
    /// Names of inputs that grew meanwhile: the answer is about what they had in the beginning.
    pub grown: Vec<String>,
    /// For a comparison of two files, what differs.
    pub changes: Option<Changes>,
    /// Lines that were certainly not in a filter that lines were taken out of.
    pub absent: Option<u64>,
    /// The type that keys of another system's filter were assumed to have, when none was named. If they are of another, the
    /// answer says nothing about them.
    pub assumed_type: Option<umbel_foreign::KeyType>,
    /// Which error the answer may have; `None` when it is exact.
    pub error: Option<crate::ErrorBound>,
}
