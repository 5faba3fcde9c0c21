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
//! RedisBloom's development version has filters with a seed of their own (commit 79f88a25): bit 31 of the header's options
//! is set, and the seed, a u64, follows the links. That version writes a seed for every filter, and reads headers without.
//!
//! A file here is the header followed by all data chunks, in order; [`RedisBloom::chunks`] and
//! [`RedisBloom::from_chunks`] convert between it and the chunks of the commands. Once the newest link has its entries,
//! the chain gets one of `growth` times as many at half the error.
//!
//! A server's snapshots have the same links as separate fields: [`RedisBloom::from_links`]. Both use the same check, so
//! each accepts what the other accepts.

use std::borrow::Cow;
use std::io::Write;
use std::iter;
use std::ops::Range;

use crate::bits::padding_is_clear;
use crate::chain::{Chain, ChainLink, Remainder, Rule, check_links, link_numbers};
use crate::hash::murmur2::{murmur2, murmur64a};
use crate::prelude::*;

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
pub type RedisBloom<S = Bytes> = Chain<Options, S>;

/// The fields that the links of a filter share.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// 1 if sizes are not rounded up to a power of two, 4 for hashes of 64 bits, 8 if it does not grow.
    pub options: u32,
    /// The factor by which the next link has more entries.
    pub growth: u32,
    /// The seed of the first hash, if it is not the usual one, or if the header has it anyway.
    pub seed: Option<u64>,
}

/// The fields of a link in a header: exactly RedisBloom's.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Bits of its array, 8 per byte.
    pub bits: u64,
    /// Keys added to the link.
    pub items: u64,
    /// Its planned error rate.
    pub error: f64,
    /// Bits for each entry.
    pub bits_per_entry: f64,
    /// Probes per key.
    pub hashes: u32,
    /// Its planned number of keys.
    pub entries: u64,
    /// The logarithm of the bits that are used, of old filters; 0 for all bits.
    pub n2: u8,
}

const FORMAT: Format = Format::RedisBloom;

const HEAD: usize = 20;
const LINK: usize = 53;
/// The largest chunk of `BF.SCANDUMP` and `CF.SCANDUMP`.
pub(crate) const MOST_CHUNK: usize = 16 << 20;

const NOROUND: u32 = 1;
const ENTRIES_IS_BITS: u32 = 2;
const FORCE64: u32 = 4;
const NO_SCALING: u32 = 8;
/// In the options of a header: there is a seed after the links.
pub const SEEDED: u32 = 1 << 31;

/// Seeds of the first hash, of 64 and of 32 bits: part of the format.
const SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
const SEED_32: u32 = 0x9747_b28c;

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
        Some(Self { bits, items: 0, error, bits_per_entry, hashes, entries, n2 })
    }

    /// Returns the bytes of its array.
    pub fn bytes(&self) -> u64 {
        self.bits / 8
    }

    fn encode(&self) -> [u8; LINK] {
        let mut link = [0; LINK];
        let rates = [self.error, self.bits_per_entry].map(f64::to_bits);
        let words = [self.bytes(), self.bits, self.items, rates[0], rates[1]];
        link[..40].copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        link[40..44].copy_from_slice(&self.hashes.to_le_bytes());
        link[44..52].copy_from_slice(&self.entries.to_le_bytes());
        link[52] = self.n2;
        link
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (bytes, bits, items) = (reader.u64_le()?, reader.u64_le()?, reader.u64_le()?);
        let (error, bits_per_entry, hashes) =
            (reader.f64_le()?, reader.f64_le()?, reader.u32_le()?);
        let (entries, n2) = (reader.u64_le()?, reader.u8()?);
        let link = Self { bits, items, error, bits_per_entry, hashes, entries, n2 };
        link.check(bytes)?;
        Ok(link)
    }

    /// Returns an error for fields that no link with an array of `bytes` bytes has.
    fn check(&self, bytes: u64) -> Result<(), Error> {
        let Self { bits, error, bits_per_entry, hashes, n2, .. } = *self;
        let whole = bits > 0 && bytes.checked_mul(8) == Some(bits);
        check(FORMAT, "bits of a link", bits, whole, "8 times its bytes, at least 8")?;
        check(FORMAT, "error", error, error > 0.0 && error < 1.0, "above 0 and below 1")?;
        let right = (1..=MOST_PROBES).contains(&hashes)
            && f64::from(hashes) == (LN_2 * bits_per_entry).ceil();
        check(FORMAT, "hashes", hashes, right, "ln 2 times the bits an entry, rounded up")?;
        let right = n2 == 0 || (n2 < 64 && bits >= 1 << n2);
        check(FORMAT, "n2", n2, right, "the logarithm of no more than the bits")
    }

    /// Returns an error if a piece of the array, which starts at the byte `at`, has bits that no key sets.
    fn check_piece(&self, at: u64, piece: &[u8]) -> Result<(), Error> {
        let used = self.modulus().saturating_sub(at.saturating_mul(8)).min(8 * piece.len() as u64);
        let clear = self.n2 == 0 || padding_is_clear(piece, used);
        check(FORMAT, "bits of a link", "bits set behind 2^n2", clear, "all clear")
    }
}

