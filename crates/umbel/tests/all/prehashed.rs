//! Filters of hashes computed by the caller: their files, how they are opened, and which filters merge.

use umbel::{
    Algorithm, AnyFilter, AnyScheme, FileError, Filter, Hashing, Insert, KeyHash, KeyHasher, Kind,
    MergeError, Mixed64, Plan, Prehashed, Scheme, SchemeError, Secret,
};

use crate::damage::{assert_fails, header_length, is, number, refusal, refuses_flips, with_header};
use crate::every_kind::MERGING;
use crate::reopened::{Way, any_reopened};
use crate::statistics::splitmix;

/// The hash function of the tests, and another one.
const OWN: Prehashed = Prehashed::new(0x0123_4567_89ab_cdef);
const OTHER: Prehashed = Prehashed::new(0x0123_4567_89ab_cdee);

const KEYS: u64 = 2_000;

/// Kinds of single keys.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| !kind.rows())
}

fn hashes(keys: std::ops::Range<u64>) -> Vec<u64> {
    keys.map(splitmix).collect()
}

fn plan(kind: Kind) -> Plan {
    Plan::for_keys(kind, KEYS, 0.01).unwrap()
}

fn filled(kind: Kind, hasher: Prehashed, keys: std::ops::Range<u64>) -> AnyFilter<Prehashed> {
    AnyFilter::build(&plan(kind), Mixed64::from_slice(&hashes(keys)), hasher).unwrap()
}

/// Algorithm 3, with the id in place of the seed; opened with the id alone, by every reader.
#[test]
fn a_file_says_whose_hashes_it_holds() {
    for kind in kinds() {
        let filter = filled(kind, OWN, 0..KEYS);
        let file = filter.to_bytes();
        assert_eq!(number::<2>(&file, 16), 3, "{kind}: algorithm");
        assert_eq!(number::<4>(&file, 20), 0, "{kind}: description_length");
        assert_eq!([24, 32].map(|at| number::<8>(&file, at)), [0x0123_4567_89ab_cdef, 0], "{kind}");
        let scheme = filter.hasher().scheme();
        assert_eq!((scheme.algorithm, scheme.key_id), (Algorithm::Caller, 0));
        assert_eq!(scheme.seed, 0x0123_4567_89ab_cdef);

        let asked: Vec<_> = hashes(0..KEYS).into_iter().map(KeyHash::from_u64).collect();
        let [read, ..] = Way::ALL.map(|way| any_reopened(&filter, way, OWN, &asked));
        // A stable filter may have forgotten a few.
        let lost = |hash: &u64| !filter.contains(Mixed64(*hash));
        let lost: Vec<_> = hashes(0..KEYS).into_iter().filter(lost).collect();
        assert!(lost.len() <= if kind == Kind::Stable { 20 } else { 0 }, "{kind}");
        for hash in hashes(0..KEYS) {
            let found = !lost.contains(&hash);
            assert_eq!(read.contains(Mixed64(hash)), found, "{kind}");
            assert_eq!(read.contains(KeyHash::from_u64(hash)), found, "{kind}");
        }
    }
}

#[test]
fn nobody_else_opens_it() {
    let secret = Secret::new([7; 16]);
    for kind in kinds() {
        let file = filled(kind, OWN, 0..KEYS).to_bytes();
        let id: u64 = 0x0123_4567_89ab_cdef;
        for secret in [None, Some(&secret)] {
            let error = refusal(&file, secret);
            assert!(is(&error, &format!("Scheme(Prehashed({id}))")), "{error}");
            assert!(error.to_string().contains("0123456789abcdef"), "{error}");
        }
        let error = refusal(&file, OTHER);
        let expected = SchemeError::Other(OTHER.scheme(), OWN.scheme());
        assert!(matches!(&error, FileError::Scheme(found) if *found == expected), "{error}");
        let words = error.to_string();
        assert!(words.contains("0123456789abcdef") && words.contains("0123456789abcdee"));
        // No key hasher opens a caller's hashes.
        let hasher = KeyHasher::for_scheme(OWN.scheme(), None);
        assert_fails(&format!("Prehashed({id})"), hasher);
    }
}

