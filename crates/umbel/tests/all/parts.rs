//! Parts of a set: the documented mapping, an even spread, and the rate of every part.

use std::num::NonZeroU32;

use umbel::{Blocked, Filter, KeyHasher, Parts};

fn parts(count: u32) -> Parts {
    Parts::new(NonZeroU32::new(count).unwrap())
}

#[test]
fn keys_belong_to_the_parts_that_another_program_computed() {
    let vectors = include_str!("../../../../testdata/parts.txt");
    let lines: Vec<&str> = vectors.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 96);
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[seed, count, part, hex] = &fields[..] else { panic!("{line}") };
        let hex = hex.trim_matches('-');
        let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        let key: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let hasher = KeyHasher::with_seed(seed.parse().unwrap());
        let parts = Parts::with_hasher(count.parse().unwrap(), hasher);
        assert_eq!(parts.part(key).to_string(), part, "{line}");
    }
}

#[test]
fn keys_are_spread_evenly_and_no_part_passes_its_share() {
    for (count, keys) in [(2, 1000), (3, 100_000), (16, 200_000), (1000, 100_000)] {
        let parts = parts(count);
        let mut sizes = vec![0u64; count as usize];
        (0..keys).for_each(|key| sizes[parts.part(key) as usize] += 1);
        assert!(*sizes.iter().max().unwrap() <= parts.share(keys), "{count} parts of {keys}");
        // Pearson's statistic has mean count − 1 and variance 2·(count − 1): within 4 deviations.
        let (mean, freedom) = (keys as f64 / f64::from(count), f64::from(count - 1));
        let square: f64 = sizes.iter().map(|size| (*size as f64 - mean).powi(2) / mean).sum();
        assert!((square - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{count}: {square}");
    }
}

#[test]
fn shares_cover_the_set_and_are_hardly_more() {
    assert_eq!(parts(1).share(0), 0);
    assert_eq!(parts(1).share(1000), 1000);
    assert_eq!(parts(16).share(1), 1, "one part may get it");
    let share = parts(16).share(160_000_000);
    assert!((10_013_000..10_015_000).contains(&share), "{share}");
    assert!(parts(u32::MAX).share(u64::MAX) > u64::MAX / u64::from(u32::MAX));
}

#[test]
fn twice_as_many_parts_divide_each_in_two() {
    let (few, many) = (parts(500), parts(1000));
    assert!((0..10_000).all(|key| few.part(key) == many.part(key) / 2));
}

#[test]
fn parts_answer_like_one_set_at_the_promised_rate() {
    let (count, keys, fpp) = (8, 800_000, 0.01);
    let parts = parts(count);
    let plan = |_| Blocked::new(parts.share(keys), fpp).unwrap();
    let mut filters: Vec<Blocked> = (0..count).map(plan).collect();
    (0..keys).for_each(|key| {
        filters[parts.part(key) as usize].insert(key);
    });
    let contains = |key| filters[parts.part(key) as usize].contains(key);
    assert!((0..keys).all(contains));
    for filter in &filters {
        let receipt = filter.receipt();
        assert!(receipt.fpp <= fpp && !receipt.over_filled, "{receipt:?}");
    }
    // 10⁶ absent keys at no more than 1 %: six standard deviations above the expected count.
    let found = (keys..keys + 1_000_000).filter(|key| contains(*key)).count();
    assert!((5_000..10_600).contains(&found), "{found}");
}
