//! Sharing filters of the crate [`umbel`]: how to send them, what their holders learn, and how to reveal less.
//!
//! - [`pack`] compresses a file to its entropy, [`delta`] sends only what changed, [`sign`] shows who made it. All
//!   three work front to back in pieces of 1 MiB, so filters can have any size.
//! - [`summary`]: caches find out which of them has a key, from filters that deltas keep up to date.
//! - [`audit`] computes what a filter reveals about keys that can be guessed.
//! - [`noisy`] makes copies of a list that reveal little alone, and more together.
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

/// How a file arrived.
#[derive(Clone, Debug, Default)]
pub struct Wrapping {
    /// The bytes of the packed file, if it was packed.
    pub packed: Option<u64>,
    /// The file's signature; for an unsigned packed file, the signature of the filter inside.
    pub signature: Option<sign::Signature>,
    /// Whether the signature was verified with a key that is trusted.
    pub verified: bool,
}
