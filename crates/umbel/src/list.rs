//! The list of kinds, their numbers in files, and their parameters. A kind is a folder under `kinds` and an entry here;
//! code that exists once per kind is generated from this list.

/// Calls `$then!` with `[$arguments]` and the list: for each kind its docs, name, number in files, module, and the
/// fields of its parameter.
macro_rules! for_kinds {
    ($then:ident ! [$($arguments:tt)*]) => {
        $then! {
            [$($arguments)*]
            /// One cache line per key: the fastest.
            Blocked = 1, blocked;
            /// Bloom's original: the fewest bits of the Bloom kinds.
            Classic = 2, classic;
            /// A classic filter with a slice of the bits for each probe.
            Sliced = 3, sliced;
            /// A counter in place of each bit of a blocked filter: keys can be removed.
            Counting = 4, counting {
                /// Bits of a counter: 4 (usual), 8 or 16.
                counter_bits: u32,
            };
            /// Grows without bound: a chain of blocked filters, whose total error is bounded.
            Scalable = 5, scalable {
                /// How it grows.
                growth: Growth,
            };
            /// Forgets old keys gradually: for an endless stream in constant space.
            Stable = 6, stable {
                /// Bits of a cell: 1 to 8, usually 4.
                cell_bits: u32,
            };
            /// Remembers the most recent keys and forgets older ones.
            Window = 7, window {
                /// Generations: 2 to 8, usually 4.
                generations: u32,
            };
            /// Built once from all its keys: the smallest, and also a map to values.
            Bloomier = 8, bloomier {
                /// Bits of a fingerprint: 1 to 64, or `None` for as many as the rate needs; 0 is possible in maps.
                fingerprint_bits: Option<u32>,
                /// Bits of a value, 0 to 64; above 0 only in maps.
                value_bits: u32,
            };
            /// Rows of several attributes: queries name any subset of them.
            Attributes = 9, attributes {
                /// Which joint tags rows have; usually one of the whole row.
                tags: Tags,
                /// Whether the inner filters are classic, not blocked: fewer bits, more cache lines.
                classic: bool,
            };
            /// A table of short codes. Their width sets the rate.
            Coded = 10, coded {
                /// Bits of a code: 2 to 40, or `None` for as many as the rate needs.
                code_bits: Option<u32>,
            };
            /// Built once from keys that match and keys that must not: no error on either.
            Cascade = 11, cascade {
                /// How its first level is corrected.
                form: Form,
            };
        }
    };
}

/// Calls `$then!` with `[$arguments]` and only the name and module of each kind.
macro_rules! for_each_kind {
    (
        [$then:ident $arguments:tt]
        $($(#[$about:meta])* $name:ident = $number:literal, $module:ident $({ $($fields:tt)* })?;)*
    ) => {
        $then! { $arguments $($name $module)* }
    };
    ($then:ident ! $arguments:tt) => {
        for_kinds! { for_each_kind![$then $arguments] }
    };
}

/// Runs `$does` with the filter type of a kind as `$filter` and its planner as `$planner`.
macro_rules! of_kind {
    ([($kind:expr) $filter:ident $planner:ident ($does:expr)] $($name:ident $module:ident)*) => {
        match $kind {
            $(Kind::$name => {
                #[allow(unused_imports)]
                use crate::kinds::$module::{$name as $filter, Plans as $planner};
                $does
            })*
        }
    };
    ($kind:expr, $filter:ident, $planner:ident => $does:expr) => {
        for_each_kind!(of_kind![($kind) $filter $planner ($does)])
    };
}

macro_rules! kinds {
    ([] $($(#[$about:meta])* $name:ident = $number:literal, $module:ident $({ $($fields:tt)* })?;)*) => {
        /// A kind of filter, numbered as in files. [`Display`](core::fmt::Display) gives its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Kind {
            $($(#[$about])* $name = $number,)*
        }

        impl Kind {
            /// Every kind of this version, in the order of their numbers in files.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name used on the command line and in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($module),)*
                }
            }
        }

        /// A kind with its parameter, as planned. Converting a [`Kind`] gives the usual parameter. Written `kind` or
        /// `kind:parameter`, such as `blocked` or `bloomier:12`, with the parameter as in files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Variant {
            $($(#[$about])* $name $({ $($fields)* })?,)*
        }

        impl Variant {
            /// Returns its kind.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$name { .. } => Kind::$name,)*
                }
            }
        }
    };
}

for_kinds!(kinds![]);

impl Kind {
    pub(crate) fn from_id(id: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|&kind| kind as u16 == id)
    }

    /// The indefinite article for its name: "an" attributes filter.
    pub(crate) fn article(self) -> &'static str {
        if self.name().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
    }
}

impl core::fmt::Display for Kind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// The meaning of [`Plan::keys`](crate::Plan::keys) for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capacity {
    /// The most keys it holds at its rate.
    Most,
    /// The keys it accepts before it grows; its rate holds for any number.
    First,
    /// The most recent keys, which it remembers (in a stable filter each with a probability of at least 99 %). It
    /// accepts any number, forgets older ones, and keeps its rate.
    Last,
}

/// How a scalable filter grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Growth {
    /// Each link is for twice the keys of the one before: the default.
    Doubling = 0,
    /// All links are for equally many keys.
    Even = 1,
}

/// Which joint tags an attributes filter keeps for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Tags {
    /// None: values that occur in different rows always pass together.
    None = 0,
    /// One for the whole row: rejects wrong combinations only in queries that name every attribute.
    Row = 1,
    /// One for every subset of two or more attributes: rejects wrong combinations in every query.
    Subsets = 2,
}

/// How the first level of a cascade is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Form {
    /// More levels: the default.
    Levels = 0,
    /// An exact list of the excluded keys that the first level lets pass.
    List = 1,
}
