//! The kinds of filters: which bits a hash sets, and what the bits mean.
//!
//! Each kind is a [`Filter`] with a core of its own, which knows its bits; [`AnyFilter`] holds a filter of any kind.
//! [`Blocked`], [`Classic`] and [`Sliced`] share one core, and differ in where the probes of a key fall.

mod any;
mod attributes;
mod blocked;
mod bloom;
mod bloomier;
mod cascade;
mod classic;
mod coded;
mod compare;
mod core;
mod counting;
mod error;
mod file;
mod generic;
mod group;
mod layout;
#[cfg(feature = "mmap")]
mod lazy;
#[cfg(feature = "std")]
mod load;
mod methods;
#[cfg(feature = "std")]
mod parallel;
mod receipt;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod runs;
mod scalable;
#[cfg(feature = "serde")]
mod serde;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod shared;
mod sliced;
mod stable;
mod window;

pub use any::AnyFilter;
pub use attributes::Attributes;
use blocked::BlockedLayout;
pub use blocked::{Blocked, Shard, ShardIndex, Shards};
pub use bloomier::{Bloomier, BloomierBuilder, BloomierShard};
pub use cascade::Cascade;
pub use classic::Classic;
pub use coded::Coded;
pub use compare::Comparison;
pub use counting::Counting;
pub use error::{BuildError, Full, InsertError, MergeError, Names, RowError};
pub use generic::Filter;
#[cfg(feature = "mmap")]
pub use lazy::LazyFilter;
#[cfg(feature = "std")]
pub use load::Loader;
pub use receipt::{Fact, Figure, Part, Receipt};
pub use scalable::{Link, Scalable};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use shared::Shared;
pub use sliced::Sliced;
pub use stable::Stable;
pub use window::Window;

pub use crate::math::Estimate;

/// What [`internals`](crate::internals) exports of this module.
pub(crate) mod internal {
    pub use super::blocked::BlockedLayout;
    pub use super::bloom::BloomCore;
    pub use super::classic::ClassicLayout;
    pub use super::core::Core;
    pub use super::layout::Layout;
    #[cfg(feature = "std")]
    pub use super::runs;
    pub use super::sliced::SlicedLayout;
}