impl ChainLink for Link {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    #[inline]
    fn modulus(&self) -> u64 {
        if self.n2 > 0 { 1 << self.n2 } else { self.bits }
    }

    link_numbers!(entries);

    #[inline]
    fn positions(&self, by: Remainder, (first, second): (u64, u64)) -> impl Iterator<Item = u64> {
        let mut at = first;
        (0..self.hashes).map(move |_| {
            let position = by.of(at);
            at = at.wrapping_add(second);
            position
        })
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("entries", Figure::Count(self.entries)),
            Fact::new("items", Figure::Count(self.items)),
            Fact::new("error", Figure::Rate(self.error)),
        ]
    }

    fn shape(&self) -> Vec<(&'static str, Value)> {
        let Self { bits, hashes, n2, .. } = *self;
        let names = ["number of bits of a link", "number of probes", "n2"];
        names.into_iter().zip([bits.into(), hashes.into(), n2.into()]).collect()
    }
}

impl Options {
    fn usual_seed(&self) -> u64 {
        if self.options & FORCE64 != 0 { SEED_64 } else { SEED_32.into() }
    }

    /// Drops the seed if it is the usual one: every RedisBloom can then read the file.
    fn shortest(self) -> Self {
        let seed = self.seed.filter(|seed| *seed != self.usual_seed());
        Self { seed, ..self }
    }
}

impl Rule for Options {
    type Link = Link;
    const FORMAT: Format = FORMAT;
    const LINK: u64 = LINK as u64;

    fn bytes(&self) -> u64 {
        (HEAD + if self.seed.is_some() { size_of::<u64>() } else { 0 }) as u64
    }

