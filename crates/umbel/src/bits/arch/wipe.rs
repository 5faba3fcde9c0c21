//! Overwrites memory that held a secret.

use core::sync::atomic::{Ordering, compiler_fence};

/// Overwrites `bytes` with zeros. The compiler keeps the writes although nothing reads them.
pub(crate) fn wipe(bytes: &mut [u8; 16]) {
    // SAFETY: a reference to bytes is valid for writes of as many.
    unsafe { core::ptr::write_volatile(bytes, [0; 16]) };
    // Before whatever frees the memory.
    compiler_fence(Ordering::SeqCst);
}
