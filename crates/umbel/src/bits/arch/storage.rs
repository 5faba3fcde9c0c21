//! The memory of a filter's blocks.

use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::ptr::NonNull;

use super::cast;
use crate::bits::{BLOCK_BYTES, Block};
use crate::error::OutOfMemory;

/// Blocks owned by a filter, from the program's allocator. On Linux, huge pages are requested for 8 MiB and more: with
/// ordinary pages of 4 KiB every random access to a large filter also misses the TLB; huge pages of 2 MiB make it up to
/// twice as fast.
pub struct Blocks {
    start: NonNull<Block>,
    count: usize,
    /// Where the allocation starts: at the first block, or before.
    memory: NonNull<u8>,
}

// SAFETY: the blocks are plain numbers, owned here, reached by the usual rules of references.
#[doc(hidden)]
unsafe impl Send for Blocks {}
// SAFETY: as for Send.
#[doc(hidden)]
unsafe impl Sync for Blocks {}

/// A filter of this many bytes spans a few huge pages.
const LARGE: usize = 4 * HUGE;
/// Bytes of a huge page on most systems. Miri has none, and fills large memory slowly.
const HUGE: usize = if cfg!(miri) { 4 << 10 } else { 2 << 20 };

/// The alignment of this many bytes of blocks: to huge pages if they fill some exactly, else to cache lines. Other
/// large filters lose little by ordinary pages at their ends, so aligning those is not worth 2 MiB.
const fn alignment(bytes: usize) -> usize {
    if bytes >= LARGE && bytes.is_multiple_of(HUGE) { HUGE } else { align_of::<Block>() }
}

/// The layout for this many bytes of blocks, or `None` if they exceed any machine's memory.
///
/// Only the touched pages of a large filter should use memory. Allocators have zeroed pages for that, but write zeros
/// to aligned allocations: so a large one is made longer, and aligned here.
fn allocation(bytes: usize) -> Option<Layout> {
    let layout = match bytes < LARGE {
        true => Layout::from_size_align(bytes, alignment(bytes)),
        false => Layout::from_size_align(bytes.checked_add(alignment(bytes))?, 1),
    };
    layout.ok()
}

impl Blocks {
    /// Allocates `count` zeroed blocks.
    ///
    /// # Errors
    /// [`OutOfMemory`] instead of an abort.
    #[doc(hidden)]
    pub fn zeroed(count: u64) -> Result<Self, OutOfMemory> {
        let blocks = Self::in_any_pages(count)?;
        #[cfg(all(feature = "std", target_os = "linux", not(miri)))]
        if size_of_val(&blocks[..]) >= LARGE {
            blocks.advise(libc::MADV_HUGEPAGE);
        }
        Ok(blocks)
    }

    fn in_any_pages(count: u64) -> Result<Self, OutOfMemory> {
        let fail = || OutOfMemory { bytes: count.saturating_mul(BLOCK_BYTES) };
        let bytes = count.checked_mul(BLOCK_BYTES).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(fail)?;
        if bytes == 0 {
            return Ok(Self { start: NonNull::dangling(), count: 0, memory: NonNull::dangling() });
        }
        let layout = allocation(bytes).ok_or_else(fail)?;
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(fail)?;
        let before = memory.as_ptr().align_offset(alignment(bytes));
        // SAFETY: if the memory is not aligned, it is longer by the alignment.
        let start = unsafe { memory.add(before) }.cast();
        Ok(Self { start, count: count as usize, memory })
    }

    /// Advises the system how to map the blocks. A kernel without huge pages refuses; the filter is then only slower.
    #[cfg(all(feature = "std", target_os = "linux", not(miri)))]
    fn advise(&self, advice: libc::c_int) {
        /// On any system.
        const LARGEST_PAGE: usize = 64 << 10;
        let bytes = size_of_val(&self[..]);
        let before = self.start.as_ptr().cast::<u8>().align_offset(LARGEST_PAGE).min(bytes);
        // SAFETY: these pages hold the blocks, and the last one perhaps more; advice does not change content.
        unsafe {
            let first = self.start.as_ptr().cast::<u8>().add(before);
            libc::madvise(first.cast(), bytes - before, advice);
        }
    }

    /// Like [`zeroed`](Self::zeroed), in ordinary pages: only the touched pages of a huge filter use memory.
    #[cfg(all(test, target_pointer_width = "64", not(miri)))]
    pub(crate) fn sparse(count: u64) -> Self {
        let blocks = Self::in_any_pages(count).expect("address space");
        #[cfg(all(feature = "std", target_os = "linux"))]
        blocks.advise(libc::MADV_NOHUGEPAGE);
        blocks
    }

    /// Copies some blocks.
    pub(crate) fn copy_of(blocks: &[Block]) -> Result<Self, OutOfMemory> {
        let mut copy = Self::zeroed(blocks.len() as u64)?;
        copy.copy_from_slice(blocks);
        Ok(copy)
    }

    /// The bytes of all blocks, as a file has them.
    #[doc(hidden)]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        cast::bytes(self)
    }

    /// The bytes of all blocks, as a file has them; the first is at an address that is a multiple of 64.
    #[doc(hidden)]
    #[inline]
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        cast::bytes_mut(self)
    }
}

#[doc(hidden)]
impl Drop for Blocks {
    fn drop(&mut self) {
        let layout = allocation(size_of_val(&self[..])).expect("it was allocated");
        if layout.size() > 0 {
            // SAFETY: it was allocated there, with this layout.
            unsafe { dealloc(self.memory.as_ptr(), layout) };
        }
    }
}

#[doc(hidden)]
impl core::ops::Deref for Blocks {
    type Target = [Block];

    #[inline]
    fn deref(&self) -> &[Block] {
        // SAFETY: `count` blocks, for which any bits are valid, are allocated from `start` on while `self` lives;
        // nothing else reaches them, so the borrow of `self` governs them.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

#[doc(hidden)]
impl core::ops::DerefMut for Blocks {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Block] {
        // SAFETY: as in `deref`, and the borrow is a mutable one.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl AsRef<[Block]> for Blocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        self
    }
}

#[doc(hidden)]
impl AsMut<[Block]> for Blocks {
    #[inline]
    fn as_mut(&mut self) -> &mut [Block] {
        self
    }
}

/// Shows their number, not their bits.
#[doc(hidden)]
impl core::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Blocks").field("count", &self.count).finish_non_exhaustive()
    }
}

#[doc(hidden)]
impl PartialEq for Blocks {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[doc(hidden)]
impl Clone for Blocks {
    /// # Panics
    /// If the memory for the copy cannot be allocated.
    fn clone(&self) -> Self {
        Self::copy_of(self).expect("memory for a copy of the filter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zero_wherever_they_live() {
        let large = LARGE as u64 / BLOCK_BYTES;
        for count in [0, 1, large - 1, large, large + 3] {
            let mut blocks = Blocks::zeroed(count).unwrap();
            assert_eq!(blocks.len() as u64, count);
            assert!(blocks.start.is_aligned());
            assert!(blocks.iter().all(|block| *block == Block::default()));
            if let Some(last) = blocks.last_mut() {
                last.0[7] = 1;
                assert!(blocks.clone()[..] == blocks[..]);
            }
        }
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error() {
        assert!(matches!(Blocks::zeroed(1 << 57), Err(OutOfMemory { .. })));
        assert!(matches!(Blocks::zeroed(u64::MAX), Err(OutOfMemory { .. })));
    }
}