    fn scheme(&self) -> String {
        let name = if self.options & FORCE64 != 0 { "murmur64a/double" } else { "murmur2/double" };
        match self.clone().shortest().seed {
            None => name.to_owned(),
            Some(seed) => format!("{name} seed {seed:#x}"),
        }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> (u64, u64) {
        let seed = self.seed.unwrap_or_else(|| self.usual_seed());
        if self.options & FORCE64 != 0 {
            let first = murmur64a(seed, key);
            return (first, murmur64a(first, key));
        }
        let first = murmur2(seed as u32, key);
        (first.into(), murmur2(first, key).into())
    }

    fn grows(&self) -> bool {
        self.options & NO_SCALING == 0
    }

    fn next(&self, links: &[Link]) -> Option<Link> {
        let last = links.last()?;
        let entries = last.entries.checked_mul(self.growth.into())?;
        Link::planned(entries, last.error * TIGHTENING, self.options)
    }

    fn facts(&self) -> Vec<Fact> {
        let facts = [("growth", self.growth), ("options", self.options)];
        facts.map(|(name, value)| Fact::new(name, Figure::Count(value.into()))).into()
    }

    fn shape(&self) -> Vec<(&'static str, Value)> {
        let seed = self.seed.unwrap_or_else(|| self.usual_seed());
        let options = ("options", self.options.into());
        vec![options, ("growth", self.growth.into()), ("seed", seed.into())]
    }

    fn write<S: AsRef<[u8]>>(filter: &RedisBloom<S>, out: &mut dyn Write) -> Result<(), Error> {
        out.write_all(&filter.header())?;
        Ok(filter.arrays().try_for_each(|array| out.write_all(array))?)
    }
}

/// One more than C's `logb`, for a number above 0; `None` if 64 bits cannot count that many.
fn exponent_above(x: f64) -> Option<u8> {
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    u8::try_from((exponent + 1).max(0)).ok().filter(|n2| *n2 < 64)
}

/// For parts of these lengths, laid end to end: the one that contains the byte `offset`, and that byte's index in it.
pub(crate) fn place(lengths: impl IntoIterator<Item = u64>, offset: u64) -> Option<(usize, u64)> {
    let mut at = offset;
    for (i, length) in lengths.into_iter().enumerate() {
        if at < length {
            return Some((i, at));
        }
        at -= length;
    }
    None
}

/// For parts of these lengths, laid end to end: the one to which a chunk dumped with this iterator belongs, and the
/// chunk's bytes in it.
pub(crate) fn loaded_to(
    format: Format,
    mut lengths: impl Iterator<Item = u64> + Clone,
    iterator: u64,
    chunk: &[u8],
) -> Result<(usize, Range<usize>), Error> {
    let length = chunk.len() as u64;
    let wrong = |expected| refuse(format, "iterator", iterator, expected);
    let offset = iterator.checked_sub(1).and_then(|end| end.checked_sub(length));
    let offset = offset.ok_or_else(|| wrong("1 and the bytes up to the end of the chunk"))?;
    let (i, at) = place(lengths.clone(), offset).ok_or_else(|| wrong("that of a byte"))?;
    let room = lengths.nth(i).map_or(0, |length| length - at);
    if length > room {
        return Err(Error::Length { format, expected: room, found: length });
    }
    Ok((i, at as usize..(at + length) as usize))
}

/// The pairs of iterator and chunk of a dump: the header, and the data from each offset on.
pub(crate) fn dump<'a>(
    header: Vec<u8>,
    chunk: impl Fn(u64) -> Option<&'a [u8]>,
) -> impl Iterator<Item = (u64, Cow<'a, [u8]>)> {
    let mut offset = 0;
    let data = iter::from_fn(move || {
        let chunk = chunk(offset)?;
        offset += chunk.len() as u64;
        Some((offset + 1, Cow::Borrowed(chunk)))
    });
    iter::once((1, Cow::Owned(header))).chain(data)
}

