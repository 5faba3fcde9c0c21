//! Reports of a job: its progress, and its results.

use std::collections::BTreeSet;
use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::{Error, Place};

/// The error of an inexact answer, from the bits of the filters that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// The probability that a line in too few inputs is written.
    pub extra: f64,
    /// The probability that a line that should be written is left out.
    pub missing: f64,
}

/// How many rows of two files differ, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows only in the old file, except changed ones.
    pub removed: u64,
    /// Rows only in the new file, except changed ones.
    pub added: u64,
    /// Rows in the new file that are other versions of rows in the old one.
    pub changed: u64,
    /// Rows in both files.
    pub kept: u64,
    /// Rows in both files that one file has more often than the other.
    pub uneven: u64,
}

impl Changes {
    /// Returns the rows that only one file has, counting the new version of a changed row.
    pub fn different(self) -> u64 {
        self.removed + self.added + self.changed
    }
}

/// How many rows of two inputs a join put side by side, and how many had no partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Rows of both inputs, side by side.
    pub pairs: u64,
    /// Rows of the first input with a partner.
    pub left_matched: u64,
    /// Rows of the first input without a partner.
    pub left_unmatched: u64,
    /// Rows of the second input without a partner, if these are kept; otherwise they are not counted.
    pub right_unmatched: Option<u64>,
}

/// The progress of a job, for other threads to read.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    bad: AtomicU64,
    cancelled: AtomicBool,
    /// Keys still to see for the sample.
    unsampled: AtomicUsize,
    sample: Mutex<BTreeSet<Vec<u8>>>,
    /// For some inputs, the place of the first record seen without its key, and its error.
    lacking: Mutex<Vec<(Place, Error)>>,
}

impl Progress {
    /// Makes the progress of a job that keeps a sample: the distinct keys among the first `keys` that its threads see.
    pub fn with_sample(keys: usize) -> Self {
        Self { unsampled: keys.into(), ..Self::default() }
    }

    /// Returns the sample of keys, in the order of their bytes; of long keys, the first 64 bytes.
    pub fn sample(&self) -> Vec<Vec<u8>> {
        self.sample.lock().expect("no worker panics").iter().cloned().collect()
    }

