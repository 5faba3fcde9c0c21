//! The keys of lines in order, for work other than with umbel's filters.

use crate::prelude::*;

/// The keys of some consecutive lines.
pub struct KeyBatch<'a> {
    lines: &'a Lines<'a>,
}

impl<'a> KeyBatch<'a> {
    /// Returns each key: a line without its end, or the field of a record.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let lines = self.lines;
        (0..lines.len()).map(|i| lines.key(i))
    }

    /// Makes the error for key `i`, with the place of its line.
    pub fn refuse(
        &self,
        i: usize,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error::Key { at: self.lines.at(i), source: why.into() }
    }
}

/// Passes the keys of lines to `see`, some at a time, in order. `room` is the memory, in bytes, that one long line may
/// use; [`room_left`](crate::room_left) computes it.
///
/// # Errors
/// Read errors, and errors of `see`.
pub fn keys<'r>(
    from: impl Into<ReadFrom<'r>>,
    room: u64,
    options: &Options,
    mut see: impl FnMut(&KeyBatch<'_>) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    // The hashes are not used, but at some 10 GB/s, another scanner is not worth it.
    let scanner = Scanner::new(options, KeyHasher::default())?;
    scanner.read(from, &Visit::in_order(room, |lines| see(&KeyBatch { lines })))
}
