//! `tofile` of pybloom 2.0 and pybloom-live, plain and scalable. Checked against pybloom-live 3.1.0 and 4.0.0;
//! `jaybaird/python-bloomfilter`, `pybloom/pybloom.py`, and the packages on PyPI.
//!
//! ```text
//! byte 0               8              16                    24             32          40 ..
//! | error rate f64 LE | slices k u64 | bits of a slice u64 | capacity u64 | count u64 | bits, lowest first |
//!
//! scalable:
//! byte 0        4           12                     20               28          32 ..
//! | growth i32 | ratio f64 | first capacity u64 | error rate f64 | filters i32 | length u64 of each | filters |
//! ```
//!
//! Each probe has its own slice. **The file has no version, and the hash changed**: if few bits of hash are needed,
//! pybloom-live 4 uses XXH3 of 128 bits, older versions MD5; above 128 bits all use SHA-1 and SHA-2. So you must name
//! the format to read such a file. `count` is the number of additions that set a bit; after a union it is 0.

use std::f64::consts::LN_2;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha384, Sha512};
use twox_hash::XxHash3_128;
use umbel::internals::math::Coverage;

use crate::bits;
use crate::error::differ;
use crate::prelude::*;

/// A filter of pybloom or pybloom-live.
///
/// ```
/// use umbel_foreign::pybloom::Pybloom;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let mut filter: Pybloom = Pybloom::new(Format::Pybloom4, &Parameters::for_keys(1000, 0.001))?;
/// filter.insert(Key::from("7"))?; // Python's 7 and "7" alike
/// assert!(filter.contains(Key::from("7"))? && !filter.contains(Key::from("8"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Pybloom<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    error: f64,
    slice_bits: u64,
    capacity: u64,
    count: u64,
    salts: Salts,
    /// A probe has a slice.
    shape: Shape,
}

/// The most slices: pybloom makes ⌈log₂ 1/p⌉, and 1/p is finite.
const MOST_SLICES: u64 = 1024;
const HEAD: usize = 40;
/// The range of the count.
const COUNT: Range<usize> = 32..40;
/// pybloom's default rate, scalable or not.
const USUAL_FPP: f64 = 0.001;

/// Returns the slices and the bits of a slice that pybloom chooses: k = ⌈log₂ 1/p⌉, and ⌈n·|ln p| / (k·(ln 2)²)⌉.
pub fn optimal_size(capacity: u64, fpp: f64) -> (u64, u64) {
    // Python's two-argument logarithm divides; it is not log2.
    let slices = ((1.0 / fpp).ln() / 2.0f64.ln()).ceil();
    let bits = (capacity as f64 * fpp.ln().abs() / (slices * (LN_2 * LN_2))).ceil();
    (slices as u64, bits as u64)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Md5,
    Xxh3,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// Its name, and the bytes of a digest.
    const fn about(self) -> (&'static str, usize) {
        match self {
            Self::Md5 => ("md5", 16),
            Self::Xxh3 => ("xxh3-128", 16),
            Self::Sha1 => ("sha1", 20),
            Self::Sha256 => ("sha256", 32),
            Self::Sha384 => ("sha384", 48),
            Self::Sha512 => ("sha512", 64),
        }
    }

    /// The digest of `first`, at most 64 bytes, followed by `second`.
    #[inline]
    fn digest(self, first: &[u8], second: &[u8]) -> [u8; 64] {
        fn of<D: Digest>(first: &[u8], second: &[u8]) -> [u8; 64] {
            let mut digest = [0; 64];
            let bytes = D::new().chain_update(first).chain_update(second).finalize();
            digest[..bytes.len()].copy_from_slice(&bytes);
            digest
        }
        match self {
            Self::Md5 => of::<Md5>(first, second),
            Self::Xxh3 => {
                // The incremental hasher allocates; most keys fit here.
                let mut short = [0; 256];
                let whole = first.len() + second.len();
                let hash = if whole <= short.len() {
                    short[..first.len()].copy_from_slice(first);
                    short[first.len()..whole].copy_from_slice(second);
                    XxHash3_128::oneshot(&short[..whole])
                } else {
                    XxHash3_128::oneshot(&[first, second].concat())
                };
                let mut digest = [0; 64];
                digest[..16].copy_from_slice(&hash.to_be_bytes());
                digest
            }
            Self::Sha1 => of::<Sha1>(first, second),
            Self::Sha256 => of::<Sha256>(first, second),
            Self::Sha384 => of::<Sha384>(first, second),
            Self::Sha512 => of::<Sha512>(first, second),
        }
    }
}

