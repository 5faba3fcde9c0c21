//! From a goal to the parameters of a filter: any two of keys, rate and memory give the third.
//!
//! Plans keep their promise by the exact formulas of [`math`](crate::math), including rounding. For 100,000 keys or
//! more, the rate that a full filter computes from its own bits is at most the planned rate with a probability of at
//! least 99.9 %. For fewer keys the expected rate is at most the planned one, and [`Plan::fpp_spread`] gives how far
//! single filters are from it.

mod attributes;
pub(crate) mod bloomier;
pub(crate) mod cascade;
mod coded;
mod error;
mod kind;
mod plain;
mod planner;
mod scalable;
mod sliced;
pub(crate) mod stable;
pub(crate) mod variant;
mod window;
mod within;

pub use attributes::Tags;
pub(crate) use attributes::inside;
#[cfg(test)]
pub(crate) use coded::MOST_LOAD;
pub use error::PlanError;
pub use kind::{Capacity, Kind};
pub(crate) use scalable::most_links;
pub use variant::{Form, Growth, ParseKindError, Variant};

use planner::Planner;
use within::Within;

use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::math::Spread;
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The maximum bits of a filter: 2⁴⁸, 32 TiB.
pub const MAX_BITS: u64 = 1 << 48;
pub use crate::math::MAX_PROBES;
/// From this many keys on, plain filters are sized for half, a quarter, … of their keys, down to 100,000 to 200,000,
/// and then doubled, so that filters for numbers of keys that differ by a power of two fold to each other. A size is
/// rounded up by one unit of the smallest size: 0.4 % at a rate of 0.5, 0.05 % at 0.01. It also has the margin of the
/// smallest, though the rates of larger filters vary less.
const MERGE_FROM: u64 = 100_000;
/// The most by which the promised rate of parts of 100,000 keys and more may exceed its mean: 10 % are 1.3 % of the
/// bits of a blocked filter at 1e-4. Below that rate, blocked filters of so few keys vary more; their margin would cost
/// 4.6 % of the bits at 1e-6 and twice the memory at 1e-9, however many keys there are.
const MOST_MARGIN: f64 = 1.1;
/// So those are doubled from parts whose margin is no more than this: at 1e-6 from some 50 million keys on.
const LEAST_MARGIN: f64 = 1.02;
/// From this many keys on, a full filter keeps the promised rate by its own bits with a probability of at least 99.9 %;
/// smaller ones keep it in expectation.
const SURE_FROM: u64 = MERGE_FROM;

/// A plan for a filter: its parameters and its promise.
///
/// The plan of a scalable filter is for its first link: `keys`, `bits` and `probes` are those of the filter before it
/// grows. Only `fpp` is for the whole, however far it grows; [`link`](Self::link) returns the plans of the links. The
/// plan of an attributes filter is for the filter of each single attribute: `keys` rows, with at most as many different
/// values; [`Variant::share`] divides memory among the filters. The plan of a cascade is for its first level; what is
/// excluded is added to it, see [`for_lists`](Self::for_lists).
///
/// ```
/// use umbel::{Kind, Plan};
/// let plan = Plan::for_keys(Kind::Blocked, 1_000_000, 0.01)?;
/// assert!(plan.predicted_fpp() <= 0.01 && plan.bits_per_key() < 1.06 * 9.585);
/// let same = Plan::for_memory(Kind::Blocked, 1_000_000, plan.bytes())?;
/// assert!(same.fpp() <= 0.01);
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub(crate) kind: Kind,
    pub(crate) keys: u64,
    pub(crate) fpp: f64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
    /// The kind's own parameter, as in files; 0 if it has none.
    ///
    /// | kind | parameter |
    /// |---|---|
    /// | counting | bits of a counter: 4, 8 or 16 |
    /// | scalable | 0: links double; 1: all are for equally many keys |
    /// | stable | bits of a cell, 1 to 8 |
    /// | window | generations |
    /// | attributes | [`Tags`] as a number, plus 10 if the inner filters are classic, not blocked |
    /// | bloomier | bits of a fingerprint, plus, for maps, 256 times the bits of a value |
    /// | coded | bits of a code |
    /// | cascade | 0: levels; 1: one filter with an exact list |
    pub(crate) detail: u32,
}

