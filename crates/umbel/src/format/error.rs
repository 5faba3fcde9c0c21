//! Why a file is not a valid filter.

use super::{DELTA, PACKED, VERSION};
use crate::error::{FieldError, OutOfMemory};
use crate::hash::SchemeError;
use crate::plan::{Kind, PlanError};
use crate::prelude::*;

/// Why a file was not opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file begins with these bytes, not as umbel files do.
    #[error("{}", no_filter(.0))]
    NotUmbel(Vec<u8>),
    /// The file has a format version that this release does not read.
    #[error("format version {0}; this release reads version {VERSION}; {hint}", hint =
        if *.0 > VERSION { "use a newer umbel" } else { "no release wrote it; damaged? copy the file again" })]
    Version(u16),
    /// The file has fewer bytes than the header declares, or more: declared, found.
    #[error("the header declares {0} bytes, the file has {1}; {hint}", hint =
        if .1 < .0 { "truncated? copy it again" } else { "something was appended; copy it again" })]
    Length(u64, u64),
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
        /// The first byte of the part, from the start of the file.
        start: u64,
        /// The byte after its last.
        end: u64,
    },
    /// The table of checksums at the end is damaged.
    #[error("the checksum table at the end is damaged; copy the file again or rebuild it")]
    ChecksumsDamaged,
    /// The file is in shared use, or its last user was killed: its payload has no checksums.
    #[error(
        "the filter is open for shared use, or its last user was killed before sealing the file, so its bits have no checksums; open it for shared use as well, or close it there; if no program has it open, umbel filter add seals it"
    )]
    Unsealed,
    /// A filter of this kind cannot be in shared use.
    #[error("{0} filters cannot be in shared use; blocked, classic and sliced ones can")]
    NotShared(Kind),
    /// A header field has a value that this release does not know, or that contradicts another.
    #[error("{}", field(.0))]
    Field(FieldError),
    /// The filter's kind is unknown to this release.
    #[error(
        "the file holds a filter of kind {0}, which this release does not know; use a newer umbel"
    )]
    UnknownKind(u16),
    /// The filter's hash algorithm is unknown to this release.
    #[error(
        "the file uses hash algorithm {0}, which this release does not know; use a newer umbel"
    )]
    UnknownAlgorithm(u16),
    /// The file holds another kind of filter: expected, found.
    #[error("the file holds {found} {1} filter, not {own} {0} one", found = .1.article(), own = .0.article())]
    Kind(Kind, Kind),
    /// The header's numbers are not a possible plan.
    #[error(transparent)]
    Plan(PlanError),
    /// The filter's hash scheme does not fit the hasher or secret given.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The bits given have another number of bytes than the plan: expected, found.
    #[error("the plan needs {0} bytes of bits, not {1}; take both from the same filter")]
    Bits(u64, u64),
    /// The bytes cannot be borrowed, because they do not start at a multiple of 64.
    #[error("the filter's bytes start at an address that is not a multiple of 64; align them")]
    Misaligned,
    /// The memory for the filter could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Reading or writing failed.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The message about a file that begins with these bytes.
fn no_filter(begin: &[u8]) -> String {
    match begin {
        b"" => "not an umbel file: it is empty; name an umbel filter".to_owned(),
        _ if begin == PACKED => "the filter is packed; unpack it first".to_owned(),
        _ if begin == DELTA => {
            "a delta, not a filter; apply it to the filter it was made from".to_owned()
        }
        _ => {
            let begin = begin.escape_ascii();
            format!("not an umbel file: it begins with \"{begin}\"; name an umbel filter")
        }
    }
}

/// The message about a field; about the payload, what was expected.
fn field(error: &FieldError) -> String {
    match error.field {
        "payload" => {
            format!("the payload is invalid: expected {}; rebuild the filter", error.expected)
        }
        _ => format!("header field {error}"),
    }
}

#[doc(hidden)]
impl From<FieldError> for FileError {
    fn from(error: FieldError) -> Self {
        Self::Field(error)
    }
}

#[doc(hidden)]
impl From<PlanError> for FileError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Field(error) => Self::Field(error),
            PlanError::OutOfMemory(error) => Self::OutOfMemory(error),
            error => Self::Plan(error),
        }
    }
}
