//! Why a file was refused, as data that a page words itself: the message is the command line's.

use serde::Serialize;
use umbel::{FileError, SchemeError};
use umbel_find::index::IndexError;
use umbel_foreign::recognized::NotFilter;
use umbel_foreign::table::TableError;
use umbel_share::ShareError;

/// Why a file was refused; other errors have only a message. `page/src/core.ts` has the same list.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub(crate) enum Reason {
    Empty,
    /// It begins with these bytes.
    Unknown {
        start: String,
    },
    Text,
    Utf16,
    Zip,
    Compressed {
        with: &'static str,
    },
    Delta,
    TooLarge {
        bytes: u64,
        most: u64,
    },
    /// It comes from a later release.
    Newer,
    Cut {
        expected: u64,
        found: u64,
    },
    Appended {
        expected: u64,
        found: u64,
    },
    HeaderDamaged,
    Damaged {
        start: u64,
        end: u64,
    },
    /// The place is unknown.
    Broken,
    WrongSecret,
    NoSecret,
    NotSigned,
    /// Only the filter in a packed file is signed.
    SignedWithin,
    OtherSigner {
        found: String,
        expected: String,
    },
    OtherList {
        found: String,
        expected: String,
    },
    /// As text, because a page's numbers have fewer digits.
    NotNewer {
        found: String,
        newer_than: String,
    },
    Forged,
    /// A table of a database without a filter.
    NoFilter,
    /// A filter of another system has more or fewer bytes than it declares.
    OtherLength {
        format: &'static str,
        expected: u64,
        found: u64,
    },
    OtherFormat {
        format: &'static str,
    },
}

/// An error of the page itself, with its reason.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Because {
    pub(crate) reason: Reason,
    pub(crate) text: String,
}

impl Reason {
    /// The reason of an error, if it has one.
    pub(crate) fn of(error: &anyhow::Error) -> Option<Self> {
        if let Some(Because { reason, .. }) = error.downcast_ref() {
            return Some(reason.clone());
        }
        let reason = error.downcast_ref().map(of_file);
        let reason = reason.or_else(|| error.downcast_ref().map(of_shared));
        let reason = reason.or_else(|| error.downcast_ref().map(of_foreign));
        let reason = reason.or_else(|| error.downcast_ref().map(of_index));
        reason.or_else(|| error.downcast_ref().map(of_table)).flatten()
    }

    /// The reason for a file that is neither umbel's nor, probably, another filter.
    pub(crate) fn other(content: NotFilter) -> Option<Self> {
        match content {
            NotFilter::Text | NotFilter::CarriageReturns => Some(Self::Text),
            NotFilter::Utf16 => Some(Self::Utf16),
            NotFilter::Zip => Some(Self::Zip),
            NotFilter::Compressed(with) => Some(Self::Compressed { with }),
            NotFilter::Parquet => None,
        }
    }
}

fn of_file(error: &FileError) -> Option<Reason> {
    Some(match error {
        FileError::NotUmbel(found) if found.is_empty() => Reason::Empty,
        FileError::NotUmbel(found) => Reason::Unknown { start: found.escape_ascii().to_string() },
        FileError::Version(0) => Reason::HeaderDamaged,
        FileError::Version(..) | FileError::UnknownKind(_) | FileError::UnknownAlgorithm(_) => {
            Reason::Newer
        }
        FileError::Length(expected, found) => length(*expected, *found),
        FileError::HeaderDamaged | FileError::Field(_) | FileError::Plan(_) => {
            Reason::HeaderDamaged
        }
        FileError::PayloadDamaged { start, end } => Reason::Damaged { start: *start, end: *end },
        FileError::ChecksumsDamaged => Reason::Broken,
        FileError::Scheme(SchemeError::WrongSecret(..)) => Reason::WrongSecret,
        FileError::Scheme(SchemeError::NoSecret(..)) => Reason::NoSecret,
        _ => return None,
    })
}

fn of_shared(error: &ShareError) -> Option<Reason> {
    Some(match error {
        ShareError::HeaderDamaged { .. } => Reason::HeaderDamaged,
        ShareError::FrameDamaged { .. } | ShareError::SignatureDamaged => Reason::Broken,
        ShareError::Version { found: 0, .. } => Reason::HeaderDamaged,
        ShareError::Version { .. } => Reason::Newer,
        ShareError::NotSigned => Reason::NotSigned,
        ShareError::SignedWithin => Reason::SignedWithin,
        ShareError::OtherSigner { found, expected } => {
            Reason::OtherSigner { found: found.clone(), expected: expected.clone() }
        }
        ShareError::OtherList { found, expected } => {
            Reason::OtherList { found: found.clone(), expected: expected.clone() }
        }
        ShareError::NotNewer { found, newer_than } => {
            Reason::NotNewer { found: found.to_string(), newer_than: newer_than.to_string() }
        }
        ShareError::Forged => Reason::Forged,
        _ => return None,
    })
}

fn of_foreign(error: &umbel_foreign::Error) -> Option<Reason> {
    use umbel_foreign::Error;
    Some(match error {
        Error::Length { format, expected, found } => {
            Reason::OtherLength { format: format.name(), expected: *expected, found: *found }
        }
        Error::Field { format, .. } | Error::Json { format, .. } => {
            Reason::OtherFormat { format: format.name() }
        }
        _ => return None,
    })
}

fn of_index(error: &IndexError) -> Option<Reason> {
    Some(match error {
        IndexError::Version(0) => Reason::HeaderDamaged,
        IndexError::Version(_) => Reason::Newer,
        IndexError::Length { found, expected: Some(expected) } => length(*expected, *found),
        IndexError::Length { .. } | IndexError::Damaged { .. } => Reason::Broken,
        _ => return None,
    })
}

fn of_table(error: &TableError) -> Option<Reason> {
    Some(match error {
        TableError::Short | TableError::Damaged { .. } => Reason::Broken,
        TableError::NoFilter => Reason::NoFilter,
        &TableError::TooLarge { bytes, limit: most, .. } => Reason::TooLarge { bytes, most },
        TableError::Filter(error) => return of_foreign(error),
        _ => return None,
    })
}

fn length(expected: u64, found: u64) -> Reason {
    match found < expected {
        true => Reason::Cut { expected, found },
        false => Reason::Appended { expected, found },
    }
}
