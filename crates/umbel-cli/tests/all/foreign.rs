//! Other systems' filters as a black box: asked, built, added to, joined, converted, and refused.
//!
//! Every filter in `testdata/foreign`, which `README.md` there describes, is asked for the keys its software was asked
//! for, and made anew from lines.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::util::{Folder, Outcome, lines, urls};

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

fn vector(peer: &str, name: &str) -> Vector {
    vectors_of(peer).into_iter().find(|vector| vector.value["name"] == name).unwrap()
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

/// A folder with one filter, its members and other keys.
fn with(peer: &str, name: &str) -> (Folder, Vector) {
    let (folder, vector) = (Folder::new(), vector(peer, name));
    folder.write("filter", vector.content());
    folder.write("members", lines(vector.members()));
    folder.write("probes", lines(vector.probes()));
    (folder, vector)
}

fn info(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.umbel(&format!("info --json {arguments}")).run().text()).unwrap()
}

#[test]
fn content_tells_the_format_where_it_is_certain() {
    for (peer, name, format) in [
        ("guava", "utf8-p03", "guava"),
        ("parquet", "binary-a", "parquet"),
        ("redisbloom", "scaling-x2", "redisbloom"),
        ("bits-and-blooms", "p10", "bits-and-blooms"),
        ("bits-and-blooms", "json-p10", "bits-and-blooms-json"),
        ("hadoop", "murmur-a", "hadoop"),
        ("hive", "string", "hive"),
        ("orc", "string", "orc"),
    ] {
        let (folder, vector) = with(peer, name);
        let receipt = info(&folder, "filter");
        assert_eq!(receipt["format"], format);
        assert_eq!(receipt["bytes"], vector.content().len() as u64);
        let found = folder.umbel("query -q filter members").run().done();
        assert!(found == folder.read("members"), "{peer}");
    }
}

#[test]
fn what_is_not_certain_must_be_named() {
    let (folder, _) = with("leveldb", "bpk10");
    let words = ["filter", "not an umbel file", "leveldb", "--format"];
    folder.umbel("info filter").run().fails(&words);
    folder.umbel("query filter members").run().fails(&words);
    folder.umbel("add filter members").run().fails(&words);
    folder.umbel("merge -o out filter filter").run().fails(&words);
    assert_eq!(info(&folder, "filter --format leveldb")["format"], "leveldb");
    // The two releases hash otherwise and write the same header.
    let (folder, _) = with("pybloom-live-4", "p10");
    let said = folder.umbel("info filter").run().fails(&["pybloom-3", "pybloom-4", "--format"]);
    assert_eq!(said.lines().count(), 1);
    // Lines in the place of a filter: no format at all, or hardly one.
    let folder = Folder::new();
    folder.write("lines", urls(0..100));
    folder.umbel("query lines lines").run().fails(&["lines", "it is text", "umbel build"]);
    folder.write("none", "");
    folder.umbel("info none").run().fails(&["none", "it is empty", "--format"]);
}

#[test]
fn a_wrong_format_is_refused() {
    let (folder, _) = with("guava", "utf8-p03");
    let run = folder.umbel("info filter --format parquet").run();
    run.fails(&["filter: ", "parquet", "its content looks like guava"]);
    folder.umbel("build -q -o own members").run().done();
    let run = folder.umbel("info own --format guava").run();
    run.fails(&["own: ", "guava", "a filter of umbel: omit --format"]);
    folder.umbel("info filter --format gauva").run().fails(&["gauva", "guava, spark"]);
    folder.umbel("query filter members --key-type i128").run().fails(&["i128", "utf16"]);
    let run = folder.umbel("query filter members --key-type f64").run();
    run.fails(&["filter", "do not hold keys of type f64", "i64"]);
    let run = folder.umbel("query own members --key-type i64").run();
    run.fails(&["own", "--key-type"]);
    folder.umbel("info filter --param salts=a").run().fails(&["--format"]);
    let run = folder.umbel("info filter --format guava --param mitz32").run();
    run.fails(&["--param mitz32", "omit --param"]);
    folder.umbel("info missing --format guava").run().fails(&["missing"]);
    folder.umbel("info tmp --format guava").run().fails(&["tmp", "directory"]);
}

