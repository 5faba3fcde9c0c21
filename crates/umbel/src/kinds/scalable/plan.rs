//! Plans the scalable kind: its first link, and the links by which it grows.

use crate::kinds::blocked;
use crate::kinds::prelude::*;
use crate::kinds::window::rate::compound;

/// 6/π², the share of the first link if shares fall with 1/(i + 1)². Part of the format.
const FIRST_OF_SQUARES: f64 = 0.607_927_101_854_026_7;

pub(super) fn growth(variant: Variant) -> Growth {
    let Variant::Scalable { growth } = variant else { unreachable!("of a scalable filter") };
    growth
}

/// The rate of link `index`, exact to the last bit. Part of the format.
fn link_fpp(fpp: f64, index: u32, growth: Growth) -> f64 {
    match growth {
        Growth::Even => fpp * FIRST_OF_SQUARES / (f64::from(index) + 1.0).powi(2),
        Growth::Doubling => fpp * 0.5f64.powi(index as i32 + 1),
    }
}

/// The most links. Doubling links have at most 2⁴⁸ bits together, at least one per key, and never reach this; for
/// others the header holds no more than 1,636. Part of the format.
pub(super) fn most_links(growth: Growth) -> usize {
    match growth {
        Growth::Even => 1024,
        Growth::Doubling => 48,
    }
}

/// The rate of the first link. It must be above 0, and half of the smallest number is not.
fn first_fpp(fpp: f64, growth: Growth) -> Result<f64, PlanError> {
    match link_fpp(fpp, 0, growth) {
        0.0 => Err(PlanError::FppOutOfReach(Kind::Scalable, fpp)),
        first => Ok(first),
    }
}

pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Scalable { growth: Growth::Doubling };
    const KNOWS_READS: bool = true;
    const UNMERGED: Option<&'static str> =
        Some("a chain of both could not keep the promised rate; add the keys of one to the other");
    const PARAMETER: Option<&'static str> =
        Some("0, each link for twice the keys of the one before, or 1, all for as many");
    const CAPACITY: Capacity = Capacity::First;
    const IN_ORDER: bool = true;

    fn number(variant: Variant) -> u32 {
        growth(variant) as u32
    }

    fn variant(number: u32) -> Option<Variant> {
        let growths = [Growth::Doubling, Growth::Even];
        Some(Variant::Scalable { growth: *growths.get(number as usize)? })
    }

    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        let first = first_fpp(fpp, growth(variant))?;
        Ok(Plan { variant, fpp, ..link_for(0, keys, first)? })
    }

    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        let mut link = blocked::Plans::plan_in(Variant::Blocked, keys, bytes)?;
        // The rate grows with the number of arriving keys, and that with the rate: climb to the lowest rate that fits.
        let share = link_fpp(1.0, 0, growth(variant));
        while link.fpp < share {
            let fpp = link.fpp;
            link = blocked::Plans::plan_in(Variant::Blocked, offered(keys, fpp), bytes)?;
            if link.fpp <= fpp {
                // Rounded up, to keep the link's share at or above its rate.
                let whole = (fpp / share).next_up();
                return Ok(Plan { variant, keys, fpp: whole, ..link });
            }
        }
        Err(PlanError::FirstLinkTooSmall(keys, link.bits))
    }

    fn for_capacity(variant: Variant, fpp: f64, bytes: u64) -> Result<Plan, PlanError> {
        let first = first_fpp(fpp, growth(variant))?;
        let link = blocked::Plans::plan_most(Variant::Blocked, first, bytes)?;
        let mut keys = (link.keys as f64 * (1.0 - first)) as u64;
        while offered(keys, first) > link.keys {
            keys -= 1;
        }
        match keys {
            0 => Err(PlanError::MemoryTooSmall(bytes)),
            keys => Ok(Plan { variant, keys, fpp, ..link }),
        }
    }

    fn predicted_fpp_at(plan: &Plan, keys: u64) -> f64 {
        let rate = |(link, taken)| blocked::Plans::predicted_fpp_at(&link, taken);
        compound(links(plan, keys).map(rate))
    }

    /// The spread of the first link.
    fn spread(plan: &Plan) -> Spread {
        blocked::Plans::spread(&Plan { variant: Variant::Blocked, ..*plan })
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        first_fpp(plan.fpp, growth(plan.variant))?;
        whole_blocks(plan)
    }

    fn bytes_at(plan: &Plan, keys: u64) -> u64 {
        links(plan, keys).fold(0, |bytes, (link, _)| bytes.saturating_add(link.bytes()))
    }
}

