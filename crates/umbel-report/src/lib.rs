//! Which kind of filter to take, and what umbel reports: plans, filters, comparisons and indexes, as rows of text and as JSON documents, and the data of
//! pictures, as SVG too. The command line and the explorer print the same, so it is composed here.
//!
//! | module | what it knows or composes |
//! |---|---|
//! | [`advice`] | which kind to take for a goal; how full the blocks of a filter are, and what its cells hold |
//! | [`plan`] | the ranking of all kinds for a goal |
//! | [`curves`] | the data of the pictures of a plan |
//! | [`pictures`] | those, and that of a filter, as SVG |
//! | [`receipt`] | what a filter is and delivers |
//! | [`fill`] | how full its blocks are |
//! | [`compare`] | what two filters share |
//! | [`index`] | what an index of files has |
//! | [`recognize`] | what a file of an unknown format is |
//! | [`words`] | a filter so small that its bits can be followed |
//!
//! Errors are [`anyhow::Error`]s: they are shown as they are.

pub mod advice;
pub mod compare;
pub mod curves;
pub mod fill;
pub mod index;
pub mod pictures;
pub mod plan;
pub mod receipt;
pub mod recognize;
pub mod words;

pub use receipt::Receipt;
