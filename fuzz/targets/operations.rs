//! Filters of every kind under sequences of operations, compared with a twin that processes keys one at a time, with an
//! array of single bits for plain Bloom filters, and with the list of keys that must be found.

#![no_main]

use std::collections::HashMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use umbel::{
    AnyFilter, Attributes, Block, Capacity, Cascade, Error, Filter, Insert, KeyHash, KeyHasher,
    Kind, MergeError, Plan, Secret, Variant,
};
use umbel_fuzz::{Placed, figures, file, memory};

#[allow(dead_code)]
#[path = "../../crates/umbel/tests/all/reference.rs"]
mod reference;
use reference::Reference;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

static SECRET: Secret = Secret::new(*b"a secret to test");

/// The bytes of the largest filter tried: more would only be slower.
const MOST_BYTES: u64 = 1 << 15;

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    detail: Option<u8>,
    keys: u16,
    /// Halves of the rate, in quarters.
    fpp: u8,
    seed: Option<u64>,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Insert(u16),
    InsertMany(Vec<u16>),
    InsertNew(Vec<u16>),
    Remove(u16),
    Union(Vec<u16>),
    Intersect(Vec<u16>),
    SetLimit(u16),
    WriteRead,
    View,
}

fuzz_target!(|input: Input| {
    let kind = Kind::ALL[usize::from(input.kind) % Kind::ALL.len()];
    let variant = match input.detail {
        Some(detail) => format!("{kind}:{detail}").parse(),
        None => Ok(Variant::from(kind)),
    };
    let Ok(variant) = variant else { return };
    let fpp = 2f64.powf(-f64::from(input.fpp % 160 + 1) / 4.0);
    let Ok(plan) = Plan::for_keys(variant, input.keys.into(), fpp) else { return };
    if plan.bytes() > MOST_BYTES {
        return;
    }
    assert!(plan.predicted_fpp() <= fpp, "{plan:?}");
    let hasher = input.seed.map_or(KeyHasher::keyed(SECRET.clone()), KeyHasher::with_seed);
    if kind.built_at_once() {
        return at_once(&plan, hasher, &input.ops);
    }
    let mut pair = Pair::new(&plan, hasher);
    for op in &input.ops {
        pair.apply(op);
    }
    pair.check();
});

/// The key of a number: some are long, one is empty.
fn key(number: u16) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        _ if number % 16 == 15 => number.to_le_bytes().repeat(usize::from(number % 200)),
        _ => number.to_le_bytes().to_vec(),
    }
}

/// The attributes of a row; the value of key k in the second is shared by two.
const NAMES: [&str; 2] = ["one", "half"];

fn row(number: u16) -> [Vec<u8>; 2] {
    [key(number), key(number / 2)]
}

struct Pair {
    plan: Plan,
    hasher: KeyHasher,
    filter: AnyFilter,
    twin: AnyFilter,
    reference: Option<Reference>,
    /// The inserted keys, in order.
    members: Vec<u16>,
}

impl Pair {
    fn new(plan: &Plan, hasher: KeyHasher) -> Self {
        let empty = || -> Result<AnyFilter, Error> {
            Ok(match plan.kind().rows() {
                true => {
                    AnyFilter::Attributes(Attributes::with_names(plan, &NAMES, hasher.clone())?)
                }
                false => AnyFilter::with_plan(plan, hasher.clone())?,
            })
        };
        let empty = || empty().unwrap_or_else(|error| panic!("{plan:?}: {error}"));
        let plain = matches!(plan.kind(), Kind::Blocked | Kind::Classic | Kind::Sliced);
        Self {
            plan: *plan,
            hasher: hasher.clone(),
            filter: empty(),
            twin: empty(),
            reference: plain.then(|| Reference::new(plan)),
            members: Vec::new(),
        }
    }

    /// Inserts keys one by one into the twin, up to the first that finds no room; returns which were new.
    fn insert_slowly(&mut self, keys: &[u16]) -> (Vec<bool>, Result<(), Error>) {
        let mut new = Vec::new();
        for &number in keys {
            let hash = self.hasher.hash(key(number));
            let known = self.twin.contains(hash);
            let inserted = match &mut self.twin {
                AnyFilter::Attributes(rows) => rows.insert_row(&row(number)).map_err(Error::from),
                keys => keys.try_insert(hash).map_err(Error::from),
            };
            let is_new = match inserted {
                Ok(is_new) => is_new,
                Err(error) => return (new, Err(error)),
            };
            // A tag is not the row itself: a row may be new although its key is held.
            let may_be_new = self.plan.kind().rows() || !known;
            assert!(may_be_new || !is_new, "{number} is new, and was there");
            if let Some(reference) = &mut self.reference {
                assert_eq!(reference.contains(hash), !is_new);
                reference.insert(hash);
            }
            new.push(is_new);
            self.members.push(number);
        }
        (new, Ok(()))
    }