#[test]
fn truncated_files_are_refused() {
    for (peer, name) in [
        ("guava", "utf8-p03"),
        ("parquet", "binary-a"),
        ("spark", "v2-string"),
        ("redisbloom", "scaling-x2"),
        ("pybloom-live-4", "p10"),
        ("datasketches", "string-p10"),
        ("hadoop", "murmur-a"),
        ("hive", "string"),
        ("orc", "string"),
        ("bits-and-blooms", "p10"),
        ("bits-and-blooms", "json-p10"),
        ("squid", "digest-200"),
    ] {
        let (folder, vector) = with(peer, name);
        let content = vector.content();
        folder.write("filter", &content[..content.len() - 3]);
        let format = vector.format();
        let run = folder.umbel(&format!("query filter members --format {format}")).run();
        run.fails(&["filter: ", format]);
        folder.umbel("info filter").run().fails(&["filter: ", "not an umbel file"]);
    }
}

#[test]
fn more_lines_go_in() {
    for (peer, name) in [
        ("guava", "utf8-p03"),
        ("parquet", "binary-a"),
        ("spark", "v1-string"),
        ("redisbloom", "scaling-x2"),
        ("leveldb", "bpk10"),
        ("rocksdb", "fv5-bpk10"),
        ("pybloom-live-4", "scalable"),
        ("datasketches", "string-p10"),
        ("hadoop", "murmur-a"),
        ("hive", "bytes-overfull"),
        ("orc", "string-var"),
        ("bits-and-blooms", "json-p10"),
        ("squid", "digest-200"),
    ] {
        let vector = vector(peer, name);
        let folder = Folder::new();
        let format = format!("--format {}", vector.format());
        folder.write("filter", vector.content());
        folder.write("more", urls(0..100));
        let key_type = if peer == "squid" { "url" } else { "bytes" };
        let add = format!("add --json filter more {format} --key-type {key_type}");
        let report = folder.umbel(&add).run().report();
        assert_eq!(
            (&report["lines"], &report["filter"]["format"]),
            (&100.into(), &vector.format().into())
        );
        let found = folder.umbel(&format!("query -q filter more {format}")).run().done();
        assert!(found == folder.read("more"), "{peer}");
        assert_eq!(folder.names(), ["filter", "more"]);
    }
}

#[test]
fn a_full_filter_stays_as_it_was() {
    let folder = Folder::new();
    folder.write("few", urls(0..50));
    folder.write("more", urls(50..90));
    let build = "build -q -o full few --format pybloom-4 --keys 60 --fpp 0.01";
    folder.umbel(build).run().done();
    let before = folder.read("full");
    let add = "add full more --format pybloom-4 --key-type bytes";
    folder.umbel(add).run().fails(&["full: ", "60 keys"]);
    assert!(folder.read("full") == before);
}

#[test]
fn the_receipt_tells_what_the_bits_show_and_the_file_declares() {
    let (folder, _) = with("redisbloom", "scaling-x2");
    let receipt = info(&folder, "filter");
    assert_eq!(receipt["type"], "info");
    assert_eq!(receipt["file"], "filter");
    assert_eq!(receipt["declared"]["growth"], 2);
    let parts = receipt["parts"].as_array().unwrap();
    assert!(parts.len() > 2 && parts[0]["declared"]["entries"] == 100, "{receipt}");
    // Keys that an older link let pass wrongly were not put in.
    let items = receipt["declared"]["items"].as_f64().unwrap();
    let within = receipt["keys_low"].as_f64().unwrap()..receipt["keys_high"].as_f64().unwrap();
    assert!(items > 800.0 && within.contains(&items), "{receipt}");
    let text = folder.umbel("info filter").run().text();
    for words in [
        "format     redisbloom",
        "scheme     murmur64a/double",
        "rate now",
        "part 1",
        "growth     2",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    // Beside one of umbel, each with its own receipt.
    folder.umbel("build -q -o own members").run().done();
    let both = folder.umbel("info --json own filter").run().text();
    let both: Vec<Value> = both.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&both[0]["kind"], &both[1]["format"]), (&"blocked".into(), &"redisbloom".into()));
    folder.umbel("info filter --plot p.svg").run().fails(&["filter", "--plot"]);
}

