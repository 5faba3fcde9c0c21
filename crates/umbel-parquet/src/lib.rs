//! All that is Parquet: the footer and the pages of a file, the Bloom filters in it, which are listed and asked, and filters that
//! are added to it or taken out again.
//!
//! A file with other filters is the old one up to its footer, byte for byte, then the filters, then the footer with their places
//! set:
//!
//! ```text
//! PAR1 | pages, indexes: copied | filters: new | footer: old but for the places of filters | length | PAR1
//! ```
//!
//! | module | what it alone knows |
//! |---|---|
//! | [`footer`] | what a footer tells of columns and row groups |
//! | [`page`] | what the header of a page tells |
//! | `rewrite` | a footer with other places of filters |
//! | [`look_up`] | how a text becomes a value of a column, and its hash |
//! | [`report`] | what is told of the filters in a file, and of keys looked up in them |
//! | [`edit`] | what is to be done with the filters of a file, and what was done |
//! | [`plan`] | which filters come and go, and what of the file stays |
//! | `pages` | the pages of a column, and what reading their values takes |
//! | `codec`, `encodings` | how pages are decompressed, and their values decoded |
//! | `values` | where the values of a page are, and how they are hashed |
//! | `work` | how row groups are read side by side, within a memory cap |
//!
//! `plan` and `work` need the feature `files`, which is on by default, and what reads values the feature `values`. A split-block
//! filter as such is [`umbel_foreign::parquet`].
//!
//! Errors are [`anyhow::Error`]s where the command line and the Python package show them as they are, with the path in front.

#![cfg_attr(not(feature = "values"), allow(dead_code, reason = "what only new filters need"))]

#[cfg(feature = "values")]
mod codec;
pub mod edit;
#[cfg(feature = "values")]
mod encodings;
pub mod footer;
pub mod look_up;
pub mod page;
#[cfg(feature = "values")]
mod pages;
#[cfg(feature = "files")]
pub mod plan;
pub mod report;
mod rewrite;
#[cfg(feature = "values")]
mod values;
#[cfg(feature = "files")]
mod work;

use umbel_foreign::{Error, Format, Value};

pub use edit::{Added, Edit, Edited, NewFilter, Reason, Removal};
pub use footer::Footer;
pub use page::PageHeader;
#[cfg(feature = "files")]
pub use plan::Plan;
pub use report::ParquetFile;
pub use rewrite::{FilterPlace, rewrite};

/// A file of pyarrow 26.0.1; `testdata/foreign/README.md` lists its columns.
#[cfg(test)]
const FILE: &[u8] = include_bytes!("../../../testdata/foreign/parquet/groups.parquet");

/// Its footer.
#[cfg(test)]
fn footer_of_file() -> &'static [u8] {
    let (rest, length) = FILE[..FILE.len() - 4].split_last_chunk().unwrap();
    &rest[rest.len() - u32::from_le_bytes(*length) as usize..]
}

/// The error of an invalid field of a footer or a page.
fn refuse(field: &'static str, found: impl Into<Value>, expected: &'static str) -> Error {
    Error::Field { format: Format::Parquet, field, found: found.into(), expected }
}

/// Returns an error for a field unless it is `right`.
fn check(
    field: &'static str,
    found: impl Into<Value>,
    right: bool,
    expected: &'static str,
) -> Result<(), Error> {
    if right { Ok(()) } else { Err(refuse(field, found, expected)) }
}
