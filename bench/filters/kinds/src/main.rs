//! All kinds of umbel's filters, through `AnyFilter`: `bench-kinds N FPP hashed KIND`. A kind that cannot be made from
//! a number of keys and a rate alone prints the reason.
//!
//! `bench-kinds list FPP` prints the kinds to be measured at a rate, one per line.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use bench_common::{BATCH, Bench, Case, Filter, GROWN, GROWN_NAME, Hashed, Key, count};
use memmap2::{Advice, MmapMut};
use umbel::{
    AnyFilter, Bloomier, Capacity, Counting, Error, Filter as _, Insert, KeyHash, KeyHasher, Kind,
    Plan, Variant,
};

const VERSION: &str = "0.1.0";
/// Kinds with a parameter other than the default, and the rate at which they are measured. Fingerprints of 8 and 16
/// bits are comparable with xorf's.
const PARAMETERS: [(&str, f64); 4] =
    [("counting:8", 0.01), ("counting:16", 0.01), ("bloomier:8", 0.01), ("bloomier:16", 0.001)];
/// A kind that remembers the most recent keys gets this many times as many older ones before it is measured: its rate
/// is the rate in a stream, not in a new filter.
const PAST: u64 = 4;
/// Numbers of those keys start here; members and misses have others.
const PAST_KEYS: u64 = 1 << 41;
/// Kinds that forget by design.
const FORGETFUL: [&str; 1] = ["stable"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, fpp] = &words[..]
        && word == "list"
    {
        return list(fpp.parse().expect("a rate"));
    }
    let (case, variant) = (Case::from_args(), variant());
    // Lives as long as the process, like the names of other programs.
    let peer: &str = format!("umbel {variant}").leak();
    if let Err(why) = try_out(variant, case.fpp) {
        let (n, fpp, why) = (case.n, case.fpp, why.to_string());
        println!(
            "{{\"type\":\"skip\",\"peer\":\"{peer}\",\"n\":{n},\"fpp_asked\":{fpp},\"why\":{why:?}}}"
        );
        return;
    }
    let bench = Bench::<Hashed>::new(case, peer, VERSION);
    bench.run::<Any<One>>();
    bench.run::<Any<Batch>>();
    match variant.kind() {
        Kind::Counting => bench.run::<Typed<Counting>>(),
        Kind::Bloomier => bench.run::<Typed<Bloomier>>(),
        _ => {}
    }
    if variant.kind().inserts() && variant.kind() != Kind::Blocked {
        bench.run::<Any<Plain>>();
    }
    if variant.kind() == Kind::Counting {
        bench.run::<TwoLines>();
    }
    if variant.kind().capacity() == Capacity::First {
        bench.run::<Any<Grown>>();
    }
}

fn list(fpp: f64) {
    for &kind in Kind::ALL {
        println!("{kind}");
    }
    for (name, rate) in PARAMETERS {
        if rate == fpp && name.parse::<Variant>().is_ok() {
            println!("{name}");
        }
    }
}

/// The requested kind.
fn variant() -> Variant {
    let word = std::env::args().nth(4).expect("usage: N FPP hashed KIND");
    word.parse().expect("a kind of umbel")
}

/// Whether a small filter of this kind can be made.
fn try_out(variant: Variant, fpp: f64) -> Result<(), Error> {
    let hashes: Vec<KeyHash> = (0..1000).map(|i| KeyHash::from_u64(Hashed::nth(i).0)).collect();
    let plan = Plan::for_keys(variant, hashes.len() as u64, fpp)?;
    AnyFilter::build(&plan, &hashes, KeyHasher::default())?;
    Ok(())
}

/// How a kind is planned and called.
trait Way: Sync {
    const VARIANT: &'static str = "";
    const BATCH: bool = true;

    fn plan(n: u64, fpp: f64) -> Plan {
        Plan::for_keys(variant(), n, fpp).expect("a plan")
    }
}

/// One key per call.
struct One;

impl Way for One {
    const BATCH: bool = false;
}

/// Many keys per call.
struct Batch;

impl Way for Batch {}

/// A plain blocked filter of as many bytes and this rate: one with room for more keys.
struct Plain;

impl Way for Plain {
    const VARIANT: &'static str = "plain of as many bytes";

    fn plan(n: u64, fpp: f64) -> Plan {
        let bytes = Batch::plan(n, fpp).bytes();
        Plan::for_capacity(Kind::Blocked, fpp, bytes).expect("a plan")
    }
}

/// Planned for a part of the keys.
struct Grown;

impl Way for Grown {
    const VARIANT: &'static str = GROWN_NAME;

    fn plan(n: u64, fpp: f64) -> Plan {
        Batch::plan(n / GROWN, fpp)
    }
}

/// A filter of the kind; `None` before it is built, in kinds that are built in one go.
struct Any<W> {
    plan: Plan,
    /// Keys it has been given when it is measured.
    keys: u64,
    filter: Option<AnyFilter>,
    way: PhantomData<W>,
}

impl<W> Any<W> {
    fn filter(&self) -> &AnyFilter {
        self.filter.as_ref().expect("a filled filter")
    }
}

