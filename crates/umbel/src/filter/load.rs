//! Files in pieces: filters that are read while their file arrives, and parts of the file that a filter would be.

use super::file::{self, Opened};
use crate::bits::Blocks;
use crate::format::{self, FileError, Header, KeyDescription, Payload, Reader, Sink};
use crate::hash::{Secret, Unlock};
use crate::prelude::*;

/// Keeps a range of the bytes of a file that is written.
pub(super) struct Cut {
    pub(super) at: u64,
    pub(super) range: core::ops::Range<u64>,
    pub(super) bytes: Vec<u8>,
}

impl Cut {
    pub(super) fn new(range: core::ops::Range<u64>) -> Self {
        let bytes = Vec::with_capacity((range.end - range.start) as usize);
        Self { at: 0, range, bytes }
    }
}

impl Sink for &mut Cut {
    type Error = core::convert::Infallible;

    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        let length = bytes.len() as u64;
        let within = |place: u64| place.saturating_sub(self.at).min(length) as usize;
        let kept = within(self.range.start)..within(self.range.end);
        self.bytes.extend_from_slice(&bytes[kept]);
        self.at += length;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Reads an umbel file that arrives in pieces of any size: see [`AnyFilter::loader`](super::AnyFilter::loader).
///
/// Each piece is stored where it belongs at once, so a step takes only as long as copying its piece. The filter can be
/// used after [`finish`](Self::finish) has checked all checksums.
///
/// ```
/// use umbel::{AnyFilter, Blocked};
///
/// let mut seen = Blocked::new(100_000, 0.01)?;
/// seen.insert("key");
/// let mut loader = AnyFilter::loader();
/// for piece in seen.to_bytes().chunks(1000) {
///     loader.push(piece)?;
/// }
/// assert!(loader.finish()?.contains("key"));
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct Loader<U: Unlock = Option<&'static Secret>> {
    unlock: Option<U>,
    layout: fn(&Header) -> Result<Vec<u64>, FileError>,
    state: State<U::Hasher>,
    loaded: u64,
    /// Why no more bytes are taken.
    failed: Option<FileError>,
}

enum State<H> {
    Header(Vec<u8>),
    Payload(Box<Loading<H>>),
}

struct Loading<H> {
    header: Header,
    hasher: H,
    description: KeyDescription,
    parts: Vec<Blocks>,
    /// The part that arrives next, and its bytes so far.
    part: usize,
    filled: usize,
    payload: Payload<Queue>,
}

/// Bytes that arrived and were not read yet.
#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    read: usize,
}

impl Queue {
    fn left(&self) -> &[u8] {
        &self.bytes[self.read..]
    }
}

impl std::io::Read for Queue {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = out.len().min(self.left().len());
        out[..count].copy_from_slice(&self.left()[..count]);
        self.read += count;
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.read = 0;
        }
        Ok(count)
    }
}

impl<U: Unlock> Loader<U> {
    pub(super) fn new(unlock: U, layout: fn(&Header) -> Result<Vec<u64>, FileError>) -> Self {
        Self {
            unlock: Some(unlock),
            layout,
            state: State::Header(Vec::new()),
            loaded: 0,
            failed: None,
        }
    }

    /// Returns the number of bytes that arrived.
    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    /// Returns the length of the whole file, once its header has arrived.
    pub fn length(&self) -> Option<u64> {
        match &self.state {
            State::Header(_) => None,
            State::Payload(loading) => loading.header.file_length().ok(),
        }
    }

    /// Returns whether the whole file has arrived.
    pub fn is_whole(&self) -> bool {
        self.length() == Some(self.loaded)
    }

    /// Takes the next bytes. Once the header has arrived, allocates the memory that it declares; if you do not trust the
    /// source, check [`format::length_of`](crate::format::length_of) first.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](super::AnyFilter::read), for the header and the length. After an error, more bytes and
    /// [`finish`](Self::finish) get the same error again.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        let taken = self.take(bytes);
        self.failed = taken.as_ref().err().map(FileError::again);
        taken
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.loaded += bytes.len() as u64;
        match &mut self.state {
            State::Payload(loading) => loading.push(bytes, self.loaded),
            State::Header(header) => {
                header.extend_from_slice(bytes);
                let length = Header::declared_length(header);
                if header.len() < length {
                    // What is no header is refused at its first bytes.
                    let start = header.len().min(format::MAGIC.len());
                    if header[..start] != format::MAGIC[..start] {
                        return Err(FileError::NotUmbel { found: header[..start].to_vec() });
                    }
                    return Ok(());
                }
                let rest = header.split_off(length);
                let parsed = Header::parse(header)?;
                let unlock = self.unlock.take().expect("a header arrives once");
                let declared = parsed.file_length()?;
                let (layout, hasher, description) =
                    file::checked_by(&parsed, declared, unlock, &self.layout)?;
                let mut loading = Box::new(Loading {
                    parts: file::zeroed(&layout)?,
                    payload: Reader::of(Queue::default(), parsed.clone()).payload(),
                    header: parsed,
                    hasher,
                    description,
                    part: 0,
                    filled: 0,
                });
                let pushed = loading.push(&rest, self.loaded);
                self.state = State::Payload(loading);
                pushed
            }
        }
    }

    /// Returns all bytes that arrived, in pieces; another loader that gets them is equal to this one.
    pub fn pieces(&self) -> Vec<&[u8]> {
        match &self.state {
            State::Header(header) => vec![header],
            State::Payload(loading) => {
                let whole = loading.parts[..loading.part].iter();
                let mut pieces = vec![loading.header.bytes()];
                pieces.extend(whole.map(Blocks::as_bytes));
                if let Some(part) = loading.parts.get(loading.part) {
                    pieces.push(&part.as_bytes()[..loading.filled]);
                }
                pieces.push(loading.payload.source().left());
                pieces
            }
        }
    }

    pub(super) fn finish_parts(self) -> Result<Opened<Blocks, U::Hasher>, FileError> {
        let (expected, found) = (self.length(), self.loaded);
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.state {
            State::Payload(loading) if expected == Some(found) => {
                let Loading { header, hasher, description, parts, payload, .. } = *loading;
                payload.finish()?;
                Ok(Opened { header, hasher, description, parts })
            }
            _ => {
                let expected = expected.unwrap_or(Header::LENGTH as u64);
                Err(FileError::Length { expected, found })
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
    fn push(&mut self, bytes: &[u8], loaded: u64) -> Result<(), FileError> {
        let expected = self.header.file_length()?;
        if loaded > expected {
            return Err(FileError::Length { expected, found: loaded });
        }
        self.payload.source_mut().bytes.extend_from_slice(bytes);
        while let Some(part) = self.parts.get_mut(self.part) {
            let part = part.as_bytes_mut();
            let count = (part.len() - self.filled).min(self.payload.source().left().len());
            self.payload.read(&mut part[self.filled..][..count])?;
            self.filled += count;
            if self.filled < part.len() {
                break;
            }
            (self.part, self.filled) = (self.part + 1, 0);
        }
        Ok(())
    }
}
