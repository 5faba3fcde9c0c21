//! Reads a file, which is not trusted.

use std::fmt;
use std::io::{ErrorKind, Read};

use super::check::{check_declared, check_sums};
use super::sums::Sums;
use super::{CHUNK, FileError, Header};

/// Reads an umbel file front to back, its payload in pieces. Do not use any of it before [`finish`](Self::finish) has
/// verified the checksums.
///
/// Memory: 8 bytes per MiB.
pub struct Reader<R> {
    source: R,
    header: Header,
    /// Bytes of the file read so far.
    found: u64,
    sums: Sums,
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
        Ok(Self::of(source, Header::parse(&bytes)?))
    }

    /// Continues after a header that was read and checked: `source` is at the first byte of the payload.
    pub fn of(source: R, header: Header) -> Self {
        Self { source, found: header.bytes().len() as u64, header, sums: Sums::new() }
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the next bytes of the payload.
    ///
    /// # Errors
    /// [`FileError::Length`] if the source ends early; [`FileError::Io`].
    ///
    /// # Panics
    /// If the payload has fewer.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<(), FileError> {
        let left = self.end() - self.found;
        assert!(bytes.len() as u64 <= left, "no more than the header declares");
        bytes.chunks_mut(CHUNK).try_for_each(|piece| {
            self.fill(piece)?;
            // While the piece is still in cache.
            self.sums.add(piece);
            Ok(())
        })
    }

    /// Checks what was read against the checksums that follow it, and returns the checksums as they are in the file.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] with the damaged range, [`FileError::ChecksumsDamaged`], and the errors of
    /// [`read`](Self::read).
    ///
    /// # Panics
    /// If not all of the payload was read.
    pub fn finish(mut self) -> Result<Vec<u8>, FileError> {
        assert!(self.found == self.end(), "all of the payload");
        let mut stored = vec![0; (self.header.file_length()? - self.found) as usize];
        self.fill(&mut stored)?;
        check_sums(&self.sums.finish(), &stored, &self.header)?;
        Ok(stored)
    }

    /// Where the payload ends.
    fn end(&self) -> u64 {
        self.header.bytes().len() as u64 + self.header.payload_length()
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), FileError> {
        while !bytes.is_empty() {
            let read = match self.source.read(bytes) {
                Ok(0) => {
                    let expected = self.header.file_length().unwrap_or(u64::MAX);
                    return Err(FileError::Length(expected, self.found));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            bytes = &mut bytes[read..];
            self.found += read as u64;
        }
        Ok(())
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("header", &self.header).finish_non_exhaustive()
    }
}
