//! The bloomier filter (Chazelle et al. 2004): a static map from keys to values, or to fingerprints alone.
//!
//! The XOR of a key's three slots is its fingerprint and its value. The slots are found by solving a graph whose edges
//! are the keys ([`solve`]): a binary fuse graph (Graf, Lemire 2022), which can be solved with 1.125 slots per key; the
//! original graphs need 1.23 or more.
//!
//! Departures from Graf and Lemire: keys are divided into shards of at most three million keys, each a graph with its
//! own seed, built independently, on any threads, in little memory. Slots of any width from 1 to 64 bits are packed.
//! Segments have other lengths ([`graph`]). The fingerprint comes from the hash itself, because the number that also
//! gives the positions has too few bits for wide ones. That number is a folded multiplication of the hash's halves
//! instead of a 64-bit mix, which saves two multiplications.

mod build;
pub mod graph;
mod plan;
mod solve;

pub use build::{BloomierBuilder, BloomierShard};
use graph::ARITY;
pub(crate) use plan::Plans;
use plan::{MOST_SEGMENT, MOST_SHARDS, MOST_SLOTS, Shape, check_widths, variant_of};

use super::plain::only;
use super::prelude::*;
use crate::bits::{FAR, cast, slots};

filter! {
    /// A static filter or map, built once from all its keys, with the fewest bits of all kinds.
    ///
    /// As a filter it keeps a fingerprint of r bits per key, for a rate of 2⁻ʳ. The smallest r that meets the planned
    /// rate is chosen, unless [`Variant::Bloomier`](crate::Variant::Bloomier) sets one. As a [map](Self::build_map) it
    /// keeps a value of 0 to 64 bits, with or without a fingerprint that detects absent keys.
    ///
    /// **Cost.** From a million keys on, 1.125 to 1.132 times r bits per key (a classic filter needs at best 1.44 times
    /// log₂ 1/fpp); 1.18 at 100,000 keys, 1.26 at 10,000, 1.4 at 1,000, 1.9 to 2.2 at 100. A query reads three cache
    /// lines near each other, at any rate. Building takes some 100 ns and 55 bytes per key.
    ///
    /// **When not to use it.** If keys arrive one by one or filters are merged: use a [blocked](crate::Blocked) or
    /// [scalable](crate::Scalable) filter. If the keys do not fit in memory as 16-byte hashes: build a blocked filter,
    /// in pieces. For rates between two powers of two it keeps the lower one, so at 0.3 a classic filter is smaller. If
    /// only the speed of single look-ups counts: a blocked filter reads one line.
    ///
    /// B. Chazelle, J. Kilian, R. Rubinfeld, A. Tal 2004, “The Bloomier filter”, SODA, pages 30 to 39,
    /// <https://dl.acm.org/doi/10.5555/982792.982797>; T. Graf, D. Lemire 2022, “Binary fuse filters”,
    /// <https://doi.org/10.1145/3510449>.
    ///
    /// # Receipt
    /// The rate is 2⁻ʳ whatever the slots hold, and the keys are counted exactly. One pass over the slots counts the
    /// used ones.
    ///
    /// ```
    /// use umbel::{Bloomier, Filter, KeyHasher, Kind, Plan};
    ///
    /// let keys: Vec<u64> = (0..1_000_000).collect();
    /// let plan = Plan::for_keys(Kind::Bloomier, 1_000_000, 0.01)?;
    /// let filter = Bloomier::build(&plan, &keys, KeyHasher::default())?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// // 7 bits of fingerprint: 2^-7 is 0.0078.
    /// assert_eq!(filter.receipt().fpp, 0.0078125);
    /// assert!(plan.bits_per_key() < 1.14 * 7.0);
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Bloomier(BloomierCore)
}

/// The core of a [`Bloomier`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct BloomierCore<S = Blocks> {
    plan: Plan,
    query: Query,
    /// One per shard.
    seeds: Vec<u64>,
    /// Different keys, over all shards.
    keys: u64,
    blocks: S,
}

/// The scheme of the functions below, from hash to slots and fingerprint. Part of the format.
const POSITIONS: u32 = 1;

