//! How many reads of data blocks a table's Bloom filter saves a storage engine, for absent keys.
//!
//! Opens a table file of LevelDB (`.ldb`) or RocksDB (`.sst`), queries its filter in place, and looks up keys with the
//! filter and without:
//!
//! ```text
//! cargo run -p umbel-foreign --example lsm                          the two tables in testdata/foreign/tables
//! cargo run -p umbel-foreign --example lsm -- TABLE KEY [KEY…]      other tables, not compressed
//! ```
//!
//! ```text
//! data block 0 | data block 1 | … | filter block | (properties) | metaindex block | index block | footer
//! ```
//!
//! The footer locates metaindex and index; the metaindex locates the filter; the index has, for each data block, a key
//! that is not less than its last one. A key in a table is followed by 8 bytes with its version. LevelDB has a filter
//! for each 2 KiB of the file in which data blocks start, so it searches the index before it queries a filter; RocksDB
//! has one filter for the whole table and queries it first. Formats: `google/leveldb`, `doc/table_format.md`;
//! `facebook/rocksdb`, `table/format.cc`.

use std::env;
use std::error::Error;
use std::fs;

use umbel_foreign::leveldb::LevelDb;
use umbel_foreign::rocksdb::{RocksDb, RocksDbLegacy};
use umbel_foreign::{ForeignFilter, Format, Key, Parameters};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [path, keys @ ..] = &arguments[..] {
        let file = fs::read(path)?;
        let table = Table::open(&file)?;
        for key in keys {
            let Found { present, reads, .. } = table.look_up(key.as_bytes())?;
            let what = if present { "present" } else { "absent" };
            println!(
                "{key}: {what}, {} blocks read without the filter, {} with it",
                reads[0], reads[1]
            );
        }
        return Ok(());
    }
    for name in SAMPLES {
        print!("{}", report(name)?);
    }
    Ok(())
}

const SAMPLES: [&str; 2] = ["leveldb.ldb", "rocksdb.sst"];

fn sample(name: &str) -> Result<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/tables");
    Ok(fs::read(format!("{folder}/{name}"))?)
}

/// Both samples have the keys user-000000, user-000002, … to user-003998.
fn keys(first: usize) -> impl Iterator<Item = String> {
    (first..4000).step_by(2).map(|i| format!("user-{i:06}"))
}

fn report(name: &str) -> Result<String> {
    let file = sample(name)?;
    let table = Table::open(&file)?;
    let mut text = format!(
        "{name}: {} data blocks of {} bytes, {}\n{:<26} {:>10} {:>14} {:>14} {:>10}\n",
        table.index.len(),
        table.index.iter().map(|(_, block)| block.size).sum::<usize>(),
        table.filter.words(),
        "",
        "looked up",
        "blocks read",
        "with filter",
        "saved",
    );
    for (what, first) in [("keys of the table", 0), ("keys that are not there", 1)] {
        let [count, without, with] = totals(&table, keys(first))?;
        let saved = (without - with) as f64 / without as f64 * 100.0;
        text += &format!("{what:<26} {count:>10} {without:>14} {with:>14} {saved:>8.1} %\n");
    }
    Ok(text + "\n")
}

/// The number of keys present, and of blocks read for them without the filter and with it.
fn totals(table: &Table<'_>, keys: impl Iterator<Item = String>) -> Result<[usize; 3]> {
    let mut totals = [0; 3];
    for key in keys {
        let Found { reads: [without, with], .. } = table.look_up(key.as_bytes())?;
        totals = [totals[0] + 1, totals[1] + without, totals[2] + with];
    }
    Ok(totals)
}

/// A table file: the parts that an engine keeps in memory.
struct Table<'a> {
    file: &'a [u8],
    /// For each data block, a key that is not less than any of its own.
    index: Vec<(Vec<u8>, Handle)>,
    filter: Filter<'a>,
}

/// The location of a block: its first byte, and its bytes without the five of its trailer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Handle {
    offset: usize,
    size: usize,
}

enum Filter<'a> {
    /// LevelDB's: one for the data blocks that start in each 2^`shift` bytes of the file.
    Pieces {
        shift: u32,
        pieces: Vec<LevelDb<&'a [u8]>>,
    },
    /// RocksDB's: one for all keys.
    Full(Box<dyn ForeignFilter + 'a>),
    None,
}

