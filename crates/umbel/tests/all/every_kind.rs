//! Properties of every kind: no inserted key is ever absent, after any operations, in files, in views and after merges.
//! A window forgets what is older than it promises; a stable filter forgets with some probability, but never the key
//! inserted last.

use std::collections::HashMap;

use proptest::prelude::*;
use umbel::{
    AnyFilter, Attributes, Block, BuildError, Capacity, InsertError, KeyHash, KeyHasher, Kind,
    MergeError, Plan, PlanError,
};

use crate::mapped::map;
use crate::reopened::{Aligned, Way, way};

/// More keys than there are in the operations below, so that no kind is full.
const PLANNED: u64 = 400;

#[derive(Clone, Debug)]
enum Op {
    Insert(u16),
    InsertMany(Vec<u16>),
    InsertNew(Vec<u16>),
    /// One of the members, as often as it was inserted.
    Remove(prop::sample::Index),
    Union(Vec<u16>),
    Reopen(Way),
}

fn keys() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(0..PLANNED as u16, 0..40)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..PLANNED as u16).prop_map(Op::Insert),
        4 => keys().prop_map(Op::InsertMany),
        2 => keys().prop_map(Op::InsertNew),
        1 => any::<prop::sample::Index>().prop_map(Op::Remove),
        2 => keys().prop_map(Op::Union),
        4 => way().prop_map(Op::Reopen),
    ]
}

/// A filter and all keys that were inserted, in order.
struct Pair {
    plan: Plan,
    filter: AnyFilter,
    members: Vec<u16>,
}

/// The attributes of a row; the values of key k are k and k / 2.
const NAMES: [&str; 2] = ["one", "half"];

fn row(key: u16) -> [[u8; 2]; 2] {
    [key.to_le_bytes(), (key / 2).to_le_bytes()]
}

impl Pair {
    fn new(kind: Kind, seed: u64, keys: &[u16]) -> Self {
        let plan = Plan::for_keys(kind, PLANNED, 0.01).unwrap();
        let hasher = KeyHasher::with_seed(seed);
        let filter = match kind {
            _ if kind.rows() => Attributes::with_names(&plan, &NAMES, hasher).unwrap().into(),
            _ if kind.built_at_once() => AnyFilter::build::<KeyHash>(&plan, &[], hasher).unwrap(),
            _ => AnyFilter::with_plan(&plan, hasher).unwrap(),
        };
        let mut pair = Self { plan, filter, members: Vec::new() };
        pair.insert(keys);
        pair
    }

    fn hash(&self, key: u16) -> KeyHash {
        self.filter.hasher().hash(key.to_le_bytes())
    }

    fn insert(&mut self, keys: &[u16]) {
        self.members.extend(keys);
        let hashes: Vec<_> = keys.iter().map(|&key| self.hash(key)).collect();
        match &mut self.filter {
            AnyFilter::Attributes(filter) => {
                keys.iter().for_each(|&key| _ = filter.insert_row(&row(key)).unwrap());
            }
            filter if self.plan.kind().built_at_once() => {
                let hasher = filter.hasher().clone();
                let hashes: Vec<_> =
                    self.members.iter().map(|key| hasher.hash(key.to_le_bytes())).collect();
                *filter = AnyFilter::build(&self.plan, &hashes, hasher).unwrap();
            }
            filter => filter.try_insert_all(&hashes).unwrap(),
        }
    }

    fn insert_new(&mut self, keys: &[u16]) {
        if !self.plan.kind().inserts() {
            return self.insert(keys);
        }
        let hashes: Vec<_> = keys.iter().map(|&key| self.hash(key)).collect();
        let mut new = vec![false; keys.len()];
        self.filter.try_insert_all_new(&hashes, &mut new).unwrap();
        self.members.extend(keys);
    }

    /// The keys that must be there.
    fn kept(&self) -> &[u16] {
        let least = match (self.plan.kind().capacity(), self.plan.kind()) {
            (Capacity::Last, Kind::Stable) => 1,
            (Capacity::Last, _) => PLANNED as usize,
            _ => self.members.len(),
        };
        &self.members[self.members.len().saturating_sub(least)..]
    }

