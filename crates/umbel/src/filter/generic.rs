//! What all filters share: keys, files, copies, comparisons, merges. Their [`Core`] knows the bits.

use core::convert::Infallible;
use core::fmt;
use core::ops::Range;
#[cfg(feature = "std")]
use std::io::{self, Read, Write};

use super::core::{Core, GROUP, InsertCore, Merge, MergeCore};
use super::file::{self, Admit, Opened};
use super::{MergeError, Receipt};
use crate::bits::{self, AHEAD, Block, Blocks, cast};
use crate::error::OutOfMemory;
use crate::format::{self, FileError, Header, KeyDescription};
use crate::hash::{Hashes, Hashing, Key, KeyHash, KeyHasher, Portable, Unlock};
use crate::plan::{Plan, Planner};
use crate::prelude::*;

/// A filter. `C` is its kind and the storage of its bits, `H` the way its keys are hashed.
///
/// Use it through the names of the kinds: [`Blocked`](crate::Blocked) and the others.
///
/// ```
/// use umbel::Blocked;
///
/// let mut seen = Blocked::new(1_000_000, 0.01)?;
/// assert!(seen.insert("https://example.org/"), "certainly new");
/// assert!(!seen.insert("https://example.org/"));
/// assert!(seen.contains("https://example.org/") && !seen.contains("https://example.com/"));
/// assert!(seen.receipt().fpp < 0.01);
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone)]
pub struct Filter<C, H = KeyHasher> {
    pub(crate) core: C,
    pub(crate) hasher: H,
    pub(crate) description: KeyDescription,
}

impl<C, H> Filter<C, H> {
    pub(crate) fn of(core: C, hasher: H) -> Self {
        Self { core, hasher, description: KeyDescription::default() }
    }

    /// Returns the description of its keys; empty until [`describe`](Self::describe) sets it.
    pub fn description(&self) -> &KeyDescription {
        &self.description
    }

    /// Sets the description of its keys, which its files store and merges compare.
    pub fn describe(&mut self, keys: KeyDescription) {
        self.description = keys;
    }
}

