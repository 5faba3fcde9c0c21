//! The traits that each kind implements; [`Hashed`](super::hashed::Hashed) adds what all kinds share.

use core::convert::Infallible;

use super::hashed::hashed;
use super::{BuildError, Comparison, InsertError, MergeError, Receipt};
use crate::bits::{self, Block, Blocks};
use crate::format::{Body, FileError, Header};
use crate::hash::{KeyHash, Mixed64, Prehashed, Scheme};
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// The core of a kind: its storage, and what its bits mean. `Storage` holds the blocks of each part: [`Blocks`] owns
/// them, `&[Block]` borrows them, [`MappedBlocks`](crate::MappedBlocks) are in a mapped file.
pub(crate) trait Core: Sized {
    type Plans: Planner;
    type Storage: AsRef<[Block]>;
    /// The same core with other storage.
    type With<T: AsRef<[Block]>>: Core<Storage = T>;

    /// The plan for its present size.
    fn plan(&self) -> &Plan;
    fn contains(&self, hash: KeyHash) -> bool;
    /// The slices have equal lengths.
    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]);
    /// Whether [`prefetch`](Self::prefetch) does something.
    const PREFETCHES: bool = false;
    /// Prefetches the cache line of a key that will soon be looked up or inserted.
    #[inline(always)]
    fn prefetch(&self, _: KeyHash) {}
    /// Whether a look-up of this key reads only known blocks; `is_known` gets the part and the block's index in it.
    /// Only for kinds with [`KNOWS_READS`](Planner::KNOWS_READS).
    #[cfg_attr(not(feature = "mmap"), allow(dead_code))]
    #[inline]
    fn reads_only(&self, _: KeyHash, _is_known: impl FnMut(usize, usize) -> bool) -> bool {
        true
    }
    fn contains_narrow(&self, hashes: &[Mixed64], found: &mut [bool]) {
        let Ok(()) = hashed::<HASHES_AT_ONCE, _, _, _>(hashes, &NARROW, &mut |range, hashes| {
            self.contains_all(hashes, &mut found[range]);
            Ok::<_, Infallible>(())
        });
    }
    /// Its blocks, in parts as in the file.
    fn parts(&self) -> impl Iterator<Item = &Self::Storage>;
    /// Whether all its bits are clear.
    fn is_empty(&self) -> bool {
        self.parts().all(|part| bits::are_zero(part.as_ref()))
    }
    /// The same core with the storage that `each` makes of each part, in order.
    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        each: impl FnMut(&'a Self::Storage) -> Result<T, E>,
    ) -> Result<Self::With<T>, E>;
    /// The same core on borrowed blocks. Passes over all blocks are implemented for it alone, and so compiled in this
    /// crate, not in every crate that uses a filter.
    fn borrowed(&self) -> Self::With<&[Block]> {
        let Ok(core) = self.with_parts(|part| Ok::<_, Infallible>(part.as_ref()));
        core
    }
    /// The fields of the header that only this kind has.
    fn body(&self) -> Body {
        Body::of::<Self::Plans>(self.plan())
    }
    /// The bytes of each part of a file with this header, whose fields it checks.
    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        Ok(vec![header.plan::<Self::Plans>()?.bytes()])
    }
    /// Makes the core from a header and its parts, with lengths from `layout`.
    fn open(header: &Header, parts: Vec<Self::Storage>) -> Result<Self, FileError>;
    /// The receipt, computed from its own bits.
    fn receipt(&self, scheme: Scheme) -> Receipt;
    /// Estimates what two sets share. The schemes were compared before.
    fn compare<T: AsRef<[Block]>>(&self, _: &Self::With<T>) -> Result<Comparison, MergeError> {
        Err(MergeError::NotComparable(Self::Plans::KIND))
    }
    /// The bits of a key, if it has a bit or a counter for each probe.
    fn positions(&self, _: KeyHash) -> Option<Vec<u64>> {
        None
    }
}

