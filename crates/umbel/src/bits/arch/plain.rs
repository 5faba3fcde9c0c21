//! The kernels in plain code.

use super::isa::Isa;
use super::{Block, pattern};

/// Plain code, which every processor runs, and the number of probes: 8 if `EIGHT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain<const EIGHT: bool>(pub(super) u32);

impl<const EIGHT: bool> Isa for Plain<EIGHT> {
    type Line = Block;

    #[inline(always)]
    fn probes(self) -> u32 {
        if EIGHT { 8 } else { self.0 }
    }

    #[inline(always)]
    fn lanes(self, low: u64, rounds: u32) -> Block {
        pattern::lanes(low, rounds)
    }

    #[inline(always)]
    fn scattered(self, low: u64) -> Block {
        pattern::scattered(low, self.probes())
    }

    #[inline(always)]
    fn load(self, block: &Block) -> Block {
        *block
    }

    #[inline(always)]
    fn store(self, block: &mut Block, line: Block) {
        *block = line;
    }

    #[inline(always)]
    fn and(self, left: Block, right: Block) -> Block {
        each(left, right, |left, right| left & right)
    }

    #[inline(always)]
    fn without(self, left: Block, right: Block) -> Block {
        each(left, right, |left, right| left & !right)
    }

    #[inline(always)]
    fn or(self, left: Block, right: Block) -> Block {
        each(left, right, |left, right| left | right)
    }

    #[inline(always)]
    fn xor(self, left: Block, right: Block) -> Block {
        each(left, right, |left, right| left ^ right)
    }

    #[inline(always)]
    fn is_zero(self, line: Block) -> bool {
        line.is_zero()
    }
}

/// Combines two lines word by word.
#[inline(always)]
fn each(left: Block, right: Block, word: impl Fn(u64, u64) -> u64) -> Block {
    Block(core::array::from_fn(|i| word(left.0[i], right.0[i])))
}
