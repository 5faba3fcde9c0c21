//! Traits of all filters, for code that works with any of them.

use core::convert::Infallible;
#[cfg(feature = "std")]
use std::io::{self, Write};

use super::core::HASHES_AT_ONCE;
use super::hashed::hashed;
use super::{InsertError, Receipt};
use crate::bits::Block;
use crate::error::FieldError;
use crate::format::{KeyDescription, KeyForm};
use crate::hash::{Key, KeyHash, KeyHasher, Portable};
use crate::plan::{Kind, Plan};
use crate::prelude::*;

/// The methods of every kind of filter. Constructors, insertions and merges are on the types. Only the filters of this
/// crate implement it.
///
/// ```
/// use umbel::{Blocked, Classic, Filter};
///
/// fn report(filter: &impl Filter) -> String {
///     let receipt = filter.receipt();
///     format!("{} keys, fpp {:.4}", filter.estimated_len(), receipt.fpp)
/// }
///
/// let mut seen = Blocked::new(1_000, 0.01)?;
/// seen.insert("apple");
/// assert_eq!(report(&seen), "1 keys, fpp 0.0000");
///
/// // Filters of several kinds, behind one type.
/// let layers: Vec<Box<dyn Filter>> = vec![Box::new(seen), Box::new(Classic::new(1_000, 0.01)?)];
/// assert_eq!(layers.iter().filter(|layer| layer.contains("apple")).count(), 1);
/// # Ok::<(), umbel::Error>(())
/// ```
pub trait Filter<H = KeyHasher>: sealed::Body<H> {
    /// Returns its plan; after folds and merges, the plan for its present size. A scalable filter returns its first
    /// link's plan and a cascade its first level's, both with the rate of the whole; a filter of rows, the plan of each
    /// attribute's filter.
    fn plan(&self) -> &Plan {
        self.body().plan()
    }

    /// Returns its hasher.
    fn hasher(&self) -> &H {
        self.own_hasher()
    }

    /// Returns the description of its keys; empty until [`describe`](Self::describe) sets it.
    fn description(&self) -> &KeyDescription {
        self.body().description()
    }

    /// Sets the description of its keys, which its files store and merges compare.
    fn describe(&mut self, keys: KeyDescription) {
        self.body_mut().describe(keys);
    }

    /// Notes that keys of a form go into the filter: in its description, if it is empty or its form is noted. To be
    /// called before the first of them is inserted.
    ///
    /// # Errors
    /// [`FieldError`] if the description has no room for it.
    fn note(&mut self, form: KeyForm) -> Result<(), FieldError> {
        if self.description().form().is_none() && !self.is_empty() {
            return Ok(());
        }
        let mut keys = self.description().clone();
        keys.note(form)?;
        self.describe(keys);
        Ok(())
    }

    /// Returns whether the key with this hash may be in the filter.
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.body().contains_hash(hash)
    }

    /// Looks up many hashes with overlapping cache misses: sets `found[i]` to the answer for `hashes[i]`. Panics if the
    /// slices differ in length.
    fn contains_hashes(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.body().contains_hashes(hashes, found);
    }

    /// Returns the bit of each probe of the key with this hash in a blocked, classic or sliced filter, or its counters
    /// in a counting one, possibly with repeats. `None` for other kinds.
    ///
    /// ```
    /// use umbel::{Classic, Filter};
    ///
    /// let filter = Classic::new(1_000, 0.01)?;
    /// let bits = filter.positions(filter.hasher().hash("apples")).expect("it has bits");
    /// assert_eq!(bits.len(), 7);
    /// assert!(bits.iter().all(|&bit| bit < filter.plan().bits()));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    #[doc(hidden)]
    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>> {
        self.body().positions(hash)
    }

    /// Returns the bytes of its bits, over all its parts.
    fn bytes(&self) -> u64 {
        self.body().bytes()
    }

    /// Returns its blocks of 64 bytes, in parts as in its file.
    fn blocks(&self) -> Vec<&[Block]> {
        self.body().blocks()
    }

    /// Returns whether it certainly holds no key. Stops at the first set bit.
    fn is_empty(&self) -> bool {
        self.body().is_empty()
    }

    /// Computes the present fill, keys and rate from the filter's own bits in one pass. Each kind documents what it
    /// adds.
    fn receipt(&self) -> Receipt {
        self.body().receipt()
    }

    /// Returns the umbel file as bytes.
    fn to_bytes(&self) -> Vec<u8>
    where
        H: Portable,
    {
        self.body().to_bytes()
    }

    /// Writes the filter as an umbel file, front to back, without seeking. Fails only if `out` does.
    #[cfg(feature = "std")]
    fn write(&self, mut out: impl Write) -> io::Result<()>
    where
        Self: Sized,
        H: Portable,
    {
        self.body().put(&mut |bytes| out.write_all(bytes))?;
        out.flush()
    }

    /// Returns its kind.
    fn kind(&self) -> Kind {
        self.plan().kind()
    }

    /// Estimates the number of different keys; `u64::MAX` if the filter is too full for an estimate. One pass over its
    /// bits; the [`receipt`](Self::receipt) gives the interval.
    fn estimated_len(&self) -> u64 {
        self.receipt().keys.value.round() as u64
    }

    /// Returns whether a key may be in the filter: false is certain; true can be wrong, at the filter's rate.
    #[inline]
    fn contains(&self, key: impl Key<H>) -> bool
    where
        Self: Sized,
    {
        self.contains_hash(key.key_hash(self.hasher()))
    }

    /// Looks up many keys with overlapping cache misses: sets `found[i]` to the answer for `keys[i]`. Several times as
    /// fast as [`contains`](Self::contains) for large filters. Panics if the slices differ in length.
    fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool])
    where
        Self: Sized,
    {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        let Ok(()) =
            hashed::<{ 2 * HASHES_AT_ONCE }, _, _, _>(keys, self.hasher(), &mut |range, hashes| {
                self.contains_hashes(hashes, &mut found[range]);
                Ok::<_, Infallible>(())
            });
    }
}

