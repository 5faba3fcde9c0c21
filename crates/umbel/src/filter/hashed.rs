//! The code that filters of all kinds share: keys, files, copies, comparisons, merges. Their [`Core`] knows the bits.

use alloc::borrow::Cow;
use core::convert::Infallible;
use core::fmt;
use core::ops::Range;

use super::core::{Core, HASHES_AT_ONCE, Merge, Owned};
use super::file::{Declared, Opened};
use super::{BuildError, Comparison, MergeError, Receipt};
use crate::bits::{self, AHEAD, Block, Blocks, cast};
use crate::error::OutOfMemory;
use crate::format::{self, FileError, Header, KeyDescription};
use crate::hash::{Hashes, Hashing, Key, KeyHash, Unlock};
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// A core with the hasher of its keys and their description. The type of each kind wraps it.
#[derive(Clone, PartialEq)]
pub(crate) struct Hashed<C, H> {
    pub(crate) core: C,
    pub(crate) hasher: H,
    pub(crate) description: KeyDescription,
}

impl<C, H> Hashed<C, H> {
    pub(crate) fn of(core: C, hasher: H) -> Self {
        Self { core, hasher, description: KeyDescription::default() }
    }
}

/// Insertion of many keys.
impl<C: Owned, H: Hashing> Hashed<C, H> {
    pub(crate) fn insert_keys<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), C::Refusal> {
        match K::hashes(keys) {
            Hashes::Wide(hashes) => self.core.insert_all(hashes),
            Hashes::Narrow(hashes) => self.core.insert_narrow(hashes),
            Hashes::ToMake => {
                let (far, Self { core, hasher, .. }) = (self.is_far(), self);
                let each = |core: &mut C, _, hashes: &[KeyHash]| core.insert_all(hashes);
                by_group::<C, _, _, _, _>(core, keys, hasher, far, C::prefetch, each)
            }
        }
    }

    pub(crate) fn insert_keys_new<K: Key<H>>(
        &mut self,
        keys: &[K],
        new: &mut [bool],
    ) -> Result<(), C::Refusal> {
        assert_eq!(keys.len(), new.len(), "one answer for each key");
        match K::hashes(keys) {
            Hashes::Wide(hashes) => self.core.insert_all_new(hashes, new),
            _ => {
                new.fill(false);
                let (far, Self { core, hasher, .. }) = (self.is_far(), self);
                let each = |core: &mut C, range, hashes: &[KeyHash]| {
                    core.insert_all_new(hashes, &mut new[range])
                };
                by_group::<C, _, _, _, _>(core, keys, hasher, far, C::prefetch, each)
            }
        }
    }
}

/// The methods behind [`Filter`](super::Filter), for any core and hasher.
pub trait Erased {
    fn plan(&self) -> &Plan;
    fn description(&self) -> &KeyDescription;
    fn describe(&mut self, keys: KeyDescription);
    fn contains_hash(&self, hash: KeyHash) -> bool;
    fn contains_hashes(&self, hashes: &[KeyHash], found: &mut [bool]);
    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>>;
    fn blocks(&self) -> Vec<&[Block]>;
    fn is_empty(&self) -> bool;
    fn receipt(&self) -> Receipt;
    fn header(&self) -> Header;

    fn bytes(&self) -> u64 {
        self.blocks().into_iter().map(|part| part.len() as u64 * bits::BLOCK_BYTES).sum()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.header().whole_length() as usize);
        let Ok(()) = write::<Infallible>(self, &mut |more| {
            bytes.extend_from_slice(more);
            Ok(())
        });
        bytes
    }

    #[cfg(feature = "std")]
    fn put(&self, put: format::Put<'_, std::io::Error>) -> std::io::Result<()> {
        write(self, put)
    }

    #[cfg(feature = "std")]
    fn file_part(&self, offset: u64, most: usize) -> Vec<u8> {
        let header = self.header();
        let end = offset.saturating_add(most as u64).min(header.whole_length());
        let (start, mut at, mut cut) = (offset.min(end), 0, Vec::new());
        let mut put = |bytes: &[u8]| {
            let within = |place: u64| place.saturating_sub(at).min(bytes.len() as u64) as usize;
            cut.extend_from_slice(&bytes[within(start)..within(end)]);
            at += bytes.len() as u64;
            Ok::<_, Infallible>(())
        };
        let blocks = self.blocks().into_iter().map(cast::bytes);
        let Ok(()) = match end > header.payload().end as u64 {
            // The checksums cover everything before.
            true => write(self, &mut put),
            false => core::iter::once(header.bytes()).chain(blocks).try_for_each(put),
        };
        cut
    }
}

