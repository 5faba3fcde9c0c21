//! Why a plan is impossible.

use super::Kind;
use crate::error::{Exact, FieldError, OutOfMemory};

/// Why a filter cannot be planned, or allocated as planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The false positive rate is outside (0, 1).
    #[error("fpp {} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %", Exact(*.0))]
    Fpp(f64),
    /// The plan is for no keys.
    #[error("zero keys: a filter is planned for at least 1 key")]
    ZeroKeys,
    /// The filter would need more bits than [`MAX_BITS`](super::MAX_BITS).
    #[error("the filter would need {} bits; at most {} are supported", Exact(*bits), super::MAX_BITS)]
    TooLarge {
        /// The bits needed.
        bits: f64,
    },
    /// The memory is smaller than one block.
    #[error(
        "{bytes} bytes are too few for such a filter; the smallest has 64 bytes, of some kinds more"
    )]
    MemoryTooSmall {
        /// The bytes given.
        bytes: u64,
    },
    /// There are so many keys for the bits that every key would pass.
    #[error(
        "{keys} keys in {bits} bits: every key would pass; give the filter at least one bit per key"
    )]
    TooManyKeys {
        /// The keys to plan for.
        keys: u64,
        /// The bits available.
        bits: u64,
    },
    /// There are so many keys for the first link of a scalable filter that it could promise no rate.
    #[error(
        "{keys} keys in {bits} bits: at least half of all keys would pass this first link of a scalable filter, \
         and in the end all; give it at least 3 bits per key"
    )]
    FirstLinkTooSmall {
        /// The keys to plan for.
        keys: u64,
        /// The bits available.
        bits: u64,
    },
    /// There are more keys than a filter of a kind that is built at once can have.
    #[error(
        "{keys} keys; {} {kind} filter is built from at most {most}; build several, each from a part of them",
        kind.article()
    )]
    TooManyAtOnce {
        /// The requested kind.
        kind: Kind,
        /// The keys to plan for.
        keys: u64,
        /// The maximum number of keys.
        most: u64,
    },
    /// The kind cannot reach this rate with any sensible number of bits.
    #[error("{} {kind} filter cannot reach fpp {}: {}", kind.article(), Exact(*fpp), match kind {
        Kind::Stable => "plan a window, or a kind that forgets nothing",
        Kind::Scalable => "plan it for more keys, so that it grows less often, or plan a classic one",
        Kind::Bloomier => "a fingerprint has at most 64 bits; plan it for a higher fpp",
        // A classic filter with 4,096 bits per key and 32 probes has a rate of 3e-68.
        Kind::Blocked if *fpp > 1e-67 => "plan a classic one",
        _ => "it would need more than 4096 bits per key; plan it for a higher fpp",
    })]
    FppOutOfReach {
        /// The requested kind.
        kind: Kind,
        /// The requested rate.
        fpp: f64,
    },
    /// The kind does not support this number of probes.
    #[error("{probes} probes per key; expected 1 to {}", super::MAX_PROBES)]
    Probes {
        /// The probes requested or found.
        probes: u64,
    },
    /// The kind's own parameter is out of range.
    #[error("{kind}:{found}: expected {expected}")]
    Detail {
        /// The requested kind.
        kind: Kind,
        /// The requested parameter.
        found: u32,
        /// What would be valid.
        expected: &'static str,
    },
    /// The plan is for another kind.
    #[error("the plan is for {} {found} filter, not {} {expected} one", found.article(), expected.article())]
    Kind {
        /// The kind being made.
        expected: Kind,
        /// Kind of the plan.
        found: Kind,
    },
    /// A filter of a kind that is built at once cannot be made without its keys.
    #[error("{article} {0} filter is built from all its keys at once; build it from them", article = .0.article())]
    BuiltAtOnce(Kind),
    /// A filter of rows cannot be made without names for their values.
    #[error("a filter of rows needs the names of its attributes; name each")]
    Unnamed,
    /// A number contradicts the others.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The memory for the filter could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl PlanError {
    /// The error of planning a part, as one about the whole.
    pub(crate) fn of_whole(self, whole: Kind, asked: f64) -> Self {
        match self {
            Self::FppOutOfReach { .. } => Self::FppOutOfReach { kind: whole, fpp: asked },
            error => error,
        }
    }

    /// The error of planning a part in a share of some bytes, as one about all of them.
    pub(super) fn in_all(self, bytes: u64) -> Self {
        match self {
            Self::MemoryTooSmall { .. } => Self::MemoryTooSmall { bytes },
            error => error,
        }
    }
}
