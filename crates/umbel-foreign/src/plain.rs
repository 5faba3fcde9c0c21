//! Filters of one array of bits, as in nearly all systems: a [`Layout`] defines a format's fields, hash and positions,
//! and [`Plain`] does the rest for all of them.

use std::fmt;
use std::io::Write;
use std::ops::Range;

use umbel::Fact;

use crate::bits::{self, Order};
use crate::error::differ;
use crate::measure::Measure;
use crate::receipt::sampled_rate;
use crate::{Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Parameters, Plan, Receipt};

/// The layout of a format's filters. Sealed.
///
/// A value holds the fields of one file.
pub trait Layout: sealed::Sealed + Clone + fmt::Debug + Send + Sync + 'static {
    /// The hash of a key; or the key itself, if every probe hashes it again.
    type Hash<'k>: Copy;
    /// The order of bits in the array.
    #[doc(hidden)]
    const ORDER: Order = Order::Bytes;

    /// Plans the file of an empty filter, by the system's own rules of sizes.
    #[doc(hidden)]
    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error>;
    /// Reads and checks the fields of a file. `given` has the parameters that a file without fields does not contain;
    /// most formats ignore it.
    #[doc(hidden)]
    fn parse(format: Format, content: &[u8], given: &Parameters) -> Result<Self, Error>;
    /// Whether content that passes [`parse`](Self::parse) is very likely a file of this format.
    #[doc(hidden)]
    fn is_certain(&self) -> bool {
        true
    }

    #[doc(hidden)]
    fn shape(&self) -> &Shape;
    /// The way from keys to positions, with the seed.
    #[doc(hidden)]
    fn scheme(&self) -> String;

    /// The hash of a key; `None` for one that the system ignores when inserting and never finds.
    #[doc(hidden)]
    fn hash<'k>(&self, key: Key<'k>) -> Result<Option<Self::Hash<'k>>, Error>;
    /// The positions of its bits.
    #[doc(hidden)]
    fn positions(&self, hash: Self::Hash<'_>) -> impl Iterator<Item = u64>;

    /// Checks that it accepts another key.
    #[doc(hidden)]
    fn admits(&self) -> Result<(), Error> {
        Ok(())
    }
    /// The bytes of a content of `length` bytes once bits can be set in it.
    #[doc(hidden)]
    fn bytes_to_fill(&self, length: usize) -> u64 {
        length as u64
    }
    /// Prepares the content for setting bits.
    #[doc(hidden)]
    fn before_insert(&mut self, _content: &mut Bytes) -> Result<(), Error> {
        Ok(())
    }
    /// Records that a key was inserted and set `new` bits.
    #[doc(hidden)]
    fn after_insert(&mut self, _content: &mut Bytes, _new: u32) {}
    /// Records that the bits of another filter were added.
    #[doc(hidden)]
    fn after_union(&mut self, _content: &mut Bytes, _other: &Self) {}
    /// Does what the writer of the format does after the last key.
    #[doc(hidden)]
    fn finish(&mut self, _content: &mut Bytes) -> Result<(), Error> {
        Ok(())
    }

    /// Computes the figures from the bits.
    #[doc(hidden)]
    fn measure(&self, array: &[u8]) -> Measure {
        Measure::spread(array, self.shape().bits, self.shape().probes)
    }
    /// The declarations of the file.
    #[doc(hidden)]
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
    /// Whether all bits of a key are set.
    #[doc(hidden)]
    #[inline]
    fn contains(&self, array: &[u8], hash: Self::Hash<'_>) -> bool {
        self.positions(hash).all(|position| Self::ORDER.get(array, position))
    }
    /// Sets the bits of a key, and returns how many were clear: at least 1 if any was.
    #[doc(hidden)]
    #[inline]
    fn insert(&self, array: &mut [u8], hash: Self::Hash<'_>) -> u32 {
        self.positions(hash).map(|position| u32::from(Self::ORDER.set(array, position))).sum()
    }
    /// Prefetches the cache lines of a key. Implementations do nothing if computing positions costs more than a cache
    /// miss.
    #[doc(hidden)]
    #[inline]
    fn prefetch(&self, array: &[u8], hash: Self::Hash<'_>) {
        self.positions(hash).for_each(|position| Self::ORDER.prefetch(array, position));
    }
}

