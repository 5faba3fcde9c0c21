//! Filters of valkey-bloom, Valkey's own module: the data of `BF.LOAD`, which its append-only files carry. From the source of
//! 1.0; `valkey-io/valkey-bloom`, `src/bloom/utils.rs`, and the crate bloomfilter 3.0, whose filters its links are.
//!
//! ```text
//! little-endian, packed:
//! byte 0   1               5          13               21               22          30 ..
//! | 1 u8 | expansion u32 | rate f64 | tightening f64 | random seed u8 | links u64 | links, oldest first |
//!
//! a link, whose array the crate bloomfilter calls a bitmap:
//! byte 0                   8      9           17           21          53 ..
//! | length of array u64 | 1 u8 | bytes u64 | hashes u32 | seed [32] | bits | items i64 | capacity i64 |
//! ```
//!
//! The array has 45 bytes and the bits. An expansion of 0 means that the filter does not grow.
//! Otherwise the link after the newest has `expansion` times its capacity, and link i has the rate times the tightening to
//! the power of i. All links have the same seed: the two keys of SipHash-1-3.
//!
//! A server's snapshots have the same links as separate fields: [`ValkeyBloom::from_links`]. Both use the same check,
//! so each accepts what the other accepts.

use std::f64::consts::LN_2;
use std::hash::Hasher;
use std::io::Write;

use siphasher::sip::SipHasher13;

use crate::chain::{Chain, ChainLink, MOST_LINKS, Remainder, Rule, check_links, link_numbers};
use crate::prelude::*;

/// A filter of valkey-bloom: one or more links.
///
/// ```
/// use umbel_foreign::valkey_bloom::ValkeyBloom;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let mut filter = ValkeyBloom::new(Format::ValkeyBloom, &Parameters::for_keys(1000, 0.01))?;
/// filter.insert(Key::from("203.0.113.7"))?;
/// let data = filter.encode()?; // BF.LOAD visitors <data>
///
/// let loaded = ValkeyBloom::decode(Format::ValkeyBloom, data, &Parameters::default())?;
/// assert!(loaded.contains(Key::from("203.0.113.7"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type ValkeyBloom<S = Bytes> = Chain<Properties, S>;

/// The fields that the links of a filter share.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// The factor by which the next link has more capacity; 0 if the filter does not grow.
    pub expansion: u32,
    /// The planned error rate of the first link.
    pub rate: f64,
    /// The factor from the rate of each link to the next link's smaller one.
    pub tightening: f64,
    /// The keys of the two hashes, 16 bytes each.
    pub seed: [u8; 32],
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Bytes of its bits.
    pub bytes: u64,
    /// Probes per key.
    pub hashes: u32,
    /// Keys added to the link.
    pub items: u64,
    /// Its planned number of keys.
    pub capacity: u64,
}

const FORMAT: Format = Format::ValkeyBloom;

/// The version of the file, and of each link's array.
const VERSION: u8 = 1;
/// Bytes of the file before the first link.
const HEAD: usize = 30;
/// Bytes of an array before its bits: version, length, hashes, seed.
const FRONT: usize = 45;
/// Bytes of a link besides its array: the length before it, items and capacity after it.
const AROUND: usize = 24;

/// The seed of `bloom-use-random-seed no`.
pub const FIXED_SEED: [u8; 32] = [
    89, 15, 245, 34, 234, 120, 17, 218, 167, 20, 216, 9, 59, 62, 123, 217, 29, 137, 138, 115, 62,
    152, 136, 135, 48, 127, 151, 205, 40, 7, 51, 131,
];

const USUAL_CAPACITY: u64 = 100;
const USUAL_RATE: f64 = 0.01;
const USUAL_EXPANSION: u32 = 2;
/// valkey-bloom's default of `bloom-tightening-ratio`.
pub const USUAL_TIGHTENING: f64 = 0.5;

impl Link {
    /// `Bloom::new_for_fp_rate`; `None` where it would overflow.
    fn planned(capacity: u64, rate: f64) -> Option<Self> {
        let bytes = (capacity as f64 * rate.ln() / (-8.0 * (LN_2 * LN_2))).ceil();
        // Three quarters of the addresses: more would overflow somewhere.
        if !(bytes >= 1.0 && bytes < 3.0 * 2f64.powi(59)) {
            return None;
        }
        let bytes = bytes as u64;
        let hashes = ((8 * bytes) as f64 / capacity as f64 * LN_2).round() as u32;
        let link = Self { bytes, hashes: hashes.max(1), items: 0, capacity };
        (capacity <= i64::MAX as u64 && link.hashes <= MOST_PROBES).then_some(link)
    }

