//! Behavior common to all kinds: keys of every type, singly and in batches, counted, collected and cleared; files in
//! memory, copies and comparisons.

// If there is always room, insertions return nothing to unwrap.
#![allow(clippy::unit_arg)]

use std::fmt::Debug;

use umbel::internals::format::Reader;
use umbel::{
    AnyFilter, AnyScheme, Attributes, Blocked, Blocks, Bloomier, BloomierBuilder, Cascade, Classic,
    Coded, Counting, FileError, Filter, Hash64, InsertError, Key, KeyHash, KeyHasher, Kind,
    Mixed64, Plan, PlanError, Portable, Prehashed, Scalable, Secret, Shared, Sliced, Stable,
    Variant, Window,
};

use crate::damage::{assert_fails, with_header};
use crate::description::described;
use crate::every_kind::{self, MERGING, texts};
use crate::model::fold;
use crate::reopened::{Aligned, OfKind, Way, any_reopened};
use crate::statistics::splitmix;

/// Repeats a test for each kind, with `Filter` as its type.
macro_rules! each {
    ($($kind:ident),*: |$filter:ident| $does:block) => {$({ type $filter = $kind; $does })*};
}

/// Kinds that always have room, which can be extended and collected.
macro_rules! each_roomy {
    (|$filter:ident| $does:block) => {
        each!(Blocked, Classic, Sliced, Counting, Stable, Window: |$filter| $does)
    };
}

/// Kinds that accept keys one by one.
macro_rules! each_inserting {
    (|$filter:ident| $does:block) => {
        each!(Blocked, Classic, Sliced, Counting, Stable, Window, Scalable, Coded: |$filter| $does)
    };
}

macro_rules! each_kind {
    (|$filter:ident| $does:block) => {
        each_inserting!(|$filter| $does);
        each!(Bloomier, Attributes, Cascade: |$filter| $does)
    };
}

/// Insertion with one signature for kinds that always have room and the others.
trait Add<H> {
    fn add(&mut self, key: impl Key<H>) -> bool;
    fn add_all<K: Key<H>>(&mut self, keys: &[K]);
    fn add_all_new<K: Key<H>>(&mut self, keys: &[K], new: &mut [bool]);
}

macro_rules! add {
    ($kind:ident, $insert:ident, $insert_all:ident, $insert_all_new:ident $(, $unwrap:ident)?) => {
        impl<H: Portable> Add<H> for $kind<H> {
            fn add(&mut self, key: impl Key<H>) -> bool {
                self.$insert(key)$(.$unwrap())?
            }

            fn add_all<K: Key<H>>(&mut self, keys: &[K]) {
                self.$insert_all(keys)$(.$unwrap())?;
            }

            fn add_all_new<K: Key<H>>(&mut self, keys: &[K], new: &mut [bool]) {
                self.$insert_all_new(keys, new)$(.$unwrap())?;
            }
        }
    };
}

add!(Blocked, insert, insert_all, insert_all_new);
add!(Classic, insert, insert_all, insert_all_new);
add!(Sliced, insert, insert_all, insert_all_new);
add!(Counting, insert, insert_all, insert_all_new);
add!(Stable, insert, insert_all, insert_all_new);
add!(Window, insert, insert_all, insert_all_new);
add!(Scalable, try_insert, try_insert_all, try_insert_all_new, unwrap);
add!(Coded, try_insert, try_insert_all, try_insert_all_new, unwrap);

/// Lengths around the groups in which keys are hashed, and those in which kinds look them up.
const COUNTS: [usize; 9] = [0, 1, 15, 33, 511, 512, 513, 1_024, 1_300];

fn filled(kind: Kind, keys: &[String]) -> AnyFilter {
    every_kind::filled(kind, keys, KeyHasher::default())
}

/// Checks that single keys, slices of keys and hashes get the same answers from the type's own methods and from the
/// trait; returns the answers.
macro_rules! answers {
    ($filter:expr, $keys:expr) => {{
        let mut found = vec![true; $keys.len()];
        $filter.contains_all($keys, &mut found);
        for (key, &found) in $keys.iter().zip(&found) {
            assert_eq!($filter.contains(key), found, "{}: alone as in a row", $filter.kind());
        }
        assert_eq!(answers(&$filter, $keys), found, "{}: through the trait", $filter.kind());
        found
    }};
}

