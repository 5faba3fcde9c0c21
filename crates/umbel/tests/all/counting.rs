//! Counting filters, compared with a model that has a number per counter, and with the blocked filters they hold.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::Index;
use umbel::filter::Figure;
use umbel::{
    AnyFilter, Blocked, Counting, KeyHash, KeyHasher, Kind, MergeError, Plan, PlanError, Receipt,
    Variant,
};

use crate::plans::{self, detail, variant};
use crate::reference::positions_of;
use crate::reopened::{Way, hasher, payload, reopened, way};
use crate::statistics::{Keys, assert_binomial, passing, power};

type Key = u16;

#[derive(Clone, Debug)]
enum Op {
    Insert(Key),
    InsertMany(Vec<Key>),
    InsertNew(Vec<Key>),
    /// A key that is in, or any.
    Remove(Index),
    RemoveMany(Vec<Index>),
    RemoveAny(Key),
    Union(Vec<Key>, u64),
    Intersect(Vec<Key>, u64),
    Fold(Index),
    Clear,
    Reopen(Way),
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    // Some come again and again, so that counters reach their top.
    let one = prop_oneof![3 => 0..2000 as Key, 2 => 0..6 as Key];
    prop::collection::vec(one, 0..60)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..2000 as Key).prop_map(Op::Insert),
        4 => keys().prop_map(Op::InsertMany),
        3 => keys().prop_map(Op::InsertNew),
        6 => any::<Index>().prop_map(Op::Remove),
        4 => prop::collection::vec(any::<Index>(), 0..40).prop_map(Op::RemoveMany),
        2 => (0..2000 as Key).prop_map(Op::RemoveAny),
        2 => (keys(), 1..4u64).prop_map(|(keys, times)| Op::Union(keys, times)),
        1 => (keys(), 1..4u64).prop_map(|(keys, times)| Op::Intersect(keys, times)),
        1 => any::<Index>().prop_map(Op::Fold),
        1 => Just(Op::Clear),
        4 => way().prop_map(Op::Reopen),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let width = prop_oneof![3 => Just(4u32), 1 => Just(8), 1 => Just(16)];
    let probes = prop_oneof![Just(8u32), 1..=umbel::MAX_PROBES];
    (1..=12u64, width, probes, 1..=1000u64, 1e-9..0.999).prop_map(
        |(blocks, detail, probes, keys, fpp)| {
            let bits = 512 * blocks * u64::from(detail);
            Plan::from_parts(variant(Kind::Counting, detail), keys, fpp, bits, probes).unwrap()
        },
    )
}

fn hash(hasher: &KeyHasher, key: Key) -> KeyHash {
    hasher.hash(key.to_le_bytes())
}

/// A number for each counter, as FORMAT.md defines them.
#[derive(Clone)]
struct Numbers {
    plan: Plan,
    counters: Vec<u64>,
}

impl Numbers {
    fn new(plan: &Plan) -> Self {
        let counters = plan.bits() / u64::from(detail(plan.variant()));
        Self { plan: *plan, counters: vec![0; counters as usize] }
    }

    fn top(&self) -> u64 {
        3 << (detail(self.plan.variant()) - 2)
    }

