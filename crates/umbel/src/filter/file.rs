//! Opens files, and checks them in a fixed order before a kind sees its blocks.

#[cfg(feature = "std")]
use std::io::Read;

use crate::bits::{self, Block, Blocks, cast};
#[cfg(feature = "mmap")]
use crate::bits::{MappedBlocks, MappedFile};
use crate::error::OutOfMemory;
#[cfg(feature = "std")]
use crate::format::Reader;
use crate::format::{self, FileError, Header, KeyDescription};
use crate::hash::{Scheme, SchemeError, Unlock};
use crate::prelude::*;

/// A file whose header and checksums were verified.
pub(crate) struct Opened<S, H> {
    pub(crate) header: Header,
    pub(crate) hasher: H,
    pub(crate) description: KeyDescription,
    /// The blocks of each part, in the lengths of the layout.
    pub(crate) parts: Vec<S>,
}

/// A file without a hasher yet. Functions that open one are compiled once, not per way to unlock or read.
pub(crate) type Locked<S> = Opened<S, ()>;

impl<S, H> Opened<S, H> {
    pub(crate) fn with<T>(self, parts: Vec<T>) -> Opened<T, H> {
        let Self { header, hasher, description, .. } = self;
        Opened { header, hasher, description, parts }
    }
}

/// Checks the kind's fields and returns the bytes of each part.
pub(crate) type Layout<'a> = &'a dyn Fn(&Header) -> Result<Vec<u64>, FileError>;

/// Makes the hasher of a file's scheme, or refuses.
pub(crate) type Admit<'a> = &'a mut dyn FnMut(Scheme) -> Result<(), SchemeError>;

/// Opens a file by `open`, which passes the file's scheme to its argument, and adds the hasher.
pub(crate) fn unlocked<S, U: Unlock>(
    unlock: U,
    open: impl FnOnce(Admit<'_>) -> Result<Locked<S>, FileError>,
) -> Result<Opened<S, U::Hasher>, FileError> {
    let (mut unlock, mut hasher) = (Some(unlock), None);
    let Opened { header, description, parts, .. } = open(&mut |scheme| {
        let unlock = unlock.take().expect("called once");
        hasher = Some(unlock.unlock(scheme)?);
        Ok(())
    })?;
    Ok(Opened { header, hasher: hasher.expect("just made"), description, parts })
}

/// Checks all fields of a header and the file's length, then admits its scheme. `parts` are the lengths in bytes.
pub(crate) fn declared(
    header: Header,
    length: u64,
    layout: Layout<'_>,
    admit: Admit<'_>,
) -> Result<Locked<u64>, FileError> {
    let parts = layout(&header)?;
    header.check_parts(&parts)?;
    let scheme = header.scheme()?;
    let description = header.description()?;
    format::check_declared(&header, length)?;
    admit(scheme)?;
    Ok(Opened { header, hasher: (), description, parts })
}

/// Reads a file of `length` bytes.
#[cfg(feature = "std")]
pub(crate) fn read(
    source: &mut dyn Read,
    length: u64,
    layout: Layout<'_>,
    admit: Admit<'_>,
) -> Result<Locked<Blocks>, FileError> {
    let reader = Reader::begin(source, length)?;
    let declared = declared(reader.header().clone(), length, layout, admit)?;
    let mut parts = zeroed(&declared.parts)?;
    reader.read_parts(parts.iter_mut().map(|part| part.as_bytes_mut()))?;
    Ok(declared.with(parts))
}

/// Copies the filter out of a file in memory.
pub(crate) fn copy(
    bytes: &[u8],
    layout: Layout<'_>,
    admit: Admit<'_>,
) -> Result<Locked<Blocks>, FileError> {
    let declared = declared(Header::parse(bytes)?, bytes.len() as u64, layout, admit)?;
    let mut payload = format::payload_of(&declared.header, bytes)?;
    let mut parts = zeroed(&declared.parts)?;
    for part in &mut parts {
        let to = part.as_bytes_mut();
        let (from, rest) = payload.split_at(to.len());
        to.copy_from_slice(from);
        payload = rest;
    }
    Ok(declared.with(parts))
}

/// Borrows the filter from a file in memory.
pub(crate) fn view<'a>(
    bytes: &'a [u8],
    layout: Layout<'_>,
    admit: Admit<'_>,
) -> Result<Locked<&'a [Block]>, FileError> {
    let declared = declared(Header::parse(bytes)?, bytes.len() as u64, layout, admit)?;
    let payload = format::payload_of(&declared.header, bytes)?;
    let mut blocks: &[Block] = cast::blocks(payload).ok_or(FileError::Misaligned)?;
    let part = |&bytes: &u64| {
        let (part, rest) = blocks.split_at((bytes / bits::BLOCK_BYTES) as usize);
        blocks = rest;
        part
    };
    let parts = declared.parts.iter().map(part).collect();
    Ok(declared.with(parts))
}

/// Checks a file's payload, or what later checks of it need.
#[cfg(feature = "mmap")]
type Check<'a> = &'a dyn Fn(&Header, &[u8]) -> Result<(), FileError>;

/// The filter in a mapped file.
#[cfg(feature = "mmap")]
pub(crate) fn map(
    file: &MappedFile,
    check: Check<'_>,
    layout: Layout<'_>,
    admit: Admit<'_>,
) -> Result<Locked<MappedBlocks>, FileError> {
    let bytes = file.bytes();
    let declared = declared(Header::parse(bytes)?, bytes.len() as u64, layout, admit)?;
    check(&declared.header, bytes)?;
    let part = |place| file.blocks(place).ok_or(FileError::Misaligned);
    let places = declared.header.places(&declared.parts)?;
    let parts = places.into_iter().map(part).collect::<Result<_, _>>()?;
    Ok(declared.with(parts))
}

pub(crate) fn zeroed(layout: &[u64]) -> Result<Vec<Blocks>, OutOfMemory> {
    layout.iter().map(|&bytes| Blocks::zeroed(bytes / bits::BLOCK_BYTES)).collect()
}
