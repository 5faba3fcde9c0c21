//! Squid's cache digest, version 5, in which a proxy announces to its peers what it holds. Checked against
//! Squid 5.7; `squid-cache/squid`, `src/{CacheDigest,store_digest,store_key_md5}.cc`, `StoreDigest.h`.
//!
//! ```text
//! byte 0          2           4          8       12          16           20               21         22      128 ..
//! | version u16 | needs u16 | capacity | count | deletions | mask bytes | bits an entry u8 | probes u8 | zeros | mask |
//!                             u32, big-endian all
//! ```
//!
//! A key is the MD5 of a byte for the method (GET is 1) and the URL; its four big-endian words, modulo
//! the bits of the mask, are the positions. `examples/proxy` exchanges digests with running servers.

use std::ops::Range;

use md5::{Digest, Md5};

use crate::prelude::*;

/// A filter of Squid. Its keys are URLs, requested with GET.
///
/// ```
/// use umbel_foreign::squid::Squid;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let pages = Parameters { keys: Some(200), ..Parameters::default() };
/// let mut filter: Squid = Squid::new(Format::Squid, &pages)?;
/// filter.insert(Key::from("http://example.org/"))?;
/// assert!(filter.contains(Key::from("http://example.org/"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Squid<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    capacity: u32,
    count: u32,
    deletions: u32,
    bits_per_entry: u8,
    shape: Shape,
}

const VERSION: u16 = 5;
/// The oldest version that reads version 5's digests, and the oldest that version 5 reads.
const REQUIRED: u16 = 3;
const PROBES: u8 = 4;
const GET: u8 = 1;
const RESERVED: usize = 106;
/// The range of the count.
const COUNT: Range<usize> = 8..12;
/// The most entries times bits per entry, 2^31 - 9: Squid 5.7 makes no larger digest, and aborts when a peer sends one.
const MOST_BITS: u64 = i32::MAX as u64 - 8;
/// Below this many bits per entry, a full digest has about 65 % of its bits set or more: 1 - e^(-4/4) is 63 %.
const FEW_BITS_PER_ENTRY: f64 = 4.0;
/// The default of `digest_bits_per_entry`.
const USUAL_BITS_PER_ENTRY: f64 = 5.0;

/// Returns the bytes of a mask: ⌈capacity · bits per entry / 8⌉.
pub fn mask_bytes(capacity: u32, bits_per_entry: u8) -> u64 {
    (u64::from(capacity) * u64::from(bits_per_entry)).div_ceil(8)
}

