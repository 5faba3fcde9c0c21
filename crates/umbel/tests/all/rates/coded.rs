//! The rate of coded filters.

use umbel::{Coded, Filter, KeyHasher, Kind, Plan};

use crate::statistics::{Keys, Rates, SIGMAS, passing, power};

/// Queries filters filled as planned with fresh keys. Given the codes, the hits are binomial. The rate given by the
/// codes, averaged over hashings, is at most the promise, and equals the formula's apart from codes not stored twice.
#[test]
fn the_rate_promised_is_kept() {
    for (keys, fpp) in [
        (1, 0.01),
        (100, 0.1),
        (10_000, 0.5),
        (10_000, 0.1),
        (50_000, 0.01),
        (50_000, 0.001),
        (200_000, 1e-4),
    ] {
        let seeds: u64 = if keys < 10_000 { 300 } else { 9 };
        let plan = Plan::for_keys(Kind::Coded, keys, fpp).unwrap();
        assert!(plan.predicted_fpp() <= fpp);
        let trials = (power(fpp, 0.1).min(4e6) as u64).div_ceil(seeds);
        let mut rates = Rates::default();
        for (seed, sort) in (0..seeds).zip(Keys::ALL.into_iter().cycle()) {
            let hasher = KeyHasher::with_seed(7_000 + seed);
            let mut filter = Coded::with_plan(&plan, hasher.clone()).unwrap();
            let hashes: Vec<_> = (0..keys).map(|number| sort.hash(&hasher, number)).collect();
            filter.try_insert_all(&hashes).unwrap();
            assert_eq!(passing(&filter, hashes), keys, "a member is lost");
            let receipt = filter.receipt();
            assert!(!receipt.over_filled, "{receipt:?}");
            let estimate = receipt.keys;
            let slack = SIGMAS * estimate.deviation + 1.0 + 0.001 * keys as f64;
            assert!((estimate.value - keys as f64).abs() <= slack, "{receipt:?}");
            rates.add(&filter, keys..keys + trials, |number| sort.hash(&hasher, number));
        }
        let (mean, error) = rates.check(fpp, &plan);
        let formula = plan.predicted_fpp();
        let most = fpp + 0.005 + SIGMAS * error / formula;
        assert!(keys < 50_000 || (mean / formula - 1.0).abs() <= most, "{mean} {formula}");
    }
}