/// The digests of the first numbers of salts, by the hash.
type Digests = [Arc<[[u8; 64]]>; 6];

/// The way from keys to numbers: digests, each of a salt and the key, divided into little-endian words.
#[derive(Clone, Debug)]
struct Salts {
    hash: Hash,
    /// Bytes of a number.
    width: usize,
    /// The digest of each salt's number, maybe more than are needed: filters of a chain share them, because a slice may
    /// have one bit, but its part of the digests 32 or 64.
    digests: Arc<[[u8; 64]]>,
}

impl PartialEq for Salts {
    /// The digests follow from the hash.
    fn eq(&self, other: &Self) -> bool {
        (self.hash, self.width) == (other.hash, other.width)
    }
}

impl Salts {
    /// For numbers below `slice_bits`, one for each slice; uses known digests, and adds new ones to them.
    fn new(format: Format, slices: u32, slice_bits: u64, known: &mut Digests) -> Self {
        let width = match slice_bits {
            0x8000_0000.. => 8,
            0x8000.. => 4,
            _ => 2,
        };
        let hash = match 8 * slices as usize * width {
            385.. => Hash::Sha512,
            257.. => Hash::Sha384,
            161.. => Hash::Sha256,
            129.. => Hash::Sha1,
            _ if matches!(format, Format::Pybloom4 | Format::Pybloom4Scalable) => Hash::Xxh3,
            _ => Hash::Md5,
        };
        let salts = slices.div_ceil((hash.about().1 / width) as u32);
        let known = &mut known[hash as usize];
        if known.len() < salts as usize {
            *known = (0..salts).map(|salt| hash.digest(&salt.to_le_bytes(), &[])).collect();
        }
        Self { hash, width, digests: Arc::clone(known) }
    }

    #[inline]
    fn numbers(&self, key: &[u8]) -> impl Iterator<Item = u64> {
        let (hash, width) = (self.hash, self.width);
        self.digests.iter().flat_map(move |salt| {
            let digest = hash.digest(&salt[..hash.about().1], key);
            (0..hash.about().1 / width).map(move |i| {
                let mut word = [0; 8];
                word[..width].copy_from_slice(&digest[i * width..][..width]);
                u64::from_le_bytes(word)
            })
        })
    }
}

impl Layout for Fields {
    type Hash<'k> = &'k [u8];
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let capacity = Parameters::some_keys(format, given.keys(format)?)?;
        Self::empty(format, capacity, given.fpp.unwrap_or(USUAL_FPP))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        Self::read(format, content, &mut Digests::default())
    }

    fn is_certain(&self) -> bool {
        // With MD5 it could be version 4, with XXH3 version 3.
        let either = !matches!(self.salts.hash, Hash::Md5 | Hash::Xxh3);
        either && optimal_size(self.capacity, self.error) == self.slices()
    }

    fn scheme(&self) -> String {
        format!("{}/slices of {}-byte numbers", self.salts.hash.about().0, self.salts.width)
    }

    fn hash<'k>(&self, key: Key<'k>) -> Result<Option<&'k [u8]>, Error> {
        key.bytes(self.shape.format).map(Some)
    }

    #[inline]
    fn positions(&self, key: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let slice = |(i, number)| u64::from(i) * self.slice_bits + number % self.slice_bits;
        (0..self.shape.probes).zip(self.salts.numbers(key)).map(slice)
    }

    // pybloom refuses keys only above its capacity, so it accepts one more.
    fn admits(&self) -> Result<(), Error> {
        if self.count > self.capacity {
            return Err(Error::Full { format: self.shape.format, keys: self.capacity });
        }
        Ok(())
    }

    fn after_insert(&mut self, content: &mut Bytes, new: u32) {
        if new > 0 {
            self.set_count(content, self.count.saturating_add(1));
        }
    }

    fn after_union(&mut self, content: &mut Bytes, _: &Self) {
        self.set_count(content, 0);
    }

    fn measure(&self, array: &[u8]) -> Measure {
        let (slices, slice_bits) = self.slices();
        let (mut set_bits, mut fpp) = (0, 1.0);
        for slice in 0..slices {
            let set = bits::count_ones_in(array, slice * slice_bits..(slice + 1) * slice_bits);
            set_bits += set;
            fpp *= set as f64 / slice_bits as f64;
        }
        let Shape { bits, probes, .. } = self.shape;
        let coverage = Coverage::sliced(slice_bits, probes);
        let keys = coverage.keys((bits - set_bits) as f64);
        Measure { bits, set_bits, keys, fpp, coverage: Some(coverage) }
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("capacity", Figure::Count(self.capacity)),
            Fact::new("error_rate", Figure::Rate(self.error)),
            Fact::new("count", Figure::Count(self.count)),
        ]
    }

    // Prefetching would hash every key twice, which costs more than the misses.
    fn prefetch(&self, _: &[u8], _: Self::Hash<'_>) {}
}

