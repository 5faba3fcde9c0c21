//! Spark's `BloomFilter.writeTo`. Checked against Spark 4.1.0, 4.2.0 and 4.3.0; `apache/spark`,
//! `common/sketch/.../{BloomFilterImpl,BloomFilterImplV2,BitArray,Murmur3_x86_32}.java`.
//!
//! ```text
//! byte 0 .. 3     4 .. 7   8 .. 11    12 .. 15
//! | version 1 BE | k BE   | words BE | words of 64 bits, most significant byte first
//! | version 2 BE | k BE   | seed BE  | words BE | words ...
//! ```
//!
//! The hash is MurmurHash3 with 32 bits, except that each byte of the tail, sign-extended, goes through the round of a
//! whole word. It is computed twice, the second time with the first as seed. Text is hashed as UTF-8, every integer as
//! a long, 8 bytes little-endian. From Spark 4.1 on `BloomFilter.create` makes version 2; earlier ones know only
//! version 1, whose positions end at 2³¹ − 1.

use std::f64::consts::LN_2;

use crate::guava::{flip, optimal_bits, round};
use crate::hash::murmur3::spark_x86_32;
use crate::prelude::*;

/// A filter of Spark.
///
/// ```
/// use umbel_foreign::spark::Spark;
/// use umbel_foreign::{ForeignInsert, Format, Key, Parameters};
///
/// let mut old: Spark = Spark::new(Format::Spark, &Parameters::for_keys(500, 0.03).with("v1"))?;
/// old.insert(Key::I64(7))?;
/// let new: Spark = Spark::new(Format::Spark, &Parameters::for_keys(500, 0.03))?;
/// assert!(old.union(&new).is_err(), "the versions put keys in different places");
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Spark<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    version: Version,
    shape: Shape,
}

/// How two hashes become positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// Version 1: sums of 32 bits, seed 0.
    V1,
    /// Version 2: sums of 64 bits.
    V2 {
        /// Seed of the first hash.
        seed: i32,
    },
}

/// The bits that version 1 reaches.
const REACH_OF_V1: u64 = 1 << 31;

/// Spark's default rate.
const USUAL_FPP: f64 = 0.03;

/// Returns the probes that Spark chooses for this many bits, before they are rounded up to words: (m/n)·ln 2, rounded.
pub fn optimal_probes(keys: u64, bits: u64) -> u32 {
    round(bits as f64 / keys as f64 * LN_2).max(1)
}

