//! The functions that `package/filter.js` calls. They use only numbers, so no bindings are generated. Each reads its input from the
//! memory allocated last.
//!
//! ```text
//! allocate(length) -> pointer    room for what the next call reads; 0 if memory is short
//! open, make, add, …             below 0 if it failed: the answer is the error message
//! answer() -> pointer            the answer stays until the next call
//! answer_length() -> length
//! ```

#![allow(unsafe_code)]

use alloc::vec::Vec;
use core::cell::RefCell;

use crate::keys::keys;
use crate::{Result, Set};

#[cfg(all(target_arch = "wasm32", not(feature = "foreign")))]
mod bare {
    #[global_allocator]
    static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}

/// Filters by their numbers; `None` is free.
struct State {
    room: Vec<u8>,
    answer: Vec<u8>,
    sets: Vec<Option<Set>>,
}

struct Alone(RefCell<State>);

// SAFETY: these modules have one thread, for their memory is not shared.
unsafe impl Sync for Alone {}

static STATE: Alone =
    Alone(RefCell::new(State { room: Vec::new(), answer: Vec::new(), sets: Vec::new() }));

fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    work(&mut STATE.0.borrow_mut())
}

/// Calls `work` with the content of the room.
fn call(work: impl FnOnce(&mut State, &[u8]) -> Result<i32>) -> i32 {
    with(|state| {
        let room = core::mem::take(&mut state.room);
        work(state, &room).unwrap_or_else(|error| {
            state.answer = error.0.into_bytes();
            -1
        })
    })
}

/// Lets a filter give the answer.
fn ask(set: usize, work: impl FnOnce(&mut Set, &[u8]) -> Result<Vec<u8>>) -> i32 {
    call(|state, room| {
        let set = state.sets.get_mut(set).and_then(Option::as_mut).ok_or("the filter was freed")?;
        state.answer = work(set, room)?;
        Ok(0)
    })
}

/// Makes a filter from the `named` bytes of a text and what is behind them; returns its number.
fn keep(named: usize, make: impl FnOnce(&str, &[u8]) -> Result<Set>) -> i32 {
    call(|state, room| {
        let (name, rest) = room.split_at(named);
        let set = make(core::str::from_utf8(name)?, rest)?;
        let free = state.sets.iter().position(Option::is_none);
        let number = free.unwrap_or(state.sets.len());
        state.sets.resize_with(state.sets.len().max(number + 1), || None);
        state.sets[number] = Some(set);
        Ok(number as i32)
    })
}

#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    with(|state| {
        state.room = Vec::new();
        if state.room.try_reserve_exact(length).is_err() {
            return core::ptr::null_mut();
        }
        state.room.resize(length, 0);
        state.room.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    with(|state| state.answer.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    with(|state| state.answer.len())
}

/// Opens the file that is in the room, behind words on it.
#[unsafe(no_mangle)]
extern "C" fn open(words: usize) -> i32 {
    keep(words, Set::open)
}

/// Makes an empty filter of the kind that is in the room; the rate is the usual one unless it is `given`.
#[unsafe(no_mangle)]
extern "C" fn make(words: usize, keys: f64, fpp: f64, given: bool) -> i32 {
    keep(words, |kind, _| Set::make(kind, keys as u64, fpp, given))
}

/// Inserts the keys in the room; the answer has a byte for each, 1 if it was certainly new.
#[unsafe(no_mangle)]
extern "C" fn add(set: usize) -> i32 {
    ask(set, |set, room| set.add(&keys(room)))
}

/// Looks the keys in the room up; the answer has a byte for each.
#[unsafe(no_mangle)]
extern "C" fn has(set: usize) -> i32 {
    ask(set, |set, room| set.has(&keys(room)))
}

#[unsafe(no_mangle)]
extern "C" fn merge(set: usize, other: usize) -> i32 {
    call(|state, _| {
        match state.sets.get_disjoint_mut([set, other]) {
            Ok([Some(set), Some(other)]) => set.merge(other)?,
            // It has its own keys already.
            _ if set == other => {}
            _ => return Err("the filter was freed".into()),
        }
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn save(set: usize) -> i32 {
    ask(set, |set, _| set.save())
}

/// The answer has the figures, 8 bytes each, and then the name of the kind or format.
#[unsafe(no_mangle)]
extern "C" fn receipt(set: usize) -> i32 {
    ask(set, |set, _| {
        let (name, figures) = set.receipt();
        Ok(figures.iter().flat_map(|figure| figure.to_le_bytes()).chain(name.bytes()).collect())
    })
}

#[unsafe(no_mangle)]
extern "C" fn free(set: usize) {
    with(|state| state.sets[set] = None);
}
