//! Reads a file, which is not trusted.

use std::fmt;
use std::io::{ErrorKind, Read};

use super::check::{check_declared, check_sums};
use super::sums::Sums;
use super::{FileError, Header};

/// Reads an umbel file front to back.
pub struct Reader<R> {
    source: R,
    header: Header,
}

impl<R: Read> Reader<R> {
    /// Reads and checks the header of a file of `length` bytes.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](crate::AnyFilter::read).
    pub fn new(source: R, length: u64) -> Result<Self, FileError> {
        let reader = Self::begin(source, length)?;
        check_declared(&reader.header, length)?;
        Ok(reader)
    }

    /// Like [`new`](Self::new), but leaves the fields of the kind, and then the length, to the caller: the file may be
    /// longer than its header declares.
    ///
    /// # Errors
    /// As [`new`](Self::new), for the header.
    pub fn begin(mut source: R, length: u64) -> Result<Self, FileError> {
        let mut bytes = Vec::with_capacity(Header::LENGTH);
        source.by_ref().take(Header::LENGTH as u64).read_to_end(&mut bytes)?;
        let rest = Header::declared_length(&bytes).saturating_sub(bytes.len());
        if bytes.len() == Header::LENGTH {
            // Reserved once, and no more than the file can hold: a growing vector requests up to three times as much.
            bytes.reserve_exact((rest as u64).min(length) as usize);
            source.by_ref().take(rest as u64).read_to_end(&mut bytes)?;
        }
        Ok(Self { source, header: Header::parse(&bytes)? })
    }

    /// Continues after a header that was read and checked: `source` is at the first byte of the payload.
    pub fn of(source: R, header: Header) -> Self {
        Self { source, header }
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the whole payload into several slices, in order, and checks it against the checksums that follow.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] with the damaged range, [`FileError::ChecksumsDamaged`], [`FileError::Length`] if
    /// the source ends early, [`FileError::Io`].
    ///
    /// # Panics
    /// If the total length of the parts differs from the one the header declares.
    pub(crate) fn read_parts<'a>(
        self,
        parts: impl IntoIterator<Item = &'a mut [u8]>,
    ) -> Result<(), FileError> {
        let mut payload = self.payload();
        parts.into_iter().try_for_each(|part| payload.read(part))?;
        payload.finish().map(drop)
    }

    /// Returns the payload, to be read piece by piece.
    pub fn payload(self) -> Payload<R> {
        let found = self.header.bytes().len() as u64;
        Payload { reader: self, found, sums: Sums::new() }
    }

    fn fill(&mut self, bytes: &mut [u8], found: &mut u64) -> Result<(), FileError> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                FileError::Length(self.header.file_length().unwrap_or(u64::MAX), *found)
            }
            _ => error.into(),
        })?;
        *found += bytes.len() as u64;
        Ok(())
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("header", &self.header).finish_non_exhaustive()
    }
}

/// A payload that is read front to back. Do not use any of it before [`finish`](Self::finish) has verified the
/// checksums.
///
/// Memory: 8 bytes per MiB.
pub struct Payload<R> {
    reader: Reader<R>,
    /// Bytes of the file read so far.
    found: u64,
    sums: Sums,
}

impl<R> fmt::Debug for Payload<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("found", &self.found).finish_non_exhaustive()
    }
}

impl<R: Read> Payload<R> {
    /// Reads the next bytes.
    ///
    /// # Errors
    /// [`FileError::Length`] if the source ends early; [`FileError::Io`].
    ///
    /// # Panics
    /// If the payload has fewer.
    pub fn read(&mut self, mut bytes: &mut [u8]) -> Result<(), FileError> {
        let end = self.end();
        assert!(bytes.len() as u64 <= end - self.found, "no more than the header declares");
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at_mut(bytes.len().min(self.sums.left()));
            self.reader.fill(piece, &mut self.found)?;
            // While the piece is still in cache.
            self.sums.add(piece);
            bytes = rest;
        }
        Ok(())
    }

    /// Checks what was read against the checksums that follow it, and returns the checksums as they are in the file.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] with the damaged range, [`FileError::ChecksumsDamaged`], and the errors of
    /// [`read`](Self::read).
    ///
    /// # Panics
    /// If not all of it was read.
    pub fn finish(mut self) -> Result<Vec<u8>, FileError> {
        assert!(self.found == self.end(), "all of the payload");
        let sums = self.sums.finish();
        let mut stored = vec![0; 8 * sums.len() + 8];
        self.reader.fill(&mut stored, &mut self.found)?;
        check_sums(&sums, &stored, &self.reader.header)?;
        Ok(stored)
    }

    fn end(&self) -> u64 {
        self.reader.header.bytes().len() as u64 + self.reader.header.payload_length()
    }
}
