//! Blocks in a mapped file.

use alloc::sync::Arc;
use core::ops::Range;
use std::fs::File;
use std::io;

use memmap2::Mmap;

use super::cast;
use crate::bits::Block;

/// A file mapped into memory, for [`AnyFilter::map`](crate::AnyFilter::map).
#[derive(Clone, Debug)]
pub struct MappedFile {
    map: Arc<Mmap>,
}

impl MappedFile {
    /// Maps a whole file, of any size. Pages are read when they are touched, and shared between processes.
    ///
    /// # Errors
    /// The system's errors. On platforms without mapping, such as WebAssembly, every call fails.
    ///
    /// # Safety
    /// While the mapping lives, no process may write to the file or shorten it. Replacing the file by renaming another
    /// over it, as umbel does, leaves the mapped one unchanged. A write would change bytes that this program holds
    /// references to, which is undefined behaviour; after a truncation, any access beyond the new end kills the
    /// process, and so does one to a page that the device fails to read.
    pub unsafe fn map(file: &File) -> io::Result<Self> {
        // SAFETY: promised by the caller.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self { map: Arc::new(map) })
    }

    /// Advises the system that all pages will be read in order, so it reads ahead.
    pub(crate) fn reads_in_order(&self) {
        #[cfg(unix)]
        let _ = self.map.advise(memmap2::Advice::Sequential);
    }

    /// Advises the system that pages will be read in random order: reading ahead would only evict useful ones.
    pub(crate) fn reads_anywhere(&self) {
        #[cfg(unix)]
        let _ = self.map.advise(memmap2::Advice::Random);
    }

    /// Returns all bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns the blocks in `part` of the file, or `None` if they are not aligned.
    pub(crate) fn blocks(&self, part: Range<usize>) -> Option<MappedBlocks> {
        cast::blocks(self.map.get(part.clone())?)?;
        Some(MappedBlocks { file: self.clone(), part })
    }
}

/// The blocks of a filter in a mapped file, queried in place.
#[derive(Clone, Debug)]
pub struct MappedBlocks {
    file: MappedFile,
    part: Range<usize>,
}

#[doc(hidden)]
impl AsRef<[Block]> for MappedBlocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        cast::blocks(&self.file.map[self.part.clone()]).expect("checked when made")
    }
}
