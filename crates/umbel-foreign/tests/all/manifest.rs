//! `vectors.json` and the key recipes of `testdata/foreign/README.md`. Tests of the command line use them too.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use umbel_foreign::{Format, Key, KeyType, Parameters};

/// The folder of all vectors.
pub(crate) fn folder() -> PathBuf {
    let given = std::env::var_os("UMBEL_VECTORS").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign"))
}

/// The vectors of one folder.
#[derive(Deserialize)]
pub(crate) struct Manifest {
    /// The software that wrote them.
    pub(crate) peer: String,
    pub(crate) vectors: Vec<Vector>,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) key_type: String,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) derived: Map<String, Value>,
    members: Vec<Recipe>,
    member_count: usize,
    probes: Vec<Recipe>,
    probe_count: usize,
    false_positives: String,
    false_positive_count: usize,
    #[serde(default)]
    chunks: Vec<Chunk>,
    pub(crate) file: Option<String>,
    bytes: usize,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct Chunk {
    iterator: u64,
    file: String,
    bytes: usize,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Recipe {
    Seq { format: String, first: i64, count: u64 },
    VarLen { prefix: String, pad: String, r#mod: usize, first: u64, count: u64 },
    Range { first: i64, step: i64, count: u64 },
    SplitMix64 { seed: u64, count: u64 },
    List { name: String },
}

/// Keys from the recipe, and their type in the software.
pub(crate) struct Keys {
    plain: Vec<Plain>,
    key_type: String,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Plain {
    Bytes(Vec<u8>),
    Integer(i64),
}

/// Every folder of the vectors that has a manifest, by name.
pub(crate) fn manifests() -> Vec<Manifest> {
    let root = folder();
    let entries = fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("vectors.json").exists());
    folders.sort();
    let read = |folder: &Path| json(&folder.join("vectors.json"));
    folders.into_iter().map(|folder| Manifest { folder: folder.clone(), ..read(&folder) }).collect()
}

/// The rows of a table: each cell with its name from the first line.
pub(crate) fn table(path: &Path) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let head = lines.next().expect("a line of names").trim_start_matches('#');
    let names: Vec<&str> = head.split('\t').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), names.len(), "{}: {line}", path.display());
        let named = names.iter().zip(cells);
        named.map(|(name, cell)| (name.to_string(), cell.to_owned())).collect()
    };
    lines.map(row).collect()
}

pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn checked(path: &Path, bytes: usize, sha256: &str) -> Vec<u8> {
    let content = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(content.len(), bytes, "bytes of {}", path.display());
    assert_eq!(hex(&Sha256::digest(&content)), sha256, "sha256 of {}", path.display());
    content
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "{digits}");
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

impl Vector {
    /// The filter's bytes; RedisBloom's chunks are concatenated.
    pub(crate) fn content(&self, folder: &Path) -> Vec<u8> {
        let content = match &self.file {
            Some(file) => {
                let sha256 = self.sha256.as_deref().expect("a file has a sha256");
                checked(&folder.join(file), self.bytes, sha256)
            }
            None => self.chunks(folder).into_iter().flat_map(|(_, chunk)| chunk).collect(),
        };
        assert_eq!(content.len(), self.bytes, "{}", self.name);
        content
    }

    /// RedisBloom's chunks, each with its iterator; empty for other formats.
    pub(crate) fn chunks(&self, folder: &Path) -> Vec<(u64, Vec<u8>)> {
        let content = |it: &Chunk| checked(&folder.join(&it.file), it.bytes, &it.sha256);
        self.chunks.iter().map(|chunk| (chunk.iterator, content(chunk))).collect()
    }

    pub(crate) fn members(&self) -> Keys {
        Keys::new(&self.members, self.member_count, &self.key_type)
    }

    pub(crate) fn probes(&self) -> Keys {
        Keys::new(&self.probes, self.probe_count, &self.key_type)
    }

