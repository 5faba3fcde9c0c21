//! Opens files: what is checked, in which order, before a kind sees its blocks.

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
pub(super) struct Opened<S, H> {
    pub(super) header: Header,
    pub(super) hasher: H,
    pub(super) description: KeyDescription,
    /// The blocks of each part, as long as the layout says.
    pub(super) parts: Vec<S>,
}

/// Checks the fields of the kind, and returns the bytes of each part.
type Layout<'a> = &'a dyn Fn(&Header) -> Result<Vec<u64>, FileError>;

/// A file that is opened before it has a hasher. The functions that do so are compiled once, and not for each way to unlock
/// a file or to read one.
type Locked<S> = Opened<S, ()>;

impl<S> Locked<S> {
    fn with<H>(self, hasher: H) -> Opened<S, H> {
        let Self { header, hasher: (), description, parts } = self;
        Opened { header, hasher, description, parts }
    }
}

/// Makes the hasher of a file's scheme, or refuses.
type Admit<'a> = &'a mut dyn FnMut(Scheme) -> Result<(), SchemeError>;

/// What `open` returns, which calls its argument with the scheme of the file, and the hasher of that.
fn unlocked<T, U: Unlock>(
    unlock: U,
    open: impl FnOnce(Admit<'_>) -> Result<T, FileError>,
) -> Result<(T, U::Hasher), FileError> {
    let (mut unlock, mut hasher) = (Some(unlock), None);
    let opened = open(&mut |scheme| {
        let unlock = unlock.take().expect("called once");
        hasher = Some(unlock.unlock(scheme)?);
        Ok(())
    })?;
    Ok((opened, hasher.expect("just made")))
}

/// Reads a file of `length` bytes. `layout` checks the fields of the kind and returns the bytes of each part.
#[cfg(feature = "std")]
pub(super) fn read<U: Unlock>(
    mut source: impl Read,
    length: u64,
    unlock: U,
    layout: Layout<'_>,
) -> Result<Opened<Blocks, U::Hasher>, FileError> {
    let (locked, hasher) =
        unlocked(unlock, |admit| read_locked(&mut source, length, admit, layout))?;
    Ok(locked.with(hasher))
}

#[cfg(feature = "std")]
fn read_locked(
    source: &mut dyn Read,
    length: u64,
    admit: Admit<'_>,
    layout: Layout<'_>,
) -> Result<Locked<Blocks>, FileError> {
    let reader = Reader::begin(source, length)?;
    let header = reader.header().clone();
    let (layout, description) = checked(&header, length, admit, layout)?;
    let mut parts = zeroed(&layout)?;
    reader.read_parts(parts.iter_mut().map(|part| part.as_bytes_mut()))?;
    Ok(Opened { header, hasher: (), description, parts })
}

/// Copies the filter out of a file in memory.
pub(super) fn copy<U: Unlock>(
    bytes: &[u8],
    unlock: U,
    layout: Layout<'_>,
) -> Result<Opened<Blocks, U::Hasher>, FileError> {
    let (locked, hasher) = unlocked(unlock, |admit| copy_locked(bytes, admit, layout))?;
    Ok(locked.with(hasher))
}

fn copy_locked(
    bytes: &[u8],
    admit: Admit<'_>,
    layout: Layout<'_>,
) -> Result<Locked<Blocks>, FileError> {
    let header = Header::parse(bytes)?;
    let (layout, description) = checked(&header, bytes.len() as u64, admit, layout)?;
    let mut payload = format::payload_of(&header, bytes)?;
    let mut parts = zeroed(&layout)?;
    for part in &mut parts {
        let to = part.as_bytes_mut();
        let (from, rest) = payload.split_at(to.len());
        to.copy_from_slice(from);
        payload = rest;
    }
    Ok(Opened { header, hasher: (), description, parts })
}

/// Borrows the filter from a file in memory.
pub(super) fn view<'a, U: Unlock>(
    bytes: &'a [u8],
    unlock: U,
    layout: Layout<'_>,
) -> Result<Opened<&'a [Block], U::Hasher>, FileError> {
    let (locked, hasher) = unlocked(unlock, |admit| view_locked(bytes, admit, layout))?;
    Ok(locked.with(hasher))
}

fn view_locked<'a>(
    bytes: &'a [u8],
    admit: Admit<'_>,
    layout: Layout<'_>,
) -> Result<Locked<&'a [Block]>, FileError> {
    let header = Header::parse(bytes)?;
    let (layout, description) = checked(&header, bytes.len() as u64, admit, layout)?;
    let payload = format::payload_of(&header, bytes)?;
    let mut blocks = cast::blocks(payload).ok_or(FileError::Misaligned)?;
    let parts = layout.iter().map(|&bytes| {
        let (part, rest) = blocks.split_at((bytes / bits::BLOCK_BYTES) as usize);
        blocks = rest;
        part
    });
    let parts = parts.collect();
    Ok(Opened { header, hasher: (), description, parts })
}

/// Checks the payload of a whole file, or what is needed to check it later.
#[cfg(feature = "mmap")]
type Check<'a> = &'a dyn Fn(&Header, &[u8]) -> Result<(), FileError>;

/// The filter in a mapped file.
#[cfg(feature = "mmap")]
pub(super) fn map<U: Unlock>(
    file: &MappedFile,
    unlock: U,
    layout: Layout<'_>,
    check: Check<'_>,
) -> Result<Opened<MappedBlocks, U::Hasher>, FileError> {
    let (locked, hasher) = unlocked(unlock, |admit| {
        let header = Header::parse(file.bytes())?;
        let (layout, description) = checked(&header, file.bytes().len() as u64, admit, layout)?;
        check(&header, file.bytes())?;
        let part = |place| file.blocks(place).ok_or(FileError::Misaligned);
        let parts = header.places(&layout)?.into_iter().map(part).collect::<Result<_, _>>()?;
        Ok(Opened { header, hasher: (), description, parts })
    })?;
    Ok(locked.with(hasher))
}

/// The layout of a header, and what the keys are; all its fields are checked, then the length of the file, then its scheme
/// is admitted.
fn checked(
    header: &Header,
    length: u64,
    admit: Admit<'_>,
    layout: Layout<'_>,
) -> Result<(Vec<u64>, KeyDescription), FileError> {
    let layout = layout(header)?;
    header.check_parts(&layout)?;
    let scheme = header.scheme()?;
    let description = header.description()?;
    format::check_declared(header, length)?;
    admit(scheme)?;
    Ok((layout, description))
}

/// As [`checked`], with the hasher.
#[cfg(feature = "std")]
pub(super) fn checked_by<U: Unlock>(
    header: &Header,
    length: u64,
    unlock: U,
    layout: Layout<'_>,
) -> Result<(Vec<u64>, U::Hasher, KeyDescription), FileError> {
    let ((layout, description), hasher) =
        unlocked(unlock, |admit| checked(header, length, admit, layout))?;
    Ok((layout, hasher, description))
}

pub(super) fn zeroed(layout: &[u64]) -> Result<Vec<Blocks>, OutOfMemory> {
    layout.iter().map(|&bytes| Blocks::zeroed(bytes / bits::BLOCK_BYTES)).collect()
}
