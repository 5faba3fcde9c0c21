//! Filters of hashes computed by the caller: their files, who opens them, and what they merge with.

use umbel::{
    Algorithm, AnyFilter, AnyScheme, Blocks, FieldError, FileError, Hashing, KeyHash, KeyHasher,
    Kind, MergeError, Mixed64, Plan, Prehashed, Scheme, SchemeError, Secret,
};

use crate::damage::{header_length, refusal, refuses_flips, with_header};
use crate::reopened::{Way, any_reopened};
use crate::statistics::splitmix;

/// The function of the tests, and another.
const OWN: Prehashed = Prehashed::new(0x0123_4567_89ab_cdef);
const OTHER: Prehashed = Prehashed::new(0x0123_4567_89ab_cdee);

const KEYS: u64 = 2_000;

/// Kinds of single keys.
const KINDS: [Kind; 10] = [
    Kind::Blocked,
    Kind::Classic,
    Kind::Sliced,
    Kind::Counting,
    Kind::Scalable,
    Kind::Stable,
    Kind::Window,
    Kind::Bloomier,
    Kind::Coded,
    Kind::Cascade,
];

fn hashes(keys: std::ops::Range<u64>) -> Vec<u64> {
    keys.map(splitmix).collect()
}

fn plan(kind: Kind) -> Plan {
    Plan::for_keys(kind, KEYS, 0.01).unwrap()
}

fn filled(
    kind: Kind,
    hasher: Prehashed,
    keys: std::ops::Range<u64>,
) -> AnyFilter<Blocks, Prehashed> {
    AnyFilter::build(&plan(kind), Mixed64::from_slice(&hashes(keys)), hasher).unwrap()
}

fn number<const N: usize>(file: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(&file[at..at + N]);
    u64::from_le_bytes(bytes)
}

