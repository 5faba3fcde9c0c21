//! The kinds of filters: their names, numbers and abilities.

use core::fmt;

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
