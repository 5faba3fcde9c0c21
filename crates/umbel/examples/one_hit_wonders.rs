//! A cache that stores an object only when it is requested for the second time.
//!
//! About three quarters of the objects that a content delivery network serves are requested once (B. M. Maggs,
//! R. K. Sitaraman 2015, <https://doi.org/10.1145/2805789.2805800>, section 5). A filter saves writing them to the cache.

use std::collections::{BTreeMap, HashMap};

use umbel::{KeyHasher, Window};

const REQUESTS: u64 = 1_000_000;
/// Objects that may be requested again, the i-th with a weight of about 1/i^0.9.
const POPULAR: f64 = 100_000.0;
/// Objects that the cache holds.
const CACHE: usize = 20_000;

/// The requests, by the numbers of objects. Some are for objects that are never requested again.
fn trace() -> Vec<u64> {
    let random = |number: u64| KeyHasher::default().hash(number).low as f64 / 2f64.powi(64);
    // The inverse of the distribution with density x^-0.9 from 1 to POPULAR.
    let popular = |chance: f64| (1.0 + chance * (POPULAR.powf(0.1) - 1.0)).powi(10) as u64;
    let request = |number| match random(2 * number) < 0.19 {
        true => POPULAR as u64 + number,
        false => popular(random(2 * number + 1)),
    };
    (0..REQUESTS).map(request).collect()
}

#[derive(Debug, Default)]
struct Counts {
    hits: u64,
    writes: u64,
    /// Writes of objects that are requested once.
    in_vain: u64,
}

/// Serves the requests from a cache that evicts the least recently used object, and stores what `admits` accepts.
fn serve(requests: &HashMap<u64, u64>, mut admits: impl FnMut(u64) -> bool) -> Counts {
    let (mut last_use, mut by_use) = (HashMap::new(), BTreeMap::new());
    let mut counts = Counts::default();
    for (now, object) in trace().into_iter().enumerate() {
        let admitted = admits(object);
        if let Some(before) = last_use.get(&object) {
            by_use.remove(before);
            counts.hits += 1;
        } else if admitted {
            counts.writes += 1;
            counts.in_vain += u64::from(requests[&object] == 1);
        } else {
            continue;
        }
        last_use.insert(object, now);
        by_use.insert(now, object);
        if by_use.len() > CACHE {
            last_use.remove(&by_use.pop_first().expect("it is not empty").1);
        }
    }
    counts
}

fn main() {
    let mut requests = HashMap::new();
    trace().into_iter().for_each(|object| *requests.entry(object).or_default() += 1);
    let once = requests.values().filter(|&&requests| requests == 1).count();
    let mut seen = Window::new(500_000, 0.01).expect("a possible window");
    let without = serve(&requests, |_| true);
    let with = serve(&requests, |object| !seen.insert(object));
    println!("{once} of {} objects are requested once", requests.len());
    println!("each object is stored: {without:?}\nat the second request: {with:?}");

    assert!((0.7..0.8).contains(&(once as f64 / requests.len() as f64)));
    assert!(without.in_vain == once as u64 && with.in_vain as f64 <= 0.012 * once as f64);
    assert!(with.writes < without.writes / 2, "half of the writes are saved");
    assert!(with.hits > without.hits - REQUESTS / 50, "the hit rate falls by 2 points at most");
}

#[test]
fn most_writes_are_saved() {
    main();
}
