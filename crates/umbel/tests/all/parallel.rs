//! Filling on several threads: the same bits as on one, and each part processed once.

use std::num::NonZero;

use umbel::{AnyFilter, Blocked, Classic, Counting};

#[test]
fn threads_set_the_same_bits() {
    for (keys, planned) in [(0u64, 10), (1, 10), (5_000, 100), (300_000, 300_000), (10, 1000)] {
        let keys: Vec<u64> = (0..keys).collect();
        let mut one = Blocked::new(planned, 0.01).unwrap();
        one.insert_all(&keys);
        let mut classic = Classic::new(planned, 0.01).unwrap();
        classic.insert_all(&keys);
        for threads in [1, 2, 3, 7] {
            let threads = NonZero::new(threads).unwrap();
            let mut many = Blocked::new(planned, 0.01).unwrap();
            many.insert_all_on(threads, &keys);
            assert!(many == one, "{} keys on {threads}", keys.len());
            let mut many = Classic::new(planned, 0.01).unwrap();
            many.insert_all_on(threads, &keys);
            assert!(many == classic, "{} keys on {threads}", keys.len());
        }
    }
}

#[test]
fn each_part_is_inserted_once_and_few_keys_take_no_copies() {
    let four = NonZero::new(4).unwrap();
    let blocked = AnyFilter::Blocked(Blocked::new(100_000, 0.01).unwrap());
    let counting = AnyFilter::Counting(Counting::new(100_000, 0.01).unwrap());
    for (mut filter, keys, expected) in [
        (blocked.clone(), 100_000, 4),
        (blocked.clone(), 10, 1),
        (blocked, 0, 1),
        (counting, 100_000, 1),
    ] {
        let seen = std::sync::Mutex::new(Vec::new());
        let insert = |filter: &mut AnyFilter, part: usize, parts| {
            seen.lock().unwrap().push((part, parts));
            filter.try_insert_all(&[part as u64])
        };
        filter.insert_in_parts(four, keys, insert).unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq((0..expected).map(|part| (part, expected))), "{seen:?}");
        assert!((0..expected as u64).all(|part| filter.contains(part)));
    }
    let mut filter = AnyFilter::Blocked(Blocked::new(100_000, 0.01).unwrap());
    let failed = filter.insert_in_parts(
        four,
        100_000,
        |_, part, _| if part == 2 { Err(part) } else { Ok(()) },
    );
    assert_eq!(failed, Err(2));
}
