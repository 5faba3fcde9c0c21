//! The kinds of filters, by name and number, and what can be done with each.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The kinds of filters there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// One cache line a key: the fastest.
    Blocked = 1,
    /// Bloom's own: the fewest bits.
    Classic = 2,
    /// One slice of the bits for each probe.
    Sliced = 3,
    /// A counter in place of each bit of a blocked filter: keys can be removed.
    Counting = 4,
    /// Grows: a chain of blocked filters, their error bounded over all growth.
    Scalable = 5,
    /// Forgets old keys: a stream without end in constant space.
    Stable = 6,
    /// Remembers the last keys and forgets older ones.
    Window = 7,
    /// Built at once from all its keys: the smallest, and a map to values.
    Bloomier = 8,
    /// Rows of several attributes, any of which can be asked.
    Attributes = 9,
    /// Hash-coded cells: a table of short codes, the error set by their width.
    Coded = 10,
    /// Built at once from keys that match and keys that must not: no error on either.
    Cascade = 11,
}

impl Kind {
    /// Every kind, in the order of their numbers in files.
    pub const ALL: [Self; 11] = [
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

    pub(crate) fn from_id(id: u16) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|&kind| kind as u16 == id).ok_or(Error::UnknownKind(id))
    }

    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Classic => "classic",
            Self::Sliced => "sliced",
            Self::Counting => "counting",
            Self::Scalable => "scalable",
            Self::Window => "window",
            Self::Attributes => "attributes",
            Self::Coded => "coded",
            Self::Stable => "stable",
            Self::Bloomier => "bloomier",
            Self::Cascade => "cascade",
        }
    }

    /// Whether it takes keys one by one; other kinds are [built at once](Self::built_at_once), or take
    /// [rows](Self::rows).
    pub fn inserts(self) -> bool {
        !self.rows() && !self.built_at_once()
    }

    /// Whether it is built at once from all its keys, and takes no more.
    pub fn built_at_once(self) -> bool {
        matches!(self, Self::Bloomier | Self::Cascade)
    }

    /// Whether it takes rows of values with names, instead of keys.
    pub fn rows(self) -> bool {
        matches!(self, Self::Attributes)
    }

    /// Whether keys can be taken out of it again.
    pub fn removes(self) -> bool {
        matches!(self, Self::Counting)
    }

    /// What its payload is made of, and its fill counts.
    pub fn cells(self) -> &'static str {
        match self {
            Self::Counting => "counters",
            Self::Stable => "cells",
            _ => "bits",
        }
    }

    /// Whether its bits depend on the order in which keys are inserted.
    pub fn in_order(self) -> bool {
        matches!(self, Self::Scalable | Self::Stable | Self::Window | Self::Coded)
    }

    /// What `keys` of its plans are.
    pub fn capacity(self) -> Capacity {
        match self {
            Self::Scalable => Capacity::First,
            Self::Stable | Self::Window => Capacity::Last,
            _ => Capacity::Most,
        }
    }

    /// This kind with its own parameter, [`Plan::detail`](super::Plan::detail).
    pub const fn with(self, detail: u32) -> Variant {
        Variant { kind: self, detail: Some(detail) }
    }
}

/// What [`Plan::keys`](super::Plan::keys) counts in a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capacity {
    /// The most it holds at its rate.
    Most,
    /// What it takes before it grows; its rate holds for any number.
    First,
    /// The last ones inserted, which it remembers (a stable filter each with a chance of at least 99 %); it takes
    /// any number, forgets older ones, and its rate holds.
    Last,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("no kind is called {name:?}; there are {}", names.join(", "))
        })
    }
}

/// A kind and, where it has one, its own parameter: what a plan is asked for. A kind alone takes the
/// usual one.
///
/// Written `kind` or `kind:parameter`, e.g. `blocked` or `bloomier:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kind.
    pub kind: Kind,
    /// Its [`detail`](super::Plan::detail), when it is not the usual one.
    pub detail: Option<u32>,
}

impl From<Kind> for Variant {
    fn from(kind: Kind) -> Self {
        Self { kind, detail: None }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail {
            None => f.pad(self.kind.name()),
            Some(detail) => f.pad(&format!("{}:{detail}", self.kind)),
        }
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((kind, detail)) = text.split_once(':') else {
            return Ok(Kind::from_str(text)?.into());
        };
        let kind = Kind::from_str(kind)?;
        let detail = detail.parse();
        let detail =
            detail.map_err(|_| format!("{text:?}: what follows {kind}: is a whole number"))?;
        Ok(kind.with(detail))
    }
}
