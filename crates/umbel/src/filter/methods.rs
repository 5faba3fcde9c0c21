//! The methods that several kinds have, and others have not.
//!
//! They are stamped on each kind that has them, not bounded by a trait: the docs of a kind then list what it has, in
//! signatures that can be read without opening another page. `[…]` are the generics of the core, each with a comma.

/// Kinds that are made empty, from a plan, and can be emptied again.
macro_rules! made_empty {
    ([$($generics:tt)*] $core:ty) => {
        impl<$($generics)*> Filter<$core> {
            /// Makes an empty filter for `keys` keys at a false positive rate of `fpp`, with keys hashed by XXH3.
            ///
            /// For untrusted keys, use [`with_plan`](Self::with_plan) and [`KeyHasher::random`] or
            /// [`KeyHasher::keyed`].
            ///
            /// [`KeyHasher::random`]: crate::KeyHasher::random
            /// [`KeyHasher::keyed`]: crate::KeyHasher::keyed
            ///
            /// # Errors
            /// As [`Plan::for_keys`]; [`PlanError::OutOfMemory`].
            pub fn new(keys: u64, fpp: f64) -> Result<Self, PlanError> {
                type Plans<C> = <C as Core>::Plans;
                let usual = <Plans<$core>>::USUAL;
                let plan = <Plans<$core>>::plan(usual, keys, fpp)?;
                Self::with_plan(&plan, crate::KeyHasher::default())
            }
        }

        impl<$($generics)* H: Hashing> Filter<$core, H> {
            /// Makes an empty filter from a plan.
            ///
            /// For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
            ///
            /// [`KeyHasher::random`]: crate::KeyHasher::random
            /// [`KeyHasher::keyed`]: crate::KeyHasher::keyed
            ///
            /// # Errors
            /// [`PlanError::Kind`] for a plan of another kind; [`PlanError::OutOfMemory`];
            /// [`PlanError::FppOutOfReach`] if a stable filter of so few cells cannot keep the rate.
            pub fn with_plan(plan: &Plan, hasher: H) -> Result<Self, PlanError> {
                <<$core as Core>::Plans>::check(plan)?;
                Ok(Self::of(MakeCore::make(plan)?, hasher))
            }

            /// Forgets all keys.
            pub fn clear(&mut self) {
                self.core.clear();
            }
        }
    };
}
pub(crate) use made_empty;

/// Many keys, for kinds that always have room.
macro_rules! insert_all {
    ([$($generics:tt)*] $core:ty) => {
        impl<$($generics)* H: Hashing> Filter<$core, H> {
            /// Inserts many keys in order, with overlapping cache misses: several times as fast as
            /// [`insert`](Self::insert) for large filters.
            pub fn insert_all<K: Key<H>>(&mut self, keys: &[K]) {
                let Ok(()) = self.insert_keys(keys);
            }

            /// Like [`insert_all`](Self::insert_all), and `new[i]` becomes what [`insert`](Self::insert) returns for
            /// `keys[i]`.
            ///
            /// # Panics
            /// If the slices differ in length.
            pub fn insert_all_new<K: Key<H>>(&mut self, keys: &[K], new: &mut [bool]) {
                let Ok(()) = self.insert_keys_new(keys, new);
            }
        }

        /// Inserts keys in groups, as [`insert_all`](Filter::insert_all).
        impl<$($generics)* H: Hashing, K: Key<H>> Extend<K> for Filter<$core, H> {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                let Self { core, hasher, .. } = self;
                crate::filter::generic::in_groups(keys, hasher, |hashes| {
                    let Ok(()) = core.insert_all(hashes);
                });
            }
        }

        /// Collects keys into a filter of the right size, at a false positive rate of 1 %.
        ///
        /// Keeps their hashes, 16 bytes each, until they are counted. If you know the number of keys, [`Filter::new`]
        /// and [`extend`](Extend::extend) use less memory, and you choose the rate.
        ///
        /// # Panics
        /// If memory for the filter cannot be allocated.
        impl<$($generics)* K: Key> FromIterator<K> for Filter<$core> {
            fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
                let hasher = crate::KeyHasher::default();
                let hashes: Vec<KeyHash> = keys.into_iter().map(|key| hasher.hash(key)).collect();
                let mut filter = Self::new(hashes.len().max(1) as u64, 0.01)
                    .expect("memory for as many bits as there are bytes of hashes");
                filter.insert_all(&hashes);
                filter
            }
        }
    };
}
pub(crate) use insert_all;

