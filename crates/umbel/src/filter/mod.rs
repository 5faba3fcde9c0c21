//! The kinds of filters: where a hash goes, what the bits then say.
//!
//! [`Filter`] is what all kinds do, [`Insert`] what those do that take keys one by one, [`Remove`] what
//! those do that give them back; [`AnyFilter`] holds whichever kind a file had. [`Bloom`] is a plain Bloom filter over any storage of blocks; its
//! layout tells the [`Blocked`], [`Classic`] and [`Sliced`] kinds apart. The other kinds have a file each.

mod any;
mod attributes;
mod blocked;
mod bloom;
mod bloomier;
mod cascade;
mod classic;
mod coded;
mod counting;
mod delegate;
mod pieces;
mod receipt;
mod scalable;
mod shared;
mod sliced;
mod spread;
mod stable;
mod window;

use std::io::Write;

pub use any::AnyFilter;
pub(crate) use any::file_layout;
pub use attributes::Attributes;
pub use blocked::{Blocked, BlockedLayout, Shard, Shards};
pub use bloom::{Bloom, Layout};
pub use bloomier::{Bloomier, BloomierBuilder, BloomierShard};
pub use cascade::Cascade;
pub use classic::{Classic, ClassicLayout};
pub use coded::Coded;
pub use counting::Counting;
pub use pieces::{PieceIndex, Pieces};
pub use receipt::{Fact, Figure, Part, Receipt};
pub use scalable::{Link, Scalable};
pub use shared::Shared;
pub use sliced::{Sliced, SlicedLayout};
pub(crate) use spread::keys_of_slices;
pub use stable::Stable;
pub use window::Window;

pub use crate::math::Estimate;

use crate::Error;
use crate::hash::{KeyHash, KeyHasher};
use crate::plan::Plan;

/// What every kind of filter does.
pub trait Filter {
    /// What it was planned for.
    fn plan(&self) -> &Plan;

    /// How it hashes keys.
    fn hasher(&self) -> &KeyHasher;

    /// Whether a key may have been inserted, by its hash under this filter's scheme.
    fn contains_hash(&self, hash: KeyHash) -> bool;

    /// Asks for many keys, cache misses overlapped: `found[i]` becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]);

    /// Bytes of its payload.
    fn bytes(&self) -> u64 {
        self.plan().bytes()
    }

    /// What it really delivers now, from its own bits. One pass over them.
    fn receipt(&self) -> Receipt;

    /// Writes it as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error>;
}

/// What the kinds do that take keys one by one.
pub trait Insert: Filter {
    /// Inserts a key by its hash; true when it was certainly new, false when it may have been there
    /// before.
    ///
    /// # Errors
    /// Of a kind that can be full: the filter is then as it was.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, Error>;

    /// Inserts many keys by their hashes, cache misses overlapped.
    ///
    /// # Errors
    /// As [`insert_hash`](Self::insert_hash): the keys before the one that found no room are in the
    /// filter, the others not.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Error>;

    /// As [`insert_batch`](Self::insert_batch); `new[i]` becomes what
    /// [`insert_hash`](Self::insert_hash) tells of `hashes[i]`, false where it found no room.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// When the slices differ in length.
    fn insert_batch_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Error>;

    /// Lets a kind that grows take at most `bytes` bytes; others stay as large as they are.
    fn set_limit(&mut self, bytes: u64) {
        let _ = bytes;
    }
}

/// What the kinds do that keys can be taken out of.
pub trait Remove: Insert {
    /// Takes a key out by its hash; false when it is certainly not there, and nothing has changed.
    ///
    /// Right only for keys that were inserted, and no more often than they were: see
    /// [`Counting::remove`].
    fn remove_hash(&mut self, hash: KeyHash) -> bool;

    /// Takes many keys out by their hashes, one after the other, cache misses overlapped: `removed[i]`
    /// becomes what [`remove_hash`](Self::remove_hash) tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut [bool]);
}

/// What the header of a file tells of its payload.
pub(crate) struct FileLayout {
    pub(crate) plan: Plan,
    /// Bytes of each part, multiples of 64.
    pub(crate) parts: Vec<u64>,
}