    fn insert(&mut self, keys: &[u16], tell: bool) {
        let all: Vec<_> = keys.iter().map(|&number| key(number)).collect();
        let hashes = hashes(&self.hasher, keys);
        let (slow, end) = self.insert_slowly(keys);
        let mut new = vec![false; keys.len()];
        let result = match &mut self.filter {
            AnyFilter::Attributes(rows) => {
                let all: Vec<_> = keys.iter().map(|&number| row(number)).collect();
                let inserted = match tell {
                    true => rows.insert_rows_new(&all, &mut new),
                    false => rows.insert_rows(&all),
                };
                inserted.map_err(Error::from)
            }
            filter if tell => filter.try_insert_all_new(&all, &mut new).map_err(Error::from),
            filter => filter.try_insert_all(&hashes).map_err(Error::from),
        };
        assert_eq!(result.map_err(|e| e.to_string()), end.map_err(|e| e.to_string()));
        if tell {
            assert_eq!(new[..slow.len()], slow);
            assert!(!new[slow.len()..].contains(&true), "what found no room is not new");
        }
    }

    /// Merges with a filter that holds `keys`.
    fn join(&mut self, keys: &[u16], union: bool) {
        let mut other = Self::new(&self.plan, self.hasher.clone());
        other.insert(keys, false);
        let before = file(&self.filter);
        let join = |filter: &mut AnyFilter, other| match union {
            true => filter.union(other),
            false => filter.intersect(other),
        };
        let joined = join(&mut self.filter, &other.filter);
        let again = join(&mut self.twin, &other.twin);
        assert_eq!(joined.is_ok(), again.is_ok());
        if let Err(error) = joined {
            assert!(matches!(error, MergeError::NotMergeable(_)), "{error}");
            assert!(file(&self.filter) == before, "an error changes nothing");
            return;
        }
        if let (Some(ours), Some(theirs)) = (&mut self.reference, &other.reference) {
            ours.join(theirs, if union { |a, b| a | b } else { |a, b| a & b });
        }
        if union {
            self.members.extend(other.members);
        } else {
            let mut theirs = counts(&other.members);
            self.members.retain(|key| {
                theirs.get_mut(key).filter(|left| **left > 0).map(|left| *left -= 1).is_some()
            });
        }
    }

    /// Removes one of the members once. Counters at their maximum stick.
    fn remove(&mut self, index: u16) {
        if !self.plan.kind().removes() {
            assert!(self.filter.as_counting_mut().is_err());
            return;
        }
        let place = usize::from(index) % self.members.len().max(1);
        let Some(&number) = self.members.get(place) else { return };
        if counts(&self.members)[&number] < 10 {
            self.members.remove(place);
            for filter in [&mut self.filter, &mut self.twin] {
                let was_there = filter.as_counting_mut().unwrap().remove(key(number));
                assert!(was_there, "{number} was there");
            }
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Insert(key) => self.insert(&[*key], false),
            Op::InsertMany(keys) => self.insert(keys, false),
            Op::InsertNew(keys) => self.insert(keys, true),
            Op::Remove(index) => self.remove(*index),
            Op::Union(keys) => self.join(keys, true),
            Op::Intersect(keys) => self.join(keys, false),
            Op::SetLimit(bytes) => {
                self.filter.set_limit(u64::from(*bytes));
                self.twin.set_limit(u64::from(*bytes));
            }
            Op::WriteRead => {
                let file = file(&self.filter);
                self.filter = read(&file, &self.hasher);
                // A limit is not part of the file.
                self.twin = read(&file, &self.hasher);
            }
            Op::View => self.check(),
        }
        assert!(file(&self.filter) == file(&self.twin), "after {op:?}");
    }

    /// The keys that must be found.
    fn kept(&self) -> &[u16] {
        let least = match (self.plan.kind().capacity(), self.plan.kind()) {
            (Capacity::Last, Kind::Stable) => 1,
            (Capacity::Last, _) => self.plan.keys() as usize,
            _ => self.members.len(),
        };
        &self.members[self.members.len().saturating_sub(least)..]
    }

