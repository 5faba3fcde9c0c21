//! Cuckoo filters: additions, deletions and compaction, compared with RedisBloom and with a multiset.

use std::collections::HashMap;

use proptest::prelude::*;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use umbel_foreign::redisbloom_cuckoo::{Head, RedisBloomCuckoo};
use umbel_foreign::{Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Parameters};

use super::manifest::{folder, hex, json};

const FORMAT: Format = Format::RedisBloomCuckoo;

/// A filter of `operations.json`, and the operations on it.
#[derive(Deserialize)]
struct Script {
    parameters: Given,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Given {
    capacity: u64,
    bucket_size: Option<u32>,
    max_iterations: Option<u32>,
    expansion: Option<u32>,
}

/// A new filter; `None` selects the default.
fn new(capacity: u64, others: [Option<u32>; 3]) -> RedisBloomCuckoo {
    let [bucket_size, max_iterations, growth] = others;
    let (keys, rest) = (Some(capacity), Parameters::default());
    let given = Parameters { keys, bucket_size, max_iterations, growth, ..rest };
    RedisBloomCuckoo::new(FORMAT, &given).unwrap()
}

/// An operation on the keys `key-FIRST` and following, and the software's reply.
#[derive(Deserialize)]
struct Step {
    kind: String,
    first: u64,
    count: u64,
    yes: u64,
    refused: u64,
    items: u64,
    deletes: u64,
    filters: u64,
    /// The checksum of its dump.
    sha256: String,
}

#[test]
fn additions_deletions_and_compaction_are_those_of_the_software() {
    let path = folder().join("redisbloom-cuckoo/operations.json");
    if !path.exists() {
        return;
    }
    let scripts: Vec<Script> = json(&path);
    for (i, Script { parameters, steps }) in scripts.iter().enumerate() {
        let Given { capacity, bucket_size, max_iterations, expansion } = *parameters;
        let mut filter = new(capacity, [bucket_size, max_iterations, expansion]);
        for (j, step) in steps.iter().enumerate() {
            let (mut yes, mut refused) = (0, 0);
            if step.kind == "compact" {
                filter.compact();
            }
            for key in (step.first..step.first + step.count).map(|i| format!("key-{i}")) {
                let answer = match &step.kind[..] {
                    "add" => filter.add(key.as_bytes()).map(|()| true),
                    "addnx" => filter.add_new(key.as_bytes()),
                    "delete" => Ok(filter.delete(key.as_bytes())),
                    other => panic!("nothing is called {other}"),
                };
                match answer {
                    Ok(answer) => yes += u64::from(answer),
                    Err(Error::Full { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            let Head { items, deletes, filters, .. } = *filter.head();
            let expected = (step.yes, step.refused, step.items, step.deletes, step.filters);
            assert_eq!((yes, refused, items, deletes, filters), expected, "{i}: {j} {}", step.kind);
            // The software dumps nothing for a filter without keys.
            let dump = if items > 0 { filter.encode().unwrap() } else { Vec::new() };
            assert_eq!(hex(&Sha256::digest(&dump)), step.sha256, "{i}: {j} {}", step.kind);
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Add(u8),
    AddNew(u8),
    Delete(u8),
    Compact,
    /// Writes and reads it: as a file, in chunks or by fields.
    Reload(u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => any::<u8>().prop_map(Operation::Add),
        2 => any::<u8>().prop_map(Operation::AddNew),
        4 => any::<u8>().prop_map(Operation::Delete),
        1 => Just(Operation::Compact),
        1 => any::<u8>().prop_map(Operation::Reload),
    ]
}

/// The same filter, rebuilt in one of these ways.
fn reloaded(filter: &RedisBloomCuckoo, way: u8) -> RedisBloomCuckoo {
    match way % 3 {
        0 => {
            let file = filter.encode().unwrap();
            let read = RedisBloomCuckoo::decode(FORMAT, &file[..], &Parameters::default());
            read.unwrap().to_owned().unwrap()
        }
        1 => {
            let chunks: Vec<_> = filter.chunks().collect();
            let chunks = chunks.iter().map(|(iterator, chunk)| (*iterator, &chunk[..]));
            RedisBloomCuckoo::from_chunks(chunks).unwrap()
        }
        _ => {
            let arrays = filter.arrays().map(|array| Bytes::copy_of(array, 0).unwrap());
            RedisBloomCuckoo::from_filters(*filter.head(), arrays.collect()).unwrap()
        }
    }
}

/// Whether it is the error of a filter that may not grow.
fn is_full(error: &Error, growth: u32) -> bool {
    growth == 0 && matches!(error, Error::Full { .. })
}

/// A filter of sub-filters of one size, whose slots look random; this share of 256 of them is in use.
fn many(filters: u64, buckets: u64, bucket_size: u16, used: u64) -> RedisBloomCuckoo {
    let mut state = filters * 7 + used;
    let mut slot = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        if state >> 32 & 0xff < used { (state >> 56).max(1) as u8 } else { 0 }
    };
    let slots = buckets * u64::from(bucket_size);
    let mut array = || Bytes::copy_of(&(0..slots).map(|_| slot()).collect::<Vec<_>>(), 0).unwrap();
    let arrays = (0..filters).map(|_| array()).collect();
    let head = Head {
        items: 1000,
        buckets,
        deletes: 5,
        filters,
        bucket_size,
        max_iterations: 20,
        growth: 1,
        seed: None,
    };
    RedisBloomCuckoo::from_filters(head, arrays).unwrap()
}

/// The software's compaction: each fingerprint goes to the first older sub-filter with room, found slot by slot.
fn compacted(filter: &RedisBloomCuckoo) -> Vec<Vec<u8>> {
    let mut arrays: Vec<_> = filter.arrays().map(<[u8]>::to_vec).collect();
    let (size, buckets) = (usize::from(filter.head().bucket_size), filter.head().buckets);
    for i in (1..arrays.len()).rev() {
        for slot in 0..arrays[i].len() {
            let fingerprint = arrays[i][slot];
            if fingerprint == 0 {
                continue;
            }
            let bucket = (slot / size) as u64;
            let other = (bucket ^ (u64::from(fingerprint) * 0x5bd1_e995)) % buckets;
            let room = (0..i).find_map(|older| {
                let both = [bucket, other].map(|bucket| bucket as usize * size);
                let mut slots = both.into_iter().flat_map(|start| start..start + size);
                slots.find(|slot| arrays[older][*slot] == 0).map(|slot| (older, slot))
            });
            if let Some((older, free)) = room {
                arrays[older][free] = fingerprint;
                arrays[i][slot] = 0;
            }
        }
        if i == arrays.len() - 1 && arrays[i].iter().all(|slot| *slot == 0) {
            arrays.pop();
        }
    }
    arrays
}

#[test]
fn many_sub_filters_are_compacted_as_few() {
    for (filters, buckets, bucket_size) in [(63, 4, 2), (70, 1, 1), (300, 8, 2), (500, 2, 3)] {
        for used in [10, 128, 200, 250, 256] {
            let mut filter = many(filters, buckets, bucket_size, used);
            let expected = compacted(&filter);
            filter.compact();
            let same = filter.arrays().eq(expected.iter().map(|array| &array[..]));
            assert!(same, "{filters} {used}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Keys added more often than deleted are present, and counted at least that often.
    #[test]
    fn no_key_is_lost(
        capacity in 20..80u64,
        bucket_size in 1..5u32,
        max_iterations in 1..30u32,
        growth in 0..5u32,
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let mut filter = new(capacity, [bucket_size, max_iterations, growth].map(Some));
        let mut held: HashMap<u8, u64> = HashMap::new();
        let mut items = 0;
        for operation in operations {
            match operation {
                Operation::Add(key) => match filter.add(&[key]) {
                    Ok(()) => {
                        *held.entry(key).or_default() += 1;
                        items += 1;
                    }
                    Err(error) => prop_assert!(is_full(&error, growth), "{error}"),
                },
                Operation::AddNew(key) => match filter.add_new(&[key]) {
                    Ok(true) => {
                        prop_assert_eq!(held.insert(key, 1).unwrap_or(0), 0, "it was there");
                        items += 1;
                    }
                    Ok(false) => prop_assert!(filter.count(&[key]) > 0),
                    Err(error) => prop_assert!(is_full(&error, growth), "{error}"),
                },
                // Deletes only present keys: deleting another key would remove a key's fingerprint.
                Operation::Delete(key) => {
                    let count = held.entry(key).or_default();
                    if *count > 0 {
                        prop_assert!(filter.delete(&[key]));
                        *count -= 1;
                        items -= 1;
                    }
                }
                Operation::Compact => filter.compact(),
                Operation::Reload(way) => filter = reloaded(&filter, way),
            }
            prop_assert_eq!(filter.head().items, items);
        }
        let receipt = filter.receipt();
        prop_assert_eq!(receipt.keys.value, items as f64, "slots in use");
        for (key, count) in held {
            prop_assert!(filter.count(&[key]) >= count);
            prop_assert_eq!(filter.contains(Key::Bytes(&[key])).unwrap(), filter.count(&[key]) > 0);
        }
    }

    #[test]
    fn any_fields_are_refused_or_are_a_filter_that_is_written_and_read(
        words in any::<[u8; 7]>(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<bool>(),
    ) {
        let head = Head {
            items: words[0].into(),
            buckets: 1 << (words[1] % 6),
            deletes: words[2].into(),
            filters: u64::from(words[3] % 4),
            bucket_size: u16::from(words[4]) % 6,
            max_iterations: u16::from(words[5]) % 40,
            growth: [0, 1, 2, 4, 3][usize::from(words[6]) % 5],
            seed: noise.len().is_multiple_of(2).then_some(noise.len() as u64),
        };
        let mut slots = noise.iter().copied().cycle().chain(std::iter::repeat(0));
        let arrays = (0..head.filters).map(|i| {
            let buckets = head.buckets << (i * u64::from(head.growth.checked_ilog2().unwrap_or(0)));
            let length = usize::from(head.bucket_size) * buckets as usize;
            let length = if cut { length.saturating_sub(1) } else { length };
            Bytes::copy_of(&slots.by_ref().take(length).collect::<Vec<_>>(), 0).unwrap()
        });
        let Ok(mut filter) = RedisBloomCuckoo::from_filters(head, arrays.collect()) else {
            return Ok(());
        };
        prop_assert!(!cut);
        for way in 0..3 {
            prop_assert_eq!(reloaded(&filter, way).encode().unwrap(), filter.encode().unwrap());
        }
        if filter.insert(Key::from("key")).is_ok() {
            prop_assert!(filter.delete(b"key"));
        }
        filter.compact();
        prop_assert!((0.0..=1.0).contains(&filter.receipt().fpp));
    }
}

#[test]
fn what_is_full_stays_as_it_was() {
    let mut filter = new(64, [None, None, Some(0)]);
    let mut key = 0u32;
    let refused = loop {
        let before = filter.encode().unwrap();
        match filter.add(&key.to_le_bytes()) {
            Ok(()) => key += 1,
            Err(error) => break (error, before),
        }
    };
    assert!(matches!(refused.0, Error::Full { format: FORMAT, .. }));
    assert_eq!(filter.encode().unwrap(), refused.1, "moves are taken back");
    assert!((0..key).all(|key| filter.count(&key.to_le_bytes()) > 0));
}

/// A header of RedisBloom's development version, which has a seed; by default it is written without.
#[test]
fn seeds_are_read_and_kept() {
    let keys: Vec<String> = (0..200).map(|i| format!("key-{i}")).collect();
    let made = |seed| {
        let mut filter = new(64, [None, None, Some(2)]).with_seed(seed);
        keys.iter().for_each(|key| filter.add(key.as_bytes()).unwrap());
        filter
    };
    let (usual, seeded) = (made(0), made(1 << 32));
    assert_eq!((usual.header().len(), seeded.header().len()), (38, 46));
    assert!(seeded.header()[31] == 0x80 && seeded.header()[38..] == [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_ne!(seeded.encode().unwrap()[46..], usual.encode().unwrap()[38..]);
    for way in 0..3 {
        let mut read = reloaded(&seeded, way);
        assert_eq!(read.head().seed, Some(1 << 32));
        assert_eq!(read.encode().unwrap(), seeded.encode().unwrap());
        assert_eq!(read.bytes(), read.encode().unwrap().len() as u64);
        assert!(keys.iter().all(|key| read.delete(key.as_bytes())));
        assert_eq!(read.head().items, 0);
    }
    // A file with the default seed keeps it; a new filter is written without.
    let mut file = usual.encode().unwrap();
    file[31] |= 0x80;
    file.splice(38..38, [0; 8]);
    let read = RedisBloomCuckoo::decode(FORMAT, &file[..], &Parameters::default()).unwrap();
    assert_eq!(read.encode().unwrap(), file);
    assert_eq!(read.to_owned().unwrap().encode().unwrap(), usual.encode().unwrap());
    for length in 38..46 {
        assert!(RedisBloomCuckoo::from_header(&file[..length], u64::MAX).is_err(), "{length}");
    }
}

#[test]
fn chunks_out_of_place_are_refused() {
    let filter = new(64, [None; 3]);
    let mut loaded = RedisBloomCuckoo::from_header(&filter.header(), 1000).unwrap();
    let error = RedisBloomCuckoo::from_header(&filter.header(), 101).unwrap_err();
    assert!(matches!(error, Error::GrowthLimit { bytes: 102, .. }));
    let slots = [7; 65];
    assert!(matches!(loaded.load(0, &[]), Err(Error::Field { .. })));
    assert!(matches!(loaded.load(64, &slots[..64]), Err(Error::Field { .. })));
    assert!(matches!(loaded.load(67, &slots[..1]), Err(Error::Field { .. })));
    assert!(matches!(loaded.load(66, &slots), Err(Error::Length { expected: 64, found: 65, .. })));
    assert!(loaded.load(65, &slots[..64]).is_ok());
    assert_eq!(loaded.receipt().keys.value, 64.0);
}

/// A header may have any count; a server that loads it must still answer.
#[test]
fn a_count_that_nothing_can_be_added_to_stays() {
    let mut header = RedisBloomCuckoo::new(FORMAT, &Parameters::default()).unwrap().header();
    header[..8].fill(255);
    let mut filter = RedisBloomCuckoo::from_header(&header, u64::MAX).unwrap();
    filter.add(b"key").unwrap();
    assert_eq!((filter.head().items, filter.count(b"key")), (u64::MAX, 1));
}
