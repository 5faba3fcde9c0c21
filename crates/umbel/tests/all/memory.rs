//! Filters of any size get their memory from the program's allocator, so an allocator that counts or limits memory,
//! like a server's, sees all of it.
#![allow(unsafe_code)] // an allocator

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use umbel::{AnyFilter, Blocked, Counting, Filter, KeyHasher, Kind, Plan};

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The allocator of all tests.
#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

fn count(bytes: i64) {
    // A thread that ends may free memory after its counter is gone.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: all memory comes from the system's allocator and returns to it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Returns the result of `make`, and the number of bytes that it holds.
fn held_by<T>(make: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let made = make();
    (made, HELD.get() - before)
}

#[test]
fn the_programs_allocator_sees_large_filters() {
    let before = HELD.get();
    let check = |bytes: u64, held: i64, what| {
        // Whole huge pages are aligned.
        let right = bytes as i64..=bytes as i64 + (2 << 20) + 4096;
        assert!(right.contains(&held), "{what}: {held} of {bytes}");
    };
    {
        let plan = Plan::for_memory(Kind::Blocked, 10_000_000, 12 << 20).unwrap();
        let make = || Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
        let (mut filter, held) = held_by(make);
        check(filter.bytes(), held, "made");
        filter.insert("apple");
        let (copy, held) = held_by(|| filter.clone());
        check(copy.bytes(), held, "copied");
        let (file, held) = held_by(|| filter.to_bytes());
        check(filter.bytes(), held, "written");
        let (read, held) = held_by(|| Blocked::read(&file[..], file.len() as u64).unwrap());
        check(filter.bytes(), held, "read");
        let (loaded, held) = held_by(|| {
            let mut pieces = file.chunks(1 << 20);
            let loader = pieces.try_fold(AnyFilter::loader(), |loader, piece| loader.push(piece));
            loader.unwrap().finish().unwrap()
        });
        check(filter.bytes(), held, "loaded");
        assert!(loaded.contains("apple") && read == filter);
        let (counting, held) = held_by(|| Counting::new(2_000_000, 0.01).unwrap());
        check(counting.bytes(), held, "counting");
    }
    assert!(HELD.get() - before < 1 << 20, "what is large is returned");
}