/// Implements the storage members of a [`Core`] whose blocks are all in its field `blocks`; `$field` are the others. On
/// borrowed blocks, the core has the method `measured`, its receipt.
macro_rules! one_part {
    ($core:ident<$($generic:ident),*> { $($field:ident),* }) => {
        type Storage = S;
        type With<T: AsRef<[Block]>> = $core<$($generic),*>;

        fn plan(&self) -> &Plan {
            &self.plan
        }

        fn parts(&self) -> impl Iterator<Item = &S> {
            core::iter::once(&self.blocks)
        }

        fn with_parts<'a, T: AsRef<[Block]>, E>(
            &'a self,
            mut each: impl FnMut(&'a S) -> Result<T, E>,
        ) -> Result<Self::With<T>, E> {
            Ok($core { $($field: self.$field.clone(),)* blocks: each(&self.blocks)? })
        }

        fn receipt(&self, scheme: Scheme) -> Receipt {
            self.borrowed().measured(scheme)
        }
    };
}
pub(crate) use one_part;

/// A core that owns its blocks, so it can be filled and merged. The defaults suit kinds that are built at once.
pub(crate) trait Owned: Core<Storage = Blocks> {
    /// Why an insertion fails: [`Full`](super::Full), [`Infallible`] if there is always room, or [`InsertError`] if the
    /// kind accepts no single keys.
    type Refusal: Into<InsertError>;

    /// Makes it empty, from a checked plan.
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Err(PlanError::BuiltAtOnce(plan.kind()))
    }
    /// Makes it from all its keys, and a checked plan, if its kind is built at once.
    fn build(plan: &Plan, _: &[KeyHash]) -> Result<Self, BuildError> {
        unreachable!("{} filters are made empty, and filled", plan.kind())
    }
    /// An error if it accepts no single keys.
    fn check_inserts(&self) -> Result<(), InsertError> {
        match Self::Plans::BUILT_AT_ONCE {
            true => Err(InsertError::BuiltAtOnce(Self::Plans::KIND)),
            false => Ok(()),
        }
    }
    /// Returns whether the key was certainly new.
    fn insert(&mut self, hash: KeyHash) -> Result<bool, Self::Refusal>;
    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Self::Refusal> {
        let mut new = [false; HASHES_AT_ONCE];
        let mut groups = hashes.chunks(HASHES_AT_ONCE);
        groups.try_for_each(|hashes| self.insert_all_new(hashes, &mut new[..hashes.len()]))
    }
    /// The slices have equal lengths.
    fn insert_all_new(
        &mut self,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) -> Result<(), Self::Refusal> {
        let mut pairs = new.iter_mut().zip(hashes);
        pairs.try_for_each(|(new, &hash)| {
            *new = self.insert(hash)?;
            Ok(())
        })
    }
    fn insert_narrow(&mut self, hashes: &[Mixed64]) -> Result<(), Self::Refusal> {
        hashed::<HASHES_AT_ONCE, _, _, _>(hashes, &NARROW, &mut |_, hashes| self.insert_all(hashes))
    }
    /// Forgets all keys; does nothing in kinds that are built at once.
    fn clear(&mut self) {}
    /// Leaves `self` unchanged on an error. The schemes were compared before.
    fn merge<T: AsRef<[Block]>>(&mut self, _: &Self::With<T>, _: Merge) -> Result<(), MergeError> {
        Err(MergeError::NotMergeable(Self::Plans::KIND))
    }
}

/// How two filters are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The keys of either; both must have the same size.
    Union,
    /// The keys of either, at the smaller size.
    UnionFolding,
    /// The keys of both.
    Intersection,
}

/// Hashes that are computed or looked up together: 8 KiB, a quarter of the first-level cache.
pub(crate) const HASHES_AT_ONCE: usize = 512;

/// The hasher of any [`Mixed64`], whose hash does not depend on it.
const NARROW: Prehashed = Prehashed::new(0);
