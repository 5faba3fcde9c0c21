//! ORC's filter of a row group, stream `BLOOM_FILTER_UTF8`. Checked against orc-core 2.3.0; `apache/orc`,
//! `org/apache/orc/util/{BloomFilter,BloomFilterUtf8,BloomFilterIO,Murmur3}.java`, `orc_proto.proto`.
//!
//! ```text
//! protobuf message BloomFilter
//!   field 1, varint   08 | k
//!   field 3, bytes    1a | length, a varint | words of 64 bits, least significant byte first
//! ```
//!
//! In an ORC file the messages of a column's row groups are field 1 of a `BloomFilterIndex` message, in a compressed
//! stream; this module reads a single message. The older stream `BLOOM_FILTER` has field 2, a field for each word, and
//! strings in the encoding of the JVM that wrote it: it is refused.

use std::f64::consts::LN_2;

use crate::bytes::varint;
use crate::guava::{flip, java_bits, round};
use crate::hash::{hive, wang};
use crate::prelude::*;

/// A filter of ORC.
///
/// ```
/// use umbel_foreign::orc::Orc;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let mut filter: Orc = Orc::new(Format::Orc, &Parameters::for_keys(10_000, 0.01))?;
/// filter.insert(Key::F64(0.5))?;
/// assert!(filter.contains(Key::F64(0.5))? && !filter.contains(Key::F64(0.25))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Orc<S = Bytes> = Plain<Fields, S>;

/// The fields of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    shape: Shape,
}

/// ORC's default rate (`orc.bloom.filter.fpp`).
const USUAL_FPP: f64 = 0.01;
/// Java counts bits in an `int`.
const MOST_BITS: u64 = i32::MAX as u64;

/// Returns the bits and probes that ORC chooses: whole words, plus one if they were whole already, and the probes for
/// that many bits.
pub fn optimal_size(keys: u64, fpp: f64) -> (u64, u32) {
    let keys = keys.max(1) as f64;
    let bits = (-keys * fpp.ln() / (LN_2 * LN_2)) as u64;
    let bits = bits.saturating_add(64 - bits % 64);
    (bits, round(bits as f64 / keys * LN_2).max(1))
}

impl Layout for Fields {
    type Hash<'k> = u64;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (bits, probes) = optimal_size(given.keys(format)?, given.fpp.unwrap_or(USUAL_FPP));
        if bits > MOST_BITS {
            return Err(Error::TooLarge { bits: bits as f64 });
        }
        let mut head = vec![0x08];
        varint(&mut head, probes.into());
        head.push(0x1a);
        varint(&mut head, bits / 8);
        Ok(Plan::new(format, (bits, probes), head, bits / 8, Vec::new()))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let (mut probes, mut array) = (None, None);
        while reader.left() > 0 {
            match reader.varint()? {
                0x08 if probes.is_none() => {
                    let count = reader.varint()?;
                    let few = (1..=MOST_PROBES.into()).contains(&count);
                    check(format, "numHashFunctions", count, few, "1 to 65536")?;
                    probes = Some(count as u32);
                }
                0x1a if array.is_none() => {
                    let length = reader.varint()?;
                    let words = length > 0 && length % 8 == 0 && length <= MOST_BITS / 8;
                    let expected = "8-byte words below 2^28 bytes";
                    check(format, "length of utf8bitset", length, words, expected)?;
                    let start = reader.at();
                    reader.take(length as usize)?;
                    array = Some(start..reader.at());
                }
                tag => skip(format, &mut reader, tag)?,
            }
        }
        match (probes, array) {
            (Some(probes), Some(array)) => Ok(Self { shape: Shape::new(format, probes, array) }),
            (None, _) => Err(refuse(format, "numHashFunctions", "missing", "field 1")),
            (_, None) => Err(refuse(format, "utf8bitset", "missing", "field 3")),
        }
    }

    fn scheme(&self) -> String {
        "murmur3-orc, wang".to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<u64>, Error> {
        Ok(Some(match key {
            Key::Bytes(key) => hive::hash64(key),
            Key::I64(key) => wang::hash(key) as u64,
            Key::F64(key) => wang::hash(java_bits(key)) as u64,
            // Columns of smaller types are hashed like the larger ones.
            Key::I32(key) => wang::hash(key.into()) as u64,
            Key::F32(key) => wang::hash(java_bits(key.into())) as u64,
        }))
    }

    #[inline]
    fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (mut at, step) = (hash as u32, (hash >> 32) as u32);
        let bits = self.shape.bits as u32;
        (0..self.shape.probes).map(move |_| {
            at = at.wrapping_add(step);
            u64::from(flip(at) % bits)
        })
    }
}

/// Skips a field that later versions of the message may have.
fn skip(format: Format, reader: &mut Reader<'_>, tag: u64) -> Result<(), Error> {
    match (tag >> 3, tag & 7) {
        (0 | 1 | 3, _) => Err(refuse(format, "field", tag >> 3, "each field once, of its type")),
        (2, _) => {
            let expected = "utf8bitset, field 3: this is the older stream BLOOM_FILTER";
            Err(refuse(format, "bitset", "field 2", expected))
        }
        (_, 0) => reader.varint().map(drop),
        (_, 1) => reader.take(8).map(|_| ()),
        (_, 2) => {
            let length = reader.varint()?;
            reader.take(usize::try_from(length).unwrap_or(usize::MAX)).map(|_| ())
        }
        (_, 5) => reader.take(4).map(|_| ()),
        (_, wire) => Err(refuse(format, "wire type", wire, "0, 1, 2 or 5")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(content: &[u8]) -> Result<Orc<&[u8]>, Error> {
        Orc::decode(Format::Orc, content, &Parameters::default())
    }

    #[test]
    fn fields_in_any_order_among_others() {
        let mut filter = Orc::new(Format::Orc, &Parameters::for_keys(3, 0.5)).unwrap();
        filter.insert(Key::I64(-5)).unwrap();
        let bits = filter.bit_array().to_vec();
        let file = filter.encode().unwrap();
        assert_eq!(file[..4], [8, 15, 0x1a, 8]);
        let mut other = vec![0x1a, 8];
        other.extend(&bits);
        other.extend([0x20, 0x80, 1, 0x2d, 1, 2, 3, 4, 0x32, 1, 9, 0x08, 15]);
        let read = decode(&other).unwrap();
        assert!(read.contains(Key::I64(-5)).unwrap());
        assert_eq!(read.encode().unwrap(), other);
        let hash = |number| filter.hash(Key::F64(number)).unwrap();
        assert_eq!(hash(f64::NAN), hash(-f64::NAN));
    }

    #[test]
    fn what_is_no_such_message_is_refused() {
        let file = Orc::new(Format::Orc, &Parameters::for_keys(3, 0.5)).unwrap().encode().unwrap();
        let twice = [&file[..], &[8, 1]].concat();
        let no_bits = &file[..2];
        let old = [&[0x11][..], &[0; 8]].concat();
        let no_probes = [&[8, 0][..], &file[2..]].concat();
        let odd = [8, 1, 0x1a, 1, 0];
        let huge = [8, 1, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let endless = [0xff; 11];
        for content in [&twice[..], no_bits, &old, &no_probes, &odd, &huge, &endless, &[]] {
            assert!(decode(content).is_err(), "{content:?}");
        }
    }
}
