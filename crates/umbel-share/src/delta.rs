//! Deltas: what changed between two versions of a filter, and how to make the new one from the old one.
//!
//! The bits of both payloads are compared (XOR), and those that differ are coded as in a [packed file](crate::pack). A
//! delta names the filter it was made from by its checksums, and is refused for any other. It ends with the SHA-256 of
//! the file that it makes: if you trust the signer of a delta, you can trust its result, whatever the base was.
//!
//! ```
//! use std::io::{Cursor, Read};
//! use umbel::{Blocked, Filter};
//! use umbel_share::delta::{Decoder, Encoder};
//!
//! let mut filter = Blocked::new(110_000, 0.01)?;
//! filter.insert_all(&(0..100_000).collect::<Vec<u64>>());
//! let old = filter.to_bytes();
//! filter.insert_all(&(100_000..101_000).collect::<Vec<u64>>());
//! let new = filter.to_bytes();
//!
//! let file = |bytes: &[u8]| (Cursor::new(bytes.to_vec()), bytes.len() as u64);
//! let mut delta = Vec::new();
//! Encoder::new(file(&old), file(&new))?.write(&mut delta)?;
//! assert!(15 * delta.len() < new.len());
//!
//! let mut patched = Vec::new();
//! Decoder::new(file(&old), &delta[..], 1 << 20)?.read_to_end(&mut patched)?;
//! assert!(patched == new);
//! // Not twice.
//! assert!(Decoder::new(file(&new), &delta[..], 1 << 20).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Read, Seek, Write};

use umbel::Kind;
use umbel::internals::format::{self, Header, Reader};

use crate::ShareError;
use crate::body::{self, Body, Form, Id, Pieces, Source};

/// The first bytes of every delta.
pub const MAGIC: [u8; 8] = format::DELTA;

/// Its own fields: `base_header`, `base_table` and `result_table`, each a u64.
pub(crate) const FORM: Form = Form { magic: MAGIC, what: "delta", fields: 24, digest: true };

/// Makes the delta from an old version of a filter to a new one.
///
/// Time: as [packing](crate::pack::Encoder), plus reading the old file. Memory: a few MiB.
pub struct Encoder<O, N> {
    old: Source<O>,
    new: Source<N>,
}

impl<O: Read + Seek, N: Read + Seek> Encoder<O, N> {
    /// Reads and compares the headers of two files, each with its length; they may be [signed](crate::sign).
    ///
    /// # Errors
    /// [`ShareError::Unlike`] unless kind, hash scheme and size are equal; a new scalable filter may be larger, as it grows.
    /// [`ShareError::Filter`], [`ShareError::Io`].
    pub fn new(old: (O, u64), new: (N, u64)) -> Result<Self, ShareError> {
        let (old, new) = (Source::new(old.0, old.1)?, Source::new(new.0, new.1)?);
        check_alike(old.header(), new.header())?;
        Ok(Self { old, new })
    }

    /// Writes the delta, front to back, and returns its length in bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new), also if a payload is damaged; do not use what was written then.
    pub fn write(mut self, mut out: impl Write) -> Result<u64, ShareError> {
        let (base, result) = (self.old.id()?, self.new.id()?);
        let fields = [base.header, base.table, result.table].map(u64::to_le_bytes).concat();
        let (mut old, mut new) = (Mask::new(self.old), self.new);
        let written = body::write(&mut new, FORM, &fields, &mut out, |piece| old.apply(piece))?;
        old.finish()?;
        Ok(written)
    }
}

/// Makes the new version of a filter from the old one and a delta, front to back.
///
/// Do not use what was read before the end is reached without an error: only then all checksums are verified. Memory: a
/// few MiB, whatever the delta declares.
pub struct Decoder<O, D> {
    old: Option<Mask<O>>,
    body: Body<D>,
    pieces: Pieces,
}

