//! Opens files, and checks them in a fixed order before a kind sees its blocks.

#[cfg(feature = "std")]
use std::io::Read;

use crate::bits::{self, Block, Blocks, cast};
#[cfg(feature = "mmap")]
use crate::bits::{MappedBlocks, MappedFile};
use crate::error::check_field;
#[cfg(feature = "std")]
use crate::format::Reader;
use crate::format::{self, FileError, Header, KeyDescription};
use crate::hash::{Scheme, Unlock};
use crate::prelude::*;

/// A file whose header and checksums were verified.
pub(crate) struct Opened<S, H> {
    pub(crate) header: Header,
    pub(crate) hasher: H,
    pub(crate) description: KeyDescription,
    /// The blocks of each part, in the lengths of the layout.
    pub(crate) parts: Vec<S>,
}

/// Checks the kind's fields and returns the bytes of each part.
pub(crate) type Layout = fn(&Header) -> Result<Vec<u64>, FileError>;

/// A file of which only the header was verified.
pub(crate) struct Declared {
    pub(crate) header: Header,
    scheme: Scheme,
    description: KeyDescription,
    /// The bytes of each part.
    parts: Vec<u64>,
}

const AS_DECLARED: &str = "the parts are as long as the payload";

impl Declared {
    /// Checks all fields of a header and the file's length.
    pub(crate) fn new(header: Header, length: u64, layout: Layout) -> Result<Self, FileError> {
        let parts = layout(&header)?;
        let bytes = parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part));
        let (found, expected) =
            (header.payload_length(), "64 bytes for each 512 bits or part of them");
        check_field("payload_length", found, bytes == Some(found), expected)?;
        let (scheme, description) = (header.scheme()?, header.description()?);
        format::check_declared(&header, length)?;
        Ok(Self { header, scheme, description, parts })
    }

    pub(crate) fn in_bytes(bytes: &[u8], layout: Layout) -> Result<Self, FileError> {
        Self::new(Header::parse(bytes)?, bytes.len() as u64, layout)
    }

    /// Opens the file by its scheme, then gets its parts.
    pub(crate) fn open<S, U: Unlock>(
        self,
        unlock: U,
        parts: impl FnOnce(&Self) -> Result<Vec<S>, FileError>,
    ) -> Result<Opened<S, U::Hasher>, FileError> {
        let hasher = unlock.unlock(self.scheme)?;
        let parts = parts(&self)?;
        Ok(Opened { header: self.header, hasher, description: self.description, parts })
    }

    pub(crate) fn zeroed(&self) -> Result<Vec<Blocks>, FileError> {
        let zeroed = |&bytes: &u64| Ok(Blocks::zeroed(bytes / bits::BLOCK_BYTES)?);
        self.parts.iter().map(zeroed).collect()
    }

    /// Copies the parts out of the file.
    pub(crate) fn copy(&self, bytes: &[u8]) -> Result<Vec<Blocks>, FileError> {
        let mut payload = format::payload_of(&self.header, bytes)?;
        let mut parts = self.zeroed()?;
        for part in &mut parts {
            let to = part.as_bytes_mut();
            to.copy_from_slice(payload.split_off(..to.len()).expect(AS_DECLARED));
        }
        Ok(parts)
    }

    /// Borrows the parts from the file.
    pub(crate) fn view<'a>(&self, bytes: &'a [u8]) -> Result<Vec<&'a [Block]>, FileError> {
        let payload = format::payload_of(&self.header, bytes)?;
        let mut blocks: &[Block] = cast::blocks(payload).ok_or(FileError::Misaligned)?;
        let counts = self.parts.iter().map(|bytes| (bytes / bits::BLOCK_BYTES) as usize);
        Ok(counts.map(|count| blocks.split_off(..count).expect(AS_DECLARED)).collect())
    }

    /// The parts in a mapped file.
    #[cfg(feature = "mmap")]
    pub(crate) fn map(&self, file: &MappedFile) -> Result<Vec<MappedBlocks>, FileError> {
        let part = |place| file.blocks(place).ok_or(FileError::Misaligned);
        self.header.places(&self.parts)?.into_iter().map(part).collect()
    }
}

/// Reads a file of `length` bytes.
#[cfg(feature = "std")]
pub(crate) fn read<U: Unlock>(
    source: &mut dyn Read,
    length: u64,
    layout: Layout,
    unlock: U,
) -> Result<Opened<Blocks, U::Hasher>, FileError> {
    let mut reader = Reader::begin(source, length)?;
    let declared = Declared::new(reader.header().clone(), length, layout)?;
    declared.open(unlock, |declared| {
        let mut parts = declared.zeroed()?;
        parts.iter_mut().try_for_each(|part| reader.read(part.as_bytes_mut()))?;
        reader.finish()?;
        Ok(parts)
    })
}
