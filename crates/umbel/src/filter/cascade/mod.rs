//! The cascade: filters in levels, each of what the one before wrongly lets pass, until nothing is left (J. Larisch,
//! D. Choffnes, D. Levin, B. M. Maggs, A. Mislove, C. Wilson 2017, “CRLite”, section IV,
//! <https://doi.org/10.1109/SP.2017.17>).
//!
//! Even levels hold keys that match, odd ones keys that must not. A key matches when it passes an odd number of
//! levels from the first on. Level 0 holds all keys that match; level 1 those excluded that pass level 0; level 2 those
//! included that pass level 1; and so on.
//!
//! Levels are blocked filters. Most after the first have a rate of 1/2, which takes one probe, and one probe takes
//! 1.443 bits a key in a blocked filter as in a classic one: there is nothing to be gained by the other kind. In level 0 a
//! classic filter would save 5 % at 0.01, for six cache misses a key instead of one.
//!
//! Departures from the paper: the rates of all levels are searched for ([`Plan::for_lists`]), not the first one's alone:
//! where few keys are excluded, level 1 at rate 1/2 would catch half of all those included, 1.44 bits for each. Levels of
//! less than a block have a lower rate than is asked for, which spares some of the last ones. And a key has a hash of its own in
//! each level, of both halves of its hash, so that keys with one half in common are told apart too.

mod build;

use std::cmp::Ordering;
use std::fmt;
use std::io::{Read, Write};

use super::{AnyFilter, Blocked, Fact, Figure, FileLayout, Part, Receipt, delegate};
use crate::bits::{BLOCK_BYTES, Block, Blocks};
use crate::error::check_field;
use crate::hash::{GOLDEN, KeyHash, KeyHasher, Secret, mix};
use crate::plan::cascade::{LEVELS, LIST, LISTED_BITS, MOST_LEVELS};
use crate::plan::{Kind, MAX_BITS, Plan};
use crate::{Error, format};

/// A static filter of two lists: every key of the one matches, no key of the other, and of all other keys at most
/// the planned rate.
///
/// For a set that is known on both sides: certificates revoked among all that there are, addresses blocked among
/// the customers' own. There are two forms, by [`Plan::detail`]. The **cascade** (0) is levels of filters, each
/// correcting the one before. The **plain form** (1, [`Kind::Cascade`]`.with(1)`) is one filter beside an exact list of the
/// keys excluded that it wrongly catches, as 128-bit hashes.
///
/// **Cost.** With r keys included, s excluded and a rate p of the first level: the bits of a
/// [blocked](super::Blocked) filter for r keys at p, and for each of the s p keys excluded that it catches
/// (log₂(r/(s p)) + 2.9)/ln 2 more: 18 bits when they are a thousandth of r, 4.3 when as many as r. The plain form takes 128 for each.
/// It is the simpler one, and answers as fast as the filter alone. A key that does not match reads one cache line most
/// times, one that does two. Building asks each level for what is left: the hashes, 16 bytes for each key that passes.
///
/// **When not to use it.** When the keys to be told apart are not all known: a rate below `fpp` is promised for those on
/// neither list, no more, and a [classic](super::Classic) or [bloomier](super::Bloomier) filter of the first list alone is
/// smaller. When keys come one by one: it is built anew for each change of either list. When the
/// lists are short: a sorted list of the keys themselves is exact for all.
///
/// J. Larisch, D. Choffnes, D. Levin, B. M. Maggs, A. Mislove, C. Wilson 2017, “CRLite: a scalable system for pushing all
/// TLS revocations to all browsers”, section IV, <https://doi.org/10.1109/SP.2017.17>.
///
/// ```
/// use umbel::{Cascade, KeyHasher};
///
/// let hasher = KeyHasher::default();
/// let revoked: Vec<_> = (0..10_000).map(|key| hasher.hash_u64(key)).collect();
/// let valid: Vec<_> = (10_000..1_000_000).map(|key| hasher.hash_u64(key)).collect();
/// let filter = Cascade::build(&revoked, &valid, 0.01, hasher)?;
/// assert!((0..10_000).all(|key| filter.contains_u64(key)));
/// assert!(!(10_000..1_000_000).any(|key| filter.contains_u64(key)));
/// assert!(filter.receipt().fpp <= 0.01);
/// assert!(filter.bytes() * 8 < 16 * 10_000, "of both lists, a million keys");
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone)]
pub struct Cascade<S = Blocks> {
    plan: Plan,
    hasher: KeyHasher,
    /// Keys it was built from, as given.
    included: u64,
    excluded: u64,
    /// At least one, in the plain form one.
    pub(super) levels: Vec<Blocked<S>>,
    /// In the plain form, when any key excluded is caught.
    pub(super) list: Option<List<S>>,
}

