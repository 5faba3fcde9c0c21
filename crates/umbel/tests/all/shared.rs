//! The shared filter, compared with the plain one, and the race to be first.

use std::sync::Barrier;
use std::thread;

use umbel::{Blocked, KeyHash, KeyHasher, Kind, Plan, Shared};

fn hashes(range: std::ops::Range<u64>) -> Vec<KeyHash> {
    range.map(|key| KeyHasher::default().hash(key)).collect()
}

#[test]
fn threads_fill_it_as_one_would() {
    for fpp in [0.1, 0.01, 1e-6] {
        let plan = Plan::for_keys(Kind::Blocked, 40_000, fpp).unwrap();
        let mut plain = Blocked::with_plan(&plan, KeyHasher::default()).unwrap();
        plain.insert_all(&hashes(0..40_000));
        let shared = Shared::with_plan(&plan, KeyHasher::default()).unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let shared = &shared;
                scope.spawn(move || {
                    let own = hashes(thread * 10_000..(thread + 1) * 10_000);
                    shared.insert_all(&own[..5_000]);
                    for hash in &own[5_000..] {
                        shared.insert(*hash);
                        assert!(shared.contains(*hash), "what was inserted is there at once");
                    }
                    let mut found = vec![false; own.len()];
                    shared.contains_all(&own, &mut found);
                    assert!(found.iter().all(|found| *found));
                });
            }
        });
        assert!(shared.snapshot().unwrap() == plain);
        assert!(shared.into_filter() == plain);
    }
}

#[test]
fn exactly_one_of_racing_threads_is_first() {
    const THREADS: usize = 4;
    const KEYS: u64 = 20_000;
    let plan = Plan::for_keys(Kind::Blocked, KEYS, 1e-9).unwrap();
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
    // At 1e-9 none of 20,000 keys is taken for another: 2e-5 in all.
    for key in 0..KEYS as usize {
        assert_eq!(won.iter().filter(|won| won[key]).count(), 1, "key {key}");
    }
}
