//! Opens files: what is checked, in which order, before a kind sees its blocks.

#[cfg(feature = "std")]
use std::io::Read;

use crate::bits::{self, Block, Blocks};
#[cfg(feature = "std")]
use crate::bits::{MappedBlocks, MappedFile};
use crate::error::OutOfMemory;
#[cfg(feature = "std")]
use crate::format::Reader;
use crate::format::{self, FileError, Header, KeyDescription};
use crate::hash::Unlock;
use crate::prelude::*;

/// A file whose header and checksums were verified.
pub(super) struct Opened<S, H> {
    pub(super) header: Header,
    pub(super) hasher: H,
    pub(super) description: KeyDescription,
    /// The blocks of each part, as long as the layout says.
    pub(super) parts: Vec<S>,
}

/// Reads a file of `length` bytes. `layout` checks the fields of the kind and returns the bytes of each part.
#[cfg(feature = "std")]
pub(super) fn read<U: Unlock>(
    source: impl Read,
    length: u64,
    unlock: U,
    layout: impl Fn(&Header) -> Result<Vec<u64>, FileError>,
) -> Result<Opened<Blocks, U::Hasher>, FileError> {
    let reader = Reader::begin(source, length)?;
    let header = reader.header().clone();
    let (layout, hasher, description) = checked(&header, length, unlock, layout)?;
    let mut parts = zeroed(&layout)?;
    reader.read_parts(parts.iter_mut().map(|part| bytemuck::cast_slice_mut(&mut part[..])))?;
    Ok(Opened { header, hasher, description, parts })
}

/// Copies the filter out of a file in memory.
pub(super) fn copy<U: Unlock>(
    bytes: &[u8],
    unlock: U,
    layout: impl Fn(&Header) -> Result<Vec<u64>, FileError>,
) -> Result<Opened<Blocks, U::Hasher>, FileError> {
    let header = Header::parse(bytes)?;
    let (layout, hasher, description) = checked(&header, bytes.len() as u64, unlock, layout)?;
    let mut payload = format::payload_of(&header, bytes)?;
    let mut parts = zeroed(&layout)?;
    for part in &mut parts {
        let to: &mut [u8] = bytemuck::cast_slice_mut(part);
        let (from, rest) = payload.split_at(to.len());
        to.copy_from_slice(from);
        payload = rest;
    }
    Ok(Opened { header, hasher, description, parts })
}

/// Borrows the filter from a file in memory.
pub(super) fn view<U: Unlock>(
    bytes: &[u8],
    unlock: U,
    layout: impl Fn(&Header) -> Result<Vec<u64>, FileError>,
) -> Result<Opened<&[Block], U::Hasher>, FileError> {
    let header = Header::parse(bytes)?;
    let (layout, hasher, description) = checked(&header, bytes.len() as u64, unlock, layout)?;
    let payload = format::payload_of(&header, bytes)?;
    let mut blocks: &[Block] =
        bytemuck::try_cast_slice(payload).map_err(|_| FileError::Misaligned)?;
    let parts = layout.iter().map(|&bytes| {
        let (part, rest) = blocks.split_at((bytes / bits::BLOCK_BYTES) as usize);
        blocks = rest;
        part
    });
    let parts = parts.collect();
    Ok(Opened { header, hasher, description, parts })
}

/// The filter in a mapped file.
#[cfg(feature = "std")]
pub(super) fn map<U: Unlock>(
    file: &MappedFile,
    unlock: U,
    layout: impl Fn(&Header) -> Result<Vec<u64>, FileError>,
) -> Result<Opened<MappedBlocks, U::Hasher>, FileError> {
    let header = Header::parse(file.bytes())?;
    let (layout, hasher, description) =
        checked(&header, file.bytes().len() as u64, unlock, layout)?;
    format::payload_of(&header, file.bytes())?;
    let part = |place| file.blocks(place).ok_or(FileError::Misaligned);
    let parts = header.places(&layout)?.into_iter().map(part).collect::<Result<_, _>>()?;
    Ok(Opened { header, hasher, description, parts })
}

/// The layout of a header, its hasher, and what the keys are; all its fields are checked, then the length of the file.
pub(super) fn checked<U: Unlock>(
    header: &Header,
    length: u64,
    unlock: U,
    layout: impl Fn(&Header) -> Result<Vec<u64>, FileError>,
) -> Result<(Vec<u64>, U::Hasher, KeyDescription), FileError> {
    let layout = layout(header)?;
    header.check_parts(&layout)?;
    let scheme = header.scheme()?;
    let description = header.description()?;
    format::check_declared(header, length)?;
    Ok((layout, unlock.unlock(scheme)?, description))
}

pub(super) fn zeroed(layout: &[u64]) -> Result<Vec<Blocks>, OutOfMemory> {
    layout.iter().map(|&bytes| Blocks::zeroed(bytes / bits::BLOCK_BYTES)).collect()
}