    /// Reads the front of an array of `length` bytes, and the seed in it.
    fn front(reader: &mut Reader<'_>, length: u64) -> Result<(Self, [u8; 32]), Error> {
        reader.checked("version of a link", Reader::u8, |version| version == VERSION, "1")?;
        let (bytes, hashes) = (reader.u64_le()?, reader.u32_le()?);
        let right = bytes > 0 && bytes.checked_add(FRONT as u64) == Some(length);
        check(FORMAT, "bytes of a link", bytes, right, "its length without the head, at least 1")?;
        let right = (1..=MOST_PROBES).contains(&hashes);
        check(FORMAT, "hashes", hashes, right, "1 to 65536")?;
        let seed = reader.take(32)?.try_into().expect("as many as asked for");
        Ok((Self { bytes, hashes, items: 0, capacity: 0 }, seed))
    }

    /// Sets the counts, unless they are impossible.
    fn with_counts(self, items: u64, capacity: u64) -> Result<Self, Error> {
        let most = i64::MAX as u64;
        check(FORMAT, "capacity", capacity, (1..=most).contains(&capacity), "1 to 2^63 - 1")?;
        check(FORMAT, "items", items, items <= most, "at most 2^63 - 1")?;
        Ok(Self { items, capacity, ..self })
    }
}

impl ChainLink for Link {
    const FRONT: usize = FRONT;

    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn modulus(&self) -> u64 {
        8 * self.bytes
    }

    link_numbers!(capacity);

    #[inline]
    fn positions(&self, by: Remainder, (first, second): (u64, u64)) -> impl Iterator<Item = u64> {
        /// The largest prime below 2^64.
        const PRIME: u64 = 0xffff_ffff_ffff_ffc5;
        (0..self.hashes).map(move |i| {
            let at = match i {
                0 => first,
                1 => second,
                _ => first.wrapping_add(u64::from(i).wrapping_mul(second)) % PRIME,
            };
            by.of(at)
        })
    }

    fn facts(&self) -> Vec<Fact> {
        let facts = [("capacity", self.capacity), ("items", self.items)];
        facts.map(|(name, value)| Fact::new(name, Figure::Count(value))).into()
    }

    fn shape(&self) -> Vec<(&'static str, Value)> {
        let probes = ("number of probes", self.hashes.into());
        vec![("number of bytes of a link", self.bytes.into()), probes]
    }
}

impl Properties {
    fn check(&self) -> Result<(), Error> {
        let inside = |part: f64| part > 0.0 && part < 1.0;
        check(FORMAT, "error rate", self.rate, inside(self.rate), "above 0 and below 1")?;
        let right = inside(self.tightening);
        check(FORMAT, "tightening", self.tightening, right, "above 0 and below 1")
    }

    /// Returns whether the seed differs from [`FIXED_SEED`].
    pub fn is_seed_random(&self) -> bool {
        self.seed != FIXED_SEED
    }

    /// The link with this number.
    fn link(&self, number: usize, capacity: u64) -> Option<Link> {
        let rate = self.rate * self.tightening.powi(i32::try_from(number).ok()?);
        Link::planned(capacity, rate).filter(|_| rate > f64::MIN_POSITIVE)
    }

    /// Returns how many keys filters with these properties hold, `capacity` of them in the first link, once they have
    /// grown as far as `limit` bytes allow, or up to `wanted` keys.
    pub fn scaled(&self, capacity: u64, limit: u64, wanted: u64) -> Scaled {
        let (mut number, mut capacity) = (0, capacity);
        let mut scaled = Scaled { capacity: 0, bytes: HEAD as u64, end: ScaledTo::Wanted };
        while scaled.capacity < wanted {
            let link = if number < MOST_LINKS { self.link(number, capacity) } else { None };
            let Some(link) = link else {
                return Scaled { end: ScaledTo::Rate, ..scaled };
            };
            let bytes = scaled.bytes.saturating_add((AROUND + FRONT) as u64 + link.bytes);
            if bytes > limit {
                return Scaled { end: ScaledTo::Bytes, ..scaled };
            }
            scaled = Scaled { capacity: scaled.capacity.saturating_add(capacity), bytes, ..scaled };
            if self.expansion == 0 {
                break;
            }
            (number, capacity) = (number + 1, capacity.saturating_mul(self.expansion.into()));
        }
        scaled
    }
}

