//! Error types that several modules share. Each module has its own errors; [`Error`](crate::Error) is any of them.

use core::fmt;

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// An impossible number: an option of a plan, or a field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is {}; expected {expected}", self.number())]
#[non_exhaustive]
pub struct FieldError {
    /// Its name; header fields are named as in FORMAT.md.
    #[doc(hidden)]
    pub field: &'static str,
    /// The value found; for a rate, the bits of the number.
    #[doc(hidden)]
    pub found: u64,
    /// The valid values.
    #[doc(hidden)]
    pub expected: &'static str,
}

impl FieldError {
    fn number(&self) -> String {
        match self.field.ends_with("fpp") {
            true => Exact(f64::from_bits(self.found)).to_string(),
            false => self.found.to_string(),
        }
    }
}

/// A number as it is, not rounded: in digits, or with an exponent if the digits would be mostly zeros.
pub struct Exact(pub f64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = (1e-5..1e17).contains(&self.0.abs()) || self.0 == 0.0 || !self.0.is_finite();
        if short { fmt::Display::fmt(&self.0, f) } else { fmt::LowerExp::fmt(&self.0, f) }
    }
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

/// The memory for a filter could not be allocated. The error reports only the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes of memory for the filter")]
pub struct OutOfMemory {
    /// Bytes requested.
    #[doc(hidden)]
    pub bytes: u64,
}