    /// The numbers of the probes that pass, in order.
    pub(crate) fn false_positives(&self, folder: &Path) -> Vec<usize> {
        let text = fs::read_to_string(folder.join(&self.false_positives)).expect("a list");
        let numbers: Vec<usize> =
            text.lines().map(|line| line.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), self.false_positive_count, "{}", self.name);
        numbers
    }

    /// A parameter that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.parameters.get(name)?.as_f64()
    }

    /// A parameter that is a whole number of at least 0.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.parameters.get(name)?.as_u64()
    }

    /// A parameter that is a word.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)?.as_str()
    }
}

/// The format of a vector, with its parameters under their names here.
pub(crate) fn settings(peer: &str, vector: &Vector) -> (Format, Parameters) {
    let count = |name| vector.count(name);
    let small = |name| count(name).map(|count| count as u32);
    let is = |name, value| vector.count(name) == Some(value);
    let keys = vector.derived.get("capacity").filter(|_| peer == "squid").and_then(Value::as_u64);
    let given = Parameters {
        keys: keys.or(count("n")).or(count("ndv")).or(count("capacity")),
        fpp: vector.number("fpp").or(vector.number("error")),
        bits: count("bits").or(count("m")).or(count("bytes").map(|bytes| 8 * bytes)),
        probes: small("k"),
        bits_per_key: vector.number("bits_per_key").or(vector.number("digest_bits_per_entry")),
        // Some seeds are unsigned 64-bit numbers.
        seed: vector.parameters.get("seed").map(|seed| {
            seed.as_i64().or_else(|| seed.as_u64().map(|seed| seed as i64)).expect("a whole number")
        }),
        growth: match is("nonscaling", 1) {
            true => Some(0),
            false => small("expansion").or(small("scalable")),
        },
        bucket_size: small("bucket_size"),
        max_iterations: small("max_iterations"),
        ..Parameters::default()
    };
    let is_json = || vector.file.as_ref().is_some_and(|file| file.ends_with(".json"));
    let (format, option) = match peer {
        "parquet" => (Format::Parquet, ("arrow", vector.word("writer") == Some("pyarrow"))),
        "guava" => (Format::Guava, ("mitz32", is("strategy", 0))),
        "spark" => (Format::Spark, ("v1", is("version", 1))),
        "redisbloom" => (Format::RedisBloom, NONE),
        "redisbloom-cuckoo" => (Format::RedisBloomCuckoo, NONE),
        "valkey-bloom" => (Format::ValkeyBloom, NONE),
        "leveldb" => (Format::LevelDb, NONE),
        "goleveldb" | "badger" => (Format::LevelDb, (peer, true)),
        "rocksdb" if vector.count("format_version") < Some(5) => (Format::RocksDbLegacy, NONE),
        "rocksdb" => (Format::RocksDb, NONE),
        "pybloom-live-3" if given.growth.is_some() => (Format::Pybloom3Scalable, NONE),
        "pybloom-live-3" => (Format::Pybloom3, NONE),
        "pybloom-live-4" if given.growth.is_some() => (Format::Pybloom4Scalable, NONE),
        "pybloom-live-4" => (Format::Pybloom4, NONE),
        "datasketches" => (Format::DataSketches, ("counted", is("counted", 1))),
        "hadoop" => (Format::Hadoop, ("jenkins", vector.word("hash") == Some("jenkins"))),
        "hive" => (Format::Hive, NONE),
        "orc" => (Format::Orc, NONE),
        "bits-and-blooms" if is_json() => (Format::BitsAndBloomsJson, NONE),
        "bits-and-blooms" => (Format::BitsAndBlooms, NONE),
        "squid" => (Format::Squid, NONE),
        other => panic!("no system is called {other}"),
    };
    (format, if option.1 { given.with(option.0) } else { given })
}

/// No option.
const NONE: (&str, bool) = ("", false);

impl Keys {
    fn new(recipes: &[Recipe], count: usize, key_type: &str) -> Self {
        let mut plain = Vec::with_capacity(count);
        for recipe in recipes {
            recipe.make(&mut plain);
        }
        assert_eq!(plain.len(), count);
        Self { plain, key_type: key_type.to_owned() }
    }

    pub(crate) fn len(&self) -> usize {
        self.plain.len()
    }

    /// Sorted by their bytes without repeats, as in a RocksDB table.
    pub(crate) fn sorted(mut self) -> Self {
        self.plain.sort();
        self.plain.dedup();
        self
    }

