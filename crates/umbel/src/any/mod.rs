//! Filters whose kind is known only at run time, as in files.

#[cfg(feature = "std")]
use std::io::Read;

#[cfg(feature = "mmap")]
mod lazy;
#[cfg(feature = "std")]
mod load;
#[cfg(feature = "serde")]
mod serde;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
mod shared;

#[cfg(feature = "mmap")]
pub use lazy::LazyFilter;
#[cfg(feature = "std")]
pub use load::Loader;
#[cfg(all(feature = "mmap", target_has_atomic = "64"))]
pub use shared::SharedFile;

#[cfg(feature = "mmap")]
use crate::bits::{MappedBlocks, MappedFile};
use crate::filter::RowError;
use crate::filter::file::{Declared, Opened};
use crate::kinds::attributes::Attributes;
use crate::kinds::counting::Counting;
use crate::kinds::prelude::*;

macro_rules! any {
    ([] $($(#[$about:meta])* $name:ident = $number:literal, $module:ident $({ $($fields:tt)* })?;)*) => {
        /// A filter of any kind, as [`read`](Self::read) finds it in a file. The front ends work on this type. It has
        /// the methods that all kinds share; methods that only some kinds have return an error for the others.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyFilter<H: Hashing = KeyHasher, S: AsRef<[Block]> = Blocks> {
            $($(#[$about])* $name(crate::$name<H, S>),)*
        }
    };
}

for_kinds!(any![]);

/// Runs `$does` with a filter of any kind as `$filter`.
macro_rules! of_any {
    ([($any:expr) $filter:ident ($does:expr)] $($name:ident $module:ident)*) => {
        match $any {
            $(AnyFilter::$name($filter) => $does,)*
        }
    };
    ($any:expr, $filter:ident => $does:expr) => {
        for_each_kind!(of_any![($any) $filter ($does)])
    };
}
#[cfg(feature = "mmap")]
pub(crate) use of_any;

/// Makes a filter of the same kind from `$makes`.
macro_rules! each_of_any {
    ([($any:expr) $filter:ident ($makes:expr)] $($name:ident $module:ident)*) => {
        match $any {
            $(AnyFilter::$name($filter) => AnyFilter::$name(crate::$name($makes)),)*
        }
    };
}

/// Makes a filter of kind `$kind` from `$makes`.
macro_rules! any_of {
    ([($kind:expr) ($makes:expr)] $($name:ident $module:ident)*) => {
        match $kind {
            $(Kind::$name => AnyFilter::$name(crate::$name($makes)),)*
        }
    };
    ($kind:expr, $makes:expr) => {
        for_each_kind!(any_of![($kind)($makes)])
    };
}

/// Runs `$does` with two filters of one kind, `$else` if the kinds differ.
macro_rules! of_both {
    ([($left:expr, $right:expr) $one:ident $other:ident ($does:expr) ($else:expr)] $($name:ident $module:ident)*) => {
        match ($left, $right) {
            $((AnyFilter::$name($one), AnyFilter::$name($other)) => $does,)*
            _ => $else,
        }
    };
    ($left:expr, $right:expr, |$one:ident, $other:ident| $does:expr, else $else:expr) => {
        for_each_kind!(of_both![($left, $right) $one $other ($does) ($else)])
    };
}

impl<H: Hashing> AnyFilter<H> {
    /// Makes an empty filter of the plan's kind and size. For untrusted keys, use [`KeyHasher::random`] or
    /// [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// As [`Blocked::with_plan`](crate::Blocked::with_plan); [`PlanError::BuiltAtOnce`] for a kind that is
    /// [built at once](Kind::built_at_once); [`PlanError::Unnamed`] for [`Kind::Attributes`], whose filters
    /// [`Attributes::with_names`] makes.
    pub fn with_plan(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
        Ok(any_of!(plan.kind(), Hashed::make(plan, hasher)?))
    }

    /// Builds a filter of any kind from its keys. A cascade built this way excludes no keys: see
    /// [`Cascade::build`](crate::Cascade::build). For untrusted keys, see [`with_plan`](Self::with_plan).
    ///
    /// # Errors
    /// As [`with_plan`](Self::with_plan), [`try_insert_all`](Self::try_insert_all) and
    /// [`Bloomier::build`](crate::Bloomier::build).
    pub fn build<K: Key<H>>(plan: &Plan, keys: &[K], hasher: H) -> Result<Self, BuildError> {
        Ok(any_of!(plan.kind(), Hashed::build(plan, keys, hasher)?))
    }

    /// Inserts many keys in order, with overlapping cache misses.
    ///
    /// # Errors
    /// As [`try_insert`](crate::Insert::try_insert). Only the keys before the refused one are in the filter then.
    pub fn try_insert_all<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), InsertError> {
        self.check_inserts()?;
        of_any!(self, filter => Ok(filter.0.insert_keys(keys)?))
    }

    /// Like [`try_insert_all`](Self::try_insert_all), with the same errors, and sets `new[i]` to what
    /// [`try_insert`](crate::Insert::try_insert) returns for `keys[i]`; false from the refused key on. Panics if the slices
    /// differ in length.
    pub fn try_insert_all_new<K: Key<H>>(
        &mut self,
        keys: &[K],
        new: &mut [bool],
    ) -> Result<(), InsertError> {
        self.check_inserts()?;
        of_any!(self, filter => Ok(filter.0.insert_keys_new(keys, new)?))
    }

    /// Returns [`InsertError::BuiltAtOnce`] or [`InsertError::Rows`] if the filter accepts no single keys.
    #[doc(hidden)]
    pub fn check_inserts(&self) -> Result<(), InsertError> {
        of_any!(self, filter => filter.0.core.check_inserts())
    }

    /// Returns the counting filter, from which keys can be removed; [`InsertError::CannotRemove`] for other kinds.
    #[doc(hidden)]
    pub fn as_counting_mut(&mut self) -> Result<&mut Counting<H>, InsertError> {
        match self {
            Self::Counting(filter) => Ok(filter),
            other => Err(InsertError::CannotRemove(other.kind())),
        }
    }

    /// Forgets all keys.
    ///
    /// # Errors
    /// [`InsertError::BuiltAtOnce`] for kinds that are built at once.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        if self.kind().built_at_once() {
            return Err(InsertError::BuiltAtOnce(self.kind()));
        }
        of_any!(self, filter => filter.0.core.clear());
        Ok(())
    }

    /// Limits a scalable filter to `bytes` bytes; other kinds keep their size.
    #[doc(hidden)]
    pub fn set_limit(&mut self, bytes: u64) {
        if let Self::Scalable(filter) = self {
            filter.set_limit(bytes);
        }
    }

    /// Adds all keys of `other`; see [`Blocked::union`](crate::Blocked::union).
    ///
    /// # Errors
    /// As [`Blocked::union`](crate::Blocked::union); [`MergeError::NotMergeable`] for kinds that do not merge;
    /// [`MergeError::KindsDiffer`].
    pub fn union(
        &mut self,
        other: &AnyFilter<impl Hashing, impl AsRef<[Block]>>,
    ) -> Result<(), MergeError> {
        self.merge(other, Merge::Union)
    }

    /// Like [`union`](Self::union), with the same errors, but folds the larger filter; see
    /// [`Blocked::union_folding`](crate::Blocked::union_folding).
    pub fn union_folding(
        &mut self,
        other: &AnyFilter<impl Hashing, impl AsRef<[Block]>>,
    ) -> Result<(), MergeError> {
        self.merge(other, Merge::UnionFolding)
    }

    /// Keeps the keys that both filters hold, with the errors of [`union`](Self::union); see
    /// [`Blocked::intersect`](crate::Blocked::intersect).
    pub fn intersect(
        &mut self,
        other: &AnyFilter<impl Hashing, impl AsRef<[Block]>>,
    ) -> Result<(), MergeError> {
        self.merge(other, Merge::Intersection)
    }

    /// Folds a filter that turned out too large, as [`Blocked::shrink_to`](crate::Blocked::shrink_to) does, with room
    /// for `keys` keys, or for its estimated keys if these are certainly more.
    ///
    /// # Errors
    /// [`MergeError::NotFolding`]; [`MergeError::OutOfMemory`].
    #[doc(hidden)]
    pub fn shrink_to(&mut self, keys: u64) -> Result<(), MergeError> {
        let held = self.receipt().keys;
        let keys = if (keys as f64) < held.low { held.value.ceil() as u64 } else { keys };
        match self {
            Self::Blocked(filter) => filter.shrink_to(keys),
            Self::Classic(filter) => filter.shrink_to(keys),
            Self::Sliced(filter) => filter.shrink_to(keys),
            Self::Counting(filter) => filter.shrink_to(keys),
            other => Err(MergeError::NotFolding(other.kind())),
        }
    }

    fn merge(
        &mut self,
        other: &AnyFilter<impl Hashing, impl AsRef<[Block]>>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let [left, right] = [self.kind(), other.kind()];
        if let Some(kind) = [left, right].into_iter().find(|kind| kind.unmerged().is_some()) {
            return Err(MergeError::NotMergeable(kind));
        }
        of_both!(
            self, other, |filter, other| filter.0.merge(&other.0, how),
            else Err(MergeError::KindsDiffer(left, right))
        )
    }
}

