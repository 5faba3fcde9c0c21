//! Why there is no such plan.

use super::Kind;
use crate::error::{FieldError, OutOfMemory};

/// Why a filter cannot be planned, or made as planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A false-positive probability outside (0, 1).
    #[error("fpp {0} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %")]
    Fpp(f64),
    /// A plan for no keys.
    #[error("zero keys: a filter is planned for at least 1 key")]
    ZeroKeys,
    /// More bits than a filter may have.
    #[error("the filter would need {bits:.3e} bits; at most {} are supported", super::MAX_BITS)]
    TooLarge {
        /// Bits the goal asks for.
        bits: f64,
    },
    /// Less memory than one block.
    #[error(
        "{bytes} bytes are too few for such a filter; the smallest has 64 bytes, of some kinds more"
    )]
    MemoryTooSmall {
        /// Bytes offered.
        bytes: u64,
    },
    /// So many keys in so few bits that the filter would let everything pass.
    #[error(
        "{keys} keys in {bits} bits: every key would pass; give the filter at least one bit per key"
    )]
    TooManyKeys {
        /// Keys planned for.
        keys: u64,
        /// Bits there are.
        bits: u64,
    },
    /// So many keys in the first link of a scalable filter that it could promise no rate.
    #[error(
        "{keys} keys in {bits} bits: at least half of all keys would pass this first link of a scalable filter, \
         and in the end all; give it at least 3 bits per key"
    )]
    FirstLinkTooSmall {
        /// Keys planned for.
        keys: u64,
        /// Bits there are.
        bits: u64,
    },
    /// More keys than a kind that is built at once takes.
    #[error(
        "{keys} keys; {} {kind} filter is built from at most {most}; build several, each from a part of them",
        kind.article()
    )]
    TooManyAtOnce {
        /// The kind asked for.
        kind: Kind,
        /// Keys planned for.
        keys: u64,
        /// The most it can be built of.
        most: u64,
    },
    /// A rate that this kind cannot reach with any sensible number of bits.
    #[error("{} {kind} filter cannot reach fpp {fpp:e}: {}", kind.article(), match kind {
        Kind::Stable => "plan a window, or a kind that forgets nothing",
        Kind::Scalable => "plan it for more keys, so that it grows less often, or plan a classic one",
        Kind::Bloomier => "a fingerprint has at most 64 bits",
        _ => "plan a classic one",
    })]
    FppOutOfReach {
        /// The kind asked for.
        kind: Kind,
        /// The rate asked for.
        fpp: f64,
    },
    /// A number of probes outside what the kind supports.
    #[error("{probes} probes per key; 1 to {} are supported", super::MAX_PROBES)]
    Probes {
        /// Probes asked for or found.
        probes: u64,
    },
    /// A kind's own parameter outside what it may be.
    #[error("{kind}:{found}: expected {expected}")]
    Detail {
        /// The kind asked for.
        kind: Kind,
        /// The parameter asked for.
        found: u32,
        /// What would be right.
        expected: &'static str,
    },
    /// A plan of one kind given to another.
    #[error("the plan is for {} {found} filter, not {} {expected} one", found.article(), expected.article())]
    Kind {
        /// Kind being built.
        expected: Kind,
        /// Kind of the plan.
        found: Kind,
    },
    /// A filter of a kind that is built at once, made without its keys.
    #[error("{article} {0} filter is built from all its keys at once; build it from them", article = .0.article())]
    BuiltAtOnce(Kind),
    /// A filter of rows, made without names for their values.
    #[error("a filter of rows needs the names of its attributes; name each")]
    Unnamed,
    /// A number that contradicts the others.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The memory for the filter could not be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}
