//! Bloom filters: "have I seen this key?" for sets too big to keep.
//!
//! A filter answers *no* with certainty and *maybe* with a known error, the false-positive
//! probability (`fpp`). This crate plans filters whose measured rate stays at or below what was
//! promised, tells what any filter really delivers now (its [`Receipt`]), and reads and writes a
//! file format in which damage is always refused. It knows no paths, threads or terminals.
//!
//! A key goes one way: bytes → [`KeyHash`], once → positions → bits.
//!
//! ```
//! use umbel::{Blocked, Plan};
//!
//! let plan = Plan::for_keys(umbel::Kind::Blocked, 1_000_000, 0.01)?;
//! let mut seen = Blocked::new(&plan, umbel::KeyHasher::default())?;
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
//! | [`advice`] | from what a filter is for to the kind to take |
//! | `bits` | words, blocks and the kernels that touch them |
//! | [`filter`] | the kinds of filters and their receipts |
//! | [`mod@format`] | the bytes of an umbel file |
//! | [`foreign`] | the bytes of other systems' filters |

mod admission;
pub mod advice;
mod bits;
mod error;
pub mod filter;
pub mod foreign;
pub mod format;
pub mod hash;
pub mod math;
pub mod plan;

pub use admission::Admission;
pub use bits::{Block, Blocks, MappedBlocks, MappedFile};
pub use error::Error;
pub use filter::{
    AnyFilter, Attributes, Blocked, Bloomier, Cascade, Classic, Coded, Counting, Estimate, Filter,
    Insert, Receipt, Remove, Scalable, Shared, Sliced, Stable, Window,
};
pub use hash::{Algorithm, KeyHash, KeyHasher, Scheme, Secret};
pub use plan::{Capacity, Kind, MAX_BITS, MAX_PROBES, Plan, Tags, Variant};
