//! The umbel file, version 1; FORMAT.md at the root of the repository fixes every byte.
//!
//! ```text
//!  0                    header_length          + payload_length
//!  | header, checksummed | payload              | checksums of its 1 MiB chunks | checksum of those |
//!                        ^ a multiple of 64 bytes: a mapped file is a filter as it lies
//! ```
//!
//! Written front to back without seeking. A reader compares the length of the file with the header
//! before it allocates, and every checksum before it believes.

mod fields;
mod header;
mod reader;
mod writer;

use twox_hash::XxHash3_64;

pub(crate) use fields::{Body, Fields};
pub use header::Header;
pub use reader::{Reader, check};
pub use writer::Writer;

/// The version of the format that this release writes and reads.
pub const VERSION: u16 = 1;

/// First bytes of every file. As in PNG: a byte above 127 and line ends of both kinds, so that a
/// transfer that alters text is noticed at once.
pub const MAGIC: [u8; 8] = *b"\x89UMBEL\r\n";

/// Payload bytes under one checksum: a reader of a mapped file can check only the parts it touches.
pub const CHUNK: usize = 1 << 20;

/// XXH3, 64 bits; the seed is the chunk's number, so that chunks cannot change places.
fn checksum(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// Bytes of the whole file, or `None` when it would pass 2⁶⁴.
pub(crate) fn file_length(header: u64, payload: u64) -> Option<u64> {
    header.checked_add(payload)?.checked_add(8 * payload.div_ceil(CHUNK as u64))?.checked_add(8)
}
