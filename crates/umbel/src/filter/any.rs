//! A filter of whichever kind, as files hold them.

use std::io::{Read, Write};
use std::ops::Range;

use super::{
    Attributes, Blocked, Bloom, Bloomier, Cascade, Classic, Coded, Counting, FileLayout, Filter,
    Insert, Profile, Receipt, Remove, Scalable, Sliced, Stable, Window, attributes, bloom,
    bloomier, cascade, coded, counting, scalable, stable, window,
};
use crate::bits::{self, Block, Blocks, MappedBlocks, MappedFile};
use crate::format::Header;
use crate::hash::{KeyHash, KeyHasher, Scheme, Secret};
use crate::plan::{Kind, Plan};
use crate::{Error, format};

/// A filter of one of the kinds; the front ends work on this and know no kind by its insides.
#[derive(Clone)]
#[non_exhaustive]
pub enum AnyFilter<S = Blocks> {
    /// A blocked filter.
    Blocked(Blocked<S>),
    /// A classic filter.
    Classic(Classic<S>),
    /// A sliced filter.
    Sliced(Sliced<S>),
    /// A counting filter.
    Counting(Counting<S>),
    /// A scalable filter.
    Scalable(Scalable<S>),
    /// A window filter.
    Window(Window<S>),
    /// An attributes filter.
    Attributes(Attributes<S>),
    /// A coded filter.
    Coded(Coded<S>),
    /// A stable filter.
    Stable(Stable<S>),
    /// A bloomier filter or map.
    Bloomier(Bloomier<S>),
    /// A cascade, or a filter beside an exact list.
    Cascade(Cascade<S>),
}

impl AnyFilter {
    /// An empty filter of the plan's kind and size.
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// As [`Bloom::new`]; [`Error::Static`] of a kind that is [built at once](Kind::built_at_once);
    /// [`Error::NoAttributes`] of a kind of [rows](Kind::rows), which
    /// [`with_attributes`](Self::with_attributes) makes.
    pub fn new(plan: &Plan, hasher: KeyHasher) -> Result<Self, Error> {
        Ok(match plan.kind {
            Kind::Blocked => Self::Blocked(Bloom::new(plan, hasher)?),
            Kind::Classic => Self::Classic(Bloom::new(plan, hasher)?),
            Kind::Sliced => Self::Sliced(Bloom::new(plan, hasher)?),
            Kind::Counting => Self::Counting(Counting::new(plan, hasher)?),
            Kind::Scalable => Self::Scalable(Scalable::new(plan, hasher)?),
            Kind::Window => Self::Window(Window::new(plan, hasher)?),
            Kind::Attributes => return Err(Error::NoAttributes),
            Kind::Coded => Self::Coded(Coded::new(plan, hasher)?),
            Kind::Stable => Self::Stable(Stable::new(plan, hasher)?),
            kind @ (Kind::Bloomier | Kind::Cascade) => return Err(Error::Static(kind)),
        })
    }

    /// An empty filter of rows, with the names of their attributes. As [`Attributes::new`].
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// As there; [`Error::PlanKind`] for a plan of keys.
    pub fn with_attributes<N: AsRef<str>>(
        plan: &Plan,
        names: &[N],
        hasher: KeyHasher,
    ) -> Result<Self, Error> {
        Ok(Self::Attributes(Attributes::new(plan, names, hasher)?))
    }

    /// Reads a filter from `source`, which holds `length` bytes, checking every byte.
    ///
    /// The length is compared with what the header declares before anything is allocated, and both
    /// checksums before anything is believed. Any change to any bit is refused.
    ///
    /// # Errors
    /// [`Error::NotUmbel`], [`Error::Version`], [`Error::Length`], the damage variants,
    /// [`Error::Field`]; [`Error::SecretNeeded`] and its like when the filter is keyed;
    /// [`Error::Io`]. Never panics, for any input.
    pub fn read(source: impl Read, length: u64, secret: Option<&Secret>) -> Result<Self, Error> {
        Self::read_with(source, length, |scheme| KeyHasher::of(scheme, secret))
    }

    /// As [`read`](Self::read), but a keyed filter opens without its secret: for receipts and
    /// merges. Hashing a key with it then panics.
    ///
    /// # Errors
    /// As [`read`](Self::read), without those about secrets.
    pub fn read_sealed(source: impl Read, length: u64) -> Result<Self, Error> {
        Self::read_with(source, length, |scheme| Ok(KeyHasher::sealed(scheme)))
    }