    fn positions(&self, hash: KeyHash) -> Vec<usize> {
        let (variant, bits) = (Variant::Blocked, self.counters.len() as u64);
        let plain = plans::Numbers { variant, bits, ..plans::Numbers::of(&self.plan) }.plan();
        let mut positions = positions_of(&plain, hash);
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn count(&self, hash: KeyHash) -> u64 {
        self.positions(hash).into_iter().map(|j| self.counters[j]).min().unwrap()
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        let new = self.count(hash) == 0;
        for j in self.positions(hash) {
            self.counters[j] = (self.counters[j] + 1).min(self.top());
        }
        new
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        let there = self.count(hash) > 0;
        for j in self.positions(hash).into_iter().filter(|_| there) {
            if self.counters[j] < self.top() {
                self.counters[j] -= 1;
            }
        }
        there
    }

    fn fold(&mut self, divisor: u64) {
        let top = self.top();
        let mut folded = vec![0; self.counters.len() / divisor as usize];
        for (j, count) in self.counters.iter().enumerate() {
            let to: &mut u64 = &mut folded[j / 512 / divisor as usize * 512 + j % 512];
            *to = (*to + count).min(top);
        }
        self.counters = folded;
        let bits = self.plan.bits() / divisor;
        self.plan = plans::Numbers { bits, ..plans::Numbers::of(&self.plan) }.plan();
    }

    fn join(&mut self, mut other: Self, join: impl Fn(u64, u64) -> u64) {
        match (other.counters.len() / self.counters.len()) as u64 {
            0 => self.fold((self.counters.len() / other.counters.len()) as u64),
            times => other.fold(times),
        }
        for (count, other) in self.counters.iter_mut().zip(other.counters) {
            *count = join(*count, other);
        }
    }

    /// Bit p of counter j of block b is bit 512·(detail·b + p) + j.
    fn payload(&self) -> Vec<u8> {
        let detail = detail(self.plan.variant()) as usize;
        let mut bytes = vec![0; self.plan.bits() as usize / 8];
        for (j, &count) in self.counters.iter().enumerate().filter(|(_, count)| **count > 0) {
            let code = (count - 1) / 3 * 4 + (count - 1) % 3 + 1;
            for p in (0..detail).filter(|p| code >> p & 1 == 1) {
                let bit = 512 * (detail * (j / 512) + p) + j % 512;
                bytes[bit / 8] |= 1 << (bit % 8);
            }
        }
        bytes
    }
}

struct Pair {
    filter: Counting,
    numbers: Numbers,
    /// How often each key is in. Removals of others may break what it promises.
    members: HashMap<Key, u64>,
    kept: bool,
    /// Whether a counter was ever at its top: then keys that were removed may leave something.
    stuck: bool,
}

impl Pair {
    fn new(plan: &Plan, hasher: KeyHasher, keys: &[Key]) -> Self {
        let filter = Counting::with_plan(plan, hasher).unwrap();
        let numbers = Numbers::new(plan);
        let mut pair = Self { filter, numbers, members: HashMap::new(), kept: true, stuck: false };
        let hashes = pair.hashes(keys);
        pair.filter.insert_all(&hashes);
        pair.inserted(keys);
        pair
    }

    fn hashes(&self, keys: &[Key]) -> Vec<KeyHash> {
        keys.iter().map(|&key| hash(self.filter.hasher(), key)).collect()
    }

    fn inserted(&mut self, keys: &[Key]) -> Vec<bool> {
        keys.iter().for_each(|&key| *self.members.entry(key).or_default() += 1);
        self.hashes(keys).into_iter().map(|hash| self.numbers.insert(hash)).collect()
    }

    fn removed(&mut self, keys: &[Key]) -> Vec<bool> {
        for key in keys {
            match self.members.get_mut(key).filter(|times| **times > 0) {
                Some(times) => *times -= 1,
                None => self.kept &= self.numbers.count(self.hashes(&[*key])[0]) == 0,
            }
        }
        self.hashes(keys).into_iter().map(|hash| self.numbers.remove(hash)).collect()
    }

    fn some_members(&self, indexes: &[Index]) -> Vec<Key> {
        let mut keys: Vec<Key> =
            self.members.iter().flat_map(|(&key, &times)| (0..times).map(move |_| key)).collect();
        keys.sort_unstable();
        let mut some = Vec::new();
        for index in indexes {
            if !keys.is_empty() {
                some.push(keys.swap_remove(index.index(keys.len())));
            }
        }
        some
    }

