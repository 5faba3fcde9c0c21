//! From keys to hashes: reference values, secrets, and equal keys.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;

use umbel::{
    Blocked, ByHash, Filter, Hash64, Key, KeyHash, KeyHasher, Kind, Mixed64, Plan, Prehashed,
    Secret,
};

use crate::damage::assert_fails;
use crate::filter::answers;
use crate::statistics::assert_binomial;

#[test]
fn xxh3_matches_the_reference_values() {
    // Computed with the reference implementation (PyPI xxhash 4.1.0, xxh3_128_intdigest).
    let cases: [(&[u8], u64, u128); 4] = [
        (b"", 0, 0x99aa06d3014798d86001c324468d497f),
        (b"umbel", 0, 0x3c58b3a8b0c66bbdebdbba14e7866f96),
        (b"umbel", 7, 0xedd77f35817433a3e93735c51fda6e42),
        (&[b'x'; 300], 7, 0x929877c9ac8814d665afa05e0f083a41),
    ];
    for (key, seed, expected) in cases {
        assert_eq!(KeyHasher::with_seed(seed).hash(key), KeyHash::from_u128(expected));
        assert_eq!(KeyHash::from_u128(expected).to_u128(), expected);
    }
}

#[test]
fn random_secrets_differ() {
    let secrets: std::collections::HashSet<_> =
        (0..1000).map(|_| Secret::random().unwrap().to_bytes()).collect();
    assert_eq!(secrets.len(), 1000);
    assert!(secrets.iter().all(|secret| secret[..8] != secret[8..]));
    let scheme = || KeyHasher::random().unwrap().scheme();
    assert_ne!(scheme(), scheme());
    let secret = Secret::random().unwrap();
    assert_eq!(Secret::new(secret.to_bytes()), secret);
}

#[test]
fn a_keyed_hasher_needs_its_own_secret() {
    let (right, wrong) = (Secret::new([1; 16]), Secret::new([2; 16]));
    let scheme = KeyHasher::keyed(right.clone()).scheme();
    let plain = KeyHasher::default().scheme();
    assert_fails("SecretNeeded(", KeyHasher::for_scheme(scheme, None));
    assert_fails("WrongSecret(", KeyHasher::for_scheme(scheme, Some(&wrong)));
    assert_fails("NotKeyed(", KeyHasher::for_scheme(plain, Some(&right)));
    let again = KeyHasher::for_scheme(scheme, Some(&right)).unwrap();
    assert_eq!(again.hash("k"), KeyHasher::keyed(right.clone()).hash("k"));
    assert!(!format!("{right:?}").contains("01, 01"), "a secret is never printed");
}

#[test]
fn a_key_is_its_bytes_or_its_number() {
    let hasher = KeyHasher::with_seed(7);
    let of = |bytes: &[u8]| hasher.hash(bytes);
    assert_eq!([hasher.hash("text"), hasher.hash(String::from("text"))], [of(b"text"); 2]);
    assert_eq!([hasher.hash(b"text"), hasher.hash(b"text".to_vec())], [of(b"text"); 2]);
    assert_eq!(Key::key_hash(&&b"text", &hasher), of(b"text"));
    let (number, negative) = (of(&7u64.to_le_bytes()), of(&(-7i64).to_le_bytes()));
    let numbers = [
        [hasher.hash(7), hasher.hash(7u8), hasher.hash(7i16), hasher.hash(7u64)],
        [hasher.hash(7usize), hasher.hash(7isize), hasher.hash(7u32), Key::key_hash(&&7, &hasher)],
    ];
    assert_eq!(numbers, [[number; 4]; 2]);
    assert_eq!([hasher.hash(7i128), hasher.hash(7u128)], [of(&7u128.to_le_bytes()); 2]);
    assert_eq!([hasher.hash(-7), hasher.hash(-7i16)], [negative; 2]);
    assert!(hasher.hash("7") != number && hasher.hash(-7i128) != negative);
    assert_eq!(hasher.hash(-1i8), of(&[0xff; 8]));
    assert_eq!(hasher.hash(-1i128), of(&[0xff; 16]));
    assert_eq!(hasher.hash(number), number);
    // These are in FORMAT.md.
    assert_eq!(hasher.hash('a'), of(b"a"));
    assert_eq!(hasher.hash('€'), of("€".as_bytes()));
    assert_eq!([false, true].map(|key| hasher.hash(key)), [0, 1].map(|key| hasher.hash(key)));
    let v4 = Ipv4Addr::new(192, 0, 2, 7);
    assert_eq!(hasher.hash(v4), of(&[192, 0, 2, 7]));
    assert_eq!(hasher.hash(IpAddr::from(v4)), of(&[192, 0, 2, 7]));
    let v6 = v4.to_ipv6_mapped();
    let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7];
    assert_eq!([hasher.hash(v6), hasher.hash(IpAddr::from(v6))], [of(&bytes); 2]);
    assert_ne!(hasher.hash(v4.to_string()), hasher.hash(v4));
    assert_eq!(Mixed64(5).key_hash(&Prehashed::new(1)), KeyHash::from_u64(5));
}

