//! Parquet's split-block Bloom filter, with its Thrift header or without. Checked against parquet-java
//! 1.17.0 and pyarrow 26.0.1; `apache/parquet-format`, `BloomFilter.md`.
//!
//! ```text
//! 15 | numBytes zigzag varint | 1c 1c 00 00 | 1c 1c 00 00 | 1c 1c 00 00 | 00 | blocks of 32 bytes
//! field 1, i32                  algorithm     hash          compression   end
//!                               = BLOCK       = XXHASH      = UNCOMPRESSED
//! ```
//!
//! A block is eight little-endian words of 32 bits; a key sets one bit in each. The upper half of its XXH64 selects the
//! block, the lower half the bits:
//!
//! ```text
//! block = (h >> 32) * blocks >> 32        bit of word i = (h mod 2^32) * SALT[i] mod 2^32 >> 27
//! ```
//!
//! The hashed value is the plain encoding without a length: text as UTF-8, numbers little-endian, floats by their IEEE
//! bits. In a Parquet file the footer locates the filters: the crate `umbel-parquet` reads and writes it.

pub mod thrift;

use std::ops::Range;

use crate::arch::{LineKernel, SALT};
use crate::bits::{count_ones, or};
use crate::hash::xxh64;
use crate::prelude::*;
use thrift::Thrift;

/// A split-block filter of Parquet.
///
/// ```
/// use umbel_foreign::parquet::Parquet;
/// use umbel_foreign::{ForeignInsert, Format, Key, Parameters};
///
/// let mut filter = Parquet::new(Format::Parquet, &Parameters::for_keys(50_000, 0.01).with("arrow"))?;
/// for id in 0..300 {
///     filter.insert(Key::I64(id))?;
/// }
/// filter.finish()?; // Far fewer keys than planned: folded as Arrow does.
/// assert_eq!(filter.content().len(), 16 + 512);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Parquet<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug)]
pub struct Fields {
    kernel: LineKernel,
    shape: Shape,
    /// The rate up to which Arrow folds after the last key.
    fold_to: Option<f64>,
}

/// Bytes of a block.
const BLOCK: usize = 32;
/// The largest filter that any writer makes, in bytes.
const LARGEST: u64 = 128 << 20;
/// The default rates of parquet-java and Arrow.
const USUAL_FPP: [f64; 2] = [0.01, 0.05];
/// Arrow's default number of keys.
const ARROW_KEYS: u64 = 1 << 20;
/// The bytes after numBytes in the header of every known writer.
const ALGORITHMS: [u8; 13] = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];

/// The bits by the filter's formula: −8n / ln(1 − p^(1/8)).
fn formula(keys: u64, fpp: f64) -> f64 {
    // Infinite for rates so low that the logarithm is 0.
    (8.0 * keys as f64 / (1.0 - fpp.powf(1.0 / 8.0)).ln()).abs()
}

/// Returns the bits that parquet-java computes for `keys` keys, before it rounds up to a power of two.
///
/// Its mask is meant to round to whole blocks of 256 bits, but clears only bit 8.
pub fn java_bits(keys: u64, fpp: f64) -> u64 {
    let bits = formula(keys, fpp);
    let most = 8.0 * LARGEST as f64;
    let bits = if bits > most { 8 * LARGEST } else { bits as u64 };
    ((bits + 255) & !256).max(256)
}

/// Returns the bits that Arrow chooses for `keys` keys, before it folds: a power of two.
pub fn arrow_bits(keys: u64, fpp: f64) -> u64 {
    let bits = formula(keys, fpp) as u64;
    bits.clamp(256, 8 * LARGEST).next_power_of_two()
}

