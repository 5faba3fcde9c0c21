//! The type of each kind, and the methods that several kinds have, stamped on each of them: its docs then list all its
//! methods with plain signatures. Uses the names of `kinds::prelude`.

/// The type of a kind: its core with the hasher and the description of its keys. `[…]` is the layout that a core is
/// generic over.
macro_rules! filter {
    ($(#[$about:meta])* $name:ident($core:ident $([$layout:ty])?)) => {
        $(#[$about])*
        ///
        /// [`Filter`] has the methods of all kinds. Two filters are equal if their files are.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(
                transparent,
                bound(serialize = "H: Portable", deserialize = "H: Portable, S: From<Blocks>")
            )
        )]
        pub struct $name<H: Hashing = KeyHasher, S: AsRef<[Block]> = Blocks>(
            pub(crate) Hashed<$core<$($layout,)? S>, H>,
        );

        impl $name {
            /// Reads a filter of this kind from `source`, which holds `length` bytes, checking every byte.
            ///
            /// # Errors
            /// As [`AnyFilter::read`](crate::AnyFilter::read); [`FileError::Kind`] if the file holds another kind.
            #[cfg(feature = "std")]
            pub fn read(mut source: impl std::io::Read, length: u64) -> Result<Self, FileError> {
                Ok(Self(Hashed::read(&mut source, length, None)?))
            }

            /// Like [`read`](Self::read), with the same errors, from an umbel file in memory, at any address. Copies
            /// the bits.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
                Self::from_bytes_with(bytes, None)
            }
        }

        impl<H: Hashing> $name<H> {
            /// Like [`from_bytes`](Self::from_bytes), for a file that `unlock` opens: `Some(&secret)` for a keyed
            /// filter, or another [`Unlock`].
            pub fn from_bytes_with(
                bytes: &[u8],
                unlock: impl Unlock<Hasher = H>,
            ) -> Result<Self, FileError> {
                Ok(Self(Hashed::from_bytes(bytes, unlock)?))
            }
        }

        impl<H: Hashing, S: AsRef<[Block]>> $name<H, S> {
            /// Returns whether a key may be in the filter: false is certain; true can be wrong, at the filter's rate.
            #[inline(always)]
            pub fn contains(&self, key: impl Key<H>) -> bool {
                self.0.core.contains(key.key_hash(&self.0.hasher))
            }

            /// Looks up many keys with overlapping cache misses: sets `found[i]` to the answer for `keys[i]`. Several
            /// times as fast as [`contains`](Self::contains) for large filters. Panics if the slices differ in length.
            pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
                self.0.contains_all(keys, found);
            }

            pub(crate) fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
                <$core<$($layout,)? S>>::layout(header)
            }
        }

        impl<H: Hashing, S: AsRef<[Block]>> sealed::Body<H> for $name<H, S> {
            fn own_hasher(&self) -> &H {
                &self.0.hasher
            }

            #[inline(always)]
            fn body(&self) -> &dyn Erased {
                &self.0
            }

            fn body_mut(&mut self) -> &mut dyn Erased {
                &mut self.0
            }
        }
    };
}
pub(crate) use filter;

/// Constructors of kinds that start empty.
macro_rules! made_empty {
    ($name:ident) => {
        impl $name {
            /// Makes an empty filter for `keys` keys at a false positive rate of `fpp`, with keys hashed by XXH3. For
            /// untrusted keys, use [`with_plan`](Self::with_plan) and [`KeyHasher::random`] or [`KeyHasher::keyed`].
            ///
            /// # Errors
            /// As [`Plan::for_keys`]; [`PlanError::OutOfMemory`].
            pub fn new(keys: u64, fpp: f64) -> Result<Self, PlanError> {
                let plan = <Plans as Planner>::plan(Plans::USUAL, keys, fpp)?;
                Self::with_plan(&plan, KeyHasher::default())
            }
        }

        impl<H: Hashing> $name<H> {
            /// Makes an empty filter from a plan. For untrusted keys, use [`KeyHasher::random`] or
            /// [`KeyHasher::keyed`].
            ///
            /// # Errors
            /// [`PlanError::Kind`] for a plan of another kind; [`PlanError::OutOfMemory`]; [`PlanError::FppOutOfReach`]
            /// if a stable filter has too few cells for the rate.
            pub fn with_plan(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
                Ok(Self(Hashed::make(plan, hasher)?))
            }

            /// Forgets all keys.
            pub fn clear(&mut self) {
                self.0.core.clear();
            }
        }

        impl<H: Hashing> sealed::Filling for $name<H> {
            fn fill(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
                self.0.core.insert(hash).map_err(Into::into)
            }
        }
    };
}
pub(crate) use made_empty;