pub(crate) fn answers<H: Portable, K: Key<H>>(filter: &impl Filter<H>, keys: &[K]) -> Vec<bool>
where
    KeyHash: Key<H>,
{
    let mut found = vec![true; keys.len()];
    filter.contains_all(keys, &mut found);
    let mut wrong = vec![false; keys.len()];
    filter.contains_all(keys, &mut wrong);
    assert_eq!(found, wrong, "answers do not depend on what was there");
    for (key, &found) in keys.iter().zip(&found) {
        assert_eq!(filter.contains(key), found, "{}: alone as in a row", filter.kind());
    }
    let hashes: Vec<KeyHash> = keys.iter().map(|key| key.key_hash(filter.hasher())).collect();
    let mut by_hash = vec![false; keys.len()];
    filter.contains_hashes(&hashes, &mut by_hash);
    assert_eq!(by_hash, found, "{}: by hashes as by keys", filter.kind());
    assert!(hashes.iter().zip(&found).all(|(hash, found)| filter.contains_hash(*hash) == *found));
    found
}

/// Members are found; the others are not, except for false positives.
fn assert_found(found: &[bool], members: usize, kind: Kind) {
    let lost = found[..members].iter().filter(|&&found| !found).count();
    assert!(lost * 50 <= if kind == Kind::Stable { members } else { 0 }, "{kind}: {lost} lost");
    let others = found.len() - members;
    let passing = found[members..].iter().filter(|&&found| found).count();
    assert!(passing <= 10 + others / 20, "{kind}: {passing} of {others} pass");
}

/// Keys inserted singly, in batches, and with the result reported make the same filter; few others pass.
macro_rules! make_one_filter {
    ($all:ident, $hasher:ident, |$filter:ident|) => {
        for count in COUNTS {
            let (keys, plan) =
                (&$all[..count], Plan::for_keys(kind_of::<$filter>(), 1_300, 0.01).unwrap());
            let empty = $filter::with_plan(&plan, $hasher.clone()).unwrap();
            let [mut one, mut many, mut hashes] = [(); 3].map(|()| empty.clone());
            let alone: Vec<bool> = keys.iter().map(|key| one.add(key)).collect();
            many.add_all(keys);
            assert!(one == many, "{:?} {count}", one.kind());
            let mut new = vec![true; count];
            let mut told = empty.clone();
            told.add_all_new(keys, &mut new);
            assert!(one == told && new == alone, "{:?} {count}", one.kind());
            let own: Vec<KeyHash> = keys.iter().map(|key| key.key_hash(&$hasher)).collect();
            hashes.add_all(&own);
            assert!(one == hashes, "{:?} {count}", one.kind());
            assert_found(&answers!(one, $all), count, one.kind());
        }
    };
}

/// For one type of keys: kinds see only hashes, so one kind represents all.
fn keys_of_a_type<H: Portable, K: Key<H>>(all: &[K], hasher: H)
where
    KeyHash: Key<H>,
{
    make_one_filter!(all, hasher, |Blocked|);
}

#[test]
fn kinds_take_keys() {
    let (texts, hasher) = (&texts(2_000), KeyHasher::keyed(Secret::new([7; 16])));
    each_inserting!(|Sort| { make_one_filter!(texts, hasher, |Sort|) });
}

fn kind_of<F: OfKind>() -> Kind {
    F::KIND
}