/// The fields of filters of every layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Shape {
    pub(crate) format: Format,
    pub(crate) probes: u32,
    /// Bits, m: positions are below it.
    pub(crate) bits: u64,
    /// The range of the array in the content.
    pub(crate) array: Range<usize>,
    /// The answer for every key, if the system does not read the bits.
    pub(crate) fixed: Option<bool>,
}

impl Shape {
    /// For all bits of an array.
    pub(crate) fn new(format: Format, probes: u32, array: Range<usize>) -> Self {
        Self { format, probes, bits: 8 * array.len() as u64, array, fixed: None }
    }

    /// For an array of bytes whose last byte may have unused bits.
    pub(crate) fn of_bits(format: Format, probes: u32, bits: u64, array: Range<usize>) -> Self {
        Self { bits, ..Self::new(format, probes, array) }
    }
}

/// Other crates cannot extend what has it: the existing layouts, rules and contents.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// For a layout of which one field is the shape.
macro_rules! has_shape {
    () => {
        fn shape(&self) -> &Shape {
            &self.shape
        }
    };
}
pub(crate) use has_shape;

/// A foreign filter of one array of bits, on the content of its file.
///
/// `S` holds the content: [`Bytes`] owns it, `&[u8]` or a map borrows it. Nothing is converted: bits stay in the order
/// of the file, so opening costs no more than reading the header.
#[derive(Clone)]
pub struct Plain<L, S = Bytes> {
    layout: L,
    content: S,
}

impl<L: Layout> Plain<L> {
    /// Makes an empty filter of the size that the system itself would choose.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter that the format does not accept, or that it needs; [`Error::Fpp`];
    /// [`Error::OutOfMemory`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        let content = Self::plan(format, given)?.content()?;
        Ok(Self { layout: L::parse(format, &content, given)?, content })
    }

    /// Plans the filter that [`new`](Self::new) would make.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for memory.
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        L::plan(format, given)
    }

    /// Returns the content of its file.
    pub fn into_content(self) -> Bytes {
        self.content
    }

    /// Its fields, and its array of bits.
    pub(crate) fn parts_mut(&mut self) -> (&L, &mut [u8]) {
        let array = self.layout.shape().array.clone();
        (&self.layout, &mut self.content[array])
    }

    /// Inserts a key by its hash; true if it was certainly new.
    ///
    /// # Errors
    /// [`Error::Full`] for a filter without bits, or with as many keys as it accepts; [`Error::OutOfMemory`] for one
    /// that gets its bits only now.
    pub fn insert_hash(&mut self, hash: L::Hash<'_>) -> Result<bool, Error> {
        self.layout.admits()?;
        self.layout.before_insert(&mut self.content)?;
        match self.layout.shape().fixed {
            Some(true) => return Ok(false),
            Some(false) => return Err(Error::Full { format: self.format(), keys: 0 }),
            None => {}
        }
        let (layout, array) = self.parts_mut();
        let new = layout.insert(array, hash);
        self.layout.after_insert(&mut self.content, new);
        Ok(new > 0)
    }

    /// Adds all keys of `other`: the bits become the same as in a filter with the keys of both.
    ///
    /// # Errors
    /// [`Error::FormatsDiffer`]; [`Error::Differ`], which names what else differs: the scheme with
    /// its seed, the bits, or the probes.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &Plain<L, T>) -> Result<(), Error> {
        self.add(other.view())
    }

    fn add(&mut self, other: View<'_, L>) -> Result<(), Error> {
        check_alike(&self.layout, other.layout)?;
        match (self.layout.shape().fixed, other.layout.shape().fixed) {
            (None, Some(false)) => {
                self.layout.after_union(&mut self.content, other.layout);
                return Ok(());
            }
            (_, Some(false)) | (Some(true), _) => return Ok(()),
            (_, Some(true)) => {
                let [left, right] = ["bits", "none: every key passes"].map(Into::into);
                return Err(Error::Differ { what: "content", left, right });
            }
            (_, None) => {}
        }
        self.layout.before_insert(&mut self.content)?;
        bits::or(self.parts_mut().1, other.array());
        self.layout.after_union(&mut self.content, other.layout);
        Ok(())
    }
}

