//! Apache DataSketches' Bloom filter. Checked against datasketches-java 6.2.0 and the crate datasketches
//! 0.6.0; `apache/datasketches-java`, `.../filters/bloomfilter/`.
//!
//! ```text
//! byte 0       1      2       3            4 .. 5   6 .. 7   8 .. 15   16 .. 19   20 .. 23
//! | longs u8 | 1 u8 | 21 u8 | flags u8   | k u16  | 0 u16  | seed u64 | words i32 | 0 u32 |
//! | 3 or 4   |      | family| 4: is empty|                                   little-endian
//!
//! only when not empty:   24 .. 31           32 ..
//!                      | set bits u64     | words of 64 bits |
//! ```
//!
//! The number of set bits is 2⁶⁴ − 1 if it was not counted: Java writes that after `update`, and after a union until
//! the next `update`; it writes the true number if only `queryAndUpdate` was used. The hash is XXH64 with the seed,
//! computed again with itself as seed; numbers are hashed as 8 bytes little-endian, text as UTF-8. The empty text is
//! ignored: never inserted, never found (an empty array of bytes, which Java hashes, is treated like it here).

use std::f64::consts::LN_2;
use std::ops::Range;

use crate::bits::count_ones;
use crate::guava::java_bits;
use crate::hash::xxh64;
use crate::prelude::*;

/// A filter of DataSketches.
///
/// ```
/// use umbel_foreign::datasketches::DataSketches;
/// use umbel_foreign::{ForeignInsert, Format, Key, Parameters};
///
/// let mut filter: DataSketches = DataSketches::new(Format::DataSketches, &Parameters::for_keys(500, 0.03))?;
/// assert_eq!(filter.content().len(), 24, "an empty one is its header alone");
/// filter.insert(Key::F64(1.5))?;
/// assert_eq!(filter.content().len() as u64, 32 + filter.layout().bits_planned() / 8);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type DataSketches<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    seed: u64,
    /// The set bits, if they are counted.
    counted: Option<u64>,
    /// Whether insertions count them.
    counts: bool,
    /// Its array is empty until a bit is set.
    shape: Shape,
}

/// The default seed of DataSketches.
const USUAL_SEED: u64 = 9001;
/// Words of the largest filter in Java.
const MOST_WORDS: u32 = i32::MAX as u32 - 4;
/// Bytes of the header of an empty filter.
const HEAD: usize = 24;
/// The range of the number of set bits.
const COUNT: Range<usize> = 24..32;
const EMPTY: u8 = 4;

/// Returns the bits that DataSketches suggests for `keys` keys: ⌈−n·ln p / (ln 2)²⌉.
pub fn suggested_bits(keys: u64, fpp: f64) -> u64 {
    (-(keys as f64) * fpp.ln() / (LN_2 * LN_2)).ceil() as u64
}

/// Returns the probes that DataSketches suggests for this many bits, before they are rounded up to words: ⌈(m/n)·ln 2⌉.
pub fn suggested_probes(keys: u64, bits: u64) -> u32 {
    (bits as f64 / keys as f64 * LN_2).ceil() as u32
}

