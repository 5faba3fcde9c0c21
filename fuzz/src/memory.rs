//! An allocator that records the bytes requested and grants only a limited amount.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most bytes that most targets get at a time. If a `Vec` is refused memory, the process ends, and the fuzzer reports it.
const MOST: usize = 64 << 20;
/// The most zeroed bytes, which filters use: a filter made to grow beyond this must return an error.
const MOST_ZEROED: usize = 8 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The `#[global_allocator]` of a target, which grants at most `ANY` bytes at a time, and at most `ZEROED` zeroed ones.
pub struct Counted<const ANY: usize = MOST, const ZEROED: usize = MOST_ZEROED>;

impl<const ANY: usize, const ZEROED: usize> Counted<ANY, ZEROED> {
    /// Records a request for `bytes` more; returns whether they are granted.
    fn admits(bytes: usize, most: usize) -> bool {
        let held = HELD.load(Relaxed).saturating_add(bytes);
        PEAK.fetch_max(held, Relaxed);
        let granted = bytes <= most;
        if granted {
            HELD.store(held, Relaxed);
        }
        granted
    }

    fn release(bytes: usize) {
        HELD.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: granted memory comes from `System` and returns to it under the same layout; a refused request returns a null
// pointer, as the trait demands.
unsafe impl<const ANY: usize, const ZEROED: usize> GlobalAlloc for Counted<ANY, ZEROED> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::admits(layout.size(), ANY) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::admits(layout.size(), ZEROED) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::release(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::admits(size, ANY) {
            return ptr::null_mut();
        }
        Self::release(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` and asserts that it never requests more than `bound` bytes at a time, granted or not, beyond those held
/// before.
pub fn within<T>(bound: usize, work: impl FnOnce() -> T) -> T {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let peak = PEAK.load(Relaxed) - before;
    assert!(peak <= bound, "{peak} bytes asked for at a time, {bound} allowed");
    result
}