/// The plans of the links that `keys` keys need, at least one, as far as a filter can grow; and the keys in each.
fn links(plan: &Plan, keys: u64) -> impl Iterator<Item = (Plan, u64)> {
    let (most, mut left) = (most_links(growth(plan.variant)) as u32, keys);
    (0..most).map_while(move |index| {
        let link = if index == 0 || left > 0 { plan.link(index).ok()? } else { return None };
        let taken = left.min(link.keys);
        left -= taken;
        Some((link, taken))
    })
}

/// The keys that reach a link with `keys` new ones, if at most `fpp` of all pass it.
fn offered(keys: u64, fpp: f64) -> u64 {
    (keys as f64 / (1.0 - fpp)).ceil() as u64
}

/// Links with the margin of [`Plan::for_keys`]. They have 94 % of the total rate (even ones 87 %), so the spread of the
/// others hardly counts; at their low rates a margin would cost up to as many bits again.
const SURE_LINKS: u32 = 4;

/// The plan of link `index`; see [`Plan::link`].
fn link_for(index: u32, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
    let offered = offered(keys, fpp);
    let plan = match index < SURE_LINKS {
        true => blocked::Plans::plan(Variant::Blocked, offered, fpp)?,
        false => blocked::expected(offered, fpp)?,
    };
    Ok(Plan { keys, ..plan })
}

impl Plan {
    /// Returns the plan of link `index` (from 0) of a scalable filter with this plan: a blocked filter for
    /// `keys`·2^`index` keys at `fpp`/2^(`index` + 1); with [`Growth::Even`] for `keys` keys at
    /// `fpp`·(6/π²)/(`index` + 1)². A key passes any link with a probability of at most the sum of these rates,
    /// which is below `fpp`, since 1/2 + 1/4 + … = 1 and 1 + 1/4 + 1/9 + … = π²/6.
    ///
    /// While a link fills, keys that pass it set no bit and are not counted, so more than its planned keys reach it. It
    /// has bits for 1/(1 − its rate) times its keys, to keep its rate with all of these.
    ///
    /// P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, <https://doi.org/10.1016/j.ipl.2006.10.007>, with growth
    /// s = 2 and tightening ratio r = 1/2. Links of one size come from the dynamic filters of D. Guo, J. Wu, H. Chen,
    /// Y. Yuan, X. Luo 2010, <https://doi.org/10.1109/TKDE.2009.57>, whose links all have one rate; their total grows
    /// with the number of links, while here it is bounded.
    ///
    /// # Errors
    /// [`PlanError::Kind`] for a plan of another kind; [`PlanError::TooLarge`] and [`PlanError::FppOutOfReach`] if the
    /// filter cannot grow further; [`PlanError::Field`] with [`Growth::Even`] from link 1,024 on.
    #[doc(hidden)]
    pub fn link(&self, index: u32) -> Result<Self, PlanError> {
        if self.kind() != Kind::Scalable {
            return Err(PlanError::Kind(Kind::Scalable, self.kind()));
        }
        let (keys, fpp) = self.link_goal(index)?;
        match index {
            0 => Ok(Self { variant: Variant::Blocked, fpp, ..*self }),
            _ => {
                link_for(index, keys, fpp).map_err(|error| error.of_whole(Kind::Scalable, self.fpp))
            }
        }
    }

    /// The keys and rate of a link. Part of the format.
    pub(crate) fn link_goal(&self, index: u32) -> Result<(u64, f64), PlanError> {
        let growth = growth(self.variant);
        let keys = match growth {
            Growth::Even => {
                let (links, most) = (u64::from(index) + 1, most_links(growth) as u64);
                check_field("links", links, links <= most, "1 to 1024 links of one size")?;
                self.keys
            }
            Growth::Doubling => {
                let doubled =
                    1u64.checked_shl(index).and_then(|times| self.keys.checked_mul(times));
                let bits = self.keys as f64 * f64::from(index).exp2();
                doubled.ok_or(PlanError::TooLarge(bits))?
            }
        };
        Ok((keys, link_fpp(self.fpp, index, growth)))
    }
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
            let rates = [1, 1_000, 1_001, 20_000].map(|keys| plan.predicted_fpp_at(keys));
            assert!(rates[0] >= 0.0 && rates.is_sorted() && rates[3] <= fpp, "{rates:?} of {fpp}");
            let by_memory = Plan::for_memory(EVEN, 1_000, plan.bytes()).unwrap();
            assert!(by_memory.fpp <= fpp * 1.0001 && by_memory.predicted_fpp() <= by_memory.fpp);
            assert_eq!((by_memory.bytes(), by_memory.variant), (plan.bytes(), EVEN));
            let most = Plan::for_capacity(EVEN, fpp, plan.bytes()).unwrap();
            assert!(most.keys >= 1_000 && most.link(0).unwrap().predicted_fpp() <= most.fpp);
        }
    }
}
