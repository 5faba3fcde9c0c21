//! Where a filter's blocks live.

use memmap2::MmapMut;

use super::{BLOCK_BYTES, Block};
use crate::Error;

/// Blocks owned by a filter: on the heap, or when there are many in pages of their own, for which
/// huge pages are asked. With ordinary pages of 4 KiB every random access to a large filter also
/// misses the table of pages; huge ones of 2 MiB make it up to twice as fast.
pub struct Blocks(Inner);

enum Inner {
    Heap(Vec<Block>),
    Pages(MmapMut),
}

/// From here on a filter gets pages of its own: a few huge ones at least.
const OWN_PAGES: u64 = 8 << 20;

impl Blocks {
    /// `count` zeroed blocks, or an error instead of an abort when there is no memory for them.
    pub(crate) fn zeroed(count: u64) -> Result<Self, Error> {
        let fail = || Error::OutOfMemory { bytes: count.saturating_mul(BLOCK_BYTES) };
        let bytes = count
            .checked_mul(BLOCK_BYTES)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(fail)?;
        if (bytes as u64) < OWN_PAGES {
            let blocks =
                bytemuck::allocation::try_zeroed_vec(count as usize).map_err(|()| fail())?;
            return Ok(Self(Inner::Heap(blocks)));
        }
        let pages = MmapMut::map_anon(bytes).map_err(|_| fail())?;
        // A kernel without huge pages says no; the filter is then only slower.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Ok(Self(Inner::Pages(pages)))
    }

    /// A copy of some blocks.
    pub(crate) fn copy_of(blocks: &[Block]) -> Result<Self, Error> {
        let mut copy = Self::zeroed(blocks.len() as u64)?;
        copy.copy_from_slice(blocks);
        Ok(copy)
    }
}

impl std::ops::Deref for Blocks {
    type Target = [Block];

    #[inline]
    fn deref(&self) -> &[Block] {
        match &self.0 {
            Inner::Heap(blocks) => blocks,
            Inner::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl std::ops::DerefMut for Blocks {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Block] {
        match &mut self.0 {
            Inner::Heap(blocks) => blocks,
            Inner::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
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
    /// When there is no memory for the copy.
    fn clone(&self) -> Self {
        Self::copy_of(self).expect("memory for a copy of the filter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zero_wherever_they_live() {
        for count in [0, 1, OWN_PAGES / BLOCK_BYTES - 1, OWN_PAGES / BLOCK_BYTES + 3] {
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
        assert!(matches!(Blocks::zeroed(1 << 57), Err(Error::OutOfMemory { .. })));
        assert!(matches!(Blocks::zeroed(u64::MAX), Err(Error::OutOfMemory { .. })));
    }
}