#[test]
fn only_filters_that_agree_are_joined() {
    let folder = Folder::new();
    folder.write("a", urls(0..500));
    folder.write("b", urls(400..900));
    folder.write("both", urls(0..900));
    for format in ["guava", "parquet", "spark", "hive", "redisbloom --param growth=0", "orc"] {
        let of = |name: &str| {
            format!("build -q -f -o {name}.filter {name} --keys 1000 --format {format}")
        };
        for name in ["a", "b", "both"] {
            folder.umbel(&of(name)).run().done();
        }
        let only = format.split(' ').next().unwrap();
        folder
            .umbel(&format!("merge -q -f -o joined a.filter b.filter --format {only}"))
            .run()
            .done();
        if only != "redisbloom" {
            // That one counts the keys of both.
            assert!(folder.read("joined") == folder.read("both.filter"), "{format}");
        }
        let found = folder.umbel(&format!("query -q joined both --format {only}")).run().done();
        assert!(found == folder.read("both"), "{format}");
    }
    folder.umbel("build -q -o guava a --keys 1000 --format guava").run().done();
    folder.umbel("build -q -o larger a --keys 2000 --format guava").run().done();
    folder.umbel("build -q -o spark a --keys 1000 --format spark").run().done();
    folder.umbel("build -q -o own a --keys 1000").run().done();
    let fails = |filters: &str, words: &[&str]| {
        folder.umbel(&format!("merge -o out {filters}")).run().fails(words);
    };
    fails("guava larger", &["guava and larger", "number of bits"]);
    fails("guava own", &["guava and own", "a filter of umbel and a guava filter"]);
    fails("own guava", &["own and guava", "a filter of umbel and a guava filter"]);
    fails("guava guava --intersect", &["--intersect"]);
    assert!(!folder.path("out").exists());
    for verb in ["remove guava a", "unseen guava a"] {
        folder.umbel(verb).run().fails(&["guava: is a guava filter", "umbel"]);
    }
    folder.umbel("overlap guava own").run().fails(&["one of another system", "cannot be compared"]);
}

#[test]
fn what_keys_were_taken_to_be_is_told() {
    let (folder, vector) = with("guava", "long-p05");
    let members = vector.members();
    folder.write("members", lines(&members));
    let run = folder.umbel("query filter members").run();
    assert!(run.stderr.contains("assumed keys of type bytes") && run.stderr.contains("--key-type"));
    assert!(!run.stderr.contains("missing with 0"), "{}", run.stderr);
    // Some may pass by error: the exit status says no more.
    let run = folder.umbel("query --json filter members").run();
    let report: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (&report["assumed_key_type"], &report["chance_missing"]),
        (&"bytes".into(), &Value::Null)
    );
    assert!(report["chance_extra"].as_f64() > Some(0.0), "{report}");
    let run = folder.umbel("query -v --json filter members").run();
    let report: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(report["chance_extra"], Value::Null);
    // Who says it, is promised that none is missing; so is who asks a filter of keys of one type.
    let report = folder.umbel("query --json --key-type i64 filter members").run().report();
    assert_eq!((&report["chance_missing"], &report["found"]), (&0.0.into(), &members.len().into()));
    assert_eq!(report["assumed_key_type"], Value::Null);
    folder.umbel("build -q -o leveldb --format leveldb members").run().done();
    let report = folder.umbel("query --json --format leveldb leveldb members").run().report();
    assert_eq!(report["chance_missing"], 0.0);
}