/// Writes the file of a filter.
fn write<E>(filter: &(impl Erased + ?Sized), put: format::Put<'_, E>) -> Result<(), E> {
    format::put_parts(put, &filter.header(), &mut filter.blocks().into_iter().map(cast::bytes))
}

impl<C: Core, H: Hashing> Erased for Hashed<C, H> {
    fn plan(&self) -> &Plan {
        self.core.plan()
    }

    fn description(&self) -> &KeyDescription {
        &self.description
    }

    fn describe(&mut self, keys: KeyDescription) {
        self.description = keys;
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.core.contains(hash)
    }

    fn contains_hashes(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        self.core.contains_all(hashes, found);
    }

    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>> {
        self.core.positions(hash)
    }

    fn blocks(&self) -> Vec<&[Block]> {
        self.core.parts().map(AsRef::as_ref).collect()
    }

    fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    fn receipt(&self) -> Receipt {
        self.core.receipt(self.hasher.scheme())
    }

    fn header(&self) -> Header {
        let (plan, scheme) = (self.core.plan(), self.hasher.scheme());
        Header::new(plan, scheme, &self.description, &self.core.body().0, self.bytes())
    }
}

impl<C: Core, H: Hashing> Hashed<C, H> {
    pub(crate) fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        match K::hashes(keys) {
            Hashes::Narrow(hashes) => self.core.contains_narrow(hashes, found),
            Hashes::Wide(hashes) => self.core.contains_all(hashes, found),
            Hashes::ToMake => {
                let (core, prefetch) = (&mut &self.core, |core: &&C, hash| core.prefetch(hash));
                let each = |core: &mut &C, range, hashes: &[KeyHash]| {
                    core.contains_all(hashes, &mut found[range]);
                    Ok::<_, Infallible>(())
                };
                let (hasher, far) = (&self.hasher, self.is_far());
                let Ok(()) = by_group::<C, _, _, _, _>(core, keys, hasher, far, prefetch, each);
            }
        }
    }

    pub(crate) fn compare<T: AsRef<[Block]>>(
        &self,
        other: &Hashed<C::With<T>, impl Hashing>,
    ) -> Result<Comparison, MergeError> {
        same_keys(self, other)?;
        self.core.compare(&other.core)
    }

    /// A copy that owns its bits.
    pub(crate) fn try_clone(&self) -> Result<Hashed<C::With<Blocks>, H>, OutOfMemory> {
        Ok(self.with(self.core.with_parts(|part| Blocks::copy_of(part.as_ref()))?))
    }

    /// Whether its bits exceed the caches of one core.
    fn is_far(&self) -> bool {
        self.core.plan().bits > bits::FAR * bits::BLOCK_BITS
    }

    pub(crate) fn with<D>(&self, core: D) -> Hashed<D, H> {
        Hashed { core, hasher: self.hasher.clone(), description: self.description.clone() }
    }

    /// The bytes of each part of a file, which must be of this kind; checks its fields.
    pub(crate) fn layout_of_kind(header: &Header) -> Result<Vec<u64>, FileError> {
        match header.kind()? {
            kind if kind == C::Plans::KIND => C::layout(header),
            found => Err(FileError::Kind(C::Plans::KIND, found)),
        }
    }

    /// Makes the filter from a file whose header, kind and checksums were verified.
    pub(crate) fn open(opened: Opened<C::Storage, H>) -> Result<Self, FileError> {
        let Opened { header, hasher, description, parts } = opened;
        Ok(Self { core: C::open(&header, parts)?, hasher, description })
    }
}

