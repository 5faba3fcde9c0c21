//! The scalable filter, compared with a set and links of plain bits, for single keys, batches and files; its rate over
//! growth; and the limits of its growth.

use proptest::prelude::*;
use umbel::{
    AnyFilter, FileError, Filter, Full, Growth, KeyHash, KeyHasher, Kind, Plan, PlanError,
    Scalable, Variant,
};

use crate::damage::{assert_fails, header_length, number, resum};
use crate::description::described;
use crate::models::{self, Pair, op};
use crate::reference::{Reference, part};
use crate::reopened::{Way, hasher, reopened};
use crate::statistics::{Keys, Rates, SIGMAS, block_rate, first_seed, mean, passing, power};

fn plan() -> impl Strategy<Value = Plan> {
    let fpp = prop::sample::select(vec![0.9, 0.5, 0.1, 0.01, 1e-4, 1e-7]);
    let planned = (1..=300u64, fpp)
        .prop_map(|(keys, fpp)| Plan::for_keys(Kind::Scalable, keys, fpp).unwrap());
    // Hand-made: any number of probes, and a first link that may be too small to ever be full.
    let by_hand =
        (1..=300u64, 1..=8u64, 1..=umbel::MAX_PROBES).prop_map(|(keys, blocks, probes)| {
            Plan::from_parts(Kind::Scalable, keys, 0.01, 512 * blocks, probes).unwrap()
        });
    // Links of equal size are many.
    let fpp = prop::sample::select(vec![0.5, 0.01, 1e-4]);
    let fixed = (300..=600u64, fpp).prop_map(|(keys, fpp)| {
        Plan::for_keys(Variant::Scalable { growth: Growth::Even }, keys, fpp).unwrap()
    });
    prop_oneof![4 => planned, 2 => by_hand, 1 => fixed]
}

/// The links as FORMAT.md defines them, with the keys each took.
struct Model {
    plan: Plan,
    links: Vec<(Reference, Plan, u64)>,
}

impl Model {
    fn new(plan: &Plan) -> Self {
        let mut model = Self { plan: *plan, links: Vec::new() };
        model.grow();
        model
    }

    fn grow(&mut self) {
        let link = self.plan.link(self.links.len() as u32).unwrap();
        self.links.push((Reference::new(&link), link, 0));
    }
}

impl models::Model for Model {
    fn contains(&self, hash: KeyHash) -> bool {
        (0u64..).zip(&self.links).any(|(i, (bits, ..))| bits.contains(part(hash, i)))
    }

    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        if self.contains(hash) {
            return Some(false);
        }
        let (_, link, taken) = self.links.last().unwrap();
        if *taken == link.keys() {
            self.grow();
        }
        let index = self.links.len() as u64 - 1;
        let (bits, _, taken) = self.links.last_mut().unwrap();
        bits.insert(part(hash, index));
        *taken += 1;
        Some(true)
    }

    fn clear(&mut self) {
        *self = Self::new(&self.plan);
    }

    fn payload(&self) -> Vec<u8> {
        self.links.iter().flat_map(|(bits, ..)| bits.payload()).collect()
    }

    fn check(&self, filter: &AnyFilter) {
        let AnyFilter::Scalable(filter) = filter else { panic!("another kind") };
        let receipt = filter.receipt();
        let links = &receipt.parts;
        assert_eq!(links.len(), self.links.len());
        for (link, (_, plan, taken)) in links.iter().zip(&self.links) {
            assert_eq!((link.plan, link.keys), (*plan, *taken as f64));
            assert!(*taken <= plan.keys(), "over-filled");
        }
        let ones = self.payload().iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        assert_eq!(receipt.set_bits, ones);
        assert_eq!(receipt.bits, links.iter().map(|link| link.plan.bits()).sum::<u64>());
    }
}

