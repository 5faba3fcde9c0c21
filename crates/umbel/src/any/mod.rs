//! A filter whose kind is known only at run time, as files hold them.

use core::fmt;
#[cfg(feature = "std")]
use core::num::NonZero;
#[cfg(feature = "std")]
use std::io::{self, Read, Write};

#[cfg(feature = "mmap")]
mod lazy;
#[cfg(feature = "std")]
mod load;
#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "mmap")]
pub use lazy::LazyFilter;
#[cfg(feature = "std")]
pub use load::Loader;

use crate::bits::{Block, Blocks};
#[cfg(feature = "mmap")]
use crate::bits::{MappedBlocks, MappedFile};
use crate::error::OutOfMemory;
#[cfg(doc)]
use crate::filter::Filter;
use crate::filter::core::Core;
use crate::filter::file::{self, Opened};
#[cfg(feature = "std")]
use crate::filter::parallel::in_parts;
use crate::filter::{BuildError, Comparison, InsertError, MergeError, Names, Receipt, RowError};
#[cfg(feature = "mmap")]
use crate::format;
use crate::format::{FileError, Header, KeyDescription};
use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Portable, Unlock};
use crate::kinds::attributes::Attributes;
use crate::kinds::blocked::{self, Blocked};
use crate::kinds::bloomier::Bloomier;
use crate::kinds::cascade::Cascade;
use crate::kinds::classic::{self, Classic};
use crate::kinds::coded::Coded;
use crate::kinds::counting::{self, Counting};
use crate::kinds::scalable::Scalable;
use crate::kinds::sliced::{self, Sliced};
use crate::kinds::spread;
use crate::kinds::stable::Stable;
use crate::kinds::window::Window;
use crate::plan::{Kind, Plan, PlanError};
use crate::prelude::*;

