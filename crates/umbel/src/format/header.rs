//! The header: what a file declares about itself.

use core::ops::Range;

use super::{FileError, KeyDescription, MAGIC, VERSION, checksum};
#[cfg(feature = "mmap")]
use crate::error::OutOfMemory;
use crate::error::{FieldError, check_field};
use crate::hash::{Algorithm, Scheme};
use crate::plan::{Kind, Plan};
use crate::prelude::*;

/// The header of an umbel file, its checksum verified.
///
/// ```text
///   0  magic, 8 bytes            24  seed            u64     64  fields of the kind
///   8  version         u16       32  key_id          u64         zeros
///  10  kind            u16       40  payload_length  u64     header_length − 8
///  12  header_length   u32       48  planned_fpp     f64         header_checksum  u64
///  16  algorithm       u16       56  planned_keys    u64
///  18  zeros, 2 bytes                                all numbers little-endian
///  20  description_length  u32
/// ```
///
/// The fields from byte 64 on are known only to the kind's module under `kinds`. A description of the keys, of
/// `description_length` bytes, directly precedes the checksum.
#[derive(Clone, Debug)]
pub struct Header {
    bytes: Vec<u8>,
}

/// The maximum bytes of a header.
const MOST: usize = 1 << 17;

impl Header {
    /// The bytes of the shortest header.
    pub const LENGTH: usize = 128;
    /// The bytes that the headers of all kinds share.
    pub(super) const COMMON: usize = 64;

    /// Makes the header of a filter with these fields of its kind, and with the payload length given.
    ///
    /// # Panics
    /// If the fields and the description have more than some 128 KiB.
    pub(crate) fn new(
        plan: &Plan,
        scheme: Scheme,
        description: &KeyDescription,
        body: &[u8],
        payload: u64,
    ) -> Self {
        let description = description.encode();
        let length = Self::length_for(body.len() + description.len());
        assert!(length <= MOST, "a header has at most 128 KiB");
        let mut header = Self { bytes: vec![0; length] };
        header.put(0, &MAGIC);
        header.put(8, &VERSION.to_le_bytes());
        header.put(10, &(plan.kind() as u16).to_le_bytes());
        header.put(12, &(length as u32).to_le_bytes());
        header.put(16, &(scheme.algorithm as u16).to_le_bytes());
        header.put(20, &(description.len() as u32).to_le_bytes());
        header.put(24, &scheme.seed.to_le_bytes());
        header.put(32, &scheme.key_id.to_le_bytes());
        header.put(40, &payload.to_le_bytes());
        header.put(48, &plan.fpp.to_le_bytes());
        header.put(56, &plan.keys.to_le_bytes());
        header.put(Self::COMMON, body);
        header.put(length - 8 - description.len(), &description);
        let sum = checksum(&header.bytes[..length - 8], 0);
        header.put(length - 8, &sum.to_le_bytes());
        header
    }

    /// The length in bytes of a header whose kind has `body` bytes of fields.
    pub(super) fn length_for(body: usize) -> usize {
        (Self::COMMON + body + 8).next_multiple_of(64).max(Self::LENGTH)
    }

    /// The length in bytes of the header that begins with `bytes`, if they show it, for reading it before it is parsed.
    /// At most 128 KiB.
    pub(crate) fn declared_length(bytes: &[u8]) -> usize {
        let Some(start) = bytes.first_chunk::<{ Self::LENGTH }>() else { return Self::LENGTH };
        let length = u32::from_le_bytes([start[12], start[13], start[14], start[15]]) as usize;
        let possible = length.is_multiple_of(64) && (Self::LENGTH..=MOST).contains(&length);
        if possible { length } else { Self::LENGTH }
    }