#[test]
fn bytes_are_keys() {
    let owned = texts(2_000);
    let keyed = KeyHasher::keyed(Secret::new([7; 16]));
    keys_of_a_type(&owned, KeyHasher::default());
    let borrowed: Vec<&str> = owned.iter().map(String::as_str).collect();
    keys_of_a_type(&borrowed, keyed.clone());
    let bytes: Vec<&[u8]> = owned.iter().map(String::as_bytes).collect();
    keys_of_a_type(&bytes, KeyHasher::with_seed(1));
    let vectors: Vec<Vec<u8>> = bytes.iter().map(|bytes| bytes.to_vec()).collect();
    keys_of_a_type(&vectors, keyed);
    let arrays: Vec<[u8; 3]> = (0..2_000u32).map(|n| [n as u8, (n >> 8) as u8, 9]).collect();
    keys_of_a_type(&arrays, KeyHasher::default());
}

#[test]
fn integers_are_keys() {
    let numbers: Vec<u64> = (0..2_000).map(splitmix).collect();
    keys_of_a_type(&numbers, KeyHasher::default());
    let short: Vec<u16> = (0..2_000).collect();
    keys_of_a_type(&short, KeyHasher::with_seed(7));
    let signed: Vec<i32> = (-1_000..1_000).collect();
    keys_of_a_type(&signed, KeyHasher::keyed(Secret::new([7; 16])));
    let wide: Vec<i128> = (0..2_000).map(|n| i128::from(n) << 70).collect();
    keys_of_a_type(&wide, KeyHasher::default());
    let references: Vec<&u64> = numbers.iter().collect();
    keys_of_a_type(&references, KeyHasher::default());
}

#[test]
fn hashes_are_keys() {
    let hasher = KeyHasher::with_seed(3);
    let hashes: Vec<KeyHash> = (0..2_000).map(|key| hasher.hash(key)).collect();
    keys_of_a_type(&hashes, hasher);
    keys_of_a_type(&hashes, Prehashed::new(1));
    let narrow: Vec<u64> = (0..2_000).map(splitmix).collect();
    keys_of_a_type(Mixed64::from_slice(&narrow), Prehashed::new(1));
    keys_of_a_type(&narrow.into_iter().map(Hash64).collect::<Vec<_>>(), Prehashed::new(1));
}

#[test]
fn built_filters_answer_for_every_type() {
    let hasher = KeyHasher::with_seed(5);
    fn check<K: Key + Debug>(all: &[K], hasher: KeyHasher) {
        for count in [0, 1, 511, 513, 1_300] {
            let plan = Plan::for_keys(Kind::Bloomier, 1_300, 0.01).unwrap();
            let hashes: Vec<_> = all[..count].iter().map(|key| hasher.hash(key)).collect();
            let bloomier = Bloomier::build(&plan, &all[..count], hasher.clone()).unwrap();
            assert!(bloomier == Bloomier::build(&plan, &hashes, hasher.clone()).unwrap());
            assert_found(&answers!(bloomier, all), count, Kind::Bloomier);
            let cascade =
                Cascade::build(&all[..count], &all[count..], 0.01, hasher.clone()).unwrap();
            let of_hashes: Vec<_> = all[count..].iter().map(|key| hasher.hash(key)).collect();
            assert!(cascade == Cascade::build(&hashes, &of_hashes, 0.01, hasher.clone()).unwrap());
            let found = answers!(cascade, all);
            assert!((0..).zip(found).all(|(at, found): (usize, _)| found == (at < count)));
        }
    }
    check(&texts(2_000), hasher.clone());
    check(&(0..2_000).collect::<Vec<i32>>(), hasher.clone());
    check(&(0..2_000u64).map(|key| hasher.hash(key)).collect::<Vec<_>>(), hasher);
    // Rows of one attribute are queried by key.
    let texts = texts(2_000);
    let AnyFilter::Attributes(rows) = filled(Kind::Attributes, &texts[..1_300]) else { panic!() };
    assert_found(&answers!(rows, &texts), 1_300, Kind::Attributes);
}

