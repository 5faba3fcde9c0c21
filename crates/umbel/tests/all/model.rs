//! Random sequences of operations, compared with a set and an exact array of bits; and the laws of sets.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::Index;
use umbel::internals::{BlockedLayout, BloomCore, ClassicLayout, Layout, SlicedLayout};
use umbel::{
    AnyFilter, AnyScheme, Blocked, FileError, Filter, KeyHash, KeyHasher, Kind, MergeError, Plan,
};

use crate::plans::Numbers;
use crate::reference::Reference;
use crate::reopened::{SECRET, Way, hasher, payload, reopened, way};

/// Keys are small numbers, so that they meet often.
type Key = u16;

/// A filter of one of the plain kinds.
type Bloom<L> = Filter<BloomCore<L>>;

#[derive(Clone, Debug)]
enum Op {
    Insert(Key),
    InsertMany(Vec<Key>),
    /// As many, and told which were new.
    InsertNew(Vec<Key>),
    Contains(Key),
    /// With another filter that holds these keys.
    Union(Vec<Key>, Size),
    Intersect(Vec<Key>, Size),
    Fold(Index),
    Clear,
    Reopen(Way),
}

/// Which size the other filter has, of those that fold to this one's or the other way.
#[derive(Clone, Debug)]
enum Size {
    Multiple(u64),
    Divisor(Index),
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    prop::collection::vec(0..2000 as Key, 0..60)
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        3 => (1u64..4).prop_map(Size::Multiple),
        1 => any::<Index>().prop_map(Size::Divisor),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..2000 as Key).prop_map(Op::Insert),
        4 => keys().prop_map(Op::InsertMany),
        2 => keys().prop_map(Op::InsertNew),
        4 => (0..2000 as Key).prop_map(Op::Contains),
        2 => (keys(), size()).prop_map(|(keys, size)| Op::Union(keys, size)),
        2 => (keys(), size()).prop_map(|(keys, size)| Op::Intersect(keys, size)),
        1 => any::<Index>().prop_map(Op::Fold),
        1 => Just(Op::Clear),
        4 => way().prop_map(Op::Reopen),
    ]
}

/// Plans by hand: every number of probes, sizes from the smallest on, most of them odd.
fn plan(kind: Kind) -> impl Strategy<Value = Plan> {
    let bits = match kind {
        Kind::Blocked => (1..=24u64).prop_map(|blocks| 512 * blocks).boxed(),
        _ => prop_oneof![1..=64u64, 1..=6000u64].boxed(),
    };
    let few = || (1..=umbel::MAX_PROBES, 1..=1000u64, 1e-9..0.999);
    (bits, few()).prop_map(move |(bits, (probes, keys, fpp))| {
        let bits = if kind == Kind::Sliced { bits * u64::from(probes) } else { bits };
        Plan::from_parts(kind, keys, fpp, bits, probes).unwrap()
    })
}

fn hash(hasher: &KeyHasher, key: Key) -> KeyHash {
    hasher.hash(key.to_le_bytes())
}

fn divisors(number: u64) -> Vec<u64> {
    (1..=number).filter(|&divisor| number.is_multiple_of(divisor)).collect()
}

/// Bits of a unit that a fold divides.
fn unit(plan: &Plan) -> u64 {
    match plan.kind() {
        Kind::Blocked => 512,
        Kind::Sliced => u64::from(plan.probes()),
        _ => 1,
    }
}

/// A filter, beside it what it must hold and how its bits must lie.
struct Pair<L: Layout> {
    filter: Bloom<L>,
    reference: Reference,
    members: HashSet<Key>,
}