/// An exact list: hashes in ascending order, upper half first, then zeros up to a whole block.
#[derive(Clone)]
pub(super) struct List<S> {
    pub(super) blocks: S,
    count: u64,
}

impl<S: AsRef<[Block]>> List<S> {
    fn get(words: &[u64], index: usize) -> KeyHash {
        let word = |i: usize| u64::from_le(words[2 * index + i]);
        KeyHash { high: word(0), low: word(1) }
    }

    fn words(&self) -> &[u64] {
        bytemuck::cast_slice(self.blocks.as_ref())
    }

    /// By binary search: 20 steps among a million.
    fn contains(&self, hash: KeyHash) -> bool {
        let words = self.words();
        let (mut low, mut high) = (0, self.count as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            match Self::get(words, middle).cmp(&hash) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// Of a file, checked: ascending, then zeros.
    fn from_part(blocks: S, count: u64) -> Result<Self, Error> {
        let list = Self { blocks, count };
        let words = list.words();
        let ascends = |i| Self::get(words, i) < Self::get(words, i + 1);
        let rest = &words[2 * count as usize..];
        if !(0..count as usize - 1).all(ascends) || rest.iter().any(|&word| word != 0) {
            return Err(Error::Field {
                field: "payload",
                found: count,
                expected: "different hashes in ascending order, then zeros",
            });
        }
        Ok(list)
    }
}

/// Bytes of a list, in whole blocks.
fn list_bytes(count: u64) -> Option<u64> {
    count.checked_mul(LISTED_BITS / 8)?.checked_next_multiple_of(BLOCK_BYTES)
}

/// The hash of a key in a level, made from the key's own: level 0 takes that as it is. Both halves go into the lower
/// one: of a level with one block it alone counts. Part of the format.
#[inline]
fn in_level(hash: KeyHash, index: usize) -> KeyHash {
    if index == 0 {
        return hash;
    }
    let high = mix(hash.high.wrapping_sub((index as u64).wrapping_mul(GOLDEN)));
    KeyHash { high, low: mix(hash.low.wrapping_add(high)) }
}

/// Hashes looked at together: 8 KiB, a quarter of the first-level cache.
const GROUP: usize = 512;

impl Cascade {
    /// Reads a cascade from `source`, `length` bytes in all, checking every byte.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`Error::PlanKind`] when the file holds another kind.
    pub fn read(source: impl Read, length: u64, secret: Option<&Secret>) -> Result<Self, Error> {
        AnyFilter::read(source, length, secret)?.try_into()
    }
}

impl<S: AsRef<[Block]>> Cascade<S> {
    /// Whether the key matches: certainly right for keys of either list, and for others wrong with the filter's
    /// rate.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Whether an integer key matches. As [`contains`](Self::contains).
    pub fn contains_u64(&self, key: u64) -> bool {
        self.contains_hash(self.hasher.hash_u64(key))
    }

    /// Whether a key matches, by its hash under this filter's scheme.
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let levels = self.levels.iter().enumerate();
        let passes =
            |(index, level): &(usize, &Blocked<S>)| level.contains_hash(in_level(hash, *index));
        levels.take_while(passes).count() % 2 == 1 && !self.lists(hash)
    }

    /// Whether the exact list has the hash.
    fn lists(&self, hash: KeyHash) -> bool {
        self.list.as_ref().is_some_and(|list| list.contains(hash))
    }

    /// Asks for many keys, cache misses overlapped: `found[i]` becomes the answer for `hashes[i]`. A level is asked
    /// only for keys that passed all before it.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        self.levels[0].contains_batch(hashes, found);
        if let Some(list) = &self.list {
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = *found && !list.contains(*hash);
            }
        }
        if self.levels.len() == 1 {
            return;
        }
        let mut left = [(0u16, KeyHash::default()); GROUP];
        let (mut linked, mut held) = ([KeyHash::default(); GROUP], [false; GROUP]);
        for (hashes, found) in hashes.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
            let mut count = 0;
            for ((place, &hash), &found) in (0..).zip(hashes).zip(&*found) {
                // Written in any case, so that nothing is guessed wrong.
                left[count] = (place, hash);
                count += usize::from(found);
            }
            for (index, level) in self.levels.iter().enumerate().skip(1) {
                for (to, (_, hash)) in linked.iter_mut().zip(&left[..count]) {
                    *to = in_level(*hash, index);
                }
                level.contains_batch(&linked[..count], &mut held[..count]);
                let mut passed = 0;
                for i in 0..count {
                    let (place, hash) = left[i];
                    left[passed] = (place, hash);
                    found[usize::from(place)] ^= held[i];
                    passed += usize::from(held[i]);
                }
                count = passed;
                if count == 0 {
                    break;
                }
            }
        }
    }

    /// What it was planned for: the first level's keys and bits, the rate of all.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Keys it was built from that match, as many as were given.
    pub fn included(&self) -> u64 {
        self.included
    }

    /// Keys it was built from that do not, as many as were given.
    pub fn excluded(&self) -> u64 {
        self.excluded
    }

    /// How many of those excluded the first level wrongly caught; the others needed nothing more.
    pub fn caught(&self) -> u64 {
        match &self.list {
            Some(list) => list.count,
            None => self.levels.get(1).map_or(0, |level| level.plan().keys),
        }
    }

    /// Levels; 1 in the plain form.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Bits of all levels and of the list.
    pub fn bits(&self) -> u64 {
        let list = self.list.as_ref().map_or(0, |list| 8 * 64 * list.blocks.as_ref().len() as u64);
        self.levels.iter().map(|level| level.plan().bits).sum::<u64>() + list
    }

    /// Bytes of all levels and of the list.
    pub fn bytes(&self) -> u64 {
        self.bits() / 8
    }

    /// What the filter really delivers, from its own bits. One pass over them.
    ///
    /// The rate is that of keys on neither list: f₀ (1 − f₁ (1 − f₂ (1 − …))), fᵢ the rate of level i given its bits.
    /// The keys are estimated from level 0; the parts tell how many keys the other levels were built from. Set bits and
    /// fill are those of the levels.
    pub fn receipt(&self) -> Receipt {
        let receipts: Vec<_> = self.levels.iter().map(Blocked::receipt).collect();
        let fpp = receipts.iter().rev().fold(0.0, |after, level| level.fpp * (1.0 - after));
        let (set_bits, bits) = receipts
            .iter()
            .fold((0, 0), |(set, bits), level| (set + level.set_bits, bits + level.bits));
        let first = &receipts[0];
        let receipt =
            Receipt::new(self.plan, self.hasher.scheme(), (set_bits, bits), first.keys, fpp);
        let part = |level: &Receipt| Part {
            what: "level",
            name: None,
            plan: level.plan,
            keys: level.plan.keys as f64,
            fpp: level.fpp,
        };
        let mut parts: Vec<_> = receipts.iter().map(part).collect();
        parts[0].keys = self.included as f64;
        let count = |name, count| Fact { name, figure: Figure::Count(count) };
        let facts = vec![
            count("included", self.included),
            count("excluded", self.excluded),
            count("caught", self.caught()),
            count("listed", self.list.as_ref().map_or(0, |list| list.count)),
        ];
        Receipt { bits: self.bits(), room: 0, parts, facts, ..receipt }
    }

    /// Borrows the same bits.
    pub fn view(&self) -> Cascade<&[Block]> {
        let list = self.list.as_ref();
        let list = list.map(|list| List { blocks: list.blocks.as_ref(), count: list.count });
        self.with(self.levels.iter().map(Blocked::view).collect(), list)
    }

    /// A copy that owns its bits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Cascade, Error> {
        let copy = |list: &List<S>| {
            Ok::<_, Error>(List {
                blocks: Blocks::copy_of(list.blocks.as_ref())?,
                count: list.count,
            })
        };
        let levels = self.levels.iter().map(Blocked::to_owned).collect::<Result<_, Error>>()?;
        Ok(self.with(levels, self.list.as_ref().map(copy).transpose()?))
    }

    fn with<T>(&self, levels: Vec<Blocked<T>>, list: Option<List<T>>) -> Cascade<T> {
        let Self { plan, hasher, included, excluded, .. } = *self;
        Cascade { plan, hasher, included, excluded, levels, list }
    }

    /// Writes the filter as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> Result<(), Error> {
        let listed = self.list.as_ref().map_or(0, |list| list.count);
        let body = format::Body::default().u32(self.levels.len() as u32).u32(self.plan.detail);
        let mut body = body.u64(self.included).u64(self.excluded).u64(listed);
        for Plan { keys, fpp, bits, probes, .. } in self.levels.iter().map(Blocked::plan) {
            body = body.u64(*keys).f64(*fpp).u64(*bits).u32(*probes).zeros(4);
        }
        let header = format::Header::new(&self.plan, self.hasher.scheme(), &body, self.bytes());
        let mut writer = format::Writer::new(out, &header)?;
        for level in &self.levels {
            writer.write(bytemuck::cast_slice(level.blocks()))?;
        }
        if let Some(list) = &self.list {
            writer.write(bytemuck::cast_slice(list.blocks.as_ref()))?;
        }
        writer.finish()
    }

    /// Of a checked header and the blocks of each level, and of the list where there is one.
    pub(super) fn from_parts(
        header: &format::Header,
        hasher: KeyHasher,
        mut parts: Vec<S>,
    ) -> Result<Self, Error> {
        let Declared { plan, included, excluded, listed, levels } = declared(header)?;
        let list = match listed {
            0 => None,
            count => Some(List::from_part(parts.pop().expect("a part for the list"), count)?),
        };
        let level = |(plan, blocks)| Blocked::from_parts(plan, hasher, blocks);
        let levels = levels.into_iter().zip(parts).map(level).collect::<Result<_, Error>>()?;
        Ok(Self { plan, hasher, included, excluded, levels, list })
    }
}