    fn read_with(
        source: impl Read,
        length: u64,
        hasher: impl FnOnce(Scheme) -> Result<KeyHasher, Error>,
    ) -> Result<Self, Error> {
        let reader = format::Reader::new(source, length)?;
        let header = reader.header().clone();
        let hasher = hasher(header.scheme()?)?;
        let mut parts = Vec::new();
        for part in header.parts()? {
            parts.push(Blocks::zeroed(part.len() as u64 / bits::BLOCK_BYTES)?);
        }
        reader.read_parts(parts.iter_mut().map(|part| bytemuck::cast_slice_mut(&mut part[..])))?;
        Self::from_parts(&header, hasher, parts)
    }

    /// A filter of the plan that holds these keys: the way to make one of any kind. A cascade excludes none then: see
    /// [`Cascade::build`].
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`insert_batch`](Self::insert_batch); as [`Bloomier::build`].
    pub fn build(plan: &Plan, hasher: KeyHasher, hashes: &[KeyHash]) -> Result<Self, Error> {
        match plan.kind {
            Kind::Bloomier => {
                return Ok(Self::Bloomier(Bloomier::build(plan, hasher, hashes)?));
            }
            Kind::Cascade => {
                return Ok(Self::Cascade(Cascade::build_planned(plan, hasher, hashes, &[])?));
            }
            _ => {}
        }
        let mut filter = Self::new(plan, hasher)?;
        filter.insert_batch(hashes)?;
        Ok(filter)
    }

    /// The filter as one that takes keys.
    ///
    /// # Errors
    /// [`Error::Static`] of a kind that is built at once from all its keys, [`Error::Rows`] of one that takes
    /// rows.
    pub fn get_mut(&mut self) -> Result<&mut dyn Insert, Error> {
        Ok(match self {
            Self::Blocked(filter) => filter,
            Self::Classic(filter) => filter,
            Self::Sliced(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Scalable(filter) => filter,
            Self::Window(filter) => filter,
            Self::Attributes(filter) => return Err(filter.takes_rows()),
            Self::Coded(filter) => filter,
            Self::Stable(filter) => filter,
            Self::Bloomier(_) => return Err(Error::Static(Kind::Bloomier)),
            Self::Cascade(_) => return Err(Error::Static(Kind::Cascade)),
        })
    }

    /// Inserts a key; true when it was certainly new.
    ///
    /// # Errors
    /// As [`get_mut`](Self::get_mut) and [`Insert::insert_hash`].
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        let hash = self.hasher().hash(key);
        self.get_mut()?.insert_hash(hash)
    }

    /// Inserts many keys by their hashes.
    ///
    /// # Errors
    /// As [`get_mut`](Self::get_mut) and [`Insert::insert_batch`].
    pub fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Error> {
        self.get_mut()?.insert_batch(hashes)
    }

    /// Inserts many keys and tells which were certainly new.
    ///
    /// # Errors
    /// As [`get_mut`](Self::get_mut) and [`Insert::insert_batch_new`].
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn insert_batch_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Error> {
        self.get_mut()?.insert_batch_new(hashes, new)
    }

    /// The filter as one that keys can be taken out of.
    ///
    /// # Errors
    /// [`Error::CannotRemove`] of any kind but counting.
    pub fn get_remove(&mut self) -> Result<&mut dyn Remove, Error> {
        match self {
            Self::Counting(filter) => Ok(filter),
            other => Err(Error::CannotRemove(other.plan().kind)),
        }
    }

    /// Takes a key out; false when it is certainly not there, and nothing has changed. As
    /// [`Counting::remove`].
    ///
    /// # Errors
    /// As [`get_remove`](Self::get_remove).
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        let hash = self.hasher().hash(key);
        Ok(self.get_remove()?.remove_hash(hash))
    }

    /// Lets a filter that grows take at most `bytes` bytes; others stay as large as they are.
    pub fn set_limit(&mut self, bytes: u64) {
        if let Ok(filter) = self.get_mut() {
            filter.set_limit(bytes);
        }
    }

    /// Adds all keys of `other`. As [`Bloom::union`].
    ///
    /// # Errors
    /// As there; [`Error::NotMergeable`] when one is of a kind that does not merge, [`Error::KindsDiffer`].
    pub fn union(&mut self, other: &AnyFilter<impl AsRef<[Block]>>) -> Result<(), Error> {
        match (self, other) {
            (Self::Blocked(left), AnyFilter::Blocked(right)) => left.union(right),
            (Self::Classic(left), AnyFilter::Classic(right)) => left.union(right),
            (Self::Sliced(left), AnyFilter::Sliced(right)) => left.union(right),
            (Self::Attributes(left), AnyFilter::Attributes(right)) => left.union(right),
            (Self::Counting(left), AnyFilter::Counting(right)) => left.union(right),
            (left, right) => Err(cannot_join(left.plan().kind, right.plan().kind)),
        }
    }

    /// Keeps the keys that both hold. As [`Bloom::intersect`].
    ///
    /// # Errors
    /// As there; [`Error::NotMergeable`] when one is of a kind that does not merge, [`Error::KindsDiffer`].
    pub fn intersect(&mut self, other: &AnyFilter<impl AsRef<[Block]>>) -> Result<(), Error> {
        match (self, other) {
            (Self::Blocked(left), AnyFilter::Blocked(right)) => left.intersect(right),
            (Self::Classic(left), AnyFilter::Classic(right)) => left.intersect(right),
            (Self::Sliced(left), AnyFilter::Sliced(right)) => left.intersect(right),
            (Self::Attributes(left), AnyFilter::Attributes(right)) => left.intersect(right),
            (Self::Counting(left), AnyFilter::Counting(right)) => left.intersect(right),
            (left, right) => Err(cannot_join(left.plan().kind, right.plan().kind)),
        }
    }
}

