//! What each kind implements; [`Filter`](super::Filter) adds what all kinds share.

use core::convert::Infallible;

use super::{MergeError, Receipt};
use crate::bits::{self, Block, Blocks};
use crate::format::{Body, FileError, Header};
use crate::hash::{KeyHash, Mixed64, Scheme};
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// The core of a kind: its storage, and what its bits mean.
///
/// `Storage` holds the blocks of each part: [`Blocks`] owns them, `&[Block]` borrows them,
/// [`MappedBlocks`](crate::MappedBlocks) are in a mapped file.
pub trait Core: Sized {
    /// How its kind is planned.
    type Plans: Planner;
    /// The storage of its blocks.
    type Storage: AsRef<[Block]>;
    /// The same core with other storage.
    type With<T: AsRef<[Block]>>: Core<Storage = T>;

    /// Its plan, for its present size.
    fn plan(&self) -> &Plan;
    /// Whether a key may be in it.
    fn contains(&self, hash: KeyHash) -> bool;
    /// The slices have equal lengths.
    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]);
    /// Whether [`prefetch`](Self::prefetch) does something.
    const PREFETCHES: bool = false;
    /// Prefetches the cache line of a key that will soon be looked up or inserted.
    #[inline(always)]
    fn prefetch(&self, hash: KeyHash) {
        let _ = hash;
    }
    /// Whether a look-up of this key reads only blocks for which `is_known` holds, given the part and the block, from 0 in
    /// it. True in kinds that do not tell: see `tells` in any/lazy.rs.
    #[inline]
    fn reads_only(&self, hash: KeyHash, is_known: impl FnMut(usize, usize) -> bool) -> bool {
        let _ = (hash, is_known);
        true
    }
    /// Like `contains_all`, for 64-bit hashes.
    fn contains_narrow(&self, hashes: &[Mixed64], found: &mut [bool]) {
        for (hashes, found) in hashes.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
            let wide = widened(hashes);
            self.contains_all(&wide[..hashes.len()], found);
        }
    }
    /// Its blocks, in parts as in the file.
    fn parts(&self) -> impl Iterator<Item = &Self::Storage>;
    /// Whether it holds no key, as far as its blocks show.
    fn is_empty(&self) -> bool {
        self.parts().all(|part| bits::are_zero(part.as_ref()))
    }
    /// The same core with other storage for each part, in their order.
    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        each: impl FnMut(&'a Self::Storage) -> Result<T, E>,
    ) -> Result<Self::With<T>, E>;
    /// The same core on borrowed blocks: what passes over all of them is compiled for it alone, in this crate, and not
    /// in each that uses a filter.
    fn borrowed(&self) -> Self::With<&[Block]> {
        let Ok(core) = self.with_parts(|part| Ok::<_, Infallible>(part.as_ref()));
        core
    }
    /// The fields of the header that only this kind has.
    fn body(&self) -> Body {
        Body::of::<Self::Plans>(self.plan())
    }
    /// The bytes of each part of the file with this header, whose fields are checked.
    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        Ok(vec![header.plan::<Self::Plans>()?.bytes()])
    }
    /// Makes the core from a header and its parts, which are as long as `layout` says.
    fn open(header: &Header, parts: Vec<Self::Storage>) -> Result<Self, FileError>;
    /// What it delivers now, from its own bits.
    fn receipt(&self, scheme: Scheme) -> Receipt;
}

/// Members of a [`Core`] of storage `S` whose blocks are all in its field `blocks`; `$field` are the others.
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
    };
}
pub(crate) use one_part;

/// Kinds that can be made empty, from a plan alone.
pub(crate) trait MakeCore: Core<Storage = Blocks> {
    fn make(plan: &Plan) -> Result<Self, PlanError>;
}

/// Kinds that accept keys one by one.
pub trait InsertCore: Core<Storage = Blocks> {
    /// Why a key is not inserted: [`Full`](super::Full), or [`Infallible`] if there is always room.
    type Full;

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Self::Full> {
        let mut new = [false; GROUP];
        let mut groups = hashes.chunks(GROUP);
        groups.try_for_each(|hashes| self.insert_all_new(hashes, &mut new[..hashes.len()]))
    }
    /// The slices have equal lengths.
    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Self::Full>;
    /// Like `insert_all`, for 64-bit hashes.
    fn insert_narrow(&mut self, hashes: &[Mixed64]) -> Result<(), Self::Full> {
        hashes.chunks(GROUP).try_for_each(|hashes| {
            let wide = widened(hashes);
            self.insert_all(&wide[..hashes.len()])
        })
    }
    fn clear(&mut self);
}

/// Kinds whose filters merge.
pub trait MergeCore: Core<Storage = Blocks> {
    /// Leaves `self` unchanged on an error. The schemes were compared before.
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &Self::With<T>,
        how: Merge,
    ) -> Result<(), MergeError>;
}

/// How two filters are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The keys of either; both must have one size.
    Union,
    /// The keys of either, at the smaller size.
    UnionFolding,
    /// The keys of both.
    Intersection,
}

/// Hashes that are computed, or looked up, together: 8 KiB, a quarter of the first-level cache.
pub(crate) const GROUP: usize = 512;

/// At most [`GROUP`] hashes of 64 bits, widened.
#[inline]
fn widened(hashes: &[Mixed64]) -> [KeyHash; GROUP] {
    let mut wide = [KeyHash::default(); GROUP];
    for (to, &hash) in wide.iter_mut().zip(hashes) {
        *to = KeyHash::from_u64(hash.0);
    }
    wide
}