impl Fields {
    /// Reads the header of a file, with digests that are known.
    fn read(format: Format, content: &[u8], known: &mut Digests) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let error = read_rate(&mut reader)?;
        let few = |slices| (1..=MOST_SLICES).contains(&slices);
        let slices = reader.checked("slices", Reader::u64_le, few, "1 to 1024")?;
        let slice_bits = reader.u64_le()?;
        let bits = slices.checked_mul(slice_bits).filter(|bits| *bits > 0);
        check(format, "bits of a slice", slice_bits, bits.is_some(), "1 to what 64 bits count")?;
        let bits = slices * slice_bits;
        let capacity = reader.checked("capacity", Reader::u64_le, |keys| keys > 0, "at least 1")?;
        let count = reader.u64_le()?;
        let array = reader.rest(bits.div_ceil(8), 0)?;
        check_padding(format, &content[array.clone()], bits)?;
        let slices = slices as u32;
        let salts = Salts::new(format, slices, slice_bits, known);
        let shape = Shape::of_bits(format, slices, bits, array);
        Ok(Self { error, slice_bits, capacity, count, salts, shape })
    }

    fn empty(format: Format, capacity: u64, fpp: f64) -> Result<Plan, Error> {
        let (slices, slice_bits) = optimal_size(capacity, fpp);
        let expected = "a rate whose inverse is a number";
        Parameters::require(format, "fpp", fpp, slices <= MOST_SLICES, expected)?;
        let Some(bits) = slices.checked_mul(slice_bits) else {
            return Err(Error::TooLarge { bits: slices as f64 * slice_bits as f64 });
        };
        let mut head = fpp.to_le_bytes().to_vec();
        head.extend([slices, slice_bits, capacity, 0].map(u64::to_le_bytes).as_flattened());
        Ok(Plan::new(format, (bits, slices as u32), head, bits.div_ceil(8), Vec::new()))
    }

    /// Its bits in the `file` that these fields head.
    fn bits<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        &file[self.shape.array.clone()]
    }

    fn bits_mut<'a>(&self, file: &'a mut [u8]) -> &'a mut [u8] {
        &mut file[self.shape.array.clone()]
    }

    /// How many slices there are, and the bits of each.
    fn slices(&self) -> (u64, u64) {
        (self.shape.probes.into(), self.slice_bits)
    }

    /// Writes the count into the `file` that these fields head.
    fn set_count(&mut self, file: &mut [u8], count: u64) {
        self.count = count;
        file[COUNT].copy_from_slice(&count.to_le_bytes());
    }

    /// Checks that `other` places keys as this one does.
    fn agree(&self, other: &Self) -> Result<(), Error> {
        let of = |it: &Self| [it.scheme().into(), it.shape.probes.into(), it.slice_bits.into()];
        let names = ["hash scheme", "number of slices", "number of bits of a slice"];
        differ(names, of(self), of(other))
    }
}

/// Reads a planned error rate.
fn read_rate(reader: &mut Reader<'_>) -> Result<f64, Error> {
    let right = |rate| rate > 0.0 && rate < 1.0;
    reader.checked("error rate", Reader::f64_le, right, "above 0 and below 1")
}

