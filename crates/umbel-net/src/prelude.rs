//! Items of the standard library's prelude that the prelude of `core` lacks.

pub(crate) use alloc::format;
pub(crate) use alloc::string::String;
pub(crate) use alloc::vec;
pub(crate) use alloc::vec::Vec;

#[cfg(not(feature = "std"))]
pub(crate) use umbel::internals::Real;
