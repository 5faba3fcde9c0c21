//! The header: what a file declares about itself.

use std::ops::Range;

use super::{Body, Fields, MAGIC, VERSION, checksum};
use crate::Error;
use crate::filter::{self, FileLayout};
use crate::hash::{Algorithm, Scheme};
use crate::plan::{Kind, Plan};

/// The header of an umbel file, its checksum verified.
///
/// ```text
///   0  magic, 8 bytes            24  seed            u64     64  fields of the kind
///   8  version         u16       32  key_id          u64         zeros
///  10  kind            u16       40  payload_length  u64     header_length − 8
///  12  header_length   u32       48  planned_fpp     f64         header_checksum  u64
///  16  algorithm       u16       56  planned_keys    u64
///  18  zeros, 6 bytes                                all numbers little-endian
/// ```
///
/// What stands from byte 64 on is known to the kind alone, in its module under `filter`.
#[derive(Clone, Debug)]
pub struct Header {
    bytes: Vec<u8>,
}

/// Most bytes a header may have.
const MOST: usize = 1 << 16;

impl Header {
    /// Bytes of the shortest header.
    pub const LENGTH: usize = 128;
    /// Bytes that the headers of all kinds share.
    pub(super) const COMMON: usize = 64;

    /// The header of a filter with these fields of its kind, and a payload of so many bytes.
    ///
    /// # Panics
    /// When the fields have more than 64 KiB.
    pub(crate) fn new(plan: &Plan, scheme: Scheme, body: &Body, payload: u64) -> Self {
        let length = Self::length_for(body.0.len());
        assert!(length <= MOST, "a header has at most 64 KiB");
        let mut header = Self { bytes: vec![0; length] };
        header.put(0, &MAGIC);
        header.put(8, &VERSION.to_le_bytes());
        header.put(10, &(plan.kind as u16).to_le_bytes());
        header.put(12, &(length as u32).to_le_bytes());
        header.put(16, &(scheme.algorithm as u16).to_le_bytes());
        header.put(24, &scheme.seed.to_le_bytes());
        header.put(32, &scheme.key_id.to_le_bytes());
        header.put(40, &payload.to_le_bytes());
        header.put(48, &plan.fpp.to_le_bytes());
        header.put(56, &plan.keys.to_le_bytes());
        header.put(Self::COMMON, &body.0);
        let sum = checksum(&header.bytes[..length - 8], 0);
        header.put(length - 8, &sum.to_le_bytes());
        header
    }

    /// Bytes of a header whose kind has `body` bytes of fields.
    pub(super) fn length_for(body: usize) -> usize {
        (Self::COMMON + body + 8).next_multiple_of(64).max(Self::LENGTH)
    }

    /// Bytes of the header that begins with `bytes`, as far as they tell: to be read before it is
    /// parsed. 64 KiB at most.
    ///
    /// A kind whose headers all have one length has its checksum there whatever `header_length` says.
    pub(super) fn declared_length(bytes: &[u8]) -> usize {
        let Some(start) = bytes.first_chunk::<{ Self::LENGTH }>() else { return Self::LENGTH };
        let fixed = matches!(
            Kind::from_id(u16::from_le_bytes([start[10], start[11]])),
            Ok(Kind::Blocked | Kind::Classic)
        );
        let length = u32::from_le_bytes([start[12], start[13], start[14], start[15]]) as usize;
        let possible = (Self::LENGTH..=MOST).contains(&length) && length.is_multiple_of(64);
        if possible && !fixed { length } else { Self::LENGTH }
    }

