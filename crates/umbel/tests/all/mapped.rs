//! Filters in mapped files: the same bytes as others, and every region of huge ones addressed.

use std::io::Read;

use umbel::{AnyFilter, Blocked, Classic, Error, KeyHash, KeyHasher, Kind, Plan, Sliced};

#[test]
fn a_mapped_filter_is_the_same_file() {
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced] {
        let plan = Plan::for_keys(kind, 200_000, 0.001).unwrap();
        let mut plain = AnyFilter::new(&plan, KeyHasher::with_seed(3)).unwrap();
        let keys: Vec<String> = (0..200_000).map(|i| format!("key {i}")).collect();
        let file = tempfile::tempfile().unwrap();
        for key in &keys {
            plain.insert(key).unwrap();
        }
        match kind {
            Kind::Blocked => {
                let mut mapped = Blocked::create(&file, &plan, KeyHasher::with_seed(3)).unwrap();
                mapped.insert_keys(&keys);
                mapped.finish().unwrap();
            }
            Kind::Sliced => {
                let mut mapped = Sliced::create(&file, &plan, KeyHasher::with_seed(3)).unwrap();
                mapped.insert_keys(&keys);
                mapped.finish().unwrap();
            }
            _ => {
                let mut mapped = Classic::create(&file, &plan, KeyHasher::with_seed(3)).unwrap();
                mapped.insert_keys(&keys);
                mapped.finish().unwrap();
            }
        }
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        plain.write(&mut expected).unwrap();
        std::io::Seek::rewind(&mut &file).unwrap();
        (&file).read_to_end(&mut found).unwrap();
        assert!(found == expected, "{kind}");
        let mapped = AnyFilter::map(&file, None).unwrap();
        assert!(keys.iter().all(|key| mapped.contains(key)));
        assert_eq!(mapped.receipt(), plain.receipt());
    }
}

#[test]
fn a_file_that_was_not_finished_is_no_filter() {
    let plan = Plan::for_keys(Kind::Blocked, 1000, 0.01).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut mapped = Blocked::create(&file, &plan, KeyHasher::default()).unwrap();
    mapped.insert("key");
    drop(mapped);
    assert!(matches!(AnyFilter::map(&file, None), Err(Error::NotUmbel { .. })));
    file.set_len(0).unwrap();
    assert!(AnyFilter::map(&file, None).is_err(), "an empty file");
}

/// Filters of 2^33 and 2^36 bits in sparse files: keys reach every region, the first and last blocks
/// included, and are found there; each touches its own block.
#[test]
fn every_region_of_a_huge_filter_is_addressed() {
    for bits in [(1 << 33) + 512, (1 << 36) + (3 << 20)] {
        let plan =
            Plan { kind: Kind::Blocked, keys: 1 << 30, fpp: 0.01, bits, probes: 8, detail: 0 };
        let file = tempfile::tempfile().unwrap();
        let mut filter = Blocked::create(&file, &plan, KeyHasher::default()).unwrap();
        const REGIONS: u64 = 512;
        let step = u64::MAX / REGIONS;
        let hashes: Vec<KeyHash> =
            (0..=REGIONS).map(|i| KeyHash { high: i * step, low: i * 0x0123_4567_89ab }).collect();
        assert!(hashes.iter().all(|hash| filter.insert_hash(*hash)), "no two share a block");
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
        let blocks = bits / 512;
        for hash in &hashes {
            let block = ((u128::from(hash.high) * u128::from(blocks)) >> 64) as u64;
            let mut bytes = [0; 64];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 128 + 64 * block).unwrap();
            assert_eq!(
                bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(),
                8,
                "block {block} of {blocks}"
            );
        }
    }
    for bits in [(1u64 << 33) + 77, (1 << 36) + 1001] {
        let plan =
            Plan { kind: Kind::Classic, keys: 1 << 30, fpp: 0.01, bits, probes: 7, detail: 0 };
        let file = tempfile::tempfile().unwrap();
        let mut filter = Classic::create(&file, &plan, KeyHasher::default()).unwrap();
        for key in 0..500u64 {
            assert!(filter.insert_u64(key) && filter.contains_u64(key));
        }
        assert!(!(500..1000).any(|key| filter.contains_u64(key)), "3,500 of so many bits");
    }
}
