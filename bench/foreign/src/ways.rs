//! The filters, and the ways to query them.

use std::fs::File;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result};
use bench_common::Key as _;
use memmap2::Mmap;
use umbel::{AnyFilter, Blocked, Hash64, Kind, MappedFile, Plan, Prehashed};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::rocksdb::RocksDb;
use umbel_foreign::{ForeignFilter, Format, Key, Parameters};

/// Numbers of keys never inserted start here.
pub(crate) const FRESH: u64 = 1 << 40;
/// Keys made or handed on at a time.
const BLOCK: usize = 1024;

/// Keys to query.
pub(crate) struct Asked {
    /// XXH64 of the integers: what Parquet's filters are asked by, and as good as any for the others.
    hashes: Vec<u64>,
    integers: Vec<i64>,
}

impl Asked {
    /// The keys from number `first` on.
    pub(crate) fn new(first: u64, count: u64) -> Self {
        let integers: Vec<i64> = (first..first + count).map(|i| u64::nth(i) as i64).collect();
        let hasher = hasher();
        let hashes = integers.iter().map(|&key| hash(&hasher, key)).collect();
        Self { hashes, integers }
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }
}

/// Parquet's hash, which its filters give whatever they hold.
fn hasher() -> Parquet {
    Parquet::new(Format::Parquet, &Parameters::for_keys(1, 0.01)).expect("the smallest filter")
}

fn hash(hasher: &Parquet, key: i64) -> u64 {
    hasher.hash(Key::I64(key)).expect("a type it hashes").expect("a key it takes")
}

/// A way to query a filter.
pub(crate) struct Way {
    pub(crate) peer: &'static str,
    pub(crate) version: &'static str,
    /// The filter queried: ways with the same word give the same answers.
    pub(crate) filter: &'static str,
    /// `mapped` file or `owned` memory.
    store: &'static str,
    /// `hashed` or `i64`, to be hashed as part of the time.
    pub(crate) keys: &'static str,
    /// `one` for one key per call, `batch` for many.
    pub(crate) mode: &'static str,
    /// The rate by its bits.
    pub(crate) expected: f64,
    ask: Ask,
}

type Ask = Box<dyn Fn(&Asked, &mut [bool])>;

impl Way {
    pub(crate) fn ask(&self, asked: &Asked, found: &mut [bool]) {
        (self.ask)(asked, found);
    }

    pub(crate) fn answers(&self, asked: &Asked) -> Vec<bool> {
        let mut found = vec![false; asked.len()];
        self.ask(asked, &mut found);
        found
    }

    pub(crate) fn variant(&self) -> String {
        format!("{}, {}", self.filter, self.store)
    }

    pub(crate) fn name(&self) -> String {
        format!("{} {}, {}, {}", self.peer, self.variant(), self.keys, self.mode)
    }
}

/// All ways to ask filters of `bytes` bytes with `keys` keys in them; files go to `folder`.
pub(crate) fn all(bytes: u64, keys: u64, folder: &Path) -> Result<Vec<Way>> {
    let mut ways = parquet(bytes, keys, folder)?;
    ways.extend(rocksdb(keys, folder)?);
    ways.extend(blocked(bytes, keys, folder)?);
    Ok(ways)
}

/// The hashes of all members, a block at a time.
fn for_members(keys: u64, mut work: impl FnMut(&[u64])) {
    let hasher = hasher();
    for first in (0..keys).step_by(BLOCK) {
        let members = first..keys.min(first + BLOCK as u64);
        let hashes: Vec<u64> = members.map(|i| hash(&hasher, u64::nth(i) as i64)).collect();
        work(&hashes);
    }
}

/// A split-block filter: mapped and queried by umbel, copied by the others, which do not map.
fn parquet(bytes: u64, keys: u64, folder: &Path) -> Result<Vec<Way>> {
    let format = Format::Parquet;
    let given = Parameters { bits: Some(8 * bytes), ..Parameters::default() };
    let mut filter = Parquet::new(format, &given)?;
    for_members(keys, |hashes| filter.insert_hashes(hashes));
    let expected = filter.receipt().fpp;

    let map = mapped(folder, "filter.parquet", filter.content())?;
    let view = Rc::new(Parquet::decode(format, map, &Parameters::default())?);
    let (by_hash, one_by_one, by_key) = (view.clone(), view.clone(), view);
    let sbbf = sbbf_rs_safe::Filter::from_bytes(filter.bit_array()).context("whole blocks")?;
    let arrow = ::parquet::bloom_filter::Sbbf::new(filter.bit_array());

    let way = |peer, version, store, keys, mode, ask: Ask| Way {
        peer,
        version,
        filter: "Parquet",
        store,
        keys,
        mode,
        expected,
        ask,
    };
    let umbel = |store, keys, mode, ask: Ask| way("umbel", UMBEL, store, keys, mode, ask);
    Ok(vec![
        umbel(
            "mapped",
            "hashed",
            "batch",
            Box::new(move |asked, found| {
                by_hash.contains_hashes(&asked.hashes, found);
            }),
        ),
        umbel("mapped", "hashed", "one", each_hash(move |hash| one_by_one.contains_hash(hash))),
        umbel(
            "mapped",
            "i64",
            "batch",
            Box::new(move |asked, found| {
                let mut keys = [Key::I64(0); BLOCK];
                for (integers, found) in asked.integers.chunks(BLOCK).zip(found.chunks_mut(BLOCK)) {
                    for (key, integer) in keys.iter_mut().zip(integers) {
                        *key = Key::I64(*integer);
                    }
                    by_key.contains_all(&keys[..found.len()], found).expect("a type it hashes");
                }
            }),
        ),
        umbel(
            "owned",
            "hashed",
            "batch",
            Box::new(move |asked, found| {
                filter.contains_hashes(&asked.hashes, found);
            }),
        ),
        way(
            "sbbf-rs-safe",
            "0.3.2",
            "owned",
            "hashed",
            "one",
            each_hash(move |hash| sbbf.contains_hash(hash)),
        ),
        way(
            "parquet",
            "60.1.0",
            "owned",
            "i64",
            "one",
            Box::new(move |asked, found| {
                for (found, key) in found.iter_mut().zip(&asked.integers) {
                    *found = arrow.check(key);
                }
            }),
        ),
    ])
}