impl AnyFilter {
    /// Reads a filter from `source`, which holds `length` bytes. Compares the length with the header before allocating,
    /// and verifies both checksums before using the content, so any changed bit is refused.
    ///
    /// # Errors
    /// A [`FileError`] that names the damage; [`FileError::Scheme`] for a keyed filter, or one of hashes computed by
    /// its caller: use [`read_with`](Self::read_with). Never panics, for any input.
    #[cfg(feature = "std")]
    pub fn read(source: impl Read, length: u64) -> Result<Self, FileError> {
        Self::read_with(source, length, None)
    }

    /// Like [`read`](Self::read), with the same errors, from an umbel file in memory, at any address. Copies the bits.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes_with(bytes, None)
    }

    /// Reads an umbel file that arrives in pieces.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    pub fn loader() -> Loader {
        Self::loader_with(None)
    }

    /// Like [`loader`](Self::loader), for a file that `unlock` opens.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    pub fn loader_with<U: Unlock>(unlock: U) -> Loader<U> {
        Loader::new(unlock)
    }
}

impl<H: Hashing> AnyFilter<H> {
    /// Like [`read`](Self::read), for a file that `unlock` opens: `Some(&secret)` for a keyed filter, or another
    /// [`Unlock`].
    ///
    /// # Errors
    /// As [`read`](Self::read); [`FileError::Scheme`] if `unlock` does not fit the file.
    #[cfg(feature = "std")]
    pub fn read_with(
        mut source: impl Read,
        length: u64,
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<Self, FileError> {
        Self::open(crate::filter::file::read(&mut source, length, layout, unlock)?)
    }

    /// Like [`from_bytes`](Self::from_bytes), for a file that `unlock` opens; the errors are as in
    /// [`read_with`](Self::read_with).
    pub fn from_bytes_with(
        bytes: &[u8],
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<Self, FileError> {
        let declared = Declared::in_bytes(bytes, layout)?;
        Self::open(declared.open(unlock, |declared| declared.copy(bytes))?)
    }
}

impl<'a> AnyFilter<KeyHasher, &'a [Block]> {
    /// Borrows a filter from the bytes of an umbel file without copying. Checks as [`AnyFilter::read`] does, in one
    /// pass.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`FileError::Misaligned`] if `bytes` does not start at a multiple of 64, as mapped files
    /// do.
    pub fn view(bytes: &'a [u8]) -> Result<Self, FileError> {
        Self::view_with(bytes, None)
    }
}

impl<'a, H: Hashing> AnyFilter<H, &'a [Block]> {
    /// Like [`view`](Self::view), for a file that `unlock` opens; may also fail as [`AnyFilter::read_with`].
    pub fn view_with(bytes: &'a [u8], unlock: impl Unlock<Hasher = H>) -> Result<Self, FileError> {
        let declared = Declared::in_bytes(bytes, layout)?;
        Self::open(declared.open(unlock, |declared| declared.view(bytes))?)
    }
}

#[cfg(feature = "mmap")]
impl AnyFilter<KeyHasher, MappedBlocks> {
    /// Opens the filter in a mapped umbel file and queries it in place: the system keeps only the used pages in memory.
    /// Reads the file once, with the checks and errors of [`AnyFilter::read`]; [`map_lazily`](Self::map_lazily) avoids
    /// that pass.
    pub fn map(file: &MappedFile) -> Result<Self, FileError> {
        Self::map_with(file, None)
    }
}

#[cfg(feature = "mmap")]
impl<H: Hashing> AnyFilter<H, MappedBlocks> {
    /// Like [`map`](Self::map), for a file that `unlock` opens; the errors are as in [`AnyFilter::read_with`].
    pub fn map_with(file: &MappedFile, unlock: impl Unlock<Hasher = H>) -> Result<Self, FileError> {
        file.reads_in_order();
        let opened = Declared::in_bytes(file.bytes(), layout)?.open(unlock, |declared| {
            crate::format::payload_of(&declared.header, file.bytes())?;
            declared.map(file)
        })?;
        let filter = Self::open(opened)?;
        file.reads_anywhere();
        Ok(filter)
    }
}

impl<H: Hashing, S: AsRef<[Block]>> AnyFilter<H, S> {
    pub(crate) fn open(opened: Opened<S, H>) -> Result<Self, FileError> {
        Ok(any_of!(opened.header.kind()?, Hashed::open(opened)?))
    }

    /// Returns whether a key may have been inserted; see [`Blocked::contains`](crate::Blocked::contains).
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> bool {
        match self {
            Self::Blocked(filter) => filter.contains(key),
            other => other.contains_hashed(key.key_hash(other.hasher())),
        }
    }

    /// Compiled here, and not wherever a filter is queried.
    #[inline(never)]
    pub(super) fn contains_hashed(&self, hash: KeyHash) -> bool {
        of_any!(self, filter => filter.0.core.contains(hash))
    }

    /// Looks up many keys; see [`Blocked::contains_all`](crate::Blocked::contains_all). Panics if the slices differ in
    /// length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
        of_any!(self, filter => filter.contains_all(keys, found));
    }

    /// Converts a counting filter, as [`Counting::to_blocked`], or a scalable one that has not grown, to a blocked
    /// filter of the same keys.
    ///
    /// # Errors
    /// [`MergeError::CannotConvert`]; [`MergeError::Grown`] for a scalable filter that has grown;
    /// [`MergeError::OutOfMemory`].
    #[doc(hidden)]
    pub fn convert(&self, to: Kind) -> Result<AnyFilter<H>, MergeError> {
        match (self, to) {
            (Self::Counting(filter), Kind::Blocked) => Ok(AnyFilter::Blocked(filter.to_blocked()?)),
            (Self::Scalable(filter), Kind::Blocked) => Ok(AnyFilter::Blocked(filter.first_link()?)),
            (other, to) => Err(MergeError::CannotConvert(other.kind(), to)),
        }
    }

    /// Returns the filter of rows; [`RowError::NoAttributes`] for a filter of single keys.
    #[doc(hidden)]
    pub fn as_attributes(&self) -> Result<&Attributes<H, S>, RowError> {
        match self {
            Self::Attributes(filter) => Ok(filter),
            _ => Err(RowError::NoAttributes),
        }
    }

    /// Copies the filter; the copy owns its bits. Fails if memory cannot be allocated, where [`Clone`] panics.
    pub fn try_clone(&self) -> Result<AnyFilter<H>, OutOfMemory> {
        Ok(for_each_kind!(each_of_any![(self) filter (filter.0.try_clone()?)]))
    }

    /// Returns the length of its umbel file in bytes.
    #[doc(hidden)]
    pub fn file_length(&self) -> u64
    where
        H: Portable,
    {
        self.body().header().whole_length()
    }

    /// Returns at most `most` bytes of its umbel file from `offset` on; none past the end.
    ///
    /// Copies the bytes; for the checksums at the end, one pass over all bits. If the filter changes between two parts,
    /// the checksums reveal it.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    pub fn file_part(&self, offset: u64, most: usize) -> Vec<u8>
    where
        H: Portable,
    {
        self.body().file_part(offset, most)
    }

    /// Estimates what the sets of two filters of one kind share; see [`Blocked::compare`](crate::Blocked::compare).
    /// Counting filters are compared as the blocked filters they convert to.
    ///
    /// # Errors
    /// As [`Blocked::compare`](crate::Blocked::compare); [`MergeError::NotComparable`] for kinds whose bits do not
    /// reveal what sets share; [`MergeError::KindsDiffer`].
    pub fn compare(
        &self,
        other: &AnyFilter<impl Hashing, impl AsRef<[Block]>>,
    ) -> Result<Comparison, MergeError> {
        let [left, right] = [self.kind(), other.kind()];
        match (self, other) {
            (Self::Counting(one), AnyFilter::Blocked(other)) => one.to_blocked()?.compare(other),
            (Self::Blocked(one), AnyFilter::Counting(other)) => one.compare(&other.to_blocked()?),
            _ => of_both!(self, other, |one, other| one.0.compare(&other.0), else {
                let unlike = |kind: &Kind| !kind.plain() && *kind != Kind::Counting;
                Err(match [left, right].into_iter().find(unlike) {
                    Some(kind) => MergeError::NotComparable(kind),
                    None => MergeError::KindsDiffer(left, right),
                })
            }),
        }
    }
}

impl<H: Hashing, S: AsRef<[Block]>> sealed::Body<H> for AnyFilter<H, S> {
    fn own_hasher(&self) -> &H {
        of_any!(self, filter => &filter.0.hasher)
    }