impl Layout for Fields {
    type Hash<'k> = (u32, u32);
    const ORDER: Order = Order::BigWords;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let keys = given.keys(format)?;
        if keys == 0 {
            return Err(Error::ZeroKeys);
        }
        let of_rate = || optimal_bits(keys, given.fpp.unwrap_or(USUAL_FPP));
        let bits = given.bits.unwrap_or_else(of_rate);
        let require = |right, what| Parameters::require(format, "bits", bits, right, what);
        let one_source = given.bits.is_none() || given.fpp.is_none();
        require(bits > 0 && one_source, "at least 1, given or from the rate, not both")?;
        let words = bits.div_ceil(64);
        let Ok(count) = i32::try_from(words) else {
            return Err(Error::TooLarge { bits: bits as f64 });
        };
        let probes = optimal_probes(keys, bits);
        require(probes <= MOST_PROBES, "few enough for at most 65536 probes per key")?;
        let v1 = given.has("v1");
        let seed = given.seed.unwrap_or(0);
        let mut head = Vec::new();
        head.extend(if v1 { 1i32 } else { 2 }.to_be_bytes());
        head.extend(probes.to_be_bytes());
        match i32::try_from(seed) {
            Ok(0) if v1 => {}
            Ok(seed) if !v1 => head.extend(seed.to_be_bytes()),
            _ => {
                let expected = if v1 { "0 in version 1" } else { "a number of 32 bits" };
                return Err(Parameters::refuse(format, "seed", seed, expected));
            }
        }
        head.extend(count.to_be_bytes());
        let plan = Plan::new(format, (64 * words, probes), head, 8 * words, Vec::new());
        Ok(plan.warn(
            v1 && 64 * words > REACH_OF_V1,
            "version 1 never uses the bits from 2^31 on: the rate will be higher than requested",
        ))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let right = |version| (1..=2).contains(&version);
        let is_first = reader.checked("version", Reader::i32_be, right, "1 or 2")? == 1;
        let few = |probes| (1..=MOST_PROBES as i32).contains(&probes);
        let probes = reader.checked("probes", Reader::i32_be, few, "1 to 65536")?;
        let version = if is_first { Version::V1 } else { Version::V2 { seed: reader.i32_be()? } };
        let words = reader.checked("words", Reader::i32_be, |words| words > 0, "at least 1")?;
        let array = reader.rest(8 * words as u64, 0)?;
        Ok(Self { version, shape: Shape::new(format, probes as u32, array) })
    }

    fn scheme(&self) -> String {
        match self.version {
            Version::V1 => "spark-murmur3-32/v1".to_owned(),
            Version::V2 { seed } => format!("spark-murmur3-32/v2 seed {seed}"),
        }
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<(u32, u32)>, Error> {
        let seed = match self.version {
            Version::V1 => 0,
            Version::V2 { seed } => seed as u32,
        };
        let twice = |key: &[u8]| {
            let first = spark_x86_32(seed, key);
            (first, spark_x86_32(first, key))
        };
        Ok(Some(match key {
            Key::Bytes(key) => twice(key),
            Key::I64(key) => twice(&key.to_le_bytes()),
            Key::I32(key) => twice(&i64::from(key).to_le_bytes()),
            other => return Err(other.refused(Format::Spark)),
        }))
    }

    #[inline]
    fn positions(&self, (first, second): Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (bits, v1) = (self.shape.bits, self.version == Version::V1);
        let step = i64::from(second as i32);
        let start = i64::from(first as i32);
        let mut at = if v1 { start } else { start * i64::from(i32::MAX) };
        (0..self.shape.probes).map(move |_| {
            at = at.wrapping_add(step);
            let wide = if at < 0 { !at } else { at };
            let position = if v1 { flip(at as u32).into() } else { wide as u64 };
            position % bits
        })
    }

    fn measure(&self, array: &[u8]) -> Measure {
        let reach = if self.version == Version::V1 { REACH_OF_V1 } else { u64::MAX };
        Measure::spread(array, self.shape.bits.min(reach), self.shape.probes)
    }

    fn facts(&self) -> Vec<Fact> {
        let (version, seed) = match self.version {
            Version::V1 => (1, None),
            Version::V2 { seed } => (2, Some(seed)),
        };
        let seed = seed.map(|seed| Fact::new("seed", Figure::Text(seed.to_string())));
        [Fact::new("version", Figure::Count(version))].into_iter().chain(seed).collect()
    }
}

impl<S: AsRef<[u8]>> Plain<Fields, S> {
    /// Returns the version of the file, with its seed.
    pub fn version(&self) -> Version {
        self.layout().version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_never_reaches_beyond_31_bits() {
        let shape = Shape::new(Format::Spark, 8, 12..12 + (1 << 30));
        let layout = |version| Fields { version, shape: shape.clone() };
        let (mut old, mut new) = (0, 0);
        for i in 0..1000 {
            let hash = crate::hash::mix(i);
            let hash = (hash as u32, (hash >> 32) as u32);
            old = old.max(layout(Version::V1).positions(hash).max().unwrap());
            new = new.max(layout(Version::V2 { seed: 0 }).positions(hash).max().unwrap());
        }
        assert!(old < REACH_OF_V1 && new > 2 * REACH_OF_V1, "{old} {new}");
    }

    #[test]
    fn seeds_and_versions_do_not_join() {
        let new = |given: Parameters| Spark::new(Format::Spark, &given);
        let usual = Parameters::for_keys(100, 0.01);
        let seeded = Parameters { seed: Some(-5), ..usual.clone() };
        let mut one = new(usual.clone()).unwrap();
        one.insert("key".into()).unwrap();
        let larger = Parameters { keys: Some(101), ..usual.clone() };
        for other in [usual.clone().with("v1"), seeded.clone(), larger] {
            let error = one.union(&new(other).unwrap()).unwrap_err();
            assert!(matches!(error, Error::Differ { .. }), "{error}");
        }
        assert!(new(seeded.with("v1")).is_err() && new(usual.with("v3")).is_err());
        assert!(matches!(new(Parameters::for_keys(0, 0.1)), Err(Error::ZeroKeys)));
        assert!(matches!(new(Parameters::for_keys(1, 0.99)), Err(Error::Parameter { .. })));
        assert!(matches!(new(Parameters::for_keys(u64::MAX, 0.1)), Err(Error::TooLarge { .. })));
    }
}
