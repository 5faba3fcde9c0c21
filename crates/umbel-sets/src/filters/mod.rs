//! Filters of lines: building, filling, querying, emptying.

mod bloomier;
mod count;
mod described;
mod filter;
mod hits;
mod insert;
mod lists;
pub(crate) mod pieces;
mod query;
mod remove;
pub(crate) mod room;
mod rows;
mod shards;

pub use bloomier::BloomierBuild;
pub use count::{count, count_keys};
pub use described::{check_keys, keys_of};
pub use filter::{Filter, ForeignLines, Receipt};
pub use hits::hits;
pub use insert::{insert, insert_stream};
pub use lists::build_lists;
pub use pieces::{LargeFilter, Noted, add_in_pieces, build_in_pieces, query_in_pieces};
pub use query::{Listed, Query};
pub use remove::{remove, remove_stream};
pub use room::{room_beside, room_left};
pub use shards::{InShards, OldShards};

#[cfg(test)]
mod tests;
