//! umbel's blocked filter: a call a key, batches, under a secret, and shared by two threads.

use std::thread;

use bench_common::{Bench, Case, Filter, Hashed, Key, KeyForm, Text, one_by_one};
use umbel::{Blocked, KeyHash, KeyHasher, Kind, Plan, Secret, Shared};

const NAME: &str = "umbel";
const VERSION: &str = "0.1.0";
/// Keys handed on at once: as hashes 16 KiB, which stay in the first cache.
const BLOCK: usize = 1024;
/// As many as a shared filter sorts at once: 64 KiB.
const SHARED_BLOCK: usize = 4096;

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => {
            let bench = Bench::<Hashed>::new(case, NAME, VERSION);
            bench.run::<One>();
            bench.run::<Batch>();
            bench.run::<ByShared<1>>();
            bench.run::<ByShared<2>>();
        }
        KeyForm::Int => run::<u64>(case),
        KeyForm::Text => run::<Text>(case),
    }
}

fn run<K: Form>(case: Case)
where
    One: Filter<K>,
{
    let bench = Bench::<K>::new(case, NAME, VERSION);
    bench.run::<One>();
    bench.run::<Batch>();
    bench.run::<Keyed>();
}

fn plan(n: u64, fpp: f64) -> Plan {
    Plan::for_keys(Kind::Blocked, n, fpp).expect("a plan")
}

fn blocked(n: u64, fpp: f64) -> Blocked {
    Blocked::new(&plan(n, fpp), KeyHasher::default()).expect("memory")
}

/// A form of keys, as umbel takes many of them.
trait Form: Key {
    fn insert(filter: &mut Blocked, keys: &[Self]);
    fn contains(filter: &Blocked, keys: &[Self], found: &mut [bool]);
}

impl Form for Hashed {
    fn insert(filter: &mut Blocked, keys: &[Self]) {
        filter.insert_hashes(Hashed::words(keys));
    }

    fn contains(filter: &Blocked, keys: &[Self], found: &mut [bool]) {
        filter.contains_hashes(Hashed::words(keys), found);
    }
}

impl Form for u64 {
    fn insert(filter: &mut Blocked, keys: &[Self]) {
        filter.insert_u64s(keys);
    }

    fn contains(filter: &Blocked, keys: &[Self], found: &mut [bool]) {
        filter.contains_u64s(keys, found);
    }
}

impl Form for Text {
    fn insert(filter: &mut Blocked, keys: &[Self]) {
        filter.insert_keys(keys);
    }

    fn contains(filter: &Blocked, keys: &[Self], found: &mut [bool]) {
        filter.contains_keys(keys, found);
    }
}

/// Turns 64-bit hashes into umbel's, a block at a time: part of the time measured.
fn for_hashes<const AT_ONCE: usize>(keys: &[Hashed], mut work: impl FnMut(&[KeyHash])) {
    let mut hashes = [KeyHash::default(); AT_ONCE];
    for block in keys.chunks(AT_ONCE) {
        for (hash, key) in hashes.iter_mut().zip(block) {
            *hash = KeyHash::from_u64(key.0);
        }
        work(&hashes[..block.len()]);
    }
}

/// Counts what `contains` finds, a block at a time.
fn count<K>(keys: &[K], contains: impl Fn(&[K], &mut [bool])) -> usize {
    let mut found = [false; BLOCK];
    keys.chunks(BLOCK)
        .map(|block| {
            let found = &mut found[..block.len()];
            contains(block, found);
            found.iter().map(|&found| usize::from(found)).sum::<usize>()
        })
        .sum()
}

/// A call a key.
struct One(Blocked);

impl One {
    fn new(n: u64, fpp: f64) -> Self {
        Self(blocked(n, fpp))
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}

one_by_one!(
    One,
    Hashed,
    |filter, key| filter.insert_hash(KeyHash::from_u64(key.0)),
    filter.contains_hash(KeyHash::from_u64(key.0))
);
one_by_one!(One, u64, |filter, key| filter.insert_u64(*key), filter.contains_u64(*key));
one_by_one!(One, Text, |filter, key| filter.insert(key), filter.contains(key));

/// Many keys a call.
struct Batch(Blocked);

impl<K: Form> Filter<K> for Batch {
    const MODE: &'static str = "batch";

    fn new(n: u64, fpp: f64) -> Self {
        Self(blocked(n, fpp))
    }

    fn insert(&mut self, keys: &[K]) {
        K::insert(&mut self.0, keys);
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |keys, found| K::contains(&self.0, keys, found))
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}

/// As [`Batch`], under a secret.
struct Keyed(Batch);

impl<K: Form> Filter<K> for Keyed {
    const VARIANT: &'static str = "keyed";
    const MODE: &'static str = "batch";
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        let hasher = KeyHasher::keyed(Secret::new(*b"sixteen of bytes"));
        Self(Batch(Blocked::new(&plan(n, fpp), hasher).expect("memory")))
    }

    fn insert(&mut self, keys: &[K]) {
        self.0.insert(keys);
    }

    fn count(&self, keys: &[K]) -> usize {
        self.0.count(keys)
    }

    fn bytes(&self) -> usize {
        Filter::<K>::bytes(&self.0)
    }
}

/// A shared filter, filled and asked by as many threads as `THREADS` says.
struct ByShared<const THREADS: u64>(Shared);

impl<const THREADS: u64> Filter<Hashed> for ByShared<THREADS> {
    const VARIANT: &'static str = "shared";
    const MODE: &'static str = "batch";
    const INSERTING: u64 = THREADS;
    const ASKING: &'static [u64] = &[THREADS];

    fn new(n: u64, fpp: f64) -> Self {
        Self(Shared::new(&plan(n, fpp), KeyHasher::default()).expect("memory"))
    }

    fn insert(&mut self, keys: &[Hashed]) {
        let filter = &self.0;
        thread::scope(|scope| {
            for part in keys.chunks(keys.len().div_ceil(THREADS as usize)) {
                scope.spawn(move || {
                    for_hashes::<SHARED_BLOCK>(part, |hashes| filter.insert_batch(hashes));
                });
            }
        });
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        count(keys, |keys, found| {
            for_hashes::<BLOCK>(keys, |hashes| self.0.contains_batch(hashes, found));
        })
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}