    fn other(&self, keys: &[Key], times: u64) -> Self {
        let plan = plans::Numbers::of(self.filter.plan());
        let plan = plans::Numbers { bits: plan.bits * times, ..plan };
        Self::new(&plan.plan(), self.filter.hasher().clone(), keys)
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Insert(key) => {
                let new = self.filter.insert(key.to_le_bytes());
                assert_eq!(self.inserted(&[*key]), [new]);
            }
            Op::InsertMany(keys) => {
                self.filter.insert_all(&self.hashes(keys));
                self.inserted(keys);
            }
            Op::InsertNew(keys) => {
                let mut new = vec![false; keys.len()];
                self.filter.insert_all_new(&self.hashes(keys), &mut new);
                assert_eq!(self.inserted(keys), new, "new or not, in turn");
            }
            Op::Remove(index) => {
                for key in self.some_members(&[*index]) {
                    let there = self.filter.remove(key.to_le_bytes());
                    assert!(there || !self.kept, "{key} is lost");
                    assert_eq!(self.removed(&[key]), [there]);
                }
            }
            Op::RemoveMany(indexes) => {
                let keys = self.some_members(indexes);
                let mut there = vec![false; keys.len()];
                let hashes = self.hashes(&keys);
                self.filter.remove_all(&hashes, &mut there);
                assert_eq!(self.removed(&keys), there);
            }
            Op::RemoveAny(key) => {
                let before = self.filter.clone();
                let there = self.filter.remove(key.to_le_bytes());
                assert_eq!(self.removed(&[*key]), [there]);
                assert!(there || before == self.filter, "a refused removal changes nothing");
            }
            Op::Union(keys, times) => {
                let other = self.other(keys, *times);
                self.filter.union(&other.filter).unwrap();
                let top = self.numbers.top();
                self.numbers.join(other.numbers, |a, b| (a + b).min(top));
                other.members.iter().for_each(|(k, n)| *self.members.entry(*k).or_default() += n);
            }
            Op::Intersect(keys, times) => {
                let other = self.other(keys, *times);
                self.filter.intersect(&other.filter.borrowed()).unwrap();
                self.numbers.join(other.numbers, u64::min);
                for (key, times) in &mut self.members {
                    *times = (*times).min(other.members.get(key).copied().unwrap_or(0));
                }
                // What only one had may leave something behind.
                self.stuck = true;
            }
            Op::Fold(index) => {
                let size = self.numbers.counters.len() as u64 / 512;
                let divisors: Vec<_> = (1..=size).filter(|d| size.is_multiple_of(*d)).collect();
                let divisor = *index.get(&divisors);
                self.filter.fold(divisor).unwrap();
                self.numbers.fold(divisor);
            }
            Op::Clear => {
                self.filter.clear();
                self.numbers.counters.fill(0);
                self.members.clear();
                (self.kept, self.stuck) = (true, false);
            }
            Op::Reopen(way) => {
                let members: Vec<Key> = self.members.keys().copied().collect();
                self.filter = reopened(&self.filter, *way, &self.hashes(&members));
            }
        }
    }