impl<L: Layout> Pair<L>
where
    Bloom<L>: Clone + Into<AnyFilter> + TryFrom<AnyFilter, Error = FileError>,
{
    fn new(plan: &Plan, hasher: KeyHasher, keys: &[Key]) -> Self {
        let filter = Bloom::<L>::with_plan(plan, hasher).unwrap();
        let reference = Reference::new(plan);
        let mut pair = Self { filter, reference, members: HashSet::new() };
        pair.insert_many(keys);
        pair
    }

    fn hash(&self, key: Key) -> KeyHash {
        hash(self.filter.hasher(), key)
    }

    fn insert_many(&mut self, keys: &[Key]) {
        let hashes: Vec<_> = keys.iter().map(|&key| self.hash(key)).collect();
        self.filter.insert_all(&hashes);
        hashes.iter().for_each(|&hash| self.reference.insert(hash));
        self.members.extend(keys);
    }

    /// Another filter whose size goes with this one's.
    fn other(&self, keys: &[Key], size: &Size) -> Self {
        let mut plan = Numbers::of(self.filter.plan());
        match size {
            Size::Multiple(factor) => plan.bits *= factor,
            Size::Divisor(index) => plan.bits /= index.get(&self.divisors()),
        }
        Self::new(&plan.plan(), self.filter.hasher().clone(), keys)
    }

    fn divisors(&self) -> Vec<u64> {
        divisors(self.filter.plan().bits() / unit(self.filter.plan()))
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Insert(key) => {
                let hash = self.hash(*key);
                let before = self.filter.contains(key.to_le_bytes());
                assert_eq!(self.filter.insert(key.to_le_bytes()), !before, "new or not");
                assert!(!self.filter.insert(hash), "not new a second time");
                self.reference.insert(hash);
                self.members.insert(*key);
            }
            Op::InsertMany(keys) => self.insert_many(keys),
            Op::InsertNew(keys) => {
                let hashes: Vec<_> = keys.iter().map(|&key| self.hash(key)).collect();
                let mut new = vec![false; keys.len()];
                self.filter.insert_all_new(&hashes, &mut new);
                for (new, hash) in new.into_iter().zip(hashes) {
                    assert_eq!(new, !self.reference.contains(hash), "new or not, in turn");
                    self.reference.insert(hash);
                }
                self.members.extend(keys);
            }
            Op::Contains(key) => {
                let found = self.filter.contains(self.hash(*key));
                assert_eq!(found, self.reference.contains(self.hash(*key)));
                assert!(found || !self.members.contains(key), "{key} is lost");
            }
            Op::Union(keys, size) => {
                let other = self.other(keys, size);
                self.filter.union(&other.filter).unwrap();
                self.reference.join(&other.reference, |a, b| a | b);
                self.members.extend(other.members);
            }
            Op::Intersect(keys, size) => {
                let other = self.other(keys, size);
                self.filter.intersect(&other.filter.borrowed()).unwrap();
                self.reference.join(&other.reference, |a, b| a & b);
                self.members.retain(|key| other.members.contains(key));
            }
            Op::Fold(index) => {
                let divisor = *index.get(&self.divisors());
                self.filter.fold(divisor).unwrap();
                self.reference.fold(divisor as usize);
            }
            Op::Clear => {
                self.filter.clear();
                self.reference.clear();
                self.members.clear();
            }
            Op::Reopen(way) => {
                let members: Vec<_> = self.members.iter().map(|&key| self.hash(key)).collect();
                self.filter = reopened(&self.filter, *way, &members);
            }
        }
    }

    fn check(&self) {
        let mut found = vec![false; self.members.len()];
        let hashes: Vec<_> = self.members.iter().map(|&key| self.hash(key)).collect();
        self.filter.contains_all(&hashes, &mut found);
        assert!(found.iter().all(|&found| found), "a member is lost");
        assert!(
            payload(&self.filter) == self.reference.payload(),
            "other bits than FORMAT.md says"
        );
        let set: u32 = self.reference.payload().iter().map(|byte| byte.count_ones()).sum();
        let receipt = self.filter.receipt();
        assert_eq!(receipt.set_bits, u64::from(set));
        assert!((0.0..=1.0).contains(&receipt.fpp) && (set > 0 || receipt.fpp == 0.0));
    }
}

fn run<L: Layout>(plan: &Plan, hasher: KeyHasher, ops: &[Op])
where
    Bloom<L>: Clone + Into<AnyFilter> + TryFrom<AnyFilter, Error = FileError>,
{
    let mut pair = Pair::<L>::new(plan, hasher, &[]);
    for op in ops {
        pair.apply(op);
        pair.check();
    }
}