/// The result of looking a key up.
#[derive(Debug, PartialEq)]
struct Found {
    present: bool,
    /// Whether the filter lets it pass.
    passes: bool,
    /// Data blocks read without the filter, and with it.
    reads: [usize; 2],
}

/// Bytes after a block: its compression, and a checksum.
const TRAILER: usize = 5;
/// Bytes after a key: its sequence number and its type.
const VERSION: usize = 8;

impl<'a> Table<'a> {
    fn open(file: &'a [u8]) -> Result<Self> {
        const LEVELDB: u64 = 0xdb47_7524_8b80_fb57;
        const ROCKSDB: u64 = 0x88e2_41b7_85f4_cff7;
        let (rest, magic) = file.split_last_chunk().ok_or("no table: it is empty")?;
        match u64::from_le_bytes(*magic) {
            LEVELDB => Self::open_leveldb(file, tail(rest, 40)?),
            ROCKSDB => Self::open_rocksdb(file, tail(rest, 45)?),
            other => Err(format!("no table: it ends with {other:#x}, the magic of neither").into()),
        }
    }

    fn open_leveldb(file: &'a [u8], mut footer: &[u8]) -> Result<Self> {
        let metaindex = entries(block(file, Handle::read(&mut footer)?)?, plain)?;
        let index = entries(block(file, Handle::read(&mut footer)?)?, plain)?;
        let name = b"filter.leveldb.BuiltinBloomFilter2";
        let filter = match metaindex.iter().find(|(key, _)| key == name) {
            None => Filter::None,
            Some(&(_, mut handle)) => {
                // | filter 0 | filter 1 | … | u32 offset of each | u32 offset of the offsets | u8 shift |
                let content = block(file, Handle::read(&mut handle)?)?;
                let (rest, [shift]) = content.split_last_chunk().ok_or(SHORT)?;
                let (_, at) = rest.split_last_chunk().ok_or(SHORT)?;
                let offsets = rest.get(u32::from_le_bytes(*at) as usize..).ok_or(SHORT)?;
                let offsets: Vec<_> = offsets
                    .as_chunks()
                    .0
                    .iter()
                    .map(|offset| u32::from_le_bytes(*offset))
                    .collect();
                let piece = |ends: &[u32]| -> Result<_> {
                    let piece = content.get(ends[0] as usize..ends[1] as usize).ok_or(SHORT)?;
                    Ok(LevelDb::decode(Format::LevelDb, piece, &Parameters::default())?)
                };
                let pieces = offsets.windows(2).map(piece).collect::<Result<_>>()?;
                Filter::Pieces { shift: (*shift).into(), pieces }
            }
        };
        let index = index
            .into_iter()
            .map(|(key, mut handle)| Ok((user_key(&key)?.to_vec(), Handle::read(&mut handle)?)));
        Ok(Self { file, index: index.collect::<Result<_>>()?, filter })
    }

