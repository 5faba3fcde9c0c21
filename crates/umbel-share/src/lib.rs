//! Sharing filters with others: what those who hold them learn, and how to tell them less.
//!
//! - [`audit`] computes what a filter tells about keys that somebody can guess.
//! - [`group`] makes the list of a group without showing anybody a member's own.
//! - [`noisy`] makes copies of a list that tell little alone, and more together.

pub mod audit;
pub mod group;
pub mod noisy;
