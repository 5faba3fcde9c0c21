//! Which kind of filter to choose, and umbel's reports on plans, filters, comparisons and indexes: as rows of text, as
//! JSON, and as pictures (data and SVG). It is composed here because the command line and the explorer print the same.
//!
//! | module | what it knows or composes |
//! |---|---|
//! | [`advice`] | which kind to choose for a goal; how full the blocks of a filter are, and what its cells hold |
//! | [`plan`] | the ranking of all kinds for a goal |
//! | [`curves`] | the data of the pictures of a plan |
//! | [`pictures`] | these pictures, and the picture of a filter, as SVG |
//! | [`receipt`] | what a filter is and delivers |
//! | [`fill`] | how full its blocks are |
//! | [`compare`] | what two filters share |
//! | [`index`] | what an index of files contains |
//! | [`words`] | a filter so small that its bits can be followed |
//!
//! Errors are [`anyhow::Error`]s, shown unchanged.

pub mod advice;
pub mod compare;
pub mod curves;
pub mod fill;
pub mod index;
pub mod pictures;
pub mod plan;
pub mod receipt;
pub mod words;

pub use receipt::Receipt;