    fn open_rocksdb(file: &'a [u8], footer: &[u8]) -> Result<Self> {
        // A byte gives the kind of checksum; format versions from 6 on have another footer.
        let (handles, version) = footer.split_last_chunk().ok_or(SHORT)?;
        let version = u32::from_le_bytes(*version);
        if !(1..=5).contains(&version) {
            return Err(format!("format version {version}; this example reads 1 to 5").into());
        }
        let mut handles = &handles[1..];
        let metaindex = entries(block(file, Handle::read(&mut handles)?)?, plain)?;
        let index = block(file, Handle::read(&mut handles)?)?;
        let find = |name: &str| -> Result<Option<&'a [u8]>> {
            let found = metaindex.iter().find(|(key, _)| key == name.as_bytes());
            found.map(|&(_, mut handle)| block(file, Handle::read(&mut handle)?)).transpose()
        };
        let properties =
            entries(find("rocksdb.properties")?.ok_or("it has no properties")?, plain)?;
        let property = |name: &str| -> Result<u64> {
            let found = properties.iter().find(|(key, _)| key == name.as_bytes());
            found.map_or(Ok(0), |&(_, mut value)| varint(&mut value))
        };
        if property("rocksdb.block.based.table.index.type")? != 0 {
            return Err(
                "its index is in partitions or hashed; this example reads plain ones".into()
            );
        }
        let given = Parameters::default();
        let filter = match find("fullfilter.rocksdb.BuiltinBloomFilter")? {
            None => Filter::None,
            // Where newer filters have 0xff, older ones have the number of probes.
            Some(content) if tail(content, 5)?[0] == 0xff => {
                Filter::Full(Box::new(RocksDb::decode(Format::RocksDb, content, &given)?))
            }
            Some(content) => Filter::Full(Box::new(RocksDbLegacy::decode(
                Format::RocksDbLegacy,
                content,
                &given,
            )?)),
        };
        let bare_keys = property("rocksdb.index.key.is.user.key")? != 0;
        let key = |key: &[u8]| -> Result<Vec<u8>> {
            Ok(if bare_keys { key } else { user_key(key)? }.to_vec())
        };
        let index = match property("rocksdb.index.value.is.delta.encoded")? {
            0 => entries(index, plain)?
                .into_iter()
                .map(|(name, mut handle)| Ok((key(&name)?, Handle::read(&mut handle)?)))
                .collect::<Result<_>>()?,
            _ => {
                let mut before = Handle { offset: 0, size: 0 };
                let next = |rest: &mut &[u8], shared, _| {
                    // A key that shares nothing comes with its offset; others only with the difference in size from the
                    // block before, which they follow directly.
                    before = match shared {
                        0 => Handle::read(rest)?,
                        _ => {
                            let zigzag = varint(rest)?;
                            let more = (zigzag >> 1) as isize ^ -((zigzag & 1) as isize);
                            let size = before.size.checked_add_signed(more).ok_or(SHORT)?;
                            Handle { offset: before.offset + before.size + TRAILER, size }
                        }
                    };
                    Ok(before)
                };
                let index = entries_with(index, false, next)?;
                index
                    .into_iter()
                    .map(|(name, handle)| Ok((key(&name)?, handle)))
                    .collect::<Result<_>>()?
            }
        };
        Ok(Self { file, index, filter })
    }

    fn look_up(&self, key: &[u8]) -> Result<Found> {
        let at = self.index.partition_point(|(last, _)| last.as_slice() < key);
        let Some((_, handle)) = self.index.get(at) else {
            // After the last key: no block can have it.
            return Ok(Found { present: false, passes: false, reads: [0, 0] });
        };
        let passes = self.filter.passes(key, *handle)?;
        let mut present = false;
        for (name, _) in entries(block(self.file, *handle)?, plain)? {
            present |= user_key(&name)? == key;
        }
        Ok(Found { present, passes, reads: [1, passes.into()] })
    }
}

impl Filter<'_> {
    /// Whether the block may have the key.
    fn passes(&self, key: &[u8], block: Handle) -> Result<bool> {
        let key = Key::Bytes(key);
        match self {
            Self::Pieces { shift, pieces } => {
                match pieces.get(block.offset.checked_shr(*shift).unwrap_or(0)) {
                    Some(piece) => Ok(piece.contains(key)?),
                    None => Ok(true),
                }
            }
            Self::Full(filter) => Ok(filter.contains(key)?),
            Self::None => Ok(true),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Pieces { pieces, .. } => {
                let bytes: usize = pieces.iter().map(|piece| piece.content().len()).sum();
                let filled = pieces.iter().filter(|piece| !piece.content().is_empty()).count();
                format!("{filled} filters of {bytes} bytes")
            }
            Self::Full(filter) => format!("1 filter of {} bytes", filter.receipt().bytes),
            Self::None => "no filter".to_owned(),
        }
    }
}

impl Handle {
    fn read(bytes: &mut &[u8]) -> Result<Self> {
        let [offset, size] = [varint(bytes)?, varint(bytes)?];
        Ok(Self { offset: offset.try_into()?, size: size.try_into()? })
    }
}

const SHORT: &str = "a block or a field ends beyond its table; truncated or damaged";

fn tail(bytes: &[u8], length: usize) -> Result<&[u8]> {
    Ok(bytes.len().checked_sub(length).map(|from| &bytes[from..]).ok_or(SHORT)?)
}