/// A scalable filter of pybloom or pybloom-live: filters of growing size and falling error rate, on the content of
/// their file.
#[derive(Clone)]
pub struct PybloomScalable<S = Bytes> {
    head: ScalableHead,
    /// The header of each filter, and its start in the content.
    filters: Vec<(Fields, usize)>,
    content: S,
    /// The limit in bytes while it grows.
    limit: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct ScalableHead {
    format: Format,
    growth: i32,
    ratio: f64,
    capacity: u64,
    error: f64,
}

const SCALABLE_HEAD: usize = 32;
/// `LARGE_SET_GROWTH`, pybloom's default mode.
const USUAL_GROWTH: u32 = 4;
const USUAL_CAPACITY: u64 = 100;
const RATIO: f64 = 0.9;

/// The bytes before the lengths of the filters.
fn scalable_head(growth: u32, ratio: f64, capacity: u64, fpp: f64, filters: u32) -> Vec<u8> {
    let numbers = [ratio.to_bits(), capacity, fpp.to_bits()].map(u64::to_le_bytes);
    [&growth.to_le_bytes()[..], numbers.as_flattened(), &filters.to_le_bytes()].concat()
}

impl PybloomScalable {
    /// Makes a chain without filters: the first is added with the first key.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Fpp`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        let head = Self::plan(format, given)?.head;
        let content = Bytes::copy_of(&head, 0)?;
        Self::decode(format, content, given)
    }

    /// Plans the filter that [`new`](Self::new) would make; bits and probes are the first filter's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        let capacity = Parameters::some_keys(format, given.keys.unwrap_or(USUAL_CAPACITY))?;
        let (fpp, growth) = (given.fpp.unwrap_or(USUAL_FPP), given.growth.unwrap_or(USUAL_GROWTH));
        // The documentation allows 2 or 4, but it accepts any factor.
        let right = (1..=i32::MAX as u32).contains(&growth);
        Parameters::require(format, "growth", growth, right, "1 to 2^31 - 1")?;
        let first = Fields::empty(format, capacity, fpp * RATIO)?;
        let head = scalable_head(growth, RATIO, capacity, fpp, 0);
        Ok(Plan::new(format, (first.bits, first.probes), head, 0, Vec::new()))
    }

    /// Adds all keys of `other`, filter by filter, as pybloom-live does: filters of the longer chain without a partner
    /// are unchanged, merged ones have count 0.
    ///
    /// # Errors
    /// [`Error::FormatsDiffer`]; [`Error::Differ`] if they were made with different parameters; [`Error::OutOfMemory`].
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &PybloomScalable<T>) -> Result<(), Error> {
        let [left, right] = [self.head.format, other.head.format];
        if left != right {
            return Err(Error::FormatsDiffer { left, right });
        }
        let of = |it: &ScalableHead| [it.growth.into(), it.capacity.into(), it.error.into()];
        differ(["growth", "first capacity", "error rate"], of(&self.head), of(&other.head))?;
        for ((left, _), (right, _)) in self.filters.iter().zip(&other.filters) {
            left.agree(right)?;
        }
        if other.filters.len() > self.filters.len() {
            let mut longer = other.to_owned()?;
            longer.join(self);
            *self = longer;
        } else {
            self.join(other);
        }
        Ok(())
    }

    /// Sets the bits of a filter that is at most as long as this one and agrees with it.
    fn join<T: AsRef<[u8]>>(&mut self, other: &PybloomScalable<T>) {
        let joined = self.filters.iter_mut().zip(&other.filters);
        for ((fields, start), (theirs, their_start)) in joined {
            let file = &mut self.content[*start..];
            let their_file = &other.content.as_ref()[*their_start..];
            bits::or(fields.bits_mut(file), theirs.bits(their_file));
            fields.set_count(file, 0);
        }
    }

    /// Appends an empty filter.
    fn grow(&mut self, capacity: u64, fpp: f64) -> Result<(), Error> {
        let format = self.head.format;
        let plan = match Fields::empty(format, capacity, fpp) {
            // The rates cannot fall further; no given parameter is wrong.
            Err(Error::Parameter { .. }) => {
                let capacities = self.filters.iter().map(|(part, _)| part.capacity);
                return Err(Error::Full { format, keys: capacities.fold(0, u64::saturating_add) });
            }
            plan => plan?,
        };
        // While it grows, the content is in memory twice.
        check_limit(plan.bytes.saturating_add(2 * self.content.len() as u64), self.limit)?;
        let (count, old) = (self.filters.len(), &self.content);
        let lengths = SCALABLE_HEAD + 8 * count;
        let refused = |_| Error::OutOfMemory { bytes: plan.bytes };
        let start = old.len() + 8;
        let end = start.saturating_add(usize::try_from(plan.bytes).map_err(refused)?);
        let mut content = Bytes::zeroed(end, 0)?;
        content[..lengths].copy_from_slice(&old[..lengths]);
        content[28..32].copy_from_slice(&(count as i32 + 1).to_le_bytes());
        content[lengths..][..8].copy_from_slice(&plan.bytes.to_le_bytes());
        content[lengths + 8..start].copy_from_slice(&old[lengths..]);
        content[start..][..HEAD].copy_from_slice(&plan.head);
        let fields = Fields::parse(self.head.format, &content[start..], &Parameters::default())?;
        self.filters.iter_mut().for_each(|(_, start)| *start += 8);
        self.filters.push((fields, start));
        self.content = content;
        Ok(())
    }
}