/// Returns the bytes of the smallest filter, without its header, whose rate with `keys` keys is expected to be at most
/// `fpp`: a power of two, as Arrow accepts no other, and at most 128 MiB, even if that is too small.
///
/// A block has Poisson(n / blocks) keys, and lets a key pass if 8 words each have its bit. The closed formula that writers
/// use ([`java_bits`]) assumes equally full blocks, which gives 5 % too few bits at 10 %, and 16 % at 0.1 %.
pub fn bytes_for(keys: u64, fpp: f64) -> u64 {
    let least = formula(keys, fpp) / 8.0;
    let mut bytes = (least as u64).clamp(BLOCK as u64, LARGEST).next_power_of_two();
    while bytes < LARGEST && expected_rate(keys, bytes) > fpp {
        bytes *= 2;
    }
    bytes
}

/// The expected rate of a filter of this many bytes with `keys` keys.
fn expected_rate(keys: u64, bytes: u64) -> f64 {
    let mean = keys as f64 / (bytes / BLOCK as u64) as f64;
    let of_block = |keys: f64| (1.0 - (31.0f64 / 32.0).powf(keys)).powi(8);
    // The spread no longer counts; e^-mean would also be 0 soon.
    if mean > 600.0 {
        return of_block(mean);
    }
    let most = (mean + 12.0 * mean.sqrt() + 12.0) as u32;
    let mut chance = (-mean).exp();
    let mut rate = 0.0;
    for keys in 1..=most {
        chance *= mean / f64::from(keys);
        rate += chance * of_block(keys.into());
    }
    rate
}

/// The rate of a bitset, from its bits: the mean over blocks of the product over their words.
fn rate(array: &[u8]) -> f64 {
    array.chunks_exact(BLOCK).map(rate_of_block).sum::<f64>() / (array.len() / BLOCK) as f64
}

fn rate_of_block(block: &[u8]) -> f64 {
    block.chunks_exact(4).map(|word| count_ones(word) as f64 / 32.0).product()
}

/// The header of a bitset of this many bytes.
fn header(bytes: u64) -> Vec<u8> {
    let mut head = vec![0x15];
    thrift::varint(&mut head, bytes << 1);
    head.extend(ALGORITHMS);
    head
}

/// Locates the bits in `content`, which begins with a header and may continue after the filter. Use it to cut a filter
/// out of a Parquet file, whose footer gives its start but not always its end.
///
/// # Errors
/// [`Error::Field`], [`Error::Length`].
pub fn extent(content: &[u8]) -> Result<Range<usize>, Error> {
    let bits = declared_extent(content)?;
    Reader::new(Format::Parquet, content).take(bits.end)?;
    Ok(bits)
}

/// Like [`extent`], from the header alone: `content` must contain the header but not the bits that it declares. It
/// shows how many bytes of a file to read. Present writers make headers of 15 to 19 bytes.
///
/// # Errors
/// As [`extent`].
pub fn declared_extent(content: &[u8]) -> Result<Range<usize>, Error> {
    let format = Format::Parquet;
    let mut thrift = Thrift::new(content);
    let (mut field, mut bytes, mut unions) = (0, None, [false; 3]);
    const UNIONS: [(&str, &str); 3] = [
        ("algorithm", "1 (BLOCK), the only one there is"),
        ("hash", "1 (XXHASH), the only one there is"),
        ("compression", "1 (UNCOMPRESSED), the only one there is"),
    ];
    while let Some(kind) = thrift.field(&mut field)? {
        match (field, kind) {
            (1, Thrift::I32) => bytes = Some(thrift.integer_32()?),
            (2..=4, Thrift::STRUCT) => {
                let i = field as usize - 2;
                let (name, expected) = UNIONS[i];
                let mut chosen = 0;
                while let Some(kind) = thrift.field(&mut chosen)? {
                    check(format, name, chosen, chosen == 1 && kind == Thrift::STRUCT, expected)?;
                    unions[i] = true;
                    thrift.skip(kind)?;
                }
            }
            _ => thrift.skip(kind)?,
        }
    }
    for ((name, expected), there) in UNIONS.into_iter().zip(unions) {
        check(format, name, "missing", there, expected)?;
    }
    let expected = "a positive multiple of 32";
    let bytes = bytes.ok_or_else(|| refuse(format, "numBytes", "missing", expected))?;
    let right = bytes > 0 && bytes % BLOCK as i64 == 0;
    check(format, "numBytes", bytes, right, expected)?;
    let start = thrift.at();
    Ok(start..start + bytes as usize)
}