/// The laws that hold for every kind, bit for bit.
fn laws<L: Layout>(plan: &Plan, hasher: KeyHasher, keys: [&[Key]; 3])
where
    Bloom<L>: Clone + Into<AnyFilter> + TryFrom<AnyFilter, Error = FileError>,
{
    let [a, b, c] = keys.map(|keys| Pair::<L>::new(plan, hasher.clone(), keys).filter);
    let union = |left: &Bloom<L>, right: &Bloom<L>| joined(left, right, Bloom::union);
    let both = |left: &Bloom<L>, right: &Bloom<L>| joined(left, right, Bloom::intersect);

    let ab = union(&a, &b);
    let together = [keys[0], keys[1]].concat();
    assert!(
        ab == Pair::<L>::new(plan, hasher.clone(), &together).filter,
        "union is a filter of both"
    );
    for join in [&union as &dyn Fn(&Bloom<L>, &Bloom<L>) -> Bloom<L>, &both] {
        assert!(join(&a, &b) == join(&b, &a), "commutative");
        assert!(join(&join(&a, &b), &c) == join(&a, &join(&b, &c)), "associative");
        assert!(join(&a, &a) == a, "idempotent");
    }
    assert!(both(&a, &ab) == a && union(&a, &both(&a, &b)) == a, "absorbing");
    assert!(both(&c, &ab) == union(&both(&c, &a), &both(&c, &b)), "distributive");

    for divisor in divisors(plan.bits() / unit(plan)) {
        let (mut folded, mut other) = (a.clone(), b.clone());
        folded.fold(divisor).unwrap();
        other.fold(divisor).unwrap();
        let (bits, keys_left) = (plan.bits() / divisor, (plan.keys() / divisor).max(1));
        let small = Numbers { bits, keys: keys_left, ..Numbers::of(plan) }.plan();
        assert!(
            folded == Pair::<L>::new(&small, hasher.clone(), keys[0]).filter,
            "a fold is built small"
        );
        // Whichever way round, the result has the smaller size and the same bits.
        let sum = payload(&union(&folded, &other));
        assert!(payload(&union(&a, &other)) == sum && payload(&union(&other, &a)) == sum);
    }
}

fn joined<L: Layout>(
    left: &Bloom<L>,
    right: &Bloom<L>,
    join: impl Fn(&mut Bloom<L>, &Bloom<L>) -> Result<(), MergeError>,
) -> Bloom<L> {
    let mut left = left.clone();
    join(&mut left, right).unwrap();
    left
}

proptest! {
    #[test]
    fn blocked_acts_as_its_model(
        plan in plan(Kind::Blocked),
        hasher in hasher(),
        ops in prop::collection::vec(op(), 0..40),
    ) {
        run::<BlockedLayout>(&plan, hasher, &ops);
    }

    #[test]
    fn classic_acts_as_its_model(
        plan in plan(Kind::Classic),
        hasher in hasher(),
        ops in prop::collection::vec(op(), 0..40),
    ) {
        run::<ClassicLayout>(&plan, hasher, &ops);
    }

    #[test]
    fn sliced_acts_as_its_model(
        plan in plan(Kind::Sliced),
        hasher in hasher(),
        ops in prop::collection::vec(op(), 0..40),
    ) {
        run::<SlicedLayout>(&plan, hasher, &ops);
    }

    #[test]
    fn blocked_keeps_the_laws(
        plan in plan(Kind::Blocked), hasher in hasher(), a in keys(), b in keys(), c in keys(),
    ) {
        laws::<BlockedLayout>(&plan, hasher, [&a, &b, &c]);
    }

    #[test]
    fn classic_keeps_the_laws(
        plan in plan(Kind::Classic), hasher in hasher(), a in keys(), b in keys(), c in keys(),
    ) {
        laws::<ClassicLayout>(&plan, hasher, [&a, &b, &c]);
    }

    #[test]
    fn sliced_keeps_the_laws(
        plan in plan(Kind::Sliced), hasher in hasher(), a in keys(), b in keys(), c in keys(),
    ) {
        laws::<SlicedLayout>(&plan, hasher, [&a, &b, &c]);
    }

    #[test]
    fn shards_fill_as_the_whole(
        plan in plan(Kind::Blocked), keys in keys(), count in 1..40usize,
    ) {
        let whole = Pair::<BlockedLayout>::new(&plan, KeyHasher::default(), &keys).filter;
        let mut filter = Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
        let mut shards = filter.shards(count);
        prop_assert!(shards.shards.len() <= count);
        let mut parts = vec![Vec::new(); shards.shards.len()];
        for &key in &keys {
            let hash = hash(&KeyHasher::default(), key);
            parts[shards.index(hash)].push(hash);
        }
        std::thread::scope(|scope| {
            for (run, part) in shards.shards.iter_mut().zip(&parts) {
                scope.spawn(|| run.insert_all(part));
            }
        });
        prop_assert!(filter == whole);
    }
}