impl<C: Core<Storage = Blocks>, H: Hashing> Hashed<C, H> {
    #[cfg(feature = "std")]
    pub(crate) fn read(
        source: &mut dyn std::io::Read,
        length: u64,
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<Self, FileError> {
        Self::open(super::file::read(source, length, Self::layout_of_kind, unlock)?)
    }
}

impl<C: Core<Storage: From<Blocks>>, H: Hashing> Hashed<C, H> {
    pub(crate) fn from_bytes(
        bytes: &[u8],
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<Self, FileError> {
        let declared = Declared::in_bytes(bytes, Self::layout_of_kind)?;
        let copy = |declared: &Declared| {
            Ok(declared.copy(bytes)?.into_iter().map(C::Storage::from).collect())
        };
        Self::open(declared.open(unlock, copy)?)
    }
}

impl<C: Owned, H: Hashing> Hashed<C, H> {
    pub(crate) fn make(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
        C::Plans::check(plan)?;
        Ok(Self::of(C::make(plan)?, hasher))
    }

    /// Keeps the hashes of all keys only for a kind that is built at once.
    pub(crate) fn build<K: Key<H>>(plan: &Plan, keys: &[K], hasher: H) -> Result<Self, BuildError> {
        if C::Plans::BUILT_AT_ONCE {
            C::Plans::check(plan)?;
            let core = C::build(plan, &hashes_of(keys, &hasher))?;
            return Ok(Self::of(core, hasher));
        }
        let mut filter = Self::make(plan, hasher)?;
        filter.insert_keys(keys).map_err(Into::into)?;
        Ok(filter)
    }

    pub(crate) fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &Hashed<C::With<T>, impl Hashing>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let mut both = same_keys(self, other)?;
        if how == Merge::Union {
            // One without keys and description has no say in what they are.
            if self.description.is_empty() && self.core.is_empty() {
                both = other.description.clone();
            } else if other.description.is_empty() && other.core.is_empty() {
                both = self.description.clone();
            }
        }
        self.core.merge(&other.core, how)?;
        self.description = both;
        Ok(())
    }
}

/// The hashes of keys, borrowed if the keys are hashes.
pub(crate) fn hashes_of<'a, K: Key<H>, H>(keys: &'a [K], hasher: &H) -> Cow<'a, [KeyHash]> {
    match K::hashes(keys) {
        Hashes::Wide(hashes) => Cow::Borrowed(hashes),
        _ => keys.iter().map(|key| key.key_hash(hasher)).collect(),
    }
}

/// Checks that two filters hold keys of the same description, hashed alike; returns the description of all keys.
pub(crate) fn same_keys<C, D>(
    left: &Hashed<C, impl Hashing>,
    right: &Hashed<D, impl Hashing>,
) -> Result<KeyDescription, MergeError> {
    let [ours, theirs] = [left.hasher.scheme(), right.hasher.scheme()];
    if ours != theirs {
        return Err(MergeError::SchemesDiffer(ours, theirs));
    }
    left.description.with(&right.description).ok_or(MergeError::KeysDiffer)
}

/// Calls `each` with the hashes of keys and their range in `keys`, group by group, up to the first error. `prefetch`
/// fetches the cache line of a hash, if the core [does](Core::PREFETCHES) and the filter is not `far`.
///
/// Far lines are not fetched while keys are hashed, because hashing leaves too few in flight: in 126 MB a look-up of a
/// 64-byte key takes 9.3 ns that way, 8.2 in groups of 512, and 7.3 in groups of 1,024, whose batch fetches 128 ahead.
/// In 13 MB it takes 5.7 that way and 6.3 in groups.
pub(crate) fn by_group<C: Core, T, K: Key<H>, H, E>(
    filter: &mut T,
    keys: &[K],
    hasher: &H,
    far: bool,
    prefetch: impl Fn(&T, KeyHash),
    mut each: impl FnMut(&mut T, Range<usize>, &[KeyHash]) -> Result<(), E>,
) -> Result<(), E> {
    if C::PREFETCHES && !K::ARE_HASHES && !far {
        prefetching(filter, keys, hasher, prefetch, each)
    } else {
        let each = &mut |range: Range<usize>, hashes: &[KeyHash]| each(filter, range, hashes);
        hashed::<{ 2 * HASHES_AT_ONCE }, _, _, _>(keys, hasher, each)
    }
}

/// Processes a group of hashes and its range among the keys.
type Each<'a, E> = dyn FnMut(Range<usize>, &[KeyHash]) -> Result<(), E> + 'a;