/// What the methods for many keys of each kind call.
impl<C: InsertCore, H: Hashing> Filter<C, H> {
    pub(crate) fn insert_keys<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), C::Full> {
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
    ) -> Result<(), C::Full> {
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

impl<C: Core, H: Hashing> Filter<C, H> {
    /// Returns whether a key may be in the filter: false is certain, true is wrong at the filter's rate.
    #[inline(always)]
    pub fn contains(&self, key: impl Key<H>) -> bool {
        self.core.contains(key.key_hash(&self.hasher))
    }

    /// Looks up many keys, with overlapping cache misses: `found[i]` becomes the answer for `keys[i]`. Several times as fast as
    /// [`contains`](Self::contains) for large filters.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
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

    /// Returns its plan; after folds and merges, the plan for its present size.
    ///
    /// For a scalable filter, the plan of its first link with the rate of the whole; for a filter of rows, that of each
    /// attribute's filter; for a cascade, that of the first level with the rate of the whole.
    pub fn plan(&self) -> &Plan {
        self.core.plan()
    }

    /// Returns its hasher.
    pub fn hasher(&self) -> &H {
        &self.hasher
    }

    /// Returns the bytes of its bits, over all its parts.
    pub fn bytes(&self) -> u64 {
        self.core.parts().map(|part| part.as_ref().len() as u64 * bits::BLOCK_BYTES).sum()
    }

    /// Returns its blocks of 64 bytes, in parts as in its file.
    pub fn blocks(&self) -> impl Iterator<Item = &[Block]> {
        self.core.parts().map(AsRef::as_ref)
    }

    /// Estimates the number of different keys; `u64::MAX` if the filter is too full to tell. One pass over its bits;
    /// the [`receipt`](Self::receipt) reports how precise the estimate is.
    pub fn estimated_len(&self) -> u64 {
        self.receipt().keys.value.round() as u64
    }

    /// Returns whether it certainly holds no key. Stops at the first block with a bit set.
    pub fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    /// Computes what the filter delivers now, from its own bits in one pass. Each kind documents what it adds.
    pub fn receipt(&self) -> Receipt {
        self.core.receipt(self.hasher.scheme())
    }

    /// Borrows the filter and its bits.
    pub fn borrowed(&self) -> Filter<C::With<&[Block]>, H> {
        self.with(self.core.borrowed())
    }

    /// Copies the filter; the copy owns its bits.
    ///
    /// # Errors
    /// Where [`Clone`] would panic.
    pub fn try_clone(&self) -> Result<Filter<C::With<Blocks>, H>, OutOfMemory> {
        Ok(self.with(self.core.with_parts(|part| Blocks::copy_of(part.as_ref()))?))
    }

    /// Whether its bits are farther away than the caches of one core.
    fn is_far(&self) -> bool {
        self.core.plan().bits > bits::FAR * bits::BLOCK_BITS
    }

    pub(crate) fn with<D>(&self, core: D) -> Filter<D, H> {
        Filter { core, hasher: self.hasher.clone(), description: self.description.clone() }
    }

    /// Writes the filter as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// The errors of `out`.
    #[cfg(feature = "std")]
    pub fn write(&self, mut out: impl Write) -> io::Result<()>
    where
        H: Portable,
    {
        self.put(&mut |bytes| out.write_all(bytes))?;
        out.flush()
    }

    /// Returns the umbel file as bytes.
    pub fn to_bytes(&self) -> Vec<u8>
    where
        H: Portable,
    {
        let length = self.header().file_length().expect("there are fewer than 2⁶⁴");
        let mut bytes = Vec::with_capacity(length as usize);
        let Ok(()) = self.put::<Infallible>(&mut |more| {
            bytes.extend_from_slice(more);
            Ok(())
        });
        bytes
    }

    fn put<E>(&self, put: format::Put<'_, E>) -> Result<(), E> {
        format::put_parts(put, &self.header(), &mut self.blocks().map(cast::bytes))
    }

    /// As [`AnyFilter::file_part`](super::AnyFilter::file_part).
    #[cfg(feature = "std")]
    pub(crate) fn file_part(&self, offset: u64, most: usize) -> Vec<u8>
    where
        H: Portable,
    {
        let header = self.header();
        let length = header.file_length().expect("there are fewer than 2⁶⁴");
        let end = offset.saturating_add(most as u64).min(length);
        let (start, mut at, mut cut) = (offset.min(end), 0, Vec::new());
        let mut put = |bytes: &[u8]| {
            let within = |place: u64| place.saturating_sub(at).min(bytes.len() as u64) as usize;
            cut.extend_from_slice(&bytes[within(start)..within(end)]);
            at += bytes.len() as u64;
            Ok::<_, Infallible>(())
        };
        let blocks = self.blocks().map(cast::bytes);
        let Ok(()) = match end > header.payload().end as u64 {
            // The checksums are of all that comes before.
            true => self.put(&mut put),
            false => core::iter::once(header.bytes()).chain(blocks).try_for_each(put),
        };
        cut
    }

    pub(crate) fn header(&self) -> Header {
        let (plan, scheme) = (self.core.plan(), self.hasher.scheme());
        Header::new(plan, scheme, &self.description, &self.core.body().0, self.bytes())
    }

    /// The bytes of each part of a file of this kind; its fields are checked.
    pub(crate) fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        C::layout(header)
    }

    /// As [`layout`](Self::layout), of a file that must be of this kind.
    pub(crate) fn layout_of_kind(header: &Header) -> Result<Vec<u64>, FileError> {
        match header.kind()? {
            kind if kind == C::Plans::KIND => C::layout(header),
            found => Err(FileError::Kind { expected: C::Plans::KIND, found }),
        }
    }

    /// Makes the filter from a file whose header, kind and checksums were verified.
    pub(crate) fn open(opened: Opened<C::Storage, H>) -> Result<Self, FileError> {
        let Opened { header, hasher, description, parts } = opened;
        Ok(Self { core: C::open(&header, parts)?, hasher, description })
    }
}

impl<C: Core<Storage = Blocks>> Filter<C> {
    /// Reads a filter of this kind from `source`, which holds `length` bytes, checking every byte. The result behaves
    /// exactly as the filter that was written.
    ///
    /// # Errors
    /// As [`AnyFilter::read`](crate::AnyFilter::read); [`FileError::Kind`] if the file holds another kind.
    #[cfg(feature = "std")]
    pub fn read(source: impl Read, length: u64) -> Result<Self, FileError> {
        Self::read_with(source, length, None)
    }

    /// Like [`read`](Self::read), for a file that `unlock` opens: `Some(&secret)` for a keyed filter, or another
    /// [`Unlock`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[cfg(feature = "std")]
    pub fn read_with<U: Unlock>(
        mut source: impl Read,
        length: u64,
        unlock: U,
    ) -> Result<Filter<C, U::Hasher>, FileError> {
        let read = |admit: Admit<'_>| file::read(&mut source, length, &Self::layout_of_kind, admit);
        Filter::open(file::unlocked(unlock, read)?)
    }

