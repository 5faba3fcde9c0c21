//! The cascade and its plain form: no error on either list, for single keys, batches and files; the rate on other keys;
//! the size; and keys that are on both lists.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{Cascade, Filter, Form, KeyHash, KeyHasher, Kind, Plan, Variant};

use crate::damage::assert_fails;
use crate::filter::answers;
use crate::plans::Numbers;
use crate::reference::{Reference, in_level};
use crate::reopened::{Way, hasher, hashes, payload, reopened, way};

/// Levels as FORMAT.md defines them.
struct Model(Vec<Reference>);

impl Model {
    fn of(filter: &Cascade, include: &[KeyHash], exclude: &[KeyHash]) -> Self {
        let mut model = Self(Vec::new());
        let (mut held, mut others) = (include.to_vec(), exclude.to_vec());
        for part in filter.receipt().parts {
            assert!(model.0.is_empty() || part.plan.keys() == held.len() as u64);
            let index = model.0.len() as u64;
            let mut level = Reference::new(&part.plan);
            held.iter().for_each(|hash| level.insert(in_level(*hash, index)));
            others.retain(|hash| level.contains(in_level(*hash, index)));
            model.0.push(level);
            std::mem::swap(&mut held, &mut others);
        }
        assert!(held.is_empty(), "the last level lets none pass");
        model
    }

    fn matches(&self, hash: KeyHash) -> bool {
        let levels = (0..).zip(&self.0);
        let passed = levels.take_while(|(i, level)| level.contains(in_level(hash, *i))).count();
        passed % 2 == 1
    }

