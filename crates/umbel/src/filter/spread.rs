//! Layouts whose probes fall far apart, a cache line each: how they set, ask and ask ahead.

use super::bloom::Layout;
use super::core::sealed;
use crate::bits::{self, Block, Blocks, Hash, Kernel};
use crate::error::OutOfMemory;
use crate::hash::KeyHash;
use crate::math::Coverage;
use crate::plan::{Kind, Plan};

/// Where such a layout puts its bits.
pub trait Spread: sealed::Sealed + Copy + core::fmt::Debug + Send + Sync + 'static {
    const KIND: Kind;
    const UNIT: &'static str;

    /// Units that a fold divides.
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

/// Keys whose cache lines are asked for before any is used: up to 32 lines each.
const AHEAD: usize = 16;

/// Asks for the cache lines of all probes.
fn ask<L: Spread>(blocks: &[Block], plan: &Plan, hashes: &[impl Hash]) {
    for hash in hashes {
        positions::<L>(plan, hash.key_hash()).for_each(|position| bits::ask(blocks, position));
    }
}

impl<L: Spread> Layout for L {
    const KIND: Kind = L::KIND;
    const UNIT: &'static str = L::UNIT;

    fn units(plan: &Plan) -> u64 {
        L::units(plan)
    }

    #[inline]
    fn insert(blocks: &mut [Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        positions::<L>(plan, hash).fold(false, |new, position| bits::set(blocks, position) | new)
    }

    #[inline]
    fn contains(blocks: &[Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        positions::<L>(plan, hash).all(|position| bits::get(blocks, position))
    }

    fn insert_batch<H: Hash>(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hashes: &[H]) {
        for hashes in hashes.chunks(AHEAD) {
            ask::<L>(blocks, plan, hashes);
            for hash in hashes {
                <L as Layout>::insert(blocks, plan, kernel, hash.key_hash());
            }
        }
    }

    fn insert_batch_new(
        blocks: &mut [Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        for (hashes, new) in hashes.chunks(AHEAD).zip(new.chunks_mut(AHEAD)) {
            ask::<L>(blocks, plan, hashes);
            for (new, hash) in new.iter_mut().zip(hashes) {
                *new = <L as Layout>::insert(blocks, plan, kernel, *hash);
            }
        }
    }

    fn contains_batch<H: Hash>(
        blocks: &[Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    ) {
        for (hashes, found) in hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            ask::<L>(blocks, plan, hashes);
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = <L as Layout>::contains(blocks, plan, kernel, hash.key_hash());
            }
        }
    }

    /// A slice of s bits folds to s/d inside itself, and its start i·s to i·s/d: so does every position.
    fn fold(blocks: &mut Blocks, plan: &Plan, divisor: u64) -> Result<(), OutOfMemory> {
        let mut folded = Blocks::zeroed((plan.bits / divisor).div_ceil(bits::BLOCK_BITS))?;
        for position in bits::ones(blocks, plan.bits) {
            bits::set(&mut folded, position / divisor);
        }
        *blocks = folded;
        Ok(())
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        L::fpp(blocks, plan)
    }

    fn coverage(plan: &Plan) -> Coverage {
        L::coverage(plan)
    }
}
