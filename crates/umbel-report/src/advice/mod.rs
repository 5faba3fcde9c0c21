//! Which kind of Bloom filter to choose: ranks all kinds of the crate [`umbel`] for a goal, and lists the reasons if a kind does
//! not fit.
//!
//! ```
//! use umbel::Kind;
//! use umbel_report::advice::{Costs, Goal, Verdict, advise};
//!
//! let mut goal = Goal::for_keys(1_000_000, 0.01);
//! goal.deletes = true;
//! let advice = advise(&goal)?;
//! assert!(matches!(advice.verdict, Verdict::Take(_)));
//! assert_eq!(advice.choices[0].variant.kind(), Kind::Counting);
//!
//! // A look-up that takes 5 ns is cheaper than any filter in front of it.
//! goal.costs = Some(Costs::new(5.0, 0.9));
//! let advice = advise(&goal)?;
//! assert!(matches!(advice.verdict, Verdict::NoFilter { .. }));
//! # Ok::<(), umbel_report::advice::Error>(())
//! ```
//!
//! A [`Goal`] is two of keys, rate and size, and the operations to support. [`advise`] plans every kind for it, ranks suitable ones
//! by measured time and by space ([`Ranking`]), and lists the [`Obstacle`]s of the others. `umbel filter plan` prints this;
//! [`formulas`] are behind its tables and pictures. [`Profile`] shows how evenly a filter's bits are used, [`Inside`] every cell.

mod error;
mod explain;
pub mod formulas;
mod inside;
mod occupancy;
mod prices;
mod profile;
mod sending;
pub mod sources;

use std::cmp::Ordering;
use std::fmt;

pub use error::Error;
pub use explain::Step;
pub use inside::Inside;
pub use prices::{MEASURED_ON, Price};
pub use profile::{Load, Profile, Section, Stretch};
pub use sending::{Sent, by_bits_sent};
pub use sources::Source;

use umbel::internals::format::{self, Header};
use umbel::{Capacity, Form, Kind, Plan, PlanError, Variant};

/// The goal of a filter. Give two of `keys`, `fpp` and a size (`memory`, `ship` or both); with all three, the sizes are
/// limits.
///
/// Start from one of its functions, or from the empty [`Goal::default`]; then set what else matters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Goal {
    /// Keys to hold; with `grows` the initial ones, with `ages` the most recent ones, which matter.
    pub keys: Option<u64>,
    /// The maximum false positive rate, in (0, 1).
    pub fpp: Option<f64>,
    /// The maximum bytes of the filter in memory.
    pub memory: Option<u64>,
    /// The maximum bytes of the file that is sent to others.
    pub ship: Option<u64>,
    /// Whether keys are removed, one by one.
    pub deletes: bool,
    /// Whether an unknown number of keys beyond `keys` may come.
    pub grows: bool,
    /// Whether all keys are known before the filter is made, and none is added later.
    pub known: bool,
    /// Whether only the most recent keys matter, and older ones should be forgotten.
    pub ages: bool,
    /// The number of keys, also known, that must not pass: an allow list.
    pub except: u64,
    /// The costs of look-ups, from which to compute what a filter saves.
    pub costs: Option<Costs>,
}

/// The costs of look-ups.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// Nanoseconds of the look-up that the filter guards, and avoids for absent keys.
    pub lookup: f64,
    /// Nanoseconds that a false positive costs; usually as many as a look-up.
    pub false_answer: f64,
    /// The share of look-ups whose key is absent, in [0, 1].
    pub absent: f64,
}

impl Costs {
    /// For look-ups that take `lookup` nanoseconds, whether the key is present or not; `absent` is the share of absent keys.
    pub const fn new(lookup: f64, absent: f64) -> Self {
        Self { lookup, false_answer: lookup, absent }
    }
}

