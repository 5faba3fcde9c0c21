//! What a job tells while it works and when it is done.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::{Input, lengths};
use crate::scan::Tally;

/// The error of an answer that is not exact, from the bits of the filters that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// The chance of a line that is in too few inputs to be written all the same.
    pub extra: f64,
    /// The chance of a line that should be written to be left out.
    pub missing: f64,
}

/// How far a job is, for another thread to look at.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
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
    /// Which error the answer may have; `None` when it is exact.
    pub error: Option<crate::ErrorBound>,
}

impl Report {
    /// Accounts for lines that came one by one.
    pub(crate) fn streamed(&mut self, tally: &Tally, bytes: u64) {
        self.lines += tally.lines;
        self.bytes_read += bytes;
        self.passes += 1;
    }

    /// Accounts for the only pass over `inputs`.
    pub(crate) fn passed(&mut self, inputs: &[Input], tallies: &[Tally]) {
        self.lines += tallies.iter().map(|tally| tally.lines).sum::<u64>();
        let spooled = inputs.iter().map(Input::spooled_bytes).sum::<u64>();
        self.bytes_read += lengths(inputs) + spooled;
        self.bytes_spilled += spooled;
        self.passes += inputs.len() as u32;
        self.grew(inputs);
    }

    /// Notes which inputs grew.
    pub(crate) fn grew(&mut self, inputs: &[Input]) {
        let grown = inputs.iter().filter(|input| input.grew());
        self.grown.extend(grown.map(|input| input.name().to_owned()));
    }
}
