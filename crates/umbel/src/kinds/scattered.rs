//! The core of the classic and the sliced kind, whose probes fall far apart, a cache line each.
//!
//! Probe i of a key goes to bit ⌊mix(high + i·low)·m / 2⁶⁴⌋; in the sliced kind, to that place in slice i, of m/k bits.
//! With the bare arithmetic progression of double hashing (Kirsch, Mitzenmacher 2006), all probes of two keys collide
//! more often than by chance. The bijection `mix` prevents that for two multiplications per probe, little compared with
//! a cache miss.

use core::marker::PhantomData;

use super::plain::{self, Meaning, plain_core, plain_owned};
use super::prelude::*;
use crate::bits::{Hash, POSITIONS};
use crate::hash::mix;

pub(crate) trait Layout: Planner + Clone + PartialEq {
    const MEANING: Meaning;
    /// Whether each probe has a slice of its own.
    const SLICED: bool;
}

/// The core of a classic or a sliced filter.
#[derive(Clone, PartialEq)]
pub(crate) struct ScatteredCore<L, S = Blocks> {
    pub(crate) plan: Plan,
    pub(crate) blocks: S,
    layout: PhantomData<fn() -> L>,
}

/// Part of the format.
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
    let size = if L::SLICED { plan.bits / probes } else { plan.bits };
    let slice = if L::SLICED { size } else { 0 };
    (0..probes).map(move |i| i * slice + bits::place(probe(hash, i), size))
}

impl<L, S> ScatteredCore<L, S> {
    fn of(plan: Plan, blocks: S) -> Self {
        Self { plan, blocks, layout: PhantomData }
    }
}

impl<L: Layout, S: AsRef<[Block]>> ScatteredCore<L, S> {
    pub(super) fn from_blocks(plan: Plan, blocks: S) -> Result<Self, FileError> {
        plain::check(&plan, blocks.as_ref())?;
        Ok(Self::of(plan, blocks))
    }

    fn look_up(&self, hashes: &[impl Hash], found: &mut [bool]) {
        by_positions(
            &mut self.blocks.as_ref(),
            hashes,
            self.plan.probes,
            |hash| positions::<L>(&self.plan, hash),
            |blocks, position| bits::prefetch(blocks, position),
            |blocks, place, positions| {
                found[place] = positions.iter().all(|&position| bits::get(blocks, position));
            },
        );
    }
}

impl<L: Layout> ScatteredCore<L> {
    /// Inserts many keys; `each` gets their places and whether they were new.
    fn insert_many(&mut self, hashes: &[impl Hash], mut each: impl FnMut(usize, bool)) {
        by_positions(
            &mut self.blocks,
            hashes,
            self.plan.probes,
            |hash| positions::<L>(&self.plan, hash),
            |blocks, position| bits::prefetch(blocks, position),
            |blocks, place, positions| each(place, set_all(blocks, positions.iter().copied())),
        );
    }
}

/// Calls `each` with the place of every key and its positions, after prefetching these and the next keys' positions.
#[inline]
pub(super) fn by_positions<T, P: Iterator<Item = u64>>(
    core: &mut T,
    hashes: &[impl Hash],
    probes: u32,
    positions: impl Fn(KeyHash) -> P,
    prefetch: impl Fn(&T, u64),
    mut each: impl FnMut(&mut T, usize, &[u64]),
) {
    let (probes, mut buffer, mut place) = (probes as usize, [0; POSITIONS], 0);
    for hashes in hashes.chunks(POSITIONS / probes) {
        let buffer = &mut buffer[..probes * hashes.len()];
        for (hash, of_key) in hashes.iter().zip(buffer.chunks_exact_mut(probes)) {
            for (to, position) in of_key.iter_mut().zip(positions(hash.key_hash())) {
                *to = position;
                prefetch(core, position);
            }
        }
        for positions in buffer.chunks_exact(probes) {
            each(core, place, positions);
            place += 1;
        }
    }
}

#[inline]
fn set_all(blocks: &mut [Block], positions: impl Iterator<Item = u64>) -> bool {
    positions.fold(false, |new, position| bits::set(blocks, position) | new)
}

impl<L: Layout, S: AsRef<[Block]>> Core for ScatteredCore<L, S> {
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

    one_part!(ScatteredCore<L, T> { plan, layout });

    plain_core!(L::MEANING);

    fn positions(&self, hash: KeyHash) -> Option<Vec<u64>> {
        Some(positions::<L>(&self.plan, hash).collect())
    }
}

impl<L: Layout> ScatteredCore<L, &[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        plain::receipt(&L::MEANING, &self.plan, self.blocks, scheme)
    }
}

impl<L: Layout> Owned for ScatteredCore<L> {
    plain_owned!(L::MEANING);

    #[inline]
    fn insert(&mut self, hash: KeyHash) -> Result<bool, Infallible> {
        Ok(set_all(&mut self.blocks, positions::<L>(&self.plan, hash)))
    }

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
}