#[inline]
fn shard_of(shape: &Shape, hash: KeyHash) -> u64 {
    bits::place(hash.high, shape.shards)
}

/// Computes the value that determines a key's slots, by a folded multiplication. Part of the format.
#[inline(always)]
fn slot_hash(hash: KeyHash, seed: u64) -> u64 {
    let product = u128::from(hash.low ^ seed) * u128::from(hash.high);
    product as u64 ^ (product >> 64) as u64
}

/// The lowest bits of the hash's upper half, whose highest bits chose the shard. Part of the format.
#[inline(always)]
fn fingerprint(high: u64, mask: u64) -> u64 {
    high & mask
}

/// The slots of a key in its shard, in three consecutive segments. Part of the format.
#[inline(always)]
fn edge(x: u64, starts: u64, length: u32) -> [u32; 3] {
    let (first, mask) = (bits::place(x, starts) as u32, length - 1);
    [first, (first + length) ^ ((x >> 18) as u32 & mask), (first + 2 * length) ^ (x as u32 & mask)]
}

/// The parameters of a query, computed once.
#[derive(Clone, Copy, PartialEq)]
struct Query {
    shape: Shape,
    shard_bytes: u64,
    /// The seed of a single shard, the usual case: it saves a key one multiplication.
    seed: u64,
    starts: u64,
    width: u32,
    /// The bits of a fingerprint.
    mask: u64,
    /// The width, if slots are fingerprints alone of 8, 12 or 16 bits; else 0.
    usual: u32,
}

/// The first byte of a key's shard, its slots there, and the upper half of its hash.
type Probe = (usize, [u32; ARITY as usize], u64);

impl Query {
    fn of(shape: Shape, seeds: &[u64]) -> Self {
        let usual = [8, 12, 16].into_iter().find(|&width| width == shape.fingerprint);
        Self {
            shape,
            shard_bytes: shape.shard_bits() / 8,
            seed: seeds[0],
            starts: shape.starts(),
            width: shape.width(),
            mask: slots::mask(shape.fingerprint),
            usual: usual.filter(|_| shape.value == 0).unwrap_or(0),
        }
    }

    #[inline(always)]
    fn probe(&self, seeds: &[u64], hash: KeyHash) -> Probe {
        let (start, seed) = match self.shape.shards {
            1 => (0, self.seed),
            shards => {
                let shard = bits::place(hash.high, shards);
                ((shard * self.shard_bytes) as usize, seeds[shard as usize])
            }
        };
        let slots = edge(slot_hash(hash, seed), self.starts, self.shape.length);
        (start, slots, hash.high)
    }

    /// The mask of a fingerprint. `WIDTH` is [`usual`](Self::usual).
    #[inline(always)]
    fn mask<const WIDTH: u32>(&self) -> u64 {
        if WIDTH == 0 { self.mask } else { slots::mask(WIDTH) }
    }

    /// The XOR of a key's slots and fingerprint; bits above the slot's width may be set.
    #[inline(always)]
    fn sum<const WIDTH: u32>(&self, blocks: &[Block], (start, [a, b, c], high): Probe) -> u64 {
        let shard = &cast::bytes(blocks)[start..];
        let slot = |slot| slots::get::<WIDTH>(shard, slot, self.width);
        slot(a) ^ slot(b) ^ slot(c) ^ fingerprint(high, self.mask::<WIDTH>())
    }

    /// Whether such a sum matches the key's fingerprint.
    #[inline(always)]
    fn fits<const WIDTH: u32>(&self, sum: u64) -> bool {
        sum & self.mask::<WIDTH>() == 0
    }

    fn look_up(self, blocks: &[Block], seeds: &[u64], hashes: &[KeyHash], found: &mut [bool]) {
        match self.usual {
            8 => self.look_up_as::<8>(blocks, seeds, hashes, found),
            12 => self.look_up_as::<12>(blocks, seeds, hashes, found),
            16 => self.look_up_as::<16>(blocks, seeds, hashes, found),
            _ => self.look_up_as::<0>(blocks, seeds, hashes, found),
        }
    }

