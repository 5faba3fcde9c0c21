//! Packed files: the file of a filter with its payload coded to its entropy, byte for byte the same once unpacked.
//!
//! A filter that is planned for the fewest bits in memory has half of its bits set and does not get smaller. One with
//! fewer probes and more bits does: [`umbel::Plan::for_sending`] plans it (M. Mitzenmacher 2002,
//! <https://doi.org/10.1109/TNET.2002.803864>).
//!
//! ```
//! use std::io::Read;
//! use umbel::{AnyFilter, Filter, KeyHasher, Plan};
//! use umbel_share::pack::{Decoder, Encoder};
//!
//! // One probe per key: 8 bits sent per key at 1.1 %, where the smallest classic filter in memory needs 9.4.
//! let keys: Vec<u64> = (0..10_000).collect();
//! let filter = AnyFilter::build(&Plan::for_sending(10_000, 0.0108, 1)?, &keys, KeyHasher::default())?;
//! let file = filter.to_bytes();
//! let mut packed = Vec::new();
//! Encoder::new(&file[..], file.len() as u64)?.write(&mut packed)?;
//! assert!(packed.len() < 10_300 && file.len() > 115_000);
//!
//! let mut back = Vec::new();
//! Decoder::new(&packed[..], 1 << 20)?.read_to_end(&mut back)?;
//! assert!(back == file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Read, Write};

use umbel::internals::format::{self, Header};

use crate::ShareError;
use crate::body::{self, Body, Form, Pieces, Source};

/// The first bytes of every packed file.
pub const MAGIC: [u8; 8] = format::PACKED;

pub(crate) const FORM: Form = Form { magic: MAGIC, what: "packed file", fields: 0, digest: false };

/// Packs a filter's file.
///
/// Time: about 180 MB/s of the filter on one core. Memory: a few MiB.
pub struct Encoder<R> {
    source: Source<R>,
}

impl<R: Read> Encoder<R> {
    /// Reads and checks the header of a file of `length` bytes, which may be [signed](crate::sign).
    ///
    /// # Errors
    /// [`ShareError::Filter`], [`ShareError::Io`].
    pub fn new(source: R, length: u64) -> Result<Self, ShareError> {
        Ok(Self { source: Source::new(source, length)? })
    }

    /// Returns the header of the filter's file.
    pub fn header(&self) -> &Header {
        self.source.header()
    }

    /// Writes the packed file, front to back, and returns its length in bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new), also if the payload is damaged; do not use what was written then.
    pub fn write(mut self, mut out: impl Write) -> Result<u64, ShareError> {
        body::write(&mut self.source, FORM, &[], &mut out, |_| Ok(()))
    }
}

/// Reads the filter's file out of a packed one, front to back.
///
/// Do not use what was read before the end is reached without an error: only then all checksums are verified. Time:
/// about 170 MB/s of the filter on one core. Memory: a few MiB, whatever the packed file declares.
pub struct Decoder<R> {
    body: Body<R>,
    pieces: Pieces,
}

impl<R: Read> Decoder<R> {
    /// Reads and checks everything before the payload; the filter's file may have at most `most` bytes. 14 bytes of a
    /// packed file can make a MiB, so set a limit for files from strangers.
    ///
    /// # Errors
    /// [`ShareError::Unfolds`] above the limit; [`ShareError::Other`], [`ShareError::Version`],
    /// [`ShareError::HeaderDamaged`], [`ShareError::Truncated`], [`ShareError::Filter`], [`ShareError::Io`].
    pub fn new(source: R, most: u64) -> Result<Self, ShareError> {
        Ok(Self { body: Body::new(source, FORM, most)?, pieces: Pieces::default() })
    }

    /// Returns the length of the filter's file in bytes, its signature included.
    pub fn length(&self) -> u64 {
        self.body.length()
    }

    /// Returns the header of the filter's file.
    pub fn header(&self) -> &Header {
        self.body.header()
    }

    /// Returns whether the filter's file in it is [signed](crate::sign).
    pub fn is_signed(&self) -> bool {
        self.header().file_length().is_ok_and(|own| own < self.length())
    }
}

impl<R: Read> Read for Decoder<R> {
    /// Errors have the kind `InvalidData` and a [`ShareError`] inside.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.pieces.read(out, |piece| self.body.next(piece, |_| Ok(())))
    }
}
