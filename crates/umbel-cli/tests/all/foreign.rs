//! Other systems' filters as a black box: asked, built, added to, joined, converted, and refused.
//!
//! Every filter in `testdata/foreign`, which `README.md` there describes, is asked for the keys its software was asked
//! for, and made anew from lines.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::util::{Folder, lines};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A filter that other software wrote.
struct Vector {
    peer: String,
    value: Value,
}

/// Those of one folder.
fn vectors_of(peer: &str) -> Vec<Vector> {
    let manifest = json(&vectors().join(peer).join("vectors.json"));
    let list = manifest["vectors"].as_array().unwrap().clone();
    list.into_iter().map(|value| Vector { peer: peer.to_owned(), value }).collect()
}

impl Vector {
    fn text(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap_or_default()
    }

    fn parameter(&self, name: &str) -> &Value {
        &self.value["parameters"][name]
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(vectors().join(&self.peer).join(name)).unwrap()
    }

    fn content(&self) -> Vec<u8> {
        match self.value["chunks"].as_array() {
            Some(chunks) => {
                let file = |chunk: &Value| self.read(chunk["file"].as_str().unwrap());
                chunks.iter().flat_map(file).collect()
            }
            None => self.read(self.text("file")),
        }
    }

    fn format(&self) -> &'static str {
        let scalable = !self.parameter("scalable").is_null();
        match &self.peer[..] {
            "parquet" => "parquet",
            "guava" => "guava",
            "spark" => "spark",
            "redisbloom" => "redisbloom",
            "redisbloom-cuckoo" => "redisbloom-cuckoo",
            "leveldb" | "goleveldb" | "badger" => "leveldb",
            "rocksdb" if self.parameter("format_version") == 4 => "rocksdb-legacy",
            "rocksdb" => "rocksdb",
            "pybloom-live-3" if scalable => "pybloom-3-scalable",
            "pybloom-live-3" => "pybloom-3",
            "pybloom-live-4" if scalable => "pybloom-4-scalable",
            "pybloom-live-4" => "pybloom-4",
            "datasketches" => "datasketches",
            "hadoop" => "hadoop",
            "hive" => "hive",
            "orc" => "orc",
            "bits-and-blooms" if self.text("file").ends_with(".json") => "bits-and-blooms-json",
            "bits-and-blooms" => "bits-and-blooms",
            "squid" => "squid",
            "valkey-bloom" => "valkey-bloom",
            other => panic!("no system is called {other}"),
        }
    }

    fn key_type(&self) -> &str {
        match self.text("key_type") {
            "utf8" => "bytes",
            "utf16le" => "utf16",
            url if url.starts_with("url") => "url",
            other => other,
        }
    }

    fn members(&self) -> Vec<Vec<u8>> {
        let mut members = keys(&self.value["members"]);
        if self.peer == "rocksdb" {
            members.sort();
            members.dedup();
        }
        members
    }

    fn probes(&self) -> Vec<Vec<u8>> {
        keys(&self.value["probes"])
    }

    /// The probes that pass.
    fn false_positives(&self) -> Vec<Vec<u8>> {
        let numbers = String::from_utf8(self.read(self.text("false_positives"))).unwrap();
        let probes = self.probes();
        numbers.lines().map(|number| probes[number.parse::<usize>().unwrap()].clone()).collect()
    }

    /// What `umbel build` is told.
    fn arguments(&self) -> String {
        let mut arguments = format!("--format {} --key-type {}", self.format(), self.key_type());
        let mut say = |option: &str, value: &Value| match value {
            Value::Null => {}
            value => arguments += &format!(" {option}{value}"),
        };
        let given = |name| self.parameter(name);
        // Only what is no default: LevelDB and RocksDB count their keys.
        for keys in ["n", "ndv", "capacity"] {
            say("--keys ", given(keys));
        }
        for fpp in ["fpp", "error"] {
            say("--fpp ", given(fpp));
        }
        let names = [
            ("m", "bits"),
            ("bits", "bits"),
            ("k", "probes"),
            ("bits_per_key", "bits-per-key"),
            ("seed", "seed"),
            ("expansion", "growth"),
            ("bucket_size", "bucket-size"),
            ("max_iterations", "max-iterations"),
            ("scalable", "growth"),
        ];
        for (theirs, ours) in names {
            say(&format!("--param {ours}="), given(theirs));
        }
        let mut options = Vec::new();
        match &self.peer[..] {
            "parquet" => {
                if let Some(bytes) = given("bytes").as_u64() {
                    arguments += &format!(" --size {bytes}");
                }
                if given("writer") == "pyarrow" {
                    options.push("arrow");
                }
            }
            "guava" if given("strategy") == 0 => options.push("mitz32"),
            "spark" if given("version") == 1 => options.push("v1"),
            "redisbloom" if given("nonscaling") == 1 => options.push("growth=0"),
            "redisbloom" if given("implicit") == 1 => arguments += " --keys 100",
            "goleveldb" => options.push("goleveldb"),
            "badger" => options.push("badger"),
            "datasketches" if given("counted") == 1 => options.push("counted"),
            "hadoop" if given("hash") == "jenkins" => options.push("jenkins"),
            "squid" => {
                let per_key = given("digest_bits_per_entry");
                let capacity = &self.value["derived"]["capacity"];
                arguments += &format!(" --keys {capacity} --param bits_per_key={per_key}");
            }
            _ => {}
        }
        for option in options {
            arguments += &format!(" --param {option}");
        }
        arguments
    }
}

