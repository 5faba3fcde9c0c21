//! Kernels that set and test one key's bits in its block.
//!
//! [`scalar`] defines what every kernel must do, bit for bit; kernels for particular processors
//! belong beside it, chosen here once.

pub(crate) mod scalar;