    fn look_up_as<const WIDTH: u32>(
        self,
        blocks: &[Block],
        seeds: &[u64],
        hashes: &[KeyHash],
        found: &mut [bool],
    ) {
        let contains = |probe| self.fits::<WIDTH>(self.sum::<WIDTH>(blocks, probe));
        // With three independent loads per key, the processor itself looks far enough ahead. In 11 MB a look-up takes
        // 4.8 ns in place of 5.6, in 2 MB 3.4 in place of 4.7.
        if blocks.len() as u64 <= FAR {
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = contains(self.probe(seeds, *hash));
            }
            return;
        }
        let mut probes: [Probe; AHEAD] = [Default::default(); AHEAD];
        for (hashes, found) in hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            for (probe, hash) in probes.iter_mut().zip(hashes) {
                *probe = self.probe(seeds, *hash);
                for slot in probe.1 {
                    let byte = probe.0 + slots::place::<WIDTH>(slot, self.width).0;
                    bits::prefetch(blocks, 8 * byte as u64);
                }
            }
            for (found, probe) in found.iter_mut().zip(probes) {
                *found = contains(probe);
            }
        }
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Bloomier<H, S> {
    /// Returns the value of a key, 0 in a filter without values, or `None` if the key is certainly absent. An absent
    /// key that matches by chance (with probability 2⁻ʳ, or always without fingerprints) returns an arbitrary value.
    #[inline]
    pub fn get(&self, key: impl Key<H>) -> Option<u64> {
        self.0.core.get(key.key_hash(&self.0.hasher))
    }

    /// Returns the number of different keys it was built from.
    #[doc(hidden)]
    pub fn keys(&self) -> u64 {
        self.0.core.keys
    }

    /// Returns the bits of a fingerprint, r: the rate is 2⁻ʳ.
    #[doc(hidden)]
    pub fn fingerprint_bits(&self) -> u32 {
        self.0.core.query.shape.fingerprint
    }

    /// Returns the bits of a value; 0 in a filter without values.
    pub fn value_bits(&self) -> u32 {
        self.0.core.query.shape.value
    }
}

impl<S: AsRef<[Block]>> BloomierCore<S> {
    #[inline]
    fn get(&self, hash: KeyHash) -> Option<u64> {
        let query = &self.query;
        let sum = query.sum::<0>(self.blocks.as_ref(), query.probe(&self.seeds, hash));
        // A fingerprint of 64 bits leaves no value, so nothing is shifted.
        let value = (sum >> (query.shape.fingerprint % 64)) & slots::mask(query.shape.value);
        query.fits::<0>(sum).then_some(value)
    }

    /// Separate, to keep the code for usual widths small: it is inlined into a caller's loop, where the cache misses of
    /// several keys overlap.
    #[inline(never)]
    fn contains_packed(&self, hash: KeyHash) -> bool {
        match self.query.usual {
            12 => self.contains_as::<12>(hash),
            _ => self.contains_as::<0>(hash),
        }
    }

    #[inline(always)]
    fn contains_as<const WIDTH: u32>(&self, hash: KeyHash) -> bool {
        let (query, blocks) = (&self.query, self.blocks.as_ref());
        query.fits::<WIDTH>(query.sum::<WIDTH>(blocks, query.probe(&self.seeds, hash)))
    }
}

impl<S: AsRef<[Block]>> Core for BloomierCore<S> {
    type Plans = Plans;

    #[inline(always)]
    fn contains(&self, hash: KeyHash) -> bool {
        match self.query.usual {
            8 => self.contains_as::<8>(hash),
            16 => self.contains_as::<16>(hash),
            _ => self.contains_packed(hash),
        }
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.query.look_up(self.blocks.as_ref(), &self.seeds, hashes, found);
    }

    /// Counts keys, because a key's slots may be zero.
    fn is_empty(&self) -> bool {
        self.keys == 0
    }

    one_part!(BloomierCore<T> { plan, query, seeds, keys });

