//! RedisBloom filters, as written by `BF.SCANDUMP` and read by `BF.LOADCHUNK`. Checked against commit b28c294 in Redis
//! 8.2.3; `RedisBloom/RedisBloom`, `src/{rebloom,sb}.c`, `deps/bloom/bloom.c`, `deps/murmur2/MurmurHash2.c`.
//!
//! ```text
//! header, the chunk of iterator 1; little-endian, packed:
//! byte 0      8           12           16          20 ..
//! | items u64 | links u32 | options u32 | growth u32 | links, 53 bytes each | arrays, oldest first |
//!
//! a link:
//! byte 0      8          16          24          32                 40           44            52
//! | bytes u64 | bits u64 | items u64 | error f64 | bits an entry f64 | hashes u32 | entries u64 | n2 u8 |
//! ```
//!
//! A file here is the header followed by all data chunks, in order; [`RedisBloom::chunks`] and
//! [`RedisBloom::from_chunks`] convert between it and what the commands carry. A chain grows: once the newest link has
//! its entries, it gets one of `growth` times as many at half the error. A key that any link may hold already is
//! dropped.

use std::fmt;
use std::io::Write;
use std::iter;
use std::ops::Range;

use umbel::filter::{Fact, Figure};

use crate::bits::{self, Order, padding_is_clear};
use crate::bytes::{MOST_PROBES, Reader, check, refuse};
use crate::error::differ;
use crate::hash::murmur2::{murmur2, murmur64a};
use crate::measure::Measure;
use crate::pybloom::check_growth;
use crate::receipt::{Part, sampled_rate};
use crate::{
    Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Parameters, Plan, Receipt, Value,
};

/// A filter of RedisBloom: one or more links.
///
/// ```
/// use umbel_foreign::redisbloom::RedisBloom;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// // BF.RESERVE visitors 0.01 1000
/// let mut filter = RedisBloom::new(Format::RedisBloom, &Parameters::for_keys(1000, 0.01))?;
/// filter.insert(Key::from("203.0.113.7"))?;
/// let dump: Vec<(u64, Vec<u8>)> =
///     filter.chunks().map(|(iterator, chunk)| (iterator, chunk.to_vec())).collect();
/// assert_eq!(dump[0].0, 1, "BF.LOADCHUNK visitors 1 <header>");
///
/// let loaded = RedisBloom::from_chunks(dump.iter().map(|(iterator, chunk)| (*iterator, &chunk[..])))?;
/// assert!(loaded.contains(Key::from("203.0.113.7"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
#[derive(Clone)]
pub struct RedisBloom<S = Bytes> {
    options: u32,
    growth: u32,
    links: Vec<Link>,
    content: S,
    /// The limit in bytes while it grows.
    limit: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Link {
    bits: u64,
    items: u64,
    error: f64,
    bits_per_entry: f64,
    hashes: u32,
    entries: u64,
    n2: u8,
    /// The start of the array in the content.
    start: usize,
}

const HEAD: usize = 20;
const LINK: usize = 53;
/// `SCANDUMP`'s largest chunk.
const MOST_CHUNK: usize = 16 << 20;

const NOROUND: u32 = 1;
const ENTRIES_IS_BITS: u32 = 2;
const FORCE64: u32 = 4;
const NO_SCALING: u32 = 8;

/// RedisBloom's ln 2 and its square, which have too few digits: part of the format.
#[allow(clippy::approx_constant)]
const LN_2: f64 = 0.693147180559945;
const LN_2_SQUARED: f64 = 0.480453013918201;

const TIGHTENING: f64 = 0.5;
const USUAL_ENTRIES: u64 = 100;
const USUAL_ERROR: f64 = 0.01;
const USUAL_GROWTH: u32 = 2;
/// `BF.RESERVE` of Redis 8 reduces a larger error to this; RedisBloom 2 accepted any.
const MOST_ERROR: f64 = 0.25;
/// The maximum for `BF.RESERVE`.
const MOST_ENTRIES: u64 = 1 << 30;
const MOST_GROWTH: u32 = 32_768;

impl Link {
    /// `bloom_init`; `None` if it refuses.
    fn planned(entries: u64, error: f64, options: u32) -> Option<Self> {
        if entries == 0 || !(error > 0.0 && error < 1.0) {
            return None;
        }
        let bits_per_entry = -(error.ln() / LN_2_SQUARED);
        let wanted = entries as f64 * bits_per_entry;
        let (bits, entries, n2) = if options & ENTRIES_IS_BITS != 0 {
            let bits = 1u64.checked_shl(u32::try_from(entries).ok()?)?;
            (bits, (bits as f64 / bits_per_entry) as u64, entries as u8)
        } else if options & NOROUND != 0 {
            ((wanted as u64).max(1), entries, 0)
        } else {
            // Rounded up to a power of two, as before NOROUND; the bits gained hold more entries.
            let n2 = exponent_above(wanted)?;
            let bits = 1u64.checked_shl(n2.into())?;
            (bits, entries + ((bits as f64 - wanted) as u64 as f64 / bits_per_entry) as u64, n2)
        };
        let bits = bits.div_ceil(64).checked_mul(64)?;
        let hashes = (LN_2 * bits_per_entry).ceil() as u32;
        Some(Self { bits, items: 0, error, bits_per_entry, hashes, entries, n2, start: 0 })
    }