impl Plan {
    /// Makes a plan with exactly these numbers.
    ///
    /// # Errors
    /// A [`PlanError`] for numbers that do not fit together: probes outside 1 to [`MAX_PROBES`], bits that are not
    /// whole blocks for a kind that has blocks, a parameter left to the plan ([`None`]).
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
        variant.check()?;
        let (kind, detail) = (variant.kind(), variant.detail());
        let plan = Self { kind, keys, fpp, bits, probes, detail };
        plan.check(kind)?;
        Ok(plan)
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its kind with the kind's own parameter.
    pub fn variant(&self) -> Variant {
        Variant::of(self.kind, self.detail).expect("plans are checked when they are made")
    }

    /// Returns the keys it is planned for. In the scalable kind, those before it grows; in the window kind, the most
    /// recent keys, which it remembers; in the stable kind, the insertions through which it remembers a key with a
    /// probability of at least 99 %; in the attributes kind, rows.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the rate promised while it holds at most [`keys`](Self::keys) keys, in (0, 1); see
    /// [`for_keys`](Self::for_keys). In the scalable, stable and window kinds it holds always; in the attributes kind
    /// it is that of each inner filter.
    pub fn fpp(&self) -> f64 {
        self.fpp
    }

    /// Returns the bits, m. A multiple of 512 in the kinds made of blocks. In the counting kind, the bits of all
    /// counters: those of the blocked filter it converts to, times the bits of a counter. In the attributes kind, the
    /// bits of each attribute's filter.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the probes per key, k, 1 to [`MAX_PROBES`]; 1 in the coded kind; in the bloomier kind the slots of a
    /// key, 3.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Plans the smallest filter that holds `keys` keys at a rate of at most `fpp`. A scalable filter accepts them
    /// before it grows, and keeps the rate beyond. `kind` is a [`Kind`], or a [`Variant`]: a kind with its own
    /// parameter.
    ///
    /// From 100,000 keys on, the rate of a full filter, computed from its own bits, is at most `fpp` with a probability
    /// of at least 99.9 % (in the attributes kind, for each inner filter; in the stable kind, at any one time). The
    /// margin for that costs 0.1 to 0.7 % of the bits at rates down to 0.001 (stable and coded: up to 1.4 %); in
    /// filters of blocks 1.3 % at 1e-4 and 5 % at 1e-6. With fewer keys the expected rate is at most `fpp`, and about
    /// half of all filters exceed it, by as much as [`fpp_spread`](Self::fpp_spread) shows.
    ///
    /// Takes milliseconds for the blocked kind, whose rate is a sum over block loads.
    ///
    /// # Errors
    /// [`PlanError::Fpp`], [`PlanError::ZeroKeys`], [`PlanError::TooLarge`] above 2⁴⁸ bits,
    /// [`PlanError::FppOutOfReach`] if the kind cannot keep the rate: most would need more than 4,096 bits per key,
    /// a fingerprint more than 64; [`PlanError::TooManyAtOnce`] for more keys than a bloomier filter can have;
    /// [`PlanError::Detail`] for a parameter that the kind does not have.
    pub fn for_keys(kind: impl Into<Variant>, keys: u64, fpp: f64) -> Result<Self, PlanError> {
        check_fpp(fpp)?;
        check_keys(keys)?;
        let variant = kind.into();
        let (planner, kind, detail) = planner(variant)?;
        let for_keys =
            |keys| planner.for_keys(keys, fpp, detail).map_err(|error| error.of_whole(kind, fpp));
        let doublings = match most_doublings(kind, keys) {
            0 => 0,
            most => {
                let small = for_keys(SURE_FROM - 1)?;
                let times = keys as f64 / small.keys as f64;
                doublings(most, small.fpp_spread().resized(times))
            }
        };
        let part = for_keys(keys.div_ceil(1 << doublings))?;
        check_bits(part.bits as f64 * f64::from(doublings).exp2())?;
        Ok(Plan { keys, bits: part.bits << doublings, ..part })
    }

    /// Plans a classic filter that is sent packed, with `probes` probes per key: the fewest bits for that many probes.
    ///
    /// Fewer probes than [`for_keys`](Self::for_keys) chooses need more bits in memory, but fewer of them are set, and
    /// [packed](https://docs.rs/umbel-share) they are fewer: at 1 %, 8.0 bits sent per key with one probe and 100 in memory, 8.9 and
    /// 19 with two, where the smallest filter in memory has 9.6. The rate is kept as by [`for_keys`](Self::for_keys).
    ///
    /// # Errors
    /// As [`for_keys`](Self::for_keys), [`PlanError::FppOutOfReach`] above 4,096 bits per key; [`PlanError::Field`] unless
    /// `probes` is from 1 to [`MAX_PROBES`].
    ///
    /// M. Mitzenmacher 2002, <https://doi.org/10.1109/TNET.2002.803864>.
    pub fn for_sending(keys: u64, fpp: f64, probes: u32) -> Result<Self, PlanError> {
        check_fpp(fpp)?;
        check_keys(keys)?;
        let possible = (1..=MAX_PROBES).contains(&probes);
        check_field("probes", probes.into(), possible, "1 to 32")?;
        plain::for_sending(keys, fpp, probes)
    }

