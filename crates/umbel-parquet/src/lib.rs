//! Everything about Parquet: the footer and pages of a file, listing and querying the Bloom filters in it, and adding
//! or removing filters.
//!
//! An edited file is the old one up to its footer, byte for byte, then the new filters, then the footer with their
//! places set:
//!
//! ```text
//! PAR1 | pages, indexes: copied | filters: new | footer: old but for the places of filters | length | PAR1
//! ```
//!
//! | module | what it alone knows |
//! |---|---|
//! | [`footer`] | the columns and row groups in a footer |
//! | [`page`] | the header of a page |
//! | `rewrite` | a footer with changed places of filters |
//! | [`look_up`] | how a text becomes a value of a column, and its hash |
//! | [`report`] | reports about the filters in a file, and about keys looked up in them |
//! | [`which`] | which row groups of many files may hold a key |
//! | [`edit`] | the changes to make to the filters of a file, and the changes made |
//! | [`plan`] | which filters are added and removed, and which bytes of the file stay |
//! | `pages` | the pages of a column, and the memory that reading their values takes |
//! | `codec`, `encodings` | how pages are decompressed, and their values decoded |
//! | `values` | where the values of a page are, and how they are hashed |
//! | `work` | how row groups are read side by side, within a memory cap |
//!
//! `plan`, `which` and `work` need the feature `files`, which is on by default; reading values needs the feature `values`. The
//! split-block filter itself is in [`umbel_foreign::parquet`].
//!
//! Errors that the command line and the Python package show unchanged, with the path in front, are [`anyhow::Error`]s.

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
pub mod which;
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
