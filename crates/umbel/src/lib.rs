//! Bloom filters that keep their promised false positive rate and report the actual one, in memory and in a checked,
//! documented file format.
//!
//! A filter answers "have I seen this key?" in a few bits per key, 10 at a rate of 1 %: *no* is certain, and *maybe* is
//! wrong at a known rate, `fpp`. Keys are text, bytes, integers and [more](Key).
//!
//! ```
//! use umbel::{Blocked, Filter};
//!
//! let mut seen = Blocked::new(1_000_000, 0.01)?;
//! assert!(seen.insert("https://example.org/"));
//! assert!(!seen.insert("https://example.org/"), "not new any more");
//! assert!(seen.contains("https://example.org/"));
//! assert!(seen.receipt().fpp < 0.01);
//! # Ok::<(), umbel::Error>(())
//! ```
//!
//! # Which filter
//! | filter | choose it for |
//! |---|---|
//! | [`Blocked`] | most jobs: one cache line per key, the fastest |
//! | [`Classic`], [`Sliced`] | the fewest bits of the Bloom kinds |
//! | [`Counting`] | keys that are removed again |
//! | [`Scalable`] | an unknown number of keys |
//! | [`Window`], [`Stable`] | endless streams: recent keys are found, old ones are forgotten |
//! | [`Bloomier`] | a fixed set in the fewest bits; also maps from keys to values |
//! | [`Coded`] | rates below 1e-6 |
//! | [`Cascade`] | two known lists that must never be confused |
//! | [`Attributes`] | rows of several attributes, looked up by any of them |
//!
//! The trait [`Filter`] has the methods that all of them have, such as `plan`, `receipt` and `write`; [`Insert`] is for
//! generic code. Scalable and coded filters can be full, so they have `try_insert`. [`Shared`] is a blocked filter for many threads;
//! [`AnyFilter`] holds a filter of any kind, as files do. The crate [`umbel-report`](https://docs.rs/umbel-report)
//! ranks the kinds for a goal.
//!
//! # Save a filter and open it again
//! The file holds the plan, the hash scheme and checksums. A damaged file is refused.
//!
//! ```
//! use std::fs::File;
//! use umbel::{Blocked, Filter};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("seen.umbel");
//!
//! let mut seen = Blocked::new(1_000, 0.01)?;
//! seen.extend(["apple", "mango"]);
//! seen.write(File::create(&path)?)?;
//!
//! let file = File::open(&path)?;
//! let length = file.metadata()?.len();
//! let opened = Blocked::read(file, length)?;
//! assert!(opened.contains("apple"));
//! # Ok::<(), umbel::Error>(())
//! ```
//!
//! [`AnyFilter`] opens a file of any kind; [`AnyFilter::map`] queries it in place, without loading it into memory.
//!
//! # Plan a size, then read the receipt
//! Give two of keys, rate and memory; the plan computes the third. A receipt is computed from the filter's own bits.
//!
//! ```
//! use umbel::{Blocked, Filter, KeyHasher, Kind, Plan};
//!
//! let plan = Plan::for_memory(Kind::Blocked, 1_000_000, 1 << 20)?;
//! assert!(plan.fpp() < 0.03, "1 MiB for a million keys");
//!
//! let mut filter = Blocked::with_plan(&plan, KeyHasher::default())?;
//! filter.extend(0..500_000);
//! let receipt = filter.receipt();
//! assert!(receipt.keys.low < 500_000.0 && 500_000.0 < receipt.keys.high);
//! assert!(receipt.fpp < 0.002, "with half of the planned keys");
//! # Ok::<(), umbel::Error>(())
//! ```
//!
//! # Build in parallel, then merge
//! Merging filters of the same plan gives the filter that one thread would have built.
//!
//! ```
//! use umbel::{Blocked, KeyHasher, Kind, Plan};
//!
//! let plan = Plan::for_keys(Kind::Blocked, 100_000, 0.01)?;
//! let shard = |keys: std::ops::Range<u64>| {
//!     let mut filter = Blocked::with_plan(&plan, KeyHasher::default())?;
//!     filter.extend(keys);
//!     Ok::<_, umbel::Error>(filter)
//! };
//! let mut all = shard(0..50_000)?;
//! all.union(&shard(50_000..100_000)?)?;
//! assert_eq!(all, shard(0..100_000)?);
//! # Ok::<(), umbel::Error>(())
//! ```
//!
//! # More
//! [Jobs by example](https://github.com/umbel/umbel/blob/main/docs/rust.md): a cache guard, a storage engine, processes
//! that share a file, serde, keys of your own types, untrusted keys, errors, moving from fastbloom. [`Parts`] divides a
//! set among several filters. [`umbel-foreign`](https://docs.rs/umbel-foreign) reads and writes other systems' filters;
//! [`umbel-net`](https://docs.rs/umbel-net) finds the longest listed prefix of an address and the listed domain of a
//! host, and follows keys that have a state.
//!
//! # Guarantees
//! - **No false negatives.** An inserted key is found, unless the kind forgets (window, stable) or you removed it
//!   (counting).
//! - **The rate.** When a filter planned for 100,000 keys or more is full, the rate computed from its own bits is at
//!   most `fpp` with a probability of at least 99.9 %. With fewer keys the expected rate is at most `fpp`;
//!   [`Plan::fpp_spread`] shows how far single filters deviate from it.
//! - **One path for a key**: bytes → [`KeyHash`], once → positions → bits. All front ends open each other's filters.
//!
//! # Features
//! - `std` (default): streams, random secrets, [`Shared`], run-time detection of processor features, and on Linux huge
//!   pages for large filters. Without it the crate is `no_std` with `alloc`.
//! - `mmap` (default): mapped files.
//! - `serde`: filters serialize as the bytes of their files.
//!
//! The crate uses no paths and no terminal, and threads only in [`insert_all_on`](Blocked::insert_all_on).

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[macro_use]
mod list;

