//! Why a file is no filter.

use crate::error::{FieldError, OutOfMemory};
use crate::hash::SchemeError;
use crate::plan::{Kind, PlanError};
use crate::prelude::*;

/// Why a file was not opened, or not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The first bytes are not those of an umbel file.
    #[error("not an umbel file: {}; name a filter of umbel",
        if found.is_empty() { "it is empty".to_owned() } else { format!("it begins with \"{}\"", found.escape_ascii()) })]
    NotUmbel {
        /// The bytes found, at most 8.
        found: Vec<u8>,
    },
    /// A file of a format version this release does not read.
    #[error(
        "format version {found}; this release reads versions 1 to {}; use a matching umbel",
        super::VERSION
    )]
    Version {
        /// Version in the file.
        found: u16,
    },
    /// Fewer bytes than the header promises, or more.
    #[error("the header declares {expected} bytes, the file has {found}; {}",
        if found < expected { "truncated? copy it again" } else { "something was appended; copy it again" })]
    Length {
        /// Bytes the header declares.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The header's own checksum does not match.
    #[error(
        "the header is damaged: its checksum does not match; copy the file again or rebuild it"
    )]
    HeaderDamaged,
    /// Part of the payload does not match its checksum.
    #[error(
        "the payload is damaged between bytes {start} and {end}: its checksum does not match; copy the file \
         again or rebuild it"
    )]
    PayloadDamaged {
        /// First byte of the damaged part, from the start of the file.
        start: u64,
        /// First byte after the damaged part.
        end: u64,
    },
    /// The table of checksums at the end is itself damaged.
    #[error("the checksum table at the end is damaged; copy the file again or rebuild it")]
    ChecksumsDamaged,
    /// A header field has a value this release does not know or that contradicts another.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A kind that this release does not open.
    #[error(
        "the file holds a filter of kind {0}, which this release does not know; use a newer umbel"
    )]
    UnknownKind(u16),
    /// A hash scheme that this release does not have.
    #[error(
        "the file uses hash algorithm {0}, which this release does not know; use a newer umbel"
    )]
    UnknownAlgorithm(u16),
    /// A filter of another kind than asked for.
    #[error("the file holds {} {found} filter, not {} {expected} one", found.article(), expected.article())]
    Kind {
        /// Kind asked for.
        expected: Kind,
        /// Kind of the file.
        found: Kind,
    },
    /// Numbers that no plan can have.
    #[error(transparent)]
    Plan(PlanError),
    /// Keys that the filter cannot be asked for.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The bytes of a filter cannot be borrowed where they lie.
    #[error("the filter's bytes start at an address that is not a multiple of 64; align them")]
    Misaligned,
    /// The memory for the filter could not be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Reading or writing failed.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<PlanError> for FileError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Field(error) => Self::Field(error),
            PlanError::OutOfMemory(error) => Self::OutOfMemory(error),
            error => Self::Plan(error),
        }
    }
}