/// How far filters grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaled {
    /// The planned keys of all links.
    pub capacity: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why they grow no further.
    pub end: ScaledTo,
}

/// Why filters grow no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaledTo {
    /// They have the wanted capacity.
    Wanted,
    /// The next link would be too large.
    Bytes,
    /// The next link would have a rate that is too small for a number, or a capacity that is too large for one; or there are 65,536.
    Rate,
}

impl Rule for Properties {
    type Link = Link;
    const FORMAT: Format = FORMAT;
    const LINK: u64 = (FRONT + AROUND) as u64;

    fn bytes(&self) -> u64 {
        HEAD as u64
    }

    fn scheme(&self) -> String {
        let seed: String = self.seed.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("siphash-1-3/double, seed {seed}")
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> (u64, u64) {
        let (first, second) = self.seed.split_at(16);
        let hash = |secret: &[u8]| {
            let secret = secret.try_into().expect("half of 32 bytes");
            let mut hasher = SipHasher13::new_with_key(secret);
            // As Rust hashes a slice.
            hasher.write(&(key.len() as u64).to_le_bytes());
            hasher.write(key);
            hasher.finish()
        };
        (hash(first), hash(second))
    }

    fn grows(&self) -> bool {
        self.expansion > 0
    }

    fn next(&self, links: &[Link]) -> Option<Link> {
        let last = links.last()?;
        self.link(links.len(), last.capacity.checked_mul(self.expansion.into())?)
    }

    fn front(&self, link: &Link, array: &mut [u8]) {
        array[0] = VERSION;
        array[1..9].copy_from_slice(&link.bytes.to_le_bytes());
        array[9..13].copy_from_slice(&link.hashes.to_le_bytes());
        array[13..].copy_from_slice(&self.seed);
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("expansion", Figure::Count(self.expansion.into())),
            Fact::new("error", Figure::Rate(self.rate)),
            Fact::new("tightening", Figure::Rate(self.tightening)),
        ]
    }

    fn shape(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("scheme", self.scheme().into()),
            ("expansion", self.expansion.into()),
            ("error rate", self.rate.into()),
            ("tightening", self.tightening.into()),
        ]
    }

    fn write<S: AsRef<[u8]>>(filter: &ValkeyBloom<S>, out: &mut dyn Write) -> Result<(), Error> {
        out.write_all(&head(&filter.rule, filter.links().len() as u64))?;
        for (link, array) in filter.links().iter().zip(filter.wholes()) {
            out.write_all(&(array.len() as u64).to_le_bytes())?;
            out.write_all(array)?;
            out.write_all([link.items, link.capacity].map(u64::to_le_bytes).as_flattened())?;
        }
        Ok(())
    }
}

/// The bytes of a file before its links.
fn head(properties: &Properties, links: u64) -> Vec<u8> {
    let mut head = vec![VERSION];
    head.extend(properties.expansion.to_le_bytes());
    head.extend(properties.rate.to_le_bytes());
    head.extend(properties.tightening.to_le_bytes());
    head.push(properties.is_seed_random().into());
    head.extend(links.to_le_bytes());
    head
}

