//! Filters for JavaScript: the two WebAssembly modules of the npm package.
//!
//! | module | contents |
//! |---|---|
//! | `abi` | the functions that a module exports; all its unsafe code |
//! | `failure` | errors |
//! | `keys` | which values of JavaScript are keys, and their hashes |
//! | `small` | the filters of the module that a page loads: two kinds |
//! | `whole` | the filters of `umbel/foreign`: all kinds, and other systems' |
//!
//! The small one is without the standard library: it would bring the text of every panic, 27 kB.

#![cfg_attr(all(target_arch = "wasm32", not(feature = "foreign")), no_std)]

extern crate alloc;

mod abi;
mod failure;
mod keys;
#[cfg(not(feature = "foreign"))]
mod small;
#[cfg(feature = "foreign")]
mod whole;

#[cfg(not(feature = "foreign"))]
use small::Set;
#[cfg(feature = "foreign")]
use whole::Set;

use failure::Result;
