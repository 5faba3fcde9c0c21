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
pub use described::keys_of;
pub use filter::{Filter, ForeignLines, Receipt};
pub use hits::hits;
pub use insert::insert;
pub use lists::build_lists;
pub use pieces::{LargeFilter, add_in_pieces, build_in_pieces, query_in_pieces};
pub use query::{Listed, Query};
pub use remove::remove;
pub use room::room_left;

#[cfg(test)]
mod tests;