    fn bytes(&self) -> u64 {
        self.bits / 8
    }

    fn array(&self) -> Range<usize> {
        self.start..self.start + (self.bits / 8) as usize
    }

    /// Positions are below this.
    #[inline]
    fn modulus(&self) -> u64 {
        if self.n2 > 0 { 1 << self.n2 } else { self.bits }
    }

    #[inline]
    fn positions(&self, (first, second): (u64, u64)) -> impl Iterator<Item = u64> {
        let modulus = self.modulus();
        let mut at = first;
        (0..self.hashes).map(move |_| {
            let position = at % modulus;
            at = at.wrapping_add(second);
            position
        })
    }

    fn encode(&self) -> [u8; LINK] {
        let mut link = [0; LINK];
        let words = [
            self.bytes(),
            self.bits,
            self.items,
            self.error.to_bits(),
            self.bits_per_entry.to_bits(),
        ];
        link[..40].copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        link[40..44].copy_from_slice(&self.hashes.to_le_bytes());
        link[44..52].copy_from_slice(&self.entries.to_le_bytes());
        link[52] = self.n2;
        link
    }

    fn decode(format: Format, reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (bytes, bits, items) = (reader.u64_le()?, reader.u64_le()?, reader.u64_le()?);
        let whole = bits > 0 && bytes.checked_mul(8) == Some(bits);
        check(format, "bits of a link", bits, whole, "8 times its bytes, at least 8")?;
        let (error, bits_per_entry) = (reader.f64_le()?, reader.f64_le()?);
        check(format, "error", error, error > 0.0 && error < 1.0, "above 0 and below 1")?;
        let hashes = reader.u32_le()?;
        let right = (1..=MOST_PROBES).contains(&hashes)
            && f64::from(hashes) == (LN_2 * bits_per_entry).ceil();
        check(format, "hashes", hashes, right, "ln 2 times the bits an entry, rounded up")?;
        let (entries, n2) = (reader.u64_le()?, reader.u8()?);
        let right = n2 == 0 || (n2 < 64 && bits >= 1 << n2);
        check(format, "n2", n2, right, "the logarithm of no more than the bits")?;
        Ok(Self { bits, items, error, bits_per_entry, hashes, entries, n2, start: 0 })
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact { name: "entries", figure: Figure::Count(self.entries) },
            Fact { name: "items", figure: Figure::Count(self.items) },
            Fact { name: "error", figure: Figure::Rate(self.error) },
        ]
    }
}

/// One more than C's `logb`, for a number above 0; `None` if 64 bits cannot count that many.
fn exponent_above(x: f64) -> Option<u8> {
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    u8::try_from((exponent + 1).max(0)).ok().filter(|n2| *n2 < 64)
}

