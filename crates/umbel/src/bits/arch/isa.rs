//! The operations of an instruction set on a block, and the code written once for all instruction sets.
//!
//! A value of an [`Isa`] type proves that the processor has the set, because only detecting the set makes one. So the
//! code above it is safe.
//!
//! That code uses no closures: a closure's body is not compiled for the instruction set of the enclosing function, so
//! every intrinsic would become a call.

use super::{Block, pattern};

/// Proof that the processor has an instruction set, and the set's operations on the 512 bits of a block. The value also
/// has the number of probes per key, a constant in the types for eight.
pub(super) trait Isa: Copy {
    /// A block in registers.
    type Line: Copy;

    fn probes(self) -> u32;
    /// The lanes pattern of `rounds` rounds, at least 1.
    fn lanes(self, low: u64, rounds: u32) -> Self::Line;
    /// The scatter pattern.
    fn scattered(self, low: u64) -> Self::Line;
    fn load(self, block: &Block) -> Self::Line;
    fn store(self, block: &mut Block, line: Self::Line);
    fn and(self, left: Self::Line, right: Self::Line) -> Self::Line;
    /// The bits of `left` that are clear in `right`.
    fn without(self, left: Self::Line, right: Self::Line) -> Self::Line;
    fn or(self, left: Self::Line, right: Self::Line) -> Self::Line;
    fn xor(self, left: Self::Line, right: Self::Line) -> Self::Line;
    fn is_zero(self, line: Self::Line) -> bool;

    /// All bits of a key.
    #[inline(always)]
    fn mask(self, low: u64) -> Self::Line {
        match pattern::rounds(self.probes()) {
            0 => self.scattered(low),
            rounds => self.lanes(low, rounds),
        }
    }

    /// Whether a block has all bits of a key's mask.
    #[inline(always)]
    fn has(self, block: Self::Line, mask: Self::Line) -> bool {
        self.is_zero(self.without(mask, block))
    }

    /// Sets the bits of a key and returns whether any was clear.
    #[inline(always)]
    fn insert(self, block: &mut Block, low: u64) -> bool {
        match pattern::rounds(self.probes()) {
            0 => pattern::insert_scattered(block, low, self.probes()),
            _ => insert(self, block, low),
        }
    }

    /// Whether all bits of a key are set.
    #[inline(always)]
    fn contains(self, block: &Block, low: u64) -> bool {
        match pattern::rounds(self.probes()) {
            0 => pattern::contains_scattered(block, low, self.probes()),
            _ => self.has(self.load(block), self.mask(low)),
        }
    }
}

/// [`Isa::insert`] by a mask.
#[inline(always)]
pub(super) fn insert<I: Isa>(isa: I, block: &mut Block, low: u64) -> bool {
    let (mask, old) = (isa.mask(low), isa.load(block));
    isa.store(block, isa.or(old, mask));
    !isa.has(old, mask)
}

/// Code that is compiled for every instruction set.
pub(super) trait Work {
    type Answer;

    /// Always inlined, like everything that it calls.
    fn run<I: Isa>(self, isa: I) -> Self::Answer;
}