    fn check<S: AsRef<[Block]>>(&self, filter: &AnyFilter<S>) {
        for &key in self.kept() {
            let found = match filter {
                AnyFilter::Attributes(filter) => {
                    let [one, half] = row(key);
                    [[Some(one), Some(half)], [Some(one), None], [None, Some(half)]]
                        .iter()
                        .all(|question| filter.contains_row(question).unwrap())
                }
                filter => filter.contains(key.to_le_bytes()),
            };
            assert!(found, "{}: {key} is lost", self.plan.kind());
        }
        let hashes: Vec<_> = self.kept().iter().map(|&key| self.hash(key)).collect();
        if !self.plan.kind().rows() {
            let mut found = vec![false; hashes.len()];
            filter.contains_all(&hashes, &mut found);
            assert!(found.iter().all(|&found| found), "{}: lost in a batch", self.plan.kind());
        }
        assert!(filter.to_bytes() == self.filter.to_bytes(), "it writes what it borrows");
        let receipt = filter.receipt();
        assert!((0.0..=1.0).contains(&receipt.fpp) && (0.0..=1.0).contains(&receipt.fill));
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Insert(key) if self.plan.kind().inserts() => {
                self.filter.try_insert(key.to_le_bytes()).unwrap();
                self.members.push(*key);
            }
            Op::Insert(key) => self.insert(&[*key]),
            Op::InsertMany(keys) => self.insert(keys),
            Op::InsertNew(keys) => self.insert_new(keys),
            Op::Remove(index) => {
                let mut counts = HashMap::<u16, u32>::new();
                self.members.iter().for_each(|&key| *counts.entry(key).or_default() += 1);
                // What came too often sticks, and stays.
                let few: Vec<u16> =
                    self.members.iter().copied().filter(|k| counts[k] < 10).collect();
                if !few.is_empty() && self.plan.kind().removes() {
                    let key = *index.get(&few);
                    let counting = self.filter.as_counting_mut().unwrap();
                    assert!(counting.remove(key.to_le_bytes()), "{key} was there");
                    let place = self.members.iter().position(|&member| member == key).unwrap();
                    self.members.remove(place);
                } else {
                    assert!(self.plan.kind().removes() || self.filter.as_counting_mut().is_err());
                }
            }
            Op::Union(keys) => {
                let other = Self::new(self.plan.kind(), self.filter.hasher().scheme().seed, keys);
                let before = self.filter.to_bytes();
                match self.filter.union(&other.filter) {
                    Ok(()) => self.members.extend(keys),
                    Err(_) => assert!(self.filter.to_bytes() == before, "an error changes nothing"),
                }
            }
            Op::Reopen(way) => {
                let bytes = self.filter.to_bytes();
                match way {
                    Way::Read => self.filter = AnyFilter::from_bytes(&bytes).unwrap(),
                    Way::View => {
                        self.check(&AnyFilter::view(Aligned::new(&bytes).bytes()).unwrap());
                    }
                    Way::Map => {
                        let disk = tempfile::tempfile().unwrap();
                        self.filter.write(&disk).unwrap();
                        self.check(&AnyFilter::map(&map(&disk)).unwrap());
                    }
                }
            }
        }
        self.check(&self.filter);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_key_is_ever_lost(
        kind in prop::sample::select(Kind::ALL),
        seed: u64,
        ops in prop::collection::vec(op(), 0..25),
    ) {
        let mut pair = Pair::new(kind, seed, &[]);
        ops.iter().for_each(|op| pair.apply(op));
    }

    /// However the keys are cut into batches, and wherever a file comes between.
    #[test]
    fn batches_of_any_size_give_the_same_filter(
        kind in prop::sample::select(Kind::ALL).prop_filter("it takes keys", |kind| kind.inserts()),
        planned in 1..600u64,
        cuts in prop::collection::vec((1..3000usize, any::<bool>()), 1..12),
    ) {
        let (plan, hasher) = (Plan::for_keys(kind, planned, 0.02).unwrap(), KeyHasher::default());
        let filter = AnyFilter::with_plan(&plan, hasher.clone()).unwrap();
        let [mut one, mut many, mut told] = [(); 3].map(|()| filter.clone());
        let mut next = 0;
        for (size, through_a_file) in cuts {
            // Every third key comes for the second time.
            let key = |number| if number % 3 == 0 { number / 2 } else { number };
            let hashes: Vec<_> =
                (next..next + size as u64).map(|number| hasher.hash(key(number))).collect();
            next += size as u64;
            let taken = hashes.iter().map_while(|hash| one.try_insert(hash).ok());
            let expected: Vec<_> = taken.collect();
            let mut new = vec![false; size];
            let results = [many.try_insert_all(&hashes), told.try_insert_all_new(&hashes, &mut new)];
            prop_assert!(results.iter().all(|result| result.is_ok() == (expected.len() == size)));
            prop_assert_eq!(&new[..expected.len()], expected);
            prop_assert!(one == many && one == told);
            if through_a_file {
                many = AnyFilter::from_bytes(&many.to_bytes()).unwrap();
            }
        }
    }
}

