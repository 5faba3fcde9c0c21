//! Planning and properties of any kind: every method calls the planner of the kind.

use core::fmt;
use core::str::FromStr;

use super::prelude::*;

impl Plan {
    /// Makes a plan with exactly these numbers.
    ///
    /// # Errors
    /// A [`PlanError`] if the numbers do not fit together: probes outside 1 to [`MAX_PROBES`](crate::MAX_PROBES), bits
    /// that are not whole blocks in a kind of blocks, a parameter left to the plan ([`None`]).
    ///
    /// ```
    /// use umbel::{Plan, Variant};
    /// let plan = Plan::from_parts(Variant::Blocked, 1_000, 0.01, 10_240, 8)?;
    /// assert!(plan.predicted_fpp() <= 0.01);
    /// assert!(Plan::from_parts(Variant::Blocked, 1_000, 0.01, 10_240, 40).is_err());
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn from_parts(
        variant: impl Into<Variant>,
        keys: u64,
        fpp: f64,
        bits: u64,
        probes: u32,
    ) -> Result<Self, PlanError> {
        let variant = variant.into();
        let plan = Self { variant, keys, fpp, bits, probes };
        of_kind!(variant.kind(), F, P => P::check(&plan)?);
        Ok(plan)
    }

    /// Plans the smallest filter for `keys` keys at a rate of at most `fpp`. A scalable filter accepts them before it
    /// grows, and keeps the rate beyond. `kind` is a [`Kind`], or a [`Variant`]: a kind with its parameter.
    ///
    /// From 100,000 keys on, the rate of a full filter, computed from its own bits, is at most `fpp` with a probability
    /// of at least 99.9 % (in the attributes kind, for each inner filter; in the stable kind, at any one time). That
    /// margin costs 0.1 to 0.7 % of the bits at rates down to 0.001 (stable and coded: up to 1.4 %); in filters of
    /// blocks 1.3 % at 1e-4 and 5 % at 1e-6. With fewer keys the expected rate is at most `fpp`, and about half of all
    /// filters exceed it, by as much as [`fpp_spread`](Self::fpp_spread) shows.
    ///
    /// Takes milliseconds for the blocked kind, whose rate is a sum over block loads.
    ///
    /// # Errors
    /// [`PlanError::Fpp`], [`PlanError::ZeroKeys`], [`PlanError::TooLarge`] above 2⁴⁸ bits,
    /// [`PlanError::FppOutOfReach`] if the kind cannot keep the rate (most would need more than 4,096 bits per key, a
    /// fingerprint more than 64), [`PlanError::TooManyAtOnce`] for more keys than a bloomier filter can have,
    /// [`PlanError::Detail`] for a parameter that the kind lacks.
    pub fn for_keys(kind: impl Into<Variant>, keys: u64, fpp: f64) -> Result<Self, PlanError> {
        let variant = kind.into();
        of_kind!(variant.kind(), F, P => P::plan(variant, keys, fpp))
    }

    /// Plans the lowest rate for `keys` keys in at most `bytes` bytes, promised as by [`for_keys`](Self::for_keys). A
    /// scalable filter exceeds `bytes` only when it grows, after `keys` keys. Filters of blocks have as many probes as
    /// a plan for keys gives them: a multiple of 8, several times faster, if that costs at most 2.5 % of the bits.
    ///
    /// # Errors
    /// [`PlanError::ZeroKeys`], [`PlanError::MemoryTooSmall`] under 64 bytes (in counting and window filters, for each
    /// bit of a counter or generation), [`PlanError::TooManyKeys`] if the keys would fill every bit (a rate that rounds
    /// to 1), [`PlanError::FirstLinkTooSmall`] if half of all keys would pass a scalable filter's first link,
    /// [`PlanError::TooManyAtOnce`], [`PlanError::Detail`].
    pub fn for_memory(kind: impl Into<Variant>, keys: u64, bytes: u64) -> Result<Self, PlanError> {
        let variant = kind.into();
        of_kind!(variant.kind(), F, P => P::plan_in(variant, keys, bytes))
    }

    /// Plans the most keys that fit in `bytes` bytes at a rate of at most `fpp`, promised as by
    /// [`for_keys`](Self::for_keys); for a scalable filter, before it grows.
    ///
    /// # Errors
    /// [`PlanError::Fpp`]; [`PlanError::MemoryTooSmall`] if not even one key fits; [`PlanError::FppOutOfReach`] as in
    /// [`for_keys`](Self::for_keys); [`PlanError::Detail`].
    pub fn for_capacity(kind: impl Into<Variant>, fpp: f64, bytes: u64) -> Result<Self, PlanError> {
        let variant = kind.into();
        of_kind!(variant.kind(), F, P => P::plan_most(variant, fpp, bytes))
    }

    /// Returns the rate predicted for the planned keys, bits and probes.
    pub fn predicted_fpp(&self) -> f64 {
        self.predicted_fpp_at(self.keys)
    }

    /// Returns the rate predicted with `keys` keys. For a scalable filter, each link but the last has its planned keys
    /// (ignoring the few that pass a link while it fills); once it cannot grow, the rate stays the same. Plans each
    /// link, at some milliseconds each.
    pub fn predicted_fpp_at(&self, keys: u64) -> f64 {
        of_kind!(self.kind(), F, P => P::predicted_fpp_at(self, keys))
    }