/// Counters can be queried with integers like other keys, singly and in slices.
#[test]
fn counters_know_integers() {
    let [mut filter, mut once] = [(); 2].map(|()| Counting::new(2_000, 0.01).unwrap());
    let numbers: Vec<i32> = (-500..500).collect();
    filter.insert_all(&numbers);
    filter.insert_all(&numbers[..300]);
    assert!(filter.contains(-500) && filter.contains(499u64) && filter.count(-500) >= 2);
    let mut counts = vec![9; 1_000];
    filter.count_all(&numbers, &mut counts);
    assert!(numbers.iter().zip(&counts).all(|(&number, &count)| filter.count(number) == count));
    assert!(counts[..300].iter().all(|&count| count >= 2) && !counts.contains(&0));
    assert!(counts[300..].iter().filter(|&&count| count > 1).count() < 50);
    let mut removed = vec![false; 300];
    filter.remove_all(&numbers[..300], &mut removed);
    assert!(removed.iter().all(|&removed| removed) && filter.remove(-500));
    once.insert_all(&numbers[1..]);
    assert!(filter == once);
}

#[test]
fn lengths_differ_loudly() {
    let loud = |act: fn()| assert!(std::panic::catch_unwind(act).is_err());
    loud(|| Blocked::new(10, 0.1).unwrap().contains_all(&[1, 2], &mut [false]));
    loud(|| Blocked::new(10, 0.1).unwrap().insert_all_new(&[1], &mut [false; 2]));
    loud(|| Counting::new(10, 0.1).unwrap().remove_all(&[1], &mut [false; 2]));
    loud(|| Counting::new(10, 0.1).unwrap().count_all(&[1], &mut []));
    loud(|| Shared::new(10, 0.1).unwrap().contains_all(&[1], &mut []));
    loud(|| {
        let hashes = [KeyHash::default()];
        AnyFilter::Blocked(Blocked::new(10, 0.1).unwrap()).contains_all(&hashes, &mut []);
    });
}

/// Collecting keys gives the same filter as inserting them.
#[test]
fn collecting_is_inserting() {
    for count in COUNTS {
        let texts = texts(count);
        let mut inserted = Blocked::new(count.max(1) as u64, 0.01).unwrap();
        inserted.insert_all(&texts);
        let collected: Blocked = texts.iter().collect();
        assert!(collected == inserted, "{count}");
        assert_eq!(collected.is_empty(), count == 0);
        // Also from owned keys, and from an iterator of unknown length.
        let owned: Blocked = texts.into_iter().filter(|_| true).collect();
        assert!(owned == inserted);
    }
    let numbers: Blocked = (0..1_000).collect();
    let members: Vec<i32> = (0..2_000).collect();
    assert_found(&answers!(numbers, &members), 1_000, Kind::Blocked);
}

/// So does extending.
#[test]
fn extending_is_inserting() {
    each_roomy!(|Sort| {
        for count in COUNTS {
            let texts = texts(count);
            let [mut inserted, mut extended] =
                [(); 2].map(|()| Sort::new(count.max(1) as u64, 0.01).unwrap());
            inserted.insert_all(&texts);
            let (first, second) = texts.split_at(count / 3);
            extended.extend(first);
            extended.extend(second.iter().map(String::as_str));
            extended.extend(&[] as &[u64]);
            assert!(extended == inserted, "{:?} {count}", inserted.kind());
        }
        // Also with another hasher; each key is taken exactly once.
        let plan = Plan::for_keys(kind_of::<Sort>(), 2_000, 0.01).unwrap();
        let hasher = KeyHasher::keyed(Secret::new([7; 16]));
        let [mut extended, mut inserted] =
            [(); 2].map(|()| Sort::with_plan(&plan, hasher.clone()).unwrap());
        let mut rest = 0..1_536;
        extended.extend(rest.by_ref().take(1_024));
        assert_eq!(rest.clone(), 1_024..1_536);
        extended.extend(rest.by_ref());
        (0..1_536).for_each(|key| _ = inserted.insert(key));
        assert!(extended == inserted && rest.is_empty());
    });
    let hashes: Vec<Hash64> = (0..1_000).map(|n| Hash64(splitmix(n))).collect();
    let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01).unwrap();
    let [mut extended, mut inserted] =
        [(); 2].map(|()| Blocked::with_plan(&plan, Prehashed::new(1)).unwrap());
    extended.extend(hashes.iter().copied());
    inserted.insert_all(&hashes);
    assert!(extended == inserted);
}

