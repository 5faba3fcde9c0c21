//! RocksDB's full filters: the legacy one, written before format version 5, and FastLocalBloom. Checked against RocksDB
//! 7.8.3; `facebook/rocksdb`, `table/block_based/filter_policy.cc`, `util/bloom_impl.h`.
//!
//! ```text
//! legacy          | lines of 64 bytes    | k u8 | lines u32 LE |
//! FastLocalBloom  | lines of 64 bytes    | ff   | 00           | k u8 | 00 00 |
//!                                          -5     -4             -3     -2      from the end
//! ```
//!
//! A key has all its bits in one line. Both hashes read the key's bytes: the legacy one is LevelDB's with the tail's
//! bytes sign-extended, the other is XXPH3, a preview of XXH3 with other values. In a table the filter is the block
//! that `fullfilter.rocksdb.BuiltinBloomFilter` of the metaindex names, without the block's trailer of 5 bytes.
//!
//! To lose no key, RocksDB lets every key pass that it cannot test: with filters of other versions, and with legacy
//! ones whose lines do not fit.

pub use fast::RocksDb;
pub(crate) use fast::hash as fast_hash;
pub use legacy::RocksDbLegacy;
pub(crate) use legacy::hash as legacy_hash;

use crate::prelude::*;

/// Bytes after the lines.
const TAIL: usize = 5;
/// Bytes of a line.
const LINE: usize = 64;
/// Bits per key that most programs use.
const USUAL_BITS_PER_KEY: f64 = 10.0;

/// Bits for 1000 keys, as RocksDB rounds bits per key.
fn millibits(format: Format, given: &Parameters) -> Result<u64, Error> {
    let per_key = given.bits_per_key.unwrap_or(USUAL_BITS_PER_KEY);
    let expected = "at least 0.5; RocksDB makes no filter below";
    Parameters::require(format, "bits_per_key", per_key, per_key >= 0.5, expected)?;
    Ok((per_key.clamp(1.0, 100.0) * 1000.0 + 0.500001) as u64)
}

/// The lines and the bytes after them; `None` for a content without lines, which holds no key.
fn split(content: &[u8]) -> Option<(&[u8], &[u8; TAIL])> {
    content.split_last_chunk::<TAIL>().filter(|(lines, _)| !lines.is_empty())
}

mod legacy {
    use super::{LINE, millibits, split};
    use crate::hash::leveldb;
    use crate::plain::sealed;
    use crate::prelude::*;

    /// A full filter of RocksDB before format version 5.
    ///
    /// The parameter `keys` is their number in the order of the table, without keys whose hash equals the previous
    /// key's; [`Foreign::build`](crate::Foreign::build) counts this way. Its hash has 32 bits, which raises the rate
    /// noticeably from some 3 million keys on.
    pub type RocksDbLegacy<S = Bytes> = Plain<Fields, S>;