/// A kind of filter, evaluated for a goal.
#[derive(Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The kind, with its parameter.
    pub variant: Variant,
    /// Its plan, if there is one.
    pub plan: Option<Plan>,
    /// Bytes in memory: for a filter that grows, before it does; for a cascade, of all its levels.
    pub memory: u64,
    /// Bytes of the file that is sent: a counting filter is sent as the blocked one it converts to.
    pub ship: u64,
    /// The predicted rate.
    pub fpp: f64,
    /// Cache lines that a look-up of a present key reads.
    pub lines: f64,
    /// The measured time of a look-up.
    pub price: Option<Price>,
    /// Expected nanoseconds of a look-up behind the filter, if the goal has costs.
    pub cost: Option<f64>,
    /// The reasons why it does not fit; empty if it does.
    pub obstacles: Vec<Obstacle>,
}

/// Why a kind does not fit a goal.
#[derive(Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// Keys cannot be removed.
    KeepsKeys,
    /// It is for a fixed number of keys.
    DoesNotGrow,
    /// It is built once from all its keys, and the goal does not say that they are known.
    BuiltAtOnce,
    /// It forgets keys.
    Forgets,
    /// It does not forget keys.
    NeverForgets,
    /// It holds rows of several fields.
    Rows,
    /// On average, this many of the keys that must not pass would pass.
    LetsPass(f64),
    /// Without keys that must not pass, it is only a blocked filter with overhead.
    NothingExcluded,
    /// It needs more memory than the goal allows.
    Memory {
        /// Bytes it needs.
        needs: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// Its file is larger than what can be sent.
    Ship {
        /// Bytes it needs.
        needs: u64,
        /// Bytes that can be sent.
        limit: u64,
    },
    /// The plan is impossible.
    Plan(PlanError),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepsKeys => f.write_str("keys cannot be removed"),
            Self::DoesNotGrow => f.write_str("has a fixed size: more keys raise its rate"),
            Self::BuiltAtOnce => "is built from all its keys at once and accepts none later".fmt(f),
            Self::Forgets => f.write_str("forgets old keys"),
            Self::NeverForgets => f.write_str("never forgets, so it fills up as keys keep coming"),
            Self::Rows => f.write_str("is for rows of several fields, any of which is looked up"),
            Self::LetsPass(keys) => match keys.round() {
                0.0 => f.write_str("could let a key pass that must not"),
                _ => write!(f, "would let about {keys:.0} of the keys pass that must not"),
            },
            Self::NothingExcluded => f.write_str("needs a list of keys that must not pass"),
            Self::Memory { needs: bytes, limit } => {
                write!(f, "needs {bytes} bytes of memory; the limit is {limit}")
            }
            Self::Ship { needs: bytes, limit } => {
                write!(f, "has a file of {bytes} bytes; the limit is {limit}")
            }
            Self::Plan(error) => error.fmt(f),
        }
    }
}

/// The recommendation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Use this kind, the first of the choices.
    Take(Variant),
    /// Use no filter: with the best one, a look-up costs as much as without, or more.
    NoFilter {
        /// Expected nanoseconds of a look-up with the best filter.
        with: f64,
        /// Nanoseconds without one.
        without: f64,
    },
    /// No kind fits.
    Nothing,
}

/// Below this rate, kinds are ranked by size alone. The bits of a blocked filter grow faster than log₂(1/p), because
/// its fullest blocks must keep the rate: they are 2 times that at 1e-6, 3 times at 1e-9 and 8 times at 1e-12, while a
/// classic filter always has 1.44 times as many. Time × space would still choose the blocked one, since a look-up in a
/// classic filter takes longer at lower rates.
pub const LOW_FPP: f64 = 1e-6;

/// If more absent keys than this pass the filter that fits a given size, it does not count as a filter.
const MOST_FPP: f64 = 0.99;

/// The criterion by which choices are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ranking {
    /// The expected cost of a look-up.
    Cost,
    /// The file that is sent: its bytes; with a given size, the rate; with a given size and rate, the keys.
    Shipped,
    /// Time × space: the nanoseconds of a look-up, times bits per key over log₂(1/p), the fewest that any filter of its
    /// rate needs.
    TimeSpace,
    /// Bits per key over log₂(1/p) alone, for rates below [`LOW_FPP`].
    Space,
}

