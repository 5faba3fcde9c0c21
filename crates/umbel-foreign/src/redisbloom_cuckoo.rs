//! RedisBloom's cuckoo filters, as `CF.SCANDUMP` returns and `CF.LOADCHUNK` accepts them. Checked against
//! RedisBloom 2.8.2 and commit b28c294 in Redis 8.2.3.
//!
//! ```text
//! header, the chunk of iterator 1; little-endian, packed:
//! byte 0      8            16            24            32                34                   36          38
//! | items u64 | buckets u64 | deletes u64 | filters u64 | bucket size u16 | max iterations u16 | growth u16 | slots
//! ```
//!
//! RedisBloom's development version (commit 79f88a25) has filters with their own seed: bit 63 of `filters` is set, and
//! the seed, a u64, ends the header. That version writes a seed for every filter, and reads headers without one.
//!
//! A file here is the header and the slots of all sub-filters, oldest first. A slot is a byte: a fingerprint, or 0 when
//! it is free. Sub-filter i has `buckets · growthⁱ` buckets of `bucket size` slots.
//!
//! ```text
//! h = MurmurHash64A(key, seed or 0)   fingerprint = h mod 255 + 1
//! first bucket = h mod buckets        other bucket = (h xor fingerprint · 0x5bd1e995) mod buckets
//! ```
//!
//! Every addition of a key uses a slot, and every deletion frees one. Deleting a key that was never added can remove
//! another key with the same fingerprint.
//!
//! B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014,
//! <https://doi.org/10.1145/2674005.2674994>. RedisBloom differs: a full filter gets another sub-filter, whose
//! number of buckets is a power of two times the previous one's.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use umbel::Estimate;
use umbel::internals::prefetch;

use crate::Relocate;
use crate::hash::murmur2::murmur64a;
use crate::prelude::*;
use crate::redisbloom::{self, MOST_CHUNK};

const FORMAT: Format = Format::RedisBloomCuckoo;

const HEAD: usize = 38;
/// In a header, added to the number of sub-filters: there is a seed at its end.
pub const SEEDED: u64 = 1 << 63;
const USUAL_SEED: u64 = 0;
/// The most sub-filters in a file, which is the most that RedisBloom can be configured to make.
const MOST_FILTERS: u64 = 1 << 16;
const FINGERPRINTS: u64 = 255;
/// The factor of a fingerprint on the way to its other bucket: part of the format.
const OTHER: u64 = 0x5bd1_e995;

const USUAL_CAPACITY: u64 = 1024;
const USUAL_BUCKET_SIZE: u32 = 2;
const USUAL_ITERATIONS: u32 = 20;
const USUAL_GROWTH: u32 = 1;
/// The maximum for `CF.RESERVE`.
const MOST_CAPACITY: u64 = 1 << 30;
const MOST_BUCKET_SIZE: u32 = 255;
const MOST_ITERATIONS: u32 = 65_535;
const MOST_GROWTH: u32 = 32_768;

/// [`RedisBloomCuckoo::delete`] compacts when deletions exceed 1 in 10 items.
const DELETES: u64 = 10;

