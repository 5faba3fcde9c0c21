//! From a goal to the parameters of a filter: any two of keys, fpp and memory give the third.
//!
//! Plans keep their promise: the predicted rate at the planned keys is at most the rate asked for,
//! by the exact formulas of [`math`](crate::math), rounding included.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::math::{blocked::Pattern, classic};

/// Most bits of a filter: 2⁴⁸, 32 TiB.
pub const MAX_BITS: u64 = 1 << 48;
/// Most probes a key.
pub const MAX_PROBES: u32 = 32;

/// Block counts keep this many leading binary digits, the rest are zero: at most 2⁻¹⁰ = 0.1 % is
/// rounded up, and plans for n, 2n, 4n … keys at one rate have sizes that fold to each other, from 1,024
/// blocks on (50,000 keys at 1 %); smaller ones are rounded to whole blocks, which may not fold.
const SIZE_DIGITS: u32 = 11;

/// Lanes are taken when they need at most this many times the bits of the best scatter pattern.
/// They cost 2.0 % at fpp 0.01, 1.5 % at 0.001 and 0.9 % at 1e-6, and are several times faster to
/// compute; at 0.1 they would cost 22 %.
const LANES_WORTH: f64 = 1.025;

/// The kinds of filters there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// One cache line a key: the fastest.
    Blocked = 1,
    /// Bloom's own: the fewest bits.
    Classic = 2,
    /// Grows: a chain of blocked filters, their error bounded over all growth.
    Scalable = 5,
}

impl Kind {
    /// Every kind, in the order of their numbers in files.
    pub const ALL: [Self; 3] = [Self::Blocked, Self::Classic, Self::Scalable];

    pub(crate) fn from_id(id: u16) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|&kind| kind as u16 == id).ok_or(Error::UnknownKind(id))
    }

    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Classic => "classic",
            Self::Scalable => "scalable",
        }
    }
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

/// What to build, and what it promises.
///
/// The plan of a scalable filter is for its first link: `keys`, `bits` and `probes` are those of the
/// filter before it grows. Only `fpp` is for all of it, however far it grows; [`link`](Self::link)
/// tells what the links are planned for.
///
/// ```
/// use umbel::{Kind, Plan};
/// let plan = Plan::for_keys(Kind::Blocked, 1_000_000, 0.01)?;
/// assert!(plan.predicted_fpp() <= 0.01 && plan.bits_per_key() < 1.06 * 9.585);
/// let same = Plan::for_memory(Kind::Blocked, 1_000_000, plan.bytes())?;
/// assert!(same.fpp <= 0.01);
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Kind of filter.
    pub kind: Kind,
    /// Keys it is meant to hold; in the scalable kind, before it grows.
    pub keys: u64,
    /// The rate promised while it holds at most `keys` keys, in (0, 1); in the scalable kind, always.
    pub fpp: f64,
    /// Bits, m. A multiple of 512 in the blocked and scalable kinds.
    pub bits: u64,
    /// Probes a key, k.
    pub probes: u32,
}

impl Plan {
    /// The smallest filter that holds `keys` keys at a rate of at most `fpp`; a scalable one takes
    /// them before it grows, and keeps the rate beyond.
    ///
    /// Costs milliseconds for the blocked kind, whose rate is a sum over block loads.
    ///
    /// # Errors
    /// [`Error::Fpp`], [`Error::ZeroKeys`], [`Error::TooLarge`] above 2⁴⁸ bits,
    /// [`Error::FppOutOfReach`] when a blocked or scalable filter would need more than 4,096 bits a
    /// key.
    pub fn for_keys(kind: Kind, keys: u64, fpp: f64) -> Result<Self, Error> {
        check_fpp(fpp)?;
        check_keys(keys)?;
        if kind == Kind::Scalable {
            return Ok(Self { kind, fpp, ..link_for(keys, fpp / 2.0)? });
        }
        let shape = Shape::for_fpp(kind, fpp)?;
        let mut blocks = checked_blocks(keys as f64 / shape.load())?;
        let mut plan = shape.plan(keys, fpp, size_at_least(blocks));
        // The shape's load is for large filters; the exact rate of a tiny one is higher.
        while plan.predicted_fpp() > fpp {
            blocks = plan.bits / BLOCK_BITS + 1;
            plan = shape.plan(keys, fpp, size_at_least(blocks));
        }
        check_bits(plan.bits as f64)?;
        Ok(plan)
    }

