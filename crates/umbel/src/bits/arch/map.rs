//! Blocks in a mapped file.

use alloc::sync::Arc;
use core::ops::Range;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::File;
use std::io;

use memmap2::Mmap;
#[cfg(target_has_atomic = "64")]
use memmap2::{MmapOptions, MmapRaw};

#[cfg(target_has_atomic = "64")]
use super::AtomicBlock;
use super::cast;
#[cfg(target_has_atomic = "64")]
use crate::bits::BLOCK_BITS;
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

/// A file mapped into memory for reading and writing, for [`SharedFile::open`](crate::SharedFile::open).
#[cfg(target_has_atomic = "64")]
#[derive(Debug)]
pub struct WritableFile {
    /// It makes no reference to the bytes.
    map: MmapRaw,
    pub(crate) file: File,
}

#[cfg(target_has_atomic = "64")]
impl WritableFile {
    /// Maps a whole file that is open for reading and writing.
    ///
    /// # Errors
    /// The system's errors. On platforms without mapping, such as WebAssembly, every call fails.
    ///
    /// # Safety
    /// While the mapping lives, no process may shorten the file: any access beyond the new end would kill this one, and so
    /// does one to a page that the device fails to read or has no room to write. Others may write to the file only
    /// through [`SharedFile`](crate::SharedFile).
    pub unsafe fn map(file: File) -> io::Result<Self> {
        let map = MmapOptions::new().map_raw(&file)?;
        Ok(Self { map, file })
    }

    /// Returns the blocks in `part` of the file, or `None` if they are not aligned or not whole blocks.
    pub(crate) fn blocks(self, part: Range<usize>) -> Option<WritableBlocks> {
        let first = self.map.as_ptr().wrapping_add(part.start).cast::<AtomicBlock>();
        let whole = part.end <= self.map.len() && part.len().is_multiple_of(size_of::<Block>());
        (whole && first.is_aligned()).then_some(WritableBlocks { file: self, part })
    }
}

/// The blocks of a filter in a mapped file, as atomic words: other threads and processes set bits in them meanwhile.
#[cfg(target_has_atomic = "64")]
pub(crate) struct WritableBlocks {
    pub(crate) file: WritableFile,
    part: Range<usize>,
}

#[cfg(target_has_atomic = "64")]
impl core::ops::Deref for WritableBlocks {
    type Target = [AtomicBlock];

    #[inline]
    fn deref(&self) -> &[AtomicBlock] {
        // SAFETY: the blocks are inside the mapping and aligned, as checked when made, and it lives as long as `self`; any
        // bits are a number. This process reaches them only here, by atomic operations, and so do others, as the caller of
        // `map` promised.
        unsafe {
            let first = self.file.map.as_mut_ptr().add(self.part.start).cast();
            core::slice::from_raw_parts(first, self.part.len() / size_of::<Block>())
        }
    }
}

#[cfg(target_has_atomic = "64")]
impl WritableBlocks {
    /// The word of a bit, and the bit in it.
    #[inline]
    fn at(&self, position: u64) -> (&AtomicU64, u64) {
        let (block, word) = ((position / BLOCK_BITS) as usize, (position / 64 % 8) as usize);
        (&self[block].0[word], (1u64 << (position % 64)).to_le())
    }

    /// Sets a bit and returns whether it was clear.
    #[inline]
    pub(crate) fn set(&self, position: u64) -> bool {
        let (word, bit) = self.at(position);
        // Most bits of a known key are set, and a load leaves the line with other processors.
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Whether a bit is set.
    #[inline]
    pub(crate) fn get(&self, position: u64) -> bool {
        let (word, bit) = self.at(position);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Returns when all blocks are on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.map.flush()
    }
}