/// The rate computed from a file's bytes, independent of receipts: 1 − ∏(1 − f), with f the mean over the
/// blocks of each link.
fn rate_of(file: &[u8]) -> f64 {
    let mut start = header_length(file);
    let mut none = 1.0;
    for at in (0..number::<4>(file, 64) as usize).map(|i| 72 + 40 * i) {
        let bytes = number::<8>(file, at + 24) as usize / 8;
        let probes = number::<4>(file, at + 32) as u32;
        let blocks = file[start..start + bytes].chunks(64).map(|block| block_rate(block, probes));
        none *= 1.0 - blocks.sum::<f64>() / (bytes / 64) as f64;
        start += bytes;
    }
    1.0 - none
}

proptest! {
    #[test]
    fn acts_as_its_model(
        plan in plan(), hasher in hasher(), ops in prop::collection::vec(op(), 0..30),
    ) {
        let filter = Scalable::with_plan(&plan, hasher).unwrap();
        Pair::new(filter, Model::new(&plan)).run(&ops);
    }
}

/// Chunks of checksums begin and end inside links; every reader sees the same.
#[test]
fn a_file_of_several_chunks_opens_in_every_way() {
    let mut filter = Scalable::new(100_001, 0.01).unwrap();
    let hashes: Vec<_> = (0..900_000).map(|key| filter.hasher().hash(key)).collect();
    filter.try_insert_all(&hashes).unwrap();
    assert!(filter.bytes() > 2 << 20 && filter.receipt().parts.len() == 4);
    assert_eq!(passing(&filter, hashes.iter().copied()), 900_000);
    for way in Way::ALL {
        reopened(&filter, way, &hashes);
    }
    let file = filter.to_bytes();
    for byte in [header_length(&file), 1 << 20, 2 << 20, file.len() - 40] {
        let mut damaged = file.clone();
        damaged[byte] ^= 1;
        let error = Scalable::read(&damaged[..], file.len() as u64).unwrap_err();
        let FileError::PayloadDamaged { start, end } = error else { panic!("{error}") };
        assert!((start..end).contains(&(byte as u64)) && end - start <= 1 << 20, "{byte}");
    }
}

/// The rate during growth from n to 64 n keys; each step is queried with absent keys. The rate that the bits give is
/// computed from the file's bytes.
#[test]
#[ignore = "long statistics: cargo x test --full"]
fn the_rate_is_kept_over_all_growth() {
    const SEEDS: u64 = 8;
    const FIRST: u64 = 2_000;
    let first_seed = first_seed(20_261_121);
    let doubling = [0.5, 0.1, 0.01, 0.001].map(|fpp| (Growth::Doubling, fpp));
    let even = [0.1, 0.01].map(|fpp| (Growth::Even, fpp));
    for (row, (growth, fpp)) in (0..).zip(doubling.into_iter().chain(even)) {
        let plan = Plan::for_keys(Variant::Scalable { growth }, FIRST, fpp).unwrap();
        let steps = [1, 2, 3, 10, 31, 64];
        // The compound rates of all seeds per step; the rates of each full link.
        let mut rates = vec![Rates::default(); steps.len()];
        let mut full = vec![Vec::new(); 8];
        let trials = (power(fpp / 2.0, 0.1) / SEEDS as f64).clamp(10_000.0, 1e6) as u64;
        for (seed, sort) in (0..SEEDS).zip(Keys::ALL.into_iter().cycle()) {
            let hasher = KeyHasher::with_seed(first_seed + 1_000 * row + seed);
            let mut filter = Scalable::with_plan(&plan, hasher.clone()).unwrap();
            let mut inserted = 0;
            for (step, rates) in steps.into_iter().zip(&mut rates) {
                let hashes: Vec<_> =
                    (inserted..step * FIRST).map(|number| sort.hash(&hasher, number)).collect();
                inserted = step * FIRST;
                filter.try_insert_all(&hashes).unwrap();
                let receipt = filter.receipt();
                let counted = rate_of(&filter.to_bytes());
                assert!((receipt.fpp / counted - 1.0).abs() < 1e-6, "{counted} {receipt:?}");
                assert!(!receipt.over_filled, "{receipt:?}");
                let keys = receipt.keys;
                let off = (keys.value - inserted as f64).abs();
                assert!(off < SIGMAS * keys.deviation, "{inserted} keys, {receipt:?}");
                let fresh = 64 * FIRST..64 * FIRST + trials;
                rates.add(&filter, fresh, |number| sort.hash(&hasher, number));
            }
            let links = filter.receipt().parts;
            assert!(links.len() >= 6, "{} links", links.len());
            for (link, full) in links.iter().zip(&mut full) {
                if link.keys == link.plan.keys() as f64 {
                    full.push(link.fpp);
                }
            }
        }
        for (step, rates) in steps.iter().zip(&rates) {
            let (mean, error) = rates.check(fpp, &step);
            let predicted = plan.predicted_fpp_at(step * FIRST);
            assert!(predicted <= fpp, "{predicted}");
            // A link takes more keys than planned, because some pass it while it fills: at most its rate of them.
            assert!(mean > predicted * 0.9 - SIGMAS * error, "{step}: {mean} of {predicted}");
        }
        for (index, rates) in (0..).zip(&full).filter(|(_, rates)| rates.len() > 1) {
            let (mean, error) = mean(rates);
            let promised = plan.link(index).unwrap().fpp();
            assert!(mean <= promised + SIGMAS * error, "link {index}: {mean}, not {promised}");
        }
    }
}