    /// The lowest rate for `keys` keys in at most `bytes` bytes of filter; a scalable one keeps within
    /// `bytes` until it has taken `keys` keys and grows.
    ///
    /// # Errors
    /// [`Error::ZeroKeys`], [`Error::MemoryTooSmall`] under 64 bytes, [`Error::TooManyKeys`] when
    /// the keys would fill every bit (the rate would round to 1), [`Error::FirstLinkTooSmall`] when
    /// half of all keys would pass the first link of a scalable filter.
    pub fn for_memory(kind: Kind, keys: u64, bytes: u64) -> Result<Self, Error> {
        check_keys(keys)?;
        if kind == Kind::Scalable {
            return first_link_within(keys, bytes);
        }
        let blocks = blocks_within(bytes)?;
        let bits = blocks * BLOCK_BITS;
        let best = |probes: u32| Self { kind, keys, fpp: 0.5, bits, probes }.predicted_fpp();
        let probes = match kind {
            Kind::Classic => {
                let guess = classic::best_probes(keys as f64, bits as f64);
                let around = [guess.floor(), guess.ceil()].map(|k| (k as u32).clamp(1, MAX_PROBES));
                if best(around[1]) < best(around[0]) { around[1] } else { around[0] }
            }
            Kind::Blocked => {
                // The classic optimum bounds the blocked one from above.
                let guess = classic::best_probes(keys as f64, bits as f64).ceil();
                climb((guess as u32).clamp(1, MAX_PROBES), |k| -best(k))
            }
            Kind::Scalable => unreachable!("planned as its first link"),
        };
        let mut plan = Self { kind, keys, fpp: 0.5, bits, probes };
        plan.fpp = plan.predicted_fpp();
        if plan.fpp >= 1.0 {
            return Err(Error::TooManyKeys { keys, bits });
        }
        // So little that it underflows is still not 0.
        plan.fpp = plan.fpp.max(f64::MIN_POSITIVE);
        Ok(plan)
    }

    /// The most keys that fit in `bytes` bytes of filter at a rate of at most `fpp`; in a scalable one,
    /// before it grows.
    ///
    /// # Errors
    /// [`Error::Fpp`]; [`Error::MemoryTooSmall`] when not even one key fits.
    pub fn for_capacity(kind: Kind, fpp: f64, bytes: u64) -> Result<Self, Error> {
        check_fpp(fpp)?;
        if kind == Kind::Scalable {
            let link = Self::for_capacity(Kind::Blocked, fpp / 2.0, bytes)?;
            let mut keys = (link.keys as f64 * (1.0 - fpp / 2.0)) as u64;
            while offered(keys, fpp / 2.0) > link.keys {
                keys -= 1;
            }
            return match keys {
                0 => Err(Error::MemoryTooSmall { bytes }),
                keys => Ok(Self { kind, keys, fpp, ..link }),
            };
        }
        let blocks = blocks_within(bytes)?;
        let shape = Shape::for_fpp(kind, fpp)?;
        let mut plan = shape.plan((shape.load() * blocks as f64) as u64, fpp, blocks);
        while plan.keys > 0 && plan.predicted_fpp() > fpp {
            plan.keys -= 1 + plan.keys / 10_000;
        }
        if plan.keys == 0 {
            return Err(Error::MemoryTooSmall { bytes });
        }
        Ok(plan)
    }

