//! Checks of a whole file, which is not trusted.

use super::{CHUNK, FileError, Header, checksum};
use crate::prelude::*;

/// Checks the payload of a whole file, whose length is checked, against its checksums, and returns it.
pub(crate) fn payload_of<'a>(header: &Header, bytes: &'a [u8]) -> Result<&'a [u8], FileError> {
    let (payload, stored) = bytes[header.payload().start..].split_at(header.payload().len());
    let sums: Vec<u64> = payload
        .chunks(CHUNK)
        .enumerate()
        .map(|(number, chunk)| checksum(chunk, number as u64))
        .collect();
    check_sums(&sums, stored, header)?;
    Ok(payload)
}

/// Checks the length of the file against the header.
pub(crate) fn check_declared(header: &Header, found: u64) -> Result<(), FileError> {
    let expected = header.file_length()?;
    if found == expected { Ok(()) } else { Err(FileError::Length { expected, found }) }
}

/// Compares the sums of the chunks of the payload with the stored table and the sum of the table.
pub(super) fn check_sums(sums: &[u64], stored: &[u8], header: &Header) -> Result<(), FileError> {
    let (table, last) = stored.split_at(stored.len() - 8);
    if checksum(table, sums.len() as u64).to_le_bytes() != last {
        return Err(FileError::ChecksumsDamaged);
    }
    let damaged =
        sums.iter().zip(table.chunks(8)).position(|(sum, stored)| sum.to_le_bytes() != stored);
    match damaged {
        None => Ok(()),
        Some(number) => {
            let payload = header.payload();
            let start = payload.start + number * CHUNK;
            let end = payload.end.min(start + CHUNK);
            Err(FileError::PayloadDamaged { start: start as u64, end: end as u64 })
        }
    }
}
