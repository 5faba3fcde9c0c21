//! The bytes of messages; FORMAT.md, section 22.
//!
//! ```text
//!  0  magic, 8 bytes          40  state  u64    the published filter: XXH3-64 of its file
//!  8  version   u16           48  keys   u64    of the cache now
//! 10  form      u16           56  came   u64    since that filter
//! 12  zeros, 4 bytes          64  left   u64    since that filter
//! 16  cache     u64           72  base   u64    deltas: the state before; else 0
//! 24  epoch     u64           80  body          full: a packed file; delta: frames; else nothing
//! 32  sequence  u64            …  XXH3-64 of all before
//! ```

use twox_hash::XxHash3_64;

use super::GREATEST_EPOCH;
use crate::ShareError;

/// The first bytes of every message.
pub const MAGIC: [u8; 8] = *b"\x89UMSUM\r\n";

const VERSION: u16 = 1;
/// Bytes before the body (part of the format).
pub(super) const HEADER: usize = 80;
const SUM: usize = 8;
const WHAT: &str = "message";

/// The purpose of a message (the numbers are part of the format).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Form {
    /// The published filter.
    Full = 1,
    /// The changes since the previously published filter.
    Delta = 2,
    /// Which filter is the published one.
    Beat = 3,
    /// Asks a cache for its filter; the other fields say which one the sender has.
    Request = 4,
}

/// Identifies a published filter of a cache: a later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) epoch: u64,
    pub(super) sequence: u64,
    pub(super) state: u64,
}

impl Point {
    /// The order of the filters of a cache.
    pub(super) fn order(&self) -> (u64, u64) {
        (self.epoch, self.sequence)
    }
}

/// The content of a cache compared with its published filter, in keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Keys it holds now.
    pub(super) keys: u64,
    /// Keys that came since.
    pub(super) came: u64,
    /// Keys that left since.
    pub(super) left: u64,
}

/// A message whose checksum was verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) form: Form,
    /// The number of the message within its cache's epoch: later ones have greater numbers. 0 in requests.
    pub(super) number: u32,
    pub(super) cache: u64,
    pub(super) point: Point,
    pub(super) changes: Changes,
    pub(super) base: u64,
    pub(super) body: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let Point { epoch, sequence, state } = self.point;
        let Changes { keys, came, left } = self.changes;
        let start = [VERSION, self.form as u16].map(u16::to_le_bytes);
        let fields = [self.cache, epoch, sequence, state, keys, came, left, self.base];
        let mut bytes = Vec::with_capacity(HEADER + self.body.len() + SUM);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(start.as_flattened());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(fields.map(u64::to_le_bytes).as_flattened());
        bytes.extend_from_slice(self.body);
        let sum = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ShareError> {
        let magic = &bytes[..bytes.len().min(8)];
        if magic != MAGIC {
            return Err(ShareError::Other { expected: WHAT, found: magic.to_vec() });
        }
        if bytes.len() < HEADER + SUM {
            return Err(ShareError::Truncated { what: WHAT });
        }
        let (covered, sum) = bytes.split_at(bytes.len() - SUM);
        let intact = XxHash3_64::oneshot(covered).to_le_bytes() == sum;
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION && intact {
            return Err(ShareError::Version { what: WHAT, found: version });
        }
        let form = match u16::from_le_bytes([bytes[10], bytes[11]]) {
            1 => Form::Full,
            2 => Form::Delta,
            3 => Form::Beat,
            4 => Form::Request,
            _ => return Err(ShareError::MessageDamaged),
        };
        let (start, body) = covered.split_at(HEADER);
        let number = u32::from_le_bytes(start[12..16].try_into().expect("four bytes"));
        let fields = |i: usize| u64::from_le_bytes(start[16..].as_chunks().0[i]);
        let [cache, epoch, sequence, state, keys, came, left, base] = std::array::from_fn(fields);
        let fits = match form {
            Form::Full => base == 0 && !body.is_empty(),
            Form::Delta => !body.is_empty(),
            Form::Beat => base == 0 && body.is_empty(),
            Form::Request => base == 0 && body.is_empty() && number == 0,
        };
        // A filter holds the cache's keys, minus new ones and plus ones that have left.
        let possible = came <= keys.saturating_add(left);
        if !intact || !fits || !possible {
            return Err(ShareError::MessageDamaged);
        }
        if epoch > GREATEST_EPOCH {
            return Err(ShareError::Epoch { found: epoch });
        }
        let (point, changes) = (Point { epoch, sequence, state }, Changes { keys, came, left });
        Ok(Self { form, number, cache, point, changes, base, body })
    }
}

/// The id of a cache in messages.
pub(super) fn id_of(name: &str) -> u64 {
    XxHash3_64::oneshot(name.as_bytes())
}

/// The id of a filter's file in messages.
pub(super) fn state_of(file: &[u8]) -> u64 {
    XxHash3_64::oneshot(file)
}