    /// The rate that the formulas give for `keys` keys in `bits` bits with `probes` probes.
    pub fn predicted_fpp(&self) -> f64 {
        self.predicted_fpp_at(self.keys)
    }

    /// The rate that the formulas give when the filter holds `keys` keys.
    ///
    /// A scalable filter is taken to have grown so far that each link but the last has its planned
    /// keys; the few that pass a link while it fills are left out. The rate at which it can grow no
    /// more is that of any more keys. Plans a link for each doubling.
    pub fn predicted_fpp_at(&self, keys: u64) -> f64 {
        match self.kind {
            Kind::Scalable => {
                let (mut left, mut none) = (keys, 0.0);
                for index in 0.. {
                    let Ok(link) = self.link(index) else { break };
                    let taken = left.min(link.keys);
                    none += (-link.predicted_fpp_at(taken)).ln_1p();
                    left -= taken;
                    if left == 0 {
                        break;
                    }
                }
                -f64::exp_m1(none)
            }
            Kind::Classic => classic::fpp(keys, self.bits, self.probes),
            Kind::Blocked => {
                let blocks = self.bits / BLOCK_BITS;
                Pattern::shared(self.probes).fpp(keys as f64 / blocks as f64)
            }
        }
    }

    /// Bytes of the filter's bits.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(BLOCK_BITS) * BLOCK_BYTES
    }

    /// m / n at the planned keys.
    pub fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    /// What link `index` (from 0) of a scalable filter of this plan is planned for: a blocked filter
    /// for `keys`·2^`index` keys at `fpp`/2^(`index` + 1). These rates sum to less than `fpp`, and the
    /// chance that a key passes any link is at most their sum.
    ///
    /// While a link fills, keys that pass it set no bit and are not counted; the others are the more. It
    /// has bits for 1/(1 − its rate) times its keys, so that it keeps its rate with these.
    ///
    /// P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, <https://doi.org/10.1016/j.ipl.2006.10.007>,
    /// with growth s = 2 and tightening ratio r = 1/2.
    ///
    /// # Errors
    /// [`Error::PlanKind`] for a plan of another kind; [`Error::TooLarge`] and
    /// [`Error::FppOutOfReach`] where the filter can grow no more.
    pub fn link(&self, index: u32) -> Result<Self, Error> {
        if self.kind != Kind::Scalable {
            return Err(Error::PlanKind { expected: Kind::Scalable, found: self.kind });
        }
        let (keys, fpp) = self.link_goal(index)?;
        match index {
            0 => Ok(Self { kind: Kind::Blocked, fpp, ..*self }),
            _ => link_for(keys, fpp),
        }
    }

    /// Keys and rate of a link. Part of the format.
    pub(crate) fn link_goal(&self, index: u32) -> Result<(u64, f64), Error> {
        let times = 1u64.checked_shl(index).unwrap_or(u64::MAX);
        let keys = self.keys.checked_mul(times);
        let keys = keys.ok_or(Error::TooLarge { bits: self.keys as f64 * times as f64 })?;
        Ok((keys, self.fpp * 0.5f64.powi(index as i32 + 1)))
    }

    /// Whether this plan is for `kind` and its numbers are possible.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), Error> {
        if self.kind != kind {
            return Err(Error::PlanKind { expected: kind, found: self.kind });
        }
        check_fpp(self.fpp)?;
        check_keys(self.keys)?;
        check_bits(self.bits as f64)?;
        if !(1..=MAX_PROBES).contains(&self.probes) {
            return Err(Error::Probes { probes: u64::from(self.probes) });
        }
        let whole_blocks = kind == Kind::Classic || self.bits.is_multiple_of(BLOCK_BITS);
        if self.bits == 0 || !whole_blocks {
            return Err(Error::Field {
                field: "bits",
                found: self.bits,
                expected: "a multiple of 512, at least 512 (any number from 1 for a classic filter)",
            });
        }
        Ok(())
    }
}