/// Which kinds merge and lose keys is no accident.
#[test]
fn every_kind_says_what_it_does() {
    for &kind in Kind::ALL {
        let mut left = Pair::new(kind, 1, &[1, 2, 3]);
        let right = Pair::new(kind, 1, &[4, 5]);
        let merges = [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting, Kind::Attributes];
        let union = left.filter.union(&right.filter);
        assert_eq!(union.is_ok(), merges.contains(&kind), "{kind}: {union:?}");
        let insert = left.filter.try_insert("key");
        assert_eq!(insert.is_ok(), kind.inserts(), "{kind}: {insert:?}");
        let remove = left.filter.as_counting_mut().map(|filter| filter.remove("key"));
        match &remove {
            Ok(_) => assert!(kind.removes(), "{kind}"),
            Err(error) => assert_eq!(*error, InsertError::CannotRemove(kind)),
        }
        let errors = [
            union.err().map(|error| error.to_string()),
            insert.err().map(|error| error.to_string()),
            remove.err().map(|error| error.to_string()),
        ];
        for error in errors.into_iter().flatten() {
            // A reason and a remedy.
            assert!(error.contains(&kind.to_string()) || kind.rows(), "{error}");
        }
    }
}

#[test]
fn kinds_that_never_merge_say_why() {
    for (kind, words) in [
        (Kind::Scalable, "add the keys of one to the other"),
        (Kind::Stable, "depends on the order"),
        (Kind::Window, "differ in age"),
        (Kind::Coded, "which bucket"),
        (Kind::Bloomier, "build one from the keys of both"),
        (Kind::Cascade, "build one from the keys of both"),
    ] {
        let new = |kind| Pair::new(kind, 1, &[1, 2]).filter;
        for (left, right) in [(kind, kind), (kind, Kind::Classic), (Kind::Blocked, kind)] {
            let (mut left, right) = (new(left), new(right));
            let before = left.clone();
            for error in [left.union(&right), left.intersect(&right)] {
                let error = error.unwrap_err();
                assert_eq!(error, MergeError::NotMergeable(kind));
                assert!(error.to_string().contains(words), "{error}");
            }
            assert!(left == before, "an error changes nothing");
        }
    }
    let new = |kind| Pair::new(kind, 1, &[1, 2]).filter;
    let plain = [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting, Kind::Attributes];
    for (left, right) in plain.into_iter().flat_map(|left| plain.map(|right| (left, right))) {
        let (mut filter, other) = (new(left), new(right));
        let expected = match left == right {
            true => Ok(()),
            false => Err(MergeError::KindsDiffer { left, right }),
        };
        assert_eq!([filter.union(&other), filter.intersect(&other)], [expected.clone(), expected]);
    }
}

#[test]
fn kinds_that_are_built_at_once_take_no_more() {
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.built_at_once()) {
        let (plan, hasher) = (Plan::for_keys(kind, 100, 0.01).unwrap(), KeyHasher::default());
        let empty = AnyFilter::with_plan(&plan, hasher.clone()).unwrap_err();
        assert_eq!(empty, PlanError::BuiltAtOnce(kind));
        let build = |count| AnyFilter::build(&plan, &Vec::from_iter(0..count), hasher.clone());
        let mut full = build(100).unwrap();
        assert!((0..100).all(|key| full.contains(key)));
        assert_eq!(full.try_insert("key").unwrap_err(), InsertError::BuiltAtOnce(kind));
        let more = build(101).unwrap_err();
        assert_eq!(more, BuildError::Overfull { keys: 101, planned: 100 });
    }
}