mod any;
mod bits;
mod error;
mod filter;
mod format;
mod hash;
mod kinds;
mod math;
#[cfg(all(test, feature = "std", target_pointer_width = "64"))]
mod messages;
mod parts;
mod plan;
mod prelude;
mod text;

/// The formulas of the kinds: rates, sizes and spreads. Not part of the public interface, like `internals`.
#[doc(hidden)]
pub mod formulas {
    pub use crate::kinds::blocked::rate as blocked;
    pub use crate::kinds::bloomier::graph as bloomier;
    pub use crate::kinds::classic::rate as classic;
    pub use crate::kinds::sliced::rate as sliced;
    pub use crate::kinds::stable::rate as stable;
    pub use crate::kinds::window::rate as window;
}

/// Shared with the other crates of this repository. Not part of the public interface: may change in any version.
#[doc(hidden)]
pub mod internals {
    pub use crate::bits::arch::prefetch;
    pub use crate::bits::cast::{bytes, bytes_mut, words, words_mut};
    pub use crate::bits::{BLOCK_BITS, BLOCK_BYTES, packed, place};
    pub use crate::error::{Exact, check_field};
    pub use crate::hash::mix::{GOLDEN, mix};
    #[cfg(feature = "std")]
    pub use crate::kinds::blocked::runs;
    #[cfg(not(feature = "std"))]
    pub use crate::prelude::Real;
    pub use crate::text::{read_text, write_text};

    /// The bytes of an umbel file.
    pub mod format {
        pub use crate::format::{
            CHUNK, DELTA, Family, Header, MAGIC, OtherKeys, PACKED, VERSION, Writer, file_length,
            length_of,
        };
        #[cfg(feature = "std")]
        pub use crate::format::{Reader, seal, write_file};
    }

    /// Estimates from bits.
    pub mod math {
        pub use crate::math::{Coverage, binomial_bounds};
    }

    /// The words of a block, little-endian.
    #[inline(always)]
    pub fn block_words(block: &crate::Block) -> &[u64; 8] {
        &block.0
    }
}

pub use any::AnyFilter;
#[cfg(feature = "mmap")]
pub use any::LazyFilter;
#[cfg(feature = "std")]
#[doc(hidden)]
pub use any::Loader;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub use any::SharedFile;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub use bits::WritableFile;
pub use bits::{Block, Blocks};
#[cfg(feature = "mmap")]
pub use bits::{MappedBlocks, MappedFile};
pub use error::{FieldError, OutOfMemory};
#[doc(hidden)]
pub use filter::Names;
#[doc(inline)]
pub use filter::{
    BuildError, Comparison, Fact, Figure, Filter, Full, Insert, InsertError, MergeError, Part,
    Receipt, RowError,
};
#[doc(inline)]
pub use format::{FileError, KeyDescription, KeyForm};
#[doc(hidden)]
pub use hash::{Algorithm, AnyScheme, SECRET_TAG};
#[doc(inline)]
pub use hash::{
    ByHash, Hash64, Hashing, Key, KeyHash, KeyHasher, Mixed64, Portable, Prehashed, Scheme,
    SchemeError, Secret, Unlock,
};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use kinds::blocked::Shared;
#[doc(hidden)]
pub use kinds::blocked::{Shard, ShardIndex, Shards};
#[doc(hidden)]
pub use kinds::bloomier::{BloomierBuilder, BloomierShard};
pub use kinds::dispatch::ParseKindError;
#[doc(inline)]
pub use math::{Estimate, Overlap, Spread};
pub use parts::Parts;
#[doc(hidden)]
pub use plan::Capacity;
#[doc(inline)]
pub use plan::{Form, Growth, Kind, MAX_BITS, MAX_PROBES, Plan, PlanError, Tags, Variant};

macro_rules! types {
    ([] $($name:ident $module:ident)*) => {
        $(pub use kinds::$module::$name;)*
    };
}

for_each_kind!(types![]);

/// Any error of this crate. Every other error type converts to it, for `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key could not be inserted or removed.
    #[error(transparent)]
    Insert(#[from] InsertError),
    /// A filter could not be built from its keys.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Rows could not be inserted or looked up.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Two filters could not be combined or compared.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A file could not be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// A hasher could not be made for a scheme.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A description of keys is too long.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The filter holds other keys than the ones to be looked up.
    #[doc(hidden)]
    #[error(transparent)]
    OtherKeys(#[from] format::OtherKeys),
    /// A text does not name a kind.
    #[error(transparent)]
    ParseKind(#[from] ParseKindError),
    /// The memory for a filter could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Writing failed.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        Self::Insert(full.into())
    }
}