impl RedisBloom {
    /// Makes an empty filter like `BF.RESERVE`: `keys` (100) is its capacity, `fpp` (0.01) its error, `growth` (2) its
    /// expansion, 0 for `NONSCALING`.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Fpp`], [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        let plan = Self::plan(format, given)?;
        let refused = |_| Error::OutOfMemory { bytes: plan.bytes };
        let mut content =
            Bytes::zeroed(usize::try_from(plan.bytes).map_err(refused)?, plan.head.len())?;
        content[..plan.head.len()].copy_from_slice(&plan.head);
        Self::decode(format, content, given)
    }

    /// Plans what [`new`](Self::new) would make.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for memory.
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        let entries = given.keys.unwrap_or(USUAL_ENTRIES);
        if entries == 0 {
            return Err(Parameters::refuse(format, "keys", entries, "at least 1"));
        }
        let most = if given.has("redisbloom-2") { 1.0 } else { MOST_ERROR };
        let error = given.fpp.unwrap_or(USUAL_ERROR).min(most);
        let (options, growth, error) = match given.growth.unwrap_or(USUAL_GROWTH) {
            0 => (NOROUND | FORCE64 | NO_SCALING, USUAL_GROWTH, error),
            growth => (NOROUND | FORCE64, growth, error * TIGHTENING),
        };
        let link = Link::planned(entries, error, options);
        let too_large = || Error::TooLarge { bits: entries as f64 * -error.ln() / LN_2_SQUARED };
        let link = link.filter(|link| link.bits < u64::MAX / 2).ok_or_else(too_large)?;
        let mut head = 0u64.to_le_bytes().to_vec();
        head.extend([1, options, growth].map(u32::to_le_bytes).as_flattened());
        head.extend(link.encode());
        let plan = Plan::new(format, (link.bits, link.hashes), head, link.bytes(), Vec::new());
        Ok(plan.warn(
            entries > MOST_ENTRIES || growth > MOST_GROWTH,
            "BF.RESERVE takes capacities up to 2^30 and expansions up to 32768: load this one with BF.LOADCHUNK",
        ))
    }

    /// Makes a filter from a dump: its pairs of iterator and chunk, in the order of `BF.SCANDUMP`.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode); [`Error::Field`] if a chunk is missing or out of order.
    pub fn from_chunks<'c>(
        chunks: impl IntoIterator<Item = (u64, &'c [u8])>,
    ) -> Result<Self, Error> {
        let mut content = Vec::new();
        let mut expected = None;
        for (iterator, chunk) in chunks {
            // The iterator is the end of a chunk; the header has 1 and does not count.
            let right = expected.map_or(1, |end: u64| end.saturating_add(chunk.len() as u64));
            if iterator != right {
                let expected = "that of the chunk that follows";
                return Err(refuse(Format::RedisBloom, "iterator", iterator, expected));
            }
            expected = Some(right);
            content.extend_from_slice(chunk);
        }
        Self::decode(Format::RedisBloom, Bytes::copy_of(&content, 0)?, &Parameters::default())
    }

    /// Adds all keys of `other`, link by link: counts of items are added, and links that only one of the filters has
    /// are unchanged. RedisBloom has no such command, but loads the result. A merged link may hold more items than it
    /// was made for; its receipt reports the resulting rate.
    ///
    /// # Errors
    /// [`Error::Differ`] if they were made with different parameters; [`Error::OutOfMemory`].
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &RedisBloom<T>) -> Result<(), Error> {
        let of = |options: u32, growth: u32| [options, growth].map(Value::from);
        let (ours, theirs) = (of(self.options, self.growth), of(other.options, other.growth));
        differ(["options", "growth"], ours, theirs)?;
        for (left, right) in self.links.iter().zip(&other.links) {
            let of = |link: &Link| [link.bits, link.hashes.into(), link.n2.into()].map(Value::from);
            let names = ["number of bits of a link", "number of probes", "n2"];
            differ(names, of(left), of(right))?;
        }
        if other.links.len() > self.links.len() {
            let mut longer = other.to_owned()?;
            longer.join(self);
            *self = longer;
        } else {
            self.join(other);
        }
        Ok(())
    }

    /// Sets the bits of a chain that is at most as long as this one and agrees with it.
    fn join<T: AsRef<[u8]>>(&mut self, other: &RedisBloom<T>) {
        for (link, theirs) in self.links.iter_mut().zip(&other.links) {
            bits::or(&mut self.content[link.array()], &other.content.as_ref()[theirs.array()]);
        }
        // The sum over all links must not wrap either, or the file would be refused.
        let mut left = u64::MAX - self.items();
        for (link, theirs) in self.links.iter_mut().zip(&other.links) {
            let more = theirs.items.min(left);
            link.items += more;
            left -= more;
        }
        self.write_head();
    }

    /// Appends an empty link.
    fn grow(&mut self) -> Result<(), Error> {
        let last = self.links.last().expect("a chain has a link");
        let keys = self.links.iter().fold(0u64, |keys, link| keys.saturating_add(link.entries));
        let full = Error::Full { format: Format::RedisBloom, keys };
        if self.options & NO_SCALING != 0 {
            return Err(full);
        }
        let entries = last.entries.checked_mul(self.growth.into());
        let planned = |entries| Link::planned(entries, last.error * TIGHTENING, self.options);
        let Some(mut link) = entries.and_then(planned) else { return Err(full) };
        let refused = |_| Error::OutOfMemory { bytes: link.bytes() };
        let bytes = usize::try_from(link.bytes()).map_err(refused)?;
        check_growth(self.content.len(), link.bytes(), self.limit)?;
        let (old, head) = (&self.content, HEAD + LINK * self.links.len());
        link.start = old.len() + LINK;
        let mut content = Bytes::zeroed(link.start.saturating_add(bytes), head + LINK)?;
        content[..head].copy_from_slice(&old[..head]);
        content[head + LINK..link.start].copy_from_slice(&old[head..]);
        self.links.iter_mut().for_each(|link| link.start += LINK);
        self.links.push(link);
        self.content = content;
        self.write_head();
        Ok(())
    }

    /// Writes the count of items and the newest link, to which keys are added.
    fn write_items(&mut self) {
        let items = self.items();
        self.content[..8].copy_from_slice(&items.to_le_bytes());
        let last = self.links.last().expect("a chain has a link");
        self.content[HEAD + LINK * (self.links.len() - 1)..][..LINK]
            .copy_from_slice(&last.encode());
    }

    fn write_head(&mut self) {
        self.write_items();
        let (head, _) = self.content.split_at_mut(HEAD + LINK * self.links.len());
        head[8..12].copy_from_slice(&(self.links.len() as u32).to_le_bytes());
        for (bytes, link) in head[HEAD..].chunks_exact_mut(LINK).zip(&self.links) {
            bytes.copy_from_slice(&link.encode());
        }
    }
}

