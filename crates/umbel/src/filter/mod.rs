//! The kinds of filters: where a hash goes, what the bits then say.
//!
//! [`Bloom`] is a plain Bloom filter over any storage of blocks; its layout is what tells the
//! [`Blocked`] kind from the [`Classic`] one. [`Scalable`] is a chain of blocked ones that grows. [`AnyFilter`] holds one of whichever kind a file had.

mod any;
mod blocked;
mod bloom;
mod classic;
mod pieces;
mod receipt;
mod scalable;
mod shared;

pub use any::AnyFilter;
pub use blocked::{Blocked, BlockedLayout, Shard, Shards};
pub use bloom::{Bloom, Layout};
pub use classic::{Classic, ClassicLayout};
pub use pieces::{PieceIndex, Pieces};
pub use receipt::Receipt;
pub use scalable::{Link, Scalable};
pub use shared::Shared;

pub use crate::math::Estimate;
