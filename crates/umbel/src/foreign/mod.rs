//! Other systems' Bloom filters.

mod hash;
