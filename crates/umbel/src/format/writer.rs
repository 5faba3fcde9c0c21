//! Writes a file front to back.

use core::convert::Infallible;
#[cfg(feature = "std")]
use std::io;

use super::sums::Sums;
use super::{Header, checksum};
use crate::prelude::*;

/// The destination of a file.
pub(crate) trait Sink {
    /// The error of a write.
    type Error;

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Errors of the destination.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Ends the file.
    ///
    /// # Errors
    /// Errors of the destination.
    fn end(&mut self) -> Result<(), Self::Error>;
}

/// In memory.
impl Sink for &mut Vec<u8> {
    type Error = Infallible;

    fn put(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// To a writer, flushed at the end.
#[cfg(feature = "std")]
pub(crate) struct Out<W>(pub(crate) W);

#[cfg(feature = "std")]
impl<W: io::Write> Sink for Out<W> {
    type Error = io::Error;

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<E> Sink for &mut dyn Sink<Error = E> {
    type Error = E;

    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        (**self).put(bytes)
    }

    fn end(&mut self) -> Result<(), E> {
        (**self).end()
    }
}

/// Writes a whole file. It is compiled for two types of error, not for every kind of filter and destination.
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// If the length of the parts differs from the one the header declares.
pub(crate) fn put_parts<E>(
    out: &mut dyn Sink<Error = E>,
    header: &Header,
    parts: &mut dyn Iterator<Item = &[u8]>,
) -> Result<(), E> {
    let mut writer = Writer::new(out, header)?;
    for part in parts {
        writer.write(part)?;
    }
    writer.finish()
}

/// Writes an umbel file in one pass: header, payload in pieces of any size, checksums.
///
/// Memory: 8 bytes per MiB of payload.
pub(crate) struct Writer<W> {
    out: W,
    left: u64,
    sums: Sums,
}

impl<W: Sink> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn new(mut out: W, header: &Header) -> Result<Self, W::Error> {
        out.put(header.bytes())?;
        Ok(Self { out, left: header.payload_length(), sums: Sums::new() })
    }

    /// Writes the next bytes of the payload.
    ///
    /// # Errors
    /// The errors of `out`.
    ///
    /// # Panics
    /// If more is written than the header declares.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), W::Error> {
        self.left =
            self.left.checked_sub(bytes.len() as u64).expect("no more than the header declares");
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(self.sums.left()));
            self.sums.add(piece);
            self.out.put(piece)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Writes the checksums and flushes.
    ///
    /// # Errors
    /// The errors of `out`.
    ///
    /// # Panics
    /// If less was written than the header declares.
    pub(crate) fn finish(mut self) -> Result<(), W::Error> {
        assert_eq!(self.left, 0, "as much as the header declares");
        let sums = self.sums.finish();
        let table: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let sum = checksum(&table, sums.len() as u64);
        self.out.put(&table)?;
        self.out.put(&sum.to_le_bytes())?;
        self.out.end()
    }
}
