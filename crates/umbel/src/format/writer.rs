//! Writes a file front to back.

use super::sums::Sums;
use super::{CHUNK, Header, checksum};
use crate::prelude::*;

/// Where the bytes of a file go, and the error of writing them.
pub(crate) type Put<'a, E> = &'a mut dyn FnMut(&[u8]) -> Result<(), E>;

/// Writes a whole file: compiled once for each type of error, not for every kind of filter and destination.
///
/// # Errors
/// The errors of `put`.
///
/// # Panics
/// If the length of the parts differs from the one the header declares.
pub(crate) fn put_parts<E>(
    put: Put<'_, E>,
    header: &Header,
    parts: &mut dyn Iterator<Item = &[u8]>,
) -> Result<(), E> {
    let mut writer = Writer::begin(header, put)?;
    for part in parts {
        writer.write(part, put)?;
    }
    writer.finish(put)
}

/// Writes an umbel file in one pass: header, payload in pieces of any size, checksums.
///
/// Memory: 8 bytes per MiB of payload.
pub struct Writer {
    left: u64,
    sums: Sums,
}

impl Writer {
    /// Writes the header.
    ///
    /// The errors of `put`; the same below.
    pub fn begin<E>(header: &Header, put: Put<'_, E>) -> Result<Self, E> {
        put(header.bytes())?;
        Ok(Self { left: header.payload_length(), sums: Sums::new() })
    }

    /// Writes the next bytes of the payload.
    ///
    /// # Panics
    /// If more is written than the header declares.
    pub fn write<E>(&mut self, bytes: &[u8], put: Put<'_, E>) -> Result<(), E> {
        self.left =
            self.left.checked_sub(bytes.len() as u64).expect("no more than the header declares");
        // While the piece is in cache.
        bytes.chunks(CHUNK).try_for_each(|piece| {
            self.sums.add(piece);
            put(piece)
        })
    }

    /// Writes the checksums.
    ///
    /// # Panics
    /// If less was written than the header declares.
    pub fn finish<E>(self, put: Put<'_, E>) -> Result<(), E> {
        assert_eq!(self.left, 0, "as much as the header declares");
        let (table, last) = table_of(&self.sums.finish());
        put(&table)?;
        put(&last)
    }
}

/// The table of the checksums of all chunks, and its own checksum.
pub(super) fn table_of(sums: &[u64]) -> (Vec<u8>, [u8; 8]) {
    let table: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let last = checksum(&table, sums.len() as u64).to_le_bytes();
    (table, last)
}