    fn payload(&self) -> Vec<u8> {
        self.0.iter().flat_map(Reference::payload).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn neither_list_ever_errs(
        include in prop::collection::vec(0u64..5000, 0..1500),
        exclude in prop::collection::vec(0u64..5000, 0..3000),
        fpp in prop::sample::select(vec![0.9, 0.5, 0.1, 0.01, 1e-4]),
        form in prop::sample::select(vec![Form::Levels, Form::List]),
        more in 0..100u64,
        by_hand in 0..40u64,
        way in way(),
        hasher in hasher(),
    ) {
        let both: HashSet<_> = include.iter().copied().collect();
        let hash = |key: &u64| hasher.hash(*key);
        let exclude: Vec<_> = exclude.iter().filter(|key| !both.contains(key)).map(hash).collect();
        let include: Vec<_> = include.iter().map(hash).collect();
        let keys = include.len() as u64 + more.max(1);
        let plan = Plan::for_lists(Variant::Cascade { form }, keys, exclude.len() as u64, fpp).unwrap();
        // Some plans have a first level that lets nearly all keys pass.
        let plan = match by_hand {
            blocks @ 1..5 => Numbers { bits: 512 * blocks, probes: 3, ..Numbers::of(&plan) }.plan(),
            _ => plan,
        };
        let filter = Cascade::build_with_plan(&plan, &include, &exclude, hasher.clone()).unwrap();
        reopened(&filter, Way::Read, &include);
        let filter = reopened(&filter, way, &[&include[..], &exclude].concat());
        prop_assert!(answers(&filter, &include).into_iter().all(|found| found));
        prop_assert!(!answers(&filter, &exclude).into_iter().any(|found| found));
        prop_assert_eq!(filter.receipt().bytes(), filter.bytes());
        if form == Form::Levels {
            let model = Model::of(&filter, &include, &exclude);
            prop_assert_eq!(filter.levels(), model.0.len());
            prop_assert!(payload(&filter) == model.payload());
            let others: Vec<_> = (10_000..12_000).map(|key| hash(&key)).collect();
            let expected: Vec<_> = others.iter().map(|hash| model.matches(*hash)).collect();
            prop_assert_eq!(answers(&filter, &others), expected);
        } else {
            prop_assert_eq!(filter.levels(), 1);
        }
    }
}

/// The size matches the plan's formula, and the planned first level beats others near it.
#[test]
fn the_size_is_as_derived() {
    let (included, excluded) = (20_000u64, 2_000_000u64);
    let (include, exclude) = (hashes(0..included), hashes(included..included + excluded));
    let bits_with = |plan: &Plan| {
        let filter =
            Cascade::build_with_plan(plan, &include, &exclude, KeyHasher::default()).unwrap();
        (8.0 * filter.bytes() as f64 / included as f64, filter)
    };
    let plan = Plan::for_lists(Kind::Cascade, included, excluded, 0.5).unwrap();
    let (best, filter) = bits_with(&plan);
    let first = plan.predicted_fpp();
    let optimum = included as f64 / (2.0 * excluded as f64 * std::f64::consts::LN_2);
    assert!(first < optimum * 2.0 && first > optimum / 2.0, "{first} near {optimum}");
    let caught = excluded as f64 * first;
    let derived =
        plan.bits_per_key() + std::f64::consts::LOG2_E * (2.0 * caught / included as f64 + 1.0);
    // The last levels are whole blocks, about ten of them.
    assert!((best / derived - 1.0).abs() < 0.05, "{best} bits per key, derived {derived}");
    assert!(filter.levels() < 25, "{}", filter.levels());
    for other in [optimum / 8.0, optimum * 8.0] {
        let (bits, _) = bits_with(&Plan::for_keys(Kind::Cascade, included, other).unwrap());
        assert!(bits > best, "{bits} at {other}, {best} at {first}");
    }
    // The plain form uses 128 bits per caught key instead.
    let plan =
        Plan::for_lists(Variant::Cascade { form: Form::List }, included, excluded, 0.5).unwrap();
    let (plain, filter) = bits_with(&plan);
    let listed = filter.false_positives();
    assert!(plain > best && listed < included / 10, "{plain} {listed}");
}

#[test]
fn keys_on_both_lists_are_told() {
    let (hasher, include) = (KeyHasher::default(), hashes(0..5_000));
    for form in [Form::Levels, Form::List] {
        let mut exclude = hashes(5_000..20_000);
        exclude[700] = include[4_000];
        exclude[800] = include[3_000];
        exclude[900] = include[3_000];
        let plan = Plan::for_lists(Variant::Cascade { form }, 5_000, 15_000, 0.01).unwrap();
        let built = Cascade::build_with_plan(&plan, &include, &exclude, hasher.clone());
        assert_fails("OnBothLists([3000, 800])", built);
    }
    let error = Cascade::build(&["a", "b\n"], &["c", "b\n"], 0.01, hasher.clone()).unwrap_err();
    let words = error.to_string();
    assert!(words.starts_with(
        "a key (or two with the same hash) is included at index 1 and excluded at index 1"
    ));
    // Both lists are the same.
    assert_fails("OnBothLists([0, 0])", Cascade::build(&include, &include, 0.01, hasher));
}

/// Keys that share one half of the hash are distinguished even in levels of a single block.
#[test]
fn half_a_hash_in_common_is_no_hash_in_common() {
    let some = hashes(0..600);
    for form in [Form::Levels, Form::List] {
        for swap in [false, true] {
            let halves = |(a, b): (&KeyHash, &KeyHash)| match swap {
                true => KeyHash { high: a.high, low: b.low },
                false => KeyHash { high: b.high, low: a.low },
            };
            let others = hashes(1_000..1_600);
            let exclude: Vec<_> = some.iter().zip(&others).map(halves).collect();
            let plan = Plan::for_lists(Variant::Cascade { form }, 600, 600, 0.5).unwrap();
            let plan = Numbers { bits: 512, probes: 1, ..Numbers::of(&plan) }.plan();
            let hasher = KeyHasher::default();
            let filter = Cascade::build_with_plan(&plan, &some, &exclude, hasher).unwrap();
            assert!(some.iter().all(|hash| filter.contains(*hash)));
            assert!(!exclude.iter().any(|hash| filter.contains(*hash)));
            assert!(filter.levels() < 30);
        }
    }
}

#[test]
fn no_keys_and_no_lists() {
    assert_fails("Kind(Cascade, Blocked)", Plan::for_lists(Kind::Blocked, 10, 10, 0.1));
    let (none, exclude) = (&[] as &[KeyHash], hashes(0..1000));
    let empty = Cascade::build(none, &exclude, 0.01, KeyHasher::default()).unwrap();
    assert!((0..1000).all(|key| !empty.contains(key)) && empty.receipt().fpp == 0.0);
}