/// Algorithm 3, the id where seeds are; opened by the id alone, in every way there is.
#[test]
fn a_file_says_whose_hashes_it_holds() {
    for kind in KINDS {
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
    for kind in KINDS {
        let file = filled(kind, OWN, 0..KEYS).to_bytes();
        let id = 0x0123_4567_89ab_cdef;
        for secret in [None, Some(&secret)] {
            let error = refusal(&file, secret);
            let expected = SchemeError::Prehashed { id };
            assert!(matches!(&error, FileError::Scheme(found) if *found == expected), "{error}");
            assert!(error.to_string().contains("0123456789abcdef"), "{error}");
        }
        let error = refusal(&file, OTHER);
        let expected = SchemeError::Other { expected: OTHER.scheme(), found: OWN.scheme() };
        assert!(matches!(&error, FileError::Scheme(found) if *found == expected), "{error}");
        let words = error.to_string();
        assert!(words.contains("0123456789abcdef") && words.contains("0123456789abcdee"));
        assert_eq!(
            KeyHasher::for_scheme(OWN.scheme(), None).unwrap_err(),
            SchemeError::Prehashed { id },
            "no hasher stands for hashes of the caller"
        );
    }
}

/// Neither seeded nor keyed filters are taken for those of a caller, even when the seed is the id.
#[test]
fn it_opens_no_other_files() {
    let seeded = KeyHasher::with_seed(0x0123_4567_89ab_cdef);
    for hasher in [seeded, KeyHasher::default(), KeyHasher::keyed(Secret::new([7; 16]))] {
        let hashes: Vec<_> = (0..KEYS).map(|key| hasher.hash(key)).collect();
        for kind in KINDS {
            let file = AnyFilter::build(&plan(kind), &hashes, hasher.clone()).unwrap().to_bytes();
            let error = refusal(&file, OWN);
            let expected = SchemeError::Other { expected: OWN.scheme(), found: hasher.scheme() };
            assert!(matches!(&error, FileError::Scheme(found) if *found == expected), "{error}");
        }
    }
}

/// Filters of hashes merge with those of the same function, and with no others.
#[test]
fn it_merges_with_its_own() {
    fn differ(result: Result<(), MergeError>, left: impl Hashing, right: impl Hashing) {
        let expected = MergeError::SchemesDiffer { left: left.scheme(), right: right.scheme() };
        assert_eq!(result, Err(expected));
    }
    let seeded = KeyHasher::with_seed(0x0123_4567_89ab_cdef);
    for kind in [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting] {
        let mut filter = filled(kind, OWN, 0..900);
        let before = filter.to_bytes();
        let of_other = filled(kind, OTHER, 900..1_000);
        let mut plain = AnyFilter::with_plan(&plan(kind), seeded.clone()).unwrap();
        plain.try_insert("key").unwrap();
        differ(filter.union(&of_other), OWN, OTHER);
        differ(filter.intersect(&of_other), OWN, OTHER);
        differ(filter.union(&plain), OWN, seeded.clone());
        differ(filter.intersect(&plain), OWN, seeded.clone());
        differ(plain.union(&filter), seeded.clone(), OWN);
        differ(plain.intersect(&filter), seeded.clone(), OWN);
        differ(filter.compare(&plain).map(drop), OWN, seeded.clone());
        differ(plain.compare(&filter).map(drop), seeded.clone(), OWN);
        assert_eq!(filter.to_bytes(), before, "an error changes nothing");

        filter.union(&filled(kind, OWN, 900..1_000)).unwrap();
        assert!(filter == filled(kind, OWN, 0..1_000), "{kind}");
        filter.intersect(&filled(kind, OWN, 0..1_000)).unwrap();
        assert!(filter == filled(kind, OWN, 0..1_000), "{kind}");
        let overlap = filter.compare(&filter).unwrap().overlap.unwrap();
        assert_eq!(overlap.jaccard.value, 1.0);
    }
}

/// What was opened without the function: its receipt, copies and merges are the same.
#[test]
fn sealed_ones_have_receipts_and_merge() {
    for kind in KINDS {
        let left = filled(kind, OWN, 0..900);
        let right = filled(kind, OWN, 900..KEYS);
        let sealed = |filter: &AnyFilter<_, Prehashed>| -> AnyFilter<Blocks, Scheme> {
            AnyFilter::from_bytes_with(&filter.to_bytes(), AnyScheme).unwrap()
        };
        let mut union = sealed(&left);
        assert_eq!(union.hasher().scheme(), OWN.scheme());
        assert_eq!(union.receipt(), left.receipt());
        assert!(union == left && union.to_bytes() == left.to_bytes(), "{kind}");
        let merges = [Kind::Blocked, Kind::Classic, Kind::Sliced, Kind::Counting].contains(&kind);
        assert_eq!(union.union(&sealed(&right)).is_ok(), merges, "{kind}");
        if merges {
            assert!(union == filled(kind, OWN, 0..KEYS), "{kind}");
            let back = AnyFilter::from_bytes_with(&union.to_bytes(), OWN).unwrap();
            assert!(hashes(0..KEYS).into_iter().all(|hash| back.contains(Mixed64(hash))));
            // Also one sealed and one not.
            union.intersect(&left).unwrap();
            let mut both = filled(kind, OWN, 0..KEYS);
            both.intersect(&left).unwrap();
            assert_eq!(union.receipt(), both.receipt());
            let other = sealed(&filled(kind, OTHER, 0..10));
            assert!(matches!(union.union(&other), Err(MergeError::SchemesDiffer { .. })));
        }
    }
}

#[test]
fn every_flipped_bit_of_a_header_is_refused() {
    for kind in KINDS {
        let file = filled(kind, OWN, 0..60).to_bytes();
        refuses_flips(&file, 0..8 * header_length(&file), |file| {
            vec![refusal(file, OWN), refusal(file, None)]
        });
    }
}

/// With a checksum that is right: the fields go together.
#[test]
fn fields_that_do_not_go_together_are_refused() {
    for kind in KINDS {
        let file = filled(kind, OWN, 0..60).to_bytes();
        let refusal =
            |offset: usize, bytes: &[u8]| refusal(&with_header(&file, offset, bytes), OWN);
        let field = |error: FileError, name: &str| {
            let right =
                matches!(error, FileError::Field(FieldError { field, .. }) if field == name);
            assert!(right, "{kind} {name}: {error:?}");
        };
        field(refusal(32, &[1]), "key_id");
        field(refusal(18, &[1]), "zeros");
        field(refusal(19, &[1]), "zeros");
        assert!(matches!(refusal(16, &[4]), FileError::UnknownAlgorithm(4)));
        assert!(matches!(refusal(8, &[2]), FileError::Version { found: 2 }));
        // Another id is another file, for another function.
        let other = with_header(&file, 24, &[0xee]);
        AnyFilter::from_bytes_with(&other, OTHER).unwrap();
    }
}

/// 64-bit hashes in a row, one by one, and as the 128-bit ones made of them: the same bits, and the same answers.
#[test]
fn hashes_of_either_width_set_the_same_bits() {
    for kind in KINDS.into_iter().filter(|kind| !kind.built_at_once()) {
        for count in [0, 1, 31, 511, 512, 513, KEYS as usize] {
            let narrow = &hashes(0..KEYS)[..count];
            let wide: Vec<_> = narrow.iter().copied().map(KeyHash::from_u64).collect();
            let empty = AnyFilter::with_plan(&plan(kind), OWN).unwrap();
            let [mut first, mut second, mut third, mut fourth] = [(); 4].map(|()| empty.clone());
            first.try_insert_all(Mixed64::from_slice(narrow)).unwrap();
            second.try_insert_all(&wide).unwrap();
            for &hash in narrow {
                third.try_insert(Mixed64(hash)).unwrap();
            }
            let mut new = vec![true; count];
            fourth.try_insert_all_new(Mixed64::from_slice(narrow), &mut new).unwrap();
            assert!(first == second && first == third && first == fourth, "{kind} {count}");
            let forgets = kind == Kind::Stable;
            assert!(forgets || narrow.iter().all(|&hash| first.contains(Mixed64(hash))));

            let asked = hashes(KEYS / 2..5 * KEYS);
            let wide: Vec<_> = asked.iter().copied().map(KeyHash::from_u64).collect();
            let [mut narrow_found, mut wide_found] = [(); 2].map(|()| vec![true; asked.len()]);
            first.contains_all(Mixed64::from_slice(&asked), &mut narrow_found);
            first.contains_all(&wide, &mut wide_found);
            assert_eq!(narrow_found, wide_found, "{kind} {count}");
            for (found, &hash) in narrow_found.iter().zip(&asked) {
                assert_eq!(*found, first.contains(Mixed64(hash)));
                assert_eq!(*found, first.contains(KeyHash::from_u64(hash)));
            }
        }
    }
}