impl RedisBloom {
    /// Makes an empty filter like `BF.RESERVE`: `keys` (100) is its capacity, `fpp` (0.01) its error, `growth` (2) its
    /// expansion, 0 for `NONSCALING`.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Fpp`], [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        let plan = Self::plan(format, given)?;
        Self::from_header(&plan.head, u64::MAX)
    }

    /// Plans the filter that [`new`](Self::new) would make.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for memory.
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        let entries = Parameters::some_keys(format, given.keys.unwrap_or(USUAL_ENTRIES))?;
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
    /// As [`decode`](Self::decode); [`Error::Field`] if a chunk is missing or out of order.
    pub fn from_chunks<'c>(
        chunks: impl IntoIterator<Item = (u64, &'c [u8])>,
    ) -> Result<Self, Error> {
        let mut content = Vec::new();
        let mut expected = None;
        for (iterator, chunk) in chunks {
            // The iterator is the end of a chunk; the header has 1 and does not count.
            let right = expected.map_or(1, |end: u64| end.saturating_add(chunk.len() as u64));
            let follows = iterator == right;
            check(FORMAT, "iterator", iterator, follows, "that of the chunk that follows")?;
            expected = Some(right);
            content.extend_from_slice(chunk);
        }
        Self::decode(Format::RedisBloom, Bytes::copy_of(&content, 0)?, &Parameters::default())
    }

    /// Creates the filter of a header chunk, without keys; [`load`](Self::load) adds the data chunks.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] for everything that `BF.LOADCHUNK` refuses; [`Error::GrowthLimit`] if the
    /// filter would have more than `limit` bytes; [`Error::OutOfMemory`].
    pub fn from_header(header: &[u8], limit: u64) -> Result<Self, Error> {
        let mut reader = Reader::new(FORMAT, header);
        let Head { rule, links } = Head::decode(&mut reader)?;
        reader.rest(0, 0)?;
        let bytes =
            links.iter().fold(header.len() as u64, |sum, link| sum.saturating_add(link.bytes()));
        check_limit(bytes, limit)?;
        Self::of_empty(rule.shortest(), links)
    }

    /// Creates a filter from its links and their arrays, as a server's snapshot has them.
    ///
    /// # Errors
    /// [`Error::Field`] for everything that [`from_header`](Self::from_header) and [`load`](Self::load) refuse.
    pub fn from_links(items: u64, rule: Options, links: Vec<(Link, Bytes)>) -> Result<Self, Error> {
        let (links, arrays): (Vec<Link>, Vec<Bytes>) = links.into_iter().unzip();
        for (link, array) in links.iter().zip(&arrays) {
            link.check(array.len() as u64)?;
            link.check_piece(0, array)?;
        }
        let head = Head { rule, links };
        head.check(items)?;
        Self::of(head.rule.shortest(), head.links, arrays)
    }

    /// Sets the seed of its hash, as `BF.RESERVE … SEED` of RedisBloom's development version does.
    ///
    /// # Panics
    /// If it has items already.
    pub fn with_seed(mut self, seed: u64) -> Self {
        assert_eq!(self.items(), 0, "the items of a filter have its seed");
        self.rule = Options { seed: Some(seed), ..self.rule }.shortest();
        self
    }

    /// Loads a data chunk with the iterator that `BF.SCANDUMP` returned with it.
    ///
    /// # Errors
    /// [`Error::Field`] if no link belongs to the iterator, or for bits that no key sets; [`Error::Length`] if the chunk goes
    /// beyond its link. The filter is unchanged then.
    pub fn load(&mut self, iterator: u64, chunk: &[u8]) -> Result<(), Error> {
        let (i, places) = loaded_to(FORMAT, self.links().iter().map(Link::bytes), iterator, chunk)?;
        self.links()[i].check_piece(places.start as u64, chunk)?;
        self.array_mut(i)[places].copy_from_slice(chunk);
        Ok(())
    }
}

/// The checked fields of a header.
struct Head {
    rule: Options,
    links: Vec<Link>,
}

impl Head {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (items, count) = (reader.u64_le()?, reader.u32_le()?);
        check_links(FORMAT, count.into())?;
        let (options, growth) = (reader.u32_le()?, reader.u32_le()?);
        let length = usize::try_from(u64::from(count) * LINK as u64).unwrap_or(usize::MAX);
        let mut heads = Reader::new(FORMAT, reader.take(length)?);
        let links = (0..count).map(|_| Link::decode(&mut heads)).collect::<Result<_, _>>()?;
        let seed = if options & SEEDED != 0 { Some(reader.u64_le()?) } else { None };
        let head = Self { rule: Options { options: options & !SEEDED, growth, seed }, links };
        head.check(items)?;
        Ok(head)
    }

    /// Returns an error for fields that no chain with this number of items has. Links have checks of their own.
    fn check(&self, items: u64) -> Result<(), Error> {
        check_links(FORMAT, self.links.len() as u64)?;
        let known = NOROUND | ENTRIES_IS_BITS | FORCE64 | NO_SCALING;
        let Options { options, seed, .. } = self.rule;
        let right = options & !known == 0;
        check(FORMAT, "options", options, right, "the four lowest bits alone, and that of a seed")?;
        if let Some(seed) = seed {
            let right = options & FORCE64 != 0 || seed <= u32::MAX.into();
            check(FORMAT, "seed", seed, right, "at most 32 bits where hashes have them")?;
        }
        let mut counts = self.links.iter().map(|link| link.items);
        let total = counts.try_fold(0u64, u64::checked_add);
        check(FORMAT, "items", items, total == Some(items), "the sum of the items of the links")
    }
}