/// The advice for a goal: every kind, with the best fitting one first.
#[derive(Debug)]
#[non_exhaustive]
pub struct Advice {
    /// The recommendation.
    pub verdict: Verdict,
    /// The criterion of the order.
    pub ranking: Ranking,
    /// The kinds that fit, ranked; then the others.
    pub choices: Vec<Choice>,
}

/// Ranks every kind for a goal. Takes some milliseconds, most of it for the sums over block loads.
///
/// # Errors
/// [`Error::OpenGoal`] unless two of keys, fpp and a size are given; [`Error::Plan`] for no keys or an impossible rate;
/// [`Error::Costs`] for negative or infinite costs, or a share outside [0, 1].
pub fn advise(goal: &Goal) -> Result<Advice, Error> {
    goal.check()?;
    let mut variants: Vec<Variant> = Kind::ALL.iter().copied().map(Variant::from).collect();
    if goal.except > 0 {
        // In addition to levels, one filter with an exact list.
        variants.push(Variant::Cascade { form: Form::List });
    }
    let mut choices: Vec<Choice> =
        variants.into_iter().map(|variant| goal.choice(variant)).collect();
    let ranking = match goal {
        Goal { costs: Some(_), .. } => Ranking::Cost,
        Goal { ship: Some(_), .. } => Ranking::Shipped,
        Goal { fpp: Some(fpp), .. } if *fpp < LOW_FPP => Ranking::Space,
        _ => Ranking::TimeSpace,
    };
    choices.sort_by(|left, right| goal.order(ranking, left, right));
    let best = choices.first().filter(|best| best.fits());
    let verdict = match (best, goal.costs) {
        (None, _) => Verdict::Nothing,
        (Some(Choice { cost: Some(with), .. }), Some(costs)) if *with >= costs.lookup => {
            Verdict::NoFilter { with: *with, without: costs.lookup }
        }
        (Some(best), _) => Verdict::Take(best.variant),
    };
    Ok(Advice { verdict, ranking, choices })
}

/// Refuses a false positive rate below what a filter of `keys` keys can keep: keys · 2⁻¹²⁸ of the absent keys share all
/// 128 hash bits with one of them.
///
/// # Errors
/// [`Error::BelowHash`].
pub fn check_fpp(keys: u64, fpp: f64) -> Result<(), Error> {
    let least = keys as f64 * 2f64.powi(-128);
    if fpp > 0.0 && fpp < least { Err(Error::BelowHash { fpp, keys, least }) } else { Ok(()) }
}

impl Goal {
    /// To hold `keys` keys at a false positive rate of at most `fpp`, in as little memory as that needs.
    pub fn for_keys(keys: u64, fpp: f64) -> Self {
        Self { keys: Some(keys), fpp: Some(fpp), ..Self::default() }
    }

    /// To hold `keys` keys in at most `bytes` bytes of memory, at as low a rate as that allows.
    pub fn for_memory(keys: u64, bytes: u64) -> Self {
        Self { keys: Some(keys), memory: Some(bytes), ..Self::default() }
    }

    /// To hold as many keys as `bytes` bytes of memory can at a false positive rate of at most `fpp`.
    pub fn for_capacity(fpp: f64, bytes: u64) -> Self {
        Self { fpp: Some(fpp), memory: Some(bytes), ..Self::default() }
    }

    fn check(&self) -> Result<(), Error> {
        let size = self.memory.or(self.ship).is_some();
        let given = [self.keys.is_some(), self.fpp.is_some(), size];
        if given.into_iter().filter(|given| *given).count() < 2 {
            return Err(Error::OpenGoal);
        }
        if self.keys == Some(0) {
            return Err(PlanError::ZeroKeys.into());
        }
        if let Some(fpp) = self.fpp.filter(|fpp| !(*fpp > 0.0 && *fpp < 1.0)) {
            return Err(PlanError::Fpp(fpp).into());
        }
        if let Some(fpp) = self.fpp {
            check_fpp(self.keys.unwrap_or(1), fpp)?;
        }
        if let Some(Costs { lookup, false_answer, absent }) = self.costs {
            let cost = |cost: f64| cost.is_finite() && cost >= 0.0;
            if !(cost(lookup) && cost(false_answer) && (0.0..=1.0).contains(&absent)) {
                return Err(Error::Costs { lookup, false_answer, absent });
            }
        }
        Ok(())
    }

