//! The window filter, compared with generations of plain bits and a list of timed insertions, by count and by time,
//! through files: it misses nothing inside the window, and keeps its rate.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{AnyFilter, Capacity, Filter, KeyHash, KeyHasher, Kind, Plan, Variant, Window};

use crate::damage::{assert_fails, with_header};
use crate::models::{self, Key, Model as _, Pair};
use crate::plans::{detail, variant};
use crate::reference::Reference;
use crate::reopened::hasher;
use crate::statistics::passing;

#[derive(Clone, Debug)]
enum Op {
    Any(models::Op),
    /// Advances by this many ticks; 0 goes back by 1.
    Advance(u64),
    InsertAt(Key, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let later = || prop_oneof![6 => 0..20u64, 1 => 0..2000u64, 1 => Just(1 << 60)];
    prop_oneof![
        6 => models::op().prop_map(Op::Any),
        1 => later().prop_map(Op::Advance),
        1 => ((0..2000 as Key), later()).prop_map(|(key, later)| Op::InsertAt(key, later)),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let fpp = prop::sample::select(vec![0.9, 0.5, 0.1, 0.01, 1e-4, 1e-7]);
    let planned = (1..=600u64, fpp, 2..=8u32).prop_map(|(keys, fpp, g)| {
        Plan::for_keys(Variant::Window { generations: g }, keys, fpp).unwrap()
    });
    let by_hand = (1..=300u64, 1..=8u64, 1..=umbel::MAX_PROBES, 2..=8u32).prop_map(
        |(keys, blocks, probes, detail)| {
            let bits = 512 * blocks * u64::from(detail);
            Plan::from_parts(variant(Kind::Window, detail), keys, 0.01, bits, probes).unwrap()
        },
    );
    prop_oneof![2 => planned, 1 => by_hand]
}

/// The model of FORMAT.md, with the time of each key's insertions.
struct Model {
    plan: Plan,
    /// Ticks of the window; 0 by count.
    span: u64,
    tick: u64,
    number: u64,
    generations: Vec<Reference>,
    taken: Vec<u64>,
    /// Key, insertions before it, and tick.
    came: Vec<(KeyHash, u64, u64)>,
    count: u64,
}

impl Model {
    fn new(plan: &Plan, span: u64) -> Self {
        let each = Window::with_plan(plan, KeyHasher::default()).unwrap().receipt().parts[0].plan;
        let count = detail(plan.variant()) as usize;
        let generations = vec![Reference::new(&each); count];
        let taken = vec![0; count];
        let (tick, number, count) = (0, 0, 0);
        Self { plan: *plan, span, tick, number, generations, taken, came: Vec::new(), count }
    }

    fn newest(&self) -> usize {
        (self.number % self.generations.len() as u64) as usize
    }

    fn turn(&mut self) {
        self.number += 1;
        let newest = self.newest();
        self.generations[newest].clear();
        self.taken[newest] = 0;
    }

    fn advance(&mut self, tick: u64) {
        self.tick = self.tick.max(tick);
        let now = tick / self.span.div_ceil(self.generations.len() as u64 - 1);
        if now > self.number + 100 {
            self.generations.iter_mut().for_each(Reference::clear);
            self.taken.fill(0);
            self.number = now;
        }
        while self.number < now {
            self.turn();
        }
    }
}

impl models::Model for Model {
    fn contains(&self, hash: KeyHash) -> bool {
        self.generations.iter().any(|generation| generation.contains(hash))
    }

    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        let new = !self.contains(hash);
        let newest = self.newest();
        self.generations[newest].insert(hash);
        self.taken[newest] += 1;
        self.came.push((hash, self.count, self.tick));
        self.count += 1;
        if self.span == 0
            && self.taken[newest] == self.plan.keys().div_ceil(self.taken.len() as u64 - 1)
        {
            self.turn();
        }
        Some(new)
    }

    fn clear(&mut self) {
        self.generations.iter_mut().for_each(Reference::clear);
        self.taken.fill(0);
        self.came.clear();
        if self.span == 0 {
            self.number = 0;
        }
    }

    /// The keys inside the window, which must be present.
    fn kept(&self, _: &HashSet<KeyHash>) -> Vec<KeyHash> {
        let inside = |(_, before, tick): &&(KeyHash, u64, u64)| match self.span {
            0 => self.count - before <= self.plan.keys(),
            span => self.tick - tick <= span,
        };
        self.came.iter().filter(inside).map(|(hash, ..)| *hash).collect()
    }

    fn check(&self, filter: &AnyFilter) {
        let AnyFilter::Window(filter) = filter else { panic!("another kind") };
        assert_eq!(filter.remembered(), self.taken.iter().sum::<u64>());
        let taken: Vec<_> = filter.receipt().parts.iter().map(|part| part.keys as u64).collect();
        assert_eq!(taken, self.taken);
    }

    /// Block b of generation g at b·G + g.
    fn payload(&self) -> Vec<u8> {
        let parts: Vec<_> = self.generations.iter().map(Reference::payload).collect();
        let blocks = (0..parts[0].len()).step_by(64);
        let group = |at: usize| parts.iter().flat_map(move |part| part[at..at + 64].to_vec());
        blocks.flat_map(group).collect()
    }
}

fn run(plan: &Plan, span: u64, hasher: KeyHasher, ops: &[Op]) {
    let filter = match span {
        0 => Window::with_plan(plan, hasher).unwrap(),
        span => Window::by_time(plan, hasher, span).unwrap(),
    };
    assert_eq!(filter.span(), Some(span).filter(|&span| span > 0));
    let mut pair = Pair::new(filter, Model::new(plan, span));
    for op in ops {
        match op {
            Op::Any(op) => pair.apply(op),
            Op::Advance(later) | Op::InsertAt(_, later) => {
                let tick = match later {
                    0 => pair.model.tick.saturating_sub(1),
                    later => pair.model.tick.saturating_add(*later),
                };
                let hash = match op {
                    Op::InsertAt(key, _) => Some(pair.hashes([*key])[0]),
                    _ => None,
                };
                let Pair { filter: AnyFilter::Window(filter), model, .. } = &mut pair else {
                    panic!("another kind")
                };
                if span == 0 {
                    assert_fails("NoClock", filter.advance(tick));
                    assert_fails("NoClock", filter.insert_at("key", tick));
                    continue;
                }
                model.advance(tick);
                match hash {
                    Some(hash) => {
                        assert_eq!(filter.insert_at(hash, tick).ok(), model.insert(hash));
                    }
                    None => filter.advance(tick).unwrap(),
                }
            }
        }
        pair.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn of_insertions_acts_as_its_model(plan in plan(), hasher in hasher(), ops in prop::collection::vec(op(), 0..25)) {
        run(&plan, 0, hasher, &ops);
    }

    #[test]
    fn by_time_acts_as_its_model(
        plan in plan(),
        ticks in 1..20u64,
        many in prop_oneof![1000..5000u64, Just(u64::MAX)],
        few in prop::bool::weighted(0.7),
        hasher in hasher(),
        ops in prop::collection::vec(op(), 0..25),
    ) {
        let turns = u64::from(detail(plan.variant()) - 1);
        run(&plan, if few { ticks * turns } else { many }, hasher, &ops);
    }
}

/// Inserting a key again resets its age.
#[test]
fn what_comes_again_stays() {
    let mut filter = Window::new(300, 1e-9).unwrap();
    for key in 1..10_000 {
        filter.insert(key);
        if key % 250 == 1 {
            assert_eq!(filter.insert(0), key == 1, "{key}");
        }
    }
    assert!(filter.contains(0));
}

/// By time, a generation accepts everything and reports more than its share.
#[test]
fn over_fill_is_told() {
    let plan = Plan::for_keys(Kind::Window, 3_000, 0.01).unwrap();
    let mut filter = Window::by_time(&plan, KeyHasher::default(), 30).unwrap();
    for tick in 0..100 {
        filter.advance(tick).unwrap();
        (0..99).for_each(|key| _ = filter.insert(1000 * tick + key));
    }
    assert!(!filter.receipt().over_filled, "{:?}", filter.receipt());
    (0..3_000).for_each(|key| _ = filter.insert(1 << 30 | key));
    let receipt = filter.receipt();
    assert!(receipt.over_filled && receipt.fpp > 0.01, "{receipt:?}");
    // It passes.
    filter.advance(150).unwrap();
    assert!(!filter.receipt().over_filled && filter.remembered() == 0);
}

/// Evenly spread keys keep the rate at every tick; of many ticks, up to the 6 % that 1 % more keys make of it.
#[test]
fn every_span_keeps_the_rate() {
    for (generations, span) in [(2, 1), (2, 7), (4, 3), (4, 200), (4, 1_000), (8, 7), (8, 601)] {
        let plan = Plan::for_keys(Variant::Window { generations }, 120_000, 0.01).unwrap();
        let mut filter = Window::by_time(&plan, KeyHasher::default(), span).unwrap();
        let (mut keys, mut most) = (0, 0.0_f64);
        for tick in 0..3 * span {
            filter.advance(tick).unwrap();
            let until = (tick + 1) * 120_000 / span;
            filter.extend(keys..until);
            keys = until;
            if (tick + 1) % span.div_ceil(20) == 0 {
                most = most.max(filter.receipt().fpp);
            }
        }
        assert!(most < 0.010_6, "{generations} generations, {span} ticks: {most}");
    }
}

/// The last possible tick with the shortest generations: nothing overflows, and the file can be read.
#[test]
fn the_clock_can_run_to_its_end() {
    let plan = Plan::for_keys(Variant::Window { generations: 2 }, 100, 0.01).unwrap();
    let mut filter = Window::by_time(&plan, KeyHasher::default(), 1).unwrap();
    for tick in [0, u64::MAX - 1, u64::MAX] {
        filter.advance(tick).unwrap();
        filter.insert(tick);
        assert!(filter.contains(tick));
        let receipt = filter.receipt();
        assert!(receipt.fpp < 0.01, "{receipt:?}");
        assert!(Window::from_bytes(&filter.to_bytes()).unwrap() == filter);
    }
    assert!(!filter.contains(0) && filter.contains(u64::MAX - 1));
}

/// A tick far ahead, given by mistake, stops forgetting until the clock is set back; afterwards, every key of the
/// window is still found.
#[test]
fn the_clock_can_be_set_back() {
    for mistake in [1_035, 1_040, 1_000_000, u64::MAX] {
        let plan = Plan::for_keys(Kind::Window, 3_000, 0.01).unwrap();
        let mut filter = Window::by_time(&plan, KeyHasher::default(), 30).unwrap();
        let at = |filter: &mut Window, tick: u64| {
            filter.advance(tick).unwrap();
            (0..100).for_each(|key| _ = filter.insert(1000 * tick + key));
        };
        (990..1_010).for_each(|tick| at(&mut filter, tick));
        filter.advance(mistake).unwrap();
        (1_010..1_020).for_each(|tick| at(&mut filter, tick));
        let known: Vec<u64> = (990_000..1_020_000).filter(|&key| filter.contains(key)).collect();
        filter.set_clock(1_020).unwrap();
        assert!(known.iter().all(|&key| filter.contains(key)), "back from {mistake}");
        assert_eq!(filter.remembered(), if mistake == 1_035 { 2_000 } else { 1_000 });
        // Found for a window, as if all were inserted now; forgotten a third of a window after that.
        filter.set_clock(1_050).unwrap();
        assert!(known.iter().all(|&key| filter.contains(key)));
        filter.advance(1_060).unwrap();
        assert!(filter.remembered() == 0 && !filter.contains(1_019_000));
        assert!(Window::from_bytes(&filter.to_bytes()).unwrap() == filter);
    }
    let mut counted = Window::new(10, 0.01).unwrap();
    assert_fails("NoClock", counted.set_clock(1));
}

#[test]
fn plans_that_cannot_be_say_why() {
    assert_eq!(Kind::Window.capacity(), Capacity::Last);
    let plan = Plan::for_keys(Kind::Window, 10, 0.01).unwrap();
    let no_span = Window::by_time(&plan, KeyHasher::default(), 0);
    assert_fails("Field(FieldError { field: \"span\"", no_span);
    let blocked = Plan::for_keys(Kind::Blocked, 10, 0.01).unwrap();
    assert_fails("Kind", Window::by_time(&blocked, KeyHasher::default(), 3));
    for uneven in [1, 2, 7, 199] {
        let filter = Window::by_time(&plan, KeyHasher::default(), uneven);
        assert_fails("Field(FieldError { field: \"span\"", filter);
    }
}

/// A filter that was read continues where the written one stopped.
#[test]
fn a_file_of_several_chunks_goes_on() {
    let plan = Plan::for_keys(Kind::Window, 700_000, 0.01).unwrap();
    let hasher = KeyHasher::with_seed(9);
    let mut filter = Window::with_plan(&plan, hasher.clone()).unwrap();
    let hashes: Vec<_> = (0..1_500_000).map(|key| hasher.hash(key)).collect();
    filter.insert_all(&hashes[..1_100_000]);
    let mut read = Window::from_bytes(&filter.to_bytes()).unwrap();
    for filter in [&mut filter, &mut read] {
        filter.insert_all(&hashes[1_100_000..]);
        assert_eq!(passing(filter, hashes[800_000..].iter().copied()), 700_000);
    }
    assert!(filter == read);
}

/// A file may declare so many generations that their number has no successor.
#[test]
fn the_highest_number_turns_too() {
    let plan = Plan::from_parts(variant(Kind::Window, 4), 30, 0.01, 512 * 64, 8).unwrap();
    let mut filter = Window::with_plan(&plan, KeyHasher::default()).unwrap();
    filter.insert_all(&(0..35u64).collect::<Vec<_>>());
    // The newest generation, 3, is at the place of 2⁶⁴ − 1.
    let aged = with_header(&filter.to_bytes(), 88, &u64::MAX.to_le_bytes());
    let mut filter = Window::from_bytes(&aged).unwrap();
    for key in 35..200u64 {
        filter.insert(key);
        let read = Window::from_bytes(&filter.to_bytes()).unwrap();
        assert!(((key - 29)..=key).all(|key| read.contains(key)), "after {key}");
        assert_eq!(read.remembered(), 30 + (key + 1) % 10, "after {key}");
    }
}