/// Seven bits per byte, the lowest first.
fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(SHORT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of more than 64 bits".into())
}

/// The content of a block.
fn block(file: &[u8], handle: Handle) -> Result<&[u8]> {
    let end = handle.offset.checked_add(handle.size).ok_or(SHORT)?;
    let content = file.get(handle.offset..end).ok_or(SHORT)?;
    match file.get(end).ok_or(SHORT)? {
        0 => Ok(content),
        kind => {
            Err(format!("its blocks are compressed, kind {kind}; this example reads plain ones")
                .into())
        }
    }
}

/// The key without its version.
fn user_key(key: &[u8]) -> Result<&[u8]> {
    Ok(key.len().checked_sub(VERSION).map(|end| &key[..end]).ok_or(SHORT)?)
}

/// A value as in most blocks: as many bytes as its length.
fn plain<'a>(rest: &mut &'a [u8], _: u64, length: u64) -> Result<&'a [u8]> {
    let (value, after) = rest.split_at_checked(length.try_into()?).ok_or(SHORT)?;
    *rest = after;
    Ok(value)
}

/// The keys of a block of entries, with their values.
fn entries<'a, T>(
    content: &'a [u8],
    value: impl FnMut(&mut &'a [u8], u64, u64) -> Result<T>,
) -> Result<Vec<(Vec<u8>, T)>> {
    entries_with(content, true, value)
}

/// | shared | unshared | length of value | unshared bytes of key | value | … | u32 restarts … | u32 count |
///
/// A key repeats the first `shared` bytes of the one before. `value` reads what follows the key.
fn entries_with<'a, T>(
    content: &'a [u8],
    lengths: bool,
    mut value: impl FnMut(&mut &'a [u8], u64, u64) -> Result<T>,
) -> Result<Vec<(Vec<u8>, T)>> {
    let (rest, restarts) = content.split_last_chunk().ok_or(SHORT)?;
    let restarts = 4 * u32::from_le_bytes(*restarts) as usize;
    let mut rest = &rest[..rest.len().checked_sub(restarts).ok_or(SHORT)?];
    let (mut found, mut key) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (shared, unshared) = (varint(&mut rest)?, varint(&mut rest)?);
        let length = if lengths { varint(&mut rest)? } else { 0 };
        if shared > key.len() as u64 {
            return Err(SHORT.into());
        }
        key.truncate(shared as usize);
        key.extend(plain(&mut rest, shared, unshared)?);
        found.push((key.clone(), value(&mut rest, shared, length)?));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_saves_reads_of_absent_keys_and_no_others() {
        for name in SAMPLES {
            let file = sample(name).unwrap();
            let table = Table::open(&file).unwrap();
            for key in keys(0) {
                let found = table.look_up(key.as_bytes()).unwrap();
                assert_eq!(
                    found,
                    Found { present: true, passes: true, reads: [1, 1] },
                    "{name} {key}"
                );
            }
            let mut read = 0;
            for key in keys(1) {
                let found = table.look_up(key.as_bytes()).unwrap();
                assert!(!found.present, "{name} {key}");
                read += found.reads[1];
            }
            // 10 bits per key let 0.8 to 1 % pass: 2000 keys mean 20, and 20 + 6 · √20 < 47.
            assert!((1..47).contains(&read), "{name}: {read}");
            // The last index key may be "v", the shortest text after all users.
            let beyond = table.look_up(b"w").unwrap();
            assert_eq!(beyond.reads, [0, 0]);
            assert!(report(name).unwrap().contains(&format!("{read} ")));
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_answer() {
        for name in SAMPLES {
            let file = sample(name).unwrap();
            for end in (0..file.len()).step_by(97) {
                assert!(Table::open(&file[..end]).is_err(), "{name}: {end} bytes");
            }
            // After the data blocks.
            for i in file.len() - 2000..file.len() {
                for bit in [0, 3, 7] {
                    let mut changed = file.clone();
                    changed[i] ^= 1 << bit;
                    if let Ok(table) = Table::open(&changed) {
                        let _ = table.look_up(b"user-001234");
                    }
                }
            }
        }
    }
}
