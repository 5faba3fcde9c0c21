//! Everything the library refuses, and why. Messages name what was expected, what was found and,
//! where it is known, what to do; the caller that knows a path puts it in front.

use crate::foreign::{Format, KeyType};
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
    /// A goal with too little in it to plan for.
    #[error("give two of keys, fpp and a size (memory, or bytes to send); the third is computed")]
    OpenGoal,
    /// Costs of look-ups that cannot be.
    #[error(
        "a look-up of {lookup} ns, a false answer of {false_answer} ns, {absent} of the look-ups absent: costs are at \
         least 0, the share is from 0 to 1"
    )]
    Costs {
        /// Nanoseconds of a look-up.
        lookup: f64,
        /// Nanoseconds of a false answer.
        false_answer: f64,
        /// The share of look-ups whose key is absent.
        absent: f64,
    },
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
    #[error(
        "{bytes} bytes of memory hold no such filter; the smallest takes 64 bytes, of some kinds more"
    )]
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
        Kind::Stable => "plan a window, or a kind that forgets nothing",
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

    /// A scalable filter whose header has room for no more links.
    #[error(
        "the filter has {links} links of one size and can have no more; begin it with more keys, or let \
         its links double"
    )]
    TooManyLinks {
        /// Links that it has.
        links: usize,
    },
    /// A table without room for a key.
    #[error(
        "the {kind} filter is full: it was planned for {keys} keys, and has no cell left where this one belongs; \
         what came before is in it: build it anew for more keys"
    )]
    Full {
        /// Its kind.
        kind: Kind,
        /// Keys it was planned for.
        keys: u64,
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

    /// A filter of rows without names for their values.
    #[error(
        "an attributes filter is made with the names of its attributes: name each (on the command line with --key, \
         and --csv, --tsv or --jsonl for what a row is)"
    )]
    NoAttributes,
    /// More attributes than a filter may have.
    #[error("{found} attributes; a filter of rows has 1 to {most}{}", match most {
        64 => "",
        _ => " where every subset of them has a tag: tag the whole row instead",
    })]
    AttributeCount {
        /// Attributes named.
        found: usize,
        /// Most that there may be.
        most: usize,
    },
    /// A name that no attribute can have.
    #[error("attribute {name:?}: a name has 1 to 255 bytes of UTF-8, found {}", name.len())]
    AttributeName {
        /// The name.
        name: String,
    },
    /// An attribute named twice.
    #[error("attribute {name:?} is named twice; name each attribute once")]
    AttributeTwice {
        /// The name.
        name: String,
    },
    /// A name that the filter does not have.
    #[error("the filter has no attribute {name:?}, it has {has}; name one of these")]
    UnknownAttribute {
        /// The name asked for.
        name: String,
        /// The names there are.
        has: String,
    },
    /// Attributes left out where a row needs a value for each.
    #[error("a row of this filter has a value for each of {has}; name {missing} too")]
    AttributesMissing {
        /// The names left out.
        missing: String,
        /// The names there are.
        has: String,
    },
    /// Single keys for a filter of rows.
    #[error(
        "the filter holds rows of {has}, not single keys: name attributes of it (on the command line with --key, \
         and --csv, --tsv or --jsonl for what a row is)"
    )]
    Rows {
        /// The names of its attributes.
        has: String,
    },
    /// A row with more values than there are attributes, or fewer.
    #[error("a row of {found} values for a filter of {expected} attributes; give one for each")]
    RowLength {
        /// Attributes of the filter.
        expected: usize,
        /// Values in the row.
        found: usize,
    },
    /// A value too long for a row.
    #[error("a value of {bytes} bytes; those of rows have fewer than 2^32")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// Filters of rows with different attributes cannot be combined.
    #[error(
        "one filter has rows of {left}, the other of {right}; only rows of the same attributes in the same order merge"
    )]
    AttributesDiffer {
        /// Names of the left filter.
        left: String,
        /// Names of the right filter.
        right: String,
    },
    /// Filters of rows made differently cannot be combined.
    #[error(
        "one filter is attributes:{left}, the other attributes:{right}; build both the same way"
    )]
    TagsDiffer {
        /// Detail of the left filter.
        left: u32,
        /// Detail of the right filter.
        right: u32,
    },
    /// A kind that cannot forget a single key.
    #[error(
        "no key can be taken out of a {0} filter: its bits are shared by many keys; \
         build a counting one, or build it anew without the key"
    )]
    CannotRemove(Kind),
    /// A kind that does not turn into the one asked for.
    #[error("a {from} filter does not convert to a {to} one; {}", match to {
        Kind::Blocked => "a counting one does",
        _ => "a counting one converts to a blocked one",
    })]
    CannotConvert {
        /// Kind of the filter.
        from: Kind,
        /// Kind asked for.
        to: Kind,
    },

    /// A kind whose filters cannot be combined.
    #[error(
        "{0} filters do not merge: {why}, or query both",
        why = match .0 {
            Kind::Window => "the generations of one are not as old as those of the other, and what is \
                forgotten when could not be told; add the keys of one to the other",
            Kind::Coded => "a code does not tell which bucket its key belongs to; add the keys of one to the \
                other",
            Kind::Stable => "which keys fade depends on the order in which all of them came; add the keys of \
                one to the other",
            kind if kind.built_at_once() => "each is built at once from all its keys; build one of the keys \
                of both",
            _ => "a chain of both could not keep the rate promised; add the keys of one to the other",
        }
    )]
    NotMergeable(Kind),
    /// Filters of a kind whose bits do not tell what their sets share.
    #[error(
        "the bits of {0} filters do not tell what they share; build a blocked or a classic one of each set's keys"
    )]
    NotComparable(Kind),
    /// A window that counts insertions was told the time.
    #[error(
        "the window is of the last insertions and has no clock; make one by time, and tell it its span"
    )]
    NoClock,
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
    /// Filters with cells of different widths cannot be combined.
    #[error("one filter has {left} bits a cell, the other {right}; plan both for the same")]
    CellsDiffer {
        /// Bits of a cell of the left filter.
        left: u32,
        /// Bits of a cell of the right filter.
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
    /// A name that no foreign format has.
    #[error("{name:?} is no format of another system; those known are {}", names(Format::ALL.map(Format::name)))]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// A name that no type of key has.
    #[error("{name:?} is no type of key; those known are {}", names(KeyType::ALL.map(KeyType::name)))]
    UnknownKeyType {
        /// The name.
        name: String,
    },
    /// A field of a foreign file that is not as its format has it.
    #[error(
        "{format}: `{field}` is {found}; expected {expected}: is it another format, or damaged?"
    )]
    Foreign {
        /// Format it was read as.
        format: Format,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// Fewer bytes than a foreign file declares, or more.
    #[error("{format}: its fields ask for {expected} bytes, found {found}; {}",
        if found < expected { "truncated? copy it again" } else { "is it another format, or was something appended?" })]
    ForeignLength {
        /// Format it was read as.
        format: Format,
        /// Bytes that its fields ask for.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A parameter that a foreign format cannot be given, or that is missing.
    #[error("{format}: the parameter `{parameter}` is {found}; expected {expected}")]
    ForeignParameter {
        /// Format to be made.
        format: Format,
        /// Name of the parameter.
        parameter: &'static str,
        /// Value found, or `nothing`.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A type of key that the system of a format does not hash.
    #[error("{format} filters hold no keys of type {found}; they hold {}", names(format.key_types().iter().map(|key| key.name())))]
    ForeignKeyType {
        /// Format of the filter.
        format: Format,
        /// Type of the key.
        found: &'static str,
    },
    /// A key that the system of a format refuses.
    #[error("{format} filters refuse {what}")]
    ForeignKey {
        /// Format of the filter.
        format: Format,
        /// What is refused.
        what: &'static str,
    },
    /// A foreign filter that takes no more keys.
    #[error("the {format} filter holds the {keys} keys that it takes at most; make one for more")]
    ForeignFull {
        /// Format of the filter.
        format: Format,
        /// Keys it was made for.
        keys: u64,
    },
    /// A line that is no key of the type asked for.
    #[error("\"{}\" is no {expected}; name the right type of key, or leave the line out", line.escape_ascii())]
    KeyText {
        /// The line.
        line: Vec<u8>,
        /// What it should be.
        expected: KeyType,
    },
    /// Filters of different formats cannot be joined.
    #[error("a {left} and a {right} filter cannot be joined; build both in one format")]
    FormatsDiffer {
        /// Format of the left filter.
        left: Format,
        /// Format of the right filter.
        right: Format,
    },
    /// A foreign filter whose bits are of no use in the format asked for.
    #[error(
        "a {from} filter does not convert to {to}, whose keys lie in other places: a filter does not keep its keys, so build one in that format from them"
    )]
    ForeignConvert {
        /// Format of the filter.
        from: Format,
        /// Format asked for.
        to: Format,
    },
    /// Foreign filters that put keys in different places cannot be joined.
    #[error(
        "the {what} of one filter is {left}, of the other {right}; make both with the same parameters"
    )]
    ForeignDiffer {
        /// What differs.
        what: &'static str,
        /// That of the left filter.
        left: String,
        /// That of the right filter.
        right: String,
    },

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

/// Refuses a number in a plan or a header that is not right.
pub(crate) fn check_field(
    field: &'static str,
    found: u64,
    right: bool,
    expected: &'static str,
) -> Result<(), Error> {
    if right { Ok(()) } else { Err(Error::Field { field, found, expected }) }
}

/// Names in a row, for a message.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
