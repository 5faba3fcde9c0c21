//! The kernels, and the only unsafe code of the crate.
//!
//! Each is defined by its scalar twin. The processor's instruction sets are detected once per filter.
#![allow(unsafe_code)]

mod lines;

pub(crate) use lines::{LineKernel, SALT};