/// Seeded and keyed filters are not mistaken for a caller's, even if the seed equals the id.
#[test]
fn it_opens_no_other_files() {
    let seeded = KeyHasher::with_seed(0x0123_4567_89ab_cdef);
    for hasher in [seeded, KeyHasher::default(), KeyHasher::keyed(Secret::new([7; 16]))] {
        let hashes: Vec<_> = (0..KEYS).map(|key| hasher.hash(key)).collect();
        for kind in kinds() {
            let file = AnyFilter::build(&plan(kind), &hashes, hasher.clone()).unwrap().to_bytes();
            let error = refusal(&file, OWN);
            let expected = SchemeError::Other(OWN.scheme(), hasher.scheme());
            assert!(matches!(&error, FileError::Scheme(found) if *found == expected), "{error}");
        }
    }
}

/// Filters of hashes merge only if the hash function is the same.
#[test]
fn it_merges_with_its_own() {
    let seeded = KeyHasher::with_seed(0x0123_4567_89ab_cdef);
    for kind in kinds().filter(|kind| MERGING.contains(kind)) {
        let mut filter = filled(kind, OWN, 0..900);
        let before = filter.to_bytes();
        let of_other = filled(kind, OTHER, 900..1_000);
        let mut plain = AnyFilter::with_plan(&plan(kind), seeded.clone()).unwrap();
        plain.try_insert("key").unwrap();
        let (own, seeded) = (OWN.scheme(), seeded.scheme());
        for (result, left, right) in [
            (filter.union(&of_other), own, OTHER.scheme()),
            (filter.intersect(&of_other), own, OTHER.scheme()),
            (filter.union(&plain), own, seeded),
            (filter.intersect(&plain), own, seeded),
            (plain.union(&filter), seeded, own),
            (plain.intersect(&filter), seeded, own),
            (filter.compare(&plain).map(drop), own, seeded),
            (plain.compare(&filter).map(drop), seeded, own),
        ] {
            assert_eq!(result, Err(MergeError::SchemesDiffer(left, right)));
        }
        assert_eq!(filter.to_bytes(), before, "an error changes nothing");

        filter.union(&filled(kind, OWN, 900..1_000)).unwrap();
        assert!(filter == filled(kind, OWN, 0..1_000), "{kind}");
        filter.intersect(&filled(kind, OWN, 0..1_000)).unwrap();
        assert!(filter == filled(kind, OWN, 0..1_000), "{kind}");
        let overlap = filter.compare(&filter).unwrap().overlap.unwrap();
        assert_eq!(overlap.jaccard.value, 1.0);
    }
}

/// A filter opened without the function has the same receipt, copies and merges.
#[test]
fn sealed_ones_have_receipts_and_merge() {
    for kind in kinds() {
        let left = filled(kind, OWN, 0..900);
        let right = filled(kind, OWN, 900..KEYS);
        let sealed = |filter: &AnyFilter<Prehashed, _>| -> AnyFilter<Scheme> {
            AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).unwrap()
        };
        let mut union = sealed(&left);
        assert_eq!(union.hasher().scheme(), OWN.scheme());
        assert_eq!(union.receipt(), left.receipt());
        assert!(union == left && union.to_bytes() == left.to_bytes(), "{kind}");
        let merges = MERGING.contains(&kind);
        assert_eq!(union.union(&sealed(&right)).is_ok(), merges, "{kind}");
        if merges {
            assert!(union == filled(kind, OWN, 0..KEYS), "{kind}");
            let back = AnyFilter::from_bytes_with(&union.to_bytes(), OWN).unwrap();
            assert!(hashes(0..KEYS).into_iter().all(|hash| back.contains(Mixed64(hash))));
            // Also if only one is sealed.
            union.intersect(&left).unwrap();
            let mut both = filled(kind, OWN, 0..KEYS);
            both.intersect(&left).unwrap();
            assert_eq!(union.receipt(), both.receipt());
            let other = sealed(&filled(kind, OTHER, 0..10));
            assert!(matches!(union.union(&other), Err(MergeError::SchemesDiffer(..))));
        }
    }
}

#[test]
fn every_flipped_bit_of_a_header_is_refused() {
    for kind in kinds() {
        let file = filled(kind, OWN, 0..60).to_bytes();
        refuses_flips(&file, 0..8 * header_length(&file), |file| {
            vec![refusal(file, OWN), refusal(file, None)]
        });
    }
}

/// With a correct checksum: a secret's id is refused, and another function's id makes another valid file.
#[test]
fn fields_that_do_not_go_together_are_refused() {
    for kind in kinds() {
        let file = filled(kind, OWN, 0..60).to_bytes();
        let error = refusal(&with_header(&file, 32, &[1]), OWN);
        assert!(is(&error, "key_id"), "{kind}: {error:?}");
        AnyFilter::from_bytes_with(&with_header(&file, 24, &[0xee]), OTHER).unwrap();
    }
}