/// Like [`by_group`] for any core, `N` keys at a time; compiled once per key type.
pub(crate) fn hashed<const N: usize, K: Key<H>, H, E>(
    keys: &[K],
    hasher: &H,
    each: &mut Each<'_, E>,
) -> Result<(), E> {
    if let Hashes::Wide(hashes) = K::hashes(keys) {
        return each(0..keys.len(), hashes);
    }
    let mut hashes = [KeyHash::default(); N];
    let mut start = 0;
    for keys in keys.chunks(N) {
        for (to, key) in hashes.iter_mut().zip(keys) {
            *to = key.key_hash(hasher);
        }
        each(start..start + keys.len(), &hashes[..keys.len()])?;
        start += keys.len();
    }
    Ok(())
}

/// Like [`by_group`], in groups of [`AHEAD`] keys; calls `prefetch` one group before `each`: cache lines arrive while
/// the next keys are hashed.
#[inline]
fn prefetching<T, K: Key<H>, H, E>(
    filter: &mut T,
    keys: &[K],
    hasher: &H,
    prefetch: impl Fn(&T, KeyHash),
    mut each: impl FnMut(&mut T, Range<usize>, &[KeyHash]) -> Result<(), E>,
) -> Result<(), E> {
    let mut hashes = [[KeyHash::default(); AHEAD]; 2];
    let mut fetched = 0..0;
    // After the last keys, a turn without any.
    for (turn, keys) in keys.chunks(AHEAD).chain([&keys[..0]]).enumerate() {
        for (to, key) in hashes[turn % 2].iter_mut().zip(keys) {
            *to = key.key_hash(hasher);
            prefetch(filter, *to);
        }
        let next = fetched.end..fetched.end + keys.len();
        if turn > 0 {
            let count = fetched.len();
            each(filter, fetched, &hashes[1 - turn % 2][..count])?;
        }
        fetched = next;
    }
    Ok(())
}

/// Calls `each` with the hashes of keys, and `prefetch` with each hash [`AHEAD`] keys before.
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) fn each_ahead<K: Key<H>, H>(
    keys: &[K],
    hasher: &H,
    prefetch: impl Fn(KeyHash),
    mut each: impl FnMut(KeyHash),
) {
    let Ok(()) = hashed::<HASHES_AT_ONCE, _, _, _>(keys, hasher, &mut |_, hashes| {
        hashes.iter().take(AHEAD).for_each(|&hash| prefetch(hash));
        for (i, &hash) in hashes.iter().enumerate() {
            if let Some(&next) = hashes.get(i + AHEAD) {
                prefetch(next);
            }
            each(hash);
        }
        Ok::<_, Infallible>(())
    });
}

/// Like [`each_ahead`]; stores the answer for each key.
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) fn answer_ahead<K: Key<H>, H>(
    keys: &[K],
    hasher: &H,
    answers: &mut [bool],
    prefetch: impl Fn(KeyHash),
    mut answer: impl FnMut(KeyHash) -> bool,
) {
    assert_eq!(keys.len(), answers.len(), "one answer for each key");
    let mut answers = answers.iter_mut();
    each_ahead(keys, hasher, prefetch, |hash| {
        *answers.next().expect("as many answers as keys") = answer(hash);
    });
}

/// Calls `each` with the hashes of an iterator's keys, [`HASHES_AT_ONCE`] at a time.
pub(crate) fn in_groups<K: Key<H>, H>(
    keys: impl IntoIterator<Item = K>,
    hasher: &H,
    mut each: impl FnMut(&[KeyHash]),
) {
    let mut keys = keys.into_iter();
    let mut hashes = [KeyHash::default(); HASHES_AT_ONCE];
    loop {
        let mut count = 0;
        for (to, key) in hashes.iter_mut().zip(keys.by_ref()) {
            *to = key.key_hash(hasher);
            count += 1;
        }
        each(&hashes[..count]);
        if count < HASHES_AT_ONCE {
            return;
        }
    }
}

impl<C: Core, H: Hashing> fmt::Debug for Hashed<C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("plan", self.core.plan())
            .field("scheme", &self.hasher.scheme())
            .finish_non_exhaustive()
    }
}