    /// Plans the lowest rate for `keys` keys in at most `bytes` bytes, promised as by [`for_keys`](Self::for_keys). A
    /// scalable filter stays within `bytes` until it has accepted `keys` keys and grows. Filters of blocks have as many
    /// probes as a plan for keys gives them: a multiple of 8, which is several times faster, if that costs at most 2.5
    /// % of the bits.
    ///
    /// # Errors
    /// [`PlanError::ZeroKeys`], [`PlanError::MemoryTooSmall`] under 64 bytes (of counting and window filters, for each bit
    /// of a counter or generation), [`PlanError::TooManyKeys`] if the keys would fill every bit (the rate would round to
    /// 1), [`PlanError::FirstLinkTooSmall`] if half of all keys would pass the first link of a scalable filter,
    /// [`PlanError::TooManyAtOnce`], [`PlanError::Detail`].
    pub fn for_memory(kind: impl Into<Variant>, keys: u64, bytes: u64) -> Result<Self, PlanError> {
        check_keys(keys)?;
        let (planner, _, detail) = planner(kind.into())?;
        planner.for_memory(keys, bytes, detail).map_err(|error| error.in_all(bytes))
    }

    /// Plans the most keys that fit in `bytes` bytes at a rate of at most `fpp`, promised as by
    /// [`for_keys`](Self::for_keys); for a scalable filter, before it grows.
    ///
    /// # Errors
    /// [`PlanError::Fpp`]; [`PlanError::MemoryTooSmall`] if not even one key fits; [`PlanError::FppOutOfReach`] as of
    /// [`for_keys`](Self::for_keys); [`PlanError::Detail`].
    pub fn for_capacity(kind: impl Into<Variant>, fpp: f64, bytes: u64) -> Result<Self, PlanError> {
        check_fpp(fpp)?;
        let (planner, kind, detail) = planner(kind.into())?;
        let plan = planner.for_capacity(fpp, bytes, detail);
        plan.map_err(|error| error.of_whole(kind, fpp).in_all(bytes))
    }

    /// Returns the rate that the formulas predict for the planned keys, bits and probes.
    pub fn predicted_fpp(&self) -> f64 {
        self.predicted_fpp_at(self.keys)
    }

    /// Returns the rate that the formulas predict if the filter holds `keys` keys.
    ///
    /// A scalable filter is assumed to have grown so far that each link but the last has its planned keys, ignoring the
    /// few that pass a link while it fills. Once it cannot grow, the rate stays the same for more keys. Plans each
    /// link, at some milliseconds each.
    pub fn predicted_fpp_at(&self, keys: u64) -> f64 {
        planner_of(self.kind).predicted_fpp_at(self, keys)
    }