impl Layout for Fields {
    type Hash<'k> = u64;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let arrow = given.has("arrow");
        let fpp = given.fpp.unwrap_or(USUAL_FPP[usize::from(arrow)]);
        let bytes = match given.bits {
            Some(bits) => bits.div_ceil(8),
            None => {
                let bits = if arrow { arrow_bits } else { java_bits };
                let keys = match given.keys {
                    None if arrow => ARROW_KEYS,
                    _ => given.keys(format)?,
                };
                bits(keys, fpp) / 8
            }
        };
        let bytes = bytes.clamp(BLOCK as u64, LARGEST).next_power_of_two();
        let head = if format == Format::Parquet { header(bytes) } else { Vec::new() };
        let plan = Plan::new(format, (8 * bytes, 8), head, bytes, Vec::new());
        let short = given.keys.is_some_and(|keys| formula(keys, fpp) > 8.0 * bytes as f64);
        let warning = "the keys need more than the largest size, 128 MiB: the rate will be higher than requested";
        Ok(plan.warn(short, warning))
    }

    fn parse(format: Format, content: &[u8], given: &Parameters) -> Result<Self, Error> {
        let array = match format {
            Format::Parquet => extent(content)?,
            _ => 0..content.len(),
        };
        Reader::new(format, content).rest(array.end as u64, 0)?;
        let right = !array.is_empty()
            && array.len().is_multiple_of(BLOCK)
            && array.len() / BLOCK <= u32::MAX as usize;
        check(format, "bytes", array.len(), right, "a positive multiple of 32, at most 128 GiB")?;
        let fold_to = given.has("arrow").then(|| given.fpp.unwrap_or(USUAL_FPP[1]));
        let format = if array.start > 0 { Format::Parquet } else { Format::ParquetBits };
        let shape = Shape::new(format, 8, array);
        Ok(Self { kernel: LineKernel::split_blocks(), shape, fold_to })
    }

    fn is_certain(&self) -> bool {
        self.shape.array.start > 0
    }

    fn scheme(&self) -> String {
        "xxh64/split-block".to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<u64>, Error> {
        Ok(Some(hash(key)))
    }

    #[inline]
    fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let blocks = (self.shape.array.len() / BLOCK) as u64;
        let block = 256 * (((hash >> 32) * blocks) >> 32);
        let low = hash as u32;
        let bit =
            move |(i, salt): (u64, u32)| block + 32 * i + u64::from(low.wrapping_mul(salt) >> 27);
        (0..).zip(SALT).map(bit)
    }

    #[inline]
    fn prefetch(&self, array: &[u8], hash: Self::Hash<'_>) {
        self.kernel.prefetch(array, hash);
    }

    #[inline]
    fn contains(&self, array: &[u8], hash: Self::Hash<'_>) -> bool {
        self.kernel.contains(array, hash, 8)
    }

    #[inline]
    fn insert(&self, array: &mut [u8], hash: Self::Hash<'_>) -> u32 {
        self.kernel.insert(array, hash, 8).into()
    }

    fn finish(&mut self, content: &mut Bytes) -> Result<(), Error> {
        match self.fold_to {
            Some(fpp) => self.fold(content, fpp),
            None => Ok(()),
        }
    }

    fn measure(&self, array: &[u8]) -> Measure {
        let (same_word, other_word) = (1.0 - 2.0 / 32.0, (31.0f64 / 32.0).powi(2));
        let pairs = [(31.0, same_word), (224.0, other_word)];
        Measure::blocked(array, BLOCK, rate_of_block, 31.0 / 32.0, &pairs)
    }
}