/// What is written under a wrong type is lost: the type is asked for.
#[test]
fn adding_needs_the_type_of_the_keys() {
    let (folder, vector) = with("guava", "long-p05");
    folder.write("more", lines(["5000001", "5000002"]));
    let before = folder.read("filter");
    for add in ["add filter more", "add --explain filter more", "add --json filter more"] {
        folder.umbel(add).run().fails(&[
            "filter: ",
            "guava",
            "does not record the type of its keys",
            "--key-type bytes, utf16, i64 or i32",
        ]);
        assert!(folder.read("filter") == before, "{add}");
    }
    let report = folder.umbel("add --json --key-type i64 filter more").run().report();
    assert_eq!(report["assumed_key_type"], Value::Null);
    folder.write("members", lines(vector.members()));
    for keys in ["more", "members"] {
        let found = folder.umbel(&format!("query -q --key-type i64 filter {keys}")).run().done();
        assert!(found == folder.read(keys));
    }
    // There is nothing to ask for where a system hashes one type.
    folder.umbel("build -q -o leveldb --format leveldb members").run().done();
    folder.umbel("add -q --format leveldb leveldb more").run().done();
}

#[test]
fn filters_of_another_system_are_compared() {
    let folder = Folder::new();
    folder.write("left", urls(0..10_000));
    folder.write("right", urls(6_000..16_000));
    for format in ["guava", "parquet", "spark", "redisbloom", "pybloom-4", "orc"] {
        for name in ["left", "right"] {
            let build =
                format!("build -q -f -o {name}.f --format {format} --keys 20000 --fpp 0.01 {name}");
            folder.umbel(&build).run().done();
        }
        let compare = format!("overlap left.f right.f --format {format}");
        let report = folder.umbel(&format!("{compare} --json")).run().text();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(
            (&report["mergeable"], &report["left"]["format"]),
            (&true.into(), &format.into())
        );
        for (name, truth) in [("union", 16_000.0), ("intersection", 4_000.0), ("jaccard", 0.25)] {
            let value = report[name].as_f64().unwrap();
            assert!((value / truth - 1.0).abs() < 0.1, "{format} {name}: {value}, not {truth}");
        }
        let text = folder.umbel(&compare).run().text();
        let about = format!("A            left.f: {format} filter of ");
        assert!(text.contains(&about) && text.contains("merge        yes"), "{text}");
    }
    folder.umbel("build -q -o small --format guava --keys 10 left").run().done();
    folder.umbel("build -q -o right.g --format guava --keys 20000 right").run().done();
    let text = folder.umbel("overlap small right.g").run().text();
    assert!(text.contains("shared       unknown: ") && text.contains("number of bits"), "{text}");
}

#[test]
fn filters_convert_within_a_system_alone() {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    let build = |format: &str| {
        folder
            .umbel(&format!("build -q -o {format} keys --keys 1000 --fpp 0.01 --format {format}"))
            .run()
            .done();
    };
    for [from, to] in [
        ["parquet", "parquet-bits"],
        ["parquet-bits", "parquet"],
        ["bits-and-blooms", "bits-and-blooms-json"],
        ["bits-and-blooms-json", "bits-and-blooms"],
    ] {
        if !folder.path(from).exists() {
            build(from);
            build(to);
        }
        let convert = format!("convert -q -f -o out {from} --format {from} --to {to}");
        folder.umbel(&convert).run().done();
        assert!(folder.read("out") == folder.read(to), "{from} to {to}");
    }
    folder.umbel("convert -o out parquet --to parquet-bits").run().fails(&["out", "--force"]);
    build("guava");
    folder.umbel("convert -o new guava --to spark").run().fails(&[
        "guava: ",
        "does not store its keys",
        "umbel build --format spark -o new FILE…",
    ]);
    folder.umbel("convert -o new guava --to blocked").run().fails(&["umbel build --kind blocked"]);
    folder.umbel("build -q -o own keys").run().done();
    folder.umbel("convert -o new own --to guava").run().fails(&["umbel build --format guava"]);
    folder.umbel("convert -o new guava --to gauva").run().fails(&["gauva", "blocked", "spark"]);
    assert!(!folder.path("new").exists());
}

