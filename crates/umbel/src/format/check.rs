//! Checks of a whole file, which is not trusted.

use super::{CHUNK, FileError, Header, UNSEALED, checksum};

/// Checks the payload of a whole file, of checked length, against its checksums, and returns it.
pub(crate) fn payload_of<'a>(header: &Header, bytes: &'a [u8]) -> Result<&'a [u8], FileError> {
    check_table(&bytes[header.payload().end..])?;
    (0..chunks(header)).try_for_each(|number| check_chunk(header, bytes, number))?;
    Ok(&bytes[header.payload()])
}

/// The number of chunks of the payload, each with a checksum.
pub(crate) fn chunks(header: &Header) -> usize {
    header.payload().len().div_ceil(CHUNK)
}

/// Checks the table of checksums against its own checksum, which follows it, and returns the table.
pub(crate) fn check_table(stored: &[u8]) -> Result<&[[u8; 8]], FileError> {
    let (table, last) = stored.split_at(stored.len() - 8);
    if *last == UNSEALED {
        return Err(FileError::Unsealed);
    }
    let right = checksum(table, table.len() as u64 / 8).to_le_bytes() == *last;
    if right { Ok(table.as_chunks().0) } else { Err(FileError::ChecksumsDamaged) }
}

/// Checks one chunk of the payload against its checksum in a checked table.
pub(crate) fn check_chunk(header: &Header, bytes: &[u8], number: usize) -> Result<(), FileError> {
    let (payload, table) = bytes[header.bytes().len()..].split_at(header.payload().len());
    let chunk = &payload[number * CHUNK..payload.len().min((number + 1) * CHUNK)];
    let right = checksum(chunk, number as u64).to_le_bytes() == table.as_chunks().0[number];
    if right { Ok(()) } else { Err(damaged_chunk(header, number)) }
}

/// The error for a damaged chunk. Its place may be beyond what this machine can address.
pub(crate) fn damaged_chunk(header: &Header, number: usize) -> FileError {
    let first = header.bytes().len() as u64;
    let start = first + number as u64 * CHUNK as u64;
    FileError::PayloadDamaged {
        start,
        end: (first + header.payload_length()).min(start + CHUNK as u64),
    }
}

/// Checks the length of the file against the header.
pub(crate) fn check_declared(header: &Header, found: u64) -> Result<(), FileError> {
    let expected = header.file_length()?;
    if found == expected { Ok(()) } else { Err(FileError::Length(expected, found)) }
}

/// Compares the sums of the chunks of the payload with the stored table and the sum of the table.
#[cfg(feature = "std")]
pub(crate) fn check_sums(sums: &[u64], found: &[u8], header: &Header) -> Result<(), FileError> {
    let mut pairs = sums.iter().zip(check_table(found)?);
    match pairs.position(|(sum, stored)| sum.to_le_bytes() != *stored) {
        None => Ok(()),
        Some(number) => Err(damaged_chunk(header, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::KeyDescription;
    use crate::{KeyHasher, Kind, Plan};

    #[test]
    fn damage_behind_four_gibibytes_has_its_place() {
        let plan = Plan::from_parts(Kind::Blocked, 1_000, 0.01, 10_240, 8).unwrap();
        let (scheme, keys) = (KeyHasher::default().scheme(), KeyDescription::default());
        let header = Header::new(&plan, scheme, &keys, &[], (5 << 30) + 64);
        let mut sums: Vec<u64> = (0..5 * 1024 + 1).collect();
        let mut table: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        table.extend(checksum(&table, sums.len() as u64).to_le_bytes());
        check_sums(&sums, &table, &header).unwrap();
        sums[5 * 1024] = 1;
        let first = Header::LENGTH as u64 + (5 << 30);
        let error = check_sums(&sums, &table, &header).unwrap_err();
        let place = |start, end| (start, end) == (first, first + 64);
        assert!(matches!(error, FileError::PayloadDamaged { start, end } if place(start, end)));
    }
}