impl<S: AsRef<[u8]>> PybloomScalable<S> {
    /// Decodes the filter that `content` holds, which must be the filter and nothing else.
    ///
    /// # Errors
    /// As [`Plain::decode`].
    pub fn decode(format: Format, content: S, _: &Parameters) -> Result<Self, Error> {
        let bytes = content.as_ref();
        let mut reader = Reader::new(format, bytes);
        let growth = reader.checked("growth", Reader::i32_le, |growth| growth > 0, "at least 1")?;
        let right = |ratio| ratio > 0.0 && ratio <= 1.0;
        let ratio = reader.checked("ratio", Reader::f64_le, right, "above 0, 1 at most")?;
        let some = |keys| keys > 0;
        let capacity = reader.checked("first capacity", Reader::u64_le, some, "at least 1")?;
        let error = read_rate(&mut reader)?;
        let count = reader.checked("filters", Reader::i32_le, |count| count >= 0, "at least 0")?;
        let mut lengths = Reader::new(format, reader.take((count as usize).saturating_mul(8))?);
        let (mut filters, mut known) = (Vec::new(), Digests::default());
        for _ in 0..count {
            let length = usize::try_from(lengths.u64_le()?).unwrap_or(usize::MAX);
            let start = reader.at();
            filters.push((Fields::read(format, reader.take(length)?, &mut known)?, start));
        }
        reader.rest(0, 0)?;
        let head = ScalableHead { format, growth, ratio, capacity, error };
        Ok(Self { head, filters, content, limit: u64::MAX })
    }

    /// Copies the filter; the copy owns its content and accepts keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<PybloomScalable, Error> {
        let content = Bytes::copy_of(self.content(), 0)?;
        let (head, filters) = (self.head.clone(), self.filters.clone());
        Ok(PybloomScalable { head, filters, content, limit: self.limit })
    }

    /// Returns the content of its file.
    pub fn content(&self) -> &[u8] {
        self.content.as_ref()
    }

    fn holds(&self, key: &[u8]) -> bool {
        self.filters.iter().rev().any(|(fields, start)| {
            let array = fields.bits(&self.content()[*start..]);
            fields.positions(key).all(|position| Order::Bytes.get(array, position))
        })
    }
}

impl<S: AsRef<[u8]>> ForeignFilter for PybloomScalable<S> {
    fn format(&self) -> Format {
        self.head.format
    }

    fn scheme(&self) -> String {
        let ScalableHead { growth, ratio, .. } = self.head;
        match self.filters.last() {
            Some((fields, _)) => fields.scheme(),
            None => format!("no filter yet, growth {growth}, ratio {ratio}"),
        }
    }

    fn is_certain(&self) -> bool {
        !self.filters.is_empty() && self.filters.iter().all(|(fields, _)| fields.is_certain())
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        Ok(self.holds(key.bytes(self.head.format)?))
    }

    fn bytes(&self) -> u64 {
        self.content().len() as u64
    }

    fn measured(&self) -> Option<Measure> {
        match &self.filters[..] {
            [(fields, start)] => Some(fields.measure(fields.bits(&self.content()[*start..]))),
            _ => None,
        }
    }