/// A cuckoo filter of RedisBloom: one or more sub-filters.
///
/// ```
/// use umbel_foreign::redisbloom_cuckoo::RedisBloomCuckoo;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// // CF.RESERVE carts 1000
/// let given = Parameters { keys: Some(1000), ..Parameters::default() };
/// let mut filter = RedisBloomCuckoo::new(Format::RedisBloomCuckoo, &given)?;
/// filter.insert(Key::from("cart 7"))?;
/// filter.insert(Key::from("cart 7"))?;
/// assert_eq!(filter.count(b"cart 7"), 2);
/// assert!(filter.delete(b"cart 7") && filter.contains(Key::from("cart 7"))?);
/// assert_eq!(filter.bytes(), 38 + 1024);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
#[derive(Clone)]
pub struct RedisBloomCuckoo<S = Bytes> {
    head: Head,
    /// The file it was read from, and how many sub-filters are in it.
    content: S,
    read: usize,
    /// The slots of all other sub-filters.
    arrays: Vec<Bytes>,
    /// The limit in bytes while it grows.
    limit: u64,
    /// The limit of sub-filters.
    most_filters: u64,
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Keys in the filter: additions minus deletions.
    pub items: u64,
    /// Buckets of the first sub-filter, a power of two.
    pub buckets: u64,
    /// Deletions since it was last compacted.
    pub deletes: u64,
    /// Sub-filters.
    pub filters: u64,
    /// Slots of a bucket, 1 to 255.
    pub bucket_size: u16,
    /// The most fingerprints moved for one key before a sub-filter counts as full.
    pub max_iterations: u16,
    /// The ratio of a sub-filter's buckets to the previous one's, a power of two; 0 if the filter does not grow.
    pub growth: u16,
    /// The seed of the hash, if it is not the usual one, which is 0, or if the header has it anyway.
    pub seed: Option<u64>,
}

impl Head {
    fn encode(&self) -> Vec<u8> {
        let filters = self.filters | if self.seed.is_some() { SEEDED } else { 0 };
        let words = [self.items, self.buckets, self.deletes, filters].map(u64::to_le_bytes);
        let halves = [self.bucket_size, self.max_iterations, self.growth].map(u16::to_le_bytes);
        let seed = self.seed.map(u64::to_le_bytes);
        [words.as_flattened(), halves.as_flattened(), seed.as_slice().as_flattened()].concat()
    }

    /// Bytes of the header.
    fn bytes(&self) -> usize {
        HEAD + if self.seed.is_some() { size_of::<u64>() } else { 0 }
    }

    /// Drops the seed if it is the usual one: every RedisBloom can then read the file.
    fn shortest(self) -> Self {
        Self { seed: self.seed.filter(|seed| *seed != USUAL_SEED), ..self }
    }

    fn hash(&self, key: &[u8]) -> Hash {
        Hash::of(self.seed.unwrap_or(USUAL_SEED), key)
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut head = Self {
            items: reader.u64_le()?,
            buckets: reader.u64_le()?,
            deletes: reader.u64_le()?,
            filters: reader.u64_le()?,
            bucket_size: reader.u16_le()?,
            max_iterations: reader.u16_le()?,
            growth: reader.u16_le()?,
            seed: None,
        };
        if head.filters & SEEDED != 0 {
            head.filters &= !SEEDED;
            head.seed = Some(reader.u64_le()?);
        }
        head.check()?;
        Ok(head)
    }

    /// Returns an error for impossible fields.
    fn check(&self) -> Result<(), Error> {
        let Self { buckets, filters, bucket_size, max_iterations, growth, .. } = *self;
        let right = buckets.is_power_of_two();
        check(FORMAT, "buckets", buckets, right, "a power of two")?;
        let right = (1..=MOST_FILTERS).contains(&filters);
        check(FORMAT, "filters", filters, right, "1 to 65536")?;
        let right = (1..=MOST_BUCKET_SIZE).contains(&bucket_size.into());
        check(FORMAT, "bucket size", bucket_size, right, "1 to 255")?;
        check(FORMAT, "max iterations", max_iterations, max_iterations > 0, "1 to 65535")?;
        let right = growth == 0 || growth.is_power_of_two();
        check(FORMAT, "growth", growth, right, "a power of two, or 0")?;
        let right = growth > 0 || filters == 1;
        check(FORMAT, "filters", filters, right, "1 where growth is 0")?;
        let fits = self.slots(filters - 1).is_some_and(|slots| slots < i64::MAX as u64);
        check(FORMAT, "filters", filters, fits, "no more than 64 bits count the slots of")
    }

    /// Buckets of a sub-filter.
    fn buckets_of(&self, i: u64) -> Option<u64> {
        match self.growth {
            0 | 1 => Some(self.buckets),
            growth => {
                let factor = u64::from(growth).checked_pow(u32::try_from(i).ok()?);
                self.buckets.checked_mul(factor?)
            }
        }
    }