impl<S: AsRef<[u8]>> RedisBloom<S> {
    /// Decodes the filter that `content` holds, which must be the header chunk and all data chunks and nothing else.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] for everything that `BF.LOADCHUNK` refuses. Never panics, for any input.
    pub fn decode(_: Format, content: S, _: &Parameters) -> Result<Self, Error> {
        let bytes = content.as_ref();
        let mut reader = Reader::new(FORMAT, bytes);
        let Head { rule, links } = Head::decode(&mut reader)?;
        let (mut starts, mut start) = (Vec::new(), reader.at() as u64);
        for link in &links {
            starts.push(start as usize);
            start = start.saturating_add(link.bytes());
        }
        reader.rest(start - reader.at() as u64, 0)?;
        for (link, start) in links.iter().zip(&starts) {
            link.check_piece(0, &bytes[*start..][..link.bytes() as usize])?;
        }
        Ok(Self::in_content(rule, links, content, starts))
    }

    /// Returns the factor by which the next link has more entries.
    pub fn growth(&self) -> u32 {
        self.rule.growth
    }

    /// Returns its options: 1 if sizes are not rounded up to a power of two, 4 for hashes of 64 bits, 8 if it does not
    /// [grow](Self::grows).
    pub fn options(&self) -> u32 {
        self.rule.options
    }

    /// Returns the seed of its hash, if it is not the usual one, or its file has it anyway.
    pub fn seed(&self) -> Option<u64> {
        self.rule.seed
    }

    /// Returns the header chunk.
    pub fn header(&self) -> Vec<u8> {
        let mut head = self.items().to_le_bytes().to_vec();
        let options = self.options() | if self.seed().is_some() { SEEDED } else { 0 };
        let words = [self.links().len() as u32, options, self.growth()];
        head.extend(words.map(u32::to_le_bytes).as_flattened());
        self.links().iter().for_each(|link| head.extend(link.encode()));
        head.extend(self.seed().map(u64::to_le_bytes).as_slice().as_flattened());
        head
    }

