//! The plain kinds, compared with an exact bit array; and the laws of sets.

use proptest::prelude::*;
use proptest::sample::Index;
use umbel::{
    AnyFilter, AnyScheme, Blocked, Filter, Insert, KeyHash, KeyHasher, Kind, MergeError, Plan,
    Variant,
};

use crate::models::{self, Key, Model, Pair};
use crate::plans::{Numbers, detail};
use crate::reference::Reference;
use crate::reopened::{Aligned, OfKind, SECRET, hasher, secret};

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Any(models::Op),
    /// Merges another filter, which holds these keys.
    Union(Vec<Key>, Size),
    Intersect(Vec<Key>, Size),
    Fold(Index),
}

/// The size of the other filter; one of the two must fold to the other.
#[derive(Clone, Debug)]
pub(crate) enum Size {
    Multiple(u64),
    Divisor(Index),
}

pub(crate) fn keys() -> impl Strategy<Value = Vec<Key>> {
    // Some keys repeat often, to make counters reach their maximum.
    let one = prop_oneof![3 => 0..2000 as Key, 2 => 0..6 as Key];
    prop::collection::vec(one, 0..60)
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        3 => (1u64..4).prop_map(Size::Multiple),
        1 => any::<Index>().prop_map(Size::Divisor),
    ]
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => models::op().prop_map(Op::Any),
        2 => (keys(), size()).prop_map(|(keys, size)| Op::Union(keys, size)),
        2 => (keys(), size()).prop_map(|(keys, size)| Op::Intersect(keys, size)),
        1 => any::<Index>().prop_map(Op::Fold),
    ]
}

/// Hand-made plans: every number of probes, sizes from the smallest on, most of them odd.
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

/// The numbers by which a filter folds.
fn divisors(plan: &Plan) -> Vec<u64> {
    let units = match plan.kind() {
        Kind::Blocked => plan.bits() / 512,
        Kind::Counting => plan.bits() / 512 / u64::from(detail(plan.variant())),
        Kind::Sliced => plan.bits() / u64::from(plan.probes()),
        _ => plan.bits(),
    };
    (1..=units).filter(|&divisor| units.is_multiple_of(divisor)).collect()
}

pub(crate) fn fold(filter: &mut AnyFilter, divisor: u64) -> Result<(), MergeError> {
    match filter {
        AnyFilter::Blocked(filter) => filter.fold(divisor),
        AnyFilter::Classic(filter) => filter.fold(divisor),
        AnyFilter::Sliced(filter) => filter.fold(divisor),
        AnyFilter::Counting(filter) => filter.fold(divisor),
        other => unreachable!("{other:?}"),
    }
}

/// A model of a kind that folds and merges; the larger of two merged filters folds to the size of the smaller.
pub(crate) trait Merges: Model {
    fn new(plan: &Plan) -> Self;
    fn unite(&mut self, other: Self);
    fn intersect(&mut self, other: Self);
    fn fold(&mut self, divisor: u64);
}

impl Merges for Reference {
    fn new(plan: &Plan) -> Self {
        Self::new(plan)
    }

    fn unite(&mut self, other: Self) {
        self.join(&other, |a, b| a | b);
    }

    fn intersect(&mut self, other: Self) {
        self.join(&other, |a, b| a & b);
    }

    fn fold(&mut self, divisor: u64) {
        self.fold(divisor);
    }
}

impl Model for Reference {
    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        let new = !self.contains(hash);
        self.insert(hash);
        Some(new)
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.contains(hash)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn payload(&self) -> Vec<u8> {
        self.payload()
    }

    fn check(&self, filter: &AnyFilter) {
        let set = self.payload().iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        assert_eq!(filter.receipt().set_bits, set);
    }
}

pub(crate) fn pair<M: Merges>(plan: &Plan, hasher: KeyHasher, keys: &[Key]) -> Pair<M> {
    let filter = AnyFilter::with_plan(plan, hasher).unwrap();
    let mut pair = Pair { filter, model: M::new(plan), inserted: Default::default() };
    pair.apply(&models::Op::InsertMany(keys.to_vec()));
    pair
}

/// Another filter whose size is compatible.
fn other<M: Merges>(pair: &Pair<M>, keys: &[Key], size: &Size) -> Pair<M> {
    let mut plan = Numbers::of(pair.filter.plan());
    match size {
        Size::Multiple(factor) => plan.bits *= factor,
        Size::Divisor(index) => plan.bits /= index.get(&divisors(pair.filter.plan())),
    }
    self::pair(&plan.plan(), pair.filter.hasher().clone(), keys)
}