    /// Returns how the rate that a full filter computes from its own bits, [`Receipt::fpp`](crate::Receipt::fpp),
    /// varies over hashings. In a scalable filter, of the first link; in an attributes filter, of each inner filter; in
    /// a stable filter, an upper bound at the stable point.
    ///
    /// The deviation falls with 1/√`keys`. In percent of the rate:
    ///
    /// | keys | kind | 0.1 | 0.01 | 0.001 | 1e-6 |
    /// |---|---|---|---|---|---|
    /// | 1,000 | blocked | 2.5 | 7.5 | 11 | 85 |
    /// | 1,000 | classic | 2.4 | 3.9 | 4.6 | 6.5 |
    /// | 10,000 | blocked | 0.8 | 2.3 | 3.5 | 25 |
    /// | 10,000 | classic | 0.8 | 1.2 | 1.5 | 2.1 |
    /// | 100,000 | blocked | 0.25 | 0.73 | 1.1 | 8.5 |
    /// | 100,000 | classic | 0.25 | 0.39 | 0.46 | 0.65 |
    ///
    /// Computed by the [formulas](https://github.com/umbel/umbel/blob/main/docs/internals.md#14-the-rate-of-one-filter), which 2,000 filters confirm to within 3 %
    /// from 1,000 keys on (at 1e-6, 10 %); for blocked filters of 100 keys they overstate it up to 1.5 times.
    ///
    /// ```
    /// # use umbel::{Kind, Plan};
    /// let spread = Plan::for_keys(Kind::Blocked, 10_000, 0.01)?.fpp_spread();
    /// assert!(spread.mean <= 0.01 && (0.022..0.024).contains(&(spread.deviation / spread.mean)));
    /// assert!(spread.upper() > 1.08 * spread.mean, "one filter in a thousand has 8 % more");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn fpp_spread(&self) -> Spread {
        of_kind!(self.kind(), F, P => P::spread(self))
    }

    /// Returns the rate of a full filter: [`predicted_fpp`](Self::predicted_fpp), or for a kind that grows or forgets,
    /// the promised rate.
    #[doc(hidden)]
    pub fn fpp_at_capacity(&self) -> f64 {
        match self.kind().capacity() {
            Capacity::Most => self.predicted_fpp(),
            Capacity::First | Capacity::Last => self.fpp,
        }
    }

    /// Returns the bytes with `keys` keys: for a scalable filter, of all links that it needs, as far as it can grow;
    /// for others [`bytes`](Self::bytes). Plans each link, at some milliseconds each.
    #[doc(hidden)]
    pub fn bytes_at(&self, keys: u64) -> u64 {
        of_kind!(self.kind(), F, P => P::bytes_at(self, keys))
    }
}

impl Kind {
    /// Returns whether it accepts keys one by one; other kinds are [built at once](Self::built_at_once), or hold
    /// [rows](Self::rows).
    #[doc(hidden)]
    pub fn inserts(self) -> bool {
        !self.rows() && !self.built_at_once()
    }
}

/// Methods of [`Kind`] that return a constant of its planner.
macro_rules! constants {
    ($($(#[$about:meta])* $reach:vis $name:ident: $type:ty = $constant:ident;)*) => {
        impl Kind {
            $(
                $(#[$about])*
                $reach fn $name(self) -> $type {
                    of_kind!(self, F, P => P::$constant)
                }
            )*
        }
    };
}

constants! {
    /// Returns whether it is built once from all its keys, and accepts no more.
    pub built_at_once: bool = BUILT_AT_ONCE;
    /// Returns whether it holds rows of named values instead of keys.
    #[doc(hidden)]
    pub rows: bool = ROWS;
    /// Returns whether keys can be removed.
    #[doc(hidden)]
    pub removes: bool = REMOVES;
    /// Returns the unit of its payload, fill and [`Receipt::set_bits`](crate::Receipt::set_bits).
    #[doc(hidden)]
    pub cells: &'static str = CELLS;
    /// Returns whether its bits depend on the order of insertions.
    #[doc(hidden)]
    pub in_order: bool = IN_ORDER;
    /// Whether its bits are only ever set: threads may each fill a copy, to be merged.
    pub(crate) plain: bool = PLAIN;
    /// Whether a look-up knows beforehand which blocks it reads.
    #[cfg(feature = "mmap")]
    pub(crate) knows_reads: bool = KNOWS_READS;
    /// Why its filters do not merge.
    pub(crate) unmerged: Option<&'static str> = UNMERGED;
    /// Returns the meaning of `keys` in its plans.
    #[doc(hidden)]
    pub capacity: Capacity = CAPACITY;
}

impl From<Kind> for Variant {
    fn from(kind: Kind) -> Self {
        of_kind!(kind, F, P => P::USUAL)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        if *self == Self::from(kind) {
            return f.pad(kind.name());
        }
        let number = of_kind!(kind, F, P => P::number(*self));
        f.pad(&format!("{kind}:{number}"))
    }
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(name: &str) -> Result<Self, ParseKindError> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(ParseKindError::Name)
    }
}

impl FromStr for Variant {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, ParseKindError> {
        let Some((kind, number)) = text.split_once(':') else {
            return Ok(Kind::from_str(text)?.into());
        };
        let kind = Kind::from_str(kind)?;
        let number = number.parse().map_err(|_| ParseKindError::Parameter(kind))?;
        Ok(of_kind!(kind, F, P => P::variant(number).ok_or(P::no_parameter(number)))?)
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
    /// Unknown name.
    #[error("no such kind; the kinds are {}", names())]
    Name,
    /// The text after the colon is not a number.
    #[error("the part after {0}: must be a whole number")]
    Parameter(Kind),
    /// The number is not a valid parameter of this kind.
    #[error(transparent)]
    Plan(#[from] PlanError),
}
