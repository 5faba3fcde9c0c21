//! The core of the kinds whose probes fall far apart, a cache line each: classic and sliced.
//!
//! Probe i of a key goes to bit ⌊mix(high + i·low)·m / 2⁶⁴⌋. With the bare arithmetic progression of double hashing (Kirsch,
//! Mitzenmacher 2006), all probes of two keys collide more often than by chance. Mixing each term, by a bijection, removes
//! that for two multiplications per probe, little compared with a cache miss. In the sliced kind it falls into slice i, of
//! m/k bits.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::plain::{self, Meaning, only, plain};
use crate::bits::{self, BLOCK_BITS, Block, Blocks, Hash, POSITIONS};
use crate::filter::core::{Core, InsertCore, MakeCore, Merge, MergeCore, one_part};
use crate::filter::generic::same_keys;
use crate::filter::methods::{insert_all, made_empty, merges};
use crate::filter::{Comparison, Filter, MergeError, Receipt};
use crate::format::{FileError, Header};
use crate::hash::{Hashing, Key, KeyHash, Mixed64, Scheme, mix};
use crate::plan::{Plan, PlanError, Planner};
use crate::prelude::*;

/// One of the two kinds: its planner.
pub trait Layout: Planner {
    /// What its bits mean.
    const MEANING: Meaning;
    /// Whether each probe has a slice of its own.
    const SLICED: bool;
}

/// The core of a classic or a sliced filter: `insert` sets the bits of a key, `contains` checks that all are set.
pub struct SpreadCore<L, S = Blocks> {
    pub(crate) plan: Plan,
    pub(crate) blocks: S,
    layout: PhantomData<fn() -> L>,
}

impl<L, S: Clone> Clone for SpreadCore<L, S> {
    fn clone(&self) -> Self {
        Self::of(self.plan, self.blocks.clone())
    }
}

/// The hash of probe `i`. Part of the format.
#[inline]
pub(crate) fn probe(hash: KeyHash, i: u64) -> u64 {
    mix(hash.high.wrapping_add(i.wrapping_mul(hash.low)))
}

/// The bits of a key, in the order of its probes. Part of the format.
#[inline]
pub(crate) fn positions<L: Layout>(
    plan: &Plan,
    hash: KeyHash,
) -> impl Iterator<Item = u64> + use<L> {
    let probes = u64::from(plan.probes);
    let (slice, size) =
        if L::SLICED { (plan.bits / probes, plan.bits / probes) } else { (0, plan.bits) };
    (0..probes).map(move |i| i * slice + bits::place(probe(hash, i), size))
}

impl<L, S> SpreadCore<L, S> {
    fn of(plan: Plan, blocks: S) -> Self {
        Self { plan, blocks, layout: PhantomData }
    }
}

impl<L: Layout, S: AsRef<[Block]>> SpreadCore<L, S> {
    pub(super) fn from_blocks(plan: Plan, blocks: S) -> Result<Self, FileError> {
        plain::check(&plan, blocks.as_ref())?;
        Ok(Self::of(plan, blocks))
    }

    pub(super) fn planned(self, plan: Plan) -> Self {
        Self { plan, ..self }
    }

    /// Keys whose lines are prefetched together.
    fn at_once(&self) -> usize {
        POSITIONS / self.plan.probes as usize
    }

    /// Prefetches the lines of at most [`at_once`](Self::at_once) keys, and returns the positions of each.
    fn prefetched<'a>(
        &self,
        hashes: &[impl Hash],
        buffer: &'a mut [u64; POSITIONS],
    ) -> core::slice::ChunksExact<'a, u64> {
        let (probes, blocks) = (self.plan.probes as usize, self.blocks.as_ref());
        let buffer = &mut buffer[..probes * hashes.len()];
        for (hash, of_key) in hashes.iter().zip(buffer.chunks_exact_mut(probes)) {
            for (to, position) in of_key.iter_mut().zip(positions::<L>(&self.plan, hash.key_hash()))
            {
                *to = position;
                bits::prefetch(blocks, position);
            }
        }
        buffer.chunks_exact(probes)
    }

    fn look_up(&self, hashes: &[impl Hash], found: &mut [bool]) {
        let (at_once, mut buffer) = (self.at_once(), [0; POSITIONS]);
        let blocks = self.blocks.as_ref();
        for (hashes, found) in hashes.chunks(at_once).zip(found.chunks_mut(at_once)) {
            for (found, positions) in found.iter_mut().zip(self.prefetched(hashes, &mut buffer)) {
                *found = positions.iter().all(|&position| bits::get(blocks, position));
            }
        }
    }
}

impl<L: Layout> SpreadCore<L> {
    #[inline]
    fn insert(&mut self, hash: KeyHash) -> bool {
        set_all(&mut self.blocks, positions::<L>(&self.plan, hash))
    }

    /// Inserts many keys, and lets `each` know which were new.
    fn insert_many(&mut self, hashes: &[impl Hash], mut each: impl FnMut(usize, bool)) {
        let (at_once, mut buffer) = (self.at_once(), [0; POSITIONS]);
        let mut place = 0;
        for hashes in hashes.chunks(at_once) {
            for positions in self.prefetched(hashes, &mut buffer) {
                each(place, set_all(&mut self.blocks, positions.iter().copied()));
                place += 1;
            }
        }
    }
}

/// Sets bits and returns whether any was clear.
#[inline]
fn set_all(blocks: &mut [Block], positions: impl Iterator<Item = u64>) -> bool {
    positions.fold(false, |new, position| bits::set(blocks, position) | new)
}

plain!([L: Layout,] SpreadCore[L], L::MEANING);

impl<L: Layout, S: AsRef<[Block]>> Core for SpreadCore<L, S> {
    type Plans = L;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        let blocks = self.blocks.as_ref();
        positions::<L>(&self.plan, hash).all(|position| bits::get(blocks, position))
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.look_up(hashes, found);
    }

    #[inline]
    fn reads_only(&self, hash: KeyHash, mut is_known: impl FnMut(usize, usize) -> bool) -> bool {
        let block = |position| (position / BLOCK_BITS) as usize;
        positions::<L>(&self.plan, hash).all(|position| is_known(0, block(position)))
    }

    fn contains_narrow(&self, hashes: &[Mixed64], found: &mut [bool]) {
        self.look_up(hashes, found);
    }

    one_part!(SpreadCore<L, T> { plan, layout });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        Self::from_blocks(header.plan::<L>()?, only(parts))
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        plain::receipt(&L::MEANING, &self.plan, self.blocks.as_ref(), scheme)
    }
}

impl<L: Layout> MakeCore for SpreadCore<L> {
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, plain::empty(plan)?))
    }
}

impl<L: Layout> InsertCore for SpreadCore<L> {
    type Full = Infallible;

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        self.insert_many(hashes, |_, _| {});
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        self.insert_many(hashes, |place, is_new| new[place] = is_new);
        Ok(())
    }

    fn insert_narrow(&mut self, hashes: &[Mixed64]) -> Result<(), Infallible> {
        self.insert_many(hashes, |_, _| {});
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }
}

impl<L: Layout> MergeCore for SpreadCore<L> {
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &SpreadCore<L, T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        let (ours, theirs) =
            ((&mut self.plan, &mut self.blocks), (&other.plan, other.blocks.as_ref()));
        plain::merge_bits(&L::MEANING, ours, theirs, how)
    }
}
