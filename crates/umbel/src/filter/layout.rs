//! Where the probes of a key fall among the bits of a plain filter, and how they are set, tested and prefetched there.

use core::fmt;

use super::core::GROUP;
use crate::bits::{self, BLOCK_BITS, Batched, Block, Blocks, Hash, Kernel, POSITIONS};
use crate::error::OutOfMemory;
use crate::hash::KeyHash;
use crate::math::Coverage;
use crate::plan::{Kind, Plan};

/// The layout of a plain kind. What is provided is for probes that fall far apart, a cache line each.
pub trait Layout: Copy + fmt::Debug + Send + Sync + 'static {
    /// The kind with this layout.
    const KIND: Kind;
    /// The unit of sizes in messages.
    const UNIT: &'static str;

    /// The units that a fold divides.
    fn units(plan: &Plan) -> u64;
    /// The bit of probe `i`, from 0.
    fn position(plan: &Plan, hash: KeyHash, i: u64) -> u64;
    /// The mean probability that a key never inserted passes, given these bits.
    fn fpp(blocks: &[Block], plan: &Plan) -> f64;
    /// The coverage of the layout: which bits a key leaves clear.
    fn coverage(plan: &Plan) -> Coverage;

    /// Sets a key's bits and returns whether any was clear.
    #[inline]
    fn insert(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hash: KeyHash) -> bool {
        let _ = kernel;
        set_all(blocks, positions::<Self>(plan, hash))
    }

    /// Whether all bits of a key are set.
    #[inline]
    fn contains(blocks: &[Block], plan: &Plan, kernel: &Kernel, hash: KeyHash) -> bool {
        let _ = kernel;
        positions::<Self>(plan, hash).all(|position| bits::get(blocks, position))
    }

    /// See [`Core::PREFETCHES`](super::core::Core::PREFETCHES).
    const PREFETCHES: bool = false;

    /// See [`Core::prefetch`](super::core::Core::prefetch).
    #[inline(always)]
    fn prefetch(blocks: &[Block], hash: KeyHash) {
        let _ = (blocks, hash);
    }

    /// See [`Core::touches`](super::core::Core::touches).
    fn touches(plan: &Plan, hash: KeyHash, each: &mut dyn FnMut(usize)) {
        positions::<Self>(plan, hash).for_each(|position| each((position / BLOCK_BITS) as usize));
    }

    /// Sets the bits of many keys.
    fn insert_batch<H: Batched>(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hashes: &[H]) {
        let mut new = [false; GROUP];
        for hashes in hashes.chunks(GROUP) {
            Self::insert_batch_new(blocks, plan, kernel, hashes, &mut new[..hashes.len()]);
        }
    }

    /// As [`insert_batch`](Self::insert_batch): `new[i]` becomes whether `hashes[i]` set a bit.
    fn insert_batch_new<H: Batched>(
        blocks: &mut [Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        new: &mut [bool],
    ) {
        let _ = kernel;
        let (at_once, mut buffer) = (at_once(plan), [0; POSITIONS]);
        for (hashes, new) in hashes.chunks(at_once).zip(new.chunks_mut(at_once)) {
            let positions = prefetched::<Self>(blocks, plan, hashes, &mut buffer);
            for (new, positions) in new.iter_mut().zip(positions) {
                *new = set_all(blocks, positions.iter().copied());
            }
        }
    }

    /// Looks many keys up.
    fn contains_batch<H: Batched>(
        blocks: &[Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    ) {
        let _ = kernel;
        let (at_once, mut buffer) = (at_once(plan), [0; POSITIONS]);
        for (hashes, found) in hashes.chunks(at_once).zip(found.chunks_mut(at_once)) {
            let positions = prefetched::<Self>(blocks, plan, hashes, &mut buffer);
            for (found, positions) in found.iter_mut().zip(positions) {
                *found = positions.iter().all(|&position| bits::get(blocks, position));
            }
        }
    }

    /// Moves every bit to its position in a filter `divisor` times smaller: p to ⌊p/d⌋. A slice of s bits folds to s/d
    /// inside itself, and its start i·s to i·s/d: so does every position.
    fn fold(blocks: &mut Blocks, plan: &Plan, divisor: u64) -> Result<(), OutOfMemory> {
        *blocks = bits::fold(blocks, plan.bits, divisor)?;
        Ok(())
    }
}

#[inline]
fn positions<L: Layout>(plan: &Plan, hash: KeyHash) -> impl Iterator<Item = u64> {
    (0..u64::from(plan.probes)).map(move |i| L::position(plan, hash, i))
}

/// Keys whose lines are prefetched together.
fn at_once(plan: &Plan) -> usize {
    POSITIONS / plan.probes as usize
}

/// Prefetches the lines of at most [`at_once`] keys, and returns the positions of each.
fn prefetched<'a, L: Layout>(
    blocks: &[Block],
    plan: &Plan,
    hashes: &[impl Hash],
    positions: &'a mut [u64; POSITIONS],
) -> core::slice::ChunksExact<'a, u64> {
    let probes = plan.probes as usize;
    let positions = &mut positions[..probes * hashes.len()];
    for (hash, of_key) in hashes.iter().zip(positions.chunks_exact_mut(probes)) {
        for (to, position) in of_key.iter_mut().zip(self::positions::<L>(plan, hash.key_hash())) {
            *to = position;
            bits::prefetch(blocks, position);
        }
    }
    positions.chunks_exact(probes)
}

/// Sets bits and returns whether any was clear.
#[inline]
fn set_all(blocks: &mut [Block], positions: impl Iterator<Item = u64>) -> bool {
    positions.fold(false, |new, position| bits::set(blocks, position) | new)
}
