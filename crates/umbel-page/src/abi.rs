//! The functions that WebAssembly exports to the page and imports from it. They use only numbers, so no bindings are
//! generated: `page/src/core.ts` calls them.
//!
//! ```text
//! allocate(length) -> pointer       room for the text of a request
//! call(pointer, length) -> pointer  takes that room, answers; the answer stays until the next call
//! answer_length() -> length
//!
//! read(file, offset, pointer, length) -> 0, or the length of a message
//! message(pointer, length)          copies that message
//! progress(done, total)
//! give(pointer, length)             a file that was made
//! panicked(pointer, length)         before the trap
//! now() -> milliseconds
//! ```

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;

use crate::{Core, Host};

/// The page's functions.
struct Page;

mod page {
    #[link(wasm_import_module = "umbel")]
    unsafe extern "C" {
        pub(super) fn read(file: u32, offset: f64, pointer: *mut u8, length: usize) -> usize;
        pub(super) fn message(pointer: *mut u8, length: usize);
        pub(super) safe fn progress(done: f64, total: f64);
        pub(super) fn give(pointer: *const u8, length: usize);
        pub(super) fn panicked(pointer: *const u8, length: usize);
        pub(super) safe fn now() -> f64;
    }
}

impl Host for Page {
    fn read(&self, file: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        // SAFETY: the page writes at most `bytes.len()` bytes to where they are.
        let failed = unsafe { page::read(file, offset as f64, bytes.as_mut_ptr(), bytes.len()) };
        if failed == 0 {
            return Ok(());
        }
        let mut message = vec![0; failed];
        // SAFETY: as above.
        unsafe { page::message(message.as_mut_ptr(), failed) };
        Err(io::Error::other(String::from_utf8_lossy(&message).into_owned()))
    }

    fn progress(&self, done: u64, total: u64) {
        page::progress(done as f64, total as f64);
    }

    fn give(&self, bytes: &[u8]) {
        // SAFETY: the page copies these bytes and nothing else.
        unsafe { page::give(bytes.as_ptr(), bytes.len()) };
    }

    fn now(&self) -> f64 {
        page::now() * 1e6
    }
}

struct State {
    core: Core,
    answer: String,
}

thread_local! {
    // There is only one thread.
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// Makes room for the text of a request.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast()
}

/// Answers a request; returns where the answer begins.
///
/// # Safety
/// `pointer` must come from [`allocate`] with this length, and is used once.
#[unsafe(no_mangle)]
unsafe extern "C" fn call(pointer: *mut u8, length: usize) -> *const u8 {
    // SAFETY: the caller promises that this is the slice which `allocate` gave away.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) };
    STATE.with_borrow_mut(|state| {
        let state = state.get_or_insert_with(|| {
            std::panic::set_hook(Box::new(|info| {
                let text = info.to_string();
                // SAFETY: the page reads this text and nothing else.
                unsafe { page::panicked(text.as_ptr(), text.len()) };
            }));
            State { core: Core::new(Page), answer: String::new() }
        });
        state.answer = state.core.answer(&request);
        state.answer.as_ptr()
    })
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    STATE.with_borrow(|state| state.as_ref().map_or(0, |state| state.answer.len()))
}
