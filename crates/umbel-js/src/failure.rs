//! Errors, of which JavaScript gets the message.

use alloc::string::{String, ToString};
use core::fmt::Display;

pub(crate) struct Failure(pub(crate) String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub(crate) type Result<T> = core::result::Result<T, Failure>;
