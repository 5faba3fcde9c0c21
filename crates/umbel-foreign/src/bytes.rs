//! The content of files: owned, and read field by field without trusting it.

use std::ops::{Deref, DerefMut, Range};

use umbel::{Block, Blocks};

use crate::{Error, Format, Relocate, Value};

/// Bytes of a cache line, the unit of allocation.
const LINE: usize = size_of::<Block>();

/// The maximum number of probes accepted from a file whose field holds more: far above what any rate needs, far below
/// where one look-up in a damaged file would take seconds.
pub(crate) const MOST_PROBES: u32 = 1 << 16;

/// The owned content of a file. Allocated here, its array of bits starts a cache line, so no block spans two, and is in
/// huge pages if it is large. A vector is used as it is, without a copy.
#[derive(Clone)]
pub struct Bytes(Memory);

#[derive(Clone)]
enum Memory {
    Aligned { blocks: Blocks, start: usize, len: usize },
    Taken(Vec<u8>),
}

impl Bytes {
    /// Allocates `len` zeroed bytes, with the byte at `aligned` at an address that is a multiple of 64.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] instead of an abort.
    pub fn zeroed(len: usize, aligned: usize) -> Result<Self, Error> {
        let start = aligned.wrapping_neg() % LINE;
        let bytes = (len as u64).saturating_add(start as u64);
        // Nothing else can fail here.
        let blocks = Blocks::zeroed(bytes.div_ceil(LINE as u64))
            .map_err(|_| Error::OutOfMemory { bytes })?;
        Ok(Self(Memory::Aligned { blocks, start, len }))
    }

    /// Allocates `len` zeroed bytes for bits that are read one by one, which gain nothing by starting a cache line: a
    /// small array is a vector, without an additional byte.
    pub(crate) fn zeroed_bits(len: usize) -> Result<Self, Error> {
        /// Up to here, allocators keep equal sizes side by side, and the space around a small array adds up.
        const SMALL: usize = 14 << 10;
        if len > SMALL {
            return Self::zeroed(len, 0);
        }
        let mut bits = Vec::new();
        bits.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len as u64 })?;
        bits.resize(len, 0);
        Ok(bits.into())
    }

    /// Copies bits that are read one by one.
    pub(crate) fn copy_of_bits(content: &[u8]) -> Result<Self, Error> {
        let mut copy = Self::zeroed_bits(content.len())?;
        copy.copy_from_slice(content);
        Ok(copy)
    }

    /// Moves a vector's memory; other memory stays, because it is aligned to cache lines.
    pub(crate) fn relocate(&mut self, to: &mut impl Relocate) {
        if let Memory::Taken(content) = &mut self.0 {
            to.vector(content);
        }
    }

    /// Copies `content`, aligned at the byte `aligned`.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn copy_of(content: &[u8], aligned: usize) -> Result<Self, Error> {
        let mut copy = Self::zeroed(content.len(), aligned)?;
        copy.copy_from_slice(content);
        Ok(copy)
    }
}

/// Uses the vector as it is, wherever it starts.
impl From<Vec<u8>> for Bytes {
    fn from(content: Vec<u8>) -> Self {
        Self(Memory::Taken(content))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Aligned { blocks, start, len } => &blocks.as_bytes()[*start..][..*len],
            Memory::Taken(content) => content,
        }
    }
}

impl DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Aligned { blocks, start, len } => &mut blocks.as_bytes_mut()[*start..][..*len],
            Memory::Taken(content) => content,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// Reads fields from the front of a file's content; a missing one is an error that names it.
pub(crate) struct Reader<'a> {
    format: Format,
    content: &'a [u8],
    at: usize,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $from:ident;)*) => {$(
        $(#[$doc])*
        #[allow(dead_code)] // one set of names for all formats
        pub(crate) fn $name(&mut self) -> Result<$type, Error> {
            Ok(<$type>::$from(self.array()?))
        }
    )*};
}

