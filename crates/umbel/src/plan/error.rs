//! Why a plan is impossible.

use super::{Kind, MAX_BITS, MAX_PROBES};
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
    /// The filter would need this many bits, more than [`MAX_BITS`].
    #[error("the filter would need {bits} bits; at most {MAX_BITS} are supported", bits = Exact(*.0))]
    TooLarge(f64),
    /// The memory, in bytes, is smaller than one block.
    #[error("{0} bytes are too few; the smallest filter has 64 bytes, and some kinds need more")]
    MemoryTooSmall(u64),
    /// Every key would pass, because there are too many keys for so few bits.
    #[error("{0} keys in {1} bits: every key would pass; give the filter at least one bit per key")]
    TooManyKeys(u64, u64),
    /// The first link of a scalable filter has too few bits for so many keys to promise any rate.
    #[error(
        "{0} keys in {1} bits: the first link of this scalable filter would pass at least half of all keys, and the chain eventually all; give it at least 3 bits per key"
    )]
    FirstLinkTooSmall(u64, u64),
    /// There are more keys than one filter of a kind that is built at once can hold.
    #[error(
        "{1} keys; {article} {0} filter is built from at most {2}; build several, each from a part of the keys",
        article = .0.article()
    )]
    TooManyAtOnce(Kind, u64, u64),
    /// The kind cannot reach this rate with any sensible number of bits.
    #[error("{article} {0} filter cannot reach fpp {rate}: {hint}", hint = match .0 {
        Kind::Stable => "plan a window, or a kind that forgets nothing",
        Kind::Scalable => "plan it for more keys, so that it grows less often, or plan a classic one",
        Kind::Bloomier => "a fingerprint has at most 64 bits; plan it for a higher fpp",
        // A classic filter with 4,096 bits per key and 32 probes has a rate of 3e-68.
        Kind::Blocked if *.1 > 1e-67 => "plan a classic one",
        _ => "it would need more than 4096 bits per key; plan it for a higher fpp",
    }, article = .0.article(), rate = Exact(*.1))]
    FppOutOfReach(Kind, f64),
    /// The kind does not support this number of probes.
    #[error("{0} probes per key; expected 1 to {MAX_PROBES}")]
    Probes(u64),
    /// The kind's own parameter is out of range: found, expected.
    #[error("{0}:{1}: expected {2}")]
    Detail(Kind, u32, &'static str),
    /// The plan is for another kind: expected, found.
    #[error("the plan is for {found} {1} filter, not {own} {0} one", found = .1.article(), own = .0.article())]
    Kind(Kind, Kind),
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
            Self::FppOutOfReach(..) => Self::FppOutOfReach(whole, asked),
            error => error,
        }
    }

    /// The error of planning a part in a share of some bytes, as one about all of them.
    pub(super) fn in_all(self, bytes: u64) -> Self {
        match self {
            Self::MemoryTooSmall(..) => Self::MemoryTooSmall(bytes),
            error => error,
        }
    }
}