#[test]
fn building_says_what_is_missing_or_not_taken() {
    let folder = Folder::new();
    folder.write("keys", urls(0..100));
    let fails = |arguments: &str, words: &[&str]| {
        folder.umbel(&format!("build -o out keys {arguments}")).run().fails(words);
        assert!(!folder.path("out").exists(), "{arguments}");
    };
    fails("--format hadoop", &["hadoop", "`bits`"]);
    fails("--format guava --param bits=100", &["--param bits=100", "mitz32"]);
    fails("--format guava --param mitz23", &["--param mitz23", "mitz32, guava-31"]);
    fails("--format guava --param seed", &["--param seed", "mitz32"]);
    fails("--format spark --param seed=x", &["--param seed=x"]);
    fails("--format leveldb --fpp 0.01", &["bits per key"]);
    fails("--format guava --fpp 2", &["not a probability"]);
    fails("--format guava --kind classic", &["--kind"]);
    fails("--format guava --seed 7", &["--seed"]);
    fails("--key-type i64", &["--key-type", "--format"]);
    fails("--param arrow", &["--format"]);
    fails("--format guava --key-type url", &["do not hold keys of type url"]);
    fails("--format guava --key-type i64", &["keys, line 1: ", "is not of type i64"]);
    fails("--format salted-sha1 --size 100", &["salts"]);
    folder.write("empty", "a\n\nb\n");
    let run = folder.umbel("build -o out empty --format hadoop --size 1kB --param probes=3").run();
    run.fails(&["empty, line 2: ", "refuse"]);
    folder.umbel("build -q -o f keys --format guava").run().done();
    folder.umbel("build -q -o f keys --format guava").run().fails(&["f: ", "--force"]);
}

#[test]
fn plans_and_their_warnings_are_told() {
    let folder = Folder::new();
    folder.write("keys", urls(0..100));
    let plan = "build -o out keys --explain --json --format guava --keys 1000 --fpp 0.01";
    let plan: Value = serde_json::from_str(&folder.umbel(plan).run().text()).unwrap();
    assert_eq!((&plan["format"], &plan["bytes"]), (&"guava".into(), &1206.into()), "{plan}");
    // As many keys as there are lines.
    let counted = folder.umbel("build -o out keys --explain --format leveldb").run().text();
    assert!(counted.contains("1,000"), "{counted}");
    let run = folder.umbel("build -o out keys --explain --format parquet --keys 1e9").run();
    assert!(
        run.stderr.contains(": warning: parquet: smaller than the keys need"),
        "{}",
        run.stderr
    );
    let run = folder.umbel("build -q -o out keys --format guava --keys 10").run();
    assert!(run.stderr.contains("over-filled: planned for 10 keys"), "{}", run.stderr);
    run.done();
    let text = folder.umbel("query --explain out keys").run().text();
    assert!(text.contains("guava"), "{text}");
}

