//! The keys of lines in order, for work other than with umbel's filters.

use std::io::Read;

use umbel::KeyHasher;

use crate::input::Input;
use crate::report::Report;
use crate::scan::{Each, Lines, Scanner, Visit};
use crate::{Error, Options};

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

/// Passes the keys of files to `see`, some at a time, in the order of the lines. `room` is the memory, in bytes, that
/// one long line may use; [`room_left`](crate::room_left) computes it.
///
/// # Errors
/// Read errors, and errors of `see`.
pub fn keys(
    inputs: &[Input],
    room: u64,
    options: &Options,
    see: impl FnMut(&KeyBatch<'_>) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    let mut report = Report::default();
    scanner(options)?.read(inputs, room, &show(see), &mut report)?;
    Ok(report)
}

/// Like [`keys`], for lines from a stream, which are passed on as soon as they arrive.
///
/// # Errors
/// As [`keys`].
pub fn keys_stream(
    name: &str,
    source: &mut dyn Read,
    room: u64,
    options: &Options,
    see: impl FnMut(&KeyBatch<'_>) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    let mut report = Report::default();
    scanner(options)?.read_stream((name, source), room, &show(see), &mut report)?;
    Ok(report)
}

/// The scanner hashes all keys with our scheme, although the hashes are not used: at some 10 GB/s, another scanner is
/// not worth it.
fn scanner(options: &Options) -> Result<Scanner<'_>, Error> {
    Scanner::new(options, KeyHasher::default())
}

fn show(mut see: impl FnMut(&KeyBatch<'_>) -> Result<(), Error> + Send) -> impl Visit {
    Each::in_order(move |lines: &Lines<'_>| see(&KeyBatch { lines }))
}
