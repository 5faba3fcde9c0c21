//! The umbel file format. FORMAT.md at the root of the repository specifies every byte.
//!
//! ```text
//!  0                    header_length          + payload_length
//!  | header, checksummed | payload              | checksums of its 1 MiB chunks | checksum of those |
//!                        ^ a multiple of 64 bytes: a mapped file is a filter without copying
//! ```
//!
//! Files are written front to back, without seeking. A reader compares the length of the file with the header before it
//! allocates, and verifies every checksum before it uses a byte.
//!
//! Only a kind's own module knows what it writes into its header and how its payload is divided.

mod check;
mod description;
mod error;
mod fields;
mod header;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod seal;
mod sums;
mod writer;

use twox_hash::XxHash3_64;

#[cfg(feature = "std")]
pub(crate) use check::check_sums;
#[cfg(feature = "mmap")]
pub(crate) use check::{check_chunk, check_table, chunks, damaged_chunk};
pub(crate) use check::{check_declared, payload_of};
pub use description::{Family, KeyDescription, KeyForm, OtherKeys};
pub use error::FileError;
pub(crate) use fields::Body;
pub use header::Header;
#[cfg(feature = "std")]
pub use reader::Reader;
#[cfg(feature = "std")]
pub use seal::seal;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub(crate) use seal::{is_unsealed, unseal};
#[cfg(feature = "std")]
pub(crate) use sums::Sums;
#[doc(hidden)]
pub use writer::Writer;
#[cfg(feature = "std")]
use writer::table_of;
pub(crate) use writer::{Put, put_parts};

/// The version of the format that this release reads and writes.
pub const VERSION: u16 = 1;

/// The first bytes of every file. As in PNG, a byte above 127 and line ends of both kinds reveal a transfer that alters
/// text.
pub const MAGIC: [u8; 8] = *b"\x89UMBEL\r\n";
/// The first bytes of packed filters, which the crate `umbel-share` reads as well as deltas.
pub const PACKED: [u8; 8] = *b"\x89UMPAK\r\n";
/// The first bytes of deltas.
pub const DELTA: [u8; 8] = *b"\x89UMDLT\r\n";

/// Payload bytes covered by one checksum: a reader of a mapped file can check only the parts it touches.
pub const CHUNK: usize = 1 << 20;

/// The mark of a file in shared use, in place of the checksum of its table. Part of the format.
const UNSEALED: [u8; 8] = *b"unsealed";

/// XXH3, 64 bits; the seed is the chunk's number, so chunks cannot change places.
fn checksum(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// Returns the length in bytes of the file that begins with `start`, which must hold the header: 128 KiB always suffice.
///
/// # Errors
/// As [`AnyFilter::read`](crate::AnyFilter::read), for the header.
pub fn length_of(start: &[u8]) -> Result<u64, FileError> {
    Header::parse(start)?.file_length()
}

/// Writes a file with this header and payload, and the checksums that follow.
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// If the length of `payload` differs from the one the header declares.
#[cfg(feature = "std")]
pub fn write_file(
    mut out: impl std::io::Write,
    header: &Header,
    payload: &[u8],
) -> std::io::Result<()> {
    put_parts(&mut |bytes| out.write_all(bytes), header, &mut core::iter::once(payload))?;
    out.flush()
}

/// Returns the length in bytes of a file with a header of `header` bytes and a payload of `payload`; `None` if it would
/// exceed 2⁶⁴.
///
/// ```
/// use umbel::internals::format::{Header, file_length};
/// assert_eq!(file_length(Header::LENGTH as u64, 64), Some(Header::LENGTH as u64 + 64 + 16));
/// ```
pub fn file_length(header: u64, payload: u64) -> Option<u64> {
    header.checked_add(payload)?.checked_add(8 * payload.div_ceil(CHUNK as u64))?.checked_add(8)
}
