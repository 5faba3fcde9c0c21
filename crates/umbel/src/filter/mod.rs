//! The kinds of filters: which bits a hash sets, and what the bits mean.
//!
//! [`Filter`] is generic over the [`Core`] of each kind; [`AnyFilter`] holds a filter of any kind. [`Blocked`],
//! [`Classic`] and [`Sliced`] share one core, and differ in their [`Layout`]. Each other kind has a file of its own.

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
#[cfg(feature = "std")]
mod load;
#[cfg(feature = "std")]
mod parallel;
mod receipt;
mod scalable;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "std")]
mod sharded;
#[cfg(feature = "std")]
mod shared;
mod sliced;
mod spread;
mod stable;
mod window;

pub use any::AnyFilter;
pub use attributes::{Attributes, AttributesCore};
pub use blocked::{Blocked, BlockedLayout, Shard, ShardIndex, Shards};
pub use bloom::{BloomCore, Layout};
pub use bloomier::{Bloomier, BloomierBuilder, BloomierCore, BloomierShard};
pub use cascade::{Cascade, CascadeCore};
pub use classic::{Classic, ClassicLayout};
pub use coded::{Coded, CodedCore};
pub use compare::Comparison;
pub use core::{Core, Failure, InsertCore, MakeCore, MergeCore, Outcome, RemoveCore};
pub use counting::{Counting, CountingCore};
pub use error::{BuildError, InsertError, MergeError, Names, RowError};
pub use generic::Filter;
#[cfg(feature = "std")]
pub use load::Loader;
pub use receipt::{Fact, Figure, Part, Receipt};
pub use scalable::{Link, Scalable, ScalableCore};
#[cfg(feature = "std")]
pub use sharded::{ShardReader, ShardWriter};
#[cfg(feature = "std")]
pub use shared::Shared;
pub use sliced::{Sliced, SlicedLayout};
pub use stable::{Stable, StableCore};
pub use window::{Window, WindowCore};

pub use crate::math::Estimate;