    fn check(&mut self) {
        self.stuck |= self.numbers.counters.contains(&self.numbers.top());
        assert!(payload(&self.filter) == self.numbers.payload(), "other counters");
        let keys: Vec<Key> = (0..2000).step_by(37).chain(0..6).collect();
        let hashes = self.hashes(&keys);
        let (mut found, mut counts) = (vec![false; keys.len()], vec![0; keys.len()]);
        self.filter.contains_all(&hashes, &mut found);
        self.filter.count_all(&hashes, &mut counts);
        for (i, hash) in hashes.iter().enumerate() {
            let count = self.numbers.count(*hash);
            assert_eq!((found[i], u64::from(counts[i])), (count > 0, count));
            assert_eq!(self.filter.contains(*hash), found[i]);
            assert_eq!(self.filter.count(keys[i].to_le_bytes()), counts[i]);
        }
        if !self.kept {
            return;
        }
        for (&key, &times) in &self.members {
            let count = u64::from(self.filter.count(key.to_le_bytes()));
            assert!(count >= times.min(self.numbers.top()), "{key} counts {count}, is in {times}×");
        }
        // Without the counts it is the blocked filter of the keys that are in.
        let plain = self.filter.to_blocked().unwrap();
        let mut afresh = Blocked::with_plan(plain.plan(), plain.hasher().clone()).unwrap();
        let members = self.members.iter().filter(|(_, times)| **times > 0);
        members.for_each(|(key, _)| _ = afresh.insert(key.to_le_bytes()));
        if self.stuck {
            afresh.union(&plain).unwrap();
        }
        assert!(afresh == plain);
        let receipt = self.filter.receipt();
        let of_plain = plain.receipt();
        assert_eq!((receipt.set_bits, receipt.fill), (of_plain.set_bits, of_plain.fill));
        assert_eq!((receipt.keys, receipt.fpp), (of_plain.keys, of_plain.fpp));
        let stuck = self.numbers.counters.iter().filter(|&&n| n == self.numbers.top()).count();
        assert_eq!(fact(&receipt, "stuck_counters"), stuck as u64);
        assert_eq!(receipt.facts.iter().any(|fact| fact.name == "stuck"), stuck > 0);
    }
}

fn fact(receipt: &Receipt, name: &str) -> u64 {
    let fact = receipt.facts.iter().find(|fact| fact.name == name);
    match fact.map(|fact| &fact.figure) {
        Some(Figure::Count(count)) => *count,
        other => panic!("{name} is {other:?}"),
    }
}

proptest! {
    #[test]
    fn acts_as_its_model(
        plan in plan(), hasher in hasher(), ops in prop::collection::vec(op(), 0..40),
    ) {
        let mut pair = Pair::new(&plan, hasher, &[]);
        for op in &ops {
            pair.apply(op);
            pair.check();
        }
    }

    #[test]
    fn sums_and_lesser_ones_keep_the_laws(
        plan in plan(), a in keys(), b in keys(), c in keys(),
    ) {
        let hasher = KeyHasher::default();
        let new = |keys: &[Key]| Pair::new(&plan, hasher, keys).filter;
        let union = |left: &Counting, right: &Counting| {
            let mut left = left.clone();
            left.union(right).unwrap();
            left
        };
        let both = |left: &Counting, right: &Counting| {
            let mut left = left.clone();
            left.intersect(right).unwrap();
            left
        };
        let [x, y, z] = [&a, &b, &c].map(|keys| new.clone()(keys));
        prop_assert!(union(&x, &y) == new(&[a.clone(), b.clone()].concat()));
        for join in [&union as &dyn Fn(&Counting, &Counting) -> Counting, &both] {
            prop_assert!(join(&x, &y) == join(&y, &x));
            prop_assert!(join(&join(&x, &y), &z) == join(&x, &join(&y, &z)));
        }
        prop_assert!(both(&x, &x) == x && both(&x, &union(&x, &y)) == x);
        // The plain filters merge likewise.
        let mut plain = x.to_blocked().unwrap();
        plain.union(&y.to_blocked().unwrap()).unwrap();
        prop_assert!(plain == union(&x, &y).to_blocked().unwrap());
        let mut plain = x.to_blocked().unwrap();
        plain.intersect(&y.to_blocked().unwrap()).unwrap();
        prop_assert!(plain == both(&x, &y).to_blocked().unwrap());
    }
}

#[test]
fn what_is_no_counting_filter_says_so() {
    let blocked = Plan::for_keys(Kind::Blocked, 9, 0.1).unwrap();
    let mut blocked = AnyFilter::with_plan(&blocked, KeyHasher::default()).unwrap();
    let error = blocked.as_counting_mut().unwrap_err();
    assert!(error.to_string().contains("build a counting one"), "{error}");
    let counting = Counting::new(500, 0.01).unwrap().into();
    for (from, to) in [(&blocked, Kind::Blocked), (&counting, Kind::Classic)] {
        assert!(matches!(from.convert(to), Err(MergeError::CannotConvert { .. })));
    }
    assert!(matches!(
        Plan::for_memory(Kind::Counting, 1, 255),
        Err(PlanError::MemoryTooSmall { bytes: 255 })
    ));
    assert_eq!(Plan::for_memory(Kind::Counting, 1, 256).unwrap().bytes(), 256);
}

