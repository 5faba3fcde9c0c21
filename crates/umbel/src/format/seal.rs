//! Files in shared use: bits are set in them, so they have no checksums until they are sealed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::sums::Sums;
use super::{CHUNK, FileError, Header, Reader, UNSEALED, check_declared, table_of};
use crate::prelude::*;

/// Checks a whole file, and marks it as in shared use; it may be marked already, and then only its header is checked.
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub(crate) fn unseal(mut file: &File, header: &Header) -> Result<(), FileError> {
    file.seek(SeekFrom::Start(header.bytes().len() as u64))?;
    let mut reader = Reader::of(file, header.clone());
    each_piece(header, |piece| reader.read(piece))?;
    match reader.finish() {
        Err(FileError::Unsealed) => return Ok(()),
        checked => checked?,
    };
    file.seek(SeekFrom::End(-8))?;
    file.write_all(&UNSEALED)?;
    // Before any bit is set: after a power failure, no sealed file may have newer bits.
    Ok(file.sync_data()?)
}

/// Whether a file of checked length is marked as in shared use.
pub(crate) fn is_unsealed(mut file: &File) -> Result<bool, FileError> {
    let mut last = [0; 8];
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut last)?;
    Ok(last == UNSEALED)
}

/// Seals a file that is marked as in shared use, with the checksums of its present bits. Returns whether it was marked;
/// any other file is unchanged, even if it is not an umbel filter. The file must be open for reading and writing, and
/// must not change meanwhile: lock it.
///
/// # Errors
/// [`FileError::Io`].
pub fn seal(mut file: &File) -> Result<bool, FileError> {
    let length = file.metadata()?.len();
    file.rewind()?;
    let header = match Reader::begin(file, length) {
        Ok(reader) => reader.header().clone(),
        Err(FileError::Io(error)) => return Err(error.into()),
        Err(_) => return Ok(false),
    };
    if check_declared(&header, length).is_err() || !is_unsealed(file)? {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(header.bytes().len() as u64))?;
    let mut sums = Sums::new();
    each_piece(&header, |piece| {
        file.read_exact(piece)?;
        sums.add(piece);
        Ok(())
    })?;
    let (table, last) = table_of(&sums.finish());
    file.write_all(&table)?;
    // The last word makes the file valid: everything else must be on disk before.
    file.sync_data()?;
    file.write_all(&last)?;
    file.sync_data()?;
    Ok(true)
}

/// Calls `read` with a buffer for each chunk of the payload.
fn each_piece(
    header: &Header,
    mut read: impl FnMut(&mut [u8]) -> Result<(), FileError>,
) -> Result<(), FileError> {
    // On 32 bits, a payload may be longer than memory.
    let mut left = header.payload_length();
    let mut piece = vec![0; left.min(CHUNK as u64) as usize];
    while left > 0 {
        piece.truncate(left.min(CHUNK as u64) as usize);
        read(&mut piece)?;
        left -= piece.len() as u64;
    }
    Ok(())
}
