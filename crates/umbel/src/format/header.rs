//! The header: what a file declares about itself.

use std::ops::Range;

use super::{MAGIC, VERSION, checksum};
use crate::Error;
use crate::hash::{Algorithm, Scheme};
use crate::plan::{Kind, MAX_BITS, Plan};

/// The header of an umbel file, its checksum verified.
///
/// ```text
///   0  magic, 8 bytes            32  key_id          u64     64  bits      u64
///   8  version         u16       40  payload_length  u64     72  probes    u32
///  10  kind            u16       48  planned_fpp     f64     76  zeros, 44 bytes
///  12  header_length   u32       56  planned_keys    u64    120  header_checksum u64
///  16  algorithm       u16
///  18  zeros, 6 bytes                          all numbers little-endian
///  24  seed            u64
/// ```
///
/// Of a scalable filter bytes 0 to 63 are the same, then come the links, zeros up to the last 8 of
/// `header_length` bytes, a multiple of 64, and there the checksum:
///
/// ```text
///  64  links  u32               72 + 40 i  link_keys   u64     96 + 40 i  link_bits    u64
///  68  zeros, 4 bytes           80 + 40 i  link_fpp    f64    104 + 40 i  link_probes  u32
///                               88 + 40 i  link_taken  u64    108 + 40 i  zeros, 4 bytes
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    bytes: Vec<u8>,
}

/// Where the links of a scalable filter begin, and bytes of each.
const LINKS: usize = 72;
const LINK: usize = 40;
/// Most bytes a header is believed to have before its checksum is verified.
const MOST: usize = 1 << 16;

impl Header {
    /// Bytes of the header of a blocked or classic filter; no header is shorter.
    pub const LENGTH: usize = 128;
    /// Most links of a scalable filter. Links double, and together have at most 2⁴⁸ bits, at least
    /// one a key: planned ones never come so far. Part of the format.
    pub(crate) const MOST_LINKS: usize = 48;

    pub(crate) fn new(plan: &Plan, scheme: Scheme) -> Self {
        let mut header = Self::begin(plan, scheme, Self::LENGTH, plan.bytes());
        header.put(64, &plan.bits.to_le_bytes());
        header.put(72, &plan.probes.to_le_bytes());
        header.end()
    }

    /// The header of a scalable filter: of each link its plan and the keys it has taken.
    pub(crate) fn of_links(plan: &Plan, scheme: Scheme, links: &[(Plan, u64)]) -> Self {
        let payload = links.iter().map(|(link, _)| link.bytes()).sum();
        let mut header = Self::begin(plan, scheme, length_with(links.len()), payload);
        header.put(64, &(links.len() as u32).to_le_bytes());
        for ((link, taken), at) in links.iter().zip((LINKS..).step_by(LINK)) {
            header.put(at, &link.keys.to_le_bytes());
            header.put(at + 8, &link.fpp.to_le_bytes());
            header.put(at + 16, &taken.to_le_bytes());
            header.put(at + 24, &link.bits.to_le_bytes());
            header.put(at + 32, &link.probes.to_le_bytes());
        }
        header.end()
    }

    /// What the headers of all kinds begin with.
    fn begin(plan: &Plan, scheme: Scheme, length: usize, payload: u64) -> Self {
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
        header
    }

