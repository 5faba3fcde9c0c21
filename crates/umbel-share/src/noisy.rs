//! Noisy copies of one list: filters with a high rate, each under its own seed.
//!
//! A filter whose rate is one half lets every second stranger pass, so a key that passes is hardly more likely to be a
//! member than before (see [`posterior`](crate::audit::posterior)). Under another seed, other strangers pass: a key
//! that was never added passes all j copies with probability p^j. Give more copies to those who may know more.
//!
//! A "no" of any copy is certain, however noisy it is: noise hides who is a member, not who is not.

use umbel::{KeyHasher, Kind, Plan, PlanError};

/// How copies of one list are made. Copy i is the blocked filter for these keys and this rate under seed S + i − 1. So
/// it can be rebuilt alone, and copies of lists of one size merge and compare.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    plan: Plan,
    count: u32,
    seed: u64,
}

impl Copies {
    /// Plans `count` copies of a list of `keys` keys, each with the rate `fpp`, under seeds from `seed` on.
    ///
    /// # Errors
    /// As [`Plan::for_keys`].
    pub fn new(keys: u64, fpp: f64, count: u32, seed: u64) -> Result<Self, PlanError> {
        Ok(Self { plan: Plan::for_keys(Kind::Blocked, keys, fpp)?, count, seed })
    }

    /// Returns the plan of each copy.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns how the keys of each copy are hashed, in their order.
    pub fn hashers(&self) -> impl ExactSizeIterator<Item = KeyHasher> {
        let seed = self.seed;
        (0..self.count).map(move |i| KeyHasher::with_seed(seed.wrapping_add(i.into())))
    }

    /// Returns the planned rate of `copies` of them together.
    pub fn fpp(&self, copies: u32) -> f64 {
        self.plan.fpp().powf(copies.into())
    }
}

#[cfg(test)]
mod tests {
    use umbel::Blocked;
    use umbel::Filter as _;
    use umbel::internals::math::binomial_bounds;

    use super::*;

    const KEYS: u64 = 20_000;

    fn filled(copies: &Copies) -> Vec<Blocked> {
        let filter = |hasher| {
            let mut filter = Blocked::with_plan(copies.plan(), hasher).unwrap();
            filter.extend((0..KEYS).map(|key| format!("key {key}")));
            filter
        };
        copies.hashers().map(filter).collect()
    }

    /// Strangers pass j copies independently: the hits are Binomial(q, Π fᵢ), with each fᵢ from the copy's own bits.
    /// Three sets of copies, five sizes: 15 checks at α = 1e-9. For j = 5 a relative shift of 4 % would
    /// be seen: 81(1 − f)/(f·δ²) = 1.6 million.
    #[test]
    fn the_joint_rate_is_the_product() {
        const STRANGERS: u64 = 1_600_000;
        for seed in [1, 1_000, u64::MAX - 1] {
            let copies = Copies::new(KEYS, 0.5, 5, seed).unwrap();
            let filters = filled(&copies);
            let mut hits = [0u64; 5];
            let mut found = Vec::new();
            for key in KEYS..KEYS + STRANGERS {
                let key = format!("key {key}");
                let passed = filters.iter().take_while(|filter| filter.contains(&key)).count();
                hits[..passed].iter_mut().for_each(|hits| *hits += 1);
            }
            let mut joint = 1.0;
            for (j, (filter, hits)) in (1..).zip(filters.iter().zip(hits)) {
                joint *= filter.receipt().fpp;
                let (low, high) = binomial_bounds(STRANGERS, joint, 1e-9);
                found.push(format!("{j}: {hits} of {low}..={high}"));
                assert!(low <= hits && hits <= high, "seed {seed}: {found:?}");
                // The plan keeps its promise, so the joint rate keeps its power.
                assert!(joint <= copies.fpp(j), "{joint} > {}", copies.fpp(j));
            }
        }
    }

    #[test]
    fn no_member_is_missed_by_any_copy() {
        let copies = Copies::new(KEYS, 0.5, 5, 1).unwrap();
        for filter in filled(&copies) {
            assert!((0..KEYS).all(|key| filter.contains(format!("key {key}"))));
        }
    }

    /// Copies of two lists of one size merge; two copies of one list do not.
    #[test]
    fn copies_merge_by_number() {
        let copies = Copies::new(KEYS, 0.5, 2, 1).unwrap();
        let [mut first, second] = filled(&copies).try_into().unwrap();
        assert!(first.union(&second).is_err());
        first.union(&filled(&copies)[0]).unwrap();
        assert!(Copies::new(KEYS, 1.0, 2, 1).is_err());
    }
}