/// Returns XXH64 of the plain encoding of a key, with which filters of any size can be queried.
pub fn hash(key: Key<'_>) -> u64 {
    match key {
        Key::Bytes(key) => xxh64::hash(0, key),
        Key::I64(key) => xxh64::of_u64(0, key as u64),
        Key::I32(key) => xxh64::of_u32(0, key as u32),
        Key::F64(key) => xxh64::of_u64(0, key.to_bits()),
        Key::F32(key) => xxh64::of_u32(0, key.to_bits()),
    }
}

/// The [`hash`]es of values that each begin like the one before, as in the encoding `DELTA_BYTE_ARRAY`: the shared part
/// is hashed once, so the time depends only on the bytes in the file.
///
/// It uses memory of at most 0.35 times the longest value, or twice as much while it grows.
#[derive(Clone, Debug, Default)]
pub struct PrefixHasher(xxh64::Prefixes);

impl PrefixHasher {
    /// Returns the [`hash`] of `value`, whose first `shared` bytes equal the previously hashed value's.
    ///
    /// If they do not, the hash is wrong.
    pub fn hash(&mut self, value: &[u8], shared: usize) -> u64 {
        self.0.hash(value, shared)
    }
}

impl<S: AsRef<[u8]>> Plain<Fields, S> {
    /// Looks up many keys by their hashes, XXH64 of the plain encoding, with overlapping cache misses: `found[i]`
    /// becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        self.layout().kernel.contains_all(self.bit_array(), hashes, 8, found);
    }

    /// Converts to the form with the header ([`Format::Parquet`]) or without it ([`Format::ParquetBits`]).
    ///
    /// # Errors
    /// [`Error::Field`] if it is too large for the header, which counts bytes in 31 bits; [`Error::OutOfMemory`].
    pub fn convert(&self, to: Format) -> Result<Plain<Fields>, Error> {
        let array = self.bit_array();
        let few = to != Format::Parquet || array.len() <= i32::MAX as usize;
        check(to, "numBytes", array.len(), few, "below 2^31")?;
        let (_, content) = folded(array, 1, to == Format::Parquet)?;
        Plain::decode(to, content, &Parameters::default())
    }
}

impl Plain<Fields> {
    /// Inserts many keys by their hashes, with overlapping cache misses.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        let (layout, array) = self.parts_mut();
        layout.kernel.insert_all(array, hashes, 8);
    }

    /// Halves a filter whose number of blocks is a power of two, by ORing neighbouring blocks, as often as its rate, from
    /// its bits, stays at most `fpp`: a filter made for too many keys becomes the one for its actual keys, bit by bit.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: half of the filter is needed for a copy.
    pub fn shrink(mut self, fpp: f64) -> Result<Self, Error> {
        loop {
            let array = self.bit_array();
            if array.len() == BLOCK || !array.len().is_power_of_two() {
                return Ok(self);
            }
            let (start, folded) = folded(array, 2, self.format() == Format::Parquet)?;
            if rate(&folded[start..]) > fpp {
                return Ok(self);
            }
            self = Self::decode(self.format(), folded, &Parameters::default())?;
        }
    }
}

/// A bitset in which `together` neighbouring blocks have become one, with a header or without; and where it starts.
fn folded(array: &[u8], together: usize, with_header: bool) -> Result<(usize, Bytes), Error> {
    let bytes = array.len() / together;
    let head = if with_header { header(bytes as u64) } else { Vec::new() };
    let mut folded = Bytes::zeroed(head.len() + bytes, head.len())?;
    folded[..head.len()].copy_from_slice(&head);
    let blocks = folded[head.len()..].chunks_exact_mut(BLOCK);
    for (block, old) in blocks.zip(array.chunks_exact(together * BLOCK)) {
        old.chunks_exact(BLOCK).for_each(|old| or(block, old));
    }
    Ok((head.len(), folded))
}

