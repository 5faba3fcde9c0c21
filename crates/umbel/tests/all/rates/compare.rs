//! Comparisons of two filters of known sets.

use umbel::internals::math::{Coverage, binomial_bounds};
use umbel::{AnyFilter, Classic, Estimate, Filter, KeyHash, KeyHasher, Kind, Plan, Variant};

use crate::damage::assert_fails;
use crate::statistics::splitmix;

const PAIRS: u64 = 1_000;

/// Two sets that share the first `shared` of their `left` and `right` keys, and no others.
struct Sets {
    left: u64,
    right: u64,
    shared: u64,
    first: u64,
}

impl Sets {
    /// Pair `index`: 20 to 20,000 keys, with every overlap from none to all of either set.
    fn random(index: u64) -> Self {
        let unit = |word: u64| (splitmix(10 * index + word) >> 11) as f64 / (1u64 << 53) as f64;
        let size = |word| (20.0 * 1000f64.powf(unit(word))) as u64;
        let (left, right) = (size(1), size(2));
        let most = left.min(right);
        let shared = match index % 10 {
            0 => 0,
            1 => most,
            _ => (unit(3) * (most + 1) as f64) as u64,
        };
        Self { left, right, shared, first: index << 32 }
    }

    fn hashes(&self) -> [Vec<KeyHash>; 2] {
        let hash = |key: u64| KeyHash::from_u64(splitmix(self.first + key));
        let right = (0..self.shared).chain(self.left..self.left + self.right - self.shared);
        [(0..self.left).map(hash).collect(), right.map(hash).collect()]
    }
}

/// How often an interval contained the true value, and the errors in standard deviations.
#[derive(Default)]
struct Tally {
    covered: u64,
    errors: Vec<f64>,
}

impl Tally {
    fn add(&mut self, estimate: Estimate, truth: f64) {
        let Estimate { value, low, high, deviation, .. } = estimate;
        assert!(low <= value && value <= high, "{estimate:?}");
        // Allows for a double's rounding at the very end.
        let slack = 1e-9 * truth.abs().max(1.0);
        self.covered += u64::from(low - slack <= truth && truth <= high + slack);
        // Estimates are clamped at the bounds, so they err to one side.
        if truth > 0.0 && deviation > 0.0 {
            self.errors.push((value - truth) / deviation);
        }
    }

    /// The mean error in standard deviations of one estimate.
    fn bias(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len() as f64
    }

    /// Errors within 0.6745 standard deviations: half of them if they are normal.
    fn near(&self) -> u64 {
        self.errors.iter().filter(|error| error.abs() < 0.6745).count() as u64
    }
}

fn pairs(kind: Kind) {
    let mut tallies: [Tally; 7] = Default::default();
    for index in 0..PAIRS {
        let sets = Sets::random(index);
        // From a tenth to two and a half times as full as planned.
        let keys = (sets.left.max(sets.right) as f64
            * [10.0, 3.0, 1.0, 0.7, 0.4][index as usize % 5])
            .ceil() as u64;
        let plan = Plan::for_keys(kind, keys, [0.1, 0.01, 0.001][index as usize % 3]).unwrap();
        let [left, right] = sets
            .hashes()
            .map(|hashes| AnyFilter::build(&plan, &hashes, KeyHasher::default()).unwrap());
        let found = left.compare(&right).unwrap();
        let overlap = found.overlap.expect("bits are left");
        let (a, b, c) = (sets.left as f64, sets.right as f64, sets.shared as f64);
        let union = a + b - c;
        let truths = [
            (found.left, a),
            (found.right, b),
            (overlap.union, union),
            (overlap.intersection, c),
            (overlap.jaccard, c / union),
            (overlap.left_in_right, c / a),
            (overlap.right_in_left, c / b),
        ];
        for (tally, (estimate, truth)) in tallies.iter_mut().zip(truths) {
            tally.add(estimate, truth);
        }
    }
    let names =
        ["left", "right", "union", "intersection", "jaccard", "left in right", "right in left"];
    // 95 % of a thousand; the chance to be outside is 1e-9.
    let (low, _) = binomial_bounds(PAIRS, 0.95, 1e-9);
    for (name, tally) in names.iter().zip(&tallies) {
        println!("{kind} {name}: {} of {PAIRS} covered, bias {:.3}", tally.covered, tally.bias());
        assert!(tally.covered >= low.max(930), "{kind} {name}: {} covered", tally.covered);
        assert!(tally.bias().abs() < 0.2, "{kind} {name}: bias {}", tally.bias());
        // Deviations that are too large would contain every true value.
        let (low, high) = binomial_bounds(tally.errors.len() as u64, 0.5, 1e-9);
        assert!((low..=high).contains(&tally.near()), "{kind} {name}: {} near", tally.near());
    }
}

#[test]
fn intervals_cover_the_truth() {
    [Kind::Blocked, Kind::Classic, Kind::Sliced].into_iter().for_each(pairs);
}

fn filter(kind: Kind, planned: u64, keys: std::ops::Range<u64>) -> AnyFilter {
    let plan = Plan::for_keys(kind, planned, 0.01).unwrap();
    let hashes: Vec<_> = keys.map(|key| KeyHash::from_u64(splitmix(key))).collect();
    AnyFilter::build(&plan, &hashes, KeyHasher::default()).unwrap()
}