/// The estimates of a half-full filter and of an empty one; and clearing.
#[test]
fn lengths_and_clearing() {
    let near_10_000 = |found: u64| (9_500..=10_500).contains(&found);
    each_inserting!(|Sort| {
        let mut filter = Sort::new(20_000, 0.01).unwrap();
        let kind = filter.kind();
        assert_eq!(kind, kind_of::<Sort>());
        let empty = filter.clone();
        assert_eq!((filter.is_empty(), filter.estimated_len()), (true, 0), "{kind}");
        assert!(filter.blocks().concat().len() as u64 * 64 == filter.bytes());
        filter.add("one");
        assert_eq!((filter.is_empty(), filter.estimated_len()), (false, 1), "{kind}");
        filter.add_all(&texts(10_000));
        assert!(filter != empty && empty.is_empty(), "{kind}: a copy is independent");
        assert!(near_10_000(filter.estimated_len()), "{kind}: {}", filter.estimated_len());
        assert_eq!(filter.estimated_len(), filter.receipt().keys.value.round() as u64);
        assert_eq!(filter.bytes(), filter.receipt().bytes());
        let mut any = filter.clone().any();
        let told = (any.estimated_len(), any.is_empty(), any.bytes());
        assert_eq!(told, (filter.estimated_len(), false, filter.bytes()));
        filter.clear();
        assert_eq!((filter.is_empty(), filter.estimated_len()), (true, 0), "{kind}");
        assert!(!filter.contains("one"), "{kind}");
        assert!(filter == empty, "{kind}");
        // Afterwards it behaves like a new one.
        let mut other = empty.clone();
        for filter in [&mut filter, &mut other] {
            filter.add_all(&texts(3_000));
        }
        assert!(filter == other, "{kind}");
        any.clear().unwrap();
        assert!(any.is_empty() && any == empty.any(), "{kind}");
    });
    for kind in Kind::ALL.iter().copied().filter(|kind| !kind.inserts()) {
        let mut filter = filled(kind, &texts(10_000));
        let length = filter.estimated_len();
        assert!(!filter.is_empty() && near_10_000(length), "{kind}: {length}");
        let before = filter.clone();
        if kind.built_at_once() {
            let error = filter.clear().unwrap_err();
            assert!(matches!(error, InsertError::BuiltAtOnce(own) if own == kind));
            assert!(filter == before, "{kind}");
        } else {
            filter.clear().unwrap();
            assert_eq!((filter.is_empty(), filter.estimated_len()), (true, 0), "{kind}");
        }
        let none = filled(kind, &[]);
        assert_eq!((none.is_empty(), none.estimated_len()), (true, 0), "{kind}");
    }
    // Too full for an estimate.
    let mut full = Blocked::new(1, 0.5).unwrap();
    full.extend(0..100_000);
    assert_eq!(full.estimated_len(), u64::MAX);
}

/// A filter has the same file at every address and by every reader; a reader of another kind refuses it.
#[test]
fn files_in_memory_may_lie_anywhere() {
    fn check(filter: &AnyFilter, from_bytes: &dyn Fn(&[u8]) -> Result<AnyFilter, FileError>) {
        let (kind, file) = (filter.kind(), filter.to_bytes());
        let mut room = Aligned::new(&vec![0xaa; file.len() + 128]).bytes().to_vec();
        for shift in (0..=65).chain([127]) {
            let bytes = &mut room[shift..][..file.len()];
            bytes.copy_from_slice(&file);
            let any = AnyFilter::from_bytes(bytes).unwrap();
            assert!(any == *filter && any.to_bytes() == file, "{kind} {shift}");
            let own = from_bytes(bytes).unwrap();
            assert_eq!(own.kind(), kind);
            assert!(own.to_bytes() == file && own == *filter, "{kind} {shift}");
        }
        for end in [0, 7, 8, 127, 128, file.len() - 1] {
            let expected = if end < 8 { "NotUmbel(" } else { "Length(" };
            assert_fails(expected, from_bytes(&file[..end]));
            assert_fails(expected, AnyFilter::from_bytes(&file[..end]));
        }
        for other in Kind::ALL.iter().copied().filter(|other| *other != kind) {
            let read = from_bytes(&filled(other, &texts(9)).to_bytes());
            assert_fails(&format!("Kind({kind:?}, {other:?})"), read);
        }
    }
    for count in [0, 1, 700] {
        each_kind!(|Sort| {
            let filter = filled(kind_of::<Sort>(), &texts(count));
            let mut written = Vec::new();
            filter.write(&mut written).unwrap();
            assert_eq!(written, filter.to_bytes());
            check(&filter, &|bytes| Sort::from_bytes(bytes).map(Sort::any));
            check(&filter, &|bytes| Sort::read(bytes, bytes.len() as u64).map(Sort::any));
            let own = Sort::out_of(filter.clone());
            assert!(own.to_bytes() == written && own.any() == filter);
        });
    }
}

