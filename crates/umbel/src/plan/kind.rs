//! The kinds of filters: their names, numbers and abilities.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use super::{PlanError, Tags, attributes, bloomier};
use crate::math::coded::MOST_CODE;
use crate::prelude::*;

/// A kind of filter, numbered as in files. [`Display`](core::fmt::Display) gives its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// One cache line per key: the fastest.
    Blocked = 1,
    /// Bloom's original: the fewest bits of the Bloom kinds.
    Classic = 2,
    /// A classic filter with a slice of the bits for each probe.
    Sliced = 3,
    /// A counter in place of each bit of a blocked filter: keys can be removed.
    Counting = 4,
    /// Grows without a bound: a chain of blocked filters, whose total error is bounded.
    Scalable = 5,
    /// Forgets old keys gradually: for an endless stream in constant space.
    Stable = 6,
    /// Remembers the most recent keys and forgets older ones.
    Window = 7,
    /// Built once from all its keys: the smallest, and also a map to values.
    Bloomier = 8,
    /// Rows of several attributes: queries name any subset of them.
    Attributes = 9,
    /// A table of short codes, whose width sets the rate.
    Coded = 10,
    /// Built once from keys that match and keys that must not: no error on either.
    Cascade = 11,
}

impl Kind {
    /// Every kind of this version, in the order of their numbers in files.
    pub const ALL: &'static [Self] = &[
        Self::Blocked,
        Self::Classic,
        Self::Sliced,
        Self::Counting,
        Self::Scalable,
        Self::Stable,
        Self::Window,
        Self::Bloomier,
        Self::Attributes,
        Self::Coded,
        Self::Cascade,
    ];

    pub(crate) fn from_id(id: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|&kind| kind as u16 == id)
    }

    /// Returns the name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 11] = [
            "blocked",
            "classic",
            "sliced",
            "counting",
            "scalable",
            "stable",
            "window",
            "bloomier",
            "attributes",
            "coded",
            "cascade",
        ];
        NAMES[self as usize - 1]
    }

    /// The indefinite article for its name: "an" attributes filter.
    pub(crate) fn article(self) -> &'static str {
        if self == Self::Attributes { "an" } else { "a" }
    }

    /// Its own parameter: the usual one, what it may be, and that in words. Part of the format.
    pub(super) fn details(self) -> (u32, RangeInclusive<u32>, &'static str) {
        match self {
            Self::Blocked | Self::Classic | Self::Sliced => {
                (0, 0..=0, "none: the kind has no parameter")
            }
            Self::Counting => (4, 4..=16, "4, 8 or 16 bits per counter"),
            Self::Scalable => (
                0,
                0..=1,
                "0, each link for twice the keys of the one before, or 1, all for as many",
            ),
            Self::Stable => (4, 1..=8, "1 to 8 bits per cell"),
            Self::Window => (4, 2..=8, "2 to 8 generations"),
            Self::Bloomier => (
                0,
                0..=bloomier::detail(0, bloomier::MOST_WIDTH),
                "1 to 64 bits of fingerprint; 0 for as many as the fpp asks for",
            ),
            Self::Attributes => (
                1,
                0..=12,
                "0 no tags, 1 a tag of each row, 2 tags of all its subsets; 10, 11, 12 the same with classic filters",
            ),
            Self::Coded => {
                (0, 0..=MOST_CODE, "the bits of a code, 2 to 40; 0 chooses them by the rate")
            }
            Self::Cascade => (0, 0..=1, "0 for levels, 1 for one filter beside an exact list"),
        }
    }

    pub(super) fn no_detail(self, found: u32) -> PlanError {
        PlanError::Detail { kind: self, found, expected: self.details().2 }
    }

    /// Checks that a parameter is valid for the kind.
    pub(super) fn check_detail(self, detail: u32) -> Result<(), PlanError> {
        let possible = match self {
            Self::Counting => detail.is_power_of_two(),
            Self::Attributes => detail % 10 < 3,
            _ => true,
        };
        match possible && self.details().1.contains(&detail) {
            true => Ok(()),
            false => Err(self.no_detail(detail)),
        }
    }

    /// Returns whether it accepts keys one by one; other kinds are [built at once](Self::built_at_once), or hold
    /// [rows](Self::rows).
    pub fn inserts(self) -> bool {
        !self.rows() && !self.built_at_once()
    }

    /// Whether it is nothing but bits that are set.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Self::Blocked | Self::Classic | Self::Sliced)
    }

    /// Returns whether it is built once from all its keys, and accepts no more.
    pub fn built_at_once(self) -> bool {
        matches!(self, Self::Bloomier | Self::Cascade)
    }

    /// Returns whether it holds rows of named values instead of keys.
    pub fn rows(self) -> bool {
        matches!(self, Self::Attributes)
    }

    /// Returns whether keys can be removed.
    pub fn removes(self) -> bool {
        matches!(self, Self::Counting)
    }

    /// Returns what its payload is made of, and what its fill and [`Receipt::set_bits`](crate::Receipt::set_bits) count.
    pub fn cells(self) -> &'static str {
        match self {
            Self::Counting => "counters",
            Self::Stable => "cells",
            Self::Coded => "codes",
            Self::Bloomier => "slots",
            _ => "bits",
        }
    }

    /// Returns whether its bits depend on the order of insertions.
    pub fn in_order(self) -> bool {
        matches!(self, Self::Scalable | Self::Stable | Self::Window | Self::Coded)
    }

    /// Returns the meaning of `keys` in its plans.
    pub fn capacity(self) -> Capacity {
        match self {
            Self::Scalable => Capacity::First,
            Self::Stable | Self::Window => Capacity::Last,
            _ => Capacity::Most,
        }
    }
}