pub(crate) fn apply<M: Merges>(pair: &mut Pair<M>, op: &Op) {
    match op {
        Op::Any(op) => pair.apply(op),
        Op::Union(keys, size) => {
            let other = other(pair, keys, size);
            pair.filter.union_folding(&other.filter).unwrap();
            pair.model.unite(other.model);
            pair.inserted.extend(other.inserted);
        }
        Op::Intersect(keys, size) => {
            let other = other(pair, keys, size);
            let room = Aligned::new(&other.filter.to_bytes());
            let secret = secret(other.filter.hasher());
            let view = AnyFilter::view_with(room.bytes(), secret).unwrap();
            pair.filter.intersect(&view).unwrap();
            pair.model.intersect(other.model);
            pair.inserted.retain(|hash| other.inserted.contains(hash));
        }
        Op::Fold(index) => {
            let divisor = *index.get(&divisors(pair.filter.plan()));
            fold(&mut pair.filter, divisor).unwrap();
            pair.model.fold(divisor);
        }
    }
}

fn run(plan: &Plan, hasher: KeyHasher, ops: &[Op]) {
    let mut pair = pair::<Reference>(plan, hasher, &[]);
    for op in ops {
        apply(&mut pair, op);
        pair.check();
    }
}

/// Laws that hold bit for bit for every kind; counters are added, so they follow the laws of sums.
pub(crate) fn laws<M: Merges>(plan: &Plan, hasher: KeyHasher, keys: [&[Key]; 3]) {
    let new = |plan: &Plan, keys: &[Key]| pair::<M>(plan, hasher.clone(), keys).filter;
    let counts = plan.kind() == Kind::Counting;
    let [a, b, c] = keys.map(|keys| new(plan, keys));
    let joined = |left: &AnyFilter, right: &AnyFilter, join: Join| {
        let mut left = left.clone();
        join(&mut left, right).unwrap();
        left
    };
    let union = |left: &AnyFilter, right: &AnyFilter| joined(left, right, AnyFilter::union_folding);
    let both = |left: &AnyFilter, right: &AnyFilter| joined(left, right, AnyFilter::intersect);

    let ab = union(&a, &b);
    assert!(ab == new(plan, &[keys[0], keys[1]].concat()), "union is a filter of both");
    for join in [&union as &dyn Fn(&AnyFilter, &AnyFilter) -> AnyFilter, &both] {
        assert!(join(&a, &b) == join(&b, &a), "commutative");
        assert!(join(&join(&a, &b), &c) == join(&a, &join(&b, &c)), "associative");
        if counts {
            let plain = |filter: &AnyFilter| filter.convert(Kind::Blocked).unwrap();
            assert!(join(&plain(&a), &plain(&b)) == plain(&join(&a, &b)), "as plain ones do");
        }
    }
    assert!(both(&a, &a) == a && both(&a, &ab) == a, "idempotent and absorbing");
    if !counts {
        assert!(union(&a, &a) == a && union(&a, &both(&a, &b)) == a, "union too");
        assert!(both(&c, &ab) == union(&both(&c, &a), &both(&c, &b)), "distributive");
    }

    for divisor in divisors(plan) {
        let (mut folded, mut other) = (a.clone(), b.clone());
        fold(&mut folded, divisor).unwrap();
        fold(&mut other, divisor).unwrap();
        let (bits, keys_left) = (plan.bits() / divisor, (plan.keys() / divisor).max(1));
        let small = Numbers { bits, keys: keys_left, ..Numbers::of(plan) }.plan();
        assert!(folded == new(&small, keys[0]), "a fold is built small");
        // In either order, the result has the smaller size and the same bits.
        let sum = union(&folded, &other);
        assert!(union(&a, &other).blocks() == sum.blocks());
        assert!(union(&other, &a).blocks() == sum.blocks());
    }
}

type Join = fn(&mut AnyFilter, &AnyFilter) -> Result<(), MergeError>;

macro_rules! kinds {
    ($($kind:ident: $acts_as_its_model:ident, $keeps_the_laws:ident;)*) => {$(
        proptest! {
            #[test]
            fn $acts_as_its_model(
                plan in plan(Kind::$kind),
                hasher in hasher(),
                ops in prop::collection::vec(op(), 0..40),
            ) {
                run(&plan, hasher, &ops);
            }

            #[test]
            fn $keeps_the_laws(
                plan in plan(Kind::$kind), hasher in hasher(), a in keys(), b in keys(), c in keys(),
            ) {
                laws::<Reference>(&plan, hasher, [&a, &b, &c]);
            }
        }
    )*};
}

kinds! {
    Blocked: blocked_acts_as_its_model, blocked_keeps_the_laws;
    Classic: classic_acts_as_its_model, classic_keeps_the_laws;
    Sliced: sliced_acts_as_its_model, sliced_keeps_the_laws;
}

