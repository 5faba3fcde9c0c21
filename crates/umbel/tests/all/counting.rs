//! Counting filters, compared with a model that has a number per counter, and with their blocked filters.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use umbel::{
    AnyFilter, Blocked, Counting, Figure, Filter, KeyHash, KeyHasher, Kind, Plan, Variant,
};

use crate::damage::assert_fails;
use crate::model::{self, Merges};
use crate::models::{Key, Model, Pair};
use crate::plans::{self, detail, variant};
use crate::reference::positions_of;
use crate::reopened::hasher;
use crate::statistics::{Keys, assert_rate, figure, passing, power};

#[derive(Clone, Debug)]
enum Op {
    Any(model::Op),
    /// A present key, or any key.
    Remove(Index),
    RemoveMany(Vec<Index>),
    RemoveAny(Key),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => model::op().prop_map(Op::Any),
        6 => any::<Index>().prop_map(Op::Remove),
        4 => prop::collection::vec(any::<Index>(), 0..40).prop_map(Op::RemoveMany),
        2 => (0..2000 as Key).prop_map(Op::RemoveAny),
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

/// A number for each counter, as FORMAT.md defines them.
#[derive(Clone)]
struct Numbers {
    plan: Plan,
    counters: Vec<u64>,
    /// How often each key is present. Removing other keys may break this promise.
    members: HashMap<KeyHash, u64>,
    kept: bool,
    /// Whether a counter was ever at its maximum: then removed keys may leave counters set.
    stuck: bool,
}

impl Merges for Numbers {
    fn new(plan: &Plan) -> Self {
        let counters = plan.bits() / u64::from(detail(plan.variant()));
        let (counters, members) = (vec![0; counters as usize], HashMap::new());
        Self { plan: *plan, counters, members, kept: true, stuck: false }
    }

    fn unite(&mut self, other: Self) {
        for (hash, times) in &other.members {
            *self.members.entry(*hash).or_default() += times;
        }
        let top = self.top();
        self.join(other, |a, b| (a + b).min(top));
    }

    fn intersect(&mut self, other: Self) {
        for (hash, times) in &mut self.members {
            *times = (*times).min(other.members.get(hash).copied().unwrap_or(0));
        }
        self.join(other, u64::min);
        // Keys of only one filter may leave counters set.
        self.stuck = true;
    }

    fn fold(&mut self, divisor: u64) {
        let top = self.top();
        let mut folded = vec![0; self.counters.len() / divisor as usize];
        for (j, count) in self.counters.iter().enumerate() {
            let to: &mut u64 = &mut folded[j / 512 / divisor as usize * 512 + j % 512];
            *to = (*to + count).min(top);
        }
        self.counters = folded;
        self.stuck |= self.counters.contains(&top);
        let bits = self.plan.bits() / divisor;
        self.plan = plans::Numbers { bits, ..plans::Numbers::of(&self.plan) }.plan();
    }
}

impl Numbers {
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

    fn remove(&mut self, hash: KeyHash) -> bool {
        let there = self.count(hash) > 0;
        match self.members.get_mut(&hash).filter(|times| **times > 0) {
            Some(times) => *times -= 1,
            None => self.kept &= !there,
        }
        for j in self.positions(hash).into_iter().filter(|_| there) {
            if self.counters[j] < self.top() {
                self.counters[j] -= 1;
            }
        }
        there
    }

    /// The present keys, each as often as it was inserted.
    fn all(&self) -> Vec<KeyHash> {
        let members = self.members.iter();
        let mut all: Vec<_> =
            members.flat_map(|(&hash, &times)| (0..times).map(move |_| hash)).collect();
        all.sort_unstable();
        all
    }

    fn join(&mut self, mut other: Self, join: impl Fn(u64, u64) -> u64) {
        match (other.counters.len() / self.counters.len()) as u64 {
            0 => self.fold((self.counters.len() / other.counters.len()) as u64),
            times => other.fold(times),
        }
        for (count, other) in self.counters.iter_mut().zip(other.counters) {
            *count = join(*count, other);
        }
        self.stuck |= self.counters.contains(&self.top());
    }
}

impl Model for Numbers {
    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        let new = self.count(hash) == 0;
        for j in self.positions(hash) {
            self.counters[j] = (self.counters[j] + 1).min(self.top());
            self.stuck |= self.counters[j] == self.top();
        }
        *self.members.entry(hash).or_default() += 1;
        Some(new)
    }

    fn contains(&self, hash: KeyHash) -> bool {
        self.count(hash) > 0
    }

    fn clear(&mut self) {
        *self = Self::new(&self.plan);
    }

    fn kept(&self, _: &HashSet<KeyHash>) -> Vec<KeyHash> {
        if self.kept { self.all() } else { Vec::new() }
    }

