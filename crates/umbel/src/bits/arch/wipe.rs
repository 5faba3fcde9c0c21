//! Overwrites memory that held a secret.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::hash::Secret;

#[doc(hidden)]
impl Drop for Secret {
    /// Overwrites it with zeros. The compiler keeps the writes although nothing reads them.
    fn drop(&mut self) {
        // SAFETY: a reference to 16 bytes is valid for writing 16 bytes.
        unsafe { core::ptr::write_volatile(&raw mut self.0, [0; 16]) };
        // The writes come before the memory is freed.
        compiler_fence(Ordering::SeqCst);
    }
}