    fn choice(&self, variant: Variant) -> Choice {
        let kind = variant.kind();
        let mut obstacles = self.obstacles(kind);
        let useful = |plan: Plan| match self.fpp.is_some() || plan.fpp_at_capacity() <= MOST_FPP {
            true => Ok(plan),
            false => Err(PlanError::TooManyKeys(plan.keys(), plan.bits())),
        };
        let plan = self.plan(variant).and_then(useful);
        let plan = plan.map_err(|error| obstacles.push(Obstacle::Plan(error))).ok();
        let memory = plan.as_ref().map_or(0, |plan| self.bytes(plan));
        let payload = plan.as_ref().map_or(0, |plan| memory / shrinkage(plan.variant()));
        let ship = payload + overhead(payload);
        let fpp = plan.as_ref().map_or(1.0, Plan::fpp_at_capacity);
        let price = plan.as_ref().and_then(prices::of);
        let cost = plan.as_ref().zip(self.costs).zip(price).map(|((_, costs), price)| {
            let Costs { lookup, false_answer, absent } = costs;
            price.one + (1.0 - absent) * lookup + absent * fpp * false_answer
        });
        if plan.is_some() {
            if let Some(limit) = self.memory.filter(|&limit| memory > limit) {
                obstacles.push(Obstacle::Memory { needs: memory, limit });
            }
            if let Some(limit) = self.ship.filter(|&limit| ship > limit) {
                obstacles.push(Obstacle::Ship { needs: ship, limit });
            }
            if self.except > 0 && kind != Kind::Cascade {
                obstacles.push(Obstacle::LetsPass(self.except as f64 * fpp));
            }
        }
        let lines = plan.as_ref().map_or(0.0, |plan| self.lines(plan));
        Choice { variant, plan, memory, ship, fpp, lines, price, cost, obstacles }
    }

    /// The requirements of the goal that the kind does not meet.
    fn obstacles(&self, kind: Kind) -> Vec<Obstacle> {
        let forgets = kind.capacity() == Capacity::Last;
        let fixed = kind.capacity() == Capacity::Most && !kind.built_at_once();
        let removed = self.deletes && kind.removes();
        let all = [
            (kind.rows(), Obstacle::Rows),
            (kind.built_at_once() && !self.known, Obstacle::BuiltAtOnce),
            (kind == Kind::Cascade && self.except == 0, Obstacle::NothingExcluded),
            (self.deletes && !kind.removes(), Obstacle::KeepsKeys),
            (self.grows && fixed, Obstacle::DoesNotGrow),
            (self.ages && !forgets && !removed, Obstacle::NeverForgets),
            (!self.ages && forgets, Obstacle::Forgets),
        ];
        all.into_iter().filter_map(|(there, obstacle)| there.then_some(obstacle)).collect()
    }

    fn plan(&self, variant: Variant) -> Result<Plan, PlanError> {
        let lists = |keys, fpp| match (variant.kind(), self.except) {
            (Kind::Cascade, 1..) => Plan::for_lists(variant, keys, self.except, fpp),
            _ => Plan::for_keys(variant, keys, fpp),
        };
        // The limit in bytes of payload.
        let payload = |ship: u64| ship.saturating_sub(overhead(ship));
        let sent = self.ship.map(|ship| payload(ship).saturating_mul(shrinkage(variant)));
        let size = self.memory.into_iter().chain(sent).min();
        let has_levels = variant.kind() == Kind::Cascade && self.except > 0;
        match (self.keys, self.fpp, size) {
            (Some(keys), Some(fpp), _) => lists(keys, fpp),
            (Some(keys), None, Some(size)) if has_levels => self.lowest_rate(keys, size, lists),
            (Some(keys), None, Some(size)) => Plan::for_memory(variant, keys, size),
            (None, Some(fpp), Some(size)) => Plan::for_capacity(variant, fpp, size),
            _ => unreachable!("the goal was checked: it has two of them"),
        }
    }