/// Plans of one kind are refused by the others.
#[test]
fn plans_are_told_apart() {
    each_inserting!(|Sort| {
        let own = kind_of::<Sort>();
        for other in Kind::ALL.iter().copied().filter(|other| *other != own) {
            let plan = Plan::for_keys(other, 10, 0.1).unwrap();
            let error = Sort::with_plan(&plan, KeyHasher::default()).map(drop);
            assert_eq!(error, Err(PlanError::Kind(own, other)));
        }
    });
}

/// Copies, views and maps equal their originals and answer alike; filters that differ in any bit or number are unequal.
#[test]
fn equal_filters_are_equal_files() {
    let secret = Secret::new([7; 16]);
    let keyed =
        |kind, keys: &[String]| every_kind::filled(kind, keys, KeyHasher::keyed(secret.clone()));
    let of_all =
        |keys: &[String]| Kind::ALL.iter().map(|kind| filled(*kind, keys)).collect::<Vec<_>>();
    let (some, other) = (of_all(&texts(300)), of_all(&texts(301)[1..]));
    let asked: Vec<_> = texts(1_000).iter().map(|key| KeyHasher::default().hash(key)).collect();
    for (i, left) in some.iter().enumerate() {
        for (j, right) in some.iter().enumerate() {
            assert_eq!(left == right, i == j);
            assert_eq!(left.to_bytes() == right.to_bytes(), i == j);
        }
        assert!(*left != other[i] && left.to_bytes() != other[i].to_bytes(), "{}", left.kind());
        for way in Way::ALL {
            let again = any_reopened(left, way, None, &asked);
            assert!(again == *left && other[i] != again);
        }
        let file = left.to_bytes();
        // Receipts need no secret, and a filter opened without it is the same file.
        for filter in [left, &keyed(left.kind(), &texts(300))] {
            let sealed = AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).unwrap();
            assert!(sealed == *filter && other[i] != sealed);
            assert_eq!(sealed.receipt(), filter.receipt());
            assert!(sealed.to_bytes() == filter.to_bytes());
        }
        // The same bits with another seed, plan or description.
        let seeded = with_header(&file, 24, &[1]);
        assert!(AnyFilter::from_bytes(&seeded).unwrap() != *left);
        let mut other = left.clone();
        other.describe(described(&[("type", "text")]));
        assert!(other != *left && other == other.clone());
    }
}

/// It can be extended through a shared reference, on several threads, and cleared.
#[test]
fn shared_filters_are_extended_and_cleared() {
    for count in COUNTS {
        let texts = texts(count);
        let mut plain = Blocked::new(count.max(1) as u64, 0.01).unwrap();
        plain.insert_all(&texts);
        let mut shared = Shared::new(count.max(1) as u64, 0.01).unwrap();
        let empty = shared.snapshot().unwrap();
        let (first, second) = texts.split_at(count / 3);
        std::thread::scope(|scope| {
            let mut shared = &shared;
            scope.spawn(move || shared.extend(first));
        });
        (&shared).extend(second.iter().map(String::as_str));
        assert!(shared.snapshot().unwrap() == plain, "{count}");
        shared.clear();
        assert!(shared.snapshot().unwrap() == empty && empty.is_empty(), "{count}");
        (&shared).extend(&texts);
        assert!(shared.into_filter() == plain, "{count}");
    }
    let shown = format!("{:?}", Shared::new(10, 0.01).unwrap());
    assert!(shown.starts_with("Shared { plan: Plan {"), "{shown}");
}