/// What the header of a cascade tells.
pub(super) fn file_layout(header: &format::Header) -> Result<FileLayout, Error> {
    let Declared { plan, listed, levels, .. } = declared(header)?;
    let mut parts: Vec<_> = levels.iter().map(Plan::bytes).collect();
    if listed > 0 {
        parts.push(list_bytes(listed).expect("checked"));
    }
    Ok(FileLayout { plan, parts })
}

struct Declared {
    plan: Plan,
    included: u64,
    excluded: u64,
    listed: u64,
    levels: Vec<Plan>,
}

/// The fields of a cascade, checked.
///
/// ```text
///  64  levels    u32       96 + 32 i  level_keys    u64
///  68  form      u32      104 + 32 i  level_fpp     f64
///  72  included  u64      112 + 32 i  level_bits    u64
///  80  excluded  u64      120 + 32 i  level_probes  u32
///  88  listed    u64      124 + 32 i  zeros, 4 bytes
/// ```
fn declared(header: &format::Header) -> Result<Declared, Error> {
    let mut fields = header.fields();
    let (count, detail) = (fields.u32()?, fields.u32()?);
    let (included, excluded, listed) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let most = if detail == LEVELS { MOST_LEVELS as u32 } else { 1 };
    check_field("form", detail.into(), detail <= LIST, "0 or 1")?;
    check_field("levels", count.into(), (1..=most).contains(&count), "1 to 128, in form 1 one")?;
    let mut levels = Vec::new();
    for _ in 0..count {
        let (keys, fpp, bits) = (fields.u64()?, fields.f64()?, fields.u64()?);
        let probes = fields.u32()?;
        fields.zeros(4)?;
        levels.push(Plan { kind: Kind::Blocked, keys, fpp, bits, probes, detail: 0 });
    }
    fields.end()?;
    let (keys, fpp) = (header.planned_keys(), header.planned_fpp());
    let plan = Plan { kind: Kind::Cascade, keys, fpp, detail, ..levels[0] };
    plan.check(Kind::Cascade)?;
    check_field("included", included, included <= keys, "at most the planned keys")?;
    let none = detail == LEVELS && listed > 0;
    check_field(
        "listed",
        listed,
        !none && listed <= excluded,
        "at most the keys excluded, in form 0 none",
    )?;
    let mut bits = listed.saturating_mul(LISTED_BITS);
    for (index, level) in levels.iter().enumerate() {
        level.check(Kind::Blocked)?;
        let (least, most) = match index {
            0 => (keys, keys),
            1 => (1, excluded),
            2 => (1, included),
            _ => (1, levels[index - 2].keys),
        };
        let possible = (least..=most).contains(&level.keys);
        let expected = "of level 0 the planned keys, of another 1 to those of the level before the last, or of its list";
        check_field("level_keys", level.keys, possible, expected)?;
        let same = index > 0 || level.fpp.to_bits() == fpp.to_bits();
        check_field("level_fpp", level.fpp.to_bits(), same, "the planned fpp in level 0")?;
        bits = bits.saturating_add(level.bits);
    }
    match bits <= MAX_BITS {
        true => Ok(Declared { plan, included, excluded, listed, levels }),
        false => Err(Error::TooLarge { bits: bits as f64 }),
    }
}