    /// By bisection of the rate's logarithm: more levels compensate for a small first one.
    fn lowest_rate(
        &self,
        keys: u64,
        size: u64,
        plan: impl Fn(u64, f64) -> Result<Plan, PlanError>,
    ) -> Result<Plan, PlanError> {
        let (mut low, mut high) = (f64::ln(1e-12), f64::ln(0.5));
        let mut best = Err(PlanError::TooManyKeys(keys, size.saturating_mul(8)));
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            match plan(keys, middle.exp()) {
                Ok(plan) if self.bytes(&plan) <= size => (best, high) = (Ok(plan), middle),
                _ => low = middle,
            }
        }
        best
    }

    fn bytes(&self, plan: &Plan) -> u64 {
        match plan.kind() {
            Kind::Cascade => plan.bytes_for_lists(plan.keys(), self.except),
            _ => plan.bytes(),
        }
    }

    /// Cache lines of a look-up that finds its key.
    fn lines(&self, plan: &Plan) -> f64 {
        match plan.variant() {
            Variant::Blocked | Variant::Scalable { .. } => 1.0,
            // The first two planes of a block show whether its counters are 0.
            Variant::Counting { .. } => 2.0,
            Variant::Window { generations } => f64::from(generations),
            // A present key is looked up in the further levels too, as long as they let it pass: half of them do.
            Variant::Cascade { form: Form::Levels } if self.except > 0 => 3.0,
            Variant::Coded { .. } | Variant::Cascade { .. } => 1.0,
            _ => f64::from(plan.probes()),
        }
    }

    /// Puts suitable kinds first, then orders by the ranking.
    fn order(&self, ranking: Ranking, left: &Choice, right: &Choice) -> Ordering {
        let over_bound = |choice: &Choice| Some(choice.bits_per_key()? / -choice.fpp.log2());
        let rank = |choice: &Choice| match ranking {
            Ranking::Cost => choice.cost.unwrap_or(f64::INFINITY),
            Ranking::Shipped => match (self.keys, self.fpp) {
                (Some(_), Some(_)) => choice.ship as f64,
                (Some(_), None) => choice.fpp,
                _ => choice.plan.as_ref().map_or(f64::INFINITY, |plan| 1.0 / plan.keys() as f64),
            },
            Ranking::Space => over_bound(choice).unwrap_or(f64::INFINITY),
            Ranking::TimeSpace => {
                let price = over_bound(choice).zip(choice.price);
                price.map_or(f64::INFINITY, |(space, price)| price.one * space)
            }
        };
        // Differences below a hundredth are only rounding, so they do not count.
        let by_size = matches!(ranking, Ranking::Shipped | Ranking::Space);
        let rank = |choice: &Choice| match rank(choice) {
            rank if by_size && rank > 0.0 => (100.0 * rank.ln()).round(),
            rank => rank,
        };
        let time = |choice: &Choice| choice.price.map_or(f64::INFINITY, |price| price.one);
        let fits = |choice: &Choice| (!choice.fits(), choice.plan.is_none());
        fits(left)
            .cmp(&fits(right))
            .then(rank(left).total_cmp(&rank(right)))
            .then(time(left).total_cmp(&time(right)))
    }
}

impl Choice {
    /// Returns whether the kind fits the goal.
    pub fn fits(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Returns the bits in memory per planned key.
    pub fn bits_per_key(&self) -> Option<f64> {
        self.plan.as_ref().map(|plan| 8.0 * self.memory as f64 / plan.keys() as f64)
    }

    /// Returns the derivation of its figures: the formulas with numbers filled in.
    pub fn explain(&self, goal: &Goal) -> Vec<Step> {
        explain::explain(self, goal)
    }
}

/// Bytes of a file besides its payload: header and checksums.
fn overhead(payload: u64) -> u64 {
    format::file_length(Header::LENGTH as u64, payload).map_or(0, |length| length - payload)
}

/// The ratio of the bytes in memory to the bytes sent.
fn shrinkage(variant: Variant) -> u64 {
    match variant {
        Variant::Counting { counter_bits } => counter_bits.into(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