/// Filled as planned, the rate is kept, and no counter sticks; half of the keys taken out again, it is a
/// filter of the other half.
#[test]
fn the_rate_is_kept_filled_and_after_removals() {
    for (row, (keys, fpp, detail)) in (0..).zip([
        (100, 0.1, 4),
        (20_000, 0.5, 4),
        (100_000, 0.1, 16),
        (100_000, 0.01, 4),
        (50_000, 0.001, 8),
    ]) {
        let plan = Plan::for_keys(Variant::Counting { counter_bits: detail }, keys, fpp).unwrap();
        let blocked = Plan::for_keys(Kind::Blocked, keys, fpp).unwrap();
        assert_eq!(
            (plan.bits(), plan.probes()),
            (u64::from(detail) * blocked.bits(), blocked.probes())
        );
        assert_eq!(plan.predicted_fpp(), blocked.predicted_fpp());
        let hasher = KeyHasher::with_seed(row);
        let mut filter = Counting::with_plan(&plan, hasher.clone()).unwrap();
        let hashes: Vec<_> =
            (0..keys).map(|number| Keys::Sequential.hash(&hasher, number)).collect();
        filter.insert_all(&hashes);
        let half = hashes.len() / 2;
        for members in [&hashes[..], &hashes[half..]] {
            let found = passing(&filter, members.iter().copied());
            assert_eq!(found, members.len() as u64, "a member is lost");
            let receipt = filter.receipt();
            assert_eq!(fact(&receipt, "stuck_counters"), 0);
            assert!(!receipt.over_filled, "{receipt:?}");
            let count = members.len() as f64;
            assert!(
                (receipt.keys.value - count).abs() < 6.0 * receipt.keys.deviation,
                "{receipt:?}"
            );
            let insertions = fact(&receipt, "insertions") as f64;
            assert!((insertions / count - 1.0).abs() < 0.02, "{insertions} of {count}");
            let trials = power(receipt.fpp, 0.1).clamp(10_000.0, 1e6) as u64;
            let fresh = (0..trials).map(|number| Keys::Random.hash(&hasher, number));
            assert_binomial(passing(&filter, fresh), trials, receipt.fpp, &plan);
            if members.len() == hashes.len() {
                let mut removed = vec![false; half];
                filter.remove_all(&hashes[..half], &mut removed);
                assert!(removed.iter().all(|&removed| removed));
            }
        }
        let mut afresh = Blocked::with_plan(&blocked, hasher).unwrap();
        afresh.insert_all(&hashes[half..]);
        assert!(filter.to_blocked().unwrap() == afresh);
    }
}

/// A key that comes more often than a counter counts stays, whatever is removed.
#[test]
fn counters_at_their_top_stick() {
    for (detail, top) in [(4, 12), (8, 192), (16, 49_152)] {
        let plan = Plan::for_keys(Variant::Counting { counter_bits: detail }, 100, 0.01).unwrap();
        let mut filter = Counting::with_plan(&plan, KeyHasher::default()).unwrap();
        for times in 1..=top + 3 {
            assert_eq!(filter.insert("often"), times == 1);
            assert_eq!(filter.count("often"), times.min(top));
        }
        let receipt = filter.receipt();
        assert_eq!(fact(&receipt, "stuck_counters"), 8);
        let Figure::Text(words) = &receipt.facts[2].figure else { panic!("{receipt:?}") };
        assert!(words.contains(&format!("reached {top} ")) && words.contains("no key is lost"));
        for _ in 0..2 * top {
            assert!(filter.remove("often"));
        }
        assert_eq!(filter.count("often"), top);
        filter.clear();
        assert!(!filter.contains("often"));
    }
}
