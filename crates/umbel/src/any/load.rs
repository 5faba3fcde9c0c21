//! Filters that are read while their file arrives.

use super::{AnyFilter, layout};
use crate::filter::file::{Declared, Opened};
use crate::format::{self, Sums};
use crate::hash::Secret;
use crate::kinds::prelude::*;

/// Reads an umbel file that arrives in pieces of any size: see [`AnyFilter::loader`]. Each piece is copied into place
/// directly, and a step takes no longer than that. [`finish`](Self::finish) checks all checksums and returns the
/// filter.
///
/// ```
/// use umbel::{AnyFilter, Blocked, Filter};
///
/// let mut seen = Blocked::new(100_000, 0.01)?;
/// seen.insert("key");
/// let mut loader = AnyFilter::loader();
/// for piece in seen.to_bytes().chunks(1000) {
///     loader = loader.push(piece)?;
/// }
/// assert!(loader.finish()?.contains("key"));
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct Loader<U: Unlock = Option<&'static Secret>> {
    unlock: Option<U>,
    state: State<U::Hasher>,
    loaded: u64,
}

enum State<H> {
    Header(Vec<u8>),
    Payload(Box<Loading<H>>),
}

/// A file whose header has arrived.
struct Loading<H> {
    file: Opened<Blocks, H>,
    /// The part that arrives next, and its bytes so far.
    part: usize,
    filled: usize,
    sums: Sums,
    /// The stored checksums, after the payload.
    stored: Vec<u8>,
}

impl<U: Unlock> Loader<U> {
    pub(super) fn new(unlock: U) -> Self {
        let (unlock, state) = (Some(unlock), State::Header(Vec::new()));
        Self { unlock, state, loaded: 0 }
    }

    /// Returns the number of bytes that arrived.
    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    /// Returns the length of the whole file, once its header has arrived.
    pub fn length(&self) -> Option<u64> {
        match &self.state {
            State::Header(_) => None,
            State::Payload(loading) => loading.file.header.file_length().ok(),
        }
    }

    /// Returns whether the whole file has arrived.
    pub fn is_complete(&self) -> bool {
        self.length() == Some(self.loaded)
    }

    /// Takes the next bytes. Once the header has arrived, allocates the memory it declares; if you do not trust the
    /// source, check [`length`](Self::length) after the first 128 KiB.
    ///
    /// # Errors
    /// As [`AnyFilter::read`], for the header and the length.
    pub fn push(mut self, bytes: &[u8]) -> Result<Self, FileError> {
        self.loaded += bytes.len() as u64;
        match &mut self.state {
            State::Payload(loading) => loading.push(bytes, self.loaded)?,
            State::Header(header) => {
                header.extend_from_slice(bytes);
                let length = Header::declared_length(header);
                if header.len() < length {
                    // Another file format is refused at its first bytes.
                    let start = header.len().min(format::MAGIC.len());
                    if header[..start] != format::MAGIC[..start] {
                        return Err(FileError::NotUmbel(header[..start].to_vec()));
                    }
                    return Ok(self);
                }
                let rest = header.split_off(length);
                let parsed = Header::parse(header)?;
                let unlock = self.unlock.take().expect("a header arrives once");
                let length = parsed.file_length()?;
                let declared = Declared::new(parsed, length, layout)?;
                let mut loading = Box::new(Loading {
                    file: declared.open(unlock, Declared::zeroed)?,
                    part: 0,
                    filled: 0,
                    sums: Sums::new(),
                    stored: Vec::new(),
                });
                loading.push(&rest, self.loaded)?;
                self.state = State::Payload(loading);
            }
        }
        Ok(self)
    }

    /// Returns all bytes that arrived, in pieces; pushing them into another loader gives the same state.
    pub fn pieces(&self) -> Vec<&[u8]> {
        match &self.state {
            State::Header(header) => vec![header],
            State::Payload(loading) => {
                let Loading { file, part, filled, stored, .. } = &**loading;
                let mut pieces = vec![file.header.bytes()];
                let mut parts = file.parts.iter().map(Blocks::as_bytes);
                pieces.extend(parts.by_ref().take(*part));
                pieces.extend(parts.next().map(|part| &part[..*filled]));
                pieces.push(stored);
                pieces
            }
        }
    }

    /// Returns the filter, once its whole file has arrived, with the errors of [`AnyFilter::read`].
    pub fn finish(self) -> Result<AnyFilter<U::Hasher>, FileError> {
        let (expected, found) = (self.length(), self.loaded);
        match self.state {
            State::Payload(loading) if expected == Some(found) => {
                let Loading { file, sums, stored, .. } = *loading;
                format::check_sums(&sums.finish(), &stored, &file.header)?;
                AnyFilter::open(file)
            }
            _ => {
                let expected = expected.unwrap_or(Header::LENGTH as u64);
                Err(FileError::Length(expected, found))
            }
        }
    }
}

impl<U: Unlock> core::fmt::Debug for Loader<U> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Loader").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

impl<H> Loading<H> {
    fn push(&mut self, mut bytes: &[u8], loaded: u64) -> Result<(), FileError> {
        let expected = self.file.header.file_length()?;
        if loaded > expected {
            return Err(FileError::Length(expected, loaded));
        }
        while let Some(part) = self.file.parts.get_mut(self.part) {
            let left = &mut part.as_bytes_mut()[self.filled..];
            let (piece, rest) = bytes.split_at(bytes.len().min(left.len()));
            left[..piece.len()].copy_from_slice(piece);
            self.sums.add(piece);
            if piece.len() < left.len() {
                self.filled += piece.len();
                return Ok(());
            }
            (self.part, self.filled, bytes) = (self.part + 1, 0, rest);
        }
        self.stored.extend_from_slice(bytes);
        Ok(())
    }
}
