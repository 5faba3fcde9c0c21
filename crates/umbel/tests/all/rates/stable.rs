//! The stable point of a stable filter, and its rate there.

use umbel::{Capacity, Filter, KeyHasher, Kind, Plan, Stable, Variant};

use crate::statistics::{SIGMAS, assert_rate, figure, fill_after, mean};

/// From empty to long after the stable point: the fill follows the formulas and never exceeds them; the measured rate
/// matches the cells and keeps the promise; the last keys are remembered as promised.
#[test]
fn the_stable_point_is_reached_and_kept() {
    for (seed, (keys, fpp, detail)) in
        (1..).zip([(20_000, 0.01, 4), (20_000, 0.1, 1), (10_000, 0.01, 3), (5_000, 0.001, 8)])
    {
        let plan = Plan::for_keys(Variant::Stable { cell_bits: detail }, keys, fpp).unwrap();
        let hasher = KeyHasher::with_seed(seed);
        let mut filter = Stable::with_plan(&plan, hasher.clone()).unwrap();
        let theory = filter.cells();
        assert!(theory.fpp() <= fpp && plan.predicted_fpp() <= fpp, "{plan:?}");
        assert!(theory.forgotten(keys as f64) <= 0.01, "{plan:?}");
        assert_eq!(filter.receipt().facts.len(), 6);
        // The state of a single cell is random; cells less than P apart correlate only by being lowered together.
        let spread = |fill: f64| (fill * (1.0 - fill) * theory.lowered / theory.cells).sqrt();
        // The filter is at its stable point once all cells have been lowered Max times several times over.
        let round = theory.cells / theory.lowered;
        let last = (round * (f64::from(theory.top) * 3.0 + 12.0)) as u64;
        let mut inserted = 0u64;
        let mut rates = Vec::new();
        for step in 1..=8 {
            let until = last * step / 8;
            let hashes: Vec<_> = (inserted..until).map(|key| hasher.hash(key)).collect();
            filter.insert_all(&hashes);
            inserted = until;
            let receipt = filter.receipt();
            let expected = fill_after(&theory, inserted as f64);
            let bound = SIGMAS * spread(expected) + 0.002 * expected;
            let off = (receipt.fill - expected).abs();
            assert!(off < bound, "{plan:?} {inserted}: {off} from {expected} ± {bound}");
            let fresh = 1 << 40..(1 << 40) + 200_000;
            assert_rate(&filter, fresh, |key| hasher.hash(key), receipt.fpp, &plan);
            // Missing keys among the last ones: at most the theoretical mean.
            let span = keys.min(inserted);
            let missing =
                (inserted - span..inserted).filter(|key| !filter.contains(*key)).count() as u64;
            let (remembered, deviation) = theory.remembered(span as f64);
            let expected = span as f64 - remembered;
            // Keys are forgotten in runs of P cells, so the deviation of single keys is too small.
            let most = expected + SIGMAS * 3.0 * deviation.max(1.0);
            assert!((missing as f64) < most, "{missing} of {span} missing, expected {expected}");
            let to_stable = figure(&receipt, "to_stable");
            let bound = SIGMAS * spread(theory.fill()) / theory.fill();
            assert!(to_stable > -bound - if step >= 6 { 0.01 } else { 0.0 }, "{to_stable}");
            if step >= 6 {
                rates.push(receipt.fpp);
                assert!(to_stable < bound + 0.01, "{to_stable}");
            }
            assert_eq!(figure(&receipt, "insertions") as u64, inserted);
            assert!((figure(&receipt, "stable_rate") - theory.fpp()).abs() < 1e-12);
        }
        let (mean, _) = mean(&rates);
        let error = theory.probes * fpp * spread(theory.fill())
            / theory.fill()
            / (rates.len() as f64).sqrt();
        assert!(mean <= fpp + SIGMAS * error, "{plan:?}: {rates:?}");
    }
}

/// Small filters vary; the promise is for their mean.
#[test]
fn small_filters_keep_the_promise_on_average() {
    for (keys, fpp) in [(1, 0.1), (100, 0.3), (10, 0.5)] {
        let plan = Plan::for_keys(Kind::Stable, keys, fpp).unwrap();
        let rates = (0..150).map(|seed| {
            let hasher = KeyHasher::with_seed(seed);
            let mut filter = Stable::with_plan(&plan, hasher.clone()).unwrap();
            let theory = filter.cells();
            let last = (theory.cells / theory.lowered * f64::from(theory.top) * 2.0) as u64;
            let hashes: Vec<_> = (0..last).map(|key| hasher.hash(key)).collect();
            filter.insert_all(&hashes);
            filter.receipt().fpp
        });
        let (mean, error) = mean(&rates.collect::<Vec<_>>());
        assert!(mean <= fpp + SIGMAS * error, "{keys} {fpp}: {mean} ± {error}");
    }
}

#[test]
fn plans_cost_what_the_page_says() {
    assert_eq!(Kind::Stable.capacity(), Capacity::Last);
    let plan = Plan::for_keys(Kind::Stable, 1_000_000, 0.01).unwrap();
    assert_eq!(plan.variant(), Variant::Stable { cell_bits: 4 });
    assert!((92.0..94.0).contains(&plan.bits_per_key()), "{plan:?}");
    let theory = Stable::with_plan(&plan, KeyHasher::default()).unwrap().cells();
    assert_eq!((plan.probes(), theory.lowered), (6, 142.0));
    for (detail, bits) in [(1, 3284.0), (2, 228.0), (3, 119.0), (5, 92.0), (7, 90.0), (8, 93.0)] {
        let other = Plan::for_keys(Variant::Stable { cell_bits: detail }, 1_000_000, 0.01).unwrap();
        assert!((other.bits_per_key() - bits).abs() < 1.0, "{other:?}");
    }
    assert!((theory.forgotten(1_710_000.0) - 0.5).abs() < 0.01);
}