/// A shared filter returns what it was made from: plan, hasher, description and bits.
#[test]
fn what_is_shared_is_given_back() {
    let keys = described(&[("field", "host")]);
    let plans = [
        Plan::for_keys(Kind::Blocked, 1_000, 0.01).unwrap(),
        Plan::for_keys(Kind::Blocked, 50_000, 1e-6).unwrap(),
        Plan::from_parts(Kind::Blocked, 9, 0.3, 512, 3).unwrap(),
    ];
    let hashers =
        [KeyHasher::default(), KeyHasher::with_seed(7), KeyHasher::keyed(Secret::new([7; 16]))];
    for plan in plans {
        for hasher in hashers.clone() {
            let mut filter = Blocked::with_plan(&plan, hasher.clone()).unwrap();
            filter.describe(keys.clone());
            filter.insert_all(&texts(500));
            let shared = Shared::from_filter(filter.clone());
            assert_eq!(*shared.plan(), plan);
            assert_eq!(shared.hasher().scheme(), hasher.scheme());
            let snapshot = shared.snapshot().unwrap();
            assert!(snapshot == filter && *snapshot.description() == keys);
            assert_eq!(shared.receipt().unwrap(), filter.receipt());
            let back = shared.into_filter();
            assert!(back == filter && back.to_bytes() == filter.to_bytes());
            assert_eq!((back.plan(), back.description()), (&plan, &keys));
            assert_eq!(back.hasher().scheme(), hasher.scheme());

            // Keys of every type, singly and in slices, as in a plain filter.
            let shared = Shared::from_filter(back);
            let (numbers, hashes): (Vec<i32>, Vec<KeyHash>) = (0..700)
                .map(|number| (number, hasher.hash([number; 3].map(i32::to_le_bytes).concat())))
                .unzip();
            assert_eq!(shared.insert("alone"), filter.insert("alone"));
            shared.insert_all(&numbers);
            filter.insert_all(&numbers);
            shared.insert_all(&hashes);
            filter.insert_all(&hashes);
            shared.insert_all(&texts(9_000));
            filter.insert_all(&texts(9_000));
            let (mut new, mut expected) = (vec![false; 3_000], vec![true; 3_000]);
            shared.insert_all_new(&texts(12_000)[9_000..], &mut new);
            filter.insert_all_new(&texts(12_000)[9_000..], &mut expected);
            assert_eq!(new, expected);
            assert_eq!(shared.estimated_len().unwrap(), filter.estimated_len());
            assert_eq!(shared.bytes(), filter.bytes());
            assert!(shared.snapshot().unwrap() == filter);
            let asked: Vec<i32> = (0..5_000).collect();
            let (mut found, mut expected) = (vec![false; 5_000], vec![true; 5_000]);
            shared.contains_all(&asked, &mut found);
            filter.contains_all(&asked, &mut expected);
            assert_eq!(found, expected);
            assert!((0..700).all(|number| shared.contains(number)));
            assert!(asked.iter().zip(&found).all(|(key, &found)| shared.contains(key) == found));
            assert!(hashes.iter().all(|hash| shared.contains(hash)));
            assert!(shared.into_filter() == filter);
        }
    }
    let shared = Shared::new(1_000, 0.01).unwrap();
    assert!(shared.into_filter() == Blocked::new(1_000, 0.01).unwrap());
    let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01).unwrap();
    let shared = Shared::with_plan(&plan, Prehashed::new(5)).unwrap();
    shared.insert_all(Mixed64::from_slice(&[1 << 40, 2 << 40]));
    assert!(shared.contains(Mixed64(2 << 40)) && !shared.contains(Mixed64(3 << 40)));
    assert_eq!(shared.into_filter().hasher(), &Prehashed::new(5));
    let classic = Plan::for_keys(Kind::Classic, 9, 0.1).unwrap();
    assert!(Shared::with_plan(&classic, KeyHasher::default()).is_err());
}