    /// Returns how the rate that a full filter computes from its own bits, [`Receipt::fpp`](crate::Receipt::fpp),
    /// varies over hashings: for a scalable filter that of its first link; for an attributes filter that of each inner
    /// filter; for a stable filter an upper bound, at the stable point.
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
    /// Computed by the [formulas](https://github.com/umbel/umbel/blob/main/docs/mathematics.md#14-the-rate-of-one-filter), which 2,000 filters confirm to within 3 %
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
        planner_of(self.kind).spread(self)
    }

    /// The rate this plan promises: from [`SURE_FROM`] keys on, what 99.9 % of all full filters keep by their own bits;
    /// below, what they keep on average. If sizes are doubled, with the margin of the smallest part, so that the three
    /// planning functions agree.
    fn promised_fpp(&self) -> f64 {
        match self.keys < SURE_FROM {
            true => self.predicted_fpp(),
            false => {
                let spread = self.fpp_spread();
                let doublings = doublings(most_doublings(self.kind, self.keys), spread);
                spread.resized((-f64::from(doublings)).exp2()).upper()
            }
        }
    }

    /// Returns the rate of the filter when it is full: with the planned keys, [`predicted_fpp`](Self::predicted_fpp); for a
    /// kind that grows or forgets, always the promised rate.
    pub fn fpp_at_capacity(&self) -> f64 {
        match self.kind.capacity() {
            Capacity::Most => self.predicted_fpp(),
            Capacity::First | Capacity::Last => self.fpp,
        }
    }

    /// Returns the bytes of the filter's bits.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(BLOCK_BITS) * BLOCK_BYTES
    }

    /// Returns the bytes of the bits if the filter holds `keys` keys: for a scalable filter those of all links that it
    /// needs, for others [`bytes`](Self::bytes).
    ///
    /// Counts only as far as the filter can grow. Plans each link, at some milliseconds each.
    pub fn bytes_at(&self, keys: u64) -> u64 {
        if self.kind != Kind::Scalable {
            return self.bytes();
        }
        let (mut left, mut bytes) = (keys, 0u64);
        for link in (0..most_links(self.detail) as u32).map_while(|index| self.link(index).ok()) {
            bytes = bytes.saturating_add(link.bytes());
            left = left.saturating_sub(link.keys);
            if left == 0 {
                break;
            }
        }
        bytes
    }

    /// Returns m / n, with the planned keys.
    pub fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    /// Returns the plan of link `index` (from 0) of a scalable filter with this plan: a blocked filter for
    /// `keys`·2^`index` keys at `fpp`/2^(`index` + 1); with [`Growth::Even`] for `keys` keys at `fpp`·(6/π²)/(`index` +
    /// 1)². Either way these rates sum to less than `fpp`, since 1/2 + 1/4 + … = 1 and 1 + 1/4 + 1/9 + … = π²/6; and
    /// the probability that a key passes any link is at most their sum.
    ///
    /// While a link fills, keys that pass it set no bit and are not counted, so more than the planned keys reach it. It
    /// has bits for 1/(1 − its rate) times its keys, so that it keeps its rate with these.
    ///
    /// P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, <https://doi.org/10.1016/j.ipl.2006.10.007>, with growth
    /// s = 2 and tightening ratio r = 1/2. Links of one size come from the dynamic filters of D. Guo, J. Wu, H. Chen,
    /// Y. Yuan, X. Luo 2010, <https://doi.org/10.1109/TKDE.2009.57>; there all links also have one rate, so the total
    /// grows with their number, while here it is bounded.
    ///
    /// # Errors
    /// [`PlanError::Kind`] for a plan of another kind; [`PlanError::TooLarge`] and [`PlanError::FppOutOfReach`] if the
    /// filter cannot grow further; [`PlanError::Field`] with [`Growth::Even`] from link 1,024 on, which no filter has.
    pub fn link(&self, index: u32) -> Result<Self, PlanError> {
        if self.kind != Kind::Scalable {
            return Err(PlanError::Kind { expected: Kind::Scalable, found: self.kind });
        }
        let (keys, fpp) = self.link_goal(index)?;
        match index {
            0 => Ok(Self { fpp, ..self.part() }),
            _ => scalable::link_for(index, keys, fpp)
                .map_err(|error| error.of_whole(self.kind, self.fpp)),
        }
    }

    /// Returns the plan of each generation of a window filter with this plan: a blocked filter for ⌈`keys`/(G − 1)⌉
    /// keys at 1 − (1 − `fpp`)^(1/G), with G generations in all.
    ///
    /// # Errors
    /// [`PlanError::Kind`] for a plan of another kind, and errors of plans made by hand.
    pub fn generation(&self) -> Result<Self, PlanError> {
        self.check(Kind::Window)?;
        Ok(self.part())
    }

    /// The keys and rate of a link. Part of the format.
    pub(crate) fn link_goal(&self, index: u32) -> Result<(u64, f64), PlanError> {
        let keys = match self.detail {
            scalable::FIXED => {
                let (links, most) = (u64::from(index) + 1, most_links(self.detail) as u64);
                check_field("links", links, links <= most, "1 to 1024 links of one size")?;
                self.keys
            }
            _ => {
                let doubled =
                    1u64.checked_shl(index).and_then(|times| self.keys.checked_mul(times));
                let bits = self.keys as f64 * f64::from(index).exp2();
                doubled.ok_or(PlanError::TooLarge { bits })?
            }
        };
        Ok((keys, scalable::link_fpp(self.fpp, index, self.detail)))
    }

    /// The plan of a filter folded to a part of its size.
    pub(crate) fn divided(self, divisor: u64) -> Self {
        Self { bits: self.bits / divisor, keys: (self.keys / divisor).max(1), ..self }
    }

    /// The plan of a filter merged with another of the same size.
    pub(crate) fn merged(self, other: &Self) -> Self {
        Self { keys: self.keys.max(other.keys), fpp: self.fpp.max(other.fpp), ..self }
    }

    /// Checks that this plan is for `kind` and its numbers are possible.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), PlanError> {
        if self.kind != kind {
            return Err(PlanError::Kind { expected: kind, found: self.kind });
        }
        check_fpp(self.fpp)?;
        check_keys(self.keys)?;
        check_bits(self.bits as f64)?;
        if !(1..=MAX_PROBES).contains(&self.probes) {
            return Err(PlanError::Probes { probes: u64::from(self.probes) });
        }
        kind.check_detail(self.detail)?;
        planner_of(kind).check(self)
    }
}

