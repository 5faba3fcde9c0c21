//! The bloomier kind: a static map against a model, sizes and rates.

use std::collections::HashMap;

use proptest::prelude::*;
use umbel::{
    Bloomier, BloomierBuilder, BuildError, Filter, KeyHash, KeyHasher, Kind, Plan, Variant,
};

use crate::damage::assert_fails;
use crate::filter::answers;
use crate::plans::{Numbers, variant};
use crate::reopened::{Way, hasher, hashes, payload, reopened};
use crate::statistics::assert_binomial;

fn plan(keys: u64, bits: u32) -> Plan {
    Plan::for_keys(variant(Kind::Bloomier, bits), keys, 0.5f64.powi(bits as i32)).unwrap()
}

#[test]
fn no_key_is_absent_and_no_more_pass_than_promised() {
    for bits in [1, 3, 7, 8, 12, 16, 20, 57, 58, 63, 64] {
        for keys in [1, 2, 3, 10, 100, 1_000, 30_000] {
            let members = hashes(0..keys);
            let filter =
                Bloomier::build(&plan(keys, bits), &members, KeyHasher::default()).unwrap();
            assert!(members.iter().all(|hash| filter.contains(*hash)), "{bits} {keys}");
            let found = answers(&filter, &hashes(1 << 40..(1 << 40) + 100_000));
            let hits = found.iter().filter(|found| **found).count() as u64;
            assert_binomial(hits, 100_000, 0.5f64.powi(bits as i32), &(bits, keys));
        }
    }
}

#[test]
fn sizes_keep_within_the_designed_multiples() {
    for (keys, goal) in [
        (100, 2.2),
        (1_000, 1.5),
        (10_000, 1.30),
        (100_000, 1.20),
        (1_000_000, 1.14),
        (2_999_999, 1.14),
        (3_000_001, 1.14),
        (10_000_000, 1.14),
        (5_000_000_000, 1.14),
    ] {
        for bits in [8, 12, 32] {
            let times = plan(keys, bits).bits_per_key() / f64::from(bits);
            assert!(times <= goal, "{keys} keys, {bits} bits: {times}");
        }
    }
    // Filters at 1 % use 7 bits, also in a plan for a memory size.
    let plan = Plan::for_keys(Kind::Bloomier, 1_000_000, 0.01).unwrap();
    let seven = Variant::Bloomier { fingerprint_bits: Some(7), value_bits: 0 };
    assert_eq!(plan.variant(), seven);
    let by_memory = Plan::for_memory(Kind::Bloomier, 1_000_000, plan.bytes()).unwrap();
    assert_eq!(by_memory.variant(), seven);
}

#[test]
fn shards_built_apart_make_the_same_filter() {
    let plan = Numbers { bits: 768 * 512, ..Numbers::of(&plan(3_000_001, 8)) }.plan();
    let members = hashes(0..20_000);
    let whole = Bloomier::build(&plan, &members, KeyHasher::default()).unwrap();
    let mut builder = BloomierBuilder::new(&plan).unwrap();
    assert_eq!(builder.count(), 2);
    let mut parts = vec![Vec::new(); builder.count()];
    // Inserting backwards and twice changes no bit of the answers.
    for hash in members.iter().rev().chain(&members) {
        parts[builder.shard_of(*hash)].push(*hash);
    }
    std::thread::scope(|scope| {
        for (shard, part) in builder.shards().zip(&mut parts) {
            scope.spawn(|| shard.build(part).unwrap());
        }
    });
    let apart = builder.finish(KeyHasher::default()).unwrap();
    assert_eq!((apart.keys(), whole.keys()), (20_000, 20_000));
    assert!(members.iter().all(|hash| apart.contains(*hash) && whole.contains(*hash)));
    let receipt = apart.receipt();
    assert_eq!((receipt.keys.value, receipt.keys.low, receipt.keys.high), (2e4, 2e4, 2e4));
    assert_eq!(receipt.fpp, 1.0 / 256.0);
    assert!(!receipt.over_filled && receipt.room == 0);
    // Each slot is a byte.
    assert_eq!(receipt.set_bits, payload(&apart).iter().filter(|slot| **slot != 0).count() as u64);
}