proptest! {
    #[test]
    fn shards_fill_as_the_whole(
        plan in plan(Kind::Blocked), keys in keys(), count in 1..40usize,
    ) {
        let whole = pair::<Reference>(&plan, KeyHasher::default(), &keys);
        let mut filter = Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
        let mut shards = filter.shards(count);
        prop_assert!(shards.shards.len() <= count);
        let mut parts = vec![Vec::new(); shards.shards.len()];
        for hash in whole.hashes(keys) {
            parts[shards.index(hash)].push(hash);
        }
        std::thread::scope(|scope| {
            for (run, part) in shards.shards.iter_mut().zip(&parts) {
                scope.spawn(|| run.insert_all(part));
            }
        });
        prop_assert!(filter.any() == whole.filter);
    }
}

/// Proptest draws probes and sizes; this test covers all of them.
#[test]
fn every_number_of_probes_keeps_the_laws_at_odd_sizes() {
    let a: Vec<Key> = (0..50).collect();
    let b: Vec<Key> = (25..90).collect();
    let c: Vec<Key> = (60..100).chain(0..10).collect();
    let check = |kind, size, bits, probes| {
        let plan = Plan::from_parts(kind, 60, 0.1, bits, probes).unwrap();
        laws::<Reference>(&plan, KeyHasher::with_seed(size), [&a, &b, &c]);
    };
    for probes in 1..=umbel::MAX_PROBES {
        for units in [1, 2, 3, 15] {
            check(Kind::Blocked, units, 512 * units, probes);
        }
        for bits in [1, 63, 64, 65, 511, 513, 1155] {
            check(Kind::Classic, bits, bits, probes);
            check(Kind::Sliced, bits, bits * u64::from(probes), probes);
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
    let counting = |counter_bits| Variant::Counting { counter_bits };
    let sizes = |left, right, unit| MergeError::NotFoldable(left, right, unit);
    for (variant, planes, size) in [
        (Variant::Blocked, 1u64, sizes(12, 8, "blocks")),
        (Variant::Classic, 1, sizes(12 * 512, 8 * 512, "bits")),
        (counting(4), 4, sizes(12, 8, "blocks")),
    ] {
        let with = |variant, blocks, probes, hasher| {
            let plan = Plan::from_parts(variant, 500, 0.01, 512 * planes * blocks, probes);
            AnyFilter::with_plan(&plan.unwrap(), hasher).unwrap()
        };
        let (one, two) = (KeyHasher::with_seed(1), KeyHasher::with_seed(2));
        let keyed = KeyHasher::keyed(SECRET.clone());
        let schemes = |right: &KeyHasher| MergeError::SchemesDiffer(one.scheme(), right.scheme());
        let mut others = vec![
            (with(variant, 8, 8, one.clone()), size),
            (with(variant, 12, 7, one.clone()), MergeError::ProbesDiffer(8, 7)),
            (with(variant, 12, 8, two.clone()), schemes(&two)),
            (with(variant, 12, 8, keyed.clone()), schemes(&keyed)),
        ];
        if planes == 4 {
            let wide = with(counting(8), 12, 8, one.clone());
            others.push((wide, MergeError::CellsDiffer(4, 8)));
        }
        let mut filter = with(variant, 12, 8, one.clone());
        filter.try_insert("key").unwrap();
        let before = filter.clone();
        for (other, expected) in others {
            assert_eq!(filter.union(&other), Err(expected.clone()));
            assert_eq!(filter.intersect(&other), Err(expected));
            assert!(filter == before, "an error changes nothing");
        }
        for divisor in [0, 5, u64::MAX] {
            assert!(matches!(fold(&mut filter, divisor), Err(MergeError::Indivisible(..))));
        }
        // A size that divides the other's is folded only on request.
        let mut small = with(variant, 4, 8, one.clone());
        let differ = small.union(&filter);
        assert!(matches!(differ, Err(MergeError::SizesDiffer(l, r, _)) if 3 * l == r));
        assert!(matches!(filter.union(&small), Err(MergeError::SizesDiffer(..))));
        assert!(filter == before && small.is_empty());
        small.union_folding(&filter).unwrap();
        assert!(small.contains("key") && small.plan().bits() * 3 == filter.plan().bits());
    }
}

/// Receipts and merges of keyed filters need no secret.
#[test]
fn sealed_filters_merge() {
    let plan = Plan::for_keys(Kind::Blocked, 100, 0.01).unwrap();
    let [left, right, both] = [&[1, 2][..], &[3], &[1, 2, 3]]
        .map(|keys| pair::<Reference>(&plan, KeyHasher::keyed(SECRET.clone()), keys).filter);
    let sealed =
        |filter: &AnyFilter| AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).unwrap();
    let mut union = sealed(&left);
    union.union(&sealed(&right)).unwrap();
    assert_eq!(union.receipt(), both.receipt());
    assert!(union.to_bytes() == both.to_bytes());
}
