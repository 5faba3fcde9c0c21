//! The instruction sets that kernels are compiled for. [`Set::run`] is the only way to run code under one: it compiles
//! the code for each.

use super::isa::Work;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon::{self, Neon};
use super::plain::Plain;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Avx2, Avx512};
use crate::prelude::*;

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
    /// All sets that this processor has, the best one last.
    pub(super) fn available() -> Vec<Self> {
        #[allow(unused_mut)] // other processors add none
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

    /// The best set of this processor.
    pub(super) fn detect() -> Self {
        *Self::available().last().expect("plain code runs anywhere")
    }

    #[inline(always)]
    pub(super) fn run<W: Work>(self, work: W) -> W::Answer {
        match self {
            Self::Plain(isa) => run_plain(isa, work),
            // SAFETY: the value proves that the processor has the instruction set; the same below.
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

/// Also a call, to keep callers small.
#[inline(never)]
fn run_plain<W: Work>(isa: Plain, work: W) -> W::Answer {
    work.run(isa)
}
