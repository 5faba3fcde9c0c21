//! What an instruction set does with a block, and the code written once for all instruction sets.
//!
//! A value of an [`Isa`] type proves that the processor has the set, because only detecting the set makes one. So the
//! code above it is safe.
//!
//! That code uses no closures: a closure's body is not compiled for the instruction set of the enclosing function, so
//! every intrinsic would become a call.

use super::{Block, pattern};

/// Proof that the processor has an instruction set, and what the set does with the 512 bits of a block.
pub(super) trait Isa: Copy {
    /// A block in registers.
    type Line: Copy;

    /// The lanes pattern of `rounds` rounds, at least 1.
    fn lanes(self, low: u64, rounds: u32) -> Self::Line;
    /// The scatter pattern.
    fn scattered(self, low: u64, probes: u32) -> Self::Line;
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
    fn mask(self, low: u64, probes: u32) -> Self::Line {
        match pattern::rounds(probes) {
            0 => self.scattered(low, probes),
            rounds => self.lanes(low, rounds),
        }
    }

    /// Whether a block has all bits of a mask made from `probes` probes.
    #[inline(always)]
    fn has(self, block: Self::Line, mask: Self::Line, probes: u32) -> bool {
        let _ = probes;
        self.is_zero(self.without(mask, block))
    }

    /// Sets the bits of a key and returns whether any was clear.
    #[inline(always)]
    fn insert(self, block: &mut Block, low: u64, probes: u32) -> bool {
        if pattern::rounds(probes) == 0 {
            return pattern::insert_scattered(block, low, probes);
        }
        let (mask, old) = (self.mask(low, probes), self.load(block));
        self.store(block, self.or(old, mask));
        !self.has(old, mask, probes)
    }

    /// Whether all bits of a key are set.
    #[inline(always)]
    fn contains(self, block: &Block, low: u64, probes: u32) -> bool {
        contains(self, block, low, probes)
    }
}

/// Operations of an [`Isa`] on two lines.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
macro_rules! on_two_lines {
    ($($name:ident: |$left:ident, $right:ident| $line:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $left: Self::Line, $right: Self::Line) -> Self::Line {
            // SAFETY: `self` is proof that the processor has the instructions.
            unsafe { $line }
        }
    )*};
}
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
pub(super) use on_two_lines;

/// [`Isa::contains`], where a set has no better way.
#[inline(always)]
pub(super) fn contains<I: Isa>(isa: I, block: &Block, low: u64, probes: u32) -> bool {
    if pattern::rounds(probes) == 0 {
        return pattern::contains_scattered(block, low, probes);
    }
    isa.has(isa.load(block), isa.mask(low, probes), probes)
}

/// What is compiled for every instruction set.
pub(super) trait Work {
    type Answer;

    /// Always inlined, like everything that it calls.
    fn run<I: Isa>(self, isa: I) -> Self::Answer;
}