impl<O: Read + Seek, D: Read> Decoder<O, D> {
    /// Reads and checks everything before the payload, and whether the delta was made from this file, with its length.
    /// The new file may have at most `most` bytes: a small delta of a growing filter can make a large file.
    ///
    /// # Errors
    /// [`ShareError::OtherBase`], [`ShareError::AlreadyPatched`]; for the delta, the errors of
    /// [`pack::Decoder::new`](crate::pack::Decoder::new); for the old file [`ShareError::Filter`]; [`ShareError::Io`].
    pub fn new(old: (O, u64), delta: D, most: u64) -> Result<Self, ShareError> {
        let body = Body::new(delta, FORM, most)?;
        let mut old = Source::new(old.0, old.1)?;
        let (base, result) = ids(&body);
        let found = old.id()?;
        if found == result && found != base {
            return Err(ShareError::AlreadyPatched);
        }
        if found != base {
            let Id { header: expected, table: expected_table } = base;
            let Id { header: found, table: found_table } = found;
            return Err(ShareError::OtherBase { expected, expected_table, found, found_table });
        }
        check_alike(old.header(), body.header())?;
        Ok(Self { old: Some(Mask::new(old)), body, pieces: Pieces::default() })
    }

    /// Returns the length of the new file in bytes, its signature included.
    pub fn length(&self) -> u64 {
        self.body.length()
    }

    /// Returns the header of the new file.
    pub fn header(&self) -> &Header {
        self.body.header()
    }
}

impl<O: Read + Seek, D: Read> Read for Decoder<O, D> {
    /// Errors have the kind `InvalidData` and a [`ShareError`] inside; [`ShareError::OtherResult`] if the digest of the
    /// result differs.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Self { old, body, pieces } = self;
        pieces.read(out, |piece| {
            let Some(base) = old else { return Ok(()) };
            body.next(piece, |piece| base.apply(piece))?;
            if piece.is_empty()
                && let Some(base) = old.take()
            {
                base.finish()?;
            }
            Ok(())
        })
    }
}

/// A delta's base and result.
fn ids<D: Read>(body: &Body<D>) -> (Id, Id) {
    let fields = body.fields();
    let field = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().expect("8 bytes"));
    let header = body.header().bytes().last_chunk().expect("a header has more bytes");
    let result = Id { header: u64::from_le_bytes(*header), table: field(16) };
    (Id { header: field(0), table: field(8) }, result)
}

/// Checks that a delta between two filters makes sense.
fn check_alike(old: &Header, new: &Header) -> Result<(), ShareError> {
    let alike = |field, alike: bool| if alike { Ok(()) } else { Err(ShareError::Unlike { field }) };
    let kind = old.kind()?;
    alike("kind", kind == new.kind()?)?;
    alike("hash scheme", old.scheme()? == new.scheme()?)?;
    let (old, new) = (old.payload_length(), new.payload_length());
    alike("size", old == new || (kind == Kind::Scalable && old < new))
}

/// Compiled (and optimized) here, not in the crates that read files.
fn xor(new: &mut [u8], old: &[u8]) {
    new.iter_mut().zip(old).for_each(|(new, old)| *new ^= old);
}

/// The old payload, which is combined with the new one piece by piece. Zeros follow its end.
struct Mask<R> {
    payload: Reader<R>,
    left: u64,
    piece: Vec<u8>,
}

impl<R: Read> Mask<R> {
    fn new(old: Source<R>) -> Self {
        let left = old.header().payload_length();
        Self { payload: old.into_payload(), left, piece: Vec::new() }
    }

    /// Combines the next bytes of the old payload with a piece of the new one.
    fn apply(&mut self, piece: &mut [u8]) -> Result<(), ShareError> {
        self.piece.resize(self.left.min(piece.len() as u64) as usize, 0);
        self.payload.read(&mut self.piece)?;
        self.left -= self.piece.len() as u64;
        xor(piece, &self.piece);
        Ok(())
    }

    /// Checks the old payload against its checksums.
    fn finish(self) -> Result<(), ShareError> {
        Ok(self.payload.finish().map(drop)?)
    }
}
