//! The cascade: filters in levels, each holding the keys that the one before wrongly lets pass, until none is left
//! (“CRLite”, cited at [`Cascade`]).
//!
//! Even levels hold keys that match, odd ones keys that must not: level 0 all keys that match; level 1 the excluded
//! keys that pass level 0; level 2 the included keys that pass level 1; and so on. A key matches if it passes an odd
//! number of levels, counted from the first.
//!
//! Levels are blocked filters. Most after the first have a rate of 1/2, and so one probe. A blocked filter then needs
//! 1.443 bits per key, no more than a classic one. In level 0 a classic filter would save 5 % at 0.01, for six cache
//! misses per key instead of one.
//!
//! Departures from the paper: [`Plan::for_lists`] optimizes the rates of all levels, not only the first. (If few keys
//! are excluded, level 1 at rate 1/2 would catch half of all included ones, at 1.44 bits each.) Levels smaller than a
//! block have a lower rate than planned, which saves some of the last ones. A key has a different hash in each level,
//! from both halves of its hash, to separate keys with one equal half.

mod build;
mod plan;

pub(crate) use plan::Plans;
use plan::{LISTED_BITS, MOST_LEVELS, form};

use super::blocked::{self, BlockedCore};
use super::group::Group;
use super::plain;
use super::prelude::*;
use crate::hash::{GOLDEN, mix};

filter! {
    /// A static filter of two lists: every key of the first matches, no key of the second does, and other keys pass at
    /// no more than the planned rate.
    ///
    /// Use it if both sides are known: the revoked among all certificates, the blocked among your customers' addresses.
    /// There are two [`Form`](crate::plan::Form)s. The **cascade** has levels of filters, each correcting the one
    /// before. The **plain form** (`cascade:1`) is one filter with an exact list, as 128-bit hashes, of the excluded
    /// keys that it wrongly catches.
    ///
    /// **Cost.** With r keys included, s excluded and a rate p of the first level: the bits of a
    /// [blocked](crate::Blocked) filter for r keys at p, and (log₂(r/(s p)) + 2.9)/ln 2 bits for each of the s p
    /// excluded keys that it catches: 18 bits if these are a thousandth of r, 4.3 if as many as r. The plain form needs
    /// 128 bits for each; it is simpler, and as fast as the filter alone. A key that does not match usually reads one
    /// cache line, one that does reads two. Building takes 16 bytes for each key that passes a level.
    ///
    /// **When not to use it.** If some keys to be distinguished are unknown: for keys on neither list it promises only
    /// `fpp`, and a [classic](crate::Classic) or [bloomier](crate::Bloomier) filter of the first list alone is smaller.
    /// If keys arrive one by one: each change of a list requires a rebuild. If the lists are short: a sorted list of
    /// the keys themselves is exact for all keys.
    ///
    /// J. Larisch, D. Choffnes, D. Levin, B. M. Maggs, A. Mislove, C. Wilson 2017, “CRLite: a scalable system for
    /// pushing all TLS revocations to all browsers”, section IV, <https://doi.org/10.1109/SP.2017.17>.
    ///
    /// # Receipt
    /// The rate applies to keys on neither list: f₀ (1 − f₁ (1 − f₂ (1 − …))), with fᵢ the rate of level i given its
    /// bits. The keys are estimated from level 0; the parts report how many keys the other levels were built from. Set
    /// bits and fill count the levels only.
    ///
    /// ```
    /// use umbel::{Cascade, Filter, KeyHasher};
    ///
    /// let revoked: Vec<u64> = (0..10_000).collect();
    /// let valid: Vec<u64> = (10_000..1_000_000).collect();
    /// let filter = Cascade::build(&revoked, &valid, 0.01, KeyHasher::default())?;
    /// assert!(revoked.iter().all(|key| filter.contains(key)));
    /// assert!(!valid.iter().any(|key| filter.contains(key)));
    /// assert!(filter.receipt().fpp <= 0.01);
    /// assert!(filter.bytes() * 8 < 16 * 10_000, "of both lists, a million keys");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Cascade(CascadeCore)
}

/// The core of a [`Cascade`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct CascadeCore<S = Blocks> {
    plan: Plan,
    /// Numbers of keys given.
    included: u64,
    excluded: u64,
    /// At least one; in the plain form exactly one.
    levels: Vec<BlockedCore<S>>,
    /// In the plain form, if any excluded key is caught.
    list: Option<List<S>>,
}

/// An exact list: ascending hashes, upper half first, padded with zeros to a whole block.
#[derive(Clone, PartialEq)]
struct List<S> {
    blocks: S,
    count: u64,
}

