//! Files as people and programs hand them to umbel, for the command line and the Python package: compressed inputs, and outputs
//! that appear whole or not at all.
//!
//! | module | what it alone knows |
//! |---|---|
//! | [`atomic`] | how a file takes its name only when it is complete |
//! | [`changes`] | how the differences of two inputs are written |
//! | [`compression`] | how compressed bytes are decompressed within a memory cap |
//! | [`content`] | which inputs are no lines of text, and what makes lines of them |
//! | `frames` | where a decoder can start again in the middle of its input |
//! | [`inputs`] | files, pipes and other lines, opened in the order they are named |
//! | [`journal`] | what a run of `unseen` has recorded since its filter was saved |
//! | `parts` | which parts of a compressed file can be decompressed side by side |
//! | `start` | which first bytes each compression has |
//! | [`wrapped`] | which filters are packed or signed, and what is in them |
//!
//! Errors are [`anyhow::Error`]s: both callers show them to people as they are, with the path in front.

pub mod atomic;
pub mod changes;
pub mod compression;
pub mod content;
mod frames;
pub mod inputs;
pub mod journal;
mod parts;
mod start;
pub mod wrapped;
