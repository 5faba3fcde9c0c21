//! A filter written and opened again, by every reader.

use std::ops::Range;

use proptest::prelude::*;
use umbel::{
    AnyFilter, Block, Blocks, Filter, Key, KeyHash, KeyHasher, Kind, Portable, Secret, Unlock,
};

use crate::damage::header_length;
use crate::mapped::map;

pub(crate) static SECRET: Secret = Secret::new(*b"sixteen old keys");

pub(crate) fn hasher() -> impl Strategy<Value = KeyHasher> {
    prop_oneof![
        3 => any::<u64>().prop_map(KeyHasher::with_seed),
        1 => Just(KeyHasher::keyed(SECRET.clone())),
    ]
}

/// The hashes of keys, by the default hasher.
pub(crate) fn hashes(keys: Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHasher::default().hash(key)).collect()
}

pub(crate) fn secret(hasher: &KeyHasher) -> Option<&'static Secret> {
    (hasher.scheme().key_id != 0).then_some(&SECRET)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Read,
    View,
    Map,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::View, Self::Map];
}

pub(crate) fn way() -> impl Strategy<Value = Way> {
    prop_oneof![2 => Just(Way::Read), 1 => Just(Way::View), 1 => Just(Way::Map)]
}

/// Bytes that start at a multiple of 64, as mapped files do.
pub(crate) struct Aligned {
    blocks: Blocks,
    length: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut blocks = Blocks::zeroed(bytes.len().div_ceil(64) as u64).unwrap();
        blocks.as_bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Self { blocks, length: bytes.len() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.blocks.as_bytes()[..self.length]
    }
}

/// The bytes of a filter's bits, as in its file.
pub(crate) fn payload(filter: &impl Filter) -> Vec<u8> {
    let file = filter.to_bytes();
    file[header_length(&file)..][..filter.bytes() as usize].to_vec()
}

/// A kind's type, as an [`AnyFilter`] and back.
pub(crate) trait OfKind: Filter + Clone + PartialEq {
    const KIND: Kind;
    fn any(self) -> AnyFilter;
    fn out_of(any: AnyFilter) -> Self;
}

macro_rules! of_kinds {
    ($($name:ident),*) => {$(
        impl OfKind for umbel::$name {
            const KIND: Kind = Kind::$name;

            fn any(self) -> AnyFilter {
                AnyFilter::$name(self)
            }

            fn out_of(any: AnyFilter) -> Self {
                match any {
                    AnyFilter::$name(filter) => filter,
                    other => panic!("of kind {}", other.kind()),
                }
            }
        }
    )*};
}

of_kinds! {
    Attributes, Blocked, Bloomier, Cascade, Classic, Coded, Counting, Scalable, Sliced, Stable, Window
}

/// Reopens the filter from its file; asserts that it is equal and gives the same answers for `hashes`.
pub(crate) fn reopened<F: OfKind>(filter: &F, way: Way, hashes: &[KeyHash]) -> F {
    let secret = secret(filter.hasher());
    let opened = F::out_of(any_reopened(&filter.clone().any(), way, secret, hashes));
    assert!(*filter == opened);
    opened
}

/// As [`reopened`], for any kind and any hashes.
pub(crate) fn any_reopened<U: Unlock + Copy>(
    filter: &AnyFilter<U::Hasher>,
    way: Way,
    unlock: U,
    hashes: &[KeyHash],
) -> AnyFilter<U::Hasher>
where
    KeyHash: Key<U::Hasher>,
{
    let file = filter.to_bytes();
    match way {
        Way::Read => {
            let copied_too = AnyFilter::from_bytes_with(&file, unlock).unwrap();
            assert!(copied_too == *filter);
            let read = AnyFilter::read_with(&file[..], file.len() as u64, unlock).unwrap();
            copied(&read, filter, hashes)
        }
        Way::View => {
            let room = Aligned::new(&file);
            copied(&AnyFilter::view_with(room.bytes(), unlock).unwrap(), filter, hashes)
        }
        Way::Map => {
            let disk = tempfile::tempfile().unwrap();
            filter.write(&disk).unwrap();
            copied(&AnyFilter::map_with(&map(&disk), unlock).unwrap(), filter, hashes)
        }
    }
}

fn copied<H: Portable>(
    opened: &AnyFilter<H, impl AsRef<[Block]> + std::fmt::Debug>,
    expected: &AnyFilter<H>,
    hashes: &[KeyHash],
) -> AnyFilter<H>
where
    KeyHash: Key<H>,
{
    assert!(opened == expected && opened.to_bytes() == expected.to_bytes());
    assert!(opened.blocks() == expected.blocks());
    let receipt = opened.receipt();
    assert_eq!(receipt, expected.receipt());
    assert!((0.0..=1.0).contains(&receipt.fpp) && (0.0..=1.0).contains(&receipt.fill));
    assert_eq!(opened.bytes(), expected.bytes());
    assert_eq!(opened.description(), expected.description());
    assert_eq!(format!("{opened:?}"), format!("{expected:?}"));
    let [mut found, mut right] = [(); 2].map(|()| vec![false; hashes.len()]);
    opened.contains_all(hashes, &mut found);
    expected.contains_all(hashes, &mut right);
    assert_eq!(found, right);
    assert!(hashes.iter().zip(found).all(|(hash, found)| opened.contains(*hash) == found));
    let copy = opened.try_clone().unwrap();
    assert!(copy == *expected && copy.description() == expected.description());
    copy
}