    fn body(&self) -> &dyn Erased {
        of_any!(self, filter => &filter.0)
    }

    fn body_mut(&mut self) -> &mut dyn Erased {
        of_any!(self, filter => &mut filter.0)
    }
}

impl<H: Hashing> sealed::Filling for AnyFilter<H> {
    fn fill(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
        of_any!(self, filter => Ok(filter.0.core.insert(hash)?))
    }
}

/// The bytes of each part of a file, by its kind.
pub(super) fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
    of_kind!(header.kind()?, One, P => One::<KeyHasher, &[Block]>::layout(header))
}

/// Filters are equal if their files are, and so of one kind.
impl<H: Hashing, S: AsRef<[Block]>, I: Hashing, T: AsRef<[Block]>> PartialEq<AnyFilter<I, T>>
    for AnyFilter<H, S>
{
    fn eq(&self, other: &AnyFilter<I, T>) -> bool {
        let (left, right) = (self.body(), other.body());
        left.header().bytes() == right.header().bytes() && left.blocks() == right.blocks()
    }
}

#[cfg(feature = "std")]
impl<H: Hashing> AnyFilter<H> {
    /// Lets several threads insert a part of the keys each, for keys that are not in a slice; otherwise like
    /// [`insert_all_on`](crate::Blocked::insert_all_on). `insert(filter, part, parts)` inserts part number `part`, from
    /// 0, of `parts`. Blocked, classic and sliced filters have parts; other kinds get all keys as one.
    ///
    /// # Errors
    /// The errors of `insert`. Keys of other parts may then be missing.
    #[doc(hidden)]
    pub fn insert_in_parts<E: Send>(
        &mut self,
        threads: core::num::NonZero<usize>,
        keys: usize,
        insert: impl Fn(&mut Self, usize, usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let threads = if self.kind().plain() { threads } else { core::num::NonZero::<usize>::MIN };
        let empty = |filter: &Self| {
            let mut copy = Self::with_plan(filter.plan(), filter.hasher().clone()).ok()?;
            copy.describe(filter.description().clone());
            Some(copy)
        };
        let merge = |filter: &mut Self, copy: &Self| {
            filter.union(copy).expect("filters of one plan merge");
        };
        crate::filter::parallel::in_parts(self, (self.bytes(), keys, threads), empty, insert, merge)
    }
}