impl<L: Layout, S: AsRef<[u8]>> Plain<L, S> {
    /// Decodes the filter that `content` holds, which must be the filter and nothing else.
    ///
    /// # Errors
    /// [`Error::Field`] for an invalid field, [`Error::Length`] for too few or too many bytes. Never panics, for any
    /// input, and allocates nothing.
    pub fn decode(format: Format, content: S, given: &Parameters) -> Result<Self, Error> {
        Ok(Self { layout: L::parse(format, content.as_ref(), given)?, content })
    }

    /// Returns its fields.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// Returns the content of its file.
    pub fn content(&self) -> &[u8] {
        self.content.as_ref()
    }

    /// Returns its array of bits, in the order of the format.
    pub fn bit_array(&self) -> &[u8] {
        self.view().array()
    }

    /// Copies the filter; the copy owns its content and accepts keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Plain<L>, Error> {
        self.view().to_owned()
    }

    /// Returns the hash of a key under this filter's scheme; `None` for a key that the system ignores.
    ///
    /// # Errors
    /// [`Error::KeyType`] for a type that the system does not hash, [`Error::Key`] for a
    /// key that it refuses.
    pub fn hash<'k>(&self, key: Key<'k>) -> Result<Option<L::Hash<'k>>, Error> {
        self.layout.hash(key)
    }

    /// Returns whether a key may have been inserted, by its hash.
    #[inline]
    pub fn contains_hash(&self, hash: L::Hash<'_>) -> bool {
        self.view().contains_hash(hash)
    }

    pub(crate) fn measure(&self) -> Measure {
        self.view().measure()
    }

    #[inline]
    fn view(&self) -> View<'_, L> {
        View { layout: &self.layout, content: self.content.as_ref() }
    }
}

impl<L: Layout, S: AsRef<[u8]>> ForeignFilter for Plain<L, S> {
    fn format(&self) -> Format {
        self.layout.shape().format
    }

    fn scheme(&self) -> String {
        self.layout.scheme()
    }

    fn is_certain(&self) -> bool {
        self.layout.is_certain()
    }

    fn fixed(&self) -> Option<bool> {
        self.layout.shape().fixed
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        self.view().contains(key)
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        self.view().contains_all(keys, found)
    }

    fn bytes(&self) -> u64 {
        self.content().len() as u64
    }

    fn bytes_to_fill(&self) -> u64 {
        self.layout.bytes_to_fill(self.content().len())
    }

    fn measured(&self) -> Option<Measure> {
        Some(self.measure())
    }

    fn receipt(&self) -> Receipt {
        let (probes, facts) = (self.layout.shape().probes, self.layout.facts());
        Receipt::new(self, self.measure(), probes, Vec::new(), facts)
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(self.content())?)
    }
}

/// A filter whose content is borrowed. A [`Plain`]'s work on bits is compiled for this type, once per layout, not once
/// per holder of content.
struct View<'a, L> {
    layout: &'a L,
    content: &'a [u8],
}

/// Keys that are hashed and prefetched before the first of them is tested.
const TOGETHER: usize = 32;

impl<'a, L: Layout> View<'a, L> {
    fn array(&self) -> &'a [u8] {
        &self.content[self.layout.shape().array.clone()]
    }

    #[inline]
    fn contains_hash(&self, hash: L::Hash<'_>) -> bool {
        if let Some(answer) = self.layout.shape().fixed {
            return answer;
        }
        self.layout.contains(self.array(), hash)
    }

    fn to_owned(&self) -> Result<Plain<L>, Error> {
        let content = Bytes::copy_of(self.content, self.layout.shape().array.start)?;
        Ok(Plain { layout: self.layout.clone(), content })
    }

    fn measure(&self) -> Measure {
        let Shape { fixed, bits, probes, .. } = *self.layout.shape();
        if let Some(answer) = fixed {
            return Measure::fixed(answer, bits);
        }
        let mut measure = self.layout.measure(self.array());
        let contains = |key: Key<'_>| self.contains(key);
        measure.fpp = sampled_rate(&contains, measure.bits, probes, measure.fpp);
        measure
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        Ok(self.layout.hash(key)?.is_some_and(|hash| self.contains_hash(hash)))
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        if self.layout.shape().fixed.is_some() {
            for (key, found) in keys.iter().zip(found) {
                *found = self.contains(*key)?;
            }
            return Ok(());
        }
        let array = self.array();
        let mut hashes = [None; TOGETHER];
        for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.layout.hash(*key)?.inspect(|hash| self.layout.prefetch(array, *hash));
            }
            for (found, hash) in found.iter_mut().zip(&hashes) {
                *found = hash.is_some_and(|hash| self.layout.contains(array, hash));
            }
        }
        Ok(())
    }
}

