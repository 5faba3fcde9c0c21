//! The kernels in plain code.

use super::grouped::Grouped;
use super::{Batch, Block, Hash, Isa, Kernel, Member, Run, kernels, pattern};
use crate::hash::KeyHash;

/// Plain code. Its functions are safe on any processor.
pub(super) struct Scalar;

/// The name of its kernels.
pub(super) const NAME: &str = "scalar";

kernels!(Scalar, NAME, [8]);

impl Isa for Scalar {
    type Line = Block;

    #[inline(always)]
    unsafe fn lanes(low: u64, rounds: u32) -> Block {
        pattern::lanes(low, rounds)
    }

    #[inline(always)]
    unsafe fn scattered(low: u64, probes: u32) -> Block {
        pattern::scattered(low, probes)
    }

    #[inline(always)]
    unsafe fn load(block: &Block) -> Block {
        *block
    }

    #[inline(always)]
    unsafe fn store(block: &mut Block, line: Block) {
        *block = line;
    }

    #[inline(always)]
    unsafe fn and(left: Block, right: Block) -> Block {
        each(left, right, |left, right| left & right)
    }

    #[inline(always)]
    unsafe fn without(left: Block, right: Block) -> Block {
        each(left, right, |left, right| left & !right)
    }

    #[inline(always)]
    unsafe fn or(left: Block, right: Block) -> Block {
        each(left, right, |left, right| left | right)
    }

    #[inline(always)]
    unsafe fn xor(left: Block, right: Block) -> Block {
        each(left, right, |left, right| left ^ right)
    }

    #[inline(always)]
    unsafe fn is_zero(line: Block) -> bool {
        line.is_zero()
    }
}

/// Words of two lines, one by one.
#[inline(always)]
fn each(left: Block, right: Block, word: impl Fn(u64, u64) -> u64) -> Block {
    Block(core::array::from_fn(|i| word(left.0[i], right.0[i])))
}
