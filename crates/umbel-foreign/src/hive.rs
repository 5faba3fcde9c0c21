//! Hive's `BloomKFilter`, which its semijoins send. Checked against hive-storage-api 2.8.1;
//! `apache/hive`, `org/apache/hive/common/util/{BloomKFilter,Murmur3}.java`.
//!
//! ```text
//! byte 0    1              5 ..
//! | k u8 | words i32 BE | words of 64 bits, most significant byte first |
//! ```
//!
//! All bits of a key are in one block of eight words. The number of words is a multiple of eight.

use std::f64::consts::LN_2;

use crate::guava::{flip, java_bits, java_bits_f32, round};
use crate::hash::hive::hash64;
use crate::prelude::*;

/// A filter of Hive.
///
/// ```
/// use umbel_foreign::hive::Hive;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let keys = Parameters { keys: Some(500), ..Parameters::default() };
/// let mut filter: Hive = Hive::new(Format::Hive, &keys)?;
/// filter.insert(Key::I64(7))?;
/// assert!(filter.contains(Key::I64(7))? && !filter.contains(Key::I64(8))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Hive<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    shape: Shape,
}

/// The rate that Hive always plans for: the float 0.05, widened.
const FPP: f64 = 0.05f32 as f64;

/// Returns the words and probes that Hive chooses for `keys` keys: whole blocks of eight words, plus one block if they
/// were whole already.
pub fn optimal_size(keys: u64) -> (u64, u32) {
    let bits = (-(keys as f64) * FPP.ln() / (LN_2 * LN_2)) as u64;
    let words = bits.div_ceil(64);
    let probes = round(bits as f64 / keys as f64 * LN_2).max(1);
    (words + 8 - words % 8, probes)
}

impl Layout for Fields {
    type Hash<'k> = u64;
    const ORDER: Order = Order::BigWords;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (words, probes) = optimal_size(Parameters::some_keys(format, given.keys(format)?)?);
        let Ok(count) = i32::try_from(words) else {
            return Err(Error::TooLarge { bits: words as f64 * 64.0 });
        };
        let mut head = vec![probes as u8];
        head.extend(count.to_be_bytes());
        Ok(Plan::new(format, (64 * words, probes), head, 8 * words, Vec::new()))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let probes = reader.checked("probes", Reader::u8, |probes| probes > 0, "1 to 255")?;
        let words = reader.i32_be()?;
        check(format, "words", words, words > 0 && words % 8 == 0, "a multiple of 8, at least 8")?;
        let array = reader.rest(8 * words as u64, 0)?;
        Ok(Self { shape: Shape::new(format, probes.into(), array) })
    }

    fn scheme(&self) -> String {
        "murmur3-hive/blocks".to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<u64>, Error> {
        Ok(Some(match key {
            Key::Bytes(key) => hash64(key),
            Key::I64(key) => hash64(&key.to_be_bytes()),
            Key::I32(key) => hash64(&key.to_be_bytes()),
            Key::F64(key) => hash64(&java_bits(key).to_be_bytes()),
            Key::F32(key) => hash64(&java_bits_f32(key).to_be_bytes()),
        }))
    }

    #[inline]
    fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (first, second) = (hash as u32, (hash >> 32) as u32);
        let blocks = self.shape.array.len() as u64 / 64;
        let start = u64::from(flip(first.wrapping_add(second))) % blocks * 512;
        let mut at = first.wrapping_add(second);
        (0..self.shape.probes).map(move |_| {
            at = at.wrapping_add(second);
            let within = u64::from(flip(at));
            // The low three bits select the word, the next six the bit in it.
            start + (within & 7) * 64 + (within >> 3 & 63)
        })
    }

    fn measure(&self, array: &[u8]) -> Measure {
        Measure::lines(array, 64, self.shape.probes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_get_another() {
        assert_eq!(optimal_size(1), (8, 4));
        // 6,560 bits are 103 words, 6,652 are 104: 13 blocks, plus one.
        assert_eq!([1052, 1067].map(|keys| optimal_size(keys).0), [104, 112]);
    }

    #[test]
    fn fields_out_of_range_are_refused() {
        let keys = Parameters { keys: Some(1), ..Parameters::default() };
        let file = Hive::new(Format::Hive, &keys).unwrap().encode().unwrap();
        assert_eq!(file.len(), 69);
        for (byte, value) in [(0, 0), (1, 0x80), (4, 0), (4, 7), (4, 16)] {
            let mut changed = file.clone();
            changed[byte] = value;
            assert!(Hive::decode(Format::Hive, changed, &Parameters::default()).is_err(), "{byte}");
        }
    }
}