#[test]
fn a_pointer_is_what_it_points_to() {
    let hasher = KeyHasher::with_seed(7);
    let expected = hasher.hash("text");
    assert_eq!(hasher.hash(Box::<str>::from("text")), expected);
    assert_eq!(hasher.hash(Rc::<str>::from("text")), expected);
    assert_eq!(hasher.hash(Arc::<[u8]>::from(&b"text"[..])), expected);
    assert_eq!(hasher.hash(Cow::Borrowed("text")), expected);
    assert_eq!(hasher.hash(Cow::<str>::Owned("text".into())), expected);
    assert_eq!(hasher.hash(Cow::<[u8]>::Borrowed(b"text")), expected);
    assert_eq!(hasher.hash(Box::new(Rc::new(7u8))), hasher.hash(7));
    assert_eq!(Box::new(Mixed64(5)).key_hash(&Prehashed::new(1)), KeyHash::from_u64(5));
}

/// An identity hash, like Python's for integers: without mixing, all keys would go to the first block.
#[test]
fn hashes_of_any_quality_keep_the_rate() {
    let plan = Plan::for_keys(Kind::Blocked, 100_000, 0.01).unwrap();
    let mut filter = Blocked::with_plan(&plan, Prehashed::new(1)).unwrap();
    let keys = |range: std::ops::Range<u64>| range.map(Hash64).collect::<Vec<_>>();
    filter.insert_all(&keys(0..100_000));
    assert!(!answers(&filter, &keys(0..100_000)).contains(&false));
    let found = answers(&filter, &keys(100_000..200_000));
    let hits = found.iter().filter(|&&found| found).count() as u64;
    assert_binomial(hits, 100_000, filter.receipt().fpp, &"fresh keys");
}

/// The worst possible hasher.
#[derive(Clone, Default)]
struct Identity(u64);

impl std::hash::Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = number.into();
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[test]
fn any_hash_is_a_key_by_a_hasher_of_the_callers() {
    #[derive(Hash)]
    enum Own {
        Pair(u8, String),
        Path(std::path::PathBuf),
    }

    let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.001).unwrap();
    let mut filter = Blocked::with_plan(&plan, ByHash::random()).unwrap();
    for number in 0..5_000u32 {
        let was_there = filter.contains((number, "and text"));
        assert_eq!(filter.insert((number, "and text")), !was_there);
        let own = Own::Pair(number as u8, number.to_string());
        filter.insert(&own);
    }
    filter.insert(Own::Path("/tmp/file".into()));
    assert!((0..5_000u32).all(|number| filter.contains((number, "and text"))));
    assert!(
        filter.contains(Own::Pair(7, "7".into())) && filter.contains(Own::Path("/tmp/file".into()))
    );
    let strangers = (5_000..25_000u32).filter(|&number| filter.contains((number, "and text")));
    let (_, most) = umbel::internals::math::binomial_bounds(20_000, filter.receipt().fpp, 1e-9);
    assert!(strangers.count() as u64 <= most);
    assert!(filter.receipt().fpp < 0.0011);
    // It merges with clones only.
    let mut twin = filter.clone();
    twin.insert("of the twin");
    filter.union(&twin).unwrap();
    assert!(filter.contains("of the twin"));
    let other = Blocked::with_plan(&plan, ByHash::random()).unwrap();
    assert_fails("SchemesDiffer(", filter.union(&other));

    let identity = ByHash::new(std::hash::BuildHasherDefault::<Identity>::default());
    let mut filter = Blocked::with_plan(&plan, identity).unwrap();
    let keys: Vec<u32> = (0..10_000).collect();
    filter.insert_all(&keys);
    assert!(keys.iter().all(|key| filter.contains(key)));
    assert!((10_000..20_000u32).filter(|key| filter.contains(key)).count() < 60);
}
