//! Everything the library refuses, and why. Messages name what was expected, what was found and,
//! where it is known, what to do; the caller that knows a path puts it in front.

use crate::hash::{Algorithm, Scheme};
use crate::plan::Kind;

/// Why a plan, a merge or a file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A false-positive probability outside (0, 1).
    #[error("fpp {0} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %")]
    Fpp(f64),
    /// A plan for no keys.
    #[error("zero keys: a filter is planned for at least 1 key")]
    ZeroKeys,
    /// More bits than a filter may have.
    #[error(
        "the filter would need {bits:.3e} bits; at most {} are supported",
        crate::plan::MAX_BITS
    )]
    TooLarge {
        /// Bits the goal asks for.
        bits: f64,
    },
    /// Less memory than one block.
    #[error("{bytes} bytes of memory hold no filter; the smallest takes 64 bytes")]
    MemoryTooSmall {
        /// Bytes offered.
        bytes: u64,
    },
    /// So many keys in so few bits that the filter would let everything pass.
    #[error(
        "{keys} keys in {bits} bits: every key would pass; give the filter at least a bit for each key"
    )]
    TooManyKeys {
        /// Keys planned for.
        keys: u64,
        /// Bits there are.
        bits: u64,
    },
    /// So many keys in the first link of a scalable filter that it could promise no rate.
    #[error(
        "{keys} keys in {bits} bits: half of all keys or more would pass this first link of a scalable filter, \
         and all in the end; give it at least 3 bits for each key"
    )]
    FirstLinkTooSmall {
        /// Keys planned for.
        keys: u64,
        /// Bits there are.
        bits: u64,
    },
    /// More keys than a kind that is built at once takes.
    #[error(
        "{keys} keys; a {kind} filter is built of at most {most}: build several of a part of them each"
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
    #[error("a {kind} filter cannot reach fpp {fpp}: {}", match kind {
        Kind::Scalable => "begin it with more keys, so that it grows less often, or plan a classic one",
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
    #[error("{probes} probes a key; 1 to {} are supported", crate::plan::MAX_PROBES)]
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
    #[error("the plan is for a {found} filter, not a {expected} one")]
    PlanKind {
        /// Kind being built.
        expected: Kind,
        /// Kind of the plan.
        found: Kind,
    },

    /// A filter that would grow beyond the limit set for it.
    #[error(
        "the filter would grow to {bytes} bytes, more than the {limit} it may take; \
         raise the limit, or build it anew for more keys"
    )]
    GrowthLimit {
        /// Bytes of its bits after it grew.
        bytes: u64,
        /// Bytes it may take.
        limit: u64,
    },

    /// A kind that takes no keys once it is built.
    #[error(
        "a {0} filter is built at once from all its keys and takes no more; build it anew with them"
    )]
    Static(Kind),
    /// More keys given to a filter that is built at once than it is planned for.
    #[error(
        "{keys} different keys, more than the {planned} that the filter is planned for hold; plan it for as many"
    )]
    Overfull {
        /// Different keys given, of a shard or of all.
        keys: u64,
        /// Keys planned for.
        planned: u64,
    },
    /// A key given twice with different values.
    #[error(
        "{} has the value {} at place {} and {} at place {}, counted from 0; a map has one value a key: leave one out",
        key.as_ref().map_or_else(|| "one key (or two of one hash)".to_owned(), |key| format!("the key \"{}\"", key.escape_ascii())),
        values[0], places[0], values[1], places[1]
    )]
    ValuesDiffer {
        /// The key, when it was given by its bytes.
        key: Option<Vec<u8>>,
        /// The first two places in the input where its values differ, from 0.
        places: [u64; 2],
        /// The values there.
        values: [u64; 2],
    },
    /// A key both included and excluded.
    #[error(
        "{} is included at place {} and excluded at place {}, counted from 0; leave it out of one of the lists",
        key.as_ref().map_or_else(|| "one key (or two of one hash)".to_owned(), |key| format!("the key \"{}\"", key.escape_ascii())),
        places[0], places[1]
    )]
    OnBothLists {
        /// The key, when it was given by its bytes.
        key: Option<Vec<u8>>,
        /// Its first place among the keys included, and among those excluded, from 0.
        places: [u64; 2],
    },
    /// Keys that no level of a cascade tells apart.
    #[error(
        "after {0} levels keys included and excluded are still not told apart; hash them with another seed"
    )]
    TooManyLevels(usize),
    /// A value that does not fit.
    #[error(
        "the value {value} at place {place}, counted from 0, has more than {bits} bits; build the map with wider values"
    )]
    WideValue {
        /// The value.
        value: u64,
        /// Where it is in the input.
        place: u64,
        /// Bits of a value.
        bits: u32,
    },

    /// A kind whose filters cannot be combined.
    #[error(
        "{0} filters do not merge: {remedy}",
        remedy = if .0.inserts() {
            "a chain of both could not keep the rate promised; add the keys of one to the other, or query both"
        } else {
            "each is built at once from all its keys; build one of the keys of both, or query both"
        }
    )]
    NotMergeable(Kind),
    /// Filters of different kinds cannot be combined.
    #[error("a {left} and a {right} filter cannot be combined; build both as one kind")]
    KindsDiffer {
        /// Kind of the left filter.
        left: Kind,
        /// Kind of the right filter.
        right: Kind,
    },
    /// Filters that turn keys into hashes differently cannot be combined.
    #[error(
        "the filters hash keys differently ({left} and {right}); rebuild one of them from its keys"
    )]
    SchemesDiffer {
        /// Scheme of the left filter.
        left: Scheme,
        /// Scheme of the right filter.
        right: Scheme,
    },
    /// Filters with different numbers of probes cannot be combined.
    #[error("one filter sets {left} bits a key, the other {right}; plan both for the same fpp")]
    ProbesDiffer {
        /// Probes of the left filter.
        left: u32,
        /// Probes of the right filter.
        right: u32,
    },
    /// Neither size folds to the other.
    #[error(
        "sizes of {left} and {right} {unit} do not fold to each other (one must divide the other); \
         plan both for the same keys, or for keys that differ by a power of two"
    )]
    SizesDiffer {
        /// Size of the left filter.
        left: u64,
        /// Size of the right filter.
        right: u64,
        /// What the sizes count: `blocks` or `bits`.
        unit: &'static str,
    },

    /// A keyed filter opened without its secret.
    #[error(
        "the filter is keyed (key id {key_id:016x}); give its 16-byte secret to use it (on the command line, --secret-file)"
    )]
    SecretNeeded {
        /// Key id in the file.
        key_id: u64,
    },
    /// A keyed filter opened with another secret.
    #[error("the secret has key id {found:016x}, the filter was made with {expected:016x}")]
    WrongSecret {
        /// Key id in the file.
        expected: u64,
        /// Key id of the secret given.
        found: u64,
    },
    /// A secret given for a filter that has none.
    #[error("the filter is not keyed ({0}); leave the secret out")]
    NotKeyed(Algorithm),

    /// The first bytes are not those of an umbel file.
    #[error("not an umbel file: {}; name a filter that umbel build made",
        if found.is_empty() { "it is empty".to_owned() } else { format!("it begins with \"{}\"", found.escape_ascii()) })]
    NotUmbel {
        /// The bytes found, at most 8.
        found: Vec<u8>,
    },
    /// A file of a format version this release does not read.
    #[error(
        "format version {found}; this release reads version {}; use a matching umbel",
        crate::format::VERSION
    )]
    Version {
        /// Version in the file.
        found: u16,
    },
    /// Fewer bytes than the header promises, or more.
    #[error("header declares a file of {expected} bytes, found {found}; {}",
        if found < expected { "truncated? copy it again" } else { "something was appended; copy it again" })]
    Length {
        /// Bytes the header declares.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The header's own checksum does not match.
    #[error(
        "the header is damaged: its checksum does not match; copy the file again or rebuild it"
    )]
    HeaderDamaged,
    /// Part of the payload does not match its checksum.
    #[error(
        "the payload is damaged between bytes {start} and {end}: its checksum does not match; copy the file \
         again or rebuild it"
    )]
    PayloadDamaged {
        /// First byte of the damaged part, from the start of the file.
        start: u64,
        /// First byte after the damaged part.
        end: u64,
    },
    /// The table of checksums at the end is itself damaged.
    #[error("the checksum table at the end is damaged; copy the file again or rebuild it")]
    ChecksumsDamaged,
    /// A header field has a value this release does not know or that contradicts another.
    #[error("header field `{field}` is {found}; expected {expected}")]
    Field {
        /// Name of the field, as in FORMAT.md.
        field: &'static str,
        /// Value found.
        found: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// A kind that this release does not open.
    #[error(
        "the file holds a filter of kind {0}, which this release does not open; use a newer umbel"
    )]
    UnknownKind(u16),
    /// A hash scheme that this release does not have.
    #[error(
        "the file uses hash algorithm {0}, which this release does not have; use a newer umbel"
    )]
    UnknownAlgorithm(u16),
    /// The bytes of a filter cannot be borrowed where they lie.
    #[error(
        "the filter's bytes start at an address that is not a multiple of 64; copy or map them so that they do"
    )]
    Misaligned,
    /// The memory for a filter could not be had.
    #[error("{bytes} bytes of memory for the filter could not be allocated")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