    /// Slots of a sub-filter.
    fn slots(&self, i: u64) -> Option<u64> {
        self.buckets_of(i)?.checked_mul(self.bucket_size.into())
    }

    /// Slots of all sub-filters, saturating.
    fn all_slots(&self) -> u64 {
        (0..self.filters).fold(0u64, |sum, i| sum.saturating_add(self.slots(i).unwrap_or(u64::MAX)))
    }
}

/// Where a key may be: its fingerprint, and two values that modulo the number of buckets are its buckets.
#[derive(Clone, Copy, Debug, Default)]
struct Hash {
    fingerprint: u8,
    buckets: [u64; 2],
}

impl Hash {
    #[inline]
    fn of(seed: u64, key: &[u8]) -> Self {
        let hash = murmur64a(seed, key);
        let fingerprint = (hash % FINGERPRINTS + 1) as u8;
        Self { fingerprint, buckets: [hash, other(hash, fingerprint)] }
    }
}

/// Maps a bucket of a fingerprint to its other one, and back.
#[inline]
fn other(bucket: u64, fingerprint: u8) -> u64 {
    bucket ^ (u64::from(fingerprint) * OTHER)
}

/// A view of the slots of one sub-filter.
#[derive(Clone, Copy)]
struct Slots<'a> {
    slots: &'a [u8],
    bucket_size: usize,
    /// Buckets less 1.
    mask: u64,
}

impl<'a> Slots<'a> {
    #[inline]
    fn start(&self, bucket: u64) -> usize {
        (bucket & self.mask) as usize * self.bucket_size
    }

    #[inline]
    fn bucket(&self, bucket: u64) -> &'a [u8] {
        &self.slots[self.start(bucket)..][..self.bucket_size]
    }

    /// The first slot with this fingerprint in the bucket.
    #[inline]
    fn find(&self, bucket: u64, fingerprint: u8) -> Option<usize> {
        let found = self.bucket(bucket).iter().position(|slot| *slot == fingerprint)?;
        Some(self.start(bucket) + found)
    }

    /// The first slot with this fingerprint in either bucket; 0 finds a free one.
    #[inline]
    fn find_either(&self, buckets: [u64; 2], fingerprint: u8) -> Option<usize> {
        self.find(buckets[0], fingerprint).or_else(|| self.find(buckets[1], fingerprint))
    }

    /// Slots in use.
    fn used(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(*slot != 0)).sum()
    }

    /// The chance that an absent key passes: the share of pairs of fingerprint and bucket that do. It is exact: the
    /// number of fingerprints is odd and the number of buckets a power of two, so all pairs are equally likely.
    fn rate(&self) -> f64 {
        let mut pairs = 0u64;
        for bucket in 0..=self.mask {
            let slots = self.bucket(bucket);
            for (i, &fingerprint) in slots.iter().enumerate() {
                if fingerprint != 0 && !slots[..i].contains(&fingerprint) {
                    // In this bucket, and from its other one, unless that also has it and counts it.
                    let counted = self.find(other(bucket, fingerprint), fingerprint).is_some();
                    pairs += if counted { 1 } else { 2 };
                }
            }
        }
        pairs as f64 / (FINGERPRINTS as f64 * (self.mask as f64 + 1.0))
    }
}

