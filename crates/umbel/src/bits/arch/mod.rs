//! Kernels that set and test keys' bits in their blocks, and the only unsafe code of the crate.
//!
//! | module | what |
//! |---|---|
//! | `pattern` | what every kernel does, bit for bit, in plain code |
//! | `isa` | what an instruction set does with a block |
//! | `plain`, `x86` | the sets |
//! | `kernel` | the choice of a set, the only way to run code under one, and keys of a blocked filter: one block each |
//! | `batch` | the loop over many keys, which prefetches their lines |
//! | `grouped` | keys of a window: a group of blocks each |
//! | `counters`, `planes` | keys of a counting filter: planes of counters each |
//! | `inline` | single keys without a call |
//! | `atomic`, `storage`, `map`, `cast`, `once`, `wipe` | memory |
#![allow(unsafe_code)]

#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod atomic;
mod batch;
pub(crate) mod cast;
mod counters;
mod grouped;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod inline;
mod isa;
mod kernel;
#[cfg(feature = "mmap")]
mod map;
mod once;
mod pattern;
mod plain;
mod planes;
mod storage;
mod wipe;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) use atomic::{AtomicBlock, AtomicBlocks};
pub(crate) use batch::{AHEAD, FAR, Hash, NEAR};
pub(crate) use counters::Counters;
pub(crate) use grouped::Member;
pub(crate) use kernel::{Kernel, Run};
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub(crate) use map::WritableBlocks;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub use map::WritableFile;
#[cfg(feature = "mmap")]
pub use map::{MappedBlocks, MappedFile};
pub(crate) use once::Once;
pub(crate) use pattern::position as in_block;
pub use storage::Blocks;

use super::Block;

/// Prefetches the block at this place, if it exists. WebAssembly has no prefetch, so there the block is read: the read
/// itself does not block, and the processor continues with the next reads, as many as it can keep in flight.
#[inline(always)]
pub(crate) fn ask(blocks: &[Block], at: usize) {
    #[cfg(target_arch = "wasm32")]
    if let Some(block) = blocks.get(at) {
        // SAFETY: the word is borrowed. A volatile read stays in the code although its result is unused.
        unsafe { (&raw const block.0[0]).read_volatile() };
    }
    #[cfg(not(target_arch = "wasm32"))]
    prefetch(blocks.as_ptr().wrapping_add(at));
}

/// Prefetches a cache line; any address will do.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing and never faults; every x86-64 processor has SSE.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; there is no stable intrinsic. The program observes no read or write.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{at}]",
            at = in(reg) at,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = at;
}
