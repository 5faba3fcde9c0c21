//! Reading a file and distrusting it.

use std::io::{ErrorKind, Read};

use super::{CHUNK, Header, checksum};
use crate::Error;

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
    pub fn new(mut source: R, length: u64) -> Result<Self, Error> {
        let mut bytes = Vec::with_capacity(Header::LENGTH);
        source.by_ref().take(Header::LENGTH as u64).read_to_end(&mut bytes)?;
        let header = Header::parse(&bytes)?;
        check_declared(&header, length)?;
        Ok(Self { source, header })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the whole payload into `payload` and checks it against the checksums that follow it.
    ///
    /// # Errors
    /// [`Error::PayloadDamaged`] with the damaged range, [`Error::ChecksumsDamaged`],
    /// [`Error::Length`] when the source ends early, [`Error::Io`].
    ///
    /// # Panics
    /// When `payload` has another length than the header declares.
    pub fn read_payload(mut self, payload: &mut [u8]) -> Result<(), Error> {
        assert_eq!(payload.len() as u64, self.header.payload_length(), "room for the payload");
        let mut found = Header::LENGTH as u64;
        let mut sums = Vec::new();
        for (number, chunk) in payload.chunks_mut(CHUNK).enumerate() {
            self.fill(chunk, &mut found)?;
            // Summed while the chunk is still in cache.
            sums.push(checksum(chunk, number as u64));
        }
        let mut stored = vec![0; 8 * sums.len() + 8];
        self.fill(&mut stored, &mut found)?;
        check_sums(&sums, &stored, payload.len())
    }

    fn fill(&mut self, bytes: &mut [u8], found: &mut u64) -> Result<(), Error> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Length {
                expected: self.header.file_length().unwrap_or(u64::MAX),
                found: *found,
            },
            _ => error.into(),
        })?;
        *found += bytes.len() as u64;
        Ok(())
    }
}

/// Checks a whole file that lies in memory; gives its header and payload.
///
/// # Errors
/// As [`AnyFilter::read`](crate::AnyFilter::read).
pub fn check(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let header = Header::parse(bytes)?;
    check_declared(&header, bytes.len() as u64)?;
    let (payload, stored) = bytes[Header::LENGTH..].split_at(header.payload_length() as usize);
    let sums: Vec<u64> = payload
        .chunks(CHUNK)
        .enumerate()
        .map(|(number, chunk)| checksum(chunk, number as u64))
        .collect();
    check_sums(&sums, stored, payload.len())?;
    Ok((header, payload))
}

/// Checks the fields, then the length of the file against them.
fn check_declared(header: &Header, found: u64) -> Result<(), Error> {
    header.plan()?;
    header.scheme()?;
    let expected = header.file_length()?;
    if found == expected { Ok(()) } else { Err(Error::Length { expected, found }) }
}

/// Compares the sums of the chunks of a payload of `length` bytes with the stored table and the sum of
/// the table.
fn check_sums(sums: &[u64], stored: &[u8], length: usize) -> Result<(), Error> {
    let (table, last) = stored.split_at(stored.len() - 8);
    if checksum(table, sums.len() as u64).to_le_bytes() != last {
        return Err(Error::ChecksumsDamaged);
    }
    let damaged =
        sums.iter().zip(table.chunks(8)).position(|(sum, stored)| sum.to_le_bytes() != stored);
    match damaged {
        None => Ok(()),
        Some(number) => {
            let place = |byte: usize| (Header::LENGTH + byte) as u64;
            let (start, end) = (number * CHUNK, length.min((number + 1) * CHUNK));
            Err(Error::PayloadDamaged { start: place(start), end: place(end) })
        }
    }
}
