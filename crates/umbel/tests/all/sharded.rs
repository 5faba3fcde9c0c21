//! Blocked filters that are written and read shard by shard.

use umbel::filter::{Shard, ShardReader, ShardWriter};
use umbel::{Blocked, FileError, KeyHash, KeyHasher, Kind, Plan};

#[test]
fn shards_make_the_same_file_and_receipt() {
    let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.001).unwrap();
    let hasher = KeyHasher::default();
    let hashes: Vec<KeyHash> = (0..10_000).map(|key| hasher.hash(key)).collect();
    let mut filter = Blocked::with_plan(&plan, hasher.clone()).unwrap();
    filter.insert_all(&hashes);
    let mut expected = Vec::new();
    filter.write(&mut expected).unwrap();
    for bytes in [64, 1000, 4096, 1 << 20] {
        let mut found = Vec::new();
        let mut shards =
            ShardWriter::new(&mut found, &plan, hasher.clone(), filter.description(), bytes)
                .unwrap();
        for number in 0..shards.count() {
            let own: Vec<KeyHash> =
                hashes.iter().copied().filter(|hash| shards.index().of(*hash) == number).collect();
            shards
                .shard(|shard| {
                    shard.insert_all(&own);
                    Ok::<(), FileError>(())
                })
                .unwrap();
        }
        let receipt = shards.finish().unwrap();
        assert!(found == expected, "{bytes}");
        assert!((receipt.fpp / filter.receipt().fpp - 1.0).abs() < 1e-12);
        assert_eq!(receipt.keys, filter.receipt().keys);
        // Read back, and filled further.
        let length = found.len() as u64;
        let mut reader = ShardReader::new(&found[..], length, None, bytes).unwrap();
        let others: Vec<KeyHash> = (10_000..15_000).map(|key| hasher.hash(key)).collect();
        let mut asked = hashes.clone();
        asked.extend(&others);
        for number in 0..reader.count() {
            let index = reader.index();
            let here = |hash: &&KeyHash| index.of(**hash) == number;
            let own: Vec<KeyHash> = asked.iter().filter(here).copied().collect();
            let mut answers = vec![false; own.len()];
            let mut expected = answers.clone();
            filter.contains_all(&own, &mut expected);
            let ask = |shard: &mut Shard<'_>| {
                shard.contains_all(&own, &mut answers);
                Ok::<(), FileError>(())
            };
            reader.shard(ask).unwrap();
            assert_eq!(answers, expected);
        }
        assert_eq!(reader.finish().unwrap().keys, filter.receipt().keys);
        let mut more = filter.clone();
        more.insert_all(&others);
        let mut old = ShardReader::new(&found[..], length, None, bytes).unwrap();
        let mut written = Vec::new();
        let (plan, keys) = (*old.plan(), old.description().clone());
        let mut shards =
            ShardWriter::new(&mut written, &plan, hasher.clone(), &keys, bytes).unwrap();
        for number in 0..shards.count() {
            let index = shards.index();
            let here = |hash: &&KeyHash| index.of(**hash) == number;
            let own: Vec<KeyHash> = others.iter().filter(here).copied().collect();
            let fill = |shard: &mut Shard<'_>| {
                shard.insert_all(&own);
                Ok::<(), FileError>(())
            };
            shards.shard_of(&mut old, fill).unwrap();
        }
        assert_eq!(old.finish().unwrap().set_bits, filter.receipt().set_bits);
        assert_eq!(shards.finish().unwrap().set_bits, more.receipt().set_bits);
        assert!(written == more.to_bytes());
        // Damage is reported at the end.
        let mut damaged = found.clone();
        damaged[200] ^= 1;
        let mut reader = ShardReader::new(&damaged[..], length, None, bytes).unwrap();
        for _ in 0..reader.count() {
            reader.shard(|_| Ok::<(), FileError>(())).unwrap();
        }
        assert!(matches!(reader.finish(), Err(FileError::PayloadDamaged { .. })));
    }
}

#[test]
fn after_an_error_a_pass_does_not_go_on() {
    let filter = Blocked::new(1_000, 0.01).unwrap();
    let file = filter.to_bytes();
    let open = || ShardReader::new(&file[..], file.len() as u64, None, 256).unwrap();
    let fine = |_: &mut Shard<'_>| Ok::<(), FileError>(());
    let fail = |_: &mut Shard<'_>| Err(FileError::Misaligned);
    let is_refused = |result| matches!(result, Err(FileError::ShardFailed));
    let mut reader = open();
    reader.shard(fine).unwrap();
    assert!(matches!(reader.shard(fail), Err(FileError::Misaligned)));
    assert!(is_refused(reader.shard(fine)) && is_refused(reader.shard(fine)));
    assert!(is_refused(reader.finish().map(drop)));
    // As for a writer, and for the reader it reads from.
    let (plan, keys) = (*filter.plan(), filter.description());
    let make = || ShardWriter::new(Vec::new(), &plan, KeyHasher::default(), keys, 256).unwrap();
    let (mut old, mut writer) = (open(), make());
    assert!(matches!(writer.shard_of(&mut old, fail), Err(FileError::Misaligned)));
    assert!(is_refused(writer.shard_of(&mut old, fine)) && is_refused(writer.shard(fine)));
    assert!(matches!(old.shard(fail), Err(FileError::Misaligned)));
    assert!(is_refused(make().shard_of(&mut old, fine)));
}
