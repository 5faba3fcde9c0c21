//! Blocks in a mapped file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use memmap2::{Advice, Mmap, MmapMut};

use crate::bits::Block;

/// Blocks of an umbel file, mapped for reading: queried where they lie, shared between processes,
/// and only the pages that are touched are read.
#[derive(Clone)]
pub struct MappedBlocks {
    /// Shared by the parts of a filter that has several.
    map: Arc<Mmap>,
    payload: Range<usize>,
}

impl MappedBlocks {
    /// Maps a whole file.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes of a mapping may change when somebody writes to the file. Umbel never
        // does: it replaces files by renaming, which leaves the mapped one as it is. Should another
        // program write, bits of a filter change, any values of which are valid as numbers; should it
        // shorten the file, the system ends this process at the next access beyond its end.
        let map = unsafe { Mmap::map(file)? };
        // Keys fall anywhere: reading ahead would only push useful pages out.
        let _ = map.advise(Advice::Random);
        Ok(Self { payload: 0..map.len(), map: Arc::new(map) })
    }

    /// All bytes of the file.
    pub(crate) fn file(&self) -> &[u8] {
        &self.map
    }

    /// The blocks in `payload` of the file; none when they are not aligned.
    pub(crate) fn part(&self, payload: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, Block>(&self.map[payload.clone()]).ok()?;
        Some(Self { map: self.map.clone(), payload })
    }
}

impl AsRef<[Block]> for MappedBlocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        bytemuck::cast_slice(&self.map[self.payload.clone()])
    }
}

/// Blocks of a file that is being made, mapped for writing.
pub struct MappedBlocksMut {
    map: MmapMut,
    payload: Range<usize>,
}

impl MappedBlocksMut {
    /// Maps `length` bytes of a file of that length, its blocks in `payload`, a multiple of 64.
    pub(crate) fn map(file: &File, payload: Range<usize>) -> io::Result<Self> {
        // SAFETY: as for `MappedBlocks::map`; the file is being made by our caller, who was told to
        // keep others away from it.
        let map = unsafe { MmapMut::map_mut(file)? };
        let _ = map.advise(Advice::Random);
        Ok(Self { map, payload })
    }

    /// All bytes of the file.
    pub(crate) fn file_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    /// Waits until all is on disk.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }
}

impl AsRef<[Block]> for MappedBlocksMut {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        bytemuck::cast_slice(&self.map[self.payload.clone()])
    }
}

impl AsMut<[Block]> for MappedBlocksMut {
    #[inline]
    fn as_mut(&mut self) -> &mut [Block] {
        bytemuck::cast_slice_mut(&mut self.map[self.payload.clone()])
    }
}
