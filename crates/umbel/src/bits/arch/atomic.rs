//! Blocks that many threads use at the same time: the same bytes, as atomic words.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{pattern, prefetch};
use crate::bits::{Block, Blocks};

/// A block as eight atomic words, little-endian as in [`Block`].
#[repr(C, align(64))]
pub(crate) struct AtomicBlock(pub(super) [AtomicU64; 8]);

impl AtomicBlock {
    /// Loads each word separately, as it is now.
    #[inline]
    pub(crate) fn load(&self) -> Block {
        Block(core::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }

    /// Whether a key's bits are all set. A call, like the next, to keep callers small.
    #[cold]
    #[inline(never)]
    pub(super) fn contains(&self, low: u64, probes: u32) -> bool {
        if pattern::rounds(probes) > 0 {
            return self.load().has(&pattern::mask(low, probes));
        }
        let mut all = 1;
        for (word, bit) in pattern::Scatter::new(low, probes) {
            all &= u64::from_le(self.0[word].load(Ordering::Relaxed)) >> bit;
        }
        all & 1 == 1
    }

    /// Sets a key's bits and returns whether any was clear. Callers that store to one block must exclude each other.
    #[cold]
    #[inline(never)]
    pub(super) fn insert(&self, low: u64, probes: u32) -> bool {
        if pattern::rounds(probes) > 0 {
            let (mask, old) = (pattern::mask(low, probes), self.load());
            let mut new = old;
            new.or(&mask);
            self.store_changes(&old, &new);
            return !old.has(&mask);
        }
        let mut all = 1;
        for (word, bit) in pattern::Scatter::new(low, probes) {
            let old = u64::from_le(self.0[word].load(Ordering::Relaxed));
            all &= old >> bit;
            self.0[word].store((old | 1 << bit).to_le(), Ordering::Relaxed);
        }
        all & 1 == 0
    }

    /// Like [`insert`](Self::insert), for a block that other threads also store to: each word changes on its own. If
    /// several insert one new key, each may see that a bit was clear.
    #[cfg(feature = "mmap")]
    pub(crate) fn insert_together(&self, low: u64, probes: u32) -> bool {
        let or = |word: usize, bits: u64| {
            let word = &self.0[word];
            // A load leaves the line with other processors.
            word.load(Ordering::Relaxed) & bits != bits
                && word.fetch_or(bits, Ordering::Relaxed) & bits != bits
        };
        if pattern::rounds(probes) > 0 {
            let words = pattern::mask(low, probes).0.into_iter().enumerate();
            return words.fold(false, |new, (word, bits)| or(word, bits) | new);
        }
        let bits = pattern::Scatter::new(low, probes);
        bits.fold(false, |new, (word, bit)| or(word, (1u64 << bit).to_le()) | new)
    }

    /// Stores the words in which `new` differs from `old`, each separately. Callers that store to one block must
    /// exclude each other.
    #[inline]
    pub(crate) fn store_changes(&self, old: &Block, new: &Block) {
        for (i, word) in self.0.iter().enumerate() {
            if old.0[i] != new.0[i] {
                word.store(new.0[i], Ordering::Relaxed);
            }
        }
    }

    /// The address of its words. Only a caller that excludes other writers may write there, whole words at a time.
    #[inline]
    pub(super) fn words(&self) -> *mut u64 {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Prefetches its cache line.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self);
    }
}

/// [`Blocks`] as atomic words, shared by all threads until taken back.
pub(crate) struct AtomicBlocks {
    start: NonNull<AtomicBlock>,
    count: usize,
    /// Not accessed while the words are shared.
    owner: Blocks,
}

// SAFETY: the words are atomic, and the owner is used only by `into_blocks`, which owns it.
unsafe impl Send for AtomicBlocks {}
// SAFETY: as for Send: a shared reference gives access only to atomic words.
unsafe impl Sync for AtomicBlocks {}

impl AtomicBlocks {
    pub(crate) fn new(mut owner: Blocks) -> Self {
        let start = NonNull::from(&mut owner[..]).cast();
        Self { start, count: owner.len(), owner }
    }

    pub(crate) fn into_blocks(self) -> Blocks {
        self.owner
    }
}

impl core::ops::Deref for AtomicBlocks {
    type Target = [AtomicBlock];

    #[inline]
    fn deref(&self) -> &[AtomicBlock] {
        // SAFETY: `start` and `count` describe the owner's slice, which does not move (the heap or a mapping holds it)
        // and lives as long as `self`; AtomicBlock and Block have the same layout, 64 bytes aligned to 64; the owner
        // does not access the words meanwhile.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}
