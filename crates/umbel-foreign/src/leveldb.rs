//! LevelDB's `leveldb.BuiltinBloomFilter2`, which goleveldb and Badger write too. Checked against LevelDB
//! 1.23, goleveldb of August 2020 and Badger v4; `google/leveldb`, `util/bloom.cc`; `syndtr/goleveldb`,
//! `leveldb/filter/bloom.go`; `dgraph-io/badger`, `y/bloom.go`.
//!
//! ```text
//! byte 0 ..              len - 1
//! | bits, lowest first | k u8 |
//! ```
//!
//! m is 8 · (len − 1). Fewer than 2 bytes hold no key; k above 30 is reserved for other formats, and every key passes.
//! A 32-bit hash, rotated by 17 for the step, gives all positions, so bits from 2³² on are never used. goleveldb and
//! Badger compute in 32 bits, so the modulus of a larger filter wraps there.

use crate::hash::leveldb;
use crate::prelude::*;

/// A filter of LevelDB, goleveldb or Badger.
///
/// The options `goleveldb` and `badger` choose sizes as those systems do, and read filters of 2³² bits or more as those
/// do.
///
/// ```
/// use umbel_foreign::{Foreign, ForeignFilter, Format, Key, Parameters};
///
/// let keys = ["apple", "plum"].map(Key::from);
/// // The size follows from the number of keys, which are counted first.
/// let filter = Foreign::build(Format::LevelDb, &Parameters::default(), keys.into_iter())?;
/// assert_eq!(filter.encode()?.len(), 8 + 1, "64 bits at least, and the number of probes");
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type LevelDb<S = Bytes> = Plain<Fields, S>;

/// The last byte of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    shape: Shape,
    modulus: u64,
}

/// Positions are 32 bits wide.
const REACH: u64 = 1 << 32;
/// The maximum number of probes; above it the byte means something else.
const MOST_PROBES: u8 = 30;
/// Bits per key that most programs use.
const USUAL_BITS_PER_KEY: f64 = 10.0;

/// Returns Badger's bits per key for a rate: really the best number of probes, ⌈−log₂ p⌉, which it uses as bits. At
/// 0.01 that is 7 bits per key, and about 4 % of keys pass.
pub fn badger_bits_per_key(fpp: f64) -> u64 {
    #[allow(clippy::approx_constant)] // as written there
    const LN_2: f64 = 0.69314718056;
    let bits = -fpp.ln() / LN_2.powi(2);
    (LN_2 * bits).ceil() as u64
}

