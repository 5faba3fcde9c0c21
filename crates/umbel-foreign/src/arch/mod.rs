//! The kernels, and the only unsafe code of the crate.
//!
//! Each is defined by its scalar twin. The processor's instruction sets are detected once per filter.
#![allow(unsafe_code)]

mod lines;

pub(crate) use lines::{LineKernel, SALT};

/// Prefetches the cache line of a byte; any address will do.
#[inline(always)]
pub(crate) fn prefetch(byte: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing and faults on no address; SSE is always there.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(byte.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}