/// Why filters of these kinds cannot be joined.
fn cannot_join(left: Kind, right: Kind) -> Error {
    let alone = [Kind::Scalable, Kind::Stable, Kind::Window, Kind::Coded];
    let never = |kind: &Kind| alone.contains(kind) || kind.built_at_once();
    match [left, right].into_iter().find(never) {
        Some(kind) => Error::NotMergeable(kind),
        None => Error::KindsDiffer { left, right },
    }
}

impl<'a> AnyFilter<&'a [Block]> {
    /// Borrows a filter from the bytes of an umbel file, such as a mapped one, without copying.
    ///
    /// Checks all that [`AnyFilter::read`] checks, at the cost of one pass over the bytes.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`Error::Misaligned`] when `bytes` does not start at a multiple of
    /// 64, as mapped files do.
    pub fn view(bytes: &'a [u8], secret: Option<&Secret>) -> Result<Self, Error> {
        let (header, payload) = format::check(bytes)?;
        let hasher = KeyHasher::of(header.scheme()?, secret)?;
        let blocks: &[Block] = bytemuck::try_cast_slice(payload).map_err(|_| Error::Misaligned)?;
        let start = header.payload().start;
        let of = |byte: usize| (byte - start) / bits::BLOCK_BYTES as usize;
        let part = |part: Range<usize>| &blocks[of(part.start)..of(part.end)];
        Self::from_parts(&header, hasher, header.parts()?.into_iter().map(part).collect())
    }
}

impl AnyFilter<MappedBlocks> {
    /// The filter in a mapped umbel file, queried where it is; the system keeps in memory what is used.
    ///
    /// Checks all that [`AnyFilter::read`] checks, at the cost of reading the file once.
    ///
    /// # Errors
    /// As [`AnyFilter::read`].
    pub fn map(file: &MappedFile, secret: Option<&Secret>) -> Result<Self, Error> {
        let (header, _) = format::check(file.bytes())?;
        let hasher = KeyHasher::of(header.scheme()?, secret)?;
        let part = |part| file.blocks(part).ok_or(Error::Misaligned);
        let parts = header.parts()?.into_iter().map(part).collect::<Result<_, _>>()?;
        Self::from_parts(&header, hasher, parts)
    }
}

impl<S: AsRef<[Block]>> AnyFilter<S> {
    /// Of a checked header and the blocks of each part that it tells of.
    fn from_parts(header: &Header, hasher: KeyHasher, mut parts: Vec<S>) -> Result<Self, Error> {
        let plan = header.plan()?;
        let mut only = || parts.pop().expect("one part");
        Ok(match plan.kind {
            Kind::Blocked => Self::Blocked(Bloom::from_parts(plan, hasher, only())?),
            Kind::Classic => Self::Classic(Bloom::from_parts(plan, hasher, only())?),
            Kind::Sliced => Self::Sliced(Bloom::from_parts(plan, hasher, only())?),
            Kind::Counting => Self::Counting(Counting::from_parts(plan, hasher, only())?),
            Kind::Scalable => Self::Scalable(Scalable::from_parts(header, hasher, parts)?),
            Kind::Window => Self::Window(Window::from_parts(header, hasher, only())?),
            Kind::Attributes => Self::Attributes(Attributes::from_parts(header, hasher, parts)?),
            Kind::Coded => Self::Coded(Coded::from_parts(plan, hasher, only())?),
            Kind::Stable => Self::Stable(Stable::from_parts(header, hasher, only())?),
            Kind::Bloomier => Self::Bloomier(Bloomier::from_parts(header, hasher, only())?),
            Kind::Cascade => Self::Cascade(Cascade::from_parts(header, hasher, parts)?),
        })
    }

