//! The coded filter, compared with a table of plain numbers, through files: its rate, its estimate of keys, and its
//! behavior when full.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{AnyFilter, Coded, Filter, KeyHash, KeyHasher, Kind, Plan, Variant};

use crate::damage::assert_fails;
use crate::models::{self, Pair, op};
use crate::plans::{detail, variant};
use crate::reference::place;
use crate::reopened::hasher;

/// The cells of each bucket, as FORMAT.md defines them.
struct Model {
    width: u32,
    buckets: Vec<Vec<u64>>,
}

impl Model {
    fn new(plan: &Plan) -> Self {
        Self {
            width: detail(plan.variant()),
            buckets: vec![Vec::new(); plan.bits() as usize / 512],
        }
    }

    /// Whether the code is stored; if not, the bucket that would take it.
    fn find(&self, hash: KeyHash) -> (u64, Result<(), Option<usize>>) {
        let count = self.buckets.len();
        let codes = (1u128 << self.width) - 1;
        let code = 1 + ((u128::from(hash.low) * codes) >> 64) as u64;
        let home = place(hash.high, count as u64);
        for bucket in (home..home + count.min(512)).map(|bucket| bucket % count) {
            if self.buckets[bucket].contains(&code) {
                return (code, Ok(()));
            }
            if self.buckets[bucket].len() < 512 / self.width as usize {
                return (code, Err(Some(bucket)));
            }
        }
        (code, Err(None))
    }

    /// The number of different codes met from each bucket on, averaged over all codes.
    fn fpp(&self) -> f64 {
        let count = self.buckets.len();
        let met = |home: usize| {
            let mut codes: HashSet<u64> = HashSet::new();
            for bucket in (home..home + count.min(512)).map(|bucket| bucket % count) {
                codes.extend(&self.buckets[bucket]);
                if self.buckets[bucket].len() < 512 / self.width as usize {
                    break;
                }
            }
            codes.len() as f64
        };
        (0..count).map(met).sum::<f64>() / count as f64 / ((1u64 << self.width) - 1) as f64
    }
}

impl models::Model for Model {
    fn contains(&self, hash: KeyHash) -> bool {
        self.find(hash).1.is_ok()
    }

    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        match self.find(hash) {
            (_, Ok(())) => Some(false),
            (_, Err(None)) => None,
            (code, Err(Some(bucket))) => {
                self.buckets[bucket].push(code);
                Some(true)
            }
        }
    }

    fn payload(&self) -> Vec<u8> {
        let mut bytes = vec![0; 64 * self.buckets.len()];
        for (bucket, codes) in self.buckets.iter().enumerate() {
            for (cell, code) in codes.iter().enumerate() {
                for bit in (0..self.width as usize).filter(|bit| code >> bit & 1 == 1) {
                    let at = 512 * bucket + cell * self.width as usize + bit;
                    bytes[at / 8] |= 1 << (at % 8);
                }
            }
        }
        bytes
    }

    fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Vec::clear);
    }

    fn check(&self, filter: &AnyFilter) {
        let receipt = filter.receipt();
        assert_eq!(receipt.set_bits, self.buckets.iter().map(Vec::len).sum::<usize>() as u64);
        assert!((receipt.fpp - self.fpp().min(1.0)).abs() < 1e-12, "{receipt:?}");
    }
}

proptest! {
    #[test]
    fn acts_as_its_model(
        width in 2..=40u32, buckets in 1..=12u64, hasher in hasher(),
        ops in prop::collection::vec(op(), 0..30),
    ) {
        let bits = 512 * buckets;
        let plan = Plan::from_parts(variant(Kind::Coded, width), 100, 0.5, bits, 1).unwrap();
        let filter = Coded::with_plan(&plan, hasher).unwrap();
        Pair::new(filter, Model::new(&plan)).run(&ops);
    }
}

#[test]
fn bits_a_key_beside_classic() {
    for (fpp, most) in [(0.1, 2.4), (0.01, 1.56), (0.001, 1.35), (1e-4, 1.25), (1e-6, 1.08)] {
        let [coded, classic] = [Kind::Coded, Kind::Classic]
            .map(|kind| Plan::for_keys(kind, 1_000_000, fpp).unwrap().bits_per_key());
        assert!(coded / classic < most, "{fpp}: {coded} {classic}");
    }
}

/// A full table refuses a key and loses none; the receipt reports more keys than planned.
#[test]
fn a_full_table_refuses_and_loses_nothing() {
    let plan = Plan::from_parts(variant(Kind::Coded, 14), 90, 0.01, 1536, 1).unwrap();
    let mut filter = Coded::with_plan(&plan, KeyHasher::default()).unwrap();
    let count = (0u64..).find(|&key| filter.try_insert(key).is_err()).unwrap();
    assert_fails("Cells(90)", filter.try_insert(count));
    assert!((3 * 36..3 * 36 + 5).contains(&count), "{count}");
    assert!((0..count).all(|key| filter.contains(key)), "all others are there");
    let before = filter.to_bytes();
    let hashes: Vec<_> = (count..count + 100).map(|key| filter.hasher().hash(key)).collect();
    assert!(filter.try_insert_all(&hashes).is_err());
    assert!(filter.to_bytes() == before);
    let receipt = filter.receipt();
    assert!(receipt.over_filled && receipt.fill == 1.0 && receipt.room == 0, "{receipt:?}");
}

#[test]
fn widths_are_asked_for_or_chosen() {
    let plan = Plan::for_keys(Variant::Coded { code_bits: Some(20) }, 1_000, 0.01).unwrap();
    assert_eq!((plan.variant(), plan.probes()), (variant(Kind::Coded, 20), 1));
    assert!(plan.predicted_fpp() < 1e-4);
    // 10-bit codes keep 1 % only in nearly empty buckets; 5-bit codes never.
    let wide = Plan::for_keys(Variant::Coded { code_bits: Some(10) }, 1_000, 0.01).unwrap();
    assert!(wide.bits_per_key() > 40.0 && wide.predicted_fpp() <= 0.01);
    let narrow = Plan::for_keys(Variant::Coded { code_bits: Some(2) }, 1_000, 0.01);
    assert_fails("FppOutOfReach(", narrow);
    assert!(Plan::for_keys(Kind::Coded, 10, 1e-14).is_err());
}
