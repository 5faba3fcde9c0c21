//! The memory of a filter's blocks.

use core::ptr::NonNull;

#[cfg(feature = "mmap")]
use memmap2::MmapMut;

use crate::bits::{BLOCK_BYTES, Block};
use crate::error::OutOfMemory;
use crate::prelude::*;

/// Blocks owned by a filter: on the heap, or for a large filter in pages of their own, for which huge pages are
/// requested. With ordinary pages of 4 KiB every random access to a large filter also misses the TLB; huge pages of 2
/// MiB make it up to twice as fast.
pub struct Blocks {
    /// The address of the first block, so that a query need not check which owner there is.
    start: NonNull<Block>,
    count: usize,
    _owner: Owner,
}

/// Never looked at while the blocks exist: they are reached through `start` alone.
#[allow(dead_code)] // held to be dropped
enum Owner {
    Heap(Vec<Block>),
    #[cfg(feature = "mmap")]
    Pages(MmapMut),
}

// SAFETY: the blocks are plain numbers, owned here, reached by the usual rules of references.
unsafe impl Send for Blocks {}
// SAFETY: as for Send.
unsafe impl Sync for Blocks {}

/// A filter of this many bytes spans a few huge pages.
#[cfg(any(feature = "mmap", test))]
const LARGE: u64 = 8 << 20;
/// A filter of this many bytes gets pages of its own. Never under a fuzzer, which counts the bytes requested from the
/// heap, and only on Unix: WebAssembly has no pages, and Windows offers no huge ones.
#[cfg(feature = "mmap")]
const OWN_PAGES: u64 = if cfg!(any(fuzzing, not(unix))) { u64::MAX } else { LARGE };

/// Whether blocks of any number are had from the heap.
#[cfg(feature = "mmap")]
static HEAP_ALONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

impl Blocks {
    /// From now on, allocates all blocks with the program's allocator and never directly from the system: for programs
    /// whose allocator counts memory, such as a module of a server with a memory limit.
    #[cfg(feature = "mmap")]
    pub fn keep_on_heap() {
        HEAP_ALONE.store(true, core::sync::atomic::Ordering::Relaxed);
    }

    /// Allocates `count` zeroed blocks: on the heap, or on Unix from 8 MiB on in pages of their own.
    ///
    /// # Errors
    /// [`OutOfMemory`] instead of an abort.
    pub fn zeroed(count: u64) -> Result<Self, OutOfMemory> {
        let fail = || OutOfMemory { bytes: count.saturating_mul(BLOCK_BYTES) };
        let bytes = count.checked_mul(BLOCK_BYTES).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(fail)?;
        #[cfg(feature = "mmap")]
        if bytes as u64 >= OWN_PAGES && !HEAP_ALONE.load(core::sync::atomic::Ordering::Relaxed) {
            return Self::in_pages(bytes).ok_or_else(fail);
        }
        #[cfg(not(feature = "mmap"))]
        let _ = bytes;
        let blocks = bytemuck::allocation::try_zeroed_vec(count as usize).map_err(|()| fail())?;
        Ok(Self::of(Owner::Heap(blocks)))
    }

    #[cfg(feature = "mmap")]
    fn in_pages(bytes: usize) -> Option<Self> {
        let pages = MmapMut::map_anon(bytes).ok()?;
        // A kernel without huge pages says no; the filter is then only slower.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Some(Self::of(Owner::Pages(pages)))
    }

    /// Like [`zeroed`](Self::zeroed), in ordinary pages: of a huge filter, only the pages touched use memory.
    #[cfg(all(test, feature = "mmap", target_pointer_width = "64"))]
    pub(crate) fn sparse(count: u64) -> Self {
        let pages = MmapMut::map_anon((count * BLOCK_BYTES) as usize).expect("address space");
        #[cfg(target_os = "linux")]
        pages.advise(memmap2::Advice::NoHugePage).expect("ordinary pages");
        Self::of(Owner::Pages(pages))
    }

    fn of(mut owner: Owner) -> Self {
        let blocks: &mut [Block] = match &mut owner {
            Owner::Heap(blocks) => blocks,
            #[cfg(feature = "mmap")]
            Owner::Pages(pages) => bytemuck::cast_slice_mut(pages),
        };
        let (start, count) = (NonNull::from(&mut *blocks).cast(), blocks.len());
        Self { start, count, _owner: owner }
    }

    /// Copies some blocks.
    pub(crate) fn copy_of(blocks: &[Block]) -> Result<Self, OutOfMemory> {
        let mut copy = Self::zeroed(blocks.len() as u64)?;
        copy.copy_from_slice(blocks);
        Ok(copy)
    }
}

impl core::ops::Deref for Blocks {
    type Target = [Block];

    #[inline]
    fn deref(&self) -> &[Block] {
        // SAFETY: `start` and `count` are those of the owner's slice, which is on the heap or in a
        // mapping, so it stays where it is when `self` moves, and lives as long as `self`; nothing
        // else reaches it, so the borrow of `self` governs it.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

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

impl AsMut<[Block]> for Blocks {
    #[inline]
    fn as_mut(&mut self) -> &mut [Block] {
        self
    }
}

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
        for count in [0, 1, LARGE / BLOCK_BYTES - 1, LARGE / BLOCK_BYTES + 3] {
            let mut blocks = Blocks::zeroed(count).unwrap();
            assert_eq!(blocks.len() as u64, count);
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