    fn end(mut self) -> Self {
        let place = self.bytes.len() - 8;
        let sum = checksum(&self.bytes[..place], 0);
        self.put(place, &sum.to_le_bytes());
        self
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
        let (length, used) = match header.kind()? {
            Kind::Blocked | Kind::Classic => (Self::LENGTH, 76),
            Kind::Scalable => {
                let links = header.link_count();
                if !(1..=Self::MOST_LINKS).contains(&links) {
                    let found = links as u64;
                    return Err(Error::Field { field: "links", found, expected: "1 to 48" });
                }
                (length_with(links), LINKS + LINK * links)
            }
        };
        let found = u32::from_le_bytes(header.get(12));
        if found as usize != length {
            return Err(Error::Field {
                field: "header_length",
                found: u64::from(found),
                expected: "128, or of a scalable filter 80 and 40 for each link, rounded up to a multiple of 64",
            });
        }
        let mut zeros = vec![18..24, used..end];
        if header.kind()? == Kind::Scalable {
            zeros.push(68..72);
            zeros.extend((LINKS..used).step_by(LINK).map(|at| at + 36..at + 40));
        }
        let mut zeros = zeros.into_iter().flat_map(|range| &header.bytes[range]);
        if let Some(&byte) = zeros.find(|&&byte| byte != 0) {
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

    /// Where in the file the bits of each filter lie, of which a scalable one has several. For a
    /// header whose plan is believed.
    pub(crate) fn parts(&self) -> Result<Vec<Range<usize>>, Error> {
        if self.kind()? != Kind::Scalable {
            return Ok(vec![self.payload()]);
        }
        let mut start = self.bytes.len();
        let part = |(link, _): (Plan, u64)| {
            let part = start..start + link.bytes() as usize;
            start = part.end;
            part
        };
        Ok(self.links()?.into_iter().map(part).collect())
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
        let kind = self.kind()?;
        // Of a scalable filter those of the first link.
        let (bits, probes) =
            if kind == Kind::Scalable { (LINKS + 24, LINKS + 32) } else { (64, 72) };
        let plan = Plan {
            kind,
            keys: u64::from_le_bytes(self.get(56)),
            fpp: f64::from_le_bytes(self.get(48)),
            bits: u64::from_le_bytes(self.get(bits)),
            probes: u32::from_le_bytes(self.get(probes)),
        };
        plan.check(kind)?;
        let payload = match kind {
            Kind::Blocked | Kind::Classic => plan.bytes(),
            Kind::Scalable => self.checked_links(&plan)?,
        };
        if payload != self.payload_length() {
            return Err(Error::Field {
                field: "payload_length",
                found: self.payload_length(),
                expected: "64 bytes for each 512 bits or part of them",
            });
        }
        Ok(plan)
    }

    /// The links of a scalable filter: their plans, and the keys they have taken.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); [`Error::PlanKind`] when it is of another kind.
    pub(crate) fn links(&self) -> Result<Vec<(Plan, u64)>, Error> {
        let plan = self.plan()?;
        if plan.kind != Kind::Scalable {
            return Err(Error::PlanKind { expected: Kind::Scalable, found: plan.kind });
        }
        Ok((0..self.link_count()).map(|index| self.link(index)).collect())
    }

    fn link(&self, index: usize) -> (Plan, u64) {
        let at = LINKS + LINK * index;
        let plan = Plan {
            kind: Kind::Blocked,
            keys: u64::from_le_bytes(self.get(at)),
            fpp: f64::from_le_bytes(self.get(at + 8)),
            bits: u64::from_le_bytes(self.get(at + 24)),
            probes: u32::from_le_bytes(self.get(at + 32)),
        };
        (plan, u64::from_le_bytes(self.get(at + 16)))
    }

    /// Checks every link of a scalable filter of this plan; gives the bytes of all.
    fn checked_links(&self, plan: &Plan) -> Result<u64, Error> {
        let count = self.link_count();
        let mut bits = 0;
        for index in 0..count {
            let (link, taken) = self.link(index);
            link.check(Kind::Blocked)?;
            let right = |field, found, right, expected| {
                if right { Ok(()) } else { Err(Error::Field { field, found, expected }) }
            };
            let goal = plan.link_goal(index as u32);
            let (keys, fpp) = goal.unwrap_or((0, 0.0));
            right("link_keys", link.keys, link.keys == keys, "the planned keys, doubled a link")?;
            let same = link.fpp.to_bits() == fpp.to_bits();
            right("link_fpp", link.fpp.to_bits(), same, "the planned fpp, halved for each link")?;
            // The first link may be empty; another was added for a key.
            let (least, most) = match index + 1 == count {
                true => (u64::from(index > 0), link.keys),
                false => (link.keys, link.keys),
            };
            let full = (least..=most).contains(&taken);
            right("link_taken", taken, full, "the link's keys, or in the last link 1 to that")?;
            bits += link.bits;
        }
        // At most 48 links of 2⁴⁸ bits: no overflow above.
        if bits > MAX_BITS {
            return Err(Error::TooLarge { bits: bits as f64 });
        }
        Ok(bits / 8)
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

    fn kind(&self) -> Result<Kind, Error> {
        Kind::from_id(u16::from_le_bytes(self.get(10)))
    }

    fn link_count(&self) -> usize {
        u32::from_le_bytes(self.get(64)) as usize
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("a field lies inside the header")
    }
}

/// Bytes of the header of a scalable filter.
fn length_with(links: usize) -> usize {
    (LINKS + LINK * links + 8).next_multiple_of(64)
}
