//! Sharing filters with others: what those who hold them learn.
//!
//! - [`audit`] computes what a filter tells about keys that somebody can guess.

pub mod audit;
