//! Layouts whose probes fall far apart, a cache line each: how they set, test and prefetch bits.

use super::bloom::Layout;
use super::core::sealed;
use crate::bits::{self, BLOCK_BITS, Block, Blocks, Hash, Kernel, POSITIONS};
use crate::error::OutOfMemory;
use crate::hash::KeyHash;
use crate::math::Coverage;
use crate::plan::{Kind, Plan};

/// A layout with probes far apart.
pub trait Spread: sealed::Sealed + Copy + core::fmt::Debug + Send + Sync + 'static {
    const KIND: Kind;
    const UNIT: &'static str;

    /// The units that a fold divides.
    fn units(plan: &Plan) -> u64;
    /// The bit of probe `i`, from 0.
    fn position(plan: &Plan, hash: KeyHash, i: u64) -> u64;
    fn fpp(blocks: &[Block], plan: &Plan) -> f64;
    fn coverage(plan: &Plan) -> Coverage;
}

#[inline]
fn positions<L: Spread>(plan: &Plan, hash: KeyHash) -> impl Iterator<Item = u64> {
    (0..u64::from(plan.probes)).map(move |i| L::position(plan, hash, i))
}

/// Keys whose lines are prefetched together.
fn at_once(plan: &Plan) -> usize {
    POSITIONS / plan.probes as usize
}

/// Prefetches the lines of at most [`at_once`] keys, and returns the positions of each.
fn prefetched<'a, L: Spread>(
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

impl<L: Spread> Layout for L {
    const KIND: Kind = L::KIND;
    const UNIT: &'static str = L::UNIT;

    fn units(plan: &Plan) -> u64 {
        L::units(plan)
    }

    #[inline]
    fn insert(blocks: &mut [Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        set_all(blocks, positions::<L>(plan, hash))
    }

    #[inline]
    fn contains(blocks: &[Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        positions::<L>(plan, hash).all(|position| bits::get(blocks, position))
    }

    fn touches(plan: &Plan, hash: KeyHash, each: &mut dyn FnMut(usize)) {
        positions::<L>(plan, hash).for_each(|position| each((position / BLOCK_BITS) as usize));
    }

    fn insert_batch<H: Hash>(blocks: &mut [Block], plan: &Plan, _: &Kernel, hashes: &[H]) {
        let mut buffer = [0; POSITIONS];
        for hashes in hashes.chunks(at_once(plan)) {
            for positions in prefetched::<L>(blocks, plan, hashes, &mut buffer) {
                set_all(blocks, positions.iter().copied());
            }
        }
    }

    fn insert_batch_new(
        blocks: &mut [Block],
        plan: &Plan,
        _: &Kernel,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        let mut buffer = [0; POSITIONS];
        let at_once = at_once(plan);
        for (hashes, new) in hashes.chunks(at_once).zip(new.chunks_mut(at_once)) {
            for (new, positions) in
                new.iter_mut().zip(prefetched::<L>(blocks, plan, hashes, &mut buffer))
            {
                *new = set_all(blocks, positions.iter().copied());
            }
        }
    }

    fn contains_batch<H: Hash>(
        blocks: &[Block],
        plan: &Plan,
        _: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    ) {
        let mut buffer = [0; POSITIONS];
        let at_once = at_once(plan);
        for (hashes, found) in hashes.chunks(at_once).zip(found.chunks_mut(at_once)) {
            let positions = prefetched::<L>(blocks, plan, hashes, &mut buffer);
            for (found, positions) in found.iter_mut().zip(positions) {
                *found = positions.iter().all(|&position| bits::get(blocks, position));
            }
        }
    }

    /// A slice of s bits folds to s/d inside itself, and its start i·s to i·s/d: so does every position.
    fn fold(blocks: &mut Blocks, plan: &Plan, divisor: u64) -> Result<(), OutOfMemory> {
        *blocks = bits::fold(blocks, plan.bits, divisor)?;
        Ok(())
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        L::fpp(blocks, plan)
    }

    fn coverage(plan: &Plan) -> Coverage {
        L::coverage(plan)
    }
}