#[test]
fn a_larger_filter_is_compared_as_it_folds() {
    for kind in [Kind::Blocked, Kind::Classic] {
        let small = filter(kind, 100_000, 0..50_000);
        let large = filter(kind, 400_000, 30_000..90_000);
        let mut folded = small.clone();
        folded.intersect(&large).unwrap();
        let found = small.compare(&large).unwrap();
        let expected = (folded.plan().bits(), folded.receipt().set_bits);
        assert_eq!((found.bits, found.shared_bits), expected);
        assert_eq!(found.left, small.receipt().keys, "as its own receipt has it");
        let mut union = small.clone();
        union.union_folding(&large).unwrap();
        let overlap = found.overlap.unwrap();
        assert_eq!(overlap.union.value, union.receipt().keys.value);
        assert!((overlap.intersection.value - 20_000.0).abs() < 2_000.0, "{overlap:?}");
        let back = large.compare(&small).unwrap();
        assert_eq!((back.left, back.right_bits), (found.right, found.left_bits));
        assert_eq!(back.overlap.unwrap().left_in_right, overlap.right_in_left);
    }
}

#[test]
fn counting_filters_are_compared_as_blocked_ones() {
    let plain = filter(Kind::Blocked, 10_000, 0..8_000);
    let counting = filter(Kind::Counting, 10_000, 2_000..9_000);
    let same = filter(Kind::Blocked, 10_000, 2_000..9_000);
    let expected = plain.compare(&same).unwrap();
    assert_eq!(plain.compare(&counting).unwrap(), expected);
    let own = counting.compare(&counting).unwrap();
    assert_eq!(own, same.compare(&same).unwrap());
    let overlap = own.overlap.unwrap();
    assert_eq!((overlap.jaccard.value, overlap.jaccard.high), (1.0, 1.0));
    assert_eq!(overlap.union.value, overlap.intersection.value);
}

#[test]
fn empty_and_full_filters_and_what_cannot_be_compared() {
    let some = filter(Kind::Classic, 1_000, 0..500);
    let empty = filter(Kind::Classic, 1_000, 0..0);
    let overlap = some.compare(&empty).unwrap().overlap.unwrap();
    assert_eq!((overlap.intersection.value, overlap.jaccard.value), (0.0, 0.0));
    assert_eq!((overlap.right_in_left.low, overlap.right_in_left.high), (0.0, 1.0));
    let nothing = empty.compare(&empty).unwrap().overlap.unwrap();
    assert_eq!((nothing.union.value, nothing.jaccard.high), (0.0, 1.0));
    let full = filter(Kind::Classic, 1_000, 0..100_000);
    let found = some.compare(&full).unwrap();
    assert!(found.overlap.is_none() && found.right.value.is_infinite());

    let blocked = filter(Kind::Blocked, 1_000, 0..500);
    let chain = filter(Kind::Scalable, 1_000, 0..500);
    let seeded = AnyFilter::with_plan(blocked.plan(), KeyHasher::with_seed(7)).unwrap();
    assert_fails("KindsDiffer(", some.compare(&blocked));
    assert_fails("NotComparable(Scalable)", blocked.compare(&chain));
    assert_fails("SchemesDiffer(", blocked.compare(&seeded));
}

/// 400 pairs of filters of disjoint sets vary as docs/internals.md, section 7, says; not as √(m·fill)/k.
#[test]
fn estimates_of_empty_intersections_vary_as_printed() {
    const PAIRS: u64 = 400;
    let (bits, probes) = (10_000, 7);
    let coverage = Coverage::classic(bits, probes);
    let hasher = KeyHasher::default();
    for (keys, fill) in [(104, 0.07), (990, 0.5), (1980, 0.75)] {
        let plan = Plan::from_parts(Variant::Classic, keys, 0.5, bits, probes).unwrap();
        let filter = |number: u64| {
            let hashes: Vec<KeyHash> =
                (number * keys..(number + 1) * keys).map(|key| hasher.hash(key)).collect();
            let mut filter = Classic::with_plan(&plan, hasher.clone()).unwrap();
            filter.insert_all(&hashes);
            filter
        };
        let clear = |filter: &Classic| (bits - filter.receipt().set_bits) as f64;
        let estimates = (0..PAIRS).map(|pair| {
            let (left, right) = (filter(2 * pair), filter(2 * pair + 1));
            let mut either = left.clone();
            either.union(&right).unwrap();
            let [left, right, either] =
                [&left, &right, &either].map(|filter| coverage.keys(clear(filter)).value);
            left + right - either
        });
        let squares = estimates.map(|estimate| estimate * estimate).sum::<f64>();
        let found = (squares / PAIRS as f64).sqrt();
        let expected = (bits as f64).sqrt() * fill / ((1.0 - fill) * f64::from(probes));
        // With this many, a deviation has a relative deviation of 1/√(2·PAIRS), 3.5 %; the formula is only first-order.
        assert!((found / expected - 1.0).abs() < 0.2, "fill {fill}: {found}, not {expected}");
    }
}