macro_rules! any {
    ([] $($(#[$about:meta])* $name:ident = $number:literal, $module:ident $({ $($fields:tt)* })?;)*) => {
        /// A filter of any kind: what [`read`](Self::read) finds in a file. The front ends work on this type.
        ///
        /// It has the methods that all kinds share. Those that only some kinds have return a `Result`, with an error for the
        /// others.
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum AnyFilter<S = Blocks, H = KeyHasher> {
            $($(#[$about])* $name(crate::$name<S, H>),)*
        }

        $(
            impl<S: AsRef<[Block]>, H: Hashing> TryFrom<AnyFilter<S, H>> for crate::$name<S, H> {
                type Error = FileError;

                fn try_from(any: AnyFilter<S, H>) -> Result<Self, FileError> {
                    match any {
                        AnyFilter::$name(filter) => Ok(filter),
                        other => Err(FileError::Kind { expected: Kind::$name, found: other.kind() }),
                    }
                }
            }

            impl<S, H> From<crate::$name<S, H>> for AnyFilter<S, H> {
                fn from(filter: crate::$name<S, H>) -> Self {
                    Self::$name(filter)
                }
            }
        )*
    };
}

for_kinds!(any![]);

/// Runs `$does` with a filter of any kind as `$filter`.
macro_rules! of_any {
    ($any:expr, $filter:ident => $does:expr) => {
        for_kinds!(of_any_kind![($any) $filter ($does)])
    };
}
#[cfg(feature = "mmap")]
pub(crate) use of_any;

macro_rules! of_any_kind {
    (
        [($any:expr) $filter:ident ($does:expr)]
        $($(#[$about:meta])* $name:ident = $number:literal, $module:ident $({ $($fields:tt)* })?;)*
    ) => {
        match $any {
            $(AnyFilter::$name($filter) => $does,)*
        }
    };
}
#[cfg(feature = "mmap")]
pub(crate) use of_any_kind;

/// Calls a method of a filter of any kind that accepts single keys, `$insert` or its twin of kinds that can be full; the
/// other kinds return an error.
macro_rules! of_inserting {
    ($any:expr, $insert:ident or $try_insert:ident $arguments:tt) => {
        match $any {
            AnyFilter::Blocked(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Classic(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Sliced(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Counting(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Window(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Stable(filter) => Ok(filter.$insert $arguments),
            AnyFilter::Scalable(filter) => Ok(filter.$try_insert $arguments?),
            AnyFilter::Coded(filter) => Ok(filter.$try_insert $arguments?),
            other @ (AnyFilter::Attributes(_) | AnyFilter::Bloomier(_) | AnyFilter::Cascade(_)) => {
                Err(other.check_inserts().expect_err("these take no single keys"))
            }
        }
    };
}

/// Combines two filters of one kind.
macro_rules! of_mergeable {
    ($left:expr, $right:expr, $method:ident) => {
        match ($left, $right) {
            (AnyFilter::Blocked(left), AnyFilter::Blocked(right)) => left.$method(right),
            (AnyFilter::Classic(left), AnyFilter::Classic(right)) => left.$method(right),
            (AnyFilter::Sliced(left), AnyFilter::Sliced(right)) => left.$method(right),
            (AnyFilter::Attributes(left), AnyFilter::Attributes(right)) => left.$method(right),
            (AnyFilter::Counting(left), AnyFilter::Counting(right)) => left.$method(right),
            (left, right) => Err(cannot_merge(left.kind(), right.kind())),
        }
    };
}

impl<H: Hashing> AnyFilter<Blocks, H> {
    /// Makes an empty filter of the plan's kind and size.
    ///
    /// For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// As [`Filter::with_plan`]; [`PlanError::BuiltAtOnce`] for a kind that is [built at once](Kind::built_at_once);
    /// [`PlanError::Unnamed`] for a kind of [rows](Kind::rows), which [`Attributes::with_names`] makes.
    pub fn with_plan(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
        Ok(match plan.kind() {
            Kind::Blocked => Self::Blocked(Blocked::with_plan(plan, hasher)?),
            Kind::Classic => Self::Classic(Classic::with_plan(plan, hasher)?),
            Kind::Sliced => Self::Sliced(Sliced::with_plan(plan, hasher)?),
            Kind::Counting => Self::Counting(Counting::with_plan(plan, hasher)?),
            Kind::Scalable => Self::Scalable(Scalable::with_plan(plan, hasher)?),
            Kind::Window => Self::Window(Window::with_plan(plan, hasher)?),
            Kind::Coded => Self::Coded(Coded::with_plan(plan, hasher)?),
            Kind::Stable => Self::Stable(Stable::with_plan(plan, hasher)?),
            Kind::Attributes => return Err(PlanError::Unnamed),
            kind @ (Kind::Bloomier | Kind::Cascade) => return Err(PlanError::BuiltAtOnce(kind)),
        })
    }

    /// Builds a filter of any kind from its keys. A cascade built this way excludes no keys: see
    /// [`Cascade::build`](Filter::build).
    ///
    /// For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// Those of [`with_plan`](Self::with_plan), [`try_insert_all`](Self::try_insert_all) and
    /// [`Bloomier::build`](Filter::build).
    pub fn build<K: Key<H>>(plan: &Plan, keys: &[K], hasher: H) -> Result<Self, BuildError> {
        match plan.kind() {
            Kind::Bloomier => return Ok(Self::Bloomier(Bloomier::build(plan, keys, hasher)?)),
            Kind::Cascade => {
                return Ok(Self::Cascade(Cascade::build_with_plan(
                    plan,
                    keys,
                    &[] as &[K],
                    hasher,
                )?));
            }
            _ => {}
        }
        let mut filter = Self::with_plan(plan, hasher)?;
        filter.try_insert_all(keys)?;
        Ok(filter)
    }

    /// Inserts a key; true if it was certainly new.
    ///
    /// # Errors
    /// [`InsertError::Full`] for kinds that can be full; [`InsertError::BuiltAtOnce`] and [`InsertError::Rows`] for kinds that accept no
    /// single keys. The filter is unchanged.
    #[inline]
    pub fn try_insert(&mut self, key: impl Key<H>) -> Result<bool, InsertError> {
        of_inserting!(self, insert or try_insert(key))
    }

    /// Inserts many keys in order, with overlapping cache misses.
    ///
    /// # Errors
    /// As [`try_insert`](Self::try_insert). The keys before the one that found no room are in the filter, the others are not.
    pub fn try_insert_all<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), InsertError> {
        of_inserting!(self, insert_all or try_insert_all(keys))
    }

    /// Like [`try_insert_all`](Self::try_insert_all), and `new[i]` becomes what [`try_insert`](Self::try_insert) returns
    /// for `keys[i]`; false from the key on that found no room.
    ///
    /// # Errors
    /// As [`try_insert_all`](Self::try_insert_all).
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn try_insert_all_new<K: Key<H>>(
        &mut self,
        keys: &[K],
        new: &mut [bool],
    ) -> Result<(), InsertError> {
        of_inserting!(self, insert_all_new or try_insert_all_new(keys, new))
    }

    /// Checks that the filter accepts single keys, before any key is at hand.
    ///
    /// # Errors
    /// [`InsertError::BuiltAtOnce`] or [`InsertError::Rows`] if it does not.
    pub fn check_inserts(&self) -> Result<(), InsertError> {
        match self {
            Self::Attributes(filter) => Err(InsertError::Rows { has: Names::of(filter.names()) }),
            Self::Bloomier(_) | Self::Cascade(_) => Err(InsertError::BuiltAtOnce(self.kind())),
            _ => Ok(()),
        }
    }

    /// Returns the filter as one that keys can be removed from.
    ///
    /// # Errors
    /// [`InsertError::CannotRemove`] for any kind but counting.
    pub fn as_counting_mut(&mut self) -> Result<&mut Counting<Blocks, H>, InsertError> {
        match self {
            Self::Counting(filter) => Ok(filter),
            other => Err(InsertError::CannotRemove(other.kind())),
        }
    }

    /// Forgets all keys.
    ///
    /// # Errors
    /// [`InsertError::BuiltAtOnce`] for a kind that is built at once.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        match self {
            Self::Blocked(filter) => filter.clear(),
            Self::Classic(filter) => filter.clear(),
            Self::Sliced(filter) => filter.clear(),
            Self::Counting(filter) => filter.clear(),
            Self::Scalable(filter) => filter.clear(),
            Self::Window(filter) => filter.clear(),
            Self::Attributes(filter) => filter.clear(),
            Self::Coded(filter) => filter.clear(),
            Self::Stable(filter) => filter.clear(),
            other @ (Self::Bloomier(_) | Self::Cascade(_)) => {
                return Err(InsertError::BuiltAtOnce(other.kind()));
            }
        }
        Ok(())
    }

    /// Limits a filter that grows to `bytes` bytes; other kinds keep their size.
    pub fn set_limit(&mut self, bytes: u64) {
        if let Self::Scalable(filter) = self {
            filter.set_limit(bytes);
        }
    }

    /// Adds all keys of `other`; see [`Filter::union`].
    ///
    /// # Errors
    /// As [`Filter::union`]; [`MergeError::NotMergeable`] if either is of a kind that does not merge;
    /// [`MergeError::KindsDiffer`].
    pub fn union(
        &mut self,
        other: &AnyFilter<impl AsRef<[Block]>, impl Hashing>,
    ) -> Result<(), MergeError> {
        of_mergeable!(self, other, union)
    }

    /// Like [`union`](Self::union), folding the larger filter; see [`Filter::union_folding`].
    ///
    /// # Errors
    /// As [`union`](Self::union).
    pub fn union_folding(
        &mut self,
        other: &AnyFilter<impl AsRef<[Block]>, impl Hashing>,
    ) -> Result<(), MergeError> {
        of_mergeable!(self, other, union_folding)
    }

    /// Keeps the keys that both filters hold; see [`Filter::intersect`].
    ///
    /// # Errors
    /// As [`union`](Self::union).
    pub fn intersect(
        &mut self,
        other: &AnyFilter<impl AsRef<[Block]>, impl Hashing>,
    ) -> Result<(), MergeError> {
        of_mergeable!(self, other, intersect)
    }

    /// Sets the description of its keys; see [`Filter::describe`].
    pub fn describe(&mut self, keys: KeyDescription) {
        of_any!(self, filter => filter.describe(keys));
    }
}

/// The reason why filters of these kinds cannot be merged.
fn cannot_merge(left: Kind, right: Kind) -> MergeError {
    let alone = [Kind::Scalable, Kind::Stable, Kind::Window, Kind::Coded];
    let never = |kind: &Kind| alone.contains(kind) || kind.built_at_once();
    match [left, right].into_iter().find(never) {
        Some(kind) => MergeError::NotMergeable(kind),
        None => MergeError::KindsDiffer { left, right },
    }
}

impl AnyFilter {
    /// Reads a filter from `source`, which holds `length` bytes, checking every byte.
    ///
    /// The length is compared with the header before anything is allocated, and both checksums are verified before
    /// anything is used. A change to any bit is refused.
    ///
    /// # Errors
    /// A [`FileError`] that says what is wrong with the file; [`FileError::Scheme`] if the filter is keyed, or of hashes
    /// that its caller computed: those are opened by [`read_with`](Self::read_with). Never panics, for any input.
    #[cfg(feature = "std")]
    pub fn read(source: impl Read, length: u64) -> Result<Self, FileError> {
        Self::read_with(source, length, None)
    }

    /// Like [`read`](Self::read), for a file that `unlock` opens: `Some(&secret)` for a keyed filter, or another
    /// [`Unlock`].
    ///
    /// # Errors
    /// As [`read`](Self::read); [`FileError::Scheme`] if `unlock` does not fit the file.
    #[cfg(feature = "std")]
    pub fn read_with<U: Unlock>(
        mut source: impl Read,
        length: u64,
        unlock: U,
    ) -> Result<AnyFilter<Blocks, U::Hasher>, FileError> {
        let read = |admit: file::Admit<'_>| file::read(&mut source, length, &layout, admit);
        AnyFilter::open(file::unlocked(unlock, read)?)
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
    /// As [`read_with`](Self::read_with).
    pub fn from_bytes_with<U: Unlock>(
        bytes: &[u8],
        unlock: U,
    ) -> Result<AnyFilter<Blocks, U::Hasher>, FileError> {
        AnyFilter::open(file::unlocked(unlock, |admit| file::copy(bytes, &layout, admit))?)
    }
}

#[cfg(feature = "std")]
impl AnyFilter {
    /// Reads an umbel file that arrives in pieces.
    pub fn loader() -> Loader {
        Self::loader_with(None)
    }

    /// Like [`loader`](Self::loader), for a file that `unlock` opens.
    pub fn loader_with<U: Unlock>(unlock: U) -> Loader<U> {
        Loader::new(unlock, layout)
    }
}

#[cfg(feature = "std")]
impl<U: Unlock> Loader<U> {
    /// Returns the filter, once all of its file has arrived.
    ///
    /// # Errors
    /// As [`AnyFilter::read`].
    pub fn finish(self) -> Result<AnyFilter<Blocks, U::Hasher>, FileError> {
        AnyFilter::open(self.finish_parts()?)
    }
}

impl<'a> AnyFilter<&'a [Block]> {
    /// Borrows a filter from the bytes of an umbel file, without copying.
    ///
    /// Makes the checks of [`AnyFilter::read`], in one pass over the bytes.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`FileError::Misaligned`] if `bytes` does not start at a multiple of 64, as a mapped
    /// file does.
    pub fn view(bytes: &'a [u8]) -> Result<Self, FileError> {
        Self::view_with(bytes, None)
    }

    /// Like [`view`](Self::view), for a file that `unlock` opens.
    ///
    /// # Errors
    /// As [`view`](Self::view) and [`AnyFilter::read_with`].
    pub fn view_with<U: Unlock>(
        bytes: &'a [u8],
        unlock: U,
    ) -> Result<AnyFilter<&'a [Block], U::Hasher>, FileError> {
        AnyFilter::open(file::unlocked(unlock, |admit| file::view(bytes, &layout, admit))?)
    }
}

#[cfg(feature = "mmap")]
impl AnyFilter<MappedBlocks> {
    /// Opens the filter in a mapped umbel file, and queries it in place: the system keeps in memory the pages that are
    /// used.
    ///
    /// Makes the checks of [`AnyFilter::read`], which reads the file once: [`map_lazily`](Self::map_lazily) does not.
    ///
    /// # Errors
    /// As [`AnyFilter::read`].
    pub fn map(file: &MappedFile) -> Result<Self, FileError> {
        Self::map_with(file, None)
    }

    /// Like [`map`](Self::map), for a file that `unlock` opens.
    ///
    /// # Errors
    /// As [`AnyFilter::read_with`].
    pub fn map_with<U: Unlock>(
        file: &MappedFile,
        unlock: U,
    ) -> Result<AnyFilter<MappedBlocks, U::Hasher>, FileError> {
        file.reads_in_order();
        let check = |header: &Header, bytes: &[u8]| format::payload_of(header, bytes).map(drop);
        let map = |admit: file::Admit<'_>| file::map(file, &check, &layout, admit);
        let opened = AnyFilter::open(file::unlocked(unlock, map)?)?;
        file.reads_anywhere();
        Ok(opened)
    }
}

impl<S: AsRef<[Block]>, H: Hashing> AnyFilter<S, H> {
    pub(crate) fn open(opened: Opened<S, H>) -> Result<Self, FileError> {
        Ok(of_kind!(opened.header.kind()?, One, P => One::<S, H>::open(opened)?.into()))
    }

    /// Returns whether a key may have been inserted; see [`Filter::contains`].
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> bool {
        match self {
            Self::Blocked(filter) => filter.contains(key),
            other => other.contains_hash(key.key_hash(other.hasher())),
        }
    }

    /// Compiled here, and not wherever a filter is asked.
    #[inline(never)]
    pub(super) fn contains_hash(&self, hash: KeyHash) -> bool {
        of_any!(self, filter => filter.core.contains(hash))
    }

    /// Looks up many keys; see [`Filter::contains_all`].
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
        of_any!(self, filter => filter.contains_all(keys, found));
    }

    /// Returns the bit positions of a key in a blocked, classic or sliced filter, or those of its counters in a counting one:
    /// as many as it has probes, possibly with repeats. `None` for other kinds.
    pub fn positions(&self, key: impl Key<H>) -> Option<Vec<u64>> {
        let (plan, hash) = (self.plan(), key.key_hash(self.hasher()));
        match plan.kind() {
            Kind::Blocked => Some(blocked::positions(plan, hash).collect()),
            Kind::Counting => Some(blocked::positions(&counting::part(plan), hash).collect()),
            Kind::Classic => Some(spread::positions::<classic::Plans>(plan, hash).collect()),
            Kind::Sliced => Some(spread::positions::<sliced::Plans>(plan, hash).collect()),
            _ => None,
        }
    }

    /// Converts to a filter of another kind that holds the same keys. A counting filter converts to a blocked one, as
    /// [`Counting::to_blocked`](Filter::to_blocked), and so does a scalable filter that has not grown.
    ///
    /// # Errors
    /// [`MergeError::CannotConvert`]; [`MergeError::Grown`] for a scalable filter that has grown;
    /// [`MergeError::OutOfMemory`].
    pub fn convert(&self, to: Kind) -> Result<AnyFilter<Blocks, H>, MergeError> {
        match (self, to) {
            (Self::Counting(filter), Kind::Blocked) => Ok(AnyFilter::Blocked(filter.to_blocked()?)),
            (Self::Scalable(filter), Kind::Blocked) => Ok(AnyFilter::Blocked(filter.first_link()?)),
            (other, to) => Err(MergeError::CannotConvert { from: other.kind(), to }),
        }
    }

    /// Returns the filter as one of rows, if it is one.
    ///
    /// # Errors
    /// [`RowError::NoAttributes`] for a filter of single keys.
    pub fn as_attributes(&self) -> Result<&Attributes<S, H>, RowError> {
        match self {
            Self::Attributes(filter) => Ok(filter),
            _ => Err(RowError::NoAttributes),
        }
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        self.plan().kind()
    }

    /// Returns its plan; see [`Filter::plan`].
    pub fn plan(&self) -> &Plan {
        of_any!(self, filter => filter.plan())
    }

    /// Returns the bytes of its bits, over all its parts.
    pub fn bytes(&self) -> u64 {
        of_any!(self, filter => filter.bytes())
    }

    /// Returns its hasher.
    pub fn hasher(&self) -> &H {
        of_any!(self, filter => filter.hasher())
    }

    /// Returns the description of its keys; see [`Filter::description`].
    pub fn description(&self) -> &KeyDescription {
        of_any!(self, filter => filter.description())
    }

    /// Estimates the number of different keys; see [`Filter::estimated_len`].
    pub fn estimated_len(&self) -> u64 {
        of_any!(self, filter => filter.estimated_len())
    }

    /// Returns whether it certainly holds no key.
    pub fn is_empty(&self) -> bool {
        of_any!(self, filter => filter.is_empty())
    }

    /// Computes what it delivers now; see [`Filter::receipt`].
    pub fn receipt(&self) -> Receipt {
        of_any!(self, filter => filter.receipt())
    }

    /// Copies the filter; the copy owns its bits.
    ///
    /// # Errors
    /// Where [`Clone`] would panic.
    pub fn try_clone(&self) -> Result<AnyFilter<Blocks, H>, OutOfMemory> {
        Ok(of_any!(self, filter => filter.try_clone()?.into()))
    }

    /// Writes it as an umbel file, front to back, without seeking; see [`Filter::write`].
    ///
    /// # Errors
    /// The errors of `out`.
    #[cfg(feature = "std")]
    pub fn write(&self, out: impl Write) -> io::Result<()>
    where
        H: Portable,
    {
        of_any!(self, filter => filter.write(out))
    }

    /// Returns the length of its umbel file in bytes.
    pub fn file_length(&self) -> u64
    where
        H: Portable,
    {
        self.header().file_length().expect("there are fewer than 2⁶⁴")
    }

    fn header(&self) -> Header {
        of_any!(self, filter => filter.header())
    }

    /// Returns its blocks of 64 bytes, in parts as in its file.
    pub fn blocks(&self) -> Vec<&[Block]> {
        of_any!(self, filter => filter.blocks().collect())
    }

    /// Returns at most `most` bytes of its umbel file from `offset` on; none past the end.
    ///
    /// Cost: copying the bytes; for the checksums at the end, one pass over all bits. If the filter changes between two
    /// parts, they do not fit together, and the checksums show it.
    #[cfg(feature = "std")]
    pub fn file_part(&self, offset: u64, most: usize) -> Vec<u8>
    where
        H: Portable,
    {
        of_any!(self, filter => filter.file_part(offset, most))
    }

    /// Returns the umbel file as bytes.
    pub fn to_bytes(&self) -> Vec<u8>
    where
        H: Portable,
    {
        of_any!(self, filter => filter.to_bytes())
    }
}

/// The bytes of each part of a file, by its kind.
pub(super) fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
    of_kind!(header.kind()?, One, P => One::<&[Block]>::layout(header))
}

impl<S: AsRef<[Block]>, H: Hashing> fmt::Debug for AnyFilter<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        of_any!(self, filter => filter.fmt(f))
    }
}

/// Compares as [`Filter`]s of one kind do; filters of different kinds are never equal.
impl<S: AsRef<[Block]>, T: AsRef<[Block]>, H: Hashing, I: Hashing> PartialEq<AnyFilter<T, I>>
    for AnyFilter<S, H>
{
    fn eq(&self, other: &AnyFilter<T, I>) -> bool {
        self.header().bytes() == other.header().bytes() && self.blocks() == other.blocks()
    }
}

impl<S: AsRef<[Block]>, H: Hashing> AnyFilter<S, H> {
    /// Estimates what the sets of two filters of one kind share; see [`Filter::compare`]. Counting filters are compared
    /// as the blocked ones that they convert to.
    ///
    /// # Errors
    /// As [`Filter::compare`]; [`MergeError::NotComparable`] if the bits of a kind do not reveal what its sets share;
    /// [`MergeError::KindsDiffer`].
    pub fn compare(
        &self,
        other: &AnyFilter<impl AsRef<[Block]>, impl Hashing>,
    ) -> Result<Comparison, MergeError> {
        match (self, other) {
            (Self::Blocked(left), AnyFilter::Blocked(right)) => left.compare(right),
            (Self::Classic(left), AnyFilter::Classic(right)) => left.compare(right),
            (Self::Sliced(left), AnyFilter::Sliced(right)) => left.compare(right),
            (Self::Counting(left), AnyFilter::Counting(right)) => {
                left.to_blocked()?.compare(&right.to_blocked()?)
            }
            (Self::Counting(left), AnyFilter::Blocked(right)) => left.to_blocked()?.compare(right),
            (Self::Blocked(left), AnyFilter::Counting(right)) => left.compare(&right.to_blocked()?),
            (left, right) => {
                let [left, right] = [left.kind(), right.kind()];
                let plain = [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting];
                Err(match [left, right].into_iter().find(|kind| !plain.contains(kind)) {
                    Some(kind) => MergeError::NotComparable(kind),
                    None => MergeError::KindsDiffer { left, right },
                })
            }
        }
    }
}

#[cfg(feature = "std")]
impl<H: Hashing> AnyFilter<Blocks, H> {
    /// Lets several threads insert a part of some keys each: `insert(filter, part, parts)` inserts the keys of the part
    /// with this number, from 0, of so many. For keys that are not in a slice; otherwise as
    /// [`insert_all_on`](Filter::insert_all_on).
    ///
    /// Blocked, classic and sliced filters have parts. To any other, all keys are inserted as one.
    ///
    /// # Errors
    /// Those of `insert`. Keys of other parts may then be missing.
    pub fn insert_in_parts<E: Send>(
        &mut self,
        threads: NonZero<usize>,
        keys: usize,
        insert: impl Fn(&mut Self, usize, usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let threads = match self {
            Self::Blocked(_) | Self::Classic(_) | Self::Sliced(_) => threads,
            _ => NonZero::<usize>::MIN,
        };
        let empty = |filter: &Self| {
            let mut copy = Self::with_plan(filter.plan(), filter.hasher().clone()).ok()?;
            copy.describe(filter.description().clone());
            Some(copy)
        };
        let merge = |filter: &mut Self, copy: &Self| {
            filter.union(copy).expect("filters of one plan merge");
        };
        in_parts(self, (self.bytes(), keys, threads), empty, insert, merge)
    }
}