    fn check(&self, filter: &AnyFilter) {
        let AnyFilter::Counting(filter) = filter else { panic!("another kind") };
        let hashes: Vec<_> =
            (0..2000).step_by(37).chain(0..6).map(|key| filter.hasher().hash(key)).collect();
        let mut counts = vec![0; hashes.len()];
        filter.count_all(&hashes, &mut counts);
        for (hash, &count) in hashes.iter().zip(&counts) {
            assert_eq!((u64::from(count), filter.count(hash)), (self.count(*hash), count));
        }
        if !self.kept {
            return;
        }
        for (hash, &times) in &self.members {
            let count = u64::from(filter.count(hash));
            assert!(count >= times.min(self.top()), "counts {count}, is in {times}×");
        }
        // Without the counts it is the blocked filter of the present keys.
        let plain = filter.to_blocked().unwrap();
        let mut afresh = Blocked::with_plan(plain.plan(), plain.hasher().clone()).unwrap();
        afresh.insert_all(&self.all());
        if self.stuck {
            afresh.union(&plain).unwrap();
        }
        assert!(afresh == plain);
        let (receipt, of_plain) = (filter.receipt(), plain.receipt());
        assert_eq!((receipt.set_bits, receipt.fill), (of_plain.set_bits, of_plain.fill));
        assert_eq!((receipt.keys, receipt.fpp), (of_plain.keys, of_plain.fpp));
        let stuck = self.counters.iter().filter(|&&count| count == self.top()).count();
        assert_eq!(figure(&receipt, "stuck_counters"), stuck as f64);
        assert_eq!(receipt.facts.iter().any(|fact| fact.name == "stuck"), stuck > 0);
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

fn some_members(numbers: &Numbers, indexes: &[Index]) -> Vec<KeyHash> {
    let mut all = numbers.all();
    let some = indexes.iter().take(all.len());
    some.map(|index| all.swap_remove(index.index(all.len()))).collect()
}

fn counting(pair: &mut Pair<Numbers>) -> &mut Counting {
    pair.filter.as_counting_mut().unwrap()
}

fn apply(pair: &mut Pair<Numbers>, op: &Op) {
    match op {
        Op::Any(op) => model::apply(pair, op),
        Op::Remove(index) => {
            for hash in some_members(&pair.model, &[*index]) {
                let there = counting(pair).remove(hash);
                assert!(there || !pair.model.kept, "a key is lost");
                assert_eq!(pair.model.remove(hash), there);
            }
        }
        Op::RemoveMany(indexes) => {
            let hashes = some_members(&pair.model, indexes);
            let mut there = vec![false; hashes.len()];
            counting(pair).remove_all(&hashes, &mut there);
            let expected: Vec<_> = hashes.iter().map(|hash| pair.model.remove(*hash)).collect();
            assert_eq!(there, expected);
        }
        Op::RemoveAny(key) => {
            let (before, hash) = (pair.filter.clone(), pair.hashes([*key])[0]);
            let there = counting(pair).remove(hash);
            assert_eq!(pair.model.remove(hash), there);
            assert!(there || before == pair.filter, "a refused removal changes nothing");
        }
    }
}

proptest! {
    #[test]
    fn acts_as_its_model(
        plan in plan(), hasher in hasher(), ops in prop::collection::vec(op(), 0..40),
    ) {
        let mut pair = model::pair::<Numbers>(&plan, hasher, &[]);
        for op in &ops {
            apply(&mut pair, op);
            pair.check();
        }
    }

    #[test]
    fn sums_and_lesser_ones_keep_the_laws(
        plan in plan(), a in model::keys(), b in model::keys(), c in model::keys(),
    ) {
        model::laws::<Numbers>(&plan, KeyHasher::default(), [&a, &b, &c]);
    }
}

#[test]
fn what_is_no_counting_filter_says_so() {
    let blocked = Plan::for_keys(Kind::Blocked, 9, 0.1).unwrap();
    let mut blocked = AnyFilter::with_plan(&blocked, KeyHasher::default()).unwrap();
    let error = blocked.as_counting_mut().unwrap_err();
    assert!(error.to_string().contains("build a counting one"), "{error}");
    let counting = AnyFilter::Counting(Counting::new(500, 0.01).unwrap());
    for (from, to) in [(&blocked, Kind::Blocked), (&counting, Kind::Classic)] {
        assert_fails("CannotConvert(", from.convert(to));
    }
}

/// A filter filled as planned keeps the rate, and no counter sticks. With half of the keys removed, it equals a
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
        assert_eq!(plan.bits(), u64::from(detail) * blocked.bits());
        assert_eq!(plan.probes(), blocked.probes());
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
            assert_eq!(figure(&receipt, "stuck_counters"), 0.0);
            assert!(!receipt.over_filled, "{receipt:?}");
            let count = members.len() as f64;
            let off = (receipt.keys.value - count).abs();
            assert!(off < 6.0 * receipt.keys.deviation, "{receipt:?}");
            let insertions = figure(&receipt, "insertions");
            assert!((insertions / count - 1.0).abs() < 0.02, "{insertions} of {count}");
            let trials = power(receipt.fpp, 0.1).clamp(10_000.0, 1e6) as u64;
            let fresh = |number| Keys::Random.hash(&hasher, number);
            assert_rate(&filter, 0..trials, fresh, receipt.fpp, &plan);
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

/// A key inserted more often than a counter can count stays, whatever is removed.
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
        assert_eq!(figure(&receipt, "stuck_counters"), 8.0);
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