    /// The last bytes of a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Fields {
        lines: u32,
        /// Bytes of a line: 64, or another power of two if the machine that wrote it had such cache lines.
        line: usize,
        shape: Shape,
    }

    /// Bits of the largest filter.
    const MOST_BITS: u64 = 0xffff_0000;

    impl sealed::Sealed for Fields {}

    impl Layout for Fields {
        type Hash<'k> = u32;
        has_shape!();

        fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
            let keys = given.keys(format)?;
            let per_key = (millibits(format, given)? + 500) / 1000;
            let probes = ((per_key as f64 * 0.69) as u32).clamp(1, 30);
            let wanted = keys.saturating_mul(per_key);
            let lines = match wanted.min(MOST_BITS).div_ceil(8 * LINE as u64) {
                0 => 0,
                lines => lines | 1,
            };
            let mut tail = vec![probes as u8];
            tail.extend((lines as u32).to_le_bytes());
            let bytes = lines * LINE as u64;
            let plan = Plan::new(format, (8 * bytes, probes), Vec::new(), bytes, tail);
            let plan = plan.warn(
                wanted > MOST_BITS,
                "the keys need more than the largest size, 0xffff0000 bits: the rate will be higher than requested",
            );
            Ok(plan.warn(
                keys > 3_000_000,
                "its hash has 32 bits: with so many keys, the rate is higher than the bits per key promise",
            ))
        }

        fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
            let fixed = |answer| {
                let shape = Shape { fixed: Some(answer), ..Shape::new(format, 0, 0..0) };
                Self { lines: 0, line: LINE, shape }
            };
            let Some((data, &[probes, lines @ ..])) = split(content) else {
                return Ok(fixed(false));
            };
            let found = probes as i8;
            let newer = "1 to 127; a negative one is of newer formats: read it as rocksdb";
            check(format, "probes", found, found > -3 && ![-1, -2].contains(&found), newer)?;
            let lines = u32::from_le_bytes(lines);
            let line = data.len() / lines.max(1) as usize;
            let fits =
                lines > 0 && data.len().is_multiple_of(lines as usize) && line.is_power_of_two();
            if !fits || probes as i8 <= 0 {
                return Ok(fixed(true));
            }
            Ok(Self { lines, line, shape: Shape::new(format, probes.into(), 0..data.len()) })
        }

        /// Many contents fit lines of another size.
        fn is_certain(&self) -> bool {
            let Shape { fixed, probes, .. } = self.shape;
            fixed.is_none() && self.line == LINE && self.lines % 2 == 1 && probes <= 30
        }

        fn scheme(&self) -> String {
            match self.line {
                LINE => "rocksdb-hash".to_owned(),
                line => format!("rocksdb-hash/lines of {line} bytes"),
            }
        }

        fn hash(&self, key: Key<'_>) -> Result<Option<u32>, Error> {
            hash(key).map(Some)
        }

        #[inline]
        fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
            let bits = 8 * self.line as u64;
            let line = u64::from(hash % self.lines) * bits;
            let step = hash.rotate_right(17);
            (0..self.shape.probes).map(move |i| {
                line + (u64::from(hash.wrapping_add(step.wrapping_mul(i))) & (bits - 1))
            })
        }

        fn measure(&self, array: &[u8]) -> Measure {
            Measure::lines(array, self.line, self.shape.probes)
        }
    }

    pub(crate) fn hash(key: Key<'_>) -> Result<u32, Error> {
        Ok(leveldb::hash_signed_tail(key.bytes(Format::RocksDbLegacy)?))
    }
}

mod fast {
    use super::{LINE, millibits, split};
    use crate::arch::LineKernel;
    use crate::hash::xxph3;
    use crate::plain::sealed;
    use crate::prelude::*;

    /// RocksDB's FastLocalBloom, format version 5 and later.
    ///
    /// The parameter `keys` is as for [`RocksDbLegacy`](super::RocksDbLegacy). With `optimize_filters_for_memory` the
    /// allocator chooses the size: such files are read like any other, but their size cannot be predicted.
    pub type RocksDb<S = Bytes> = Plain<Fields, S>;

    /// The last bytes of a file.
    #[derive(Clone, Debug)]
    pub struct Fields {
        kernel: LineKernel,
        shape: Shape,
    }

    /// Bytes of the largest filter.
    const MOST_BYTES: u64 = 0xffff_ffc0;

    /// Probes by the bits of 1000 keys: each entry is the most millibits for its number of probes, from 1 on.
    const PROBES: [u64; 12] =
        [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];

    fn probes(millibits: u64) -> u32 {
        match PROBES.iter().position(|&most| millibits <= most) {
            Some(i) => i as u32 + 1,
            None if millibits > 50_000 => 24,
            None => ((millibits - 1) / 2000 - 1) as u32,
        }
    }

    impl sealed::Sealed for Fields {}

    impl Layout for Fields {
        type Hash<'k> = u64;
        has_shape!();

        fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
            let keys = given.keys(format)?;
            let millibits = millibits(format, given)?;
            let probes = probes(millibits);
            let wanted = (u128::from(keys) * u128::from(millibits)).div_ceil(8000);
            let bytes = wanted.next_multiple_of(LINE as u128).min(MOST_BYTES.into()) as u64;
            // For zero keys, RocksDB makes a filter of zero bytes.
            let tail = if keys == 0 { Vec::new() } else { vec![0xff, 0, probes as u8, 0, 0] };
            let plan = Plan::new(format, (8 * bytes, probes), Vec::new(), bytes, tail);
            Ok(plan.warn(
                wanted > MOST_BYTES.into(),
                "the keys need more than the largest size, 0xffffffc0 bytes: the rate will be higher than requested",
            ))
        }

        fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
            let kernel = LineKernel::fast_local();
            let fixed = |answer| {
                let shape = Shape { fixed: Some(answer), ..Shape::new(format, 0, 0..0) };
                Self { kernel, shape }
            };
            let Some((data, &[marker, version, probes, reserved @ ..])) = split(content) else {
                return Ok(fixed(false));
            };
            let marker = marker as i8;
            let legacy = "-1; a positive one is legacy: read it as rocksdb-legacy";
            check(format, "marker", marker, marker <= 0, legacy)?;
            let ribbon = "-1; -2 is a Ribbon filter, not one of Bloom's kind";
            check(format, "marker", marker, marker != -2, ribbon)?;
            // Three bits for lines of other than 64 bytes, and five for the probes.
            if marker != -1 || version != 0 || !(1..=30).contains(&probes) || reserved != [0, 0] {
                return Ok(fixed(true));
            }
            let right = data.len().is_multiple_of(LINE) && data.len() as u64 <= MOST_BYTES;
            let expected = "a multiple of 64, at most 0xffffffc0";
            check(format, "bytes of the lines", data.len(), right, expected)?;
            Ok(Self { kernel, shape: Shape::new(format, probes.into(), 0..data.len()) })
        }

        fn is_certain(&self) -> bool {
            self.shape.fixed.is_none()
        }

        fn scheme(&self) -> String {
            "xxph3/fast-local-bloom".to_owned()
        }

        fn hash(&self, key: Key<'_>) -> Result<Option<u64>, Error> {
            hash(key).map(Some)
        }

        #[inline]
        fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
            let lines = (self.shape.array.len() / LINE) as u64;
            let line = 512 * ((u64::from(hash as u32) * lines) >> 32);
            let mut word = (hash >> 32) as u32;
            (0..self.shape.probes).map(move |_| {
                let position = line + u64::from(word >> 23);
                word = word.wrapping_mul(0x9e37_79b9);
                position
            })
        }

        #[inline]
        fn prefetch(&self, array: &[u8], hash: Self::Hash<'_>) {
            self.kernel.prefetch(array, hash);
        }

        #[inline]
        fn contains(&self, array: &[u8], hash: Self::Hash<'_>) -> bool {
            self.kernel.contains(array, hash, self.shape.probes)
        }

        #[inline]
        fn insert(&self, array: &mut [u8], hash: Self::Hash<'_>) -> u32 {
            self.kernel.insert(array, hash, self.shape.probes).into()
        }

        fn measure(&self, array: &[u8]) -> Measure {
            Measure::lines(array, LINE, self.shape.probes)
        }
    }

    impl<S: AsRef<[u8]>> Plain<Fields, S> {
        /// Looks up many keys by their hashes, XXPH3 of the key, with overlapping cache misses: `found[i]` becomes the
        /// answer for `hashes[i]`.
        ///
        /// # Panics
        /// If the slices differ in length.
        pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
            assert_eq!(hashes.len(), found.len(), "one answer for each hash");
            let Fields { kernel, shape } = self.layout();
            match shape.fixed {
                Some(answer) => found.fill(answer),
                None => kernel.contains_all(self.bit_array(), hashes, shape.probes, found),
            }
        }
    }

    impl Plain<Fields> {
        /// Inserts many keys by their hashes, with overlapping cache misses.
        ///
        /// # Errors
        /// [`Error::Full`] for a filter that was made for zero keys.
        pub fn insert_hashes(&mut self, hashes: &[u64]) -> Result<(), Error> {
            let (Fields { kernel, shape }, array) = self.parts_mut();
            if shape.fixed == Some(false) && !hashes.is_empty() {
                return Err(Error::Full { format: Format::RocksDb, keys: 0 });
            }
            if shape.fixed.is_none() {
                kernel.insert_all(array, hashes, shape.probes);
            }
            Ok(())
        }
    }

    pub(crate) fn hash(key: Key<'_>) -> Result<u64, Error> {
        Ok(xxph3::hash(key.bytes(Format::RocksDb)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Foreign;

    #[test]
    fn keys_with_the_hash_of_the_one_before_count_once() {
        let keys = ["a", "a", "b", "a", "c", "c", "c"].map(Key::from);
        for format in [Format::RocksDb, Format::RocksDbLegacy] {
            // 100 bits per key: 4 keys need 400 bits, 7 would need two lines.
            let given = Parameters { bits_per_key: Some(100.0), ..Parameters::default() };
            let filter = Foreign::build(format, &given, keys.into_iter()).unwrap();
            assert_eq!(filter.encode().unwrap().len(), 64 + TAIL);
        }
    }

    #[test]
    fn what_rocksdb_does_not_understand_passes() {
        let answer = |format, content: &[u8]| {
            Foreign::decode(format, content).map(|filter| filter.contains("key".into()).unwrap())
        };
        let fast = |tail: [u8; 5]| answer(Format::RocksDb, &[&[0; 128][..], &tail].concat());
        let legacy =
            |tail: [u8; 5]| answer(Format::RocksDbLegacy, &[&[0; 192][..], &tail].concat());
        assert!(!fast([255, 0, 6, 0, 0]).unwrap());
        for (marker, version, probes, reserved) in [
            (255, 1, 6, 0),
            (255, 0, 6 | 32, 0),
            (255, 0, 0, 0),
            (255, 0, 31, 0),
            (255, 0, 6, 1),
            (0, 0, 0, 0),
            (253, 0, 6, 0),
        ] {
            let tail = [marker, version, probes, 0, reserved];
            assert!(fast(tail).unwrap(), "{tail:?}");
        }
        assert!(fast([254, 0, 6, 0, 0]).is_err() && fast([6, 1, 0, 0, 0]).is_err());
        let lines_of_10 = [255, 0, 6, 0, 0].repeat(3);
        assert!(answer(Format::RocksDb, &lines_of_10).is_err());
        assert!(!legacy([6, 3, 0, 0, 0]).unwrap() && !legacy([6, 6, 0, 0, 0]).unwrap());
        for tail in [[6, 0, 0, 0, 0], [6, 5, 0, 0, 0], [6, 2, 0, 0, 0], [0, 3, 0, 0, 0]] {
            assert!(legacy(tail).unwrap(), "{tail:?}");
        }
        assert!(legacy([255, 0, 6, 0, 0]).is_err());
        for format in [Format::RocksDb, Format::RocksDbLegacy] {
            assert!(!answer(format, &[]).unwrap() && !answer(format, &[6, 0, 0, 0, 0]).unwrap());
        }
    }

    #[test]
    fn no_key_is_lost_in_a_filter_without_bits() {
        let given = Parameters { keys: Some(0), ..Parameters::default() };
        for format in [Format::RocksDb, Format::RocksDbLegacy] {
            let mut filter = Foreign::new(format, &given).unwrap();
            assert!(matches!(filter.insert("key".into()), Err(Error::Full { keys: 0, .. })));
        }
    }
}