    /// Checks magic, version, length and checksum, in this order, then what is fixed by the kind; the
    /// other fields come after. `bytes` may go on after the header.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(Error::NotUmbel { found: magic.to_vec() });
        }
        let whole = |length: usize| {
            let found = bytes.len() as u64;
            bytes.get(..length).ok_or(Error::Length { expected: length as u64, found })
        };
        let version = whole(Self::LENGTH)?[8..10].try_into().expect("two bytes");
        let found = u16::from_le_bytes(version);
        if found != VERSION {
            return Err(Error::Version { found });
        }
        let header = Self { bytes: whole(Self::declared_length(bytes))?.to_vec() };
        let end = header.bytes.len() - 8;
        if u64::from_le_bytes(header.get(end)) != checksum(&header.bytes[..end], 0) {
            return Err(Error::HeaderDamaged);
        }
        header.kind()?;
        let found = u32::from_le_bytes(header.get(12));
        if found as usize != header.bytes.len() {
            return Err(Error::Field {
                field: "header_length",
                found: u64::from(found),
                expected: "a multiple of 64 from 128 to 65536, of a blocked or classic filter 128",
            });
        }
        if let Some(&byte) = header.bytes[18..24].iter().find(|&&byte| byte != 0) {
            return Err(Error::Field {
                field: "zeros",
                found: u64::from(byte),
                expected: "0 in reserved bytes",
            });
        }
        Ok(header)
    }

    /// The header's bytes, as they stand in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of the payload.
    pub fn payload_length(&self) -> u64 {
        u64::from_le_bytes(self.get(40))
    }

    /// Where the payload lies in the file.
    pub(crate) fn payload(&self) -> Range<usize> {
        let start = self.bytes.len();
        start..start + self.payload_length() as usize
    }

    /// Where in the file the parts of the payload are, each from a multiple of 64 on.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when they end beyond what this machine can address.
    pub(crate) fn parts(&self) -> Result<Vec<Range<usize>>, Error> {
        let mut start = self.bytes.len();
        let part = |bytes: u64| {
            let end = usize::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
            let part = start..end.ok_or(Error::OutOfMemory { bytes })?;
            start = part.end;
            Ok(part)
        };
        self.layout()?.parts.into_iter().map(part).collect()
    }

    /// Bytes of the whole file.
    pub(crate) fn file_length(&self) -> Result<u64, Error> {
        let payload = self.payload_length();
        super::file_length(self.bytes.len() as u64, payload).ok_or(Error::Field {
            field: "payload_length",
            found: payload,
            expected: "a length that a file can have",
        })
    }

    /// The plan the filter was made by.
    ///
    /// # Errors
    /// [`Error::UnknownKind`]; [`Error::Field`] and the errors of plans for impossible numbers.
    pub fn plan(&self) -> Result<Plan, Error> {
        Ok(self.layout()?.plan)
    }

    /// What the kind's fields tell, checked, and the payload's length against it.
    fn layout(&self) -> Result<FileLayout, Error> {
        let layout = filter::file_layout(self)?;
        let bytes = layout.parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part));
        if bytes != Some(self.payload_length()) {
            return Err(Error::Field {
                field: "payload_length",
                found: self.payload_length(),
                expected: "64 bytes for each 512 bits or part of them",
            });
        }
        Ok(layout)
    }

    /// The fields that the kind alone has.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields::of(self)
    }

    /// The rate promised.
    pub(crate) fn planned_fpp(&self) -> f64 {
        f64::from_le_bytes(self.get(48))
    }

    /// The keys it is promised for.
    pub(crate) fn planned_keys(&self) -> u64 {
        u64::from_le_bytes(self.get(56))
    }

    /// The scheme that made the hashes.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`]; [`Error::Field`] when a seed stands beside a key or a key id
    /// beside a seed.
    pub fn scheme(&self) -> Result<Scheme, Error> {
        let algorithm = Algorithm::from_id(u16::from_le_bytes(self.get(16)))?;
        let (seed, key_id) = (u64::from_le_bytes(self.get(24)), u64::from_le_bytes(self.get(32)));
        let zero = |field, found| match found {
            0 => Ok(()),
            found => Err(Error::Field { field, found, expected: "0 for this algorithm" }),
        };
        match algorithm {
            Algorithm::Xxh3 => zero("key_id", key_id)?,
            Algorithm::Sip13 => zero("seed", seed)?,
        }
        Ok(Scheme { algorithm, seed, key_id })
    }

    /// Its kind.
    ///
    /// # Errors
    /// [`Error::UnknownKind`].
    pub(crate) fn kind(&self) -> Result<Kind, Error> {
        Kind::from_id(u16::from_le_bytes(self.get(10)))
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("a field lies inside the header")
    }
}