/// Filters that accept keys one by one. Kinds that always have room never return an error; their own `insert` returns
/// no `Result`.
///
/// ```
/// use umbel::{Blocked, Error, Insert, Scalable};
///
/// fn count_new(keys: &[&str], seen: &mut impl Insert) -> Result<usize, Error> {
///     let mut new = 0;
///     for key in keys {
///         new += usize::from(seen.try_insert(key)?);
///     }
///     Ok(new)
/// }
///
/// let keys = ["apple", "mango", "apple"];
/// assert_eq!(count_new(&keys, &mut Blocked::new(1_000, 0.01)?)?, 2);
/// assert_eq!(count_new(&keys, &mut Scalable::new(1_000, 0.01)?)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub trait Insert<H = KeyHasher>: Filter<H> + sealed::Filling {
    /// Like [`try_insert`](Self::try_insert), for the key with this hash.
    fn try_insert_hash(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
        self.fill(hash)
    }

    /// Inserts a key; true if it was certainly new.
    ///
    /// # Errors
    /// [`InsertError::Full`] if the filter is full; in an [`AnyFilter`](crate::AnyFilter), [`InsertError::BuiltAtOnce`]
    /// and [`InsertError::Rows`] for kinds that accept no single keys. The filter is unchanged.
    #[inline]
    fn try_insert(&mut self, key: impl Key<H>) -> Result<bool, InsertError>
    where
        Self: Sized,
    {
        let hash = key.key_hash(self.hasher());
        self.try_insert_hash(hash)
    }
}

/// Implemented by the filter types of this crate; keeps other types from implementing the traits.
pub(crate) mod sealed {
    use alloc::boxed::Box;

    use crate::filter::InsertError;
    use crate::filter::hashed::Erased;
    use crate::hash::KeyHash;

    pub trait Body<H> {
        fn own_hasher(&self) -> &H;
        fn body(&self) -> &dyn Erased;
        fn body_mut(&mut self) -> &mut dyn Erased;
    }

    pub trait Filling {
        fn fill(&mut self, hash: KeyHash) -> Result<bool, InsertError>;
    }

    impl<H, F: Body<H> + ?Sized> Body<H> for Box<F> {
        fn own_hasher(&self) -> &H {
            (**self).own_hasher()
        }

        fn body(&self) -> &dyn Erased {
            (**self).body()
        }

        fn body_mut(&mut self) -> &mut dyn Erased {
            (**self).body_mut()
        }
    }

    impl<F: Filling + ?Sized> Filling for Box<F> {
        fn fill(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
            (**self).fill(hash)
        }
    }
}

#[doc(hidden)]
impl<H, F: sealed::Body<H> + ?Sized> Filter<H> for F {}
#[doc(hidden)]
impl<H, F: Filter<H> + sealed::Filling + ?Sized> Insert<H> for F {}