    /// Adds to the sample while it has room. Afterwards this costs a load per batch.
    #[inline]
    pub(crate) fn see<'k>(&self, keys: impl ExactSizeIterator<Item = &'k [u8]>) {
        if self.unsampled.load(Ordering::Relaxed) > 0 {
            self.keep(keys);
        }
    }

    #[cold]
    fn keep<'k>(&self, keys: impl ExactSizeIterator<Item = &'k [u8]>) {
        const LONGEST: usize = 64;
        let mut sample = self.sample.lock().expect("no worker panics");
        let wanted = self.unsampled.load(Ordering::Relaxed);
        self.unsampled.store(wanted.saturating_sub(keys.len()), Ordering::Relaxed);
        sample.extend(keys.take(wanted).map(|key| key[..key.len().min(LONGEST)].to_vec()));
    }

    /// Notes a record without its key, and the error if all lack it.
    #[cold]
    pub(crate) fn lacks(&self, at: Place, error: Error) {
        const MOST: usize = 64;
        let mut lacking = self.lacking.lock().expect("no worker panics");
        let room = lacking.len() < MOST;
        match lacking.iter_mut().find(|(other, _)| other.name == at.name) {
            Some(other) if at.offset < other.0.offset => *other = (at, error),
            None if room => lacking.push((at, error)),
            _ => {}
        }
    }

    /// The error of a job in which every record of the inputs `among` lacks its key, if one was noted.
    pub(crate) fn no_key(&self, among: impl Fn(&str) -> bool) -> Option<Error> {
        let mut lacking = self.lacking.lock().expect("no worker panics");
        let first = lacking.iter().position(|(at, _)| among(&at.name))?;
        Some(lacking.swap_remove(first).1)
    }

    /// Ends the job soon, with [`Error::Cancelled`]: at the next chunk of input or partition.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the job is cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<(), Error> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Returns the bytes of input processed, over all passes.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the planned bytes of input, over all passes; 0 if unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Returns the records left out of inputs copied by [`align`](crate::align()) because they cannot be read; no
    /// [`Report`] counts them.
    pub fn bad(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    pub(crate) fn leave_out(&self) {
        self.bad.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds bytes of input to the planned ones.
    pub fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts planned bytes that will not be read.
    pub(crate) fn give_up(&self, bytes: u64) {
        self.total.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Adds bytes of input to the processed ones.
    pub fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The results of a job.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Lines of all inputs, each input counted once.
    pub lines: u64,
    /// Records left out because they lack a field of the key; not among `lines`.
    pub missing: u64,
    /// Records left out because they cannot be read.
    pub bad: u64,
    /// Records with an empty value in their key, unless empty is a value like any other.
    pub empty: u64,
    /// Different lines among those kept for comparison by their bytes.
    pub distinct: u64,
    /// Lines written.
    pub found: u64,
    /// Bytes read from inputs and temporary files, over all passes.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub bytes_spilled: u64,
    /// Bytes of result written.
    pub bytes_written: u64,
    /// How often an input was read in full, summed over inputs.
    pub passes: u32,
    /// Names of inputs that grew meanwhile: the answer is for their initial content.
    pub grown: Vec<String>,
    /// Names of inputs in which every record lacks its key, if other inputs have some with keys.
    pub keyless: Vec<String>,
    /// For a comparison of two files, the differences.
    pub changes: Option<Changes>,
    /// For a join, the rows with and without a partner.
    pub joined: Option<Joined>,
    /// Lines to remove from a filter that were certainly not in it.
    pub absent: Option<u64>,
    /// The assumed type of the keys of a filter that does not record it, if none was given. If the keys have another
    /// type, the answer is meaningless.
    pub assumed_type: Option<umbel_foreign::KeyType>,
    /// The error that the answer may have; `None` if it is exact.
    pub error: Option<crate::ErrorBound>,
}

impl Report {
    /// Adds the report of one part of a job: its other inputs, or another pass over the same ones.
    pub fn add(&mut self, part: Self) {
        self.grew(part.grown);
        self.keyless.extend(part.keyless);
        // Names every field, to make the compiler catch a forgotten one.
        *self = Self {
            lines: self.lines + part.lines,
            missing: self.missing + part.missing,
            bad: self.bad + part.bad,
            empty: self.empty + part.empty,
            distinct: self.distinct + part.distinct,
            found: self.found + part.found,
            bytes_read: self.bytes_read + part.bytes_read,
            bytes_spilled: self.bytes_spilled + part.bytes_spilled,
            bytes_written: self.bytes_written + part.bytes_written,
            passes: self.passes + part.passes,
            grown: take(&mut self.grown),
            keyless: take(&mut self.keyless),
            changes: self.changes.or(part.changes),
            joined: self.joined.or(part.joined),
            absent: self.absent.or(part.absent),
            assumed_type: self.assumed_type.or(part.assumed_type),
            error: self.error.or(part.error),
        };
    }

    /// Adds names of inputs that grew, each once.
    pub(crate) fn grew(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.grown.contains(&name) {
                self.grown.push(name);
            }
        }
    }

    /// Refuses a run in which records lacked their key and none had one: otherwise a misspelled field would go
    /// unnoticed. `progress` is the run's. Set operations refuse such a run themselves.
    ///
    /// # Errors
    /// [`Error::NowhereField`].
    pub fn check_keyed(&self, progress: &Progress) -> Result<(), Error> {
        match progress.no_key(|_| true) {
            Some(error) if self.lines == 0 && self.missing > 0 => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_input_the_first_record_without_a_key_is_told() {
        let progress = Progress::default();
        for (name, offset) in [("a", 5), ("b", 4), ("a", 3), ("a", 9), ("b", 7)] {
            let (at, field, found) = (Place::new(name, offset), "id".to_owned(), "".into());
            let error = Error::NowhereField { at: at.clone(), fields: 1, field, found, near: None };
            progress.lacks(at, error);
        }
        let first = |name| progress.no_key(|among| among == name).unwrap().place().cloned();
        assert_eq!(first("b"), Some(Place::new("b", 4)));
        assert_eq!(first("a"), Some(Place::new("a", 3)));
        assert!(progress.no_key(|_| true).is_none());
    }

    #[test]
    fn a_sample_has_the_first_keys_once() {
        let seen = |progress: &Progress, keys: &[&str]| -> Vec<String> {
            progress.see(keys.iter().map(|key| key.as_bytes()));
            progress.sample().into_iter().map(|key| String::from_utf8(key).unwrap()).collect()
        };
        let progress = Progress::with_sample(5);
        let long = "x".repeat(100);
        assert_eq!(seen(&progress, &["b", "a", "b", &long]), ["a", "b", &long[..64]]);
        let all = ["a", "b", "c", &long[..64]];
        assert_eq!(seen(&progress, &["c", "d", "e"]), all);
        assert_eq!(seen(&progress, &["f"]), all);
        assert!(seen(&Progress::default(), &["a"]).is_empty());
    }
}
