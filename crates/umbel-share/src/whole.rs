//! The type of a file, and whether it is whole.

use std::io::{Read, Seek};

use umbel::FileError;

use crate::body::{Body, Source};
use crate::{ShareError, delta, pack, sign};

/// The type of an umbel file, shown by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A filter.
    Filter,
    /// A packed filter.
    Packed,
    /// A delta between two versions of a filter.
    Delta,
    /// A public key, with which signatures are checked.
    PublicKey,
    /// A secret: of keyed filters, or to sign with.
    Secret,
}

impl FileKind {
    /// The number of first bytes that `of` needs, or the whole file if it is shorter: 24.
    pub const BYTES: usize = 24;

    /// Returns the type of the file that begins with `start`; `None` for any other file. Never panics.
    pub fn of(start: &[u8]) -> Option<Self> {
        let kinds: [(&[u8], Self); 6] = [
            (&umbel::internals::format::MAGIC, Self::Filter),
            (&pack::MAGIC, Self::Packed),
            (&delta::MAGIC, Self::Delta),
            (umbel::SECRET_TAG.as_bytes(), Self::Secret),
            (sign::PUBLIC_TAG.as_bytes(), Self::PublicKey),
            (sign::SECRET_TAG.as_bytes(), Self::Secret),
        ];
        kinds.into_iter().find(|(begin, _)| start.starts_with(begin)).map(|(_, kind)| kind)
    }
}

/// Reads the file of a filter, a packed file or a delta, of `length` bytes without its own signature, and checks all
/// its lengths and checksums. A delta is checked without its base, so its result is not checked.
///
/// Time: as unpacking. Memory: a few MiB.
///
/// # Errors
/// [`ShareError::Filter`], with [`FileError::NotUmbel`] for a file of something else; as [`pack::Decoder`];
/// [`ShareError::Io`].
pub fn check(mut file: impl Read + Seek, length: u64) -> Result<(), ShareError> {
    let mut magic = Vec::new();
    file.rewind()?;
    file.by_ref().take(8).read_to_end(&mut magic)?;
    file.rewind()?;
    let file = file.take(length);
    let form = [pack::FORM, delta::FORM].into_iter().find(|form| magic == form.magic);
    if let Some(form) = form {
        return Body::new(file, form, u64::MAX)?.check();
    }
    let source = Source::new(file, length)?;
    let declared = source.header().file_length()?;
    if declared != length {
        return Err(FileError::Length(declared, length).into());
    }
    source.check()
}