    /// Checks magic, version, length and checksum, in this order, then the fields that all kinds share; the kind checks
    /// its own fields later. `bytes` may continue after the header.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(FileError::NotUmbel(magic.to_vec()));
        }
        let whole = |length: usize| {
            let found = bytes.len() as u64;
            bytes.get(..length).ok_or(FileError::Length(length as u64, found))
        };
        let start = whole(Self::LENGTH)?;
        let found = u16::from_le_bytes([start[8], start[9]]);
        if found != VERSION {
            return Err(FileError::Version(found));
        }
        let header = Self { bytes: whole(Self::declared_length(bytes))?.to_vec() };
        let end = header.bytes.len() - 8;
        if u64::from_le_bytes(header.get(end)) != checksum(&header.bytes[..end], 0) {
            return Err(FileError::HeaderDamaged);
        }
        header.kind()?;
        let found = u32::from_le_bytes(header.get(12));
        let right = found as usize == header.bytes.len();
        check_field("header_length", found.into(), right, "a multiple of 64 from 128 to 131072")?;
        let zeros = u16::from_le_bytes(header.get(18));
        check_field("zeros", u64::from(zeros), zeros == 0, "0 in reserved bytes")?;
        let described = header.description_length();
        let room = header.bytes.len() - Self::COMMON - 8;
        let fits = described <= room;
        check_field("description_length", described as u64, fits, "no more than the header has")?;
        Ok(header)
    }

    /// Bytes of the description of the keys.
    pub(super) fn description_length(&self) -> usize {
        u32::from_le_bytes(self.get(20)) as usize
    }

    /// Where the fields of the kind and the zeros after them end.
    pub(super) fn fields_end(&self) -> usize {
        self.bytes.len() - 8 - self.description_length()
    }

    /// The description of its keys, if the file has one.
    ///
    /// # Errors
    /// [`FileError::Field`].
    pub(crate) fn description(&self) -> Result<KeyDescription, FileError> {
        Ok(KeyDescription::parse(&self.bytes[self.fields_end()..self.bytes.len() - 8])?)
    }

    /// Returns the header's bytes, as in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of the payload.
    pub fn payload_length(&self) -> u64 {
        u64::from_le_bytes(self.get(40))
    }

    /// The range of the payload in the file.
    pub(crate) fn payload(&self) -> Range<usize> {
        let start = self.bytes.len();
        start..start + self.payload_length() as usize
    }

    /// The ranges in the file of parts with these lengths in bytes, each starting at a multiple of 64.
    ///
    /// # Errors
    /// [`FileError::OutOfMemory`] if they end beyond what this machine can address.
    #[cfg(feature = "mmap")]
    pub(crate) fn places(&self, parts: &[u64]) -> Result<Vec<Range<usize>>, FileError> {
        let mut start = self.bytes.len();
        let place = |&bytes: &u64| {
            let end = usize::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
            let place = start..end.ok_or(OutOfMemory { bytes })?;
            start = place.end;
            Ok(place)
        };
        parts.iter().map(place).collect()
    }

    /// Returns the bytes of the whole file.
    ///
    /// # Errors
    /// [`FileError::Field`] if it would exceed 2⁶⁴.
    pub fn file_length(&self) -> Result<u64, FileError> {
        let (field, found) = ("payload_length", self.payload_length());
        let impossible = FieldError { field, found, expected: "a length that a file can have" };
        Ok(super::file_length(self.bytes.len() as u64, found).ok_or(impossible)?)
    }

    /// The bytes of the whole file of a filter in memory.
    pub(crate) fn whole_length(&self) -> u64 {
        self.file_length().expect("there are fewer than 2⁶⁴")
    }

    /// The promised rate.
    pub(crate) fn planned_fpp(&self) -> f64 {
        f64::from_le_bytes(self.get(48))
    }

    /// The keys that the rate is promised for.
    pub(crate) fn planned_keys(&self) -> u64 {
        u64::from_le_bytes(self.get(56))
    }

    /// Returns the scheme that made the hashes.
    ///
    /// # Errors
    /// [`FileError::UnknownAlgorithm`]; [`FileError::Field`] if a keyed filter has a seed, or a filter that is not
    /// keyed has a key id.
    pub fn scheme(&self) -> Result<Scheme, FileError> {
        let id = u16::from_le_bytes(self.get(16));
        let algorithm = Algorithm::from_id(id).ok_or(FileError::UnknownAlgorithm(id))?;
        let (seed, key_id) = (u64::from_le_bytes(self.get(24)), u64::from_le_bytes(self.get(32)));
        let zero = |field, found| check_field(field, found, found == 0, "0 for this algorithm");
        match algorithm {
            Algorithm::Xxh3 | Algorithm::Caller | Algorithm::InMemory => zero("key_id", key_id)?,
            Algorithm::Sip13 => zero("seed", seed)?,
        }
        Ok(Scheme { algorithm, seed, key_id })
    }

    /// Returns its kind.
    ///
    /// # Errors
    /// [`FileError::UnknownKind`].
    pub fn kind(&self) -> Result<Kind, FileError> {
        let id = u16::from_le_bytes(self.get(10));
        Kind::from_id(id).ok_or(FileError::UnknownKind(id))
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("a field lies inside the header")
    }
}