impl Layout for Fields {
    type Hash<'k> = [u32; 4];
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let keys = given.keys(format)?;
        let Some(capacity) = u32::try_from(keys).ok().filter(|keys| *keys > 0) else {
            return Err(Parameters::refuse(format, "keys", keys, "1 to 2^32 - 1"));
        };
        let per_entry = given.bits_per_key.unwrap_or(USUAL_BITS_PER_ENTRY);
        let right = per_entry.fract() == 0.0 && (1.0..=255.0).contains(&per_entry);
        let expected = "a whole number from 1 to 255";
        Parameters::require(format, "bits_per_key", per_entry, right, expected)?;
        let few = u64::from(capacity) * per_entry as u64 <= MOST_BITS;
        let expected = "2^31 - 9 at most, times the bits per key";
        Parameters::require(format, "keys", keys, few, expected)?;
        let bytes = mask_bytes(capacity, per_entry as u8);
        let mask = bytes as u32;
        let mut head = Vec::new();
        head.extend([VERSION, REQUIRED].map(u16::to_be_bytes).as_flattened());
        head.extend([capacity, 0, 0, mask].map(u32::to_be_bytes).as_flattened());
        head.extend([per_entry as u8, PROBES]);
        head.extend([0; RESERVED]);
        let plan = Plan::new(format, (8 * bytes, PROBES.into()), head, bytes, Vec::new());
        Ok(plan.warn(
            per_entry < FEW_BITS_PER_ENTRY,
            "Squid ignores a peer's digest if more than 65 % of its bits are set, as they will be before this one is full",
        ))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let (version, required) = (reader.u16_be()?, reader.u16_be()?);
        check(format, "version", version, version >= REQUIRED, "3 or later")?;
        let readable = required <= VERSION.min(version);
        let expected = "5 at most, and no later than the version";
        check(format, "required version", required, readable, expected)?;
        let (capacity, count) = (reader.u32_be()?, reader.u32_be()?);
        let (deletions, mask) = (reader.u32_be()?, u64::from(reader.u32_be()?));
        let some = |bits| bits > 0;
        let bits_per_entry = reader.checked("bits per entry", Reader::u8, some, "at least 1")?;
        let bits = u64::from(capacity) * u64::from(bits_per_entry);
        let possible = (1..=MOST_BITS).contains(&bits);
        check(format, "capacity", capacity, possible, "at least 1, and 2^31 - 9 bits at most")?;
        let right = mask == mask_bytes(capacity, bits_per_entry);
        check(format, "mask size", mask, right, "capacity times bits per entry, in bytes")?;
        reader.checked("hash functions", Reader::u8, |probes| probes == PROBES, "4")?;
        let reserved = reader.take(RESERVED)?.iter().all(|&byte| byte == 0);
        check(format, "reserved", "not zero", reserved, "zeros")?;
        let shape = Shape::new(format, PROBES.into(), reader.rest(mask, 0)?);
        Ok(Self { capacity, count, deletions, bits_per_entry, shape })
    }

    fn scheme(&self) -> String {
        "md5/4".to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<[u32; 4]>, Error> {
        let url = key.bytes(Format::Squid)?;
        let digest = Md5::new().chain_update([GET]).chain_update(url).finalize();
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(digest.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        Ok(Some(words))
    }

    #[inline]
    fn positions(&self, words: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let bits = self.shape.bits;
        words.into_iter().map(move |word| u64::from(word) % bits)
    }

    // Squid counts every addition, even of an object already present.
    fn after_insert(&mut self, content: &mut Bytes, _: u32) {
        self.set_count(content, self.count.saturating_add(1));
    }

    fn after_union(&mut self, content: &mut Bytes, other: &Self) {
        self.set_count(content, self.count.saturating_add(other.count));
    }

    fn facts(&self) -> Vec<Fact> {
        let fact = |name, count: u32| Fact::new(name, Figure::Count(count.into()));
        vec![
            fact("capacity", self.capacity),
            fact("count", self.count),
            fact("deletions", self.deletions),
            fact("bits_per_entry", self.bits_per_entry.into()),
        ]
    }
}

impl Fields {
    fn set_count(&mut self, content: &mut Bytes, count: u32) {
        self.count = count;
        content[COUNT].copy_from_slice(&count.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(keys: u64, bits: f64) -> Parameters {
        Parameters { keys: Some(keys), bits_per_key: Some(bits), ..Parameters::default() }
    }

    #[test]
    fn counts_and_refuses() {
        let mut filter = Squid::new(Format::Squid, &given(10, 9.0)).unwrap();
        for url in ["http://a/", "http://b/", "http://a/"] {
            filter.insert(url.into()).unwrap();
        }
        filter.union(&filter.clone()).unwrap();
        let file = filter.encode().unwrap();
        assert_eq!((file.len(), &file[COUNT]), (128 + 12, &[0, 0, 0, 6][..]));
        assert!(Squid::new(Format::Squid, &given(10, 4.5)).is_err());
    }

    /// Squid 5.7 aborts on a digest with this header, but accepts one with an entry less.
    #[test]
    fn a_digest_that_aborts_squid_is_neither_made_nor_read() {
        let plan = |keys, bits| Squid::plan(Format::Squid, &given(keys, bits));
        let most = plan(429_496_727, 5.0).unwrap();
        assert_eq!((most.bytes, most.bits), (128 + 268_435_455, 8 * 268_435_455));
        assert!(matches!(plan(429_496_728, 5.0), Err(Error::Parameter { parameter: "keys", .. })));
        assert!(plan(MOST_BITS, 1.0).is_ok() && plan(MOST_BITS + 1, 1.0).is_err());

        let decode = |head: &[u8]| Squid::decode(Format::Squid, head, &Parameters::default()).err();
        let mut head = most.head;
        assert!(matches!(decode(&head), Some(Error::Length { .. })), "without its mask");
        head[7] += 1;
        assert!(matches!(decode(&head), Some(Error::Field { field: "capacity", .. })));
    }

    #[test]
    fn a_digest_too_full_for_squid_gets_a_warning() {
        for (bits, warnings) in [(3.0, 1), (4.0, 0), (5.0, 0)] {
            let given = given(100_000, bits);
            let mut filter = Squid::new(Format::Squid, &given).unwrap();
            for i in 0..100_000 {
                filter.insert(Key::from(format!("http://a/{i}").as_str())).unwrap();
            }
            assert_eq!(filter.receipt().fill > 0.65, warnings == 1, "{bits} bits per entry");
            let plan = Squid::plan(Format::Squid, &given).unwrap();
            assert_eq!(plan.warnings.len(), warnings, "{bits} bits per entry");
        }
    }
}