    /// Like [`read`](Self::read), from an umbel file in memory, at any address. The bits are copied.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes_with(bytes, None)
    }

    /// Like [`from_bytes`](Self::from_bytes), for a file that `unlock` opens.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_bytes_with<U: Unlock>(
        bytes: &[u8],
        unlock: U,
    ) -> Result<Filter<C, U::Hasher>, FileError> {
        let copy = |admit: Admit<'_>| file::copy(bytes, &Self::layout_of_kind, admit);
        Filter::open(file::unlocked(unlock, copy)?)
    }
}

impl<C: MergeCore, H: Hashing> Filter<C, H> {
    pub(crate) fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &Filter<C::With<T>, impl Hashing>,
        how: Merge,
    ) -> Result<(), MergeError> {
        same_keys(self, other)?;
        self.core.merge(&other.core, how)?;
        // A description of one filter's keys need not hold for all.
        if self.description != other.description {
            self.description = KeyDescription::default();
        }
        Ok(())
    }
}

/// Checks that two filters hold keys of the same description, hashed alike.
pub(crate) fn same_keys<C, D>(
    left: &Filter<C, impl Hashing>,
    right: &Filter<D, impl Hashing>,
) -> Result<(), MergeError> {
    let [ours, theirs] = [left.hasher.scheme(), right.hasher.scheme()];
    if ours != theirs {
        return Err(MergeError::SchemesDiffer { left: ours, right: theirs });
    }
    let [ours, theirs] = [&left.description, &right.description];
    if ours != theirs && !ours.is_empty() && !theirs.is_empty() {
        return Err(MergeError::KeysDiffer);
    }
    Ok(())
}

/// Calls `each` with the hashes of keys, group by group, and with the range of the group in `keys`. Stops at the first
/// error. `prefetch` fetches the cache line of a hash, for a core that [has one](Core::PREFETCHES), unless it is `far`.
///
/// What is far is not fetched while keys are hashed, because hashing leaves too few lines in flight: of 64-byte keys in 126 MB a
/// look-up takes 9.3 ns that way and 7.3 in groups of 1,024 of which the batch fetches 128 ahead, 8.2 in groups of 512. In 13 MB
/// it takes 5.7 and 6.3.
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
        hashed::<{ 2 * GROUP }, _, _, _>(keys, hasher, each)
    }
}

/// What is done with a group of hashes, and its range among the keys.
type Each<'a, E> = dyn FnMut(Range<usize>, &[KeyHash]) -> Result<(), E> + 'a;

/// As [`by_group`], for any core, `N` keys at a time: compiled once for a type of keys.
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

/// As [`by_group`]; `prefetch` is called with every hash one group before `each`: cache lines arrive while the next keys are
/// hashed. Groups have [`AHEAD`] keys.
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
    for (turn, keys) in keys.chunks(AHEAD).enumerate() {
        for (to, key) in hashes[turn % 2].iter_mut().zip(keys) {
            *to = key.key_hash(hasher);
            prefetch(filter, *to);
        }
        let next = fetched.end..fetched.end + keys.len();
        if turn > 0 {
            each(filter, fetched, &hashes[1 - turn % 2])?;
        }
        fetched = next;
    }
    match fetched.len() {
        0 => Ok(()),
        count => each(filter, fetched.clone(), &hashes[fetched.start / AHEAD % 2][..count]),
    }
}

/// Calls `each` with the hashes of the keys of an iterator, [`GROUP`] at a time.
pub(crate) fn in_groups<K: Key<H>, H>(
    keys: impl IntoIterator<Item = K>,
    hasher: &H,
    mut each: impl FnMut(&[KeyHash]),
) {
    let mut keys = keys.into_iter();
    loop {
        let mut hashes = [KeyHash::default(); GROUP];
        let mut count = 0;
        for (to, key) in hashes.iter_mut().zip(keys.by_ref()) {
            *to = key.key_hash(hasher);
            count += 1;
        }
        each(&hashes[..count]);
        if count < GROUP {
            return;
        }
    }
}

impl<C: Core, H: Hashing> fmt::Debug for Filter<C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("plan", self.plan())
            .field("scheme", &self.hasher.scheme())
            .finish_non_exhaustive()
    }
}

/// Filters are equal if their files are: the same plan, scheme, description and bits, and for kinds that age, the same
/// age.
impl<C: Core, D: Core, H: Hashing, I: Hashing> PartialEq<Filter<D, I>> for Filter<C, H> {
    fn eq(&self, other: &Filter<D, I>) -> bool {
        self.header().bytes() == other.header().bytes() && self.blocks().eq(other.blocks())
    }
}

impl<C: Core, H: Hashing> Filter<C, H> {
    /// Returns its kind.
    pub fn kind(&self) -> crate::plan::Kind {
        C::Plans::KIND
    }
}
