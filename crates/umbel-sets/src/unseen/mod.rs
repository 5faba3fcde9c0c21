//! Lines that no earlier run has seen: a filter has the lines of all runs, and a journal next to its file has the lines
//! added since it was saved.
//!
//! | module | what only it knows |
//! |---|---|
//! | `seen` | the run, with its filter in memory |
//! | `in_pieces` | the run with a filter larger than the memory cap |
//! | [`journal`] | what a run has recorded since its filter was saved |

mod in_pieces;
pub mod journal;
mod seen;

pub use in_pieces::UnseenInPieces;
pub use journal::Checkpoint;
pub use seen::{Recorder, Save, Unseen};

#[cfg(test)]
mod tests;
