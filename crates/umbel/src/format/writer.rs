//! Writing a file front to back.

use std::io::Write;

use twox_hash::xxhash3_64::Hasher as Xxh3;

use super::{CHUNK, Header, checksum};
use crate::Error;

/// Writes an umbel file in one go: header, payload in pieces of any size, checksums.
///
/// Memory: 8 bytes for each MiB of payload.
pub struct Writer<W> {
    out: W,
    left: u64,
    chunk: Xxh3,
    in_chunk: usize,
    sums: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, header: &Header) -> Result<Self, Error> {
        out.write_all(header.bytes())?;
        Ok(Self {
            out,
            left: header.payload_length(),
            chunk: Xxh3::with_seed(0),
            in_chunk: 0,
            sums: Vec::new(),
        })
    }

    /// Writes the next bytes of the payload.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Panics
    /// When more is written than the header declares.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.left =
            self.left.checked_sub(bytes.len() as u64).expect("no more than the header declares");
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(CHUNK - self.in_chunk));
            std::hash::Hasher::write(&mut self.chunk, piece);
            self.out.write_all(piece)?;
            self.in_chunk += piece.len();
            if self.in_chunk == CHUNK {
                self.end_chunk();
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes the checksums and flushes.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Panics
    /// When less was written than the header declares.
    pub fn finish(mut self) -> Result<(), Error> {
        assert_eq!(self.left, 0, "as much as the header declares");
        if self.in_chunk > 0 {
            self.end_chunk();
        }
        let sum = checksum(&self.sums, (self.sums.len() / 8) as u64);
        self.out.write_all(&self.sums)?;
        self.out.write_all(&sum.to_le_bytes())?;
        self.out.flush()?;
        Ok(())
    }

    fn end_chunk(&mut self) {
        let sum = std::hash::Hasher::finish(&self.chunk);
        self.sums.extend_from_slice(&sum.to_le_bytes());
        self.chunk = Xxh3::with_seed((self.sums.len() / 8) as u64);
        self.in_chunk = 0;
    }
}
