//! Memory from the server, which counts and limits it. Failed allocations return null and do not abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

use super::api::{Api, loaded};

/// The allocator of the module; outside a server, as in tests, the system's.
pub(crate) struct ServerMemory;

/// The alignment of the server's allocations. Most have 16 bytes. But with an allocator that does not report the size
/// of an allocation, such as musl's, the server stores the size in the 8 bytes before it.
pub(super) const ALIGNED: usize = 8;
/// From this size on, the server provides zeroed memory: fresh pages are zero already and are used only when touched.
const LARGE: usize = 64 << 10;

/// Allocates zeroed memory, or returns null.
fn zeroed(api: &Api, size: usize) -> *mut u8 {
    // SAFETY: any size may be requested.
    unsafe {
        if let Some(try_calloc) = api.TryCalloc {
            return try_calloc(1, size).cast();
        }
        let memory = (api.TryAlloc)(size);
        if size < LARGE || memory.is_null() {
            if !memory.is_null() {
                memory.cast::<u8>().write_bytes(0, size);
            }
            return memory.cast();
        }
        // In servers before 7.4 and in Valkey, a failing `Calloc` ends the server. `TryAlloc` has just shown that it will not.
        (api.Free)(memory);
        (api.Calloc)(1, size).cast()
    }
}

fn plain(api: &Api, size: usize) -> *mut u8 {
    // SAFETY: any size may be requested.
    unsafe { (api.TryAlloc)(size).cast() }
}

/// Allocates memory with a larger alignment than the server's. The start of the allocation is stored just before it.
fn aligned(api: &Api, layout: Layout, get: fn(&Api, usize) -> *mut u8) -> *mut u8 {
    let Some(size) = layout.size().checked_add(layout.align()) else { return null_mut() };
    let start = get(api, size);
    if start.is_null() {
        return start;
    }
    // The start is a multiple of 8, so 8 bytes fit before.
    let skipped = layout.align() - start as usize % layout.align();
    // SAFETY: the memory is larger by the alignment, and `skipped` is at most that; a pointer fits before.
    unsafe {
        let memory = start.add(skipped);
        memory.cast::<*mut u8>().sub(1).write(start);
        memory
    }
}

// SAFETY: memory comes from the server's allocator or, with a larger alignment, from within such memory. The layout
// says which, so it is freed the same way. The server loads the module before anything is allocated.
unsafe impl GlobalAlloc for ServerMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match loaded() {
            Some(api) if layout.align() <= ALIGNED => plain(api, layout.size()),
            Some(api) => aligned(api, layout, plain),
            // SAFETY: promised by the caller.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match loaded() {
            Some(api) if layout.align() <= ALIGNED => zeroed(api, layout.size()),
            Some(api) => aligned(api, layout, zeroed),
            // SAFETY: promised by the caller.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match loaded() {
            // SAFETY: it came from the server.
            Some(api) if layout.align() <= ALIGNED => unsafe { (api.Free)(memory.cast()) },
            // SAFETY: its start is stored just before.
            Some(api) => unsafe { (api.Free)(memory.cast::<*mut u8>().sub(1).read().cast()) },
            // SAFETY: promised by the caller.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }
}