impl<W: Way> Filter<Hashed> for Any<W> {
    const VARIANT: &'static str = W::VARIANT;
    const MODE: &'static str = if W::BATCH { "batch" } else { "one" };
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        let plan = W::plan(n, fpp);
        let inserts = plan.kind().inserts();
        let filter =
            inserts.then(|| AnyFilter::with_plan(&plan, KeyHasher::default()).expect("memory"));
        let past = match plan.kind().capacity() {
            Capacity::Most | Capacity::First => 0,
            _ => PAST * n,
        };
        let mut any = Self { plan, keys: n + past, filter, way: PhantomData };
        for first in (0..past).step_by(BATCH) {
            let block = first..past.min(first + BATCH as u64);
            any.insert(&block.map(|i| Hashed::nth(PAST_KEYS + i)).collect::<Vec<_>>());
        }
        any
    }

    fn insert(&mut self, keys: &[Hashed]) {
        let Some(filter) = &mut self.filter else {
            let hashes: Vec<KeyHash> = keys.iter().map(|key| KeyHash::from_u64(key.0)).collect();
            let built = AnyFilter::build(&self.plan, &hashes, KeyHasher::default());
            self.filter = Some(built.expect("a filter of these keys"));
            return;
        };
        if W::BATCH {
            in_blocks(keys, |hashes| filter.try_insert_all(hashes).expect("room"));
        } else {
            for key in keys {
                filter.try_insert(KeyHash::from_u64(key.0)).expect("room");
            }
        }
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        let filter = self.filter();
        if !W::BATCH {
            let contains = |key: &&Hashed| filter.contains(KeyHash::from_u64(key.0));
            return keys.iter().filter(contains).count();
        }
        count(keys, |keys, found| in_blocks(keys, |hashes| filter.contains_all(hashes, found)))
    }

    fn bytes(&self) -> usize {
        self.filter().bytes() as usize
    }

    /// The rate predicted for these keys: it may be far below the one asked for, and is above it in a
    /// plain filter that has the bytes of a kind with fewer bits.
    fn promise(&self, fpp: f64) -> RangeInclusive<f64> {
        let predicted = self.plan.predicted_fpp_at(self.keys);
        0.0..=1.5 * predicted.max(fpp / 100.0)
    }

    fn is_built(&self) -> bool {
        !self.plan.kind().inserts()
    }

    fn forgets(&self) -> bool {
        FORGETFUL.contains(&self.plan.kind().name())
    }
}

/// A filter of a type known when it is compiled, one key per call, as the peers are called.
struct Typed<F>(Plan, Option<F>);

impl Filter<Hashed> for Typed<Counting> {
    const VARIANT: &'static str = "typed";
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        let plan = One::plan(n, fpp);
        Self(plan, Some(Counting::with_plan(&plan, KeyHasher::default()).expect("memory")))
    }

    fn insert(&mut self, keys: &[Hashed]) {
        let filter = self.1.as_mut().expect("it is there from the start");
        for key in keys {
            filter.insert(KeyHash::from_u64(key.0));
        }
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        let filter = self.1.as_ref().expect("it is there from the start");
        keys.iter().filter(|key| filter.contains(KeyHash::from_u64(key.0))).count()
    }

    fn bytes(&self) -> usize {
        self.0.bytes() as usize
    }
}

impl Filter<Hashed> for Typed<Bloomier> {
    const VARIANT: &'static str = "typed";
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        Self(One::plan(n, fpp), None)
    }

    fn insert(&mut self, keys: &[Hashed]) {
        let hashes: Vec<KeyHash> = keys.iter().map(|key| KeyHash::from_u64(key.0)).collect();
        let built = Bloomier::build(&self.0, &hashes, KeyHasher::default());
        self.1 = Some(built.expect("a filter of these keys"));
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        let filter = self.1.as_ref().expect("a filled filter");
        keys.iter().filter(|key| filter.contains(KeyHash::from_u64(key.0))).count()
    }

    fn bytes(&self) -> usize {
        self.0.bytes() as usize
    }

    fn promise(&self, _: f64) -> RangeInclusive<f64> {
        0.0..=1.5 * self.0.fpp()
    }

    fn is_built(&self) -> bool {
        true
    }
}

/// Two adjacent cache lines of as much memory as the kind uses, read or changed one key per call: the limit for a
/// filter that must access two.
struct TwoLines(MmapMut);

impl TwoLines {
    /// Bytes of two lines.
    const PAIR: usize = 128;

    /// Where the lines of a key start.
    #[inline(always)]
    fn start(&self, key: Hashed) -> usize {
        let pairs = self.0.len() / Self::PAIR;
        ((u128::from(key.0) * pairs as u128) >> 64) as usize * Self::PAIR
    }
}

impl Filter<Hashed> for TwoLines {
    const VARIANT: &'static str = "two lines of as many bytes";
    const ASKING: &'static [u64] = &[1];

    fn new(n: u64, fpp: f64) -> Self {
        let mut memory = MmapMut::map_anon(Batch::plan(n, fpp).bytes() as usize).expect("memory");
        memory.advise(Advice::HugePage).expect("a kernel with huge pages");
        memory.fill(0); // or every page would be the one page of zeros
        Self(memory)
    }

    fn insert(&mut self, keys: &[Hashed]) {
        for &key in keys {
            let start = self.start(key);
            self.0[start] |= 1;
            self.0[start + Self::PAIR / 2] |= 1;
        }
    }

    fn count(&self, keys: &[Hashed]) -> usize {
        let both = |&key: &Hashed| {
            let start = self.start(key);
            self.0[start] & self.0[start + Self::PAIR / 2]
        };
        keys.iter().map(both).map(usize::from).sum()
    }

    fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Of a few bits, most are set.
    fn promise(&self, _: f64) -> RangeInclusive<f64> {
        0.0..=1.0
    }
}

/// Turns 64-bit hashes into umbel's, a block at a time: part of the time measured.
fn in_blocks(keys: &[Hashed], mut work: impl FnMut(&[KeyHash])) {
    let mut hashes = [KeyHash::default(); BATCH];
    for block in keys.chunks(BATCH) {
        for (hash, key) in hashes.iter_mut().zip(block) {
            *hash = KeyHash::from_u64(key.0);
        }
        work(&hashes[..block.len()]);
    }
}