/// Insertions into kinds that always have room; `$insert` documents `insert`.
macro_rules! inserts {
    ($name:ident, $(#[$insert:meta])*) => {
        impl<H: Hashing> $name<H> {
            $(#[$insert])*
            #[inline]
            pub fn insert(&mut self, key: impl Key<H>) -> bool {
                let Ok(new) = self.0.core.insert(key.key_hash(&self.0.hasher));
                new
            }

            /// Inserts many keys in order with overlapping cache misses, several times as fast as
            /// [`insert`](Self::insert) for large filters.
            pub fn insert_all<K: Key<H>>(&mut self, keys: &[K]) {
                let Ok(()) = self.0.insert_keys(keys);
            }

            /// Like [`insert_all`](Self::insert_all), and sets `new[i]` to what [`insert`](Self::insert) returns for
            /// `keys[i]`. Panics if the slices differ in length.
            pub fn insert_all_new<K: Key<H>>(&mut self, keys: &[K], new: &mut [bool]) {
                let Ok(()) = self.0.insert_keys_new(keys, new);
            }
        }

        /// Inserts keys in groups, as [`insert_all`](Self::insert_all).
        impl<H: Hashing, K: Key<H>> Extend<K> for $name<H> {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                let Hashed { core, hasher, .. } = &mut self.0;
                crate::filter::hashed::in_groups(keys, hasher, |hashes| {
                    let Ok(()) = core.insert_all(hashes);
                });
            }
        }
    };
}
pub(crate) use inserts;

/// Insertions into kinds that can be full; `$insert` documents `try_insert`.
macro_rules! try_inserts {
    ($name:ident, $(#[$insert:meta])*) => {
        impl<H: Hashing> $name<H> {
            $(#[$insert])*
            #[inline]
            pub fn try_insert(&mut self, key: impl Key<H>) -> Result<bool, Full> {
                self.0.core.insert(key.key_hash(&self.0.hasher))
            }

            /// Inserts many keys in order with overlapping cache misses, several times as fast as
            /// [`try_insert`](Self::try_insert) for large filters.
            ///
            /// # Errors
            /// As [`try_insert`](Self::try_insert). Only the keys before the refused one are in the filter then.
            pub fn try_insert_all<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), Full> {
                self.0.insert_keys(keys)
            }

            /// Like [`try_insert_all`](Self::try_insert_all), with the same errors, and sets `new[i]` to what
            /// [`try_insert`](Self::try_insert) returns for `keys[i]`; false from the refused key on. Panics if the
            /// slices differ in length.
            pub fn try_insert_all_new<K: Key<H>>(
                &mut self,
                keys: &[K],
                new: &mut [bool],
            ) -> Result<(), Full> {
                self.0.insert_keys_new(keys, new)
            }
        }
    };
}
pub(crate) use try_inserts;

/// Kinds whose filters merge.
macro_rules! merges {
    ($name:ident) => {
        impl<H: Hashing> $name<H> {
            /// Adds all keys of `other`. The result equals a filter into which the keys of both were inserted; a
            /// counting filter adds up the counts. It has the larger planned keys and rate, and the description of the
            /// keys if both share it.
            ///
            /// # Errors
            /// A [`MergeError`] that names the difference: scheme, description of the keys, probes, bits of a counter,
            /// attributes, or sizes; [`MergeError::OutOfMemory`] if a copy cannot be allocated, which attributes
            /// filters and folds need. `self` is then unchanged.
            pub fn union(
                &mut self,
                other: &$name<impl Hashing, impl AsRef<[Block]>>,
            ) -> Result<(), MergeError> {
                self.0.merge(&other.0, Merge::Union)
            }

            /// Like [`union`](Self::union), but if the sizes differ and one divides the other, folds the larger filter
            /// to the smaller size. The result has the plan for that size. It may hold more keys than planned, at a
            /// higher rate, as its receipt reports.
            pub fn union_folding(
                &mut self,
                other: &$name<impl Hashing, impl AsRef<[Block]>>,
            ) -> Result<(), MergeError> {
                self.0.merge(&other.0, Merge::UnionFolding)
            }

            /// Keeps the keys that both filters hold; a counting filter keeps the lower count.
            ///
            /// The rate is at most the better input's (the smaller one's, if sizes differ), and above the rate of a
            /// filter made from the common keys alone. The larger filter is folded to the smaller size.
            ///
            /// # Errors
            /// As [`union_folding`](Self::union_folding).
            pub fn intersect(
                &mut self,
                other: &$name<impl Hashing, impl AsRef<[Block]>>,
            ) -> Result<(), MergeError> {
                self.0.merge(&other.0, Merge::Intersection)
            }
        }
    };
}
pub(crate) use merges;