impl RedisBloomCuckoo {
    /// Creates an empty filter as `CF.RESERVE` does: `keys` (1024) is its capacity, `bucket_size` (2), `max_iterations` (20),
    /// `growth` (1) its expansion, rounded up to a power of two.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::TooLarge`], [`Error::OutOfMemory`].
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
        let bucket_size = given.bucket_size.unwrap_or(USUAL_BUCKET_SIZE);
        let right = (1..=MOST_BUCKET_SIZE).contains(&bucket_size);
        Parameters::require(format, "bucket_size", bucket_size, right, "1 to 255")?;
        let max_iterations = given.max_iterations.unwrap_or(USUAL_ITERATIONS);
        let right = (1..=MOST_ITERATIONS).contains(&max_iterations);
        Parameters::require(format, "max_iterations", max_iterations, right, "1 to 65535")?;
        let growth = given.growth.unwrap_or(USUAL_GROWTH);
        Parameters::require(format, "growth", growth, growth <= MOST_GROWTH, "0 to 32768")?;
        let capacity = given.keys.unwrap_or(USUAL_CAPACITY);
        let right = capacity >= 2 * u64::from(bucket_size);
        Parameters::require(format, "keys", capacity, right, "at least 2 buckets of them")?;
        let buckets = (capacity / u64::from(bucket_size)).checked_next_power_of_two();
        let head = buckets.map(|buckets| Head {
            items: 0,
            buckets,
            deletes: 0,
            filters: 1,
            bucket_size: bucket_size as u16,
            max_iterations: max_iterations as u16,
            growth: if growth == 0 { 0 } else { growth.next_power_of_two() as u16 },
            seed: None,
        });
        let slots = |head: &Head| head.slots(0).filter(|slots| *slots < u64::MAX / 16);
        let too_large = || Error::TooLarge { bits: 8.0 * capacity as f64 };
        let (head, slots) =
            head.and_then(|head| Some((head, slots(&head)?))).ok_or_else(too_large)?;
        let plan = Plan::new(format, (8 * slots, 2), head.encode(), slots, Vec::new());
        let warning = "CF.RESERVE takes capacities up to 2^30: load this one with CF.LOADCHUNK";
        Ok(plan.warn(capacity > MOST_CAPACITY, warning))
    }

    /// Creates the filter of a header chunk, without keys; [`load`](Self::load) adds the data chunks.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Length`] if it is not a header; [`Error::GrowthLimit`] if the filter would have
    /// more than `limit` bytes; [`Error::OutOfMemory`].
    pub fn from_header(header: &[u8], limit: u64) -> Result<Self, Error> {
        let mut reader = Reader::new(FORMAT, header);
        let head = Head::decode(&mut reader)?;
        reader.rest(0, 0)?;
        let bytes = head.all_slots().saturating_add(head.bytes() as u64);
        check_limit(bytes, limit)?;
        let arrays = (0..head.filters).map(|i| zeroed(head.slots(i).unwrap_or(u64::MAX)));
        Self::of(head, arrays.collect::<Result<_, _>>()?)
    }

    /// Creates a filter from its fields and sub-filters, as a server's snapshot has them.
    ///
    /// # Errors
    /// [`Error::Field`] for everything that [`from_header`](Self::from_header) refuses; [`Error::Length`] if a
    /// sub-filter's number of slots does not match its place.
    pub fn from_filters(head: Head, arrays: Vec<Bytes>) -> Result<Self, Error> {
        head.check()?;
        let right = head.filters == arrays.len() as u64;
        check(FORMAT, "filters", head.filters, right, "as many as there are")?;
        for (i, array) in (0..).zip(&arrays) {
            Reader::new(FORMAT, array).rest(head.slots(i).unwrap_or(u64::MAX), 0)?;
        }
        Self::of(head, arrays)
    }

    /// Sets the seed of its hash, as `CF.RESERVE … SEED` of RedisBloom's development version does.
    ///
    /// # Panics
    /// If it has items already.
    pub fn with_seed(mut self, seed: u64) -> Self {
        assert_eq!(self.head.items, 0, "the items of a filter have its seed");
        self.head = Head { seed: Some(seed), ..self.head }.shortest();
        self
    }

    /// Moves its memory, except for large arrays.
    #[doc(hidden)]
    pub fn relocate(&mut self, to: &mut impl Relocate) {
        to.vector(&mut self.arrays);
        self.arrays.iter_mut().for_each(|array| array.relocate(to));
    }

    fn of(head: Head, arrays: Vec<Bytes>) -> Result<Self, Error> {
        let (content, limit, most_filters) = (Bytes::zeroed(0, 0)?, u64::MAX, MOST_FILTERS);
        let head = head.shortest();
        Ok(Self { head, content, read: 0, arrays, limit, most_filters })
    }

    /// Reads a dump from its pairs of iterator and chunk in the order of `CF.SCANDUMP`.
    ///
    /// # Errors
    /// As [`from_header`](Self::from_header) and [`load`](Self::load); [`Error::Field`] if a chunk is missing or out of
    /// order.
    pub fn from_chunks<'c>(
        chunks: impl IntoIterator<Item = (u64, &'c [u8])>,
    ) -> Result<Self, Error> {
        let mut chunks = chunks.into_iter();
        let expect = |iterator: u64, right: bool| {
            check(FORMAT, "iterator", iterator, right, "that of the chunk that follows")
        };
        let (mut end, header) = chunks.next().unwrap_or_default();
        let mut filter = Self::from_header(header, u64::MAX)?;
        expect(end, end == 1)?;
        for (iterator, chunk) in chunks {
            expect(iterator, iterator == end + chunk.len() as u64)?;
            filter.load(iterator, chunk)?;
            end = iterator;
        }
        expect(end, end == 1 + filter.head.all_slots())?;
        Ok(filter)
    }

    /// Loads a data chunk with the iterator that `CF.SCANDUMP` returned with it.
    ///
    /// # Errors
    /// [`Error::Field`] if no slot belongs to the iterator; [`Error::Length`] if the chunk goes beyond its sub-filter. The
    /// filter is unchanged then.
    pub fn load(&mut self, iterator: u64, chunk: &[u8]) -> Result<(), Error> {
        let (i, places) = redisbloom::loaded_to(FORMAT, self.lengths(), iterator, chunk)?;
        self.array_mut(i)[places].copy_from_slice(chunk);
        Ok(())
    }

    /// Returns an error: a cuckoo filter counts copies of a key, so two filters have no union.
    ///
    /// # Errors
    /// Always [`Error::NoUnion`].
    pub fn union<T: AsRef<[u8]>>(&mut self, _: &RedisBloomCuckoo<T>) -> Result<(), Error> {
        Err(Error::NoUnion { format: FORMAT })
    }

    fn array_mut(&mut self, i: usize) -> &mut [u8] {
        if i < self.read {
            let range = self.range(i);
            return &mut self.content[range];
        }
        &mut self.arrays[i - self.read]
    }

    /// Adds a key, even if it is already present.
    ///
    /// # Errors
    /// As [`insert`](ForeignInsert::insert).
    pub fn add(&mut self, key: &[u8]) -> Result<(), Error> {
        let hash = self.head.hash(key);
        let newest = self.filters() - 1;
        let added = (0..=newest).rev().any(|i| self.put(i, hash)) || self.kick(newest, hash);
        if !added {
            self.grow()?;
            assert!(self.put(newest + 1, hash), "an empty one has room");
        }
        self.head.items = self.head.items.saturating_add(1);
        Ok(())
    }

    /// Adds a fingerprint to a sub-filter; false if it is full.
    fn put(&mut self, i: usize, hash: Hash) -> bool {
        let free = self.slots(i).find_either(hash.buckets, 0);
        free.map(|slot| self.array_mut(i)[slot] = hash.fingerprint).is_some()
    }

    /// Adds a key unless it may be present already. Returns true if it was added.
    ///
    /// # Errors
    /// As [`insert`](ForeignInsert::insert).
    pub fn add_new(&mut self, key: &[u8]) -> Result<bool, Error> {
        if self.holds(self.head.hash(key)) {
            return Ok(false);
        }
        self.add(key)?;
        Ok(true)
    }

    /// Moves fingerprints of a sub-filter to their other buckets until there is room for this one. If that takes too many
    /// moves, moves all of them back and returns false.
    fn kick(&mut self, i: usize, hash: Hash) -> bool {
        let size = usize::from(self.head.bucket_size);
        let (moves, mask) = (self.head.max_iterations, self.slots(i).mask);
        let Hash { mut fingerprint, buckets } = hash;
        let (mut bucket, mut victim) = (buckets[0] & mask, 0);
        for _ in 0..moves {
            let slot = bucket as usize * size + victim;
            std::mem::swap(&mut fingerprint, &mut self.array_mut(i)[slot]);
            bucket = other(bucket, fingerprint) & mask;
            if let Some(free) = self.slots(i).find(bucket, 0) {
                self.array_mut(i)[free] = fingerprint;
                return true;
            }
            victim = (victim + 1) % size;
        }
        for _ in 0..moves {
            victim = (victim + size - 1) % size;
            bucket = other(bucket, fingerprint) & mask;
            let slot = bucket as usize * size + victim;
            std::mem::swap(&mut fingerprint, &mut self.array_mut(i)[slot]);
        }
        false
    }

    /// Sets the most sub-filters, at first 65,536. A filter that would need more is full.
    pub fn set_most_filters(&mut self, filters: u64) {
        self.most_filters = filters.min(MOST_FILTERS);
    }

    /// Appends an empty sub-filter.
    fn grow(&mut self) -> Result<(), Error> {
        let head = Head { filters: self.head.filters + 1, ..self.head };
        let grows = head.growth > 0 && head.filters <= self.most_filters;
        let slots = head.slots(self.head.filters);
        let slots = slots.filter(|slots| grows && *slots < i64::MAX as u64);
        let slots = slots.ok_or(Error::Full { format: FORMAT, keys: self.head.all_slots() })?;
        check_limit(self.bytes().saturating_add(slots), self.limit)?;
        self.arrays.push(zeroed(slots)?);
        self.head = head;
        Ok(())
    }

    /// Deletes a key once. Returns false if it is certainly absent. After many deletions, compacts the filter.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let hash = self.head.hash(key);
        for i in (0..self.filters()).rev() {
            if let Some(slot) = self.slots(i).find_either(hash.buckets, hash.fingerprint) {
                self.array_mut(i)[slot] = 0;
                self.head.items = self.head.items.saturating_sub(1);
                self.head.deletes = self.head.deletes.saturating_add(1);
                if self.filters() > 1 && self.head.deletes > self.head.items / DELETES {
                    self.move_down(false);
                }
                return true;
            }
        }
        false
    }

    /// Moves fingerprints from newer sub-filters to older ones with room, and removes emptied sub-filters.
    pub fn compact(&mut self) {
        self.move_down(true);
    }

    /// Empties sub-filters from the newest down; unless `on` is set, stops at the first that cannot be emptied.
    fn move_down(&mut self, on: bool) {
        // Each fingerprint may be compared with all older sub-filters, at most 65,536. They never get room meanwhile,
        // so for many of equal size, the full ones are remembered for each bucket.
        const FEW: usize = 64;
        let mut first = Vec::new();
        let buckets = self.slots(0).mask as usize + 1;
        if self.filters() > FEW && self.head.growth <= 1 && first.try_reserve_exact(buckets).is_ok()
        {
            first.resize(buckets, 0);
        }
        for i in (1..self.filters()).rev() {
            if !self.empty(i, &mut first) && !on {
                break;
            }
        }
        self.head.deletes = 0;
    }

    /// The first sub-filter below `i` with room in a bucket. Unless empty, `first` has, for each bucket, how many
    /// certainly have none.
    fn with_room(&self, bucket: u64, i: usize, first: &mut [u16]) -> Option<usize> {
        let known = first.get_mut((bucket & self.slots(0).mask) as usize);
        let start = known.as_ref().map_or(0, |known| usize::from(**known));
        let found = (start..i).find(|older| self.slots(*older).find(bucket, 0).is_some());
        if let Some(known) = known {
            *known = found.unwrap_or(i.max(start)) as u16;
        }
        found
    }

    /// Moves each fingerprint of a sub-filter to the first older one with room. Returns true if it is empty then, and
    /// removes it if it is also the newest.
    fn empty(&mut self, i: usize, first: &mut [u16]) -> bool {
        let mut is_empty = true;
        let size = usize::from(self.head.bucket_size);
        for slot in 0..self.array(i).len() {
            let fingerprint = self.array(i)[slot];
            if fingerprint == 0 {
                continue;
            }
            let bucket = (slot / size) as u64;
            let buckets = [bucket, other(bucket, fingerprint)];
            let room = buckets.map(|bucket| self.with_room(bucket, i, first));
            match room.into_iter().flatten().min() {
                Some(older) => {
                    let free = self.slots(older).find_either(buckets, 0).expect("it has room");
                    self.array_mut(older)[free] = fingerprint;
                    self.array_mut(i)[slot] = 0;
                }
                None => is_empty = false,
            }
        }
        if is_empty && i == self.filters() - 1 {
            if self.arrays.pop().is_none() {
                self.read -= 1;
            }
            self.head.filters -= 1;
        }
        is_empty
    }
}

