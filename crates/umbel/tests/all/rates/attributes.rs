//! The rates of an attributes filter for single values and for values of different rows, and its report of them.

use umbel::{Attributes, Filter, KeyHasher, Kind, Plan};

use crate::plans::{Numbers, variant};
use crate::statistics::{assert_binomial, long, power, splitmix};

/// Values 1,000,000·`a` + `number`, in any attribute.
fn text(a: u64, number: u64) -> [u8; 8] {
    splitmix(a << 40 | number).to_le_bytes()
}

fn filled(plan: &Plan, attributes: usize, seed: u64) -> Attributes {
    let names: Vec<_> = (0..attributes).map(|i| format!("a{i}")).collect();
    let mut filter = Attributes::with_names(plan, &names, KeyHasher::with_seed(seed)).unwrap();
    let row = |number| (0..attributes as u64).map(|_| text(0, number)).collect::<Vec<_>>();
    let rows: Vec<_> = (0..plan.keys()).map(row).collect();
    filter.insert_rows(&rows).unwrap();
    filter
}

fn hits(filter: &Attributes, rows: impl Iterator<Item = Vec<Option<[u8; 8]>>>) -> u64 {
    let rows: Vec<_> = rows.collect();
    let mut found = vec![false; rows.len()];
    filter.contains_rows(&rows, &mut found).unwrap();
    found.iter().filter(|&&found| found).count() as u64
}

/// Every inner filter keeps the planned rate: single absent values pass at the rate of its bits, even if all attributes
/// have the same values; two together pass at the product.
#[test]
fn unknown_values_pass_at_the_planned_rate() {
    for &detail in long(&[0, 1, 2, 10, 12][..], &[1, 10]) {
        for fpp in [0.1, 0.01] {
            let plan = Plan::for_keys(variant(Kind::Attributes, detail), 20_000, fpp).unwrap();
            let filter = filled(&plan, 3, 7);
            let receipt = filter.receipt();
            let trials = power(fpp, 0.1) as u64;
            for attribute in 0..3 {
                let row = |number| {
                    let mut row = vec![None; 3];
                    row[attribute] = Some(text(1, number));
                    row
                };
                let rate = receipt.parts[attribute].fpp;
                // The bits come from one random hashing; the promise is the mean over hashings. Allows 3 % for 6 σ.
                assert!(rate <= fpp * 1.03, "{detail}: {rate}");
                assert_binomial(hits(&filter, (0..trials).map(row)), trials, rate, &"one value");
                let mut asked = [false; 3];
                asked[attribute] = true;
                assert_eq!(filter.query_fpp(&asked).unwrap(), rate);
            }
            let two = |number| vec![Some(text(1, number)), None, Some(text(1, number))];
            let mut rate = receipt.parts[0].fpp * receipt.parts[2].fpp;
            if detail % 10 == 2 {
                rate *= receipt.parts[3].fpp;
            }
            assert_binomial(hits(&filter, (0..1_000_000).map(two)), 1_000_000, rate, &"two values");
            assert!(!receipt.over_filled && receipt.fpp <= fpp * 1.03, "{receipt:?}");
        }
    }
}

/// The purpose of tags: values of different rows pass together at the tags' rate; without tags always.
#[test]
fn values_of_different_rows_pass_at_the_rate_of_the_tags() {
    for (detail, mended) in [(0, vec![]), (1, vec![7]), (2, vec![3, 5, 6, 7]), (11, vec![7])] {
        let plan = Plan::for_keys(variant(Kind::Attributes, detail), 50_000, 0.01).unwrap();
        let filter = filled(&plan, 3, 11);
        for subset in [3u64, 5, 6, 7] {
            let row = |number: u64| {
                let other = |i: u64| text(0, (number + 1_000 * i) % plan.keys());
                (0..3).map(|i| (subset >> i & 1 == 1).then(|| other(i))).collect()
            };
            let found = hits(&filter, (0..plan.keys()).map(row));
            let asked: Vec<_> = (0..3).map(|i| subset >> i & 1 == 1).collect();
            let worst = filter.query_fpp(&asked).unwrap();
            if mended.contains(&subset) {
                let rate = filter.receipt().parts[3].fpp;
                assert_eq!(worst, rate);
                assert!(rate <= 0.0103, "{rate}");
                assert_binomial(found, plan.keys(), rate, &"recombined");
            } else {
                assert_eq!((found, worst), (plan.keys(), 1.0), "nothing tells them apart");
            }
        }
    }
}

#[test]
fn receipts_tell_of_each_part() {
    let plan = Plan::for_keys(Kind::Attributes, 10_000, 0.01).unwrap();
    let mut filter = Attributes::with_names(&plan, &["few", "many"], KeyHasher::default()).unwrap();
    let rows: Vec<_> = (0..10_000u64).map(|i| [text(0, i % 10), text(1, i % 5_000)]).collect();
    filter.insert_rows(&rows).unwrap();
    let receipt = filter.receipt();
    assert_eq!(receipt.bits, 3 * plan.bits());
    // i mod 5,000 determines i mod 10, so there are 5,000 different rows.
    let near = |found: f64, keys: f64| assert!((found / keys - 1.0).abs() < 0.05, "{found} {keys}");
    near(receipt.parts[0].keys, 10.0);
    near(receipt.parts[1].keys, 5_000.0);
    near(receipt.keys.value, 5_000.0);
    assert_eq!(receipt.parts[2].what, "tag filter");
    near(receipt.room as f64, 5_000.0);
    let rows: Vec<_> = (0..30_000u64).map(|i| [text(0, 3), text(1, i)]).collect();
    filter.insert_rows(&rows).unwrap();
    assert!(filter.receipt().over_filled && filter.receipt().room == 0);
    filter.clear();
    assert_eq!((filter.receipt().set_bits, filter.receipt().keys.value), (0, 0.0));
}

/// As in plain filters, the larger one folds to the smaller, including tags; the folded filter reads back unchanged.
#[test]
fn filters_of_different_sizes_merge() {
    for detail in [0, 1, 2, 12] {
        let plan = Plan::from_parts(variant(Kind::Attributes, detail), 40, 0.1, 1536, 5).unwrap();
        let large = Numbers { bits: 3 * plan.bits(), keys: 121, ..Numbers::of(&plan) }.plan();
        let (mut small, mut large) = (filled(&plan, 3, 1), filled(&large, 3, 1));
        let mut both = small.clone();
        both.union_folding(&large).unwrap();
        assert_eq!(both.plan().bits(), plan.bits());
        let read = Attributes::from_bytes(&both.to_bytes()).unwrap();
        assert_eq!(read.receipt(), both.receipt(), "{detail}");
        large.union_folding(&small).unwrap();
        assert!(large == both);
        small.intersect(&both).unwrap();
        let row = |number| vec![Some(text(0, number)), None, Some(text(0, number))];
        assert_eq!(hits(&both, (0..121).map(row)), 121);
        assert_eq!(hits(&small, (0..40).map(row)), 40);
    }
}
