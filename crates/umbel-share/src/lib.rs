//! Filters that travel: files of the crate [`umbel`], packed ([`pack`]) to their entropy, as the [`delta`] between two
//! versions, and signed ([`sign`]).
//!
//! FORMAT.md at the root of the repository fixes every byte. All three work front to back in pieces of 1 MiB, so that
//! the size of a filter does not matter. Nothing here knows paths or terminals.

mod body;
pub mod delta;
mod error;
mod frame;
mod gaps;
pub mod pack;
mod rans;
pub mod sign;

pub use error::ShareError;
