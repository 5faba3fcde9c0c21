//! A value made on first use, in a static: [`std::sync::OnceLock`] without the standard library.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// See the module. Threads that call at the same time may make the value several times; on processors that compare and
/// exchange pointers atomically, all get the same one.
pub(crate) struct Once<T> {
    made: AtomicPtr<T>,
    owns: PhantomData<T>,
}

impl<T> Once<T> {
    pub(crate) const fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// Returns the value, made by `make` on first use. It is never freed: for statics.
    pub(crate) fn get_or_init(&'static self, make: impl FnOnce() -> T) -> &'static T
    where
        T: Send + Sync,
    {
        let mut made = self.made.load(Ordering::Acquire);
        if made.is_null() {
            made = self.keep(Box::new(make()));
        }
        // SAFETY: not null, so it is from a box that is never freed or changed; it was stored with release and loaded
        // with acquire.
        unsafe { &*made }
    }

    /// Keeps the first value that arrives, and returns that.
    #[cfg(target_has_atomic = "ptr")]
    fn keep(&self, new: Box<T>) -> *mut T {
        let (new, null) = (Box::into_raw(new), ptr::null_mut());
        match self.made.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: `new` came from a box above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        }
    }

    /// Keeps the last value that arrives, for processors without an instruction that compares and exchanges. An
    /// interrupt may have made another in between, which stays valid for its callers.
    #[cfg(not(target_has_atomic = "ptr"))]
    fn keep(&self, new: Box<T>) -> *mut T {
        let new = Box::into_raw(new);
        self.made.store(new, Ordering::Release);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_get_one_value() {
        static VALUE: Once<u64> = Once::new();
        let seen = std::thread::scope(|scope| {
            let ask = |i| scope.spawn(move || ptr::from_ref(VALUE.get_or_init(|| i)).addr());
            let threads: Vec<_> = (0..8).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(seen.iter().all(|&address| address == seen[0]));
        assert!(*VALUE.get_or_init(|| 99) < 8);
    }
}
