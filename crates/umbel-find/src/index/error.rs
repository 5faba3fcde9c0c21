//! Why an index cannot be read.

use std::io;

use super::VERSION;

/// Why an index cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file is something else.
    #[error("is not an index; make one with umbel index")]
    NotIndex,
    /// It has a version that this release does not read.
    #[error("is an index of version {0}; this release reads version {VERSION}; {remedy}", remedy = remedy(*.0))]
    Version(u16),
    /// It is shorter or longer than when it was written.
    #[error("has {found} bytes{}; truncated or damaged? rebuild it with umbel index", .expected.map(|pages| format!(" instead of {pages}")).unwrap_or_default())]
    Length {
        /// Its bytes.
        found: u64,
        /// The bytes that it should have, if that is known.
        expected: Option<u64>,
    },
    /// A page does not match its checksum, or its content is impossible.
    #[error("is damaged (page {page}); rebuild it with umbel index")]
    Damaged {
        /// The number of the page, from 0.
        page: u64,
    },
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The remedy for an index of another version.
fn remedy(found: u16) -> &'static str {
    if found > VERSION { "use a newer umbel" } else { "rebuild it with umbel index" }
}
