//! Bloom filters: "have I seen this key?" for sets too big to keep.
//!
//! A filter answers *no* with certainty and *maybe* with a known error, the false-positive
//! probability (`fpp`). This crate plans filters that keep the rate they promise, tells what any filter
//! really delivers now (its [`Receipt`]), and reads and writes a file format in which damage is always
//! refused. It knows no paths, threads or terminals.
//!
//! The promise: when a filter planned for 100,000 keys or more holds them, the rate computed from its own bits is at
//! most `fpp` with a probability of at least 99.9 %. With fewer keys the expectation of that rate is at most `fpp`, and
//! [`Plan::fpp_spread`] gives how far single filters are from it.
//!
//! A key goes one way: bytes → [`KeyHash`], once → positions → bits.
//!
//! ```
//! use umbel::Blocked;
//!
//! let mut seen = Blocked::new(1_000_000, 0.01)?;
//! assert!(seen.insert("https://example.org/"));
//! assert!(!seen.insert("https://example.org/"), "not new any more");
//! assert!(seen.contains("https://example.org/"));
//! assert!(seen.receipt().fpp < 0.01);
//! # Ok::<(), umbel::Error>(())
//! ```
//!
//! | module | what it alone knows |
//! |---|---|
//! | [`hash`] | how key bytes become a hash, under a named scheme and a seed |
//! | [`math`] | the formulas: rates, sizes, estimates |
//! | [`plan`] | from a goal (two of keys, fpp, memory) to the parameters of a filter |
//! | `bits` | words, blocks and the kernels that touch them |
//! | [`filter`] | the kinds of filters and their receipts |
//! | [`mod@format`] | the bytes of an umbel file |
//!
//! Other systems' filters are in the crate `umbel-foreign`, which kind to choose for a goal in `umbel-advice`.
//!
//! # From fastbloom
//! `hash` stands for [`ByHash`], which takes any key that implements [`std::hash::Hash`]; text, bytes and integers are keys
//! as they are, and then files are portable.
//!
//! | fastbloom 0.17 | umbel |
//! |---|---|
//! | `BloomFilter::with_false_pos(0.01).expected_items(n)` | [`Blocked::new(n, 0.01)?`](Filter::new) |
//! | `BloomFilter::with_num_bits(m).expected_items(n)` | [`Plan::for_memory(Kind::Blocked, n, m / 8)?`](Plan::for_memory), [`Blocked::with_plan(&plan, hasher)?`](Filter::with_plan) |
//! | `.items(keys)` | [`keys.into_iter().collect::<Blocked>()`](Filter), at 1 %; or [`extend`](Filter) |
//! | `.seed(&7)` | [`KeyHasher::with_seed(7)`](KeyHasher::with_seed) |
//! | no seed: a random one | [`KeyHasher::random()`](KeyHasher::random) |
//! | `filter.insert(&key)`: whether it was there | [`filter.insert(ByHash(&key))`](Filter::insert): whether it is certainly new |
//! | `filter.contains(&key)` | [`filter.contains(ByHash(&key))`](Filter::contains) |
//! | `filter.insert_all(keys)` | [`filter.insert_all(&keys)`](Filter::insert_all): a slice, cache misses overlapped; any iterator by [`extend`](Filter) |
//! | `filter.source_hash(&key)`, `insert_hash`, `contains_hash` | [`filter.hasher().hash(key)`](KeyHasher::hash); a [`KeyHash`] is a key. Hashes of your own: [`Prehashed`], [`Hash64`] |
//! | `filter.union(&other)` | [`filter.union(&other)?`](Filter::union): says what differs |
//! | `filter.clear()`, `num_bits()`, `num_hashes()` | [`clear()`](Filter::clear), [`plan().bits()`](Plan::bits), [`plan().probes()`](Plan::probes) |
//! | `filter.expected_false_pos(n)` | [`plan().predicted_fpp_at(n)`](Plan::predicted_fpp_at); what it is now: [`receipt().fpp`](Receipt) |
//! | `from_vec`, `as_slice` | [`from_bytes`](Filter::from_bytes), [`to_bytes`](Filter::to_bytes): with plan, scheme and checksums |
//! | `AtomicBloomFilter` | [`Shared`](filter) |
//! | feature `serde` | feature `serde` |
//! | `default-features = false` | the same: `no_std` with `alloc`; plan, fill, query, write and read bytes |

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod admission;
mod bits;
mod error;
pub mod filter;
pub mod format;
pub mod hash;
pub mod math;
pub mod plan;
mod prelude;

pub use admission::Admission;
pub use bits::{Block, Blocks};
#[cfg(feature = "std")]
pub use bits::{MappedBlocks, MappedFile};
pub use error::{FieldError, OutOfMemory};
#[cfg(feature = "std")]
pub use filter::Shared;
pub use filter::{
    AnyFilter, Attributes, Blocked, Bloomier, BuildError, Cascade, Classic, Coded, Counting,
    Estimate, Filter, InsertError, MergeError, Receipt, RowError, Scalable, Sliced, Stable, Window,
};
pub use format::{FileError, KeyDescription};
pub use hash::{
    Algorithm, ByHash, Hash64, Hashing, Key, KeyHash, KeyHasher, Prehashed, Scheme, SchemeError,
    Sealed, Secret, Unlock,
};
pub use plan::{
    Capacity, Form, Growth, Kind, MAX_BITS, MAX_PROBES, ParseKindError, Plan, PlanError, Tags,
    Variant,
};

/// Any error of this crate, for callers that do not tell them apart: every other error turns into it by `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key was not inserted.
    #[error(transparent)]
    Insert(#[from] InsertError),
    /// A filter was not built of its keys.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Rows were not taken.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Two filters were not combined.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A file was not opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// A hasher was not made.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A description of keys is too long.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// There is no memory for a filter.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Nothing was written.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
