//! The types of values: what the server saves, copies and frees.

mod foreign;
mod umbel;

pub(crate) use foreign::{Bloom, Cuckoo, Foreign, Kept, Valkey};
pub(crate) use umbel::{Filter, Umbel};
