//! Sharing filters of the crate [`umbel`]: how they travel, what those who hold them learn, and how to tell them less.
//!
//! - [`pack`] compresses a file to its entropy, [`delta`] sends only what changed, [`sign`] shows who made it. All
//!   three work front to back in pieces of 1 MiB, so that the size of a filter does not matter.
//! - [`summary`] tells caches which of them has a key, by filters that they keep up to date with deltas.
//! - [`audit`] computes what a filter tells about keys that somebody can guess.
//! - [`noisy`] makes copies of a list that tell little alone, and more together.
//!
//! FORMAT.md at the root of the repository fixes every byte. Nothing here knows paths or terminals.

pub mod audit;
mod body;
pub mod delta;
mod error;
mod frame;
mod gaps;
pub mod noisy;
pub mod pack;
mod rans;
pub mod sign;
#[cfg(feature = "summary")]
pub mod summary;
mod trust;
mod whole;

pub use error::ShareError;
pub use trust::{Content, Received, Trust, receive};
pub use whole::{FileKind, check};

/// How a file came.
#[derive(Clone, Debug, Default)]
pub struct Wrapping {
    /// The bytes of the packed file, if it was packed.
    pub packed: Option<u64>,
    /// Its signature, or that of the filter in a packed file without one.
    pub signature: Option<sign::Signature>,
    /// Whether the signature was verified with a key that is trusted.
    pub verified: bool,
}