impl Fields {
    /// Halves the filter, by ORing neighbouring blocks, as often as the expected rate stays at most `fpp`: with a
    /// share f of its bits set, 1 − (1 − f)^(2^i) of them are set after i times.
    fn fold(&mut self, content: &mut Bytes, fpp: f64) -> Result<(), Error> {
        let Shape { format, array, .. } = &self.shape;
        let array = &content[array.clone()];
        let blocks = array.len() / BLOCK;
        if !blocks.is_power_of_two() {
            return Ok(());
        }
        let mut clear = 1.0 - count_ones(array) as f64 / (8 * array.len()) as f64;
        let mut together = 1;
        while together < blocks {
            clear *= clear;
            if (1.0 - clear).powi(8) > fpp {
                break;
            }
            together *= 2;
        }
        if together == 1 {
            return Ok(());
        }
        let (start, folded) = folded(array, together, *format == Format::Parquet)?;
        self.shape = Shape::new(*format, 8, start..folded.len());
        *content = folded;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// key-000001 to key-000020 in 32 bytes: written by parquet-java 1.17.0.
    const ONE_BLOCK: &[u8] = &[
        0x15, 0x40, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00,
        0x64, 0x9e, 0x32, 0xf4, 0x9a, 0xe8, 0x64, 0x47, 0x9c, 0x01, 0x97, 0xef, 0x63, 0x22, 0x6d,
        0x40, 0x36, 0x03, 0x6b, 0x7c, 0x4a, 0x4b, 0x22, 0xe6, 0xe5, 0x8e, 0x4b, 0x98, 0x87, 0x2e,
        0x0d, 0xb9,
    ];

    #[test]
    fn a_file_of_parquet_java_is_made_again() {
        for (format, start) in [(Format::Parquet, 0), (Format::ParquetBits, 15)] {
            let file = &ONE_BLOCK[start..];
            let given = Parameters { bits: Some(256), ..Parameters::default() };
            let mut filter = Parquet::new(format, &given).unwrap();
            for i in 1..=20 {
                filter.insert(format!("key-{i:06}").as_str().into()).unwrap();
            }
            assert_eq!(filter.content(), file);
            let read = Parquet::decode(format, file, &Parameters::default()).unwrap();
            assert!(read.contains("key-000007".into()).unwrap());
        }
    }

    #[test]
    fn headers_with_fields_unknown_are_read_and_other_algorithms_refused() {
        let head = |bytes: &[u8]| extent(&[bytes, &[0; 64]].concat());
        let known = &ONE_BLOCK[..15];
        assert_eq!(head(known).unwrap(), 15..47);
        // Fields 5 (binary of 2 bytes), 6 (a structure with a double in it), 7 (true), 8 (a list of two
        // numbers), 9 (a map of truth values to lists of none), 10 (16 bytes).
        let unknown: &[&[u8]] = &[
            &[0x18, 2, 9, 9],
            &[0x1c, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x11],
            &[0x19, 0x25, 0x80, 1, 7],
            &[0x1b, 2, 0x19, 1, 0x05, 2, 0x05],
            &[0x1d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        ];
        let more = [&known[..14], &unknown.concat(), &[0]].concat();
        assert_eq!(head(&more).unwrap(), more.len()..more.len() + 32);
        assert_eq!(declared_extent(&more).unwrap(), more.len()..more.len() + 32);
        for end in 14..more.len() {
            assert!(extent(&more[..end]).is_err(), "{end} bytes");
        }
        let endless = [&known[..14], &[0x19, 0xf1], &[255; 9], &[1]].concat();
        assert!(head(&endless).is_err(), "a list of 2^64 - 1");
        for i in 0..15 {
            for bit in 0..8 {
                let mut changed = known.to_vec();
                changed[i] ^= 1 << bit;
                // Bytes 3, 7 and 11 select the algorithms; other changes can make fields that are skipped.
                let extent = head(&changed);
                assert!(extent.is_err() || ![3, 7, 11].contains(&i), "byte {i} bit {bit}");
            }
            assert!(extent(&known[..i]).is_err());
        }
        for bytes in [0, 31, 33, -32i64] {
            let zigzag = (bytes << 1 ^ bytes >> 63) as u8;
            let found = head(&[&[0x15, zigzag], &known[2..]].concat());
            assert!(matches!(found, Err(Error::Field { field: "numBytes", .. })), "{bytes}");
        }
        assert!(extent(&[0x1c; 5000]).is_err(), "structures in structures");
        assert!(extent(&[&[0x18][..], &[255; 9], &[1]].concat()).is_err(), "a length near 2^63");
    }

    /// At the chosen size, the rate of a full filter is at most the requested one; at half the size, it is above.
    #[test]
    fn the_smallest_filter_that_keeps_its_rate() {
        // The table of the format's own page: 10.5 bits per key at 1 %, 16.9 at 0.1 %, 26.4 at 0.01 %, 41 at 0.001 %.
        for (bits, fpp) in [(10.5, 1e-2), (16.9, 1e-3), (26.4, 1e-4), (41.0, 1e-5)] {
            let blocks = 1 << 12;
            let rate = expected_rate((f64::from(blocks) * 256.0 / bits) as u64, 32 * blocks as u64);
            assert!((rate / fpp - 1.0).abs() < 0.04, "{rate} instead of {fpp}");
        }
        for keys in [0, 1, 7, 100, 5000, 100_000] {
            for fpp in [0.5, 0.1, 0.01, 1e-3, 1e-6] {
                let bytes = bytes_for(keys, fpp);
                assert!(expected_rate(keys, bytes) <= fpp, "{keys} keys, {fpp}: {bytes}");
                assert!(bytes == 32 || expected_rate(keys, bytes / 2) > fpp, "{keys} keys, {fpp}");
                let given = Parameters { bits: Some(8 * bytes), ..Parameters::default() };
                let mut filter = Parquet::new(Format::Parquet, &given).unwrap();
                let hashes: Vec<_> = (0..keys as i64).map(|key| hash(Key::I64(key))).collect();
                filter.insert_hashes(&hashes);
                let (expected, found) = (expected_rate(keys, bytes), filter.receipt().fpp);
                // The smaller the rate, the more it varies.
                if keys >= 5000 && expected >= 1e-3 {
                    assert!((found / expected - 1.0).abs() < 0.1, "{found}, not {expected}");
                }
            }
        }
        assert_eq!((bytes_for(u64::MAX, 0.01), bytes_for(1, 0.9)), (LARGEST, 32));
    }

    /// A filter made for too many keys is, when shrunk, the one made for its actual keys.
    #[test]
    fn an_oversized_filter_shrinks_to_the_right_one() {
        let hashes: Vec<_> = (0..3000).map(|key| hash(Key::I64(key * 77))).collect();
        for format in [Format::Parquet, Format::ParquetBits] {
            let of = |bytes: u64| {
                let given = Parameters { bits: Some(8 * bytes), ..Parameters::default() };
                let mut filter = Parquet::new(format, &given).unwrap();
                filter.insert_hashes(&hashes);
                filter
            };
            for fpp in [0.3, 0.01, 1e-4] {
                let shrunk = of(1 << 20).shrink(fpp).unwrap();
                let bytes = shrunk.bit_array().len() as u64;
                assert_eq!(shrunk.content(), of(bytes).content(), "{fpp}");
                assert!(shrunk.receipt().fpp <= fpp && of(bytes / 2).receipt().fpp > fpp);
                assert!(shrunk.clone().shrink(fpp).unwrap().content() == shrunk.content());
            }
        }
    }

    #[test]
    fn sizes() {
        assert_eq!((java_bits(33_554_432, 1e-6), java_bits(1000, 0.1)), (1_073_742_079, 5771));
        assert_eq!(
            (arrow_bits(1000, 1e-140), java_bits(1000, 1e-140)),
            (8 * LARGEST, 1_073_742_079)
        );
        assert_eq!((java_bits(1, 0.5), java_bits(1 << 60, 0.1)), (256, 1_073_742_079));
        assert_eq!((arrow_bits(1, 0.5), arrow_bits(1000, 0.05)), (256, 8192));
        for (bytes, length) in [(32, 15), (64, 16), (8 << 10, 17), (1 << 20, 18), (LARGEST, 19)] {
            assert_eq!(header(bytes).len(), length);
        }
    }
}