/// Keys that come to a link, of which `keys` are new to it, when at most `fpp` of them pass it.
fn offered(keys: u64, fpp: f64) -> u64 {
    (keys as f64 / (1.0 - fpp)).ceil() as u64
}

/// The plan of a link of a scalable filter; see [`Plan::link`].
fn link_for(keys: u64, fpp: f64) -> Result<Plan, Error> {
    let plan =
        Plan::for_keys(Kind::Blocked, offered(keys, fpp), fpp).map_err(|error| match error {
            Error::FppOutOfReach { fpp, .. } => Error::FppOutOfReach { kind: Kind::Scalable, fpp },
            error => error,
        })?;
    Ok(Plan { keys, ..plan })
}

/// The plan of a scalable filter whose first link takes `keys` keys in `bytes` bytes.
fn first_link_within(keys: u64, bytes: u64) -> Result<Plan, Error> {
    let mut link = Plan::for_memory(Kind::Blocked, keys, bytes)?;
    // The rate of all keys that come grows with their number, and their number with the rate: climbs to
    // the lowest rate at which both agree.
    while link.fpp < 0.5 {
        let fpp = link.fpp;
        link = Plan::for_memory(Kind::Blocked, offered(keys, fpp), bytes)?;
        if link.fpp <= fpp {
            return Ok(Plan { kind: Kind::Scalable, keys, fpp: 2.0 * fpp, ..link });
        }
    }
    Err(Error::FirstLinkTooSmall { keys, bits: link.bits })
}

/// k, and how many keys a block of 512 bits takes on average, at a rate.
struct Shape {
    kind: Kind,
    probes: u32,
    load: f64,
}

impl Shape {
    fn for_fpp(kind: Kind, fpp: f64) -> Result<Self, Error> {
        let load = |probes: u32| match kind {
            Kind::Classic => BLOCK_BITS as f64 / classic::bits_per_key_with(fpp, probes),
            _ => Pattern::shared(probes).load_for(fpp),
        };
        // log2(1/p) probes are best in the classic kind, a little fewer in the blocked one.
        let guess = (-fpp.log2()).round().clamp(1.0, f64::from(MAX_PROBES)) as u32;
        let mut probes = climb(guess, load);
        if kind == Kind::Blocked {
            let best = load(probes);
            let lanes = [probes / 8 * 8, probes.next_multiple_of(8)]
                .into_iter()
                .filter(|&lanes| {
                    (8..=MAX_PROBES).contains(&lanes) && load(lanes) * LANES_WORTH >= best
                })
                .max_by(|&a, &b| load(a).total_cmp(&load(b)));
            probes = lanes.unwrap_or(probes);
        }
        let shape = Self { kind, probes, load: load(probes) };
        if shape.load < BLOCK_BITS as f64 / 4096.0 {
            return Err(Error::FppOutOfReach { kind, fpp });
        }
        Ok(shape)
    }

    fn load(&self) -> f64 {
        self.load
    }

    fn plan(&self, keys: u64, fpp: f64, blocks: u64) -> Plan {
        Plan {
            kind: self.kind,
            keys,
            fpp,
            bits: blocks.saturating_mul(BLOCK_BITS),
            probes: self.probes,
        }
    }
}

/// The k in 1..=MAX_PROBES with the greatest `worth`, walking from `start` while a neighbour is
/// better. Looks two steps ahead, since k = 8, 16, … (lanes) are a little worse than both sides.
fn climb(start: u32, worth: impl Fn(u32) -> f64) -> u32 {
    let mut best = (start, worth(start));
    for step in [-1i32, 1] {
        let mut k = best.0 as i32;
        let mut worse = 0;
        while worse < 2 {
            k += step;
            if k < 1 || k > MAX_PROBES as i32 {
                break;
            }
            let found = worth(k as u32);
            if found > best.1 {
                best = (k as u32, found);
                worse = 0;
            } else {
                worse += 1;
            }
        }
    }
    best.0
}

