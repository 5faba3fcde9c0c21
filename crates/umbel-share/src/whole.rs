//! Whether a file is whole.

use std::io::{Read, Seek};

use umbel::FileError;

use crate::body::{Body, Source};
use crate::{ShareError, delta, pack};

/// Reads the file of a filter, a packed file or a delta, of `length` bytes without its own signature, and checks all that
/// it says of itself: lengths and checksums. A delta is checked without its base, so that what it makes is not.
///
/// Time: as unpacking. Memory: a few MiB.
///
/// # Errors
/// [`ShareError::Filter`], with [`FileError::NotUmbel`] for a file of something else; those of
/// [`pack::Decoder`]; [`ShareError::Io`].
pub fn check(mut file: impl Read + Seek, length: u64) -> Result<(), ShareError> {
    let mut magic = Vec::new();
    file.rewind()?;
    file.by_ref().take(8).read_to_end(&mut magic)?;
    file.rewind()?;
    let file = file.take(length);
    if magic == pack::MAGIC {
        Body::new(file, pack::FORM)?.check()
    } else if magic == delta::MAGIC {
        Body::new(file, delta::FORM)?.check()
    } else {
        let source = Source::new(file, length)?;
        let declared = source.header().file_length()?;
        if declared != length {
            return Err(FileError::Length { expected: declared, found: length }.into());
        }
        source.check()
    }
}
