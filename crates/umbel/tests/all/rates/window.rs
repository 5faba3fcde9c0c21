//! The rate of a window, and both of its limits.

use umbel::{Filter, KeyHasher, Kind, Plan, Variant, Window};

use crate::statistics::{Keys, Rates, SIGMAS, assert_rate, power};

/// After any number of insertions, all keys of the window are found, and keys more than G/(G − 1) windows old are
/// not, at a rate that rules out chance.
#[test]
fn the_window_has_both_ends() {
    for (window, generations) in [(1, 2), (1, 4), (7, 3), (100, 4), (1_000, 5), (999, 8)] {
        let plan = Plan::for_keys(Variant::Window { generations }, window, 1e-12).unwrap();
        let mut filter = Window::with_plan(&plan, KeyHasher::default()).unwrap();
        let each = window.div_ceil(u64::from(generations) - 1);
        let reach = each * u64::from(generations);
        for key in 0..10 * window {
            filter.insert(key);
            let first = (key + 1).saturating_sub(window);
            assert!((first..=key).all(|key| filter.contains(key)), "{window} {generations}");
            let old = (key + 1).saturating_sub(reach);
            assert!(!(0..old).any(|key| filter.contains(key)), "{window} {generations}");
        }
    }
}

/// At several points of a stream, the rate from the bits is at most the rate promised with all generations
/// full, and hits of fresh keys are binomial with it.
#[test]
fn the_rate_is_kept_however_long_the_stream() {
    const WINDOW: u64 = 6_000;
    const SEEDS: u64 = 8;
    for (row, (fpp, generations)) in
        (0..).zip([(0.5, 4), (0.1, 3), (0.01, 4), (0.01, 7), (0.001, 2)])
    {
        let plan = Plan::for_keys(Variant::Window { generations }, WINDOW, fpp).unwrap();
        let each = WINDOW.div_ceil(u64::from(generations) - 1);
        // Just before the newest generation of the fourth turn is full, and halfway through it.
        let all = each * u64::from(generations);
        for inserted in [2 * all + each - 1, 2 * all + each / 2] {
            let mut rates = Rates::default();
            let trials = (power(fpp / 2.0, 0.1) / SEEDS as f64).clamp(10_000.0, 1e6) as u64;
            for (seed, sort) in (0..SEEDS).zip(Keys::ALL.into_iter().cycle()) {
                let hasher = KeyHasher::with_seed(77 + 1_000 * row + seed);
                let mut filter = Window::with_plan(&plan, hasher.clone()).unwrap();
                let hashes: Vec<_> = (0..inserted).map(|key| sort.hash(&hasher, key)).collect();
                filter.insert_all(&hashes);
                let receipt = filter.receipt();
                assert!(!receipt.over_filled && receipt.parts.len() == generations as usize);
                let held = filter.remembered() as f64;
                let keys = receipt.keys;
                assert!((keys.value - held).abs() < SIGMAS * keys.deviation, "{held} {receipt:?}");
                rates.add(&filter, inserted..inserted + trials, |key| sort.hash(&hasher, key));
            }
            let (mean, error) = rates.check(fpp, &plan);
            if inserted % each == each - 1 {
                let predicted = plan.predicted_fpp();
                let most = SIGMAS * error + 0.02 * predicted;
                assert!((mean - predicted).abs() < most, "{mean} {predicted}");
            }
        }
    }
}

/// The same keys in all generations pass no more often than in one; the receipt computes this from the bits.
#[test]
fn keys_that_come_again_do_not_add_up() {
    let plan = Plan::for_keys(Kind::Window, 30_000, 0.01).unwrap();
    let hasher = KeyHasher::with_seed(3);
    let mut filter = Window::with_plan(&plan, hasher.clone()).unwrap();
    let hashes: Vec<_> = (0..10_000).map(|key| hasher.hash(key)).collect();
    (0..4).for_each(|_| filter.insert_all(&hashes));
    let receipt = filter.receipt();
    let one = receipt.parts[1].fpp;
    assert!((receipt.fpp / one - 1.0).abs() < 1e-6, "{receipt:?}");
    assert!((receipt.keys.value / 10_000.0 - 1.0).abs() < 0.05, "{:?}", receipt.keys);
    let trials = power(one, 0.1) as u64;
    assert_rate(&filter, 0..trials, |key| hasher.hash(1 << 40 | key), receipt.fpp, &plan);
}