/// Free slots.
fn zeroed(slots: u64) -> Result<Bytes, Error> {
    let len = usize::try_from(slots).map_err(|_| Error::OutOfMemory { bytes: slots })?;
    Bytes::zeroed_bits(len)
}

impl<S: AsRef<[u8]>> RedisBloomCuckoo<S> {
    /// Decodes the filter that `content` holds, which must be the header chunk and all data chunks and nothing else.
    ///
    /// # Errors
    /// [`Error::Field`], [`Error::Length`]. Never panics, for any input.
    pub fn decode(_: Format, content: S, _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(FORMAT, content.as_ref());
        let head = Head::decode(&mut reader)?;
        reader.rest(head.all_slots(), 0)?;
        let (read, limit, most_filters) = (head.filters as usize, u64::MAX, MOST_FILTERS);
        Ok(Self { head, content, read, arrays: Vec::new(), limit, most_filters })
    }

    /// Copies the filter; the copy owns its content and accepts keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<RedisBloomCuckoo, Error> {
        let arrays = (0..self.filters()).map(|i| Bytes::copy_of_bits(self.array(i)));
        let copy = RedisBloomCuckoo::of(self.head, arrays.collect::<Result<_, _>>()?)?;
        Ok(RedisBloomCuckoo { limit: self.limit, most_filters: self.most_filters, ..copy })
    }

    fn filters(&self) -> usize {
        self.head.filters as usize
    }

    /// Where the slots of a sub-filter are in the content.
    fn range(&self, i: usize) -> std::ops::Range<usize> {
        let slots = |i: usize| self.head.slots(i as u64).expect("checked when read") as usize;
        let start = match self.head.growth {
            0 | 1 => i * slots(0),
            _ => (0..i).map(slots).sum(),
        };
        let start = self.head.bytes() + start;
        start..start + slots(i)
    }

    #[inline]
    fn array(&self, i: usize) -> &[u8] {
        if i < self.read {
            return &self.content.as_ref()[self.range(i)];
        }
        &self.arrays[i - self.read]
    }

    #[inline]
    fn slots(&self, i: usize) -> Slots<'_> {
        let slots = self.array(i);
        let bucket_size = usize::from(self.head.bucket_size);
        Slots { slots, bucket_size, mask: (slots.len() / bucket_size) as u64 - 1 }
    }

    #[inline]
    fn holds(&self, hash: Hash) -> bool {
        (0..self.filters())
            .any(|i| self.slots(i).find_either(hash.buckets, hash.fingerprint).is_some())
    }

    /// Returns the fields of its header.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the slots of its sub-filters, oldest first.
    pub fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.filters()).map(|i| self.array(i))
    }

    /// Counts how often a key may be present: the slots with its fingerprint in its buckets.
    pub fn count(&self, key: &[u8]) -> u64 {
        let Hash { fingerprint, buckets: [first, second] } = self.head.hash(key);
        let count = |slots: Slots<'_>| {
            let same = (first ^ second) & slots.mask == 0;
            let other = if same { &[] } else { slots.bucket(second) };
            let found = slots.bucket(first).iter().chain(other);
            found.filter(|slot| **slot == fingerprint).count() as u64
        };
        (0..self.filters()).map(|i| count(self.slots(i))).sum()
    }

    /// Returns the header chunk.
    pub fn header(&self) -> Vec<u8> {
        self.head.encode()
    }

    fn lengths(&self) -> impl Iterator<Item = u64> + Clone {
        (0..self.filters()).map(|i| self.array(i).len() as u64)
    }

    /// Returns the data chunk from the byte `offset` of all slots, laid end to end: what `CF.SCANDUMP` returns for the
    /// iterator `offset + 1`. `None` at the end.
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        let (i, at) = redisbloom::place(self.lengths(), offset)?;
        let rest = &self.array(i)[at as usize..];
        Some(&rest[..rest.len().min(MOST_CHUNK)])
    }

    /// Returns the dump: pairs of iterator and chunk, the header first. (`CF.SCANDUMP` returns nothing for an empty filter.)
    pub fn chunks(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
        redisbloom::dump(self.header(), |offset| self.chunk(offset))
    }
}