    fn receipt(&self) -> Receipt {
        let part = |(fields, start): &(Fields, usize)| {
            let array = fields.bits(&self.content()[*start..]);
            Part::new(fields.measure(array), fields.shape.probes, fields.facts())
        };
        let facts = vec![
            Fact::new("growth", Figure::Count(self.head.growth as u64)),
            Fact::new("ratio", Figure::Number(self.head.ratio)),
            Fact::new("first_capacity", Figure::Count(self.head.capacity)),
            Fact::new("error_rate", Figure::Rate(self.head.error)),
        ];
        Receipt::of_parts(self, self.filters.iter().map(part).collect(), facts)
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(self.content())?)
    }
}

impl ForeignInsert for PybloomScalable {
    fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        let key = key.bytes(self.head.format)?;
        if self.holds(key) {
            return Ok(false);
        }
        match self.filters.last() {
            None => self.grow(self.head.capacity, self.head.error * self.head.ratio)?,
            Some((last, _)) if last.count >= last.capacity => {
                let capacity = last.capacity.saturating_mul(self.head.growth as u64);
                self.grow(capacity, last.error * self.head.ratio)?;
            }
            Some(_) => {}
        }
        let (fields, start) = self.filters.last_mut().expect("there is one now");
        let file = &mut self.content[*start..];
        let array = fields.bits_mut(file);
        for position in fields.positions(key) {
            Order::Bytes.set(array, position);
        }
        fields.set_count(file, fields.count + 1);
        Ok(true)
    }
}

