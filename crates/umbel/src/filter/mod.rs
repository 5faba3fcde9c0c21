//! What filters of all kinds share: keys, files, copies, comparisons, merges, errors and receipts. Their kinds are under
//! `kinds`.

mod compare;
pub(crate) mod core;
mod error;
pub(crate) mod file;
pub(crate) mod generic;
pub(crate) mod methods;
#[cfg(feature = "std")]
pub(crate) mod parallel;
mod receipt;

pub use compare::Comparison;
pub use error::{BuildError, Full, InsertError, MergeError, Names, RowError};
pub use generic::Filter;
pub use receipt::{Fact, Figure, Part, Receipt};