/// From one key to thousands: links for 1, 2, 4 … keys, with every key in the right one.
#[test]
fn it_grows_from_a_single_key() {
    let mut filter = Scalable::new(1, 0.01).unwrap();
    assert_eq!(filter.receipt().parts.len(), 1, "before any key");
    let new = (0..5_000).filter(|&key| filter.try_insert(key).unwrap()).count() as u64;
    assert!((0..5_000).all(|key| filter.contains(key)));
    assert_eq!(filter.receipt().parts.iter().map(|link| link.keys).sum::<f64>(), new as f64);
    // 5,000 keys at 0.01 at most: 50 plus 6 standard deviations of 7.
    assert!(new >= 5_000 - 92, "{new}");
    assert_eq!(filter.receipt().parts.len(), 13);
}

/// A file may have a link with all bits set, which fits no number of keys; the other links' keys are still estimated.
#[test]
fn a_full_link_leaves_a_lower_bound() {
    let plan = Plan::for_keys(Kind::Scalable, 1_000, 0.01).unwrap();
    let mut filter = Scalable::with_plan(&plan, KeyHasher::default()).unwrap();
    (0..2_000).for_each(|key: u64| _ = filter.try_insert(key).unwrap());
    assert_eq!(filter.receipt().parts.len(), 2);
    let mut file = filter.to_bytes();
    let start = header_length(&file);
    let end = file.len() - 16;
    file[start + plan.bytes() as usize..end].fill(0xff);
    resum(&mut file);
    let keys = AnyFilter::from_bytes(&file).unwrap().receipt().keys;
    assert!(keys.value.is_infinite() && keys.high.is_infinite());
    assert!((900.0..1e6).contains(&keys.low), "{keys:?}");
}