    /// The filter of whatever kind.
    pub fn get(&self) -> &dyn Filter {
        match self {
            Self::Blocked(filter) => filter,
            Self::Classic(filter) => filter,
            Self::Sliced(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Scalable(filter) => filter,
            Self::Window(filter) => filter,
            Self::Attributes(filter) => filter,
            Self::Coded(filter) => filter,
            Self::Stable(filter) => filter,
            Self::Bloomier(filter) => filter,
            Self::Cascade(filter) => filter,
        }
    }

    /// Whether the key may have been inserted.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.get().contains_hash(self.hasher().hash(key))
    }

    /// Asks for many keys. As [`Filter::contains_batch`].
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.get().contains_batch(hashes, found);
    }

    /// The same keys in a filter of another kind: a counting filter gives a blocked one, as
    /// [`Counting::to_blocked`].
    ///
    /// # Errors
    /// [`Error::CannotConvert`]; [`Error::OutOfMemory`].
    pub fn convert(&self, to: Kind) -> Result<AnyFilter, Error> {
        match (self, to) {
            (Self::Counting(filter), Kind::Blocked) => Ok(AnyFilter::Blocked(filter.to_blocked()?)),
            (other, to) => Err(Error::CannotConvert { from: other.plan().kind, to }),
        }
    }

    /// What it was planned for. Of a scalable filter the first link, and the rate of all.
    pub fn plan(&self) -> &Plan {
        self.get().plan()
    }

    /// Bytes of its payload: of a filter made of parts, of all of them.
    pub fn bytes(&self) -> u64 {
        self.get().bytes()
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        self.get().hasher()
    }

    /// What it really delivers now.
    pub fn receipt(&self) -> Receipt {
        self.get().receipt()
    }

    /// How full its blocks are, along the file in `stretches` stretches. One pass over them.
    pub fn profile(&self, stretches: usize) -> Profile {
        Profile::of(self, stretches)
    }

    /// Writes it as an umbel file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl Write) -> Result<(), Error> {
        self.get().write_to(&mut out)
    }
}

/// What the header of a file tells of its payload, by its kind.
pub(crate) fn file_layout(header: &Header) -> Result<FileLayout, Error> {
    match header.kind()? {
        Kind::Blocked | Kind::Classic | Kind::Sliced => bloom::file_layout(header),
        Kind::Counting => counting::file_layout(header),
        Kind::Scalable => scalable::file_layout(header),
        Kind::Window => window::file_layout(header),
        Kind::Attributes => attributes::file_layout(header),
        Kind::Coded => coded::file_layout(header),
        Kind::Stable => stable::file_layout(header),
        Kind::Bloomier => bloomier::file_layout(header),
        Kind::Cascade => cascade::file_layout(header),
    }
}

impl<S: AsRef<[Block]>> std::fmt::Debug for AnyFilter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocked(filter) => filter.fmt(f),
            Self::Classic(filter) => filter.fmt(f),
            Self::Sliced(filter) => filter.fmt(f),
            Self::Counting(filter) => filter.fmt(f),
            Self::Scalable(filter) => filter.fmt(f),
            Self::Window(filter) => filter.fmt(f),
            Self::Attributes(filter) => filter.fmt(f),
            Self::Coded(filter) => filter.fmt(f),
            Self::Stable(filter) => filter.fmt(f),
            Self::Bloomier(filter) => filter.fmt(f),
            Self::Cascade(filter) => filter.fmt(f),
        }
    }
}

/// Filters of one kind out of any.
macro_rules! try_from {
    ($($kind:ident),*) => {$(
        impl TryFrom<AnyFilter> for $kind {
            type Error = Error;

            fn try_from(any: AnyFilter) -> Result<Self, Error> {
                match any {
                    AnyFilter::$kind(filter) => Ok(filter),
                    other => Err(Error::PlanKind { expected: Kind::$kind, found: other.plan().kind }),
                }
            }
        }
    )*};
}

try_from!(
    Blocked, Classic, Sliced, Counting, Scalable, Stable, Window, Bloomier, Attributes, Coded,
    Cascade
);
