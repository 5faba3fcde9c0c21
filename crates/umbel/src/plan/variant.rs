//! Kinds with their own parameters, as they are planned, written and numbered in files.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use super::{Kind, PlanError, Tags, attributes};
use crate::math::coded::MOST_CODE;
use crate::prelude::*;

/// The maximum bits of a bloomier filter's fingerprint, of its value, and of both together.
pub(crate) const MOST_WIDTH: u32 = 64;

/// The parameter of a bloomier filter or map with these widths, in bits.
pub(crate) const fn slot_detail(fingerprint: u32, value: u32) -> u32 {
    fingerprint | value << 8
}

/// Bits of the fingerprint and of the value.
pub(crate) const fn widths(detail: u32) -> (u32, u32) {
    (detail & 0xff, detail >> 8)
}

impl Kind {
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
                0..=slot_detail(0, MOST_WIDTH),
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

    /// Returns the bytes to plan with, of `bytes` bytes for a whole filter of rows with this many attributes, since a
    /// plan is for one of its filters. For other kinds, all of them.
    pub fn share(self, attributes: usize, bytes: u64) -> u64 {
        if !self.kind().rows() {
            return bytes;
        }
        let (tags, _) = attributes::inside(self.detail());
        let filters = tags.per_row(attributes).saturating_add(attributes as u64).max(1);
        // Parts are whole blocks of 64 bytes, and so is that of the tags.
        bytes / filters / 64 * 64
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
                slot_detail(fingerprint, value_bits)
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
                let most = MOST_WIDTH;
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
                let (fingerprint, value_bits) = widths(detail);
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