impl<S: AsRef<[u8]>> RedisBloom<S> {
    fn measure(&self, link: &Link) -> Measure {
        Measure::spread(&self.content()[link.array()], link.modulus(), link.hashes)
    }

    /// Decodes the filter that `content` holds, which must be the header chunk and all data chunks and nothing else.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] for everything that `BF.LOADCHUNK` refuses. Never panics, for any input.
    pub fn decode(format: Format, content: S, _: &Parameters) -> Result<Self, Error> {
        let bytes = content.as_ref();
        let mut reader = Reader::new(format, bytes);
        let (items, count) = (reader.u64_le()?, reader.u32_le()?);
        check(format, "links", count, count > 0, "at least 1")?;
        let (options, growth) = (reader.u32_le()?, reader.u32_le()?);
        let known = NOROUND | ENTRIES_IS_BITS | FORCE64 | NO_SCALING;
        check(format, "options", options, options & !known == 0, "the four lowest bits alone")?;
        let length = usize::try_from(u64::from(count) * LINK as u64).unwrap_or(usize::MAX);
        let mut heads = Reader::new(format, reader.take(length)?);
        let (mut links, mut total, mut start) = (Vec::new(), Some(0u64), reader.at() as u64);
        for _ in 0..count {
            let mut link = Link::decode(format, &mut heads)?;
            total = total.and_then(|total| total.checked_add(link.items));
            link.start = start as usize;
            start = start.saturating_add(link.bytes());
            links.push(link);
        }
        check(format, "items", items, total == Some(items), "the sum of the items of the links")?;
        reader.rest(start - reader.at() as u64, 0)?;
        for link in links.iter().filter(|link: &&Link| link.n2 > 0) {
            let clear = padding_is_clear(&bytes[link.array()], link.modulus());
            check(format, "bits of a link", "bits set behind 2^n2", clear, "all clear")?;
        }
        Ok(Self { options, growth, links, content, limit: u64::MAX })
    }