/// An error that stops growth leaves the filter unchanged and reports the size it would have needed.
#[test]
fn growth_can_be_refused_and_loses_nothing() {
    let plan = Plan::for_keys(Kind::Scalable, 1_000, 0.01).unwrap();
    let hasher = KeyHasher::with_seed(4);
    let mut filter = Scalable::with_plan(&plan, hasher.clone()).unwrap();
    let second = plan.link(1).unwrap().bytes();
    filter.set_limit(plan.bytes() + second);
    let hashes: Vec<_> = (0..5_000).map(|key| hasher.hash(key)).collect();
    let mut new = vec![true; hashes.len()];
    let error = filter.try_insert_all_new(&hashes, &mut new);
    let third = plan.link(2).unwrap().bytes();
    let whole = plan.bytes() + second + third;
    assert_fails(&format!("Limit({whole}, {})", whole - third), error);
    let taken: Vec<_> = filter.receipt().parts.iter().map(|link| link.keys).collect();
    assert_eq!(taken, [1_000.0, 2_000.0]);
    // The same as single insertions up to the first one without room.
    let mut one = Scalable::with_plan(&plan, hasher.clone()).unwrap();
    one.set_limit(plan.bytes() + second);
    let mut refused = None;
    for (index, &hash) in hashes.iter().enumerate() {
        match one.try_insert(hash) {
            Ok(answer) => assert_eq!(answer, new[index] && refused.is_none(), "{index}"),
            Err(_) => _ = refused.get_or_insert(index),
        }
    }
    let refused = refused.unwrap();
    assert!(one == filter && new[refused..].iter().all(|&new| !new));
    assert!(hashes[..refused].iter().all(|&hash| filter.contains(hash)));
    // Keys already present need no room; with more room it grows again.
    filter.try_insert_all(&hashes[..refused]).unwrap();
    filter.set_limit(u64::MAX);
    filter.try_insert_all(&hashes).unwrap();
    let mut free = Scalable::with_plan(&plan, hasher).unwrap();
    free.try_insert_all(&hashes).unwrap();
    assert!(filter == free);
}

/// Rates beyond the lowest are errors.
#[test]
fn what_cannot_grow_says_why() {
    let plan = Plan::from_parts(Kind::Scalable, 1, 1e-40, 512, 8).unwrap();
    let mut filter = Scalable::with_plan(&plan, KeyHasher::default()).unwrap();
    assert!(filter.try_insert("one").unwrap());
    let error = filter.try_insert("two").unwrap_err();
    assert!(filter.contains("one") && !filter.contains("two"));
    assert_eq!((filter.receipt().parts.len(), filter.receipt().parts[0].keys), (1, 1.0));
    assert!(!filter.try_insert("one").unwrap());
    let Full::Growth(error) = error else { panic!("{error}") };
    assert!(matches!(error, PlanError::FppOutOfReach(Kind::Scalable, _)), "{error}");
    assert!(error.to_string().contains("plan it for more keys"), "{error}");
}

/// With as many links as a header can hold, it reports that it is full, keeps all keys and can be read again, even with
/// the longest description.
#[test]
fn links_of_one_size_come_to_an_end() {
    let plan = Plan::for_keys(Variant::Scalable { growth: Growth::Even }, 1, 0.5).unwrap();
    let mut filter = Scalable::with_plan(&plan, KeyHasher::with_seed(4)).unwrap();
    let held = (0u64..).find(|&key| filter.try_insert(key).is_err()).unwrap();
    let error = filter.try_insert(held).unwrap_err();
    assert!(matches!(error, Full::Links(1024)), "{error}");
    assert!(error.to_string().contains("let its links double"), "{error}");
    assert_eq!(filter.receipt().parts.len(), 1024);
    assert!((0..held).all(|key| filter.contains(key)));
    assert!(matches!(filter.plan().link(1023), Ok(link) if link.keys() == 1));
    let longest = described(&[("n", &"v".repeat((1 << 15) - 5))]);
    for (keys, header) in [(described(&[]), 41_088), (longest, 41_088 + (1 << 15))] {
        filter.describe(keys);
        let file = filter.to_bytes();
        assert_eq!(header_length(&file), header);
        assert!(Scalable::from_bytes(&file).unwrap() == filter);
        assert!(Scalable::read(&file[..], file.len() as u64).unwrap() == filter);
        for length in [128, 1 << 15, header - 1, header] {
            let error = AnyFilter::from_bytes(&file[..length]).unwrap_err();
            assert!(matches!(error, FileError::Length(..)), "{length}: {error:?}");
        }
    }
}