#[test]
fn memory_holds_for_other_systems_filters() {
    let folder = Folder::new();
    folder.write("keys", urls(0..20_000));
    let build = "build -q -o big keys --format parquet --size 64MiB";
    folder.umbel(build).run().done();
    let small = |arguments: &str| folder.umbel(arguments).arg("--memory").arg("32MiB").run();
    small("query big keys --format parquet").fails(&["big", "32MiB", "least"]);
    small("query big keys").fails(&["big"]);
    small("build -o other keys --format parquet --size 64MiB").fails(&["32MiB", "least"]);
    // A chain that would outgrow the cap stops before, and the file stays.
    let chain = "build -q -o chain keys --format redisbloom --keys 8e6 --fpp 0.0001";
    let build = |memory: &str| folder.umbel(chain).arg("--memory").arg(memory).run();
    build("16MiB").fails(&["least"]);
    build("128MiB").done();
    // Its next link would have 3 million entries.
    folder.write("few", urls(0..100));
    let few =
        "build -q -f -o chain few --format redisbloom --keys 100 --fpp 1e-6 --param growth=30000";
    folder.umbel(few).run().done();
    let run = folder.umbel("add chain keys --memory 16MiB").run();
    run.fails(&["chain", "grown"]);
    folder.umbel("add -q chain keys --memory 64MiB").run().done();
    folder.umbel("query -q -v chain keys").run().nothing();
    // An empty file that leaves out its bits, 1 GiB of them.
    let mut empty = vec![3, 1, 21, 4, 7, 0, 0, 0];
    empty.extend([9001u64, 1 << 27].map(u64::to_le_bytes).concat());
    folder.write("empty", &empty);
    let add = "add empty keys --key-type bytes --memory 64MiB";
    folder.umbel(add).run().fails(&["64MiB", "least"]);
    assert_eq!(folder.read("empty"), empty);
}

#[test]
fn records_and_pipes_give_keys() {
    let folder = Folder::new();
    folder.write("table", "id,name\n7,a\n-8,b\n9,c\n");
    let build = "build -q -o ids table --csv --key id --format parquet --key-type i64 --size 1kB";
    folder.umbel(build).run().done();
    folder.write("plain", "7\n-8\n9\n");
    let build = "build -q -o plain.ids plain --format parquet --key-type i64 --size 1kB";
    folder.umbel(build).run().done();
    assert!(folder.read("ids") == folder.read("plain.ids"));
    let query = "query -q ids table --csv --key id --key-type i64";
    assert_eq!(folder.umbel(query).run().text(), "id,name\n7,a\n-8,b\n9,c\n");
    let found = folder.umbel("query -q ids --key-type i64").stdin("1\n9\n2\n").run().text();
    assert_eq!(found, "9\n");
    let run = folder.umbel("query ids --key-type i64").stdin("9\nx\n").run();
    failed(&run, "standard input, line 2: ");
    let two = "query ids table --csv --key id --key name";
    folder.umbel(two).run().fails(&["--key", "one field"]);
    // Out of a pipe and into one.
    let piped = folder
        .umbel("build -q -o - --format parquet --key-type i64 --size 1kB")
        .stdin("7\n-8\n9\n")
        .run()
        .done();
    assert!(piped == folder.read("ids"));
}

#[test]
fn salted_bits_are_told_their_salts() {
    let folder = Folder::new();
    folder.write("keys", urls(0..50));
    let how = "--format salted-sha1 --param salts=one,two,three";
    folder.umbel(&format!("build -q -o bits keys {how} --size 128")).run().done();
    assert_eq!(folder.read("bits").len(), 128);
    let found = folder.umbel(&format!("query -q bits keys {how}")).run().done();
    assert!(found == folder.read("keys"));
    folder.umbel("query bits keys --format salted-sha1").run().fails(&["bits: ", "salts"]);
    assert_eq!(info(&folder, &format!("bits {how}"))["probes"], 3);
}

#[test]
fn the_table_of_formats_is_in_the_help() {
    let help = Folder::new().umbel("build --help").run().text();
    for words in ["parquet-bits ", "salts=…", "goleveldb", "utf16", "docs/formats.md"] {
        assert!(help.contains(words), "no {words} in {help}");
    }
}

/// Asserts what a run said that failed, maybe after some answers.
fn failed(run: &Outcome, words: &str) {
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stderr.contains(words), "no {words:?} in {}", run.stderr);
}
