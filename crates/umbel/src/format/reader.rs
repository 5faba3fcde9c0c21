//! Reading a file and distrusting it.

use std::io::{ErrorKind, Read};

use twox_hash::xxhash3_64::Hasher as Xxh3;

use super::check::{check_declared, check_sums};
use super::{CHUNK, FileError, Header};

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

    /// As [`new`](Self::new); whoever knows the kind checks its fields, then the length.
    pub(crate) fn begin(mut source: R, length: u64) -> Result<Self, FileError> {
        let mut bytes = Vec::with_capacity(Header::LENGTH);
        source.by_ref().take(Header::LENGTH as u64).read_to_end(&mut bytes)?;
        let rest = Header::declared_length(&bytes).saturating_sub(bytes.len());
        if bytes.len() == Header::LENGTH {
            // All at once, and no more than there can be: a vector that grows asks for up to three times as much.
            bytes.reserve_exact((rest as u64).min(length) as usize);
            source.by_ref().take(rest as u64).read_to_end(&mut bytes)?;
        }
        Ok(Self { source, header: Header::parse(&bytes)? })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the whole payload into `payload` and checks it against the checksums that follow it.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] with the damaged range, [`FileError::ChecksumsDamaged`],
    /// [`FileError::Length`] when the source ends early, [`FileError::Io`].
    ///
    /// # Panics
    /// When `payload` has another length than the header declares.
    pub fn read_payload(self, payload: &mut [u8]) -> Result<(), FileError> {
        assert_eq!(payload.len() as u64, self.header.payload_length(), "room for the payload");
        self.read_parts([payload])
    }

    /// As [`read_payload`](Self::read_payload), into several places one after the other.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// When the parts together have another length than the header declares.
    pub(crate) fn read_parts<'a>(
        mut self,
        parts: impl IntoIterator<Item = &'a mut [u8]>,
    ) -> Result<(), FileError> {
        let length = self.header.payload_length();
        let mut found = self.header.bytes().len() as u64;
        let end = found + length;
        let mut sums = Vec::new();
        let mut chunk = Xxh3::with_seed(0);
        let mut in_chunk = 0;
        for mut part in parts {
            while !part.is_empty() {
                let (piece, rest) = part.split_at_mut(part.len().min(CHUNK - in_chunk));
                self.fill(piece, &mut found)?;
                // Summed while the piece is still in cache.
                core::hash::Hasher::write(&mut chunk, piece);
                in_chunk += piece.len();
                part = rest;
                if in_chunk == CHUNK || found == end {
                    sums.push(core::hash::Hasher::finish(&chunk));
                    chunk = Xxh3::with_seed(sums.len() as u64);
                    in_chunk = 0;
                }
            }
        }
        assert!(found == end && in_chunk == 0, "room for the payload");
        let mut stored = vec![0; 8 * sums.len() + 8];
        self.fill(&mut stored, &mut found)?;
        check_sums(&sums, &stored, &self.header)
    }

    fn fill(&mut self, bytes: &mut [u8], found: &mut u64) -> Result<(), FileError> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => FileError::Length {
                expected: self.header.file_length().unwrap_or(u64::MAX),
                found: *found,
            },
            _ => error.into(),
        })?;
        *found += bytes.len() as u64;
        Ok(())
    }
}