/// Many keys, for kinds that can be full.
macro_rules! try_insert_all {
    ([$($generics:tt)*] $core:ty) => {
        impl<$($generics)* H: Hashing> Filter<$core, H> {
            /// Inserts many keys in order, with overlapping cache misses: several times as fast as
            /// [`try_insert`](Self::try_insert) for large filters.
            ///
            /// # Errors
            /// As [`try_insert`](Self::try_insert). The keys before the one that found no room are in the filter, the
            /// others are not.
            pub fn try_insert_all<K: Key<H>>(&mut self, keys: &[K]) -> Result<(), Full> {
                self.insert_keys(keys)
            }

            /// Like [`try_insert_all`](Self::try_insert_all), and `new[i]` becomes what
            /// [`try_insert`](Self::try_insert) returns for `keys[i]`; false from the key on that found no room.
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
            ) -> Result<(), Full> {
                self.insert_keys_new(keys, new)
            }
        }
    };
}
pub(crate) use try_insert_all;

/// Kinds whose filters merge.
macro_rules! merges {
    ([$($generics:tt)*] $core:ident $([$layout:ident])?) => {
        impl<$($generics)* H: Hashing> Filter<$core $(<$layout>)?, H> {
            /// Adds all keys of `other`. The result equals a filter into which the keys of both were inserted; in
            /// counting filters a key that both hold counts for both.
            ///
            /// The planned keys and rate are the larger of both. The result keeps the description of the keys if both
            /// have it.
            ///
            /// # Errors
            /// A [`MergeError`] that names the difference: the scheme, the description of the keys, probes, bits of a
            /// counter, attributes, or sizes; [`MergeError::OutOfMemory`] if a copy cannot be allocated, which attributes
            /// filters and folds need. On an error `self` is unchanged.
            pub fn union<T: AsRef<[Block]>>(
                &mut self,
                other: &Filter<$core<$($layout,)? T>, impl Hashing>,
            ) -> Result<(), MergeError> {
                self.merge(other, Merge::Union)
            }

            /// Like [`union`](Self::union), also if one size divides the other: the larger filter is folded to the smaller
            /// size, of which the result has the plan. Then it may hold more keys than planned, at a higher rate, as its
            /// receipt reports.
            ///
            /// # Errors
            /// As [`union`](Self::union).
            pub fn union_folding<T: AsRef<[Block]>>(
                &mut self,
                other: &Filter<$core<$($layout,)? T>, impl Hashing>,
            ) -> Result<(), MergeError> {
                self.merge(other, Merge::UnionFolding)
            }

            /// Keeps the keys that both filters hold, and only false positives of both; in counting filters, as often
            /// as both hold them.
            ///
            /// Its rate is at most that of the better input, and above that of a filter made from the common keys
            /// alone. If sizes differ, the larger filter is folded to the smaller size; the rate is then at most that of
            /// the smaller input.
            ///
            /// # Errors
            /// As [`union`](Self::union), but for sizes of which one divides the other.
            pub fn intersect<T: AsRef<[Block]>>(
                &mut self,
                other: &Filter<$core<$($layout,)? T>, impl Hashing>,
            ) -> Result<(), MergeError> {
                self.merge(other, Merge::Intersection)
            }
        }
    };
}
pub(crate) use merges;