impl ValkeyBloom {
    /// Makes an empty filter like `BF.RESERVE` with a fixed seed: `keys` (100) is its capacity, `fpp` (0.01) its error,
    /// `growth` (2) its expansion, 0 for `NONSCALING`.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Fpp`], [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        given.check(format)?;
        let (properties, keys) = Properties::given(given);
        Self::reserved(properties, keys)
    }

    /// Plans the filter that [`new`](Self::new) would make.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for memory.
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        let (properties, keys) = Properties::given(given);
        let link = properties.first(keys)?;
        let mut head = head(&properties, 1);
        head.extend((FRONT as u64 + link.bytes).to_le_bytes());
        let mut front = [0; FRONT];
        properties.front(&link, &mut front);
        head.extend(front);
        let tail = [link.items, link.capacity].map(u64::to_le_bytes).as_flattened().to_vec();
        Ok(Plan::new(format, (link.modulus(), link.hashes), head, link.bytes, tail))
    }

    /// Makes an empty filter whose first link has `capacity` planned keys.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a capacity of 0; [`Error::Field`] for a rate or a tightening outside of 0 to 1;
    /// [`Error::TooLarge`]; [`Error::OutOfMemory`].
    pub fn reserved(properties: Properties, capacity: u64) -> Result<Self, Error> {
        properties.check()?;
        let link = properties.first(capacity)?;
        Self::of_empty(properties, vec![link])
    }

    /// Creates a filter from its links, as a server's snapshot has them: for each the array with its head, the items and the
    /// capacity. The seed of `properties` is the arrays'.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] for everything that [`decode`](Self::decode) refuses.
    pub fn from_links(properties: Properties, all: Vec<(Bytes, u64, u64)>) -> Result<Self, Error> {
        let (mut links, mut arrays, mut found) = (Vec::new(), Vec::new(), Seeds::default());
        for (array, items, capacity) in all {
            let (link, seed) = Link::front(&mut Reader::new(FORMAT, &array), array.len() as u64)?;
            found.add(seed)?;
            links.push(link.with_counts(items, capacity)?);
            arrays.push(array);
        }
        check_links(FORMAT, links.len() as u64)?;
        let properties = Properties { seed: found.0.unwrap_or_default(), ..properties };
        properties.check()?;
        Self::of(properties, links, arrays)
    }
}

impl Properties {
    /// The properties of a new filter, and the keys of its first link.
    fn given(given: &Parameters) -> (Self, u64) {
        let properties = Self {
            expansion: given.growth.unwrap_or(USUAL_EXPANSION),
            rate: given.fpp.unwrap_or(USUAL_RATE),
            tightening: USUAL_TIGHTENING,
            seed: FIXED_SEED,
        };
        (properties, given.keys.unwrap_or(USUAL_CAPACITY))
    }

    fn first(&self, capacity: u64) -> Result<Link, Error> {
        Parameters::some_keys(FORMAT, capacity)?;
        let bits = capacity as f64 * -self.rate.ln() / (LN_2 * LN_2);
        self.link(0, capacity).ok_or(Error::TooLarge { bits })
    }
}

/// The seed of all links, which must be the same.
#[derive(Default)]
struct Seeds(Option<[u8; 32]>);

impl Seeds {
    fn add(&mut self, seed: [u8; 32]) -> Result<(), Error> {
        let same = *self.0.get_or_insert(seed) == seed;
        check(FORMAT, "seed of a link", "another one", same, "that of the first link")
    }
}

impl<S: AsRef<[u8]>> ValkeyBloom<S> {
    /// Decodes the filter that `content` holds, which must be the data of `BF.LOAD` and nothing else.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] for what valkey-bloom refuses, and for links with different seeds or without bits.
    /// Never panics, for any input.
    pub fn decode(_: Format, content: S, _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(FORMAT, content.as_ref());
        reader.checked("version", Reader::u8, |version| version == VERSION, "1")?;
        let (expansion, rate, tightening) = (reader.u32_le()?, reader.f64_le()?, reader.f64_le()?);
        let is_random = reader.checked("random seed", Reader::u8, |flag| flag <= 1, "0 or 1")?;
        let count = reader.u64_le()?;
        check_links(FORMAT, count)?;
        let (mut links, mut starts, mut found) = (Vec::new(), Vec::new(), Seeds::default());
        for _ in 0..count {
            let length = reader.u64_le()?;
            starts.push(reader.at());
            let (link, seed) = Link::front(&mut reader, length)?;
            found.add(seed)?;
            reader.take(usize::try_from(link.bytes).unwrap_or(usize::MAX))?;
            let (items, capacity) = (reader.u64_le()?, reader.u64_le()?);
            links.push(link.with_counts(items, capacity)?);
        }
        reader.rest(0, 0)?;
        let seed = found.0.unwrap_or_default();
        let properties = Properties { expansion, rate, tightening, seed };
        properties.check()?;
        let right = (is_random == 1) == properties.is_seed_random();
        check(FORMAT, "random seed", is_random, right, "1 unless the seed is the fixed one")?;
        Ok(Self::in_content(properties, links, content, starts))
    }

    /// Returns the fields that the links share.
    pub fn properties(&self) -> &Properties {
        &self.rule
    }

    /// Returns the arrays of its links with their heads, oldest first, as [`from_links`](Self::from_links) expects.
    pub fn links_with_heads(&self) -> impl Iterator<Item = (&Link, &[u8])> {
        self.links().iter().zip(self.wholes())
    }