impl Layout for Fields {
    type Hash<'k> = (u64, u64);
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (bits, probes) = match (given.bits, given.probes, given.keys) {
            (Some(bits), Some(probes), None) if given.fpp.is_none() => (bits, probes),
            (None, None, Some(0)) => return Err(Error::ZeroKeys),
            (None, None, Some(keys)) => {
                let expected = "a false-positive probability";
                let missing = || Parameters::refuse(format, "fpp", "missing", expected);
                let bits = suggested_bits(keys, given.fpp.ok_or_else(missing)?);
                (bits, suggested_probes(keys, bits))
            }
            _ => {
                let found = "incomplete or too much";
                let expected = "keys and fpp, or bits and probes";
                return Err(Parameters::refuse(format, "bits", found, expected));
            }
        };
        let words = bits.div_ceil(64);
        if words > MOST_WORDS.into() {
            return Err(Error::TooLarge { bits: bits as f64 });
        }
        if words == 0 || probes == 0 || probes > i16::MAX as u32 {
            let found = format!("{bits}, with {probes} probes");
            let expected = "at least 1, with 1 to 32767 probes per key";
            return Err(Parameters::refuse(format, "bits", found, expected));
        }
        let mut head = vec![3, 1, 21, EMPTY];
        head.extend((probes as u16).to_le_bytes());
        head.extend([0; 2]);
        head.extend(given.seed.map_or(USUAL_SEED, |seed| seed as u64).to_le_bytes());
        head.extend((words as u32).to_le_bytes());
        head.extend([0; 4]);
        let mut plan = Plan::new(format, (64 * words, probes), head, 0, Vec::new());
        plan.bytes = COUNT.end as u64 + 8 * words;
        let is_beyond = plan.bytes > i32::MAX as u64;
        let warning = "Java reads and writes files of at most 2 GiB; the filter will be larger";
        Ok(plan.warn(is_beyond, warning))
    }

    fn parse(format: Format, content: &[u8], given: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let right = |longs| longs == 3 || longs == 4;
        let longs = reader.checked("preamble longs", Reader::u8, right, "3 or 4")?;
        reader.checked("serial version", Reader::u8, |version| version == 1, "1")?;
        reader.checked("family", Reader::u8, |family| family == 21, "21")?;
        let right = |flags| flags == if longs == 3 { EMPTY } else { 0 };
        reader.checked("flags", Reader::u8, right, "4 with 3 preamble longs, 0 with 4")?;
        let few = |probes| (1..=i16::MAX as u16).contains(&probes);
        let probes = reader.checked("probes", Reader::u16_le, few, "1 to 32767")?;
        reader.checked("unused bytes 6 to 7", Reader::u16_le, |unused| unused == 0, "0")?;
        let seed = reader.u64_le()?;
        let few = |words| (1..=MOST_WORDS).contains(&words);
        let words = reader.checked("words", Reader::u32_le, few, "1 to 2^31 - 5")?;
        reader.checked("unused bytes 20 to 23", Reader::u32_le, |unused| unused == 0, "0")?;
        let shape = |array| Shape::of_bits(format, probes.into(), 64 * u64::from(words), array);
        if longs == 3 {
            let counts = given.has("counted");
            let counted = counts.then_some(0);
            let shape = Shape { fixed: Some(false), ..shape(reader.rest(0, 0)?) };
            return Ok(Self { seed, counted, counts, shape });
        }
        let set_bits = reader.u64_le()?;
        let array = reader.rest(8 * u64::from(words), 0)?;
        let counted = (set_bits != u64::MAX).then_some(set_bits);
        let right = counted.is_none_or(|set_bits| set_bits == count_ones(&content[array.clone()]));
        check(format, "set bits", set_bits, right, "as many as are set, or 2^64 - 1")?;
        Ok(Self { seed, counted, counts: counted.is_some(), shape: shape(array) })
    }

    fn scheme(&self) -> String {
        format!("xxh64 seed {}", self.seed as i64)
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<(u64, u64)>, Error> {
        let twice = |word: u64| {
            let first = xxh64::of_u64(self.seed, word);
            Some((first, xxh64::of_u64(first, word)))
        };
        Ok(match key {
            Key::Bytes([]) => None,
            Key::Bytes(key) => {
                let first = xxh64::hash(self.seed, key);
                Some((first, xxh64::hash(first, key)))
            }
            Key::I64(key) => twice(key as u64),
            Key::F64(key) => twice(java_bits(key) as u64),
            other => return Err(other.refused(Format::DataSketches)),
        })
    }

    #[inline]
    fn positions(&self, (first, second): Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let bits = self.shape.bits;
        let mut at = first;
        (0..self.shape.probes).map(move |_| {
            at = at.wrapping_add(second);
            (at >> 1) % bits
        })
    }

    fn bytes_to_fill(&self, length: usize) -> u64 {
        if self.shape.array.is_empty() {
            COUNT.end as u64 + self.bits_planned() / 8
        } else {
            length as u64
        }
    }

    fn before_insert(&mut self, content: &mut Bytes) -> Result<(), Error> {
        if !self.shape.array.is_empty() {
            return Ok(());
        }
        let bytes = self.bytes_to_fill(content.len());
        let refused = |_| Error::OutOfMemory { bytes };
        let mut whole = Bytes::zeroed(usize::try_from(bytes).map_err(refused)?, COUNT.end)?;
        whole[..HEAD].copy_from_slice(&content[..HEAD]);
        (whole[0], whole[3]) = (4, 0);
        (self.shape.array, self.shape.fixed) = (COUNT.end..whole.len(), None);
        *content = whole;
        self.count(content);
        Ok(())
    }

    fn after_insert(&mut self, content: &mut Bytes, new: u32) {
        if let Some(set_bits) = self.counted {
            self.counted = self.counts.then_some(set_bits + u64::from(new));
            self.count(content);
        }
    }

    fn after_union(&mut self, content: &mut Bytes, _: &Self) {
        self.counted = Some(count_ones(&content[self.shape.array.clone()]));
        self.count(content);
    }

    fn facts(&self) -> Vec<Fact> {
        let counted = self.counted.map_or("no".to_owned(), |set_bits| set_bits.to_string());
        vec![
            Fact::new("seed", Figure::Text((self.seed as i64).to_string())),
            Fact::new("set_bits_counted", Figure::Text(counted)),
        ]
    }
}