/// Keys as the recipes of a manifest make them, as lines have them.
fn keys(recipes: &Value) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    for recipe in recipes.as_array().unwrap() {
        let number = |name: &str| recipe[name].as_i64().unwrap();
        let text = |name: &str| recipe[name].as_str().unwrap();
        match text("kind") {
            "seq" => {
                let numbers = number("first")..number("first") + number("count");
                keys.extend(numbers.map(|i| printf(text("format"), i)));
            }
            "varlen" => {
                let numbers = number("first")..number("first") + number("count");
                keys.extend(numbers.map(|i| {
                    let padding = text("pad").repeat((i % number("mod")) as usize);
                    format!("{}{i}/{padding}", text("prefix")).into_bytes()
                }));
            }
            "range" => keys.extend(
                (0..number("count"))
                    .map(|i| (number("first") + i * number("step")).to_string().into_bytes()),
            ),
            "splitmix64" => {
                let mut state = recipe["seed"].as_u64().unwrap();
                keys.extend((0..number("count")).map(|_| {
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                    ((z ^ z >> 31) as i64).to_string().into_bytes()
                }));
            }
            "list" => {
                let list = &json(&vectors().join("keys.json"))[text("name")];
                keys.extend(list.as_array().unwrap().iter().map(|key| {
                    match key {
                        Value::String(digits) => (0..digits.len())
                            .step_by(2)
                            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
                            .collect(),
                        number => number.to_string().into_bytes(),
                    }
                }));
            }
            other => panic!("no recipe is called {other}"),
        }
    }
    keys
}

/// `%d`, `%6d` and `%06d`, with text around.
fn printf(format: &str, number: i64) -> Vec<u8> {
    let (before, rest) = format.split_once('%').unwrap();
    let (width, after) = rest.split_once('d').unwrap();
    let digits = width.parse().unwrap_or(0);
    let number = match width.starts_with('0') {
        true => format!("{number:0digits$}"),
        false => format!("{number:digits$}"),
    };
    format!("{before}{number}{after}").into_bytes()
}

/// How keys go into a file: as lines, or where they have line feeds in them as fields in quotes.
#[derive(Clone, Copy)]
struct Shape {
    quoted: bool,
}

impl Shape {
    fn of(keys: &[Vec<u8>]) -> Self {
        Self { quoted: keys.iter().any(|key| key.contains(&b'\n')) }
    }

    fn options(self) -> &'static str {
        if self.quoted { "--csv --key key" } else { "" }
    }

    fn file(self, keys: &[Vec<u8>]) -> Vec<u8> {
        if !self.quoted {
            return lines(keys);
        }
        let mut file = b"key\n".to_vec();
        for key in keys {
            file.push(b'"');
            key.iter().for_each(|byte| match byte {
                b'"' => file.extend(b"\"\""),
                byte => file.push(*byte),
            });
            file.extend(b"\"\n");
        }
        file
    }
}

const PEERS: [&str; 18] = [
    "badger",
    "bits-and-blooms",
    "datasketches",
    "goleveldb",
    "guava",
    "hadoop",
    "hive",
    "leveldb",
    "orc",
    "parquet",
    "pybloom-live-3",
    "pybloom-live-4",
    "redisbloom",
    "redisbloom-cuckoo",
    "rocksdb",
    "spark",
    "squid",
    "valkey-bloom",
];

#[test]
fn every_filter_answers_as_its_software_does() {
    for vector in PEERS.iter().flat_map(|peer| vectors_of(peer)) {
        let name = format!("{}/{}", vector.peer, vector.text("name"));
        let folder = Folder::new();
        let (members, probes) = (vector.members(), vector.probes());
        let shape = Shape::of(&members);
        folder.write("filter", vector.content());
        folder.write("members", shape.file(&members));
        folder.write("probes", lines(&probes));
        let how = format!("--format {} --key-type {}", vector.format(), vector.key_type());
        if !members.is_empty() {
            let asked = format!("query -q filter members {how} {}", shape.options());
            assert!(folder.umbel(&asked).run().done() == folder.read("members"), "{name}");
        }
        let found = folder.umbel(&format!("query -q filter probes {how}")).run().stdout;
        assert!(found == lines(vector.false_positives()), "{name}: false positives");
    }
}

#[test]
fn every_filter_is_built_byte_for_byte() {
    for vector in PEERS.iter().flat_map(|peer| vectors_of(peer)) {
        let name = format!("{}/{}", vector.peer, vector.text("name"));
        let folder = Folder::new();
        let members = vector.members();
        let shape = Shape::of(&members);
        let parts = vector.parameter("union").as_u64().unwrap_or(1) as usize;
        let size = members.len().div_ceil(parts).max(1);
        let mut names = String::new();
        for (i, part) in
            members.chunks(size).chain(members.is_empty().then_some(&[][..])).enumerate()
        {
            folder.write("members", shape.file(part));
            let arguments = format!("{} {}", vector.arguments(), shape.options());
            folder.umbel(&format!("build -q -o part{i} members {arguments}")).run().done();
            names += &format!(" part{i}");
        }
        let format = vector.format();
        folder.umbel(&format!("merge -q -o built --format {format} {names}")).run().done();
        let (mut built, mut expected) = (folder.read("built"), vector.content());
        if vector.peer == "squid" {
            // What Squid counts beside the bits depends on what it deleted before.
            assert_eq!(built.len(), expected.len(), "{name}");
            (built, expected) = (built.split_off(128), expected.split_off(128));
        }
        assert!(built == expected, "{name}");
    }
}