impl<S> fmt::Debug for PybloomScalable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PybloomScalable")
            .field("head", &self.head)
            .field("filters", &self.filters)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Positions in slices too large to keep, from `make_hashfuncs` of both versions.
    #[test]
    fn positions_in_wide_slices() {
        let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign");
        let folder = std::env::var_os("UMBEL_VECTORS").map_or_else(|| usual.into(), PathBuf::from);
        for (format, version) in [(Format::Pybloom3, 3), (Format::Pybloom4, 4)] {
            let path = folder.join(format!("pybloom-live-{version}/positions.tsv"));
            let Ok(table) = std::fs::read_to_string(path) else { continue };
            for line in table.lines().skip(1) {
                let cells: Vec<&str> = line.split('\t').collect();
                let [slices, slice_bits] = [0, 1].map(|cell| cells[cell].parse::<u64>().unwrap());
                let digits = (0..cells[3].len()).step_by(2);
                let key: Vec<u8> =
                    digits.map(|i| u8::from_str_radix(&cells[3][i..i + 2], 16).unwrap()).collect();
                let salts = Salts::new(format, slices as u32, slice_bits, &mut Digests::default());
                let numbers = salts.numbers(&key).take(slices as usize);
                let places: Vec<_> = numbers.map(|it| (it % slice_bits).to_string()).collect();
                assert_eq!(places.join(","), cells[4], "{line}");
            }
        }
    }

    /// Only from a file: a parameter cannot give so small a rate.
    #[test]
    fn a_chain_whose_rates_have_ended_is_full() {
        for format in [Format::Pybloom3Scalable, Format::Pybloom4Scalable] {
            let given = Parameters::default();
            let mut content = PybloomScalable::new(format, &given).unwrap().content().to_vec();
            content[20..28].copy_from_slice(&1e-310f64.to_le_bytes());
            let read = PybloomScalable::decode(format, &content[..], &given).unwrap();
            let mut filter = read.to_owned().unwrap();
            let error = filter.insert("a".into()).unwrap_err();
            assert!(matches!(error, Error::Full { keys: 0, .. }), "{error}");
            assert!(*filter.content() == content, "as it was");
        }
    }

    #[test]
    fn count_and_capacity_are_kept_as_pybloom_does() {
        let mut filter = Pybloom::new(Format::Pybloom4, &Parameters::for_keys(2, 0.01)).unwrap();
        let other = filter.clone();
        for key in ["a", "b", "a", "c"] {
            filter.insert(key.into()).unwrap();
        }
        assert_eq!(filter.content()[COUNT], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert!(matches!(filter.insert("d".into()), Err(Error::Full { keys: 2, .. })));
        filter.union(&other).unwrap();
        assert_eq!(filter.content()[COUNT], [0; 8]);
        assert!(filter.insert("d".into()).unwrap());
        let read =
            Pybloom::decode(Format::Pybloom3, filter.content(), &Parameters::default()).unwrap();
        assert!(read.scheme().starts_with("md5/") && filter.scheme().starts_with("xxh3"));
        let larger = Pybloom::new(Format::Pybloom4, &Parameters::for_keys(3, 0.01)).unwrap();
        assert!(filter.union(&larger).is_err());
    }

    /// Filters of one bit per slice: a digest for 32 of them would have 16 times their bytes.
    #[test]
    fn digests_take_no_more_memory_than_a_file_has() {
        let format = Format::Pybloom4Scalable;
        let file = |slices: u64| {
            let mut file = 0.001f64.to_le_bytes().to_vec();
            file.extend([slices, 1, 100, 0].map(u64::to_le_bytes).as_flattened());
            file.resize(HEAD + slices.div_ceil(8) as usize, 0);
            file
        };
        let given = Parameters::default();
        for (slices, fits) in [(1024, true), (1025, false), (1 << 16, false)] {
            let read = Pybloom::decode(Format::Pybloom4, file(slices), &given);
            assert_eq!(read.is_ok(), fits, "{slices}");
        }
        let files: Vec<_> = (0..1024).map(|i| file(1024 - i)).collect();
        let mut chain = scalable_head(2, 0.9, 100, 0.001, files.len() as u32);
        chain.extend(files.iter().flat_map(|file| (file.len() as u64).to_le_bytes()));
        chain.extend(files.concat());
        let read = PybloomScalable::decode(format, &chain[..], &given).unwrap();
        let digests = read.filters.iter().map(|(fields, _)| &fields.salts.digests);
        let mut different: Vec<_> =
            digests.map(|digests| (digests.as_ptr(), digests.len())).collect();
        different.sort_unstable();
        different.dedup();
        let bytes: usize = different.iter().map(|(_, digests)| 64 * digests).sum();
        assert!(bytes < 1 << 12, "{bytes} for {}", chain.len());
        // They are the same as a single filter's.
        for ((fields, _), file) in read.filters.iter().zip(&files) {
            let alone = Pybloom::decode(Format::Pybloom4, &file[..], &given).unwrap();
            let of = |salts: &Salts| salts.numbers(b"key").take(1024).collect::<Vec<_>>();
            let slices = fields.shape.probes as usize;
            let both = [&fields.salts, &alone.layout().salts].map(of);
            assert!(both[0][..slices] == both[1][..slices], "{slices}");
        }
    }

    #[test]
    fn scalable_filters_grow_and_join() {
        let format = Format::Pybloom3Scalable;
        let given = Parameters { growth: Some(2), ..Parameters::for_keys(4, 0.1) };
        let fill = |range: Range<u32>| {
            let mut filter = PybloomScalable::new(format, &given).unwrap();
            for key in range {
                filter.insert(key.to_string().as_str().into()).unwrap();
            }
            filter
        };
        assert_eq!(fill(0..0).content().len(), SCALABLE_HEAD);
        let (mut short, long) = (fill(0..3), fill(100..120));
        assert_eq!((short.filters.len(), long.filters.len()), (1, 3));
        let again = PybloomScalable::decode(format, long.content(), &given).unwrap();
        assert_eq!(again.filters, long.filters);
        assert!(again.scheme().starts_with("md5/"), "{}", again.scheme());
        short.union(&again).unwrap();
        let held = |key: u32| short.contains(key.to_string().as_str().into()).unwrap();
        assert!((0..3).chain(100..120).all(held));
        let counts: Vec<u64> = short.filters.iter().map(|(fields, _)| fields.count).collect();
        assert_eq!((counts[0], &counts[1..]), (0, &[8, long.filters[2].0.count][..]));
        assert!(PybloomScalable::decode(format, short.content(), &given).is_ok());
        assert!(short.receipt().fpp < 0.5 && short.receipt().parts.len() == 3);
        let other = PybloomScalable::new(format, &Parameters::for_keys(4, 0.1)).unwrap();
        assert!(matches!(short.union(&other), Err(Error::Differ { what: "growth", .. })));
    }
}