    /// Copies the filter; the copy owns its content and accepts keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<RedisBloom, Error> {
        let content = Bytes::copy_of(self.content(), self.links[0].start)?;
        Ok(RedisBloom {
            options: self.options,
            growth: self.growth,
            links: self.links.clone(),
            content,
            limit: self.limit,
        })
    }

    /// Returns the content of its file.
    pub fn content(&self) -> &[u8] {
        self.content.as_ref()
    }

    /// Returns the dump: the pairs of iterator and chunk that `BF.SCANDUMP` returns and `BF.LOADCHUNK` accepts, the
    /// header first.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let header = &self.content()[..self.links[0].start];
        let arrays = self.links.iter().map(|link| &self.content()[link.array()]);
        let data = arrays.flat_map(|array| array.chunks(MOST_CHUNK)).scan(1, |end, chunk| {
            *end += chunk.len() as u64;
            Some((*end, chunk))
        });
        iter::once((1, header)).chain(data)
    }

    /// The items added, as RedisBloom counts them.
    fn items(&self) -> u64 {
        self.links.iter().fold(0, |items, link| items.saturating_add(link.items))
    }

    fn hash(&self, key: Key<'_>) -> Result<(u64, u64), Error> {
        let Key::Bytes(key) = key else { return Err(key.refused(Format::RedisBloom)) };
        if self.options & FORCE64 != 0 {
            let first = murmur64a(0xc6a4_a793_5bd1_e995, key);
            return Ok((first, murmur64a(first, key)));
        }
        let first = murmur2(0x9747_b28c, key);
        Ok((first.into(), murmur2(first, key).into()))
    }

    #[inline]
    fn holds(&self, hash: (u64, u64)) -> bool {
        self.links.iter().rev().any(|link| {
            let array = &self.content()[link.array()];
            link.positions(hash).all(|position| Order::Bytes.get(array, position))
        })
    }
}

/// Keys that are hashed and prefetched together.
const TOGETHER: usize = 16;

impl<S: AsRef<[u8]>> ForeignFilter for RedisBloom<S> {
    fn format(&self) -> Format {
        Format::RedisBloom
    }

    fn scheme(&self) -> String {
        let name = if self.options & FORCE64 != 0 { "murmur64a/double" } else { "murmur2/double" };
        name.to_owned()
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        Ok(self.holds(self.hash(key)?))
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        let mut hashes = [(0, 0); TOGETHER];
        for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hash(*key)?;
                for link in &self.links {
                    let array = &self.content()[link.array()];
                    link.positions(*hash).for_each(|position| Order::Bytes.ask(array, position));
                }
            }
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = self.holds(hash);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.content().len() as u64
    }

    fn measured(&self) -> Option<Measure> {
        match &self.links[..] {
            [only] => Some(self.measure(only)),
            _ => None,
        }
    }

    fn receipt(&self) -> Receipt {
        let part = |link: &Link| Part::new(self.measure(link), link.hashes, link.facts());
        let facts = vec![
            Fact { name: "items", figure: Figure::Count(self.items()) },
            Fact { name: "growth", figure: Figure::Count(self.growth.into()) },
            Fact { name: "options", figure: Figure::Count(self.options.into()) },
        ];
        let least_bits = self.links.iter().map(Link::modulus).min().unwrap_or(0);
        let probes = self.links.iter().fold(0u32, |sum, link| sum.saturating_add(link.hashes));
        let mut receipt = Receipt::of_parts(self, self.links.iter().map(part).collect(), facts);
        receipt.fpp = sampled_rate(self, least_bits, probes, receipt.fpp);
        receipt
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(self.content())?)
    }
}

impl ForeignInsert for RedisBloom {
    fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        let hash = self.hash(key)?;
        if self.holds(hash) {
            return Ok(false);
        }
        if self.links.last().is_some_and(|last| last.items >= last.entries) {
            self.grow()?;
        }
        let link = self.links.last_mut().expect("a chain has a link");
        let array = &mut self.content[link.array()];
        for position in link.positions(hash) {
            Order::Bytes.set(array, position);
        }
        link.items += 1;
        self.write_items();
        Ok(true)
    }
}