    fn body(&self) -> Body {
        let Shape { shards, length, segments, fingerprint, value } = self.query.shape;
        let body = Body::default().u32(shards as u32).u32(length).u32(segments);
        let body = body.u32(fingerprint).u32(value).u32(POSITIONS).u64(self.keys);
        self.seeds.iter().fold(body, |body, &seed| body.u64(seed))
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        Ok(vec![declared(header)?.0.bytes()])
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, shape, seeds, keys) = declared(header)?;
        let blocks = only(parts);
        let found = blocks.as_ref();
        let used = shape.slots() * u64::from(shape.width());
        let mut behind = (0..shape.shards).flat_map(|shard| {
            let start = shard * shape.shard_bits();
            start + used..start + shape.shard_bits()
        });
        let clear = !behind.any(|bit| bits::get(found, bit));
        check_field("payload", 1, clear, "zeros after the last slot of each shard")?;
        Ok(Self { plan, query: Query::of(shape, &seeds), seeds, keys, blocks })
    }
}

impl BloomierCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        let shape = &self.query.shape;
        let (width, bytes) = (shape.width(), cast::bytes(self.blocks));
        let in_use = |shard: u64| {
            let bytes = &bytes[(shard * shape.shard_bits() / 8) as usize..];
            let slot = |slot| slots::get::<0>(bytes, slot, width) & slots::mask(width);
            (0..shape.slots() as u32).filter(|&number| slot(number) != 0).count() as u64
        };
        let used = (0..shape.shards).map(in_use).sum();
        let cells = (used, shape.shards * shape.slots());
        let keys = Estimate::new(self.keys as f64, 0.0);
        let fpp = plan::rate(shape.fingerprint);
        let facts = vec![
            Fact::count("fingerprint_bits", shape.fingerprint.into()),
            Fact::count("value_bits", shape.value.into()),
            Fact::count("shards", shape.shards),
            Fact::count("slots", cells.1),
        ];
        let receipt = Receipt::new(self.plan, scheme, cells, keys, fpp);
        Receipt { room: 0, facts, ..receipt }
    }
}

/// The plan, the shape, the seed of each shard and the number of keys.
///
/// ```text
///  64  shards          u32      76  fingerprint_bits  u32      88  keys  u64
///  68  segment_length  u32      80  value_bits        u32      96 + 8 i  seed of shard i  u64
///  72  segments        u32      84  positions, 1      u32
/// ```
fn declared(header: &Header) -> Result<(Plan, Shape, Vec<u64>, u64), FileError> {
    let mut fields = header.fields();
    let (shards, length, segments) = (u64::from(fields.u32()?), fields.u32()?, fields.u32()?);
    let (fingerprint, value, positions) = (fields.u32()?, fields.u32()?, fields.u32()?);
    check_field("positions", positions.into(), positions == POSITIONS, "1")?;
    let keys = fields.u64()?;
    check_field("shards", shards, (1..=MOST_SHARDS).contains(&shards), "1 to 8000")?;
    let seeds = (0..shards).map(|_| fields.u64()).collect::<Result<Vec<_>, _>>()?;
    fields.end()?;
    check_widths(fingerprint, value)?;
    let power = length.is_power_of_two() && (2..=MOST_SEGMENT).contains(&length);
    check_field("segment_length", length.into(), power, "a power of two from 2 to 2^18")?;
    let slots = (u64::from(segments) + 2) * u64::from(length);
    let fit = segments > 0 && slots <= MOST_SLOTS;
    check_field("segments", segments.into(), fit, "1 or more, at most 2^24 slots in a shard")?;
    let shape = Shape { shards, length, segments, fingerprint, value };
    let (planned, fpp) = (header.planned_keys(), header.planned_fpp());
    let few = keys <= planned && keys <= shards * slots;
    check_field("keys", keys, few, "no more than planned, nor than there are slots")?;
    let (variant, bits) = (variant_of(fingerprint, value), shards * shape.shard_bits());
    let plan = Plan { variant, keys: planned, fpp, bits, probes: ARITY };
    Plans::check(&plan)?;
    Ok((plan, shape, seeds, keys))
}
