//! Shared by all filter programs of the benchmark: arguments, keys, timing, the check of the answers and the lines to
//! print.
//!
//! A program measures one case: a number of keys, a rate and a form of keys. It makes the keys, fills and queries its
//! filters, and prints one JSON object per line. It has no dependencies, so a program's lock file holds only its peer.

mod case;
mod keys;
mod measure;

pub use case::{Case, KeyForm};
pub use keys::{Hashed, Key, Text};
pub use measure::{BATCH, Bench, Filter, GROWN, GROWN_NAME, Sample, count, parallel};
