//! The kernels in plain code.

use super::grouped::Grouped;
use super::{Batch, Block, Hash, Isa, Kernel, Member, Run, kernels, pattern};
use crate::hash::KeyHash;

/// Plain code. Its functions are safe on any processor.
pub(super) struct Scalar;

/// What its kernels are called.
pub(super) const NAME: &str = "scalar";

kernels!(Scalar, NAME);

impl Isa for Scalar {
    type Mask = Block;

    #[inline(always)]
    unsafe fn lanes<const ROUNDS: u32>(low: u64) -> Block {
        pattern::lanes::<ROUNDS>(low)
    }

    #[inline(always)]
    unsafe fn test(block: &Block, mask: &Block) -> bool {
        block.has(mask)
    }

    #[inline(always)]
    unsafe fn set(block: &mut Block, mask: &Block) {
        block.or(mask);
    }
}