/// A hash, as a list has it.
fn listed([high, low]: [u64; 2]) -> KeyHash {
    KeyHash { high: u64::from_le(high), low: u64::from_le(low) }
}

impl<S: AsRef<[Block]>> List<S> {
    /// The hashes, then zeros.
    fn split(&self) -> (&[[u64; 2]], &[[u64; 2]]) {
        bits::cast::words(self.blocks.as_ref()).as_chunks().0.split_at(self.count as usize)
    }

    /// By binary search: 20 steps among a million.
    fn contains(&self, hash: KeyHash) -> bool {
        self.split().0.binary_search_by_key(&hash, |&words| listed(words)).is_ok()
    }

    /// Checks a file's list: ascending, then zeros.
    fn check(&self) -> Result<(), FieldError> {
        let (hashes, rest) = self.split();
        let ascend = hashes.is_sorted_by(|&one, &next| listed(one) < listed(next));
        let right = ascend && rest.iter().all(|words| *words == [0; 2]);
        check_field("payload", self.count, right, "different hashes in ascending order, then zeros")
    }
}

fn list_bytes(count: u64) -> Option<u64> {
    count.checked_mul(LISTED_BITS / 8)?.checked_next_multiple_of(BLOCK_BYTES)
}

/// Derives a key's hash in a level; level 0 uses the key's own. Both halves go into the lower one, the only one that
/// counts in a level of one block. Part of the format.
#[inline]
fn in_level(hash: KeyHash, index: usize) -> KeyHash {
    if index == 0 {
        return hash;
    }
    let high = mix(hash.high.wrapping_sub((index as u64).wrapping_mul(GOLDEN)));
    KeyHash { high, low: mix(hash.low.wrapping_add(high)) }
}

impl<H: Hashing, S: AsRef<[Block]>> Cascade<H, S> {
    /// Returns the number of included keys, as given.
    pub fn included(&self) -> u64 {
        self.0.core.included
    }

    /// Returns the number of excluded keys, as given.
    pub fn excluded(&self) -> u64 {
        self.0.core.excluded
    }

    /// Returns how many excluded keys are false positives of the first level.
    #[doc(hidden)]
    pub fn false_positives(&self) -> u64 {
        self.0.core.caught()
    }

    /// Returns the number of levels; 1 in the plain form.
    #[doc(hidden)]
    pub fn levels(&self) -> usize {
        self.0.core.levels.len()
    }
}

impl<S: AsRef<[Block]>> CascadeCore<S> {
    fn caught(&self) -> u64 {
        match &self.list {
            Some(list) => list.count,
            None => self.levels.get(1).map_or(0, |level| level.plan().keys),
        }
    }
}

impl<S: AsRef<[Block]>> Core for CascadeCore<S> {
    type Plans = Plans;
    type Storage = S;
    type With<T: AsRef<[Block]>> = CascadeCore<T>;

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn contains(&self, hash: KeyHash) -> bool {
        let levels = self.levels.iter().enumerate();
        let passes =
            |(index, level): &(usize, &BlockedCore<S>)| level.contains(in_level(hash, *index));
        levels.take_while(passes).count() % 2 == 1
            && !self.list.as_ref().is_some_and(|list| list.contains(hash))
    }

    /// A level is queried only for keys that passed all before it.
    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.levels[0].contains_all(hashes, found);
        if let Some(list) = &self.list {
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = *found && !list.contains(*hash);
            }
        }
        if self.levels.len() == 1 {
            return;
        }
        let mut group = Group::new(in_level);
        for (hashes, found) in hashes.chunks(HASHES_AT_ONCE).zip(found.chunks_mut(HASHES_AT_ONCE)) {
            group.take_wanted(hashes, found);
            for (index, level) in self.levels.iter().enumerate().skip(1) {
                group.keep(true, index, level, |_| {});
                group.places().for_each(|place| found[place] ^= true);
                if group.count() == 0 {
                    break;
                }
            }
        }
    }

    fn parts(&self) -> impl Iterator<Item = &S> {
        let list = self.list.iter().map(|list| &list.blocks);
        self.levels.iter().flat_map(Core::parts).chain(list)
    }

    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        mut each: impl FnMut(&'a S) -> Result<T, E>,
    ) -> Result<CascadeCore<T>, E> {
        let Self { plan, included, excluded, .. } = *self;
        let levels = self.levels.iter().map(|level| level.with_parts(&mut each));
        let levels = levels.collect::<Result<_, E>>()?;
        let mut list =
            |list: &'a List<S>| Ok(List { blocks: each(&list.blocks)?, count: list.count });
        let list = self.list.as_ref().map(&mut list).transpose()?;
        Ok(CascadeCore { plan, included, excluded, levels, list })
    }

    fn body(&self) -> Body {
        let listed = self.list.as_ref().map_or(0, |list| list.count);
        let body =
            Body::default().u32(self.levels.len() as u32).u32(Plans::number(self.plan.variant));
        let mut body = body.u64(self.included).u64(self.excluded).u64(listed);
        for Plan { keys, fpp, bits, probes, .. } in self.levels.iter().map(Core::plan) {
            body = body.u64(*keys).f64(*fpp).u64(*bits).u32(*probes).zeros(4);
        }
        body
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        let CascadeCore { levels, list, .. } = declared(header)?;
        let listed = list.map(|list| list_bytes(list.count).expect("checked"));
        Ok(levels.iter().map(|level| level.plan.bytes()).chain(listed).collect())
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let mut parts = parts.into_iter();
        let next = |_| Ok::<_, FileError>(parts.next().expect("as many parts as in the layout"));
        let core = declared(header)?.with_parts(next)?;
        for level in &core.levels {
            plain::check(&level.plan, level.blocks.as_ref())?;
        }
        core.list.as_ref().map_or(Ok(()), List::check)?;
        Ok(core)
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        self.borrowed().measured(scheme)
    }
}