impl Fields {
    /// Returns the bits, m, even for an empty filter, whose file has none.
    pub fn bits_planned(&self) -> u64 {
        self.shape.bits
    }

    /// Stores the number of set bits.
    fn count(&self, content: &mut Bytes) {
        content[COUNT].copy_from_slice(&self.counted.unwrap_or(u64::MAX).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(given: &Parameters) -> DataSketches {
        DataSketches::new(Format::DataSketches, given).unwrap()
    }

    /// For 100 keys at 0.01: written by datasketches-java 6.2.0.
    const NONE: [u8; 24] =
        [3, 1, 21, 4, 7, 0, 0, 0, 0x29, 0x23, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn an_empty_filter_is_its_header_and_grows_with_the_first_key() {
        let given = Parameters::for_keys(100, 0.01);
        let mut filter = new(&given);
        assert_eq!(filter.content(), NONE);
        assert!(!filter.contains("key".into()).unwrap());
        assert!(!filter.insert("".into()).unwrap(), "the empty text is ignored");
        assert_eq!((filter.content(), filter.bytes_to_fill()), (&NONE[..], 32 + 8 * 15));
        assert!(filter.insert("key".into()).unwrap() && !filter.insert("key".into()).unwrap());
        assert_eq!(filter.content()[COUNT], [255; 8]);
        assert_eq!(filter.bytes_to_fill(), filter.bytes());
        let mut counted = new(&given.clone().with("counted"));
        counted.union(&filter).unwrap();
        let set_bits = filter.receipt().set_bits;
        assert_eq!(counted.content()[COUNT], set_bits.to_le_bytes());
        assert!(counted.contains("key".into()).unwrap());
        // Java does the same for a union, even with nothing, until the next key.
        filter.union(&new(&given)).unwrap();
        assert_eq!(filter.content(), counted.content());
        filter.insert("key".into()).unwrap();
        assert_eq!(filter.content()[COUNT], [255; 8]);
        counted.insert("key".into()).unwrap();
        assert_eq!(counted.content()[COUNT], set_bits.to_le_bytes());
        // A wrong count is damage.
        let read =
            |file: &[u8]| DataSketches::decode(Format::DataSketches, file.to_vec(), &given).err();
        let mut file = counted.encode().unwrap();
        assert!(read(&file).is_none());
        file[40] ^= 1;
        let error = read(&file).unwrap();
        assert!(matches!(error, Error::Field { field: "set bits", .. }), "{error}");
    }

    #[test]
    fn doubles_know_one_nan_and_two_zeros() {
        let filter = new(&Parameters::for_keys(100, 0.01));
        let hash = |key| filter.hash(Key::F64(key)).unwrap();
        assert_eq!(hash(f64::NAN), hash(-f64::NAN));
        assert_ne!(hash(0.0), hash(-0.0));
        assert!(filter.hash(Key::F32(1.0)).is_err());
    }
}