#[test]
fn what_cannot_be_built_says_why() {
    let hasher = KeyHasher::default();
    let many = Bloomier::build(&plan(100, 8), &hashes(0..1000), hasher.clone());
    assert_fails("Overfull(1000, 100)", many);
    // A repeated key counts once.
    let same: Vec<_> = (0..100_000).map(|i| hashes(i % 7..i % 7 + 1)[0]).collect();
    assert_eq!(Bloomier::build(&plan(7, 8), &same, hasher.clone()).unwrap().keys(), 7);
    let pairs = [("a", 1), ("b\n", 2), ("a", 1), ("b\n", 3)];
    let error = Bloomier::build_map(&pairs, 8, 8, hasher.clone()).unwrap_err();
    assert!(matches!(error, BuildError::ValuesDiffer([1, 3], [2, 3])));
    assert!(error.to_string().contains("has the value 2 at index 1 and 3 at index 3"), "{error}");
    assert_fails("WideValue(256, 0, 8)", Bloomier::build_map(&[("a", 256)], 8, 8, hasher));
    for (value_bits, fingerprint_bits) in [(33, 32), (0, 0)] {
        let plan = Bloomier::map_plan(9, value_bits, fingerprint_bits);
        assert_fails("Field(FieldError { field: \"value_bits\"", plan);
    }
    let narrow = Plan::for_keys(variant(Kind::Bloomier, 4), 9, 0.01);
    assert_fails("Detail(Bloomier, 4,", narrow);
    assert_fails("FppOutOfReach(", Plan::for_keys(Kind::Bloomier, 9, 1e-30));
}

/// Two keys with equal lower halves, which alone would give them the same slots.
#[test]
fn keys_that_share_half_a_hash_are_told_apart() {
    let pairs: Vec<_> = (0..2_000u64)
        .map(|i| {
            let [own, other] = [i, i / 2].map(|key| KeyHasher::default().hash(key));
            let (high, low) = if i % 4 < 2 { (own, other) } else { (other, own) };
            (KeyHash { high: high.high, low: low.low }, i)
        })
        .collect();
    let map = Bloomier::build_map(&pairs, 11, 20, KeyHasher::default()).unwrap();
    assert_eq!(*map.plan(), Bloomier::map_plan(2_000, 11, 20).unwrap());
    assert!(pairs.iter().all(|(hash, value)| map.get(*hash) == Some(*value)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_map_is_a_map(
        pairs in prop::collection::vec((0u64..500, any::<u64>()), 0..600),
        value_bits in 0u32..=64,
        more in 0u32..=64,
        hasher in hasher(),
    ) {
        let fingerprint_bits = more.min(64 - value_bits).max(u32::from(value_bits == 0));
        let mask = if value_bits == 0 { 0 } else { u64::MAX >> (64 - value_bits) };
        let mut model = HashMap::new();
        let pairs = pairs.into_iter().map(|(key, value)| {
            let value = *model.entry(key).or_insert(value & mask);
            (key.to_le_bytes(), value)
        });
        let pairs: Vec<_> = pairs.collect();
        let map = Bloomier::build_map(&pairs, value_bits, fingerprint_bits, hasher).unwrap();
        let hashes: Vec<_> = pairs.iter().map(|(key, _)| map.hasher().hash(key)).collect();
        let read = reopened(&map, Way::View, &hashes);
        prop_assert_eq!(map.keys(), model.len() as u64);
        for (key, value) in &model {
            let key = key.to_le_bytes();
            prop_assert_eq!(map.get(key), Some(*value));
            prop_assert_eq!(read.get(key), Some(*value));
            prop_assert!(read.contains(key));
        }
        let mut others = (1000..1100u64).map(|key| read.get(key.to_le_bytes()));
        match fingerprint_bits {
            50.. => prop_assert!(others.all(|value| value.is_none())),
            0 => prop_assert!(others.all(|value| value.is_some())),
            _ => {}
        }
    }
}

#[test]
fn a_shard_refuses_the_hashes_of_another() {
    let plan = Plan::for_keys(Kind::Bloomier, 7_000_000, 0.01).unwrap();
    let mut builder = BloomierBuilder::new(&plan).unwrap();
    assert!(builder.count() > 1);
    let mut hashes = hashes(0..100);
    let place = hashes.iter().position(|hash| builder.shard_of(*hash) != 0).unwrap();
    let found = builder.shard_of(hashes[place]) as u64;
    let error = builder.shards().next().unwrap().build(&mut hashes).unwrap_err();
    assert_eq!(error, BuildError::OtherShard(place as u64, found, 0));
    hashes.retain(|hash| builder.shard_of(*hash) == 0);
    builder.shards().next().unwrap().build(&mut hashes).unwrap();
}

#[test]
fn repeated_keys_leave_no_trace() {
    // Pairs that meet in a slot are seen after the first graph; other numbers of one key after the second.
    let once: Vec<u64> = (0..1_000).collect();
    let plan = Plan::for_keys(Kind::Bloomier, 1_000, 0.01).unwrap();
    let build = |keys: &[u64]| Bloomier::build(&plan, keys, KeyHasher::default()).unwrap();
    let expected = build(&once).to_bytes();
    for times in [2, 3, 4, 300] {
        let mut keys = once.clone();
        keys.extend(core::iter::repeat_n(7, times - 1));
        assert_eq!(build(&keys).to_bytes(), expected, "{times}");
        assert_eq!(build(&once.repeat(times)).to_bytes(), expected, "all {times}");
    }
}