impl<S> fmt::Debug for RedisBloom<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, growth, links, .. } = self;
        f.debug_struct("RedisBloom")
            .field("options", options)
            .field("growth", growth)
            .field("links", links)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format::RedisBloom;

    fn filled(given: &Parameters, range: Range<u32>) -> RedisBloom {
        let mut filter = RedisBloom::new(FORMAT, given).unwrap();
        for key in range {
            filter.insert(key.to_string().as_str().into()).unwrap();
        }
        filter
    }

    #[test]
    fn chains_grow_and_join() {
        let given = Parameters { growth: Some(3), ..Parameters::for_keys(4, 0.01) };
        let (mut short, long) = (filled(&given, 0..3), filled(&given, 100..120));
        assert_eq!((short.links.len(), long.links.len()), (1, 3));
        assert_eq!(long.links.iter().map(|link| link.entries).collect::<Vec<_>>(), [4, 12, 36]);
        let again = RedisBloom::decode(FORMAT, long.content(), &given).unwrap();
        assert_eq!(again.links, long.links);
        short.union(&again).unwrap();
        let held = |key: u32| short.contains(key.to_string().as_str().into()).unwrap();
        assert!((0..3).chain(100..120).all(held));
        assert_eq!(short.items(), 3 + long.items());
        assert_eq!(RedisBloom::decode(FORMAT, short.content(), &given).unwrap().links, short.links);
        let other = filled(&Parameters::for_keys(4, 0.01), 0..3);
        assert!(matches!(short.union(&other), Err(Error::Differ { what: "growth", .. })));
    }

    #[test]
    fn a_filter_that_does_not_scale_is_full() {
        let given = Parameters { growth: Some(0), ..Parameters::for_keys(4, 0.01) };
        let mut filter = filled(&given, 0..4);
        assert!(matches!(filter.insert("new".into()), Err(Error::Full { keys: 4, .. })));
        assert!(!filter.insert("1".into()).unwrap());
    }

    /// Filters made before options 1 and 4 existed: sizes of a power of two, 32-bit hashes.
    #[test]
    fn old_options_are_read_and_grown() {
        let link = Link::planned(100, 0.01, 0).unwrap();
        // 958.5 bits become 1,024, which hold 6 entries more.
        assert_eq!((link.bits, link.n2, link.hashes, link.entries), (1024, 10, 7, 106));
        let mut file =
            [&0u64.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], &link.encode()]
                .concat();
        file.extend([0; 128]);
        let mut filter = RedisBloom::decode(FORMAT, &file[..], &Parameters::default())
            .unwrap()
            .to_owned()
            .unwrap();
        assert_eq!(filter.scheme(), "murmur2/double");
        for key in 0..200u32 {
            filter.insert(Key::Bytes(&key.to_le_bytes())).unwrap();
        }
        assert_eq!(filter.links.len(), 2);
        assert!((0..200u32).all(|key| filter.contains(Key::Bytes(&key.to_le_bytes())).unwrap()));
        assert_eq!(
            RedisBloom::decode(FORMAT, filter.content(), &Parameters::default()).unwrap().links,
            filter.links
        );
        assert_eq!(
            Link::planned(10, 0.01, ENTRIES_IS_BITS).map(|link| (link.n2, link.entries)),
            Some((10, 106))
        );
        assert_eq!(Link::planned(64, 0.01, ENTRIES_IS_BITS), None);
        assert_eq!(Link::planned(u64::MAX, 0.01, 0), None);
    }

    #[test]
    fn dumps_must_be_whole_and_in_order() {
        let filter = filled(&Parameters::for_keys(4, 0.01), 0..20);
        let chunks: Vec<(u64, &[u8])> = filter.chunks().collect();
        assert!(chunks.len() > 2);
        let loaded = RedisBloom::from_chunks(chunks.iter().copied()).unwrap();
        assert_eq!(loaded.content(), filter.content());
        for missing in 0..chunks.len() {
            let mut chunks = chunks.clone();
            chunks.remove(missing);
            assert!(RedisBloom::from_chunks(chunks).is_err(), "{missing}");
        }
        assert!(RedisBloom::from_chunks(chunks.iter().rev().copied()).is_err());
    }

    #[test]
    fn fields_out_of_range_are_refused() {
        let file = filled(&Parameters::for_keys(4, 0.01), 0..3).encode().unwrap();
        let changes = [
            (0, 4),
            (8, 0),
            (8, 2),
            (11, 1),
            (12, 16),
            (20, 0),
            (20, 15),
            (28, 1),
            (36, 4),
            (51, 0xbf),
            (60, 5),
            (72, 64),
            (72, 7),
        ];
        for (byte, value) in changes {
            let mut changed = file.clone();
            changed[byte] = value;
            assert!(
                RedisBloom::decode(FORMAT, changed, &Parameters::default()).is_err(),
                "{byte}: {value}"
            );
        }
    }

    /// Sizes of RedisBloom 2.8.2.
    #[test]
    fn errors_of_redisbloom_2_are_not_cut() {
        let given = Parameters::for_keys(1000, 0.5);
        let [cut, whole] = [given.clone(), given.with("redisbloom-2")].map(|given| {
            let filter = RedisBloom::new(Format::RedisBloom, &given).unwrap();
            let link = &filter.links[0];
            (link.bytes(), link.error, link.hashes)
        });
        assert_eq!((cut, whole), ((544, 0.125, 4), (368, 0.25, 3)));
    }
}