/// The meaning of [`Plan::keys`](super::Plan::keys) for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capacity {
    /// The most keys it holds at its rate.
    Most,
    /// The keys it accepts before it grows; its rate holds for any number.
    First,
    /// The most recent keys, which it remembers (a stable filter each with a probability of at least 99 %). It accepts
    /// any number, forgets older ones, and keeps its rate.
    Last,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(name: &str) -> Result<Self, ParseKindError> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(ParseKindError::Name)
    }
}

/// The names of all kinds, for a message.
fn names() -> String {
    Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}

/// Why a text does not name a kind.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseKindError {
    /// No kind has this name.
    #[error("no such kind; the kinds are {}", names())]
    Name,
    /// The text after the colon is not a number.
    #[error("the part after {0}: must be a whole number")]
    Parameter(Kind),
    /// The number is not a valid parameter of this kind.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A kind with its own parameter, as planned. Converting a [`Kind`] gives the usual parameter.
///
/// Written `kind` or `kind:parameter`, such as `blocked` or `bloomier:12`, with the parameter as in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// A blocked filter.
    Blocked,
    /// A classic filter.
    Classic,
    /// A sliced filter.
    Sliced,
    /// A counting filter.
    Counting {
        /// Bits of a counter: 4 (usual), 8 or 16.
        counter_bits: u32,
    },
    /// A scalable filter.
    Scalable {
        /// How it grows.
        growth: Growth,
    },
    /// A stable filter.
    Stable {
        /// Bits of a cell: 1 to 8, usually 4.
        cell_bits: u32,
    },
    /// A window filter.
    Window {
        /// Generations: 2 to 8, usually 4.
        generations: u32,
    },
    /// A bloomier filter, or a map.
    Bloomier {
        /// Bits of a fingerprint: 1 to 64, or `None` for as many as the rate needs; 0 is possible in maps.
        fingerprint_bits: Option<u32>,
        /// Bits of a value, 0 to 64; above 0 only in maps.
        value_bits: u32,
    },
    /// A filter of rows.
    Attributes {
        /// Which joint tags rows have; usually one of the whole row.
        tags: Tags,
        /// Whether the inner filters are classic, not blocked: fewer bits, more cache lines.
        classic: bool,
    },
    /// A coded filter.
    Coded {
        /// Bits of a code: 2 to 40, or `None` for as many as the rate needs.
        code_bits: Option<u32>,
    },
    /// A cascade.
    Cascade {
        /// What corrects its first level.
        form: Form,
    },
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

/// What corrects the first level of a cascade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Form {
    /// More levels: the default.
    Levels = 0,
    /// An exact list of the excluded keys that the first level lets pass.
    List = 1,
}

