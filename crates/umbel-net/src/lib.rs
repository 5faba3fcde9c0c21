//! Filters for routers and resolvers: the longest listed prefix of an address, the listed domain of a host, and a small
//! state per flow.
//!
//! | module | for |
//! |---|---|
//! | [`prefixes`] | which listed network an address is in, which listed domain a host is under: exactly, or by a filter |
//! | [`states`] | a small state per key that changes and ages, such as a connection's: a table, not a filter |
//!
//! Both build on the filters and hashes of [`umbel`]. Without the feature `std`, which is on by default, the crate is `no_std`
//! with `alloc`.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

pub mod prefixes;
mod prelude;
pub mod states;