/// A program can thus keep it in a type of its own that derives `Debug`.
#[test]
fn every_type_can_be_shown() {
    let shown = |value: &dyn Debug| format!("{value:?}");
    assert_eq!(shown(&Blocks::zeroed(3).unwrap()), "Blocks { count: 3, .. }");
    let chain = Scalable::new(10, 0.01).unwrap();
    let plan = Plan::for_keys(Kind::Bloomier, 10, 0.01).unwrap();
    let mut builder = BloomierBuilder::new(&plan).unwrap();
    assert!(shown(&builder).starts_with("BloomierBuilder { plan: Plan"));
    let shard = builder.shards().next().unwrap();
    assert_eq!(shown(&shard), "BloomierShard { index: 0, .. }");
    let file = chain.to_bytes();
    let reader = Reader::new(&file[..], file.len() as u64).unwrap();
    assert!(shown(&reader).starts_with("Reader { header: Header"));
}

#[test]
fn every_error_is_one_of_the_crate() {
    let kind = || Ok::<Variant, umbel::Error>("block".parse()?);
    assert!(matches!(kind(), Err(umbel::Error::ParseKind(_))));
    let numbers = described(&[("type", "u64")]);
    let check = || Ok::<(), umbel::Error>(described(&[]).check(Kind::Blocked, &numbers)?);
    assert!(matches!(check(), Err(umbel::Error::OtherKeys(_))));
}

/// A filter planned for too many keys folds to nearly the size of one planned for its keys.
#[test]
fn filters_shrink_to_their_keys() {
    let hasher = KeyHasher::default();
    for kind in MERGING.into_iter().filter(|kind| !kind.rows()) {
        for keys in [1u64, 100, 3_000, 40_000] {
            let plan = Plan::for_keys(kind, 1_000_000, 0.01).unwrap();
            let hashes: Vec<KeyHash> = (0..keys).map(|key| hasher.hash(key)).collect();
            let mut filter = AnyFilter::build(&plan, &hashes, hasher.clone()).unwrap();
            let (large, mut folded, mut held) = (filter.bytes(), filter.clone(), filter.clone());
            match &mut filter {
                AnyFilter::Blocked(filter) => filter.shrink_to(keys),
                AnyFilter::Classic(filter) => filter.shrink_to(keys),
                AnyFilter::Sliced(filter) => filter.shrink_to(keys),
                AnyFilter::Counting(filter) => filter.shrink_to(keys),
                other => unreachable!("{other:?}"),
            }
            .unwrap();
            fold(&mut folded, plan.bits() / filter.plan().bits()).unwrap();
            assert_eq!(filter.blocks(), folded.blocks());
            assert!(hashes.iter().all(|hash| filter.contains(*hash)), "{kind} {keys}");
            assert!(filter.plan().predicted_fpp() <= 0.01 && filter.plan().keys() == keys);
            let own = Plan::for_keys(kind, keys, 0.01).unwrap().bytes();
            let before = filter.bytes();
            assert!(before <= 2 * own.max(512) && before < large, "{kind} {keys}: {before}, {own}");
            // A request for more keys than planned changes nothing.
            filter.shrink_to(10 * keys).unwrap();
            assert_eq!(filter.bytes(), before);
            // If asked for fewer keys than it holds, it keeps room for those.
            held.shrink_to(keys / 2).unwrap();
            let receipt = held.receipt();
            let kept = receipt.bytes() <= 2 * before && receipt.fpp <= 0.011;
            assert!(kept, "{kind} {keys}: {receipt:?}");
        }
    }
    let mut window =
        AnyFilter::with_plan(&Plan::for_keys(Kind::Window, 9, 0.1).unwrap(), hasher).unwrap();
    assert_eq!(window.shrink_to(1), Err(umbel::MergeError::NotFolding(Kind::Window)));
}
