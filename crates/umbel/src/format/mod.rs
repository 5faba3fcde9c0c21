//! The umbel file; FORMAT.md at the root of the repository fixes every byte.
//!
//! ```text
//!  0                    header_length          + payload_length
//!  | header, checksummed | payload              | checksums of its 1 MiB chunks | checksum of those |
//!                        ^ a multiple of 64 bytes: a mapped file is a filter as it lies
//! ```
//!
//! Written front to back without seeking. A reader compares the length of the file with the header
//! before it allocates, and every checksum before it believes.
//!
//! What the kinds write into their headers, and how their payloads are divided, is theirs to know.

mod check;
mod description;
mod error;
mod fields;
mod header;
#[cfg(feature = "std")]
mod reader;
mod writer;

use twox_hash::XxHash3_64;

pub(crate) use check::{check_declared, payload_of};
pub use description::KeyDescription;
pub use error::FileError;
pub(crate) use fields::{Body, Fields};
pub use header::Header;
#[cfg(feature = "std")]
pub(crate) use reader::Payload;
#[cfg(feature = "std")]
pub use reader::Reader;
#[cfg(feature = "std")]
pub(crate) use writer::Out;
pub(crate) use writer::{Sink, Writer};

/// The newest version of the format that this release reads. It writes version 1 where that says all there is to say,
/// so that older releases read it: a filter of keys without a description.
pub const VERSION: u16 = 2;

/// First bytes of every file. As in PNG: a byte above 127 and line ends of both kinds, so that a
/// transfer that alters text is noticed at once.
pub const MAGIC: [u8; 8] = *b"\x89UMBEL\r\n";

/// Payload bytes under one checksum: a reader of a mapped file can check only the parts it touches.
pub const CHUNK: usize = 1 << 20;

/// XXH3, 64 bits; the seed is the chunk's number, so that chunks cannot change places.
fn checksum(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// Bytes of a whole file with a header of `header` bytes and a payload of `payload`; `None` when it would pass 2⁶⁴.
///
/// ```
/// use umbel::format::{Header, file_length};
/// assert_eq!(file_length(Header::LENGTH as u64, 64), Some(Header::LENGTH as u64 + 64 + 16));
/// ```
pub fn file_length(header: u64, payload: u64) -> Option<u64> {
    header.checked_add(payload)?.checked_add(8 * payload.div_ceil(CHUNK as u64))?.checked_add(8)
}