    /// Returns the data chunk from the byte `offset` of all arrays, laid end to end: what `BF.SCANDUMP` returns for the
    /// iterator `offset + 1`. `None` at the end.
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        let (i, at) = place(self.links().iter().map(Link::bytes), offset)?;
        let rest = &self.array(i)[at as usize..];
        Some(&rest[..rest.len().min(MOST_CHUNK)])
    }

    /// Returns the dump: the pairs of iterator and chunk that `BF.SCANDUMP` returns and `BF.LOADCHUNK` accepts, the
    /// header first.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
        dump(self.header(), |offset| self.chunk(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::MOST_LINKS;

    fn filled(given: &Parameters, range: Range<u32>) -> RedisBloom {
        let mut filter = RedisBloom::new(FORMAT, given).unwrap();
        fill(&mut filter, range);
        filter
    }

    fn fill(filter: &mut RedisBloom, range: Range<u32>) {
        range.for_each(|key| _ = filter.insert(key.to_string().as_str().into()).unwrap());
    }

    fn decoded(filter: &RedisBloom) -> Result<RedisBloom<Vec<u8>>, Error> {
        RedisBloom::decode(FORMAT, filter.encode()?, &Parameters::default())
    }

    fn pairs<'c>(
        chunks: &'c [(u64, Cow<'_, [u8]>)],
    ) -> impl DoubleEndedIterator<Item = (u64, &'c [u8])> {
        chunks.iter().map(|(iterator, chunk)| (*iterator, &chunk[..]))
    }

    #[test]
    fn chains_grow_and_join() {
        let given = Parameters { growth: Some(3), ..Parameters::for_keys(4, 0.01) };
        let (mut short, long) = (filled(&given, 0..3), filled(&given, 100..120));
        assert_eq!((short.links().len(), long.links().len()), (1, 3));
        assert_eq!(long.links().iter().map(|link| link.entries).collect::<Vec<_>>(), [4, 12, 36]);
        let again = decoded(&long).unwrap();
        assert_eq!(again.links(), long.links());
        short.union(&again).unwrap();
        let held = |key: u32| short.contains(key.to_string().as_str().into()).unwrap();
        assert!((0..3).chain(100..120).all(held));
        assert_eq!(short.items(), 3 + long.items());
        assert_eq!(decoded(&short).unwrap().links(), short.links());
        let other = filled(&Parameters::for_keys(4, 0.01), 0..3);
        assert!(matches!(short.union(&other), Err(Error::Differ { what: "growth", .. })));
    }

    /// Filters made before options 1 and 4 existed: sizes of a power of two, 32-bit hashes.
    #[test]
    fn old_options_are_read_and_grown() {
        let link = Link::planned(100, 0.01, 0).unwrap();
        // 958.5 bits become 1,024, which hold 6 entries more.
        assert_eq!((link.bits, link.n2, link.hashes, link.entries), (1024, 10, 7, 106));
        let head = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        let file = [&[0; 8][..], &head, &link.encode(), &[0; 128]].concat();
        let filter = RedisBloom::decode(FORMAT, &file[..], &Parameters::default()).unwrap();
        let mut filter = filter.to_owned().unwrap();
        assert_eq!(filter.scheme(), "murmur2/double");
        for key in 0..200u32 {
            filter.insert(Key::Bytes(&key.to_le_bytes())).unwrap();
        }
        assert_eq!(filter.links().len(), 2);
        assert!((0..200u32).all(|key| filter.contains(Key::Bytes(&key.to_le_bytes())).unwrap()));
        assert_eq!(decoded(&filter).unwrap().links(), filter.links());
        let link = Link::planned(10, 0.01, ENTRIES_IS_BITS).unwrap();
        assert_eq!((link.n2, link.entries), (10, 106));
        assert_eq!(Link::planned(64, 0.01, ENTRIES_IS_BITS), None);
        assert_eq!(Link::planned(u64::MAX, 0.01, 0), None);
    }

    /// A header of RedisBloom's development version, which has a seed; the usual one is written without.
    #[test]
    fn seeds_are_read_and_kept() {
        let made = |seed| {
            let mut filter = filled(&Parameters::for_keys(4, 0.01), 0..0).with_seed(seed);
            fill(&mut filter, 0..20);
            filter
        };
        let seeded = |file: &[u8], seed: u64| {
            let (head, data) = file.split_at(HEAD + LINK * file[8] as usize);
            let mut head = head.to_vec();
            head[15] |= 0x80;
            [&head[..], &seed.to_le_bytes(), data].concat()
        };
        let usual = filled(&Parameters::for_keys(4, 0.01), 0..20);
        assert_eq!(made(SEED_64).encode().unwrap(), usual.encode().unwrap());
        let (five, file) = (made(5), made(5).encode().unwrap());
        assert_ne!(file, seeded(&usual.encode().unwrap(), 5), "other bits");
        assert!(file[15] == 0x80 && five.header().ends_with(&[5, 0, 0, 0, 0, 0, 0, 0]));
        let read = decoded(&five).unwrap();
        assert_eq!((read.seed(), read.encode().unwrap()), (Some(5), file.clone()));
        assert!((0..20).all(|key| read.contains(key.to_string().as_str().into()).unwrap()));
        assert!(matches!(made(6).union(&read), Err(Error::Differ { what: "seed", .. })));
        assert!(decoded(&usual).unwrap().to_owned().unwrap().union(&made(SEED_64)).is_ok());
        // A file with the usual seed in it is unchanged, and a new filter does not have the seed.
        let file = seeded(&usual.encode().unwrap(), SEED_64);
        let mut read = RedisBloom::decode(FORMAT, &file[..], &Parameters::default()).unwrap();
        assert_eq!(read.encode().unwrap(), file);
        assert!((0..20).all(|key| read.contains(key.to_string().as_str().into()).unwrap()));
        assert_eq!(RedisBloom::from_header(&read.header(), u64::MAX).unwrap().seed(), None);
        // Hashes of 32 bits have seeds of 32 bits.
        read.rule.options &= !FORCE64;
        assert!(RedisBloom::from_header(&read.header(), u64::MAX).is_err());
        read.rule.seed = Some(SEED_32.into());
        assert_eq!(RedisBloom::from_header(&read.header(), u64::MAX).unwrap().seed(), None);
        let header = read.header();
        for length in header.len() - 8..header.len() {
            assert!(RedisBloom::from_header(&header[..length], u64::MAX).is_err(), "{length}");
        }
    }

    #[test]
    fn dumps_must_be_whole_and_in_order() {
        let filter = filled(&Parameters::for_keys(4, 0.01), 0..20);
        let chunks: Vec<(u64, Cow<'_, [u8]>)> = filter.chunks().collect();
        assert!(chunks.len() > 2);
        let loaded = RedisBloom::from_chunks(pairs(&chunks)).unwrap();
        assert_eq!(loaded.encode().unwrap(), filter.encode().unwrap());
        for missing in 0..chunks.len() {
            let mut chunks = chunks.clone();
            chunks.remove(missing);
            assert!(RedisBloom::from_chunks(pairs(&chunks)).is_err(), "{missing}");
        }
        assert!(RedisBloom::from_chunks(pairs(&chunks).rev()).is_err());
    }

    #[test]
    fn a_file_that_is_read_is_read_again_after_the_next_key() {
        let with_oldest = |items: u64| {
            let mut file = filled(&Parameters::for_keys(4, 0.01), 0..6).encode().unwrap();
            for (at, count) in [(0, u64::MAX), (HEAD + 16, items)] {
                file[at..at + 8].copy_from_slice(&count.to_le_bytes());
            }
            RedisBloom::decode(FORMAT, file, &Parameters::default())
        };
        // The sum exceeds 64 bits, which RedisBloom refuses.
        assert!(matches!(with_oldest(u64::MAX), Err(Error::Field { field: "items", .. })));
        let mut filter = with_oldest(u64::MAX - 2).unwrap().to_owned().unwrap();
        assert_eq!((filter.links().len(), filter.items()), (2, u64::MAX));
        assert!(filter.insert("new".into()).unwrap());
        let twin = filter.to_owned().unwrap();
        filter.union(&twin).unwrap();
        assert_eq!((filter.links()[1].items, filter.items()), (2, u64::MAX));
        assert_eq!(decoded(&filter).unwrap().links(), filter.links());
    }

    #[test]
    fn a_chain_has_an_end() {
        let link = Link { bits: 8, items: 1, ..Link::planned(1, 0.25, NOROUND).unwrap() };
        let chain = |count: usize| {
            let links = vec![(link.clone(), vec![0].into()); count];
            let rule = Options { options: NOROUND | FORCE64, growth: 1, seed: None };
            RedisBloom::from_links(count as u64, rule, links)
        };
        let mut longest = chain(MOST_LINKS).unwrap();
        assert!(matches!(longest.insert("new".into()), Err(Error::Full { .. })));
        assert!(chain(MOST_LINKS - 1).unwrap().insert("new".into()).unwrap());
        assert!(chain(MOST_LINKS + 1).is_err() && chain(0).is_err());
        let mut header = longest.header();
        assert!(RedisBloom::from_header(&header, u64::MAX).is_ok());
        header[8..12].copy_from_slice(&(MOST_LINKS as u32 + 1).to_le_bytes());
        header.extend(link.encode());
        header[..8].copy_from_slice(&(MOST_LINKS as u64 + 1).to_le_bytes());
        assert!(RedisBloom::from_header(&header, u64::MAX).is_err());
    }

    /// Sizes of RedisBloom 2.8.2.
    #[test]
    fn errors_of_redisbloom_2_are_not_cut() {
        let given = Parameters::for_keys(1000, 0.5);
        let [cut, whole] = [given.clone(), given.with("redisbloom-2")].map(|given| {
            let filter = RedisBloom::new(Format::RedisBloom, &given).unwrap();
            let link = &filter.links()[0];
            (link.bytes(), link.error, link.hashes)
        });
        assert_eq!((cut, whole), ((544, 0.125, 4), (368, 0.25, 3)));
    }
}
