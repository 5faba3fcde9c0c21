//! What the errors of several modules have in common. Each module has its own errors; [`Error`](crate::Error) is any of
//! them.

/// A number in a plan or a header that is not right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("header field `{field}` is {found}; expected {expected}")]
pub struct FieldError {
    /// Name of the field, as in FORMAT.md.
    pub field: &'static str,
    /// Value found.
    pub found: u64,
    /// What would be right.
    pub expected: &'static str,
}

/// Refuses a number in a plan or a header that is not right.
pub(crate) fn check_field(
    field: &'static str,
    found: u64,
    right: bool,
    expected: &'static str,
) -> Result<(), FieldError> {
    if right { Ok(()) } else { Err(FieldError { field, found, expected }) }
}

/// The memory for a filter could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes of memory for the filter")]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub bytes: u64,
}
