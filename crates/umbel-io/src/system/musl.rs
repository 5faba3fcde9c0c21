//! The memory of a program that is linked to musl.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// Gives large blocks pages of their own, allocated when they are touched, and leaves the others to the C library.
///
/// In programs linked by Zig, `calloc` writes zeros to all memory it returns: a large filter would use all of its
/// memory immediately, and in small pages. `build --keys 300M` took 1.6 times as long as with glibc, and takes as long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// A block of this many bytes has pages of its own.
const LARGE: usize = 1 << 20;
/// Fewer zeros than this, not in huge pages, are allocated immediately: filters and tables read before they write, and
/// a page read first is allocated twice, the second time by interrupting all threads. This is 4 % of `common`.
const HUGE: usize = 8 << 20;
/// Blocks begin at a multiple of this.
const PAGE: usize = 4 << 10;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

// SAFETY: blocks are as long as requested and begin at a page, or come from the system's allocator; the size and the
// alignment alone decide, and are the same when a block is freed.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            let block = map(layout.size());
            if !block.is_null() && layout.size() < HUGE {
                // SAFETY: the pages are those just mapped. A kernel without this fails, and allocates them on touch.
                unsafe { libc::madvise(block.cast(), layout.size(), libc::MADV_POPULATE_WRITE) };
            }
            return block;
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; a large block was mapped with this size.
        unsafe {
            if is_large(layout) {
                libc::munmap(block.cast(), layout.size());
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that this is a layout.
        let to = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller's promise; a large block was mapped with its size, and the two blocks of a copy do not overlap.
        unsafe {
            match (is_large(layout), is_large(to)) {
                (false, false) => System.realloc(block, layout, size),
                (true, true) => {
                    let moved =
                        libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE);
                    if moved == libc::MAP_FAILED { ptr::null_mut() } else { moved.cast() }
                }
                _ => {
                    let new = self.alloc(to);
                    if !new.is_null() {
                        ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

/// Pages of zeros; null if memory is short.
fn map(bytes: usize) -> *mut u8 {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new pages belong to no one else.
    let block = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if block == libc::MAP_FAILED { ptr::null_mut() } else { block.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_and_shrink_with_their_bytes() {
        let sizes =
            [100, LARGE - 1, LARGE, 3 * LARGE + 5, LARGE, 2 * LARGE, LARGE - 1, 7, LARGE, 1];
        for align in [1, 64, PAGE, 2 * PAGE] {
            let mut layout = Layout::from_size_align(sizes[0], align).unwrap();
            // SAFETY: sizes are not 0, blocks have the layouts that they were allocated with, and accesses are within them.
            unsafe {
                let mut block = Memory.alloc_zeroed(layout);
                let mut filled: Vec<u8> = vec![0; sizes[0]];
                for (i, &size) in (1..).zip(&sizes[1..]) {
                    block = Memory.realloc(block, layout, size);
                    layout = Layout::from_size_align(size, align).unwrap();
                    assert!(block.addr().is_multiple_of(align));
                    let kept = filled.len().min(size);
                    assert_eq!(std::slice::from_raw_parts(block, kept), &filled[..kept]);
                    ptr::write_bytes(block, i, size);
                    filled = vec![i; size];
                }
                Memory.dealloc(block, layout);
                let layout = Layout::from_size_align(LARGE, align).unwrap();
                let block = Memory.alloc_zeroed(layout);
                assert_eq!(std::slice::from_raw_parts(block, LARGE), vec![0; LARGE]);
                Memory.dealloc(block, layout);
            }
        }
    }
}