/// The least size of the ladder that is at least `blocks`.
fn size_at_least(blocks: u64) -> u64 {
    let step = ladder_step(blocks);
    blocks.div_ceil(step) * step
}

/// The greatest size of the ladder in `bytes` bytes.
fn blocks_within(bytes: u64) -> Result<u64, Error> {
    let blocks = bytes.min(MAX_BITS / 8) / BLOCK_BYTES;
    if blocks == 0 {
        return Err(Error::MemoryTooSmall { bytes });
    }
    let step = ladder_step(blocks);
    Ok(blocks / step * step)
}

fn ladder_step(blocks: u64) -> u64 {
    1 << (64 - blocks.leading_zeros()).saturating_sub(SIZE_DIGITS)
}

fn checked_blocks(blocks: f64) -> Result<u64, Error> {
    check_bits(blocks * BLOCK_BITS as f64)?;
    Ok((blocks.ceil() as u64).max(1))
}

fn check_bits(bits: f64) -> Result<(), Error> {
    if bits <= MAX_BITS as f64 { Ok(()) } else { Err(Error::TooLarge { bits }) }
}

fn check_fpp(fpp: f64) -> Result<(), Error> {
    if fpp > 0.0 && fpp < 1.0 { Ok(()) } else { Err(Error::Fpp(fpp)) }
}