impl Layout for Fields {
    type Hash<'k> = u32;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let keys = given.keys(format)?;
        let (go, badger) = (given.has("goleveldb"), given.has("badger"));
        let refuse =
            |name, found: f64, expected| Err(Parameters::refuse(format, name, found, expected));
        let per_key = match (given.bits_per_key, given.fpp) {
            (None, Some(fpp)) if badger => badger_bits_per_key(fpp),
            (_, Some(fpp)) => return refuse("fpp", fpp, "bits per key; badger alone takes a rate"),
            (per_key, None) => {
                let per_key = per_key.unwrap_or(USUAL_BITS_PER_KEY);
                if !(0.0..=65_536.0).contains(&per_key) || per_key.fract() != 0.0 {
                    return refuse("bits_per_key", per_key, "a whole number, at most 65536");
                }
                per_key as u64
            }
        };
        let probes = if go { per_key * 69 / 100 } else { (per_key as f64 * 0.69) as u64 };
        let probes = probes.clamp(1, MOST_PROBES.into()) as u8;
        let Some(bits) = keys.checked_mul(per_key) else {
            return Err(Error::TooLarge { bits: keys as f64 * per_key as f64 });
        };
        let wraps = (go || badger) && bits >= REACH;
        let bits = if go { bits % REACH } else { bits };
        let bytes = bits.max(64).div_ceil(8);
        if badger && (8 * bytes).is_multiple_of(REACH) {
            let expected = "not a multiple of 2^32 bits, by which Badger would divide as 0";
            return refuse("keys", keys as f64, expected);
        }
        let plan = Plan::new(format, (8 * bytes, probes.into()), Vec::new(), bytes, vec![probes]);
        let plan = plan.warn(
            wraps,
            "its size does not fit in 32 bits and wraps, as in the other program: the rate will be far higher than requested",
        );
        Ok(plan.warn(
            !wraps && 8 * bytes > REACH,
            "the bits from 2^32 on are never used: the rate will be higher than the bits per key promise",
        ))
    }

    fn parse(format: Format, content: &[u8], given: &Parameters) -> Result<Self, Error> {
        let (&probes, array) = content.split_last().unwrap_or((&0, &[]));
        let mut shape = Shape::new(format, probes.into(), 0..array.len());
        shape.fixed = match probes {
            _ if array.is_empty() => Some(false),
            1..=MOST_PROBES => None,
            _ => Some(true),
        };
        let bits = shape.bits;
        let wraps = given.has("goleveldb") || given.has("badger");
        let modulus = if wraps { bits % REACH } else { bits };
        let right = bits == 0 || modulus > 0;
        check(format, "bits", bits, right, "not a multiple of 2^32, a modulus of 0")?;
        Ok(Self { shape, modulus })
    }

    fn scheme(&self) -> String {
        match self.modulus == self.shape.bits {
            true => "leveldb-hash".to_owned(),
            false => format!("leveldb-hash modulo {}", self.modulus),
        }
    }

    fn is_certain(&self) -> bool {
        false
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<u32>, Error> {
        Ok(Some(leveldb::hash(key.bytes(Format::LevelDb)?)))
    }

    #[inline]
    fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (modulus, step) = (self.modulus, hash.rotate_right(17));
        (0..self.shape.probes)
            .map(move |i| u64::from(hash.wrapping_add(step.wrapping_mul(i))) % modulus)
    }

    fn measure(&self, array: &[u8]) -> Measure {
        Measure::spread(array, self.modulus.min(REACH), self.shape.probes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(keys: u64, per_key: f64) -> Parameters {
        Parameters { keys: Some(keys), bits_per_key: Some(per_key), ..Parameters::default() }
    }

    #[test]
    fn sizes_of_goleveldb_and_badger_wrap_where_theirs_do() {
        let keys = (1 << 32) / 10 + 1; // 4 bits more than 2^32
        let plan =
            |option| LevelDb::plan(Format::LevelDb, &given(keys, 10.0).with(option)).unwrap();
        assert_eq!(["goleveldb", "badger"].map(|option| plan(option).bytes), [9, (1 << 29) + 2]);
        assert!(!plan("badger").warnings.is_empty());
        assert_eq!(badger_bits_per_key(0.01), 7);
        assert!(LevelDb::plan(Format::LevelDb, &given(1 << 29, 8.0).with("badger")).is_err());
        let warnings = |keys| LevelDb::plan(Format::LevelDb, &given(keys, 8.0)).unwrap().warnings;
        assert!(warnings(1 << 29).is_empty(), "exactly 2^32 bits are all used");
        assert_eq!(warnings((1 << 29) + 1).len(), 1);
    }

    #[test]
    fn bits_from_2_to_the_32_on_are_never_used() {
        let shape = Shape::new(Format::LevelDb, 30, 0..(1 << 30) + 8);
        let layout = |modulus| Fields { shape: shape.clone(), modulus };
        for i in 0..1000 {
            let hash = crate::hash::mix(i) as u32;
            assert!(layout((1 << 33) + 64).positions(hash).all(|position| position < REACH));
            assert!(layout(64).positions(hash).all(|position| position < 64), "as goleveldb wraps");
        }
    }

    #[test]
    fn content_without_a_filter_answers_as_leveldb_does() {
        let answer = |content: &[u8]| {
            let filter = LevelDb::decode(Format::LevelDb, content, &Parameters::default()).unwrap();
            filter.contains("key".into()).unwrap()
        };
        assert!(!answer(&[]) && !answer(&[6]) && !answer(&[0, 6]));
        assert!(answer(&[0, 31]) && answer(&[0, 255]) && answer(&[0, 0]));
    }
}
