//! The header: what a file declares about itself.

use std::ops::Range;

use super::{MAGIC, VERSION, checksum};
use crate::Error;
use crate::hash::{Algorithm, Scheme};
use crate::plan::{Kind, Plan};

/// The header of an umbel file, its checksum verified.
///
/// ```text
///   0  magic, 8 bytes            32  key_id          u64     72  probes    u32
///   8  version         u16       40  payload_length  u64     76  zeros, 44 bytes
///  10  kind            u16       48  planned_fpp     f64    120  header_checksum u64
///  12  header_length   u32       56  planned_keys    u64
///  16  algorithm       u16       64  bits            u64    all numbers little-endian
///  18  zeros, 6 bytes
///  24  seed            u64
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Header {
    bytes: [u8; Self::LENGTH],
}

impl Header {
    /// Bytes of the header of the kinds of this release.
    pub const LENGTH: usize = 128;
    const CHECKSUM: usize = Self::LENGTH - 8;

    pub(crate) fn new(plan: &Plan, scheme: Scheme) -> Self {
        let mut header = Self { bytes: [0; Self::LENGTH] };
        header.put(0, &MAGIC);
        header.put(8, &VERSION.to_le_bytes());
        header.put(10, &(plan.kind as u16).to_le_bytes());
        header.put(12, &(Self::LENGTH as u32).to_le_bytes());
        header.put(16, &(scheme.algorithm as u16).to_le_bytes());
        header.put(24, &scheme.seed.to_le_bytes());
        header.put(32, &scheme.key_id.to_le_bytes());
        header.put(40, &plan.bytes().to_le_bytes());
        header.put(48, &plan.fpp.to_le_bytes());
        header.put(56, &plan.keys.to_le_bytes());
        header.put(64, &plan.bits.to_le_bytes());
        header.put(72, &plan.probes.to_le_bytes());
        let sum = checksum(&header.bytes[..Self::CHECKSUM], 0);
        header.put(Self::CHECKSUM, &sum.to_le_bytes());
        header
    }

    /// Checks magic, version, length and checksum, in this order; the fields come after.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(Error::NotUmbel { found: magic.to_vec() });
        }
        let Some(bytes) = bytes.first_chunk::<{ Self::LENGTH }>() else {
            return Err(Error::Length { expected: Self::LENGTH as u64, found: bytes.len() as u64 });
        };
        let header = Self { bytes: *bytes };
        let found = u16::from_le_bytes(header.get(8));
        if found != VERSION {
            return Err(Error::Version { found });
        }
        let length = u32::from_le_bytes(header.get(12));
        let kind = Kind::from_id(u16::from_le_bytes(header.get(10)));
        if u64::from_le_bytes(header.get(Self::CHECKSUM)) != checksum(&bytes[..Self::CHECKSUM], 0) {
            // Of a newer kind the header may be longer and its checksum stand elsewhere. Both fields
            // must say so: a single damaged one is damage.
            return match kind {
                Err(unknown) if length as usize != Self::LENGTH => Err(unknown),
                _ => Err(Error::HeaderDamaged),
            };
        }
        if length as usize != Self::LENGTH {
            return Err(Error::Field {
                field: "header_length",
                found: u64::from(length),
                expected: "128",
            });
        }
        if let Some(&byte) =
            bytes[18..24].iter().chain(&bytes[76..Self::CHECKSUM]).find(|&&byte| byte != 0)
        {
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
        Self::LENGTH..Self::LENGTH + self.payload_length() as usize
    }

    /// Bytes of the whole file.
    pub(crate) fn file_length(&self) -> Result<u64, Error> {
        let payload = self.payload_length();
        super::file_length(Self::LENGTH as u64, payload).ok_or(Error::Field {
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
        let plan = Plan {
            kind: Kind::from_id(u16::from_le_bytes(self.get(10)))?,
            keys: u64::from_le_bytes(self.get(56)),
            fpp: f64::from_le_bytes(self.get(48)),
            bits: u64::from_le_bytes(self.get(64)),
            probes: u32::from_le_bytes(self.get(72)),
        };
        plan.check(plan.kind)?;
        if plan.bytes() != self.payload_length() {
            return Err(Error::Field {
                field: "payload_length",
                found: self.payload_length(),
                expected: "64 bytes for each 512 bits or part of them",
            });
        }
        Ok(plan)
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

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("a field lies inside the header")
    }
}
