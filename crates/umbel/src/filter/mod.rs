//! Code that filters of all kinds share: keys, files, copies, comparisons, merges, errors and receipts.

mod compare;
pub(crate) mod core;
mod error;
pub(crate) mod file;
pub(crate) mod hashed;
pub(crate) mod methods;
#[cfg(feature = "std")]
pub(crate) mod parallel;
mod receipt;
pub(crate) mod traits;

pub use compare::Comparison;
pub use error::{BuildError, Full, InsertError, MergeError, Names, RowError};
pub use receipt::{Fact, Figure, Part, Receipt};
pub use traits::{Filter, Insert};