impl Variant {
    /// Returns its kind.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Blocked => Kind::Blocked,
            Self::Classic => Kind::Classic,
            Self::Sliced => Kind::Sliced,
            Self::Counting { .. } => Kind::Counting,
            Self::Scalable { .. } => Kind::Scalable,
            Self::Stable { .. } => Kind::Stable,
            Self::Window { .. } => Kind::Window,
            Self::Bloomier { .. } => Kind::Bloomier,
            Self::Attributes { .. } => Kind::Attributes,
            Self::Coded { .. } => Kind::Coded,
            Self::Cascade { .. } => Kind::Cascade,
        }
    }

    /// Its parameter as a number, as in files; 0 if it has none, or leaves it to the plan.
    pub(crate) const fn detail(self) -> u32 {
        match self {
            Self::Blocked | Self::Classic | Self::Sliced => 0,
            Self::Counting { counter_bits: bits } | Self::Stable { cell_bits: bits } => bits,
            Self::Scalable { growth } => growth as u32,
            Self::Window { generations } => generations,
            Self::Bloomier { fingerprint_bits, value_bits } => {
                let fingerprint = match fingerprint_bits {
                    Some(bits) => bits,
                    None => 0,
                };
                bloomier::detail(fingerprint, value_bits)
            }
            Self::Attributes { tags, classic } => tags as u32 + if classic { 10 } else { 0 },
            Self::Coded { code_bits } => match code_bits {
                Some(bits) => bits,
                None => 0,
            },
            Self::Cascade { form } => form as u32,
        }
    }

    /// Checks that the parameter is valid for the kind, before it becomes a number.
    pub(crate) fn check(self) -> Result<(), PlanError> {
        let wrong = match self {
            Self::Bloomier { fingerprint_bits, value_bits } => {
                let most = bloomier::MOST_WIDTH;
                let wide =
                    [fingerprint_bits.unwrap_or(1), value_bits].into_iter().find(|w| *w > most);
                // For a map, the fingerprint is never left to the rate.
                let none =
                    fingerprint_bits.map_or(value_bits > 0, |bits| bits == 0 && value_bits == 0);
                wide.or(none.then_some(0))
            }
            Self::Coded { code_bits: Some(0) } => Some(0),
            _ => None,
        };
        match wrong {
            Some(found) => Err(self.kind().no_detail(found)),
            None => self.kind().check_detail(self.detail()),
        }
    }

    /// The variant of a kind, by its parameter in files.
    pub(crate) fn of(kind: Kind, detail: u32) -> Result<Self, PlanError> {
        kind.check_detail(detail)?;
        Ok(match kind {
            Kind::Blocked => Self::Blocked,
            Kind::Classic => Self::Classic,
            Kind::Sliced => Self::Sliced,
            Kind::Counting => Self::Counting { counter_bits: detail },
            Kind::Scalable => Self::Scalable {
                growth: if detail == Growth::Even as u32 { Growth::Even } else { Growth::Doubling },
            },
            Kind::Stable => Self::Stable { cell_bits: detail },
            Kind::Window => Self::Window { generations: detail },
            Kind::Bloomier => {
                let (fingerprint, value_bits) = bloomier::widths(detail);
                let fingerprint_bits = (detail > 0).then_some(fingerprint);
                Self::Bloomier { fingerprint_bits, value_bits }
            }
            Kind::Attributes => {
                let (tags, inside) = attributes::inside(detail);
                Self::Attributes { tags, classic: inside == Kind::Classic }
            }
            Kind::Coded => Self::Coded { code_bits: (detail > 0).then_some(detail) },
            Kind::Cascade => Self::Cascade {
                form: if detail == Form::List as u32 { Form::List } else { Form::Levels },
            },
        })
    }
}

impl From<Kind> for Variant {
    fn from(kind: Kind) -> Self {
        Self::of(kind, kind.details().0).expect("what is usual is possible")
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::from(self.kind()) {
            return f.pad(self.kind().name());
        }
        f.pad(&format!("{}:{}", self.kind(), self.detail()))
    }
}

impl FromStr for Variant {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, ParseKindError> {
        let Some((kind, detail)) = text.split_once(':') else {
            return Ok(Kind::from_str(text)?.into());
        };
        let kind = Kind::from_str(kind)?;
        let detail = detail.parse().map_err(|_| ParseKindError::Parameter(kind))?;
        Ok(Self::of(kind, detail)?)
    }
}
