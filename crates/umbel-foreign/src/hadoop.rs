//! Hadoop's `BloomFilter` as a `Writable`. Checked against Hadoop 3.5.0; `apache/hadoop`,
//! `org/apache/hadoop/util/bloom/{Filter,BloomFilter,HashFunction}.java` and `util/hash`.
//!
//! ```text
//! byte 0       4        8          9        13 ..
//! | -1 i32 BE | k i32 | hash type | m i32 | ceil(m/8) bytes of bits, lowest first |
//!
//! the older form, which Hadoop still reads:
//! byte 0      4        8 ..
//! | k i32 BE | m i32 | ceil(m/8) bytes |            with Jenkins' hash
//! ```
//!
//! Each probe hashes the key again, with the hash before it as the seed. The size is the caller's choice.

use crate::hash::{lookup3, murmur2};
use crate::prelude::*;

/// A filter of Hadoop.
///
/// ```
/// use umbel_foreign::hadoop::Hadoop;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let size = Parameters { bits: Some(5000), probes: Some(4), ..Parameters::default() };
/// let mut filter: Hadoop = Hadoop::new(Format::Hadoop, &size)?;
/// assert!(filter.insert(Key::from("row 7"))?);
/// assert!(filter.contains(Key::from("row 7"))? && !filter.contains(Key::from("row 8"))?);
/// assert!(filter.insert(Key::from("")).is_err(), "Hadoop refuses empty keys");
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Hadoop<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    hash: Hash,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Jenkins = 0,
    Murmur = 1,
}

const HASHES: &str = "0 (Jenkins) or 1 (Murmur)";
/// The bytes before the bits of a file that is not of the older form.
const HEAD: usize = 13;
/// The first field of a file that is not of the older form.
const VERSION: i32 = -1;

impl Layout for Fields {
    type Hash<'k> = &'k [u8];
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (bits, probes) = (given.bits(format)?, given.probes(format)?);
        let right = (1..=i32::MAX as u64).contains(&bits);
        Parameters::require(format, "bits", bits, right, "1 to 2^31 - 1")?;
        let right = (1..=MOST_PROBES).contains(&probes);
        Parameters::require(format, "probes", probes, right, "1 to 65536")?;
        let [probe_bytes, bit_bytes] = [probes, bits as u32].map(u32::to_be_bytes);
        let hash = if given.has("jenkins") { Hash::Jenkins } else { Hash::Murmur };
        let head = match given.has("old") {
            true => [probe_bytes, bit_bytes].concat(),
            false => [&VERSION.to_be_bytes()[..], &probe_bytes, &[hash as u8], &bit_bytes].concat(),
        };
        Ok(Plan::new(format, (bits, probes), head, bits.div_ceil(8), Vec::new()))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let first = reader.i32_be()?;
        check(format, "version", first, first >= VERSION && first != 0, "-1, or probes above 0")?;
        let (probes, hash) = if first > 0 {
            (first, Hash::Jenkins)
        } else {
            let probes = reader.i32_be()?;
            match reader.u8()? {
                0 => (probes, Hash::Jenkins),
                1 => (probes, Hash::Murmur),
                other => return Err(refuse(format, "hash type", other, HASHES)),
            }
        };
        let few = (1..=MOST_PROBES as i32).contains(&probes);
        check(format, "probes", probes, few, "1 to 65536")?;
        let bits = reader.checked("bits", Reader::i32_be, |bits| bits > 0, "at least 1")?;
        let (probes, bits) = (probes as u32, bits as u64);
        let array = reader.rest(bits.div_ceil(8), 0)?;
        check_padding(format, &content[array.clone()], bits)?;
        Ok(Self { hash, shape: Shape::of_bits(format, probes, bits, array) })
    }

    // The older form starts with two arbitrary numbers.
    fn is_certain(&self) -> bool {
        self.shape.array.start == HEAD
    }

    fn scheme(&self) -> String {
        let name = match self.hash {
            Hash::Jenkins => "lookup3/chained",
            Hash::Murmur => "murmur2-hadoop/chained",
        };
        name.to_owned()
    }

    fn hash<'k>(&self, key: Key<'k>) -> Result<Option<&'k [u8]>, Error> {
        match key.bytes(Format::Hadoop)? {
            [] => Err(Error::Key { format: Format::Hadoop, what: "empty keys" }),
            key => Ok(Some(key)),
        }
    }

    #[inline]
    fn positions(&self, key: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (mut hash, bits) = (0, self.shape.bits as u32);
        (0..self.shape.probes).map(move |_| {
            hash = match self.hash {
                Hash::Jenkins => lookup3::hash(hash, key),
                Hash::Murmur => murmur2::hadoop(hash, key),
            };
            // Java's remainder has the sign of the hash; then Math.abs.
            u64::from((hash as i32).unsigned_abs() % bits)
        })
    }

    // Prefetching would hash every key twice, which costs more than the misses.
    fn prefetch(&self, _: &[u8], _: Self::Hash<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(options: &[&str]) -> Hadoop {
        let mut given = Parameters { bits: Some(77), probes: Some(3), ..Parameters::default() };
        given.options.extend(options.iter().map(|option| (*option).to_owned()));
        Hadoop::new(Format::Hadoop, &given).unwrap()
    }

    #[test]
    fn the_older_form_has_the_bits_of_jenkins() {
        let [mut old, mut new] = [sized(&["old"]), sized(&["jenkins"])];
        for key in ["a", "bc", "def"] {
            assert_eq!(old.insert(key.into()).unwrap(), new.insert(key.into()).unwrap());
        }
        assert_eq!(old.content()[..8], [0, 0, 0, 3, 0, 0, 0, 77]);
        assert_eq!(new.content()[..13], [255, 255, 255, 255, 0, 0, 0, 3, 0, 0, 0, 0, 77]);
        assert_eq!(old.bit_array(), new.bit_array());
        old.union(&new).unwrap();
        assert!(old.union(&sized(&[])).is_err(), "Murmur");
        let read = Hadoop::decode(Format::Hadoop, old.content(), &Parameters::default()).unwrap();
        assert!(read.contains("bc".into()).unwrap());
    }
}
