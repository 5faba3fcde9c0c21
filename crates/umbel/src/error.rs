//! Error types that several modules share. Each module has its own errors; [`Error`](crate::Error) is any of them.

/// An impossible number in a plan or a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("header field `{field}` is {found}; expected {expected}")]
#[non_exhaustive]
pub struct FieldError {
    /// Name of the field, as in FORMAT.md.
    pub field: &'static str,
    /// The value found.
    pub found: u64,
    /// What would be valid.
    pub expected: &'static str,
}

/// Returns an error for an impossible number in a plan or a header.
pub fn check_field(
    field: &'static str,
    found: u64,
    right: bool,
    expected: &'static str,
) -> Result<(), FieldError> {
    if right { Ok(()) } else { Err(FieldError { field, found, expected }) }
}

/// The memory for a filter could not be allocated. The bytes are all there is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes of memory for the filter")]
pub struct OutOfMemory {
    /// Bytes requested.
    pub bytes: u64,
}