/// How often a plan doubles its smallest part, for a filter with this spread: as often as allowed, or until the part's
/// margin is small.
fn doublings(most: u32, spread: Spread) -> u32 {
    let within = |doublings: u32, margin: f64| {
        spread.resized((-f64::from(doublings)).exp2()).upper() <= margin * spread.mean
    };
    if within(most, MOST_MARGIN) {
        return most;
    }
    (0..most).rev().find(|&doublings| within(doublings, LEAST_MARGIN)).unwrap_or(0)
}

/// How often a plan for `keys` keys may double its smallest part.
fn most_doublings(kind: Kind, keys: u64) -> u32 {
    if kind.is_plain() { (keys / MERGE_FROM).max(1).ilog2() } else { 0 }
}

/// Like [`crate::error::check_field`], for a plan.
pub(crate) fn check_field(
    field: &'static str,
    found: u64,
    right: bool,
    expected: &'static str,
) -> Result<(), PlanError> {
    Ok(crate::error::check_field(field, found, right, expected)?)
}

fn planner_of(kind: Kind) -> &'static dyn Planner {
    match kind {
        Kind::Blocked => &plain::Blocked,
        Kind::Classic => &plain::Classic,
        Kind::Sliced => &sliced::Sliced,
        Kind::Scalable => &scalable::Scalable,
        Kind::Window => &window::Window,
        Kind::Coded => &coded::Coded,
        Kind::Stable => &stable::Stable,
        Kind::Bloomier => &bloomier::Bloomier,
        Kind::Counting => &Within(Kind::Counting),
        Kind::Attributes => &Within(Kind::Attributes),
        Kind::Cascade => &Within(Kind::Cascade),
    }
}

/// The planner of a kind, the kind, and its own parameter.
fn planner(variant: Variant) -> Result<(&'static dyn Planner, Kind, u32), PlanError> {
    variant.check()?;
    Ok((planner_of(variant.kind()), variant.kind(), variant.detail()))
}

fn check_bits(bits: f64) -> Result<(), PlanError> {
    if bits <= MAX_BITS as f64 { Ok(()) } else { Err(PlanError::TooLarge { bits }) }
}

pub(crate) fn check_fpp(fpp: f64) -> Result<(), PlanError> {
    if fpp > 0.0 && fpp < 1.0 { Ok(()) } else { Err(PlanError::Fpp(fpp)) }
}

pub(crate) fn check_keys(keys: u64) -> Result<(), PlanError> {
    if keys > 0 { Ok(()) } else { Err(PlanError::ZeroKeys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: Variant = Variant::Scalable { growth: Growth::Even };

    #[test]
    fn links_of_one_size_share_the_promise_out() {
        for fpp in [0.5, 0.01, 1e-6, 1e-9] {
            let plan = Plan::for_keys(EVEN, 1_000, fpp).unwrap();
            let mut sum = 0.0;
            for index in 0..1_024 {
                let (keys, rate) = plan.link_goal(index).unwrap();
                assert_eq!(keys, 1_000);
                sum += rate;
            }
            assert!(sum < fpp && sum > 0.999 * fpp, "{sum} of {fpp}");
            let mut before = 0.0;
            for keys in [1, 1_000, 1_001, 20_000] {
                let rate = plan.predicted_fpp_at(keys);
                assert!(before <= rate && rate <= fpp, "{keys} {rate} of {fpp}");
                before = rate;
            }
            let by_memory = Plan::for_memory(EVEN, 1_000, plan.bytes()).unwrap();
            assert!(by_memory.fpp <= fpp * 1.0001 && by_memory.predicted_fpp() <= by_memory.fpp);
            assert_eq!((by_memory.bytes(), by_memory.detail), (plan.bytes(), 1));
            let most = Plan::for_capacity(EVEN, fpp, plan.bytes()).unwrap();
            assert!(most.keys >= 1_000 && most.link(0).unwrap().predicted_fpp() <= most.fpp);
        }
        let error = Variant::of(Kind::Scalable, 2).unwrap_err();
        assert!(matches!(error, PlanError::Detail { found: 2, .. }), "{error}");
    }
}
