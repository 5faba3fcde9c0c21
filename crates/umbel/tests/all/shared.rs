//! The shared filter, compared with the plain one, and races to insert a key first.

use std::sync::Barrier;
use std::thread;

use umbel::{Blocked, KeyHasher, Kind, Plan, Shared};

use crate::reopened::hashes;

/// Made to measure, because searching for a size takes minutes under Miri.
fn plan(keys: u64, bits_per_key: u64, probes: u32) -> Plan {
    let bits = (keys * bits_per_key).next_multiple_of(512);
    Plan::from_parts(Kind::Blocked, keys, 0.01, bits, probes).unwrap()
}

#[test]
fn threads_fill_it_as_one_would() {
    const EACH: u64 = if cfg!(miri) { 40 } else { 10_000 };
    for probes in [3, 8, 16] {
        let plan = plan(4 * EACH, 16, probes);
        let mut plain = Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
        plain.insert_all(&hashes(0..4 * EACH));
        let shared = Shared::with_plan(&plan, KeyHasher::default()).unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let shared = &shared;
                scope.spawn(move || {
                    let own = hashes(thread * EACH..(thread + 1) * EACH);
                    let (together, alone) = own.split_at(own.len() / 2);
                    shared.insert_all(together);
                    for hash in alone {
                        shared.insert(*hash);
                        assert!(shared.contains(*hash), "what was inserted is there at once");
                    }
                    let mut found = vec![false; own.len()];
                    shared.contains_all(&own, &mut found);
                    assert!(found.iter().all(|found| *found));
                });
            }
        });
        assert!(
            hashes(4 * EACH..8 * EACH).iter().all(|at| shared.contains(*at) == plain.contains(*at))
        );
        assert!(shared.snapshot().unwrap() == plain);
        assert!(shared.into_filter() == plain);
    }
}

#[test]
fn exactly_one_of_racing_threads_is_first() {
    const THREADS: usize = 4;
    const KEYS: u64 = if cfg!(miri) { 100 } else { 20_000 };
    let plan = plan(KEYS, 128, 24);
    let shared = Shared::with_plan(&plan, KeyHasher::default()).unwrap();
    let start = Barrier::new(THREADS);
    let won: Vec<Vec<bool>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    hashes(0..KEYS).into_iter().map(|hash| shared.insert(hash)).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // At 1e-11, the predicted rate of such a plan, the chance of a false positive among 20,000 keys is 2e-7.
    for key in 0..KEYS as usize {
        assert_eq!(won.iter().filter(|won| won[key]).count(), 1, "key {key}");
    }
}
