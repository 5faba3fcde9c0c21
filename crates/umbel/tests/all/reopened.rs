//! A filter written and opened again, in every way there is.

use proptest::prelude::*;
use umbel::internals::Core;
use umbel::{
    AnyFilter, Block, Blocks, FileError, Filter, Key, KeyHash, KeyHasher, Portable, Secret, Unlock,
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
pub(crate) fn payload<C: Core>(filter: &Filter<C>) -> Vec<u8> {
    let file = filter.to_bytes();
    file[header_length(&file)..][..filter.bytes() as usize].to_vec()
}

/// The filter from its file. What is opened is equal to it, and answers for `hashes` as it does.
pub(crate) fn reopened<C>(filter: &Filter<C>, way: Way, hashes: &[KeyHash]) -> Filter<C>
where
    C: Core<Storage = Blocks>,
    Filter<C>: Clone + Into<AnyFilter> + TryFrom<AnyFilter, Error = FileError>,
{
    let (file, secret) = (filter.to_bytes(), secret(filter.hasher()));
    let read = Filter::<C>::read_with(&file[..], file.len() as u64, secret).unwrap();
    assert!(read == *filter && filter.borrowed() == read);
    any_reopened(&filter.clone().into(), way, secret, hashes).try_into().unwrap()
}

/// As [`reopened`], of any kind and for any hashes.
pub(crate) fn any_reopened<U: Unlock + Copy>(
    filter: &AnyFilter<Blocks, U::Hasher>,
    way: Way,
    unlock: U,
    hashes: &[KeyHash],
) -> AnyFilter<Blocks, U::Hasher>
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
    opened: &AnyFilter<impl AsRef<[Block]>, H>,
    expected: &AnyFilter<Blocks, H>,
    hashes: &[KeyHash],
) -> AnyFilter<Blocks, H>
where
    KeyHash: Key<H>,
{
    assert!(opened == expected && opened.to_bytes() == expected.to_bytes());
    assert!(opened.blocks() == expected.blocks());
    assert_eq!(opened.receipt(), expected.receipt());
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
