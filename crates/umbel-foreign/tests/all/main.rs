//! Filters written by other software: read, queried, rebuilt and written, byte for byte.
//!
//! `testdata/foreign/README.md` documents their origin; the environment variable `UMBEL_VECTORS` names another folder
//! of the same structure to test.

mod cuckoo;
mod damage;
// The crate refuses big-endian systems, and truncates hashes to a machine word.
#[cfg(all(target_endian = "little", target_pointer_width = "64"))]
mod datasketches;
mod manifest;
mod model;
mod sizes;
mod small;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use manifest::{Keys, Manifest, Vector, settings};
use umbel::internals::math::binomial_bounds;
use umbel_foreign::redisbloom::{Options, RedisBloom};
use umbel_foreign::redisbloom_cuckoo::RedisBloomCuckoo;
use umbel_foreign::valkey_bloom::{Properties, ValkeyBloom};
use umbel_foreign::{Bytes, Foreign, ForeignFilter, ForeignInsert, Key, Parameters, recognize};

/// How much a long test does: a part, or with `cargo x test --full` all.
fn long<T>(all: T, part: T) -> T {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

/// Calls `check` for every vector, and prints how many each system has.
fn for_every_vector(mut check: impl FnMut(&Path, &str, &Vector)) {
    let mut counts = BTreeMap::new();
    for Manifest { peer, vectors, folder } in manifest::manifests() {
        for vector in &vectors {
            check(&folder, &peer, vector);
        }
        *counts.entry(peer).or_insert(0) += vectors.len();
    }
    assert!(!counts.is_empty(), "no vectors in {}", manifest::folder().display());
    let total: usize = counts.values().sum();
    for (peer, count) in counts {
        println!("{peer:>16} {count:>4}");
    }
    println!("{:>16} {total:>4}", "all");
}

/// Asserts that exactly the members and the listed probes pass.
fn answers(filter: &dyn ForeignFilter, folder: &Path, vector: &Vector) {
    let name = &vector.name;
    let ask = |keys: &Keys| {
        let mut found = Vec::new();
        keys.in_batches(100, |keys| {
            let mut together = vec![false; keys.len()];
            filter.contains_all(keys, &mut together).unwrap();
            let alone = keys.iter().map(|key| filter.contains(*key).unwrap());
            assert!(alone.eq(together.iter().copied()), "{name}: as in a batch");
            found.extend(together);
        });
        found
    };
    assert!(ask(&vector.members()).iter().all(|found| *found), "{name}: a member is absent");
    let found = ask(&vector.probes());
    let passed: Vec<usize> = (0..found.len()).filter(|i| found[*i]).collect();
    assert_eq!(passed, vector.false_positives(folder), "{name}: false positives");
}

/// The bytes that a filter of all members has. Squid's counters depend on its history, so they are the given ones.
fn content(folder: &Path, peer: &str, vector: &Vector, built: &[u8]) -> Vec<u8> {
    let mut content = vector.content(folder);
    if peer == "squid" {
        content[8..16].copy_from_slice(&built[8..16]);
    }
    content
}

/// The filter rebuilt from the parameters and the members.
fn build(peer: &str, vector: &Vector) -> Foreign {
    let (format, given) = settings(peer, vector);
    let members = vector.members();
    let members = if peer == "rocksdb" { members.sorted() } else { members };
    let built = |keys: &[Key<'_>]| Foreign::build(format, &given, keys.iter().copied()).unwrap();
    members.all(|keys| match vector.count("union") {
        None => built(keys),
        Some(parts) => {
            let mut parts = keys.chunks(keys.len() / parts as usize).map(built);
            let first = parts.next().expect("at least one part");
            parts.fold(first, |mut union, part| {
                union.union(&part).unwrap();
                union
            })
        }
    })
}

#[test]
fn every_filter_gives_the_answers_of_its_software() {
    for_every_vector(|folder, peer, vector| {
        let content = vector.content(folder);
        let filter = Foreign::decode(settings(peer, vector).0, &content[..]).unwrap();
        answers(&filter, folder, vector);
    });
}

#[test]
fn every_filter_is_built_byte_for_byte() {
    for_every_vector(|folder, peer, vector| {
        let built = build(peer, vector).encode().unwrap();
        let content = content(folder, peer, vector, &built);
        let differs = built.iter().zip(&content).position(|(left, right)| left != right);
        assert_eq!((built.len(), differs), (content.len(), None), "{peer}/{}", vector.name);
    });
}

#[test]
fn every_filter_is_written_as_it_was_read() {
    for_every_vector(|folder, peer, vector| {
        let content = vector.content(folder);
        let format = settings(peer, vector).0;
        let name = format!("{peer}/{}", vector.name);
        let borrowed = Foreign::decode(format, &content[..]).unwrap();
        assert_eq!(borrowed.encode().unwrap(), content, "{name}");
        assert_eq!(borrowed.to_owned().unwrap().encode().unwrap(), content, "{name}");
        let found = recognize(&content);
        assert!(found.iter().any(|(found, _)| *found == format), "{name}: {found:?}");
        let right = |found| found == format || peer.starts_with("pybloom");
        assert!(found.iter().all(|&(it, certain)| !certain || right(it)), "{name}: {found:?}");
    });
}

#[test]
fn every_receipt_agrees_with_the_answers() {
    for_every_vector(|folder, peer, vector| {
        let content = vector.content(folder);
        let filter = Foreign::decode(settings(peer, vector).0, &content[..]).unwrap();
        let receipt = filter.receipt();
        let probes = vector.probes().len() as u64;
        let passed = vector.false_positives(folder).len() as u64;
        // Two hashes extended to k probes pass a few more keys than independent ones: a tenth and 1e-3 are allowed. The
        // hundred pairs of steps in a single word exceed that.
        if receipt.bits < 512 {
            return;
        }
        let (name, fpp) = (&vector.name, receipt.fpp);
        let (low, _) = binomial_bounds(probes, fpp * 0.9, 1e-9);
        let (_, high) = binomial_bounds(probes, (fpp * 1.1 + 1e-3).min(1.0), 1e-9);
        let is_near = (low..=high).contains(&passed);
        assert!(is_near, "{peer}/{name}: {passed} of {probes}, {fpp}");
        assert!((0.0..=1.0).contains(&receipt.fill) && receipt.set_bits <= receipt.bits);
    });
}

#[test]
fn dumps_of_redisbloom_are_what_its_commands_carry() {
    for_every_vector(|folder, peer, vector| {
        let chunks = vector.chunks(folder);
        if chunks.is_empty() {
            return;
        }
        let borrowed = || chunks.iter().map(|(iterator, chunk)| (*iterator, &chunk[..]));
        let owned = |(iterator, chunk): (u64, Cow<'_, [u8]>)| (iterator, chunk.into_owned());
        if peer == "redisbloom-cuckoo" {
            let filter = RedisBloomCuckoo::from_chunks(borrowed()).unwrap();
            assert!(filter.chunks().map(owned).eq(chunks), "{}", vector.name);
            return;
        }
        let filter = RedisBloom::from_chunks(borrowed()).unwrap();
        assert!(filter.chunks().map(owned).eq(chunks.iter().cloned()), "{}", vector.name);
        // The same in chunks, into an empty filter, and link by link.
        let mut chunks = borrowed();
        let (_, header) = chunks.next().expect("a header");
        let mut loaded = RedisBloom::from_header(header, u64::MAX).unwrap();
        chunks.for_each(|(iterator, chunk)| loaded.load(iterator, chunk).unwrap());
        let arrays = loaded.arrays().map(|array| Bytes::copy_of(array, 0).unwrap());
        let links = loaded.links().iter().cloned().zip(arrays).collect();
        let (options, growth) = (loaded.options(), loaded.growth());
        let rule = Options { options, growth, seed: loaded.seed() };
        let snapshot = RedisBloom::from_links(loaded.items(), rule, links).unwrap();
        assert_eq!(snapshot.encode().unwrap(), vector.content(folder), "{}", vector.name);
    });
}

/// Filters made by a server have a random seed, and may have another tightening.
#[test]
fn seeds_of_valkey_bloom_are_their_own() {
    let folder = manifest::folder().join("valkey-bloom");
    let file = std::fs::read(folder.join("seed.bin")).unwrap();
    let seed = std::array::from_fn(|i| i as u8);
    let properties = Properties { expansion: 3, rate: 0.01, tightening: 0.8, seed };
    let mut built = ValkeyBloom::reserved(properties, 100).unwrap();
    for key in 1..=1000 {
        built.insert(Key::from(&format!("key-{key:06}")[..])).unwrap();
    }
    assert!(built.encode().unwrap() == file);
    let format = umbel_foreign::Format::ValkeyBloom;
    let read = ValkeyBloom::decode(format, file, &Parameters::default()).unwrap();
    let passes =
        |probe: &u32| read.contains(Key::from(&format!("probe-{:06}", probe + 1)[..])).unwrap();
    let passed: String = (0..2000).filter(passes).map(|probe| format!("{probe}\n")).collect();
    assert_eq!(passed, std::fs::read_to_string(folder.join("seed.fp.txt")).unwrap());
    // A server's snapshot stores the links as fields.
    let links = read.links_with_heads();
    let links =
        links.map(|(link, array)| (Bytes::copy_of(array, 0).unwrap(), link.items, link.capacity));
    let snapshot = ValkeyBloom::from_links(read.properties().clone(), links.collect()).unwrap();
    assert!(snapshot.encode().unwrap() == read.encode().unwrap());
}

#[test]
fn filters_in_parquet_files_lie_where_the_footer_says() {
    for_every_vector(|folder, _, vector| {
        let Some(file) = vector.word("parquet_file") else { return };
        let file = std::fs::read(folder.join(file)).unwrap();
        let [start, length] = ["bloom_filter_offset", "bloom_filter_length"]
            .map(|name| vector.count(name).expect("a place") as usize);
        assert_eq!(file[start..start + length], vector.content(folder), "{}", vector.name);
    });
}

#[test]
fn inserting_into_a_filter_that_was_read_goes_on_where_its_software_stopped() {
    for_every_vector(|folder, peer, vector| {
        // Half of the keys, a file, the other half: the same bytes as with all keys together. Sizes that follow from
        // the number of keys, folding and unions apply only to filters made in one go.
        let (format, given) = settings(peer, vector);
        if format.counts_keys() || given.has("arrow") || vector.count("union").is_some() {
            return;
        }
        vector.members().all(|keys| {
            let (first, second) = keys.split_at(keys.len() / 2);
            let half = Foreign::build(format, &given, first.iter().copied()).unwrap();
            let half = half.encode().unwrap();
            let mut read =
                Foreign::decode_with(format, &half[..], &given).unwrap().to_owned().unwrap();
            read.insert_all(second).unwrap();
            let built = read.encode().unwrap();
            let same = built == content(folder, peer, vector, &built);
            assert!(same, "{peer}/{}", vector.name);
        });
    });
}
