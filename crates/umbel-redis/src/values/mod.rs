//! The types of values: what the server saves, copies and frees.

mod redisbloom;
mod umbel;

pub(crate) use redisbloom::{Bloom, Cuckoo, Foreign, Kept};
pub(crate) use umbel::{Filter, Umbel};