    fn check(&self) {
        let bytes = file(&self.filter);
        if let Some(reference) = &self.reference {
            let payload = reference.payload();
            assert!(bytes[128..128 + payload.len()] == payload, "bits differ from the reference");
        }
        let aligned = Placed::new(&bytes, 0);
        let secret = secret(&self.hasher);
        let view = AnyFilter::view_with(aligned.bytes(), secret).unwrap();
        assert!(file(&view) == bytes, "a view writes what it borrows");
        for number in self.kept() {
            let found = match &view {
                AnyFilter::Attributes(rows) => {
                    let [one, half] = &row(*number);
                    [[Some(one), Some(half)], [Some(one), None], [None, Some(half)]]
                        .iter()
                        .all(|asked| rows.contains_row(asked).unwrap())
                }
                view => view.contains(key(*number)),
            };
            assert!(found, "{number} is lost");
        }
        let asked: Vec<u16> = (0..300).chain(self.members.iter().copied()).collect();
        agree(&self.filter, &view, &hashes(&self.hasher, &asked), self.reference.as_ref());
    }
}

fn hashes(hasher: &KeyHasher, keys: &[u16]) -> Vec<KeyHash> {
    keys.iter().map(|&number| hasher.hash(key(number))).collect()
}

fn counts(keys: &[u16]) -> HashMap<u16, u32> {
    let mut counts = HashMap::new();
    keys.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
    counts
}

fn secret(hasher: &KeyHasher) -> Option<&'static Secret> {
    (hasher.scheme().key_id != 0).then_some(&SECRET)
}

fn read(file: &[u8], hasher: &KeyHasher) -> AnyFilter {
    AnyFilter::read_with(file, file.len() as u64, secret(hasher)).expect("its own file")
}

/// Checks that owned and borrowed filters, single keys, batches and the reference give the same answers, and both filters one
/// receipt.
fn agree(
    filter: &AnyFilter,
    view: &AnyFilter<KeyHasher, &[Block]>,
    hashes: &[KeyHash],
    reference: Option<&Reference>,
) {
    let mut found = [vec![false; hashes.len()], vec![false; hashes.len()]];
    filter.contains_all(hashes, &mut found[0]);
    view.contains_all(hashes, &mut found[1]);
    assert_eq!(found[0], found[1]);
    for (hash, found) in hashes.iter().zip(&found[0]) {
        assert_eq!(filter.contains(*hash), *found);
        assert!(reference.is_none_or(|reference| reference.contains(*hash) == *found));
    }
    assert_eq!(filter.receipt(), view.receipt());
    figures::check(&view.receipt());
}

/// Kinds that are built in one go: all keys of the operations match; in a cascade, keys that are only merged must not.
fn at_once(plan: &Plan, hasher: KeyHasher, ops: &[Op]) {
    let (mut included, mut excluded) = (Vec::new(), Vec::new());
    for op in ops {
        match op {
            Op::Insert(key) | Op::Remove(key) => included.push(*key),
            Op::InsertMany(keys) | Op::InsertNew(keys) => included.extend(keys),
            Op::Union(keys) | Op::Intersect(keys) => excluded.extend(keys),
            Op::SetLimit(count) => excluded.extend((0..*count).take(2000)),
            Op::WriteRead | Op::View => {}
        }
    }
    included.truncate(plan.keys() as usize);
    excluded.retain(|key| !included.contains(key));
    // Different numbers may be the same key.
    let (inside, mut outside) = (hashes(&hasher, &included), hashes(&hasher, &excluded));
    outside.retain(|hash| !inside.contains(hash));
    let built = match plan.kind() {
        Kind::Cascade => Cascade::build_with_plan(plan, &inside, &outside, hasher.clone())
            .map(AnyFilter::Cascade),
        _ => AnyFilter::build(plan, &inside, hasher.clone()),
    };
    let filter = built.unwrap_or_else(|error| panic!("{plan:?}: {error}"));
    let bytes = file(&filter);
    let aligned = Placed::new(&bytes, 0);
    let view = AnyFilter::view_with(aligned.bytes(), secret(&hasher)).unwrap();
    assert!(file(&view) == bytes && file(&read(&bytes, &hasher)) == bytes);
    assert!(inside.iter().all(|hash| view.contains(*hash)), "a key is lost");
    if plan.kind() == Kind::Cascade {
        assert!(!outside.iter().any(|hash| view.contains(*hash)), "a key excluded passes");
    }
    agree(&filter, &view, &[inside, outside].concat(), None);
}