impl CascadeCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        let receipts: Vec<_> = self.levels.iter().map(|level| level.receipt(scheme)).collect();
        let fpp = receipts.iter().rev().fold(0.0, |after, level| level.fpp * (1.0 - after));
        let set_bits = receipts.iter().map(|level| level.set_bits).sum();
        let bits = receipts.iter().map(|level| level.bits).sum();
        let first = &receipts[0];
        let receipt = Receipt::new(self.plan, scheme, (set_bits, bits), first.keys, fpp);
        let part = |&Receipt { plan, fpp, .. }: &Receipt| {
            let keys = plan.keys as f64;
            Part { what: "level", name: None, plan, keys, fpp }
        };
        let mut parts: Vec<_> = receipts.iter().map(part).collect();
        parts[0].keys = self.included as f64;
        let facts = vec![
            Fact::count("included", self.included),
            Fact::count("excluded", self.excluded),
            Fact::count("caught", self.caught()),
            Fact::count("listed", self.list.as_ref().map_or(0, |list| list.count)),
        ];
        let listed = self.list.as_ref().map_or(0, |list| list.blocks.as_ref().len() as u64);
        Receipt { bits: bits + listed * BLOCK_BITS, room: 0, parts, facts, ..receipt }
    }
}

/// A cascade without its blocks, from the fields of a header, which it checks.
///
/// ```text
///  64  levels    u32       96 + 32 i  level_keys    u64
///  68  form      u32      104 + 32 i  level_fpp     f64
///  72  included  u64      112 + 32 i  level_bits    u64
///  80  excluded  u64      120 + 32 i  level_probes  u32
///  88  listed    u64      124 + 32 i  zeros, 4 bytes
/// ```
fn declared(header: &Header) -> Result<CascadeCore<&'static [Block]>, FileError> {
    let mut fields = header.fields();
    let (count, variant) = (fields.u32()?, fields.variant::<Plans>()?);
    let (included, excluded, listed) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let levels_alone = form(variant) == Form::Levels;
    let most = if levels_alone { MOST_LEVELS as u32 } else { 1 };
    check_field("levels", count.into(), (1..=most).contains(&count), "1 to 128, in form 1 one")?;
    let mut levels = Vec::new();
    for _ in 0..count {
        let (keys, fpp, bits) = (fields.u64()?, fields.f64()?, fields.u64()?);
        let probes = fields.u32()?;
        fields.zeros(4)?;
        levels.push(Plan { variant: Variant::Blocked, keys, fpp, bits, probes });
    }
    fields.end()?;
    let (keys, fpp) = (header.planned_keys(), header.planned_fpp());
    let plan = Plan { variant, keys, fpp, ..levels[0] };
    Plans::check(&plan)?;
    check_field("included", included, included <= keys, "at most the planned keys")?;
    let fits = listed <= if levels_alone { 0 } else { excluded };
    check_field("listed", listed, fits, "at most the keys excluded, in form 0 none")?;
    let mut bits = listed.saturating_mul(LISTED_BITS);
    for (index, level) in levels.iter().enumerate() {
        blocked::Plans::check(level)?;
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
    check_bits(bits as f64)?;
    let levels = levels.into_iter().map(|plan| BlockedCore::of(plan, &[][..])).collect();
    let list = (listed > 0).then_some(List { blocks: &[][..], count: listed });
    Ok(CascadeCore { plan, included, excluded, levels, list })
}