delegate::filter!([S: AsRef<[Block]>] Cascade<S>, bytes);

impl<S: AsRef<[Block]>> fmt::Debug for Cascade<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cascade")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .field("levels", &self.levels.len())
            .finish_non_exhaustive()
    }
}

/// Equal when they are for the same plan and scheme, of as many keys, with the same bits.
impl<S: AsRef<[Block]>, T: AsRef<[Block]>> PartialEq<Cascade<T>> for Cascade<S> {
    fn eq(&self, other: &Cascade<T>) -> bool {
        let lists = match (&self.list, &other.list) {
            (Some(left), Some(right)) => left.blocks.as_ref() == right.blocks.as_ref(),
            (left, right) => left.is_none() && right.is_none(),
        };
        let counts = |of: (u64, u64)| of == (other.included, other.excluded);
        self.plan == other.plan
            && counts((self.included, self.excluded))
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(left, right)| left == right)
            && lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_format_document() {
        let hash = KeyHasher::with_seed(7).hash("umbel");
        assert_eq!(in_level(hash, 0), hash);
        let KeyHash { high, low } = in_level(hash, 1);
        assert_eq!((high, low), (0x6513_c1f3_b720_2102, 0xa60b_09a6_7fe2_5f64));
        assert_eq!((crate::bits::place(high, 1000), low & 511), (394, 356));
    }
}