/// Proptest draws probes and sizes; here none is left out.
#[test]
fn every_number_of_probes_keeps_the_laws_at_odd_sizes() {
    let a: Vec<Key> = (0..50).collect();
    let b: Vec<Key> = (25..90).collect();
    let c: Vec<Key> = (60..100).chain(0..10).collect();
    for probes in 1..=umbel::MAX_PROBES {
        for units in [1, 2, 3, 15] {
            let plan = Plan::from_parts(Kind::Blocked, 60, 0.1, 512 * units, probes).unwrap();
            laws::<BlockedLayout>(&plan, KeyHasher::with_seed(units), [&a, &b, &c]);
        }
        for bits in [1, 63, 64, 65, 511, 513, 1155] {
            let plan = Plan::from_parts(Kind::Classic, 60, 0.1, bits, probes).unwrap();
            laws::<ClassicLayout>(&plan, KeyHasher::with_seed(bits), [&a, &b, &c]);
            let bits_of_all = bits * u64::from(probes);
            let plan = Plan::from_parts(Kind::Sliced, 60, 0.1, bits_of_all, probes).unwrap();
            laws::<SlicedLayout>(&plan, KeyHasher::with_seed(bits), [&a, &b, &c]);
        }
    }
}

#[test]
#[should_panic]
fn a_shard_refuses_hashes_of_other_shards() {
    let plan = Plan::from_parts(Kind::Blocked, 60, 0.1, 512 * 8, 8).unwrap();
    let mut filter = Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
    filter.shards(8).shards[3].insert_all(&[KeyHash { high: 0, low: 0 }]);
}

#[test]
fn filters_that_do_not_go_together_are_left_unchanged() {
    type Join<L> = fn(&mut Bloom<L>, &Bloom<L>) -> Result<(), MergeError>;
    fn check<L: Layout>(plan: &Plan, refused: fn(&MergeError) -> bool, other: &Bloom<L>) {
        let mut filter = Bloom::<L>::with_plan(plan, KeyHasher::with_seed(1)).unwrap();
        filter.insert("key");
        let before = filter.clone();
        let joins: [Join<L>; 2] = [Bloom::<L>::union, Bloom::<L>::intersect];
        for join in joins {
            let error = join(&mut filter, other).unwrap_err();
            assert!(refused(&error), "{error:?}");
            assert!(filter == before, "an error changes nothing");
        }
    }
    fn every_case<L: Layout>() {
        let bits = 512 * 12;
        let plan = Plan::from_parts(L::KIND, 500, 0.01, bits, 8).unwrap();
        let new =
            |plan: &Plan, seed| Bloom::<L>::with_plan(plan, KeyHasher::with_seed(seed)).unwrap();
        let size = new(&Plan::from_parts(L::KIND, 500, 0.01, 512 * 8, 8).unwrap(), 1);
        check(&plan, |error| matches!(error, MergeError::SizesDiffer { .. }), &size);
        let probes = new(&Plan::from_parts(L::KIND, 500, 0.01, bits, 7).unwrap(), 1);
        check(
            &plan,
            |error| matches!(error, MergeError::ProbesDiffer { left: 8, right: 7 }),
            &probes,
        );
        check(&plan, |error| matches!(error, MergeError::SchemesDiffer { .. }), &new(&plan, 2));
        let keyed = Bloom::<L>::with_plan(&plan, KeyHasher::keyed(SECRET.clone())).unwrap();
        check(&plan, |error| matches!(error, MergeError::SchemesDiffer { .. }), &keyed);
        let mut filter = new(&plan, 1);
        for divisor in [0, 5, u64::MAX] {
            assert!(matches!(filter.fold(divisor), Err(MergeError::SizesDiffer { .. })));
        }
    }
    every_case::<BlockedLayout>();
    every_case::<ClassicLayout>();
}

/// Receipts and merges of keyed filters need no secret.
#[test]
fn sealed_filters_merge() {
    let plan = Plan::for_keys(Kind::Blocked, 100, 0.01).unwrap();
    let hasher = KeyHasher::keyed(SECRET.clone());
    let [left, right, both] = [&[1, 2][..], &[3], &[1, 2, 3]]
        .map(|keys| Pair::<BlockedLayout>::new(&plan, hasher.clone(), keys).filter);
    let sealed =
        |filter: &Blocked| AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).unwrap();
    let mut union = sealed(&left);
    union.union(&sealed(&right)).unwrap();
    assert_eq!(union.receipt(), both.receipt());
    assert!(union.to_bytes() == both.to_bytes());
}