impl<'a> Reader<'a> {
    pub(crate) fn new(format: Format, content: &'a [u8]) -> Self {
        Self { format, content, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> usize {
        self.content.len() - self.at
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let taken = self.content[self.at..].get(..len).ok_or_else(|| Error::Length {
            format: self.format,
            expected: (self.at as u64).saturating_add(len as u64),
            found: self.content.len() as u64,
        })?;
        self.at += len;
        Ok(taken)
    }

    /// Reads a field; an error that names it unless it is `right`.
    pub(crate) fn checked<T: Copy + Into<Value>>(
        &mut self,
        field: &'static str,
        read: fn(&mut Self) -> Result<T, Error>,
        right: impl FnOnce(T) -> bool,
        expected: &'static str,
    ) -> Result<T, Error> {
        let found = read(self)?;
        check(self.format, field, found, right(found), expected)?;
        Ok(found)
    }

    /// A number of seven bits a byte, the lowest first.
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let number = read_varint(|| self.u8())?;
        number.ok_or_else(|| refuse(self.format, "varint", "more than 10 bytes", "at most 10"))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.take(N)?.try_into().expect("as many as asked for"))
    }

    fields! {
        u8: u8 = from_le_bytes;
        u16_le: u16 = from_le_bytes;
        u16_be: u16 = from_be_bytes;
        u32_le: u32 = from_le_bytes;
        u32_be: u32 = from_be_bytes;
        u64_le: u64 = from_le_bytes;
        u64_be: u64 = from_be_bytes;
        i32_le: i32 = from_le_bytes;
        i32_be: i32 = from_be_bytes;
        f64_le: f64 = from_le_bytes;
    }

    /// The range of the array of bits if it has `len` bytes and exactly `tail` bytes follow.
    pub(crate) fn rest(&self, len: u64, tail: u64) -> Result<Range<usize>, Error> {
        let (start, found) = (self.at as u64, self.content.len() as u64);
        let expected = start.saturating_add(len).saturating_add(tail);
        if found != expected {
            return Err(Error::Length { format: self.format, expected, found });
        }
        Ok(self.at..self.content.len() - tail as usize)
    }
}

/// Reads a number without a sign; `None` if it has more than ten bytes.
pub fn read_varint<E>(mut next: impl FnMut() -> Result<u8, E>) -> Result<Option<u64>, E> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The number with a sign that one without stands for: 0, -1, 1, -2 and so on.
pub fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Appends a number without a sign: seven bits per byte, the lowest first.
pub fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The error of an invalid field of a file.
pub(crate) fn refuse(
    format: Format,
    field: &'static str,
    found: impl Into<Value>,
    expected: &'static str,
) -> Error {
    Error::Field { format, field, found: found.into(), expected }
}

/// Returns an error for a field unless it is `right`.
pub(crate) fn check(
    format: Format,
    field: &'static str,
    found: impl Into<Value>,
    right: bool,
    expected: &'static str,
) -> Result<(), Error> {
    if right { Ok(()) } else { Err(refuse(format, field, found, expected)) }
}

/// Returns an error if a filter with this many bytes exceeds its limit.
pub(crate) fn check_limit(bytes: u64, limit: u64) -> Result<(), Error> {
    if bytes > limit { Err(Error::GrowthLimit { bytes, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_aligned_where_asked() {
        for aligned in [0, 1, 6, 17, 63, 64, 100] {
            let mut bytes = Bytes::copy_of(&[7; 200], aligned).unwrap();
            assert_eq!(bytes.len(), 200);
            assert_eq!((bytes.as_ptr() as usize + aligned) % 64, 0);
            bytes[199] = 1;
            assert_eq!(bytes.clone()[198..], [7, 1]);
        }
        for len in [0, 1, 144, 14 << 10, (14 << 10) + 1] {
            assert_eq!(*Bytes::copy_of_bits(&vec![7; len]).unwrap(), vec![7; len]);
        }
        let vector = vec![7; 200];
        let place = vector.as_ptr();
        assert_eq!(Bytes::from(vector).as_ptr(), place, "as it is");
    }

    #[test]
    fn a_reader_never_runs_over_the_end() {
        let mut reader = Reader::new(Format::Guava, &[1, 0, 2, 0, 0, 3]);
        assert_eq!(reader.u16_le().unwrap(), 1);
        assert_eq!(reader.u16_be().unwrap(), 0x200);
        assert!(matches!(reader.u32_be(), Err(Error::Length { expected: 8, found: 6, .. })));
        assert_eq!((reader.at(), reader.left()), (4, 2));
        assert_eq!(reader.rest(1, 1).unwrap(), 4..5);
        assert!(reader.rest(u64::MAX, 1).is_err() && reader.rest(1, 0).is_err());
        assert!(reader.take(usize::MAX).is_err());
    }
}
