//! Other systems' filters as a black box: every filter in `testdata/foreign`, which `README.md` there describes, is asked
//! for the keys its software was asked for, and made anew from lines.

#[path = "../../../umbel-foreign/tests/all/manifest.rs"]
#[allow(dead_code)] // tests of the library use all of it
mod manifest;

use std::path::Path;

use manifest::{Vector, manifests, settings};
use umbel_foreign::{Format, Parameters};

use crate::util::{Folder, lines};

/// Calls `check` with each filter: the folder it is in, what wrote it, and how.
fn for_every_filter(check: impl Fn(&Path, &str, &Vector)) {
    let all = manifests();
    assert_eq!(all.len(), 18);
    for manifest in &all {
        manifest.vectors.iter().for_each(|vector| check(&manifest.folder, &manifest.peer, vector));
    }
}

/// The keys that went in, in their order.
fn members(peer: &str, vector: &Vector) -> Vec<Vec<u8>> {
    let members = vector.members();
    if peer == "rocksdb" { members.sorted().texts() } else { members.texts() }
}

/// What they are called on the command line.
fn key_type(vector: &Vector) -> &str {
    match &*vector.key_type {
        "utf8" => "bytes",
        "utf16le" => "utf16",
        url if url.starts_with("url") => "url",
        other => other,
    }
}

/// What `umbel filter build` is told.
fn arguments(peer: &str, vector: &Vector) -> String {
    let (format, given) = settings(peer, vector);
    let Parameters { keys, bits, probes, growth, bucket_size, max_iterations, .. } = given;
    // Keys that were added to no filter made one of a hundred.
    let keys = keys.or((vector.count("implicit") == Some(1)).then_some(100));
    let (size, bits) = match format {
        Format::Parquet => ("--size ", bits.map(|bits| bits / 8)),
        _ => ("--param bits=", bits),
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let small = |small: Option<u32>| number(small.map(u64::from));
    let options = [
        ("--keys ", number(keys)),
        ("--fpp ", given.fpp.map(|fpp| fpp.to_string())),
        (size, number(bits)),
        ("--param bits_per_key=", given.bits_per_key.map(|bits| bits.to_string())),
        ("--param probes=", small(probes)),
        ("--param seed=", given.seed.map(|seed| seed.to_string())),
        ("--param growth=", small(growth)),
        ("--param bucket-size=", small(bucket_size)),
        ("--param max-iterations=", small(max_iterations)),
    ];
    let given_options = given.options.into_iter().map(|option| ("--param ", Some(option)));
    let mut arguments = format!("--format {format} --key-type {}", key_type(vector));
    for (option, value) in options.into_iter().chain(given_options) {
        arguments += &value.map_or_else(String::new, |value| format!(" {option}{value}"));
    }
    arguments
}

/// Writes keys to a file: as lines, or where they have line feeds in them as fields in quotes. Gives the options that say so.
fn write(folder: &Folder, keys: &[Vec<u8>], quoted: bool) -> &'static str {
    if !quoted {
        folder.write("members", lines(keys));
        return "";
    }
    let doubled = |key: &Vec<u8>| {
        let parts: Vec<_> = key.split(|byte| *byte == b'"').collect();
        [b"\"", &*parts.join(&b"\"\""[..]), b"\""].concat()
    };
    folder.write("members", lines([b"key".to_vec()].into_iter().chain(keys.iter().map(doubled))));
    "--csv --key key"
}

#[test]
fn every_filter_answers_as_its_software_does() {
    for_every_filter(|of, peer, vector| {
        let (name, folder) = (&vector.name, Folder::new());
        let (members, probes) = (members(peer, vector), vector.probes().texts());
        folder.write("filter", vector.content(of));
        folder.write("probes", lines(&probes));
        let options = write(&folder, &members, members.iter().any(|key| key.contains(&b'\n')));
        let how = format!("--format {} --key-type {}", settings(peer, vector).0, key_type(vector));
        if !members.is_empty() {
            let asked = format!("filter query -q filter members {how} {options}");
            assert!(folder.umbel(&asked).run().done() == folder.read("members"), "{peer}/{name}");
        }
        let found = folder.umbel(&format!("filter query -q filter probes {how}")).run().stdout;
        let expected = vector.false_positives(of).into_iter().map(|probe| &probes[probe]);
        assert!(found == lines(expected), "{peer}/{name}: false positives");
    });
}

#[test]
fn every_filter_is_built_byte_for_byte() {
    for_every_filter(|of, peer, vector| {
        let (name, folder) = (&vector.name, Folder::new());
        let members = members(peer, vector);
        let quoted = members.iter().any(|key| key.contains(&b'\n'));
        let parts = vector.count("union").unwrap_or(1) as usize;
        let size = members.len().div_ceil(parts).max(1);
        let empty = members.is_empty().then_some(&[][..]);
        let mut names = String::new();
        for (i, part) in members.chunks(size).chain(empty).enumerate() {
            let options = write(&folder, part, quoted);
            let arguments = arguments(peer, vector);
            let build = format!("filter build -q -o part{i} members {arguments} {options}");
            folder.umbel(&build).run().done();
            names += &format!(" part{i}");
        }
        let format = settings(peer, vector).0;
        folder.umbel(&format!("filter merge -q -o built --format {format} {names}")).run().done();
        let (mut built, mut expected) = (folder.read("built"), vector.content(of));
        if peer == "squid" {
            // What Squid counts beside the bits depends on what it deleted before.
            assert_eq!(built.len(), expected.len(), "{name}");
            (built, expected) = (built.split_off(128), expected.split_off(128));
        }
        assert!(built == expected, "{peer}/{name}");
    });
}
