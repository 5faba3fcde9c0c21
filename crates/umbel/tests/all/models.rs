//! Filters and models of them: random operations on both, then equal answers and equal bits.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{AnyFilter, Filter, Insert, KeyHash};

use crate::reopened::{OfKind, Way, any_reopened, payload, secret, way};

/// Small numbers, to make keys repeat often.
pub(crate) type Key = u16;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Insert(Key),
    InsertMany(Vec<Key>),
    /// The same, reporting which keys were new.
    InsertNew(Vec<Key>),
    Contains(Vec<Key>),
    Clear,
    Reopen(Way),
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    // Some longer than the groups that are processed together, some with few keys that repeat.
    prop_oneof![
        4 => prop::collection::vec(0..3000 as Key, 0..60),
        1 => prop::collection::vec(0..3000 as Key, 0..1500),
        1 => prop::collection::vec(0..20 as Key, 0..600),
    ]
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..3000 as Key).prop_map(Op::Insert),
        4 => keys().prop_map(Op::InsertMany),
        4 => keys().prop_map(Op::InsertNew),
        4 => keys().prop_map(Op::Contains),
        1 => Just(Op::Clear),
        4 => way().prop_map(Op::Reopen),
    ]
}

/// A filter as FORMAT.md defines it.
pub(crate) trait Model {
    /// Inserts a key; returns whether it was new, or `None` if there is no room.
    fn insert(&mut self, hash: KeyHash) -> Option<bool>;
    fn contains(&self, hash: KeyHash) -> bool;
    fn clear(&mut self);
    fn payload(&self) -> Vec<u8>;
    /// Those of the keys inserted since it was cleared that must be present.
    fn kept(&self, inserted: &HashSet<KeyHash>) -> Vec<KeyHash> {
        inserted.iter().copied().collect()
    }
    /// Checks other figures that the filter reports.
    fn check(&self, filter: &AnyFilter);
}

pub(crate) struct Pair<M> {
    pub(crate) filter: AnyFilter,
    pub(crate) model: M,
    pub(crate) inserted: HashSet<KeyHash>,
}

impl<M: Model> Pair<M> {
    pub(crate) fn new(filter: impl OfKind, model: M) -> Self {
        Self { filter: filter.any(), model, inserted: HashSet::new() }
    }

    pub(crate) fn run(mut self, ops: &[Op]) {
        for op in ops {
            self.apply(op);
            self.check();
        }
    }

    pub(crate) fn hashes(&self, keys: impl IntoIterator<Item = Key>) -> Vec<KeyHash> {
        keys.into_iter().map(|key| self.filter.hasher().hash(key.to_le_bytes())).collect()
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        let kept = self.model.kept(&self.inserted);
        match op {
            Op::Insert(key) => {
                let told = self.filter.try_insert(key.to_le_bytes()).ok();
                let hash = self.hashes([*key])[0];
                assert_eq!(told, self.model.insert(hash), "new, or not, or no room");
                assert!(told.is_none() || self.filter.contains(hash), "the last one is there");
                self.inserted.extend(told.map(|_| hash));
            }
            Op::InsertMany(keys) | Op::InsertNew(keys) => {
                let hashes = self.hashes(keys.iter().copied());
                let mut new = vec![true; keys.len()];
                let told = match op {
                    Op::InsertMany(_) => self.filter.try_insert_all(&hashes),
                    _ => self.filter.try_insert_all_new(&hashes, &mut new),
                };
                let taken = hashes.iter().map_while(|&hash| self.model.insert(hash));
                let expected: Vec<_> = taken.collect();
                assert_eq!(told.is_ok(), expected.len() == keys.len());
                if let Op::InsertNew(_) = op {
                    assert_eq!(new[..expected.len()], expected, "new or not, in turn");
                    assert!(!new[expected.len()..].contains(&true), "no room");
                }
                self.inserted.extend(&hashes[..expected.len()]);
            }
            Op::Contains(keys) => self.ask(keys.iter().copied()),
            Op::Clear => {
                self.filter.clear().unwrap();
                self.model.clear();
                self.inserted.clear();
            }
            Op::Reopen(way) => {
                let secret = secret(self.filter.hasher());
                self.filter = any_reopened(&self.filter, *way, secret, &kept);
            }
        }
    }

    fn ask(&self, keys: impl IntoIterator<Item = Key>) {
        let hashes = self.hashes(keys);
        let mut found = vec![false; hashes.len()];
        self.filter.contains_all(&hashes, &mut found);
        for (hash, found) in hashes.into_iter().zip(found) {
            assert_eq!((found, self.filter.contains(hash)), (self.model.contains(hash), found));
        }
    }

    pub(crate) fn check(&self) {
        let kept = self.model.kept(&self.inserted);
        assert!(kept.into_iter().all(|hash| self.filter.contains(hash)), "a member is lost");
        self.ask((0..3000).step_by(37).chain(0..20));
        assert!(payload(&self.filter) == self.model.payload(), "other bits than FORMAT.md says");
        let receipt = self.filter.receipt();
        assert_eq!(receipt.bytes(), self.filter.bytes());
        assert!((0.0..=1.0).contains(&receipt.fpp));
        assert!(receipt.set_bits > 0 || receipt.fpp == 0.0);
        self.model.check(&self.filter);
    }
}