/// RocksDB's FastLocalBloom.
fn rocksdb(keys: u64, folder: &Path) -> Result<Vec<Way>> {
    let format = Format::RocksDb;
    let bits_per_key = Some(crate::BITS_PER_KEY as f64);
    let given = Parameters { keys: Some(keys), bits_per_key, ..Parameters::default() };
    let mut filter = RocksDb::new(format, &given)?;
    let mut inserted = Ok(());
    for_members(keys, |hashes| {
        if let Err(error) = filter.insert_hashes(hashes) {
            inserted = Err(error);
        }
    });
    inserted?;
    let expected = filter.receipt().fpp;
    let map = mapped(folder, "filter.rocksdb", filter.content())?;
    let view = RocksDb::decode(format, map, &Parameters::default())?;
    let way = |store, ask| batch("FastLocalBloom", store, expected, ask);
    Ok(vec![
        way("mapped", Box::new(move |asked, found| view.contains_hashes(&asked.hashes, found))),
        way("owned", Box::new(move |asked, found| filter.contains_hashes(&asked.hashes, found))),
    ])
}

/// umbel's own, of as many bytes.
fn blocked(bytes: u64, keys: u64, folder: &Path) -> Result<Vec<Way>> {
    let plan = Plan::for_memory(Kind::Blocked, keys, bytes)?;
    let hasher = Prehashed::new(u64::from_be_bytes(*b"XXH64   "));
    let mut filter = Blocked::with_plan(&plan, hasher)?;
    for_members(keys, |hashes| filter.insert_all(Hash64::from_slice(hashes)));
    let expected = filter.receipt().fpp;
    let path = folder.join("filter.umbel");
    filter.write(std::io::BufWriter::new(File::create(&path)?))?;
    // SAFETY: the file is in a folder of this process alone, and is not written to again.
    #[allow(unsafe_code)]
    let map = unsafe { MappedFile::map(&File::open(&path)?)? };
    let AnyFilter::Blocked(view) = AnyFilter::map_with(&map, hasher)? else {
        anyhow::bail!("a blocked filter was written");
    };
    let way = |store, ask| batch("blocked", store, expected, ask);
    Ok(vec![
        way(
            "mapped",
            Box::new(move |asked, found| {
                view.contains_all(Hash64::from_slice(&asked.hashes), found)
            }),
        ),
        way(
            "owned",
            Box::new(move |asked, found| {
                filter.contains_all(Hash64::from_slice(&asked.hashes), found)
            }),
        ),
    ])
}

/// umbel's version.
const UMBEL: &str = "0.1.0";

/// Batches of hashes under umbel.
fn batch(filter: &'static str, store: &'static str, expected: f64, ask: Ask) -> Way {
    let (peer, version, keys, mode) = ("umbel", UMBEL, "hashed", "batch");
    Way { peer, version, filter, store, keys, mode, expected, ask }
}

/// A call for each hash.
fn each_hash(contains: impl Fn(u64) -> bool + 'static) -> Ask {
    Box::new(move |asked, found| {
        for (found, hash) in found.iter_mut().zip(&asked.hashes) {
            *found = contains(*hash);
        }
    })
}

/// The content as a map of a file, which is read once so that its pages are there.
#[allow(unsafe_code)]
fn mapped(folder: &Path, name: &str, content: &[u8]) -> Result<Mmap> {
    let path = folder.join(name);
    std::fs::write(&path, content).with_context(|| path.display().to_string())?;
    // SAFETY: the file is in a folder of this process alone, and is not written to again.
    let map = unsafe { Mmap::map(&File::open(&path)?)? };
    anyhow::ensure!(map[..] == *content, "the file reads back");
    Ok(map)
}