fn check_keys(keys: u64) -> Result<(), Error> {
    if keys > 0 { Ok(()) } else { Err(Error::ZeroKeys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [f64; 8] = [0.5, 0.1, 0.05, 0.01, 0.001, 1e-4, 1e-6, 1e-9];

    #[test]
    fn every_plan_keeps_its_promise() {
        for kind in Kind::ALL {
            for fpp in RATES {
                for keys in [1, 2, 7, 100, 4_321, 1_000_000, 5_000_000_000] {
                    let plan = Plan::for_keys(kind, keys, fpp).unwrap();
                    assert!(plan.predicted_fpp() <= fpp, "{plan:?}");
                    plan.check(kind).unwrap();
                }
            }
        }
    }

    #[test]
    fn bits_a_key_within_the_designed_multiples_of_classic() {
        for (fpp, goal, probes) in
            [(0.1, 1.03, 3), (0.01, 1.06, 8), (0.001, 1.10, 8), (1e-6, 1.36, 16)]
        {
            for keys in [100_000, 1_000_003, 10_000_000, 99_999_999, 20_000_000_000] {
                let plan = Plan::for_keys(Kind::Blocked, keys, fpp).unwrap();
                let ratio = plan.bits_per_key() / classic::bits_per_key(fpp);
                assert!(ratio <= goal, "{plan:?}: {ratio}");
                assert_eq!(plan.probes, probes, "{plan:?}");
                let classic = Plan::for_keys(Kind::Classic, keys, fpp).unwrap();
                assert!(classic.bits_per_key() / classic::bits_per_key(fpp) < 1.03, "{classic:?}");
            }
        }
    }

    #[test]
    fn the_three_questions_answer_each_other() {
        for kind in Kind::ALL {
            for fpp in RATES {
                let plan = Plan::for_keys(kind, 3_000_000, fpp).unwrap();
                let by_memory = Plan::for_memory(kind, 3_000_000, plan.bytes()).unwrap();
                assert!(
                    by_memory.bits == plan.bits && by_memory.fpp <= fpp,
                    "{plan:?} {by_memory:?}"
                );
                let by_capacity = Plan::for_capacity(kind, fpp, plan.bytes()).unwrap();
                assert!(by_capacity.keys >= 3_000_000 && by_capacity.predicted_fpp() <= fpp);
                assert!((by_capacity.keys as f64) < 3_000_000.0 * 1.006);
            }
        }
    }

    #[test]
    fn links_share_the_promise_out() {
        for fpp in RATES {
            let plan = Plan::for_keys(Kind::Scalable, 1_000, fpp).unwrap();
            let links: Vec<_> = (0..12).map(|index| plan.link(index).unwrap()).collect();
            for (index, link) in links.iter().enumerate() {
                assert_eq!((link.kind, link.keys), (Kind::Blocked, 1_000 << index));
                assert_eq!(link.fpp, fpp / f64::from(2 << index));
                // Also with those that pass it while it fills.
                let all = (link.keys as f64 / (1.0 - link.fpp)).ceil() as u64;
                assert!(link.predicted_fpp_at(all) <= link.fpp, "{link:?}");
            }
            assert!(links.iter().map(|link| link.fpp).sum::<f64>() < fpp);
            assert_eq!((links[0].bits, links[0].probes), (plan.bits, plan.probes));
            // From one key to 4,095 times the first capacity and beyond.
            let mut before = 0.0;
            for keys in [1, 500, 1_000, 1_001, 3_000, 100_000, 4_095_000, 1 << 40] {
                let rate = plan.predicted_fpp_at(keys);
                assert!(before <= rate && rate <= fpp, "{keys} {rate} of {fpp}");
                before = rate;
            }
        }
    }

    #[test]
    fn doubled_keys_fold() {
        for keys in [600_000u64, 777_777, 12_345_678] {
            let sizes = [1, 2, 8, 1024]
                .map(|times| Plan::for_keys(Kind::Blocked, keys * times, 0.01).unwrap().bits);
            assert!(sizes.iter().all(|bits| bits.is_multiple_of(sizes[0])), "{sizes:?}");
        }
    }

    #[test]
    fn impossible_goals_say_why() {
        for fpp in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
            assert!(matches!(Plan::for_keys(Kind::Blocked, 10, fpp), Err(Error::Fpp(_))));
        }
        assert!(matches!(Plan::for_keys(Kind::Classic, 0, 0.1), Err(Error::ZeroKeys)));
        assert!(matches!(
            Plan::for_keys(Kind::Classic, u64::MAX, 0.1),
            Err(Error::TooLarge { .. })
        ));
        assert!(matches!(
            Plan::for_keys(Kind::Blocked, 10, 1e-30),
            Err(Error::FppOutOfReach { .. })
        ));
        assert!(matches!(
            Plan::for_memory(Kind::Blocked, 10, 63),
            Err(Error::MemoryTooSmall { .. })
        ));
        assert!(Plan::for_memory(Kind::Blocked, 1 << 40, 64).is_err());
        for kind in [Kind::Blocked, Kind::Scalable] {
            assert!(matches!(Plan::for_memory(kind, 1 << 40, 64), Err(Error::TooManyKeys { .. })));
            assert!(matches!(Plan::for_memory(kind, 10, 63), Err(Error::MemoryTooSmall { .. })));
            assert!(matches!(Plan::for_capacity(kind, 1e-9, 0), Err(Error::MemoryTooSmall { .. })));
        }
        // Half of the keys would pass: no rate is promised.
        assert!(Plan::for_memory(Kind::Blocked, 500, 64).is_ok());
        assert!(matches!(
            Plan::for_memory(Kind::Scalable, 500, 64),
            Err(Error::FirstLinkTooSmall { keys: 500, bits: 512 })
        ));
        assert!(Plan::for_memory(Kind::Scalable, 512 / 3, 64).is_ok());
        let error = Plan::for_keys(Kind::Scalable, 10, 1e-30).unwrap_err();
        assert!(matches!(error, Error::FppOutOfReach { kind: Kind::Scalable, .. }));
        assert!(matches!(Plan::for_keys(Kind::Scalable, 0, 0.1), Err(Error::ZeroKeys)));
        assert!(matches!(Plan::for_keys(Kind::Scalable, 1, f64::NAN), Err(Error::Fpp(_))));
        let tiny = f64::MIN_POSITIVE;
        assert!(Plan::for_keys(Kind::Scalable, 1, tiny / 1e10).is_err(), "it halves to 0 at last");
    }
}