    /// As written in a text file.
    #[allow(dead_code)] // for the tests of the command line
    pub(crate) fn texts(&self) -> Vec<Vec<u8>> {
        let text = |plain: &Plain| match plain {
            Plain::Bytes(bytes) => bytes.clone(),
            Plain::Integer(number) => number.to_string().into_bytes(),
        };
        self.plain.iter().map(text).collect()
    }

    /// Calls `with` for each run of `size` keys, in order.
    pub(crate) fn in_batches(&self, size: usize, mut with: impl FnMut(&[Key<'_>])) {
        self.plain.chunks(size).for_each(|plain| self.together(plain, &mut with));
    }

    /// Calls `with` for all keys together.
    pub(crate) fn all<T>(&self, with: impl FnOnce(&[Key<'_>]) -> T) -> T {
        self.together(&self.plain, with)
    }

    fn together<T>(&self, plain: &[Plain], with: impl FnOnce(&[Key<'_>]) -> T) -> T {
        let mut buffers = vec![Vec::new(); plain.len()];
        let each = plain.iter().zip(&mut buffers);
        let keys: Vec<Key<'_>> = each.map(|(plain, buffer)| self.key(plain, buffer)).collect();
        with(&keys)
    }

    /// The key that the software makes from a recipe's key.
    fn key<'a>(&self, plain: &'a Plain, buffer: &'a mut Vec<u8>) -> Key<'a> {
        let key = match (plain, self.key_type.as_str()) {
            (Plain::Bytes(bytes), "bytes" | "utf8") => return Key::Bytes(bytes),
            (Plain::Bytes(bytes), "utf16le") => KeyType::Utf16.read(bytes, buffer),
            (Plain::Bytes(url), kind) if kind.starts_with("url") => KeyType::Url.read(url, buffer),
            (Plain::Integer(key), "i64") => return Key::I64(*key),
            (Plain::Integer(key), "i32") => return Key::I32((*key).try_into().expect("32 bits")),
            (Plain::Integer(key), "f64") => return Key::F64(*key as f64),
            (Plain::Integer(key), "f32") => return Key::F32(*key as f32),
            (Plain::Integer(key), "decimal") => {
                buffer.clear();
                buffer.extend(key.to_string().bytes());
                return Key::Bytes(buffer);
            }
            (_, other) => panic!("no such keys are called {other}"),
        };
        key.expect("keys fit their type")
    }
}

impl Recipe {
    fn make(&self, keys: &mut Vec<Plain>) {
        match self {
            Self::Seq { format, first, count } => {
                let number = |i| printf(format, first + i as i64);
                keys.extend((0..*count).map(|i| Plain::Bytes(number(i).into_bytes())));
            }
            Self::VarLen { prefix, pad, r#mod, first, count } => {
                keys.extend((*first..first + count).map(|i| {
                    let padding = pad.repeat(i as usize % r#mod);
                    Plain::Bytes(format!("{prefix}{i}/{padding}").into_bytes())
                }));
            }
            Self::Range { first, step, count } => {
                keys.extend((0..*count as i64).map(|i| Plain::Integer(first + i * step)));
            }
            Self::SplitMix64 { seed, count } => {
                let mut state = *seed;
                keys.extend((0..*count).map(|_| {
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                    Plain::Integer((z ^ z >> 31) as i64)
                }));
            }
            Self::List { name } => {
                let lists: Map<String, Value> = json(&folder().join("keys.json"));
                let list = lists[name].as_array().expect("a list of keys");
                keys.extend(list.iter().map(|key| match key {
                    Value::String(digits) => Plain::Bytes(unhex(digits)),
                    number => Plain::Integer(number.as_i64().expect("a key")),
                }));
            }
        }
    }
}

/// printf of one integer: `%d` and `%06d`, with text around.
fn printf(format: &str, number: i64) -> String {
    let (before, rest) = format.split_once('%').expect("a place for the number");
    let (width, after) = rest.split_once('d').expect("a decimal number");
    assert!(width.is_empty() || width.starts_with('0'), "{format}");
    let digits = if width.is_empty() { 0 } else { width.parse().expect("a width") };
    format!("{before}{number:0digits$}{after}")
}
