//! The core of the explorer: answers the requests of a page in a browser, all of them JSON.
//!
//! Plans come from `umbel-report`, filters from `umbel` and `umbel-foreign`, and documents,
//! tables and sentences from `umbel-report`, as on the command line. `page/src/core.ts` has the types of requests and answers.
//! Bad input gets an answer, never a panic. The browser is behind the trait [`Host`], so everything is tested without
//! one. Without the feature `files` it has only plans and lessons: the part that a page loads first.
//!
//! | module | what it answers |
//! |---|---|
//! | `goal`, `advise`, `curves` | a plan: the ranking of all kinds, ready-made lines of code, the data of its pictures |
//! | `calculate` | n, p, m and k of a classic filter, from two or three of them |
//! | `shelf`, `files` | files: what they are, and their receipts |
//! | `map`, `query`, `probes` | the bits of a filter, keys looked up in it, and where they fall |
//! | `make` | filters made from lists |
//! | `refused`, `reason` | why a request has no answer, in words and as data |
//! | `toy`, `built` | filters so small that every bit can be followed; the ones built once from lists |
//! | `steps` | operations on these filters, and where words fall in them |
//! | `request` | which module answers |
//! | `abi` | the functions that WebAssembly exports and imports; all its unsafe code |

#[cfg(target_arch = "wasm32")]
mod abi;
mod advise;
mod built;
mod calculate;
mod curves;
#[cfg(feature = "files")]
mod files;
mod goal;
#[cfg(feature = "files")]
mod make;
#[cfg(feature = "files")]
mod map;
#[cfg(feature = "files")]
mod probes;
#[cfg(feature = "files")]
mod query;
#[cfg(feature = "files")]
mod reason;
mod refused;
mod request;
#[cfg(feature = "files")]
mod shelf;
mod steps;
mod toy;

use std::io;

pub use request::Core;

/// The largest filter that a page or the npm package holds: WebAssembly has 4 GiB of memory, and at most half of it in one piece.
const MOST_BYTES: u64 = (1 << 31) - (1 << 20);

/// The functions that a core needs from the program around it.
pub trait Host {
    /// Fills `bytes` from byte `offset` of a file on; `file` is the number that the request named.
    ///
    /// # Errors
    /// If it cannot be read, or has changed.
    fn read(&self, file: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Receives the progress of reading a file: `done` of `total` bytes.
    fn progress(&self, done: u64, total: u64);

    /// Receives a new file; an answer may name several, in their order.
    fn give(&self, bytes: &[u8]);

    /// Returns a time in nanoseconds, to measure with.
    fn now(&self) -> f64;
}
