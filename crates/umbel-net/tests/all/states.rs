//! Tables of states, compared with a hash map: they differ only as the type documents. The wheel, compared with the
//! time at which each key was last touched. The probability of each error, within bounds. Full tables.

use std::collections::HashMap;

use proptest::prelude::*;
use umbel::internals::math::binomial_bounds;
use umbel::{KeyHasher, Secret};
use umbel_net::states::{Answer, StateError, States, StatesPlan, math};

use crate::{ALPHA, splitmix};

/// 8-bit fingerprints in one bucket per table: 255 values for 40 keys, so many are shared, some by three keys.
fn crowded(states: u8) -> StatesPlan {
    let plan = StatesPlan::for_keys(40, 0.2, states).unwrap();
    assert_eq!((plan.buckets(), plan.fingerprint_bits()), (2, 8), "{plan:?}");
    plan
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u16, u8),
    Change(u16, u8),
    Touch(u16),
    Remove(u16),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let (key, state) = (0..60u16, 0..3u8);
    prop_oneof![
        6 => (key.clone(), state.clone()).prop_map(|(key, state)| Op::Insert(key, state)),
        6 => (key.clone(), state).prop_map(|(key, state)| Op::Change(key, state)),
        3 => key.clone().prop_map(Op::Touch),
        4 => key.prop_map(Op::Remove),
        2 => (1..8u64).prop_map(Op::Wait),
    ]
}

/// A key in the model: its state, and when it was last touched.
type Model = HashMap<u16, (u8, u64)>;

