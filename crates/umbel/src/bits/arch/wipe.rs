//! Overwrites memory that held a secret.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::hash::Secret;

impl Drop for Secret {
    /// Overwrites it with zeros. The compiler keeps the writes although nothing reads them.
    fn drop(&mut self) {
        // SAFETY: a reference to bytes is valid for writes of as many.
        unsafe { core::ptr::write_volatile(&raw mut self.0, [0; 16]) };
        // Before whatever frees the memory.
        compiler_fence(Ordering::SeqCst);
    }
}
