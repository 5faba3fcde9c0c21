//! System calls, and files as people and programs name them: everything between umbel's crates and the computer that
//! needs no knowledge of sets or of filters' keys.
//!
//! | module | what it alone knows |
//! |---|---|
//! | [`atomic`] | how a file takes its name only when it is complete |
//! | [`compression`] | how compressed bytes are decompressed within a memory cap |
//! | [`content`] | which inputs are not lines of text, and how to convert them |
//! | `frames` | where a decoder can start again in the middle of its input |
//! | [`pages`] | memory that the system fills or empties, aligned for its copies |
//! | [`parts`] | which parts of a compressed file can be decompressed side by side |
//! | `start` | the first bytes of each compression |
//! | `system` | what systems do differently, under the same names; its items are in the root of the crate |
//! | [`threads`] | work that several threads share |
//! | [`wrapped`] | which filters are packed or signed, and what is in them |
//!
//! Errors that are shown to people unchanged are [`anyhow::Error`]s with the path in front. On systems other than Unix
//! and Windows, as in a browser, there are only [`ReadAt`], the errors of [`FileAt`], and [`path_from`].

#[cfg(any(unix, windows))]
mod files;
mod system;

#[cfg(any(unix, windows))]
pub use files::*;
pub use system::*;
