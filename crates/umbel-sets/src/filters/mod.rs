//! Filters of lines: building, filling, querying, emptying.

mod bloomier;
mod count;
mod described;
mod filter;
mod insert;
mod lists;
pub(crate) mod pieces;
mod query;
pub(crate) mod room;
mod rows;
mod shards;

pub use bloomier::BloomierBuild;
pub use count::{count, count_keys};
pub use described::describe_keys;
pub use filter::{Filter, ForeignLines, Receipt};
pub use insert::{insert, remove};
pub use lists::build_lists;
pub use pieces::{LargeFilter, add_in_pieces, build_in_pieces, query_in_pieces};
pub use query::{FindPrefixes, LongestPrefix, Query, hits};
pub use room::room_left;

#[cfg(test)]
mod tests;