/// Checks that two filters place keys alike.
fn check_alike<L: Layout>(ours: &L, theirs: &L) -> Result<(), Error> {
    let [left, right] = [ours.shape().format, theirs.shape().format];
    if left != right {
        return Err(Error::FormatsDiffer { left, right });
    }
    let names = ["hash scheme", "number of bits", "number of probes"];
    let of = |layout: &L| {
        let Shape { bits, probes, .. } = *layout.shape();
        [layout.scheme().into(), bits.into(), probes.into()]
    };
    differ(names, of(ours), of(theirs))
}

impl<L: Layout> ForeignInsert for Plain<L> {
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        match self.layout.hash(key)? {
            Some(hash) => self.insert_hash(hash),
            None => Ok(false),
        }
    }

    fn insert_all(&mut self, keys: &[Key<'_>]) -> Result<(), Error> {
        let mut hashes = [None; TOGETHER];
        for keys in keys.chunks(TOGETHER) {
            let array = self.bit_array();
            let (mut taken, mut refused) = (0, Ok(()));
            for key in keys {
                match self.layout.hash(*key) {
                    Ok(hash) => hashes[taken] = hash,
                    Err(error) => {
                        refused = Err(error);
                        break;
                    }
                }
                // An empty filter of some formats has no bits yet.
                if let Some(hash) = hashes[taken].filter(|_| !array.is_empty()) {
                    self.layout.prefetch(array, hash);
                }
                taken += 1;
            }
            for hash in hashes[..taken].iter().flatten() {
                self.insert_hash(*hash)?;
            }
            refused?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.layout.finish(&mut self.content)
    }
}

impl<L: Layout, S> fmt::Debug for Plain<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plain").field(&self.layout).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::Parquet;
    use crate::rocksdb::RocksDb;
    use crate::{Foreign, KeyType};

    #[test]
    fn the_keys_before_one_refused_are_inserted() {
        let keys = [Key::from("a"), Key::from("b"), Key::F32(1.0), Key::from("c")];
        let given = Parameters::for_keys(100, 1e-6);
        for format in [Format::Guava, Format::Spark, Format::DataSketches] {
            let mut filter = Foreign::new(format, &given).unwrap();
            assert!(matches!(filter.insert_all(&keys), Err(Error::KeyType { .. })));
            let found = ["a", "b", "c"].map(|key| filter.contains(key.into()).unwrap());
            assert_eq!(found, [true, true, false], "{format}");
            assert!(!format.key_types().contains(&KeyType::F32));
        }
    }

    #[test]
    fn hashes_do_what_keys_do() {
        fn check<L: for<'k> Layout<Hash<'k> = u64>>(
            format: Format,
            insert: impl Fn(&mut Plain<L>, &[u64]),
            contains: impl Fn(&Plain<L>, &[u64], &mut [bool]),
        ) {
            let texts: Vec<String> = (0..3000).map(|i| format!("key {i}")).collect();
            let keys: Vec<Key<'_>> = texts.iter().map(|text| Key::from(text.as_str())).collect();
            let given = Parameters { keys: Some(1000), ..Parameters::default() };
            let [mut one, mut other] = [(); 2].map(|()| Plain::<L>::new(format, &given).unwrap());
            let hash = |key: &Key<'_>| one.hash(*key).unwrap().unwrap();
            let hashes: Vec<u64> = keys.iter().map(hash).collect();
            one.insert_all(&keys[..1000]).unwrap();
            insert(&mut other, &hashes[..1000]);
            assert!(one.content() == other.content());
            let mut found = [vec![false; 3000], vec![false; 3000]];
            one.contains_all(&keys, &mut found[0]).unwrap();
            contains(&other, &hashes, &mut found[1]);
            assert!(found[0] == found[1]);
            assert!(found[0].iter().filter(|found| **found).count() >= 1000);
        }
        check(Format::Parquet, Parquet::insert_hashes, Parquet::contains_hashes);
        let insert = |filter: &mut RocksDb, hashes: &[u64]| filter.insert_hashes(hashes).unwrap();
        check(Format::RocksDb, insert, RocksDb::contains_hashes);
    }
}