/// Keys hashed and prefetched at a time.
const TOGETHER: usize = 16;

impl<S: AsRef<[u8]>> ForeignFilter for RedisBloomCuckoo<S> {
    fn format(&self) -> Format {
        FORMAT
    }

    fn scheme(&self) -> String {
        match self.head.shortest().seed {
            None => "murmur64a/cuckoo".to_owned(),
            Some(seed) => format!("murmur64a/cuckoo seed {seed:#x}"),
        }
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        Ok(self.holds(self.head.hash(key.bytes(FORMAT)?)))
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        let mut hashes = [Hash::default(); TOGETHER];
        for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.head.hash(key.bytes(FORMAT)?);
                for i in 0..self.filters() {
                    let slots = self.slots(i);
                    for bucket in hash.buckets {
                        prefetch(slots.slots.as_ptr().wrapping_add(slots.start(bucket)));
                    }
                }
            }
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = self.holds(hash);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.head.all_slots().saturating_add(self.head.bytes() as u64)
    }

    /// `set_bits` and `fill` count the slots in use, 8 bits each.
    fn receipt(&self) -> Receipt {
        let part = |i: usize| {
            let slots = self.slots(i);
            let used = slots.used();
            Part {
                bits: 8 * slots.slots.len() as u64,
                set_bits: 8 * used,
                probes: 2,
                keys: Estimate::new(used as f64, 0.0),
                fpp: slots.rate(),
                facts: vec![Fact::new("buckets", Figure::Count(slots.mask + 1))],
            }
        };
        let Head { items, deletes, bucket_size, max_iterations, growth, .. } = self.head;
        let fact = |(name, count)| Fact::new(name, Figure::Count(count));
        let facts = [
            ("items", items),
            ("deletes", deletes),
            ("bucket size", bucket_size.into()),
            ("max iterations", max_iterations.into()),
            ("growth", growth.into()),
        ];
        Receipt::of_parts(self, (0..self.filters()).map(part).collect(), facts.map(fact).to_vec())
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        out.write_all(&self.header())?;
        Ok(self.arrays().try_for_each(|array| out.write_all(array))?)
    }
}

impl ForeignInsert for RedisBloomCuckoo {
    fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Inserts a key as `CF.ADD` does, even if it is already present.
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        let key = key.bytes(FORMAT)?;
        let new = !self.holds(self.head.hash(key));
        self.add(key)?;
        Ok(new)
    }
}

impl<S> fmt::Debug for RedisBloomCuckoo<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisBloomCuckoo").field(&self.head).finish()
    }
}