/// Every key within its lifetime is answered with its state or unknown.
fn agree(table: &States, model: &Model, now: u64, lifetime: u64) -> Result<(), TestCaseError> {
    for (&key, &(state, touched)) in model {
        let answer = table.get(key);
        let right = answer == Answer::State(state) || answer == Answer::Unknown;
        prop_assert!(right || now - touched > lifetime, "{} is in {}: {:?}", key, state, answer);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// A program that tracks the life of its keys never gets a wrong state, and never misses a key.
    #[test]
    fn answered_states_are_right(
        ops in prop::collection::vec(op(), 0..300),
        slots in prop::sample::select(vec![0, 2, 4, 16]),
        lifetime in 1..30u64,
    ) {
        let plan = match slots {
            0 => crowded(3),
            slots => crowded(3).with_wheel(lifetime, slots).unwrap(),
        };
        let at_most = plan.lifetime().map_or(u64::MAX, |(_, at_most)| at_most);
        let mut table = States::with_plan(&plan, KeyHasher::default()).unwrap();
        let (mut model, mut now) = (Model::new(), 0);
        // Older keys may have expired without the program's knowledge, so it does not use them either.
        let alive = |model: &Model, key, now: u64| {
            model.get(&key).is_some_and(|&(_, touched)| slots == 0 || now - touched <= lifetime)
        };
        for op in ops {
            match op {
                Op::Insert(key, state) => {
                    if model.contains_key(&key) || model.len() == 40 {
                        continue;
                    }
                    let alone = table.get(key) == Answer::Absent;
                    prop_assert_eq!(table.insert(key, state), Ok(alone));
                    model.insert(key, (state, now));
                }
                Op::Change(key, state) if alive(&model, key, now) => {
                    prop_assert_eq!(Ok(table.get(key)), table.change(key, state));
                    model.insert(key, (state, now));
                }
                Op::Touch(key) if alive(&model, key, now) => {
                    prop_assert_eq!(table.get(key), table.touch(key));
                    model.get_mut(&key).unwrap().1 = now;
                }
                Op::Remove(key) if alive(&model, key, now) => {
                    prop_assert_eq!(table.get(key), table.remove(key));
                    model.remove(&key);
                }
                Op::Wait(ticks) if slots != 0 => {
                    let (held, later) = (table.len(), now + ticks);
                    let removed = table.advance(later).unwrap();
                    prop_assert_eq!(table.len() + removed, held);
                    now = later;
                    // Keys that are certainly too old are gone, unless a key with the same fingerprint kept them.
                    model.retain(|_, (_, touched)| now - *touched <= at_most);
                }
                _ => {}
            }
            agree(&table, &model, now, if slots == 0 { u64::MAX } else { lifetime })?;
            let receipt = table.receipt();
            prop_assert_eq!(receipt.keys, receipt.by_state.iter().sum::<u64>() + receipt.unknown);
            if slots == 0 {
                prop_assert_eq!(table.len(), model.len() as u64);
                // Out of 255 pairs.
                prop_assert!((receipt.error - model.len() as f64 / 255.0).abs() < 1e-12);
            }
        }
        // After the last removal the table is empty, including unknown states.
        if slots == 0 {
            model.keys().for_each(|key| _ = table.remove(key));
            prop_assert!(table.is_empty() && (0..60u16).all(|key| table.get(key) == Answer::Absent));
        } else {
            table.advance(now + at_most).unwrap();
            prop_assert!(table.is_empty());
        }
    }

    /// If no fingerprints are shared, the table equals the map for any order of calls.
    #[test]
    fn wide_fingerprints_make_it_a_map(ops in prop::collection::vec(op(), 0..300)) {
        let plan = StatesPlan::for_keys(60, 1e-9, 3).unwrap();
        let mut table = States::with_plan(&plan, KeyHasher::keyed(Secret::new([7; 16]))).unwrap();
        let mut model = HashMap::new();
        let answer = |state: Option<&u8>| state.map_or(Answer::Absent, |&state| Answer::State(state));
        for op in ops {
            match op {
                Op::Insert(key, state) => {
                    prop_assert_eq!(table.set(key, state), Ok(answer(model.get(&key))));
                    model.insert(key, state);
                }
                Op::Change(key, state) => {
                    prop_assert_eq!(table.change(key, state), Ok(answer(model.get(&key))));
                    model.entry(key).and_modify(|old| *old = state);
                }
                Op::Touch(key) => prop_assert_eq!(table.touch(key), answer(model.get(&key))),
                Op::Remove(key) => {
                    prop_assert_eq!(table.remove(key), answer(model.remove(&key).as_ref()));
                }
                Op::Wait(_) => {
                    let next = |before| match before {
                        Answer::State(2) => None,
                        Answer::State(state) => Some(state + 1),
                        _ => Some(0),
                    };
                    let before = answer(model.get(&7));
                    prop_assert_eq!(table.update(7, next), Ok(before));
                    match next(before) {
                        Some(state) => _ = model.insert(7, state),
                        None => _ = model.remove(&7),
                    }
                }
            }
            prop_assert_eq!(table.len(), model.len() as u64);
        }
        let keys: Vec<u16> = (0..100).collect();
        let mut answers = vec![Answer::Unknown; keys.len()];
        table.get_all(&keys, &mut answers);
        for (key, found) in keys.iter().zip(answers) {
            prop_assert_eq!(found, answer(model.get(key)));
            prop_assert_eq!(table.get(key), found);
        }
    }

    /// Keys leave at the first turn after their lifetime, at most 1/(slots − 1) of it later.
    #[test]
    fn the_wheel_removes_what_was_not_touched(
        slots in prop::sample::select(vec![2u32, 4, 8, 16]),
        lifetime in 1..200u64,
        events in prop::collection::vec((0..40u64, 0..30u16), 1..200),
    ) {
        let plan = StatesPlan::for_keys(40, 1e-9, 2).unwrap().with_wheel(lifetime, slots).unwrap();
        let mut table = States::with_plan(&plan, KeyHasher::default()).unwrap();
        let (at_least, at_most) = plan.lifetime().unwrap();
        prop_assert_eq!(at_least, lifetime);
        let each = lifetime.div_ceil(u64::from(slots) - 1);
        prop_assert_eq!(at_most, each * u64::from(slots));
        let (mut touched, mut now) = (HashMap::<u16, u64>::new(), 1_000_000);
        table.advance(now).unwrap();
        for (ticks, key) in events {
            now += ticks;
            let held = touched.len();
            // A key touched in turn t stays for as many turns as there are slots.
            touched.retain(|_, then| now / each - *then / each < u64::from(slots));
            prop_assert_eq!(table.advance(now), Ok((held - touched.len()) as u64));
            prop_assert_eq!(table.advance(now - 1), Ok(0), "time does not go back");
            match key % 3 {
                0 => _ = table.set(key, 1).unwrap(),
                1 => _ = table.touch(key),
                _ => _ = table.get(key),
            }
            if key % 3 == 0 || key % 3 == 1 && touched.contains_key(&key) {
                touched.insert(key, now);
            }
            prop_assert_eq!(table.len(), touched.len() as u64);
            for (key, then) in &touched {
                prop_assert_eq!(table.get(key), Answer::State(1));
                prop_assert!(now - then < at_most);
            }
        }
    }
}

#[test]
fn a_wrong_time_is_set_right() {
    let plan = StatesPlan::for_keys(10, 1e-9, 2).unwrap().with_wheel(60, 4).unwrap();
    let mut table = States::with_plan(&plan, KeyHasher::default()).unwrap();
    table.advance(1_000).unwrap();
    table.set("key", 0).unwrap();
    table.set_clock(u64::MAX).unwrap();
    table.set_clock(1_000).unwrap();
    assert_eq!((table.advance(1_060), table.len()), (Ok(0), 1), "its age is what it was");
    assert_eq!((table.advance(1_080), table.len()), (Ok(1), 0));
    table.set("key", 0).unwrap();
    assert_eq!(table.advance(u64::MAX), Ok(1));
    let mut ageless = States::new(10, 0.1, 2).unwrap();
    assert_eq!(ageless.advance(1), Err(StateError::NoWheel));
    assert_eq!(ageless.set_clock(1), Err(StateError::NoWheel));
}

/// Keys of a stream, in random states.
fn key(number: u64) -> (u64, u8) {
    (number, (splitmix(number) % 4) as u8)
}

/// Asserts that chance explains how many of `trials` have the answer.
fn check(what: &str, hits: u64, trials: u64, rate: f64) {
    let (low, high) = binomial_bounds(trials, rate, ALPHA);
    assert!((low..=high).contains(&hits), "{what}: {hits} of {trials}, expected {low} to {high}");
}

#[test]
fn errors_of_each_kind_are_as_computed() {
    const KEYS: u64 = 100_000;
    const TRIALS: u64 = 400_000;
    // Few pairs, to make all orders of collisions count: one in four keys shares its pair.
    let plan = StatesPlan::for_keys(KEYS, 0.25, 4).unwrap();
    let pairs = plan.pairs();
    let hasher = KeyHasher::with_seed(11);
    let mut told = States::with_plan(&plan, hasher.clone()).unwrap();
    let mut only_set = States::with_plan(&plan, hasher).unwrap();
    let mut shared = 0;
    for (key, state) in (0..KEYS).map(key) {
        shared += u64::from(!told.insert(key, state).unwrap());
        only_set.set(key, state).unwrap();
    }
    // The sum of (1 − (1 − 1/F)^i) over i earlier keys.
    let mean = KEYS as f64 - pairs * math::collision(KEYS, pairs);
    assert!((shared as f64 - mean).abs() < 6.0 * mean.sqrt(), "{shared} share, {mean} expected");
    assert_eq!((told.len(), only_set.len()), (KEYS, KEYS - shared));
    let receipt = told.receipt();
    assert!(!receipt.over_filled && receipt.room == 0 && receipt.unknown == 0);

    // Each stored pair passes.
    let share = (KEYS - shared) as f64 / pairs;
    for (what, table) in [("false positives", &told), ("false positives, set", &only_set)] {
        let passed = (KEYS..KEYS + TRIALS).filter(|&key| table.get(key) != Answer::Absent).count();
        check(what, passed as u64, TRIALS, share);
    }

    let wrong = |table: &States| -> Vec<Answer> {
        let wrong =
            |(key, state)| Some(table.get(key)).filter(|&found| found != Answer::State(state));
        (0..KEYS).map(key).filter_map(wrong).collect()
    };
    // Keys that share a pair err together: twice the variance of the binomial law, at most three times.
    let is_near = |found: usize, rate: f64| {
        let (mean, found) = (KEYS as f64 * rate, found as f64);
        assert!((found - mean).abs() < 6.0 * (3.0 * mean).sqrt(), "{found}, {rate}");
    };
    let unknown = wrong(&told);
    assert!(unknown.iter().all(|&answer| answer == Answer::Unknown));
    is_near(unknown.len(), math::unknown(KEYS, pairs, 0.75));
    is_near(wrong(&only_set).len(), math::false_return(KEYS, pairs, 0.75));
}

/// At every width, inserting and removing keys leaves no more full buckets than planned, and no insertion fails.
#[test]
fn full_tables_take_every_key_for_ten_lives() {
    for (error, states, slots) in [(0.2, 1, 0), (0.01, 6, 4), (1e-4, 14, 4), (2e-11, 255, 16)] {
        let mut plan = StatesPlan::for_keys(20_000, error, states).unwrap();
        if slots > 0 {
            plan = plan.with_wheel(1, slots).unwrap();
        }
        let mut table = States::with_plan(&plan, KeyHasher::with_seed(3)).unwrap();
        let mut keys: Vec<u64> = (0..plan.keys()).collect();
        keys.iter().for_each(|key| _ = table.insert(key, 0).unwrap());
        for number in plan.keys()..11 * plan.keys() {
            let leaves = (splitmix(number) % plan.keys()) as usize;
            assert_ne!(table.remove(keys[leaves]), Answer::Absent);
            table.insert(number, 0).unwrap();
            keys[leaves] = number;
        }
        let receipt = table.receipt();
        let full = receipt.full_buckets as f64 / plan.buckets() as f64;
        assert!((0.02..0.22).contains(&full), "{plan:?}: {full} full");
        assert!(keys.iter().all(|key| table.get(key) == Answer::State(0)));
    }
}

#[test]
fn a_full_table_refuses_and_loses_nothing() {
    let plan = StatesPlan::for_keys(1_000, 0.01, 2).unwrap();
    let mut table = States::with_plan(&plan, KeyHasher::default()).unwrap();
    let refused = (0..10_000u64).find(|&key| table.insert(key, 1).is_err()).unwrap();
    assert!(refused > 1_000, "{refused}");
    let error = table.insert(refused, 1).unwrap_err();
    assert_eq!(error, StateError::Full { keys: 1_000, held: refused });
    assert_eq!(table.set(refused, 1).is_err(), table.get(refused) == Answer::Absent);
    assert!((0..refused).all(|key| table.get(key) == Answer::State(1)));
    let receipt = table.receipt();
    assert!(receipt.over_filled && receipt.load > 0.97, "{receipt:?}");
    for key in 0..100 {
        assert_ne!(table.remove(key), Answer::Absent);
    }
    table.insert(refused, 0).unwrap();
    assert_eq!(table.change(refused, 2), Err(StateError::State { found: 2, states: 2 }));
    table.clear();
    assert!(table.is_empty() && table.get(500) == Answer::Absent);
}

/// The content of a table after a fixed history: the same on every machine and with every kernel.
#[test]
fn a_fixed_history_gives_fixed_answers() {
    let plan = StatesPlan::for_keys(1_000, 0.05, 6).unwrap().with_wheel(100, 4).unwrap();
    assert_eq!((plan.bytes(), plan.cell_bits(), plan.fingerprint_bits()), (2_176, 16, 11));
    let mut table = States::with_plan(&plan, KeyHasher::with_seed(5)).unwrap();
    for number in 0..20_000u64 {
        table.advance(number / 8).unwrap();
        let draw = splitmix(number);
        let key = number / 10 + draw % 100;
        match draw >> 32 & 7 {
            0 => _ = table.remove(key),
            1 => _ = table.touch(key),
            2 => _ = table.insert(key, (draw >> 40 & 3) as u8).unwrap(),
            3 => _ = table.change(key, (draw >> 40 & 3) as u8).unwrap(),
            _ => _ = table.set(key, (draw >> 40) as u8 % 6).unwrap(),
        }
    }
    let receipt = table.receipt();
    let mut sum = 0u64;
    for key in 0..3_000u64 {
        let code = match table.get(key) {
            Answer::Absent => 0,
            Answer::State(state) => 1 + u64::from(state),
            Answer::Unknown => 100,
        };
        sum = splitmix(sum ^ code);
    }
    let found = (receipt.keys, receipt.unknown, &receipt.by_state[..], sum);
    assert_eq!(found, (241, 78, &[29, 33, 27, 31, 18, 25][..], 1028781874105251283));
}
