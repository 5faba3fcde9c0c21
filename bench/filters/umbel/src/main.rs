//! umbel's blocked filter: one key per call, batches, under a secret, and shared by two threads.

use std::thread;

use bench_common::{BATCH, Bench, Case, Filter, Hashed, Key, KeyForm, Text, count, one_by_one};
use umbel::{
    Blocked, Filter as _, Hashing, KeyHash, KeyHasher, Kind, Mixed64, Plan, Prehashed, Secret,
    Shared,
};

const NAME: &str = "umbel";
const VERSION: &str = "0.1.0";
/// As many as a shared filter sorts together: 64 KiB.
const SHARED_BLOCK: usize = 4096;

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => {
            let bench = Bench::<Hashed>::new(case, NAME, VERSION);
            bench.run::<One>();
            bench.run::<Batch<Prehashed>>();
            bench.run::<SharedOne>();
            bench.run::<ByShared<1>>();
            bench.run::<ByShared<2>>();
        }
        KeyForm::Int => run::<u64>(case),
        KeyForm::Text => run::<Text>(case),
    }
}

fn run<K: Form<Hasher = KeyHasher>>(case: Case)
where
    One: Filter<K>,
{
    let bench = Bench::<K>::new(case, NAME, VERSION);
    bench.run::<One>();
    bench.run::<Batch<KeyHasher>>();
    bench.run::<Keyed>();
}

fn plan(n: u64, fpp: f64) -> Plan {
    Plan::for_keys(Kind::Blocked, n, fpp).expect("a plan")
}

fn blocked<H: Hashing>(n: u64, fpp: f64, hasher: H) -> Blocked<H> {
    Blocked::with_plan(&plan(n, fpp), hasher).expect("memory")
}

/// A form of keys, as umbel takes many of them.
trait Form: Key {
    /// How the filter hashes them.
    type Hasher: Hashing + Sync;
    const HASHER: Self::Hasher;

    /// The same keys, where they are, in a type that umbel takes.
    fn keys(keys: &[Self]) -> &[impl umbel::Key<Self::Hasher>];
}

impl Form for Hashed {
    type Hasher = Prehashed;
    const HASHER: Prehashed = Prehashed::new(1);

    fn keys(keys: &[Self]) -> &[impl umbel::Key<Prehashed>] {
        Mixed64::from_slice(Self::words(keys))
    }
}

impl Form for u64 {
    type Hasher = KeyHasher;
    const HASHER: KeyHasher = KeyHasher::with_seed(0);

    fn keys(keys: &[Self]) -> &[impl umbel::Key] {
        keys
    }
}

impl Form for Text {
    type Hasher = KeyHasher;
    const HASHER: KeyHasher = KeyHasher::with_seed(0);

    fn keys(keys: &[Self]) -> &[impl umbel::Key] {
        Self::arrays(keys)
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

/// One key per call.
struct One(Blocked);

impl One {
    fn new(n: u64, fpp: f64) -> Self {
        Self(blocked(n, fpp, KeyHasher::default()))
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}

one_by_one!(
    One,
    Hashed,
    |filter, key| filter.insert(KeyHash::from_u64(key.0)),
    filter.contains(KeyHash::from_u64(key.0))
);
one_by_one!(One, u64, |filter, key| filter.insert(*key), filter.contains(*key));
one_by_one!(One, Text, |filter, key| filter.insert(&key.0[..]), filter.contains(&key.0[..]));

/// Many keys per call.
struct Batch<H: Hashing>(Blocked<H>);

impl<K: Form> Filter<K> for Batch<K::Hasher> {
    const MODE: &'static str = "batch";

    fn new(n: u64, fpp: f64) -> Self {
        Self(blocked(n, fpp, K::HASHER))
    }

    fn insert(&mut self, keys: &[K]) {
        self.0.insert_all(K::keys(keys));
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |keys, found| self.0.contains_all(K::keys(keys), found))
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}

/// As [`Batch`], under a secret.
struct Keyed(Batch<KeyHasher>);

impl<K: Form<Hasher = KeyHasher>> Filter<K> for Keyed {
    const VARIANT: &'static str = "keyed";
    const MODE: &'static str = "batch";
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        let hasher = KeyHasher::keyed(Secret::new(*b"sixteen of bytes"));
        Self(Batch(blocked(n, fpp, hasher)))
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

/// A shared filter, one key per call.
struct SharedOne(Shared);

impl SharedOne {
    fn new(n: u64, fpp: f64) -> Self {
        Self(Shared::new(n, fpp).expect("memory"))
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}

one_by_one!(
    SharedOne,
    Hashed,
    |filter, key| filter.insert(KeyHash::from_u64(key.0)),
    filter.contains(KeyHash::from_u64(key.0)),
    {
        const VARIANT: &'static str = "shared";
        const ASKING: &'static [u64] = &[1];
    }
);

/// A shared filter, filled and queried by `THREADS` threads.
struct ByShared<const THREADS: u64>(Shared);

impl<const THREADS: u64> Filter<Hashed> for ByShared<THREADS> {
    const VARIANT: &'static str = "shared";
    const MODE: &'static str = "batch";
    const INSERTING: u64 = THREADS;
    const ASKING: &'static [u64] = &[THREADS];

    fn new(n: u64, fpp: f64) -> Self {
        Self(Shared::with_plan(&plan(n, fpp), KeyHasher::default()).expect("memory"))
    }

    fn insert(&mut self, keys: &[Hashed]) {
        let filter = &self.0;
        let insert = move |part| {
            for_hashes::<SHARED_BLOCK>(part, |hashes| filter.insert_all(hashes));
        };
        // This thread takes a part too: with one there is nothing to spawn, as in the others' runs.
        let mut parts = keys.chunks(keys.len().div_ceil(THREADS as usize));
        let own = parts.next().unwrap_or(&[]);
        thread::scope(|scope| {
            parts.for_each(|part| _ = scope.spawn(move || insert(part)));
            insert(own);
        });
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        count(keys, |keys, found| {
            for_hashes::<BATCH>(keys, |hashes| self.0.contains_all(hashes, found));
        })
    }

    fn bytes(&self) -> usize {
        self.0.plan().bytes() as usize
    }
}