    /// Returns how far it grows: [`Properties::scaled`].
    pub fn scaled(&self, limit: u64, wanted: u64) -> Scaled {
        let first = self.links().first().map_or(1, |link| link.capacity);
        self.rule.scaled(first, limit, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties() -> Properties {
        Properties { expansion: 2, rate: 0.01, tightening: 0.5, seed: [7; 32] }
    }

    #[test]
    fn it_grows_as_far_as_it_says() {
        let mut filter = ValkeyBloom::reserved(properties(), 10).unwrap();
        let scaled = filter.scaled(500, u64::MAX);
        assert_eq!((scaled.capacity, scaled.end), (70, ScaledTo::Bytes));
        filter.set_limit(500);
        let add = |key: u32| filter.insert(key.to_string().as_str().into());
        let refused = (0..).map(add).find_map(Result::err).unwrap();
        assert!(matches!(refused, Error::GrowthLimit { .. }), "{refused}");
        assert_eq!((filter.items(), filter.capacity(), filter.bytes()), (70, 70, scaled.bytes));
        // The last byte may be used.
        assert_eq!(filter.scaled(scaled.bytes, u64::MAX), scaled);
        assert!(filter.scaled(scaled.bytes - 1, u64::MAX).capacity < 70);
        assert_eq!(filter.scaled(u64::MAX, 71).end, ScaledTo::Wanted);
        // 0.01 halved until it is not a normal number: 1,016 links. 2^63 keys come first.
        assert_eq!(filter.scaled(u64::MAX, u64::MAX).end, ScaledTo::Rate);
        let flat = Properties { expansion: 1, ..properties() };
        let scaled = flat.scaled(10, u64::MAX, u64::MAX);
        assert_eq!((scaled.capacity, scaled.end), (10_160, ScaledTo::Rate));
        let fixed = Properties { expansion: 0, ..properties() };
        assert_eq!(fixed.scaled(4, u64::MAX, 100).capacity, 4);
        // With a rate that never gets too small.
        let endless = Properties { expansion: 1, tightening: 1.0 - f64::EPSILON, ..properties() };
        let scaled = endless.scaled(10, u64::MAX, u64::MAX);
        assert_eq!((scaled.capacity, scaled.end), (655_360, ScaledTo::Rate));
    }

    #[test]
    fn a_file_that_is_read_is_read_again_after_the_next_key() {
        let mut filter = ValkeyBloom::reserved(properties(), 4).unwrap();
        (0..6u8).for_each(|key| assert!(filter.insert(Key::Bytes(&[key])).unwrap()));
        let mut file = filter.encode().unwrap();
        let at = HEAD + 8 + FRONT + filter.links()[0].bytes as usize;
        file[at..at + 8].copy_from_slice(&(i64::MAX as u64 - 2).to_le_bytes());
        let decoded =
            |file: &[u8]| ValkeyBloom::decode(FORMAT, file, &Parameters::default())?.to_owned();
        let mut filter = decoded(&file).unwrap();
        assert_eq!((filter.links().len(), filter.items()), (2, i64::MAX as u64));
        assert!(filter.insert("new".into()).unwrap());
        assert_eq!(decoded(&filter.encode().unwrap()).unwrap().links(), filter.links());
    }

    #[test]
    fn links_of_other_seeds_are_refused() {
        let parts = |seed| {
            let filter = ValkeyBloom::reserved(Properties { seed, ..properties() }, 4).unwrap();
            let (link, array) = filter.links_with_heads().next().unwrap();
            (Bytes::copy_of(array, 0).unwrap(), link.items, link.capacity)
        };
        let same = ValkeyBloom::from_links(properties(), vec![parts([1; 32]), parts([1; 32])]);
        assert_eq!(same.unwrap().properties().seed, [1; 32]);
        let error = ValkeyBloom::from_links(properties(), vec![parts([1; 32]), parts([2; 32])]);
        assert!(matches!(error, Err(Error::Field { field: "seed of a link", .. })));
        assert!(ValkeyBloom::from_links(properties(), Vec::new()).is_err());
        let mut file = ValkeyBloom::reserved(properties(), 4).unwrap().encode().unwrap();
        file[21] = 0;
        let error = ValkeyBloom::decode(FORMAT, file, &Parameters::default()).unwrap_err();
        assert!(matches!(error, Error::Field { field: "random seed", .. }), "{error}");
    }
}
