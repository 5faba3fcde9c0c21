//! From keys to hashes: reference values, secrets, and what is one key.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;

use umbel::{ByHash, Hash64, Key, KeyHash, KeyHasher, Prehashed, SchemeError, Secret};

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
    assert!(matches!(KeyHasher::for_scheme(scheme, None), Err(SchemeError::SecretNeeded { .. })));
    assert!(matches!(
        KeyHasher::for_scheme(scheme, Some(&wrong)),
        Err(SchemeError::WrongSecret { .. })
    ));
    assert_eq!(
        KeyHasher::for_scheme(scheme, Some(&right)).unwrap().hash("k"),
        KeyHasher::keyed(right.clone()).hash("k")
    );
    let plain = KeyHasher::default().scheme();
    assert!(matches!(KeyHasher::for_scheme(plain, Some(&right)), Err(SchemeError::NotKeyed(_))));
    assert!(!format!("{right:?}").contains("01, 01"), "a secret is never printed");
}

#[test]
fn a_key_is_its_bytes_or_its_number() {
    let hasher = KeyHasher::with_seed(7);
    let of = |bytes: &[u8]| hasher.hash(bytes);
    assert_eq!(hasher.hash("text"), of(b"text"));
    assert_eq!(hasher.hash(String::from("text")), of(b"text"));
    assert_eq!(hasher.hash(b"text".to_vec()), of(b"text"));
    assert_eq!(Key::key_hash(&&b"text", &hasher), of(b"text"));
    let number = of(&7u64.to_le_bytes());
    assert!(
        [hasher.hash(7u8), hasher.hash(7i16), hasher.hash(7usize), Key::key_hash(&&7, &hasher)]
            .iter()
            .all(|hash| *hash == number)
    );
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
    assert_eq!(Hash64(5).key_hash(&Prehashed::new(1)), KeyHash::from_u64(5));
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
    assert_eq!(Box::new(Hash64(5)).key_hash(&Prehashed::new(1)), KeyHash::from_u64(5));
}

#[test]
fn any_hash_is_a_key_however_long() {
    let hasher = KeyHasher::default();
    assert_eq!(hasher.hash(ByHash(7u64)), hasher.hash(7u64));
    assert_eq!(hasher.hash(ByHash(7usize)), hasher.hash(7u64));
    assert_eq!(hasher.hash(ByHash(-7i128)), hasher.hash(-7i128));
    assert_eq!(hasher.hash(ByHash((1u16, 2i32))), hasher.hash([1u8, 0, 2, 0, 0, 0]));
    let mut seen = std::collections::HashSet::new();
    for length in 0..600 {
        let mut text = vec![b'x'; length];
        assert!(seen.insert(hasher.hash(ByHash(&text))), "{length}");
        for at in [0, 127, 128, 300, 599] {
            if let Some(byte) = text.get_mut(at) {
                *byte = b'y';
                assert!(seen.insert(hasher.hash(ByHash(&text))), "{length} {at}");
                text[at] = b'x';
            }
        }
        assert_eq!(hasher.hash(ByHash(&text)), hasher.hash(ByHash(text.clone())));
    }
}
