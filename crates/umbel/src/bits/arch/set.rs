//! The instruction sets that kernels are compiled for, and the one way to run code under one.
//!
//! A value of an [`Isa`] is proof that the processor has the set: it comes from asking the processor. So the code
//! above it is safe, is written once, and [`Set::run`] compiles it for each.
//!
//! That code has no closures: the body of a closure is not compiled for the instruction set of the function around it,
//! and every intrinsic would become a call.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon::{self, Neon};
use super::plain::Plain;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Avx2, Avx512};
use super::{Block, pattern};
use crate::prelude::*;

/// Proof that the processor has an instruction set, and what that does with the 512 bits of a block.
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

    /// Whether a block has all bits of a mask that is made of `probes` probes.
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

    /// Always inlined, as is all that it calls.
    fn run<I: Isa>(self, isa: I) -> Self::Answer;
}

/// An instruction set of this processor, chosen once per filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Plain(Plain),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(Neon),
}

impl Set {
    /// All that this processor has, the best one last.
    pub(super) fn available() -> Vec<Self> {
        #[allow(unused_mut)] // elsewhere it is all
        let mut sets = vec![Self::Plain(Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            sets.extend(Avx2::detect().map(Self::Avx2));
            sets.extend(Avx512::detect().map(Self::Avx512));
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        sets.extend(Neon::detect().map(Self::Neon));
        sets
    }

    /// The best one of this processor.
    pub(super) fn detect() -> Self {
        *Self::available().last().expect("plain code runs anywhere")
    }

    #[inline(always)]
    pub(super) fn run<W: Work>(self, work: W) -> W::Answer {
        match self {
            Self::Plain(isa) => run_plain(isa, work),
            // SAFETY: the value is proof that the processor has the instruction set; so below.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => unsafe { x86::run_avx2(isa, work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa) => unsafe { x86::run_avx512(isa, work) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon(isa) => unsafe { neon::run(isa, work) },
        }
    }
}

/// A call too, so that callers stay small.
#[inline(never)]
fn run_plain<W: Work>(isa: Plain, work: W) -> W::Answer {
    work.run(isa)
}
