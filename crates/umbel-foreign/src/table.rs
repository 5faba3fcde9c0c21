//! Table files of LevelDB (`.ldb`) and RocksDB (`.sst`): the filters in them, and which one is queried for a key.
//!
//! ```text
//! data block 0 | data block 1 | … | filter block | (properties) | metaindex block | index block | footer
//! block   = content | compression u8 | checksum u32 LE
//! entries = shared | unshared | length of value | unshared bytes of key | value | … | restarts, u32 each | count u32
//! ```
//!
//! The footer locates metaindex and index; the metaindex locates the filter; the index has, for each data block, a key
//! that is not less than its last one. A key in a table is followed by 8 bytes with its version. LevelDB has a filter
//! for each 2 KiB of the file in which data blocks start, so it searches the index before it queries a filter; RocksDB
//! has one filter for the whole table and queries it first. Formats: `google/leveldb`, `doc/table_format.md`;
//! `facebook/rocksdb`, `table/format.cc`. Checked against LevelDB 1.23 and RocksDB 7.8.3; RocksDB's footers from format
//! version 6 on, by its source.

use std::io;
use std::ops::Range;

use twox_hash::{XxHash3_64, XxHash32, XxHash64};

use crate::bytes::{read_varint, unzigzag};
use crate::{Error, Foreign, ForeignFilter, Format, Key};

/// Why a table was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It does not end like a table.
    #[error("not a LevelDB or RocksDB table: it does not end like one; truncated? copy it again")]
    NotTable,
    /// A block or a field ends beyond what contains it.
    #[error(
        "a block or a field extends beyond the end of the table; truncated or damaged? copy it again"
    )]
    Short,
    /// A block does not match its checksum.
    #[error(
        "the block at byte {offset} of the table is damaged: its checksum does not match; copy the file again"
    )]
    Damaged {
        /// Where the block starts.
        offset: u64,
    },
    /// A block does not fit the limit.
    #[error(
        "the block at byte {offset} of the table has {bytes} bytes, more than the limit of {limit}"
    )]
    TooLarge {
        /// Where the block starts.
        offset: u64,
        /// Its bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A part has an unsupported version or kind.
    #[error("the table has {what} {found}, which umbel does not read")]
    Unsupported {
        /// The part.
        what: &'static str,
        /// The version, kind or name found.
        found: String,
    },
    /// Its filter has prefixes of the keys, and not the keys themselves.
    #[error("the table's filter has only prefixes of its keys, so it cannot be asked for a key")]
    PrefixesOnly,
    /// It has no filter.
    #[error(
        "the table has no filter; its writer needs a filter policy, such as NewBloomFilterPolicy(10)"
    )]
    NoFilter,
    /// The filter is invalid in its format.
    #[error(transparent)]
    Filter(#[from] Error),
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A table file whose filters and index were read.
#[derive(Debug)]
pub struct Table {
    format: Format,
    pieces: Vec<Piece>,
    /// LevelDB: the bytes of the file for each filter, as a power of two.
    shift: Option<u32>,
    /// If it is not read, what is unsupported, and which.
    index: Result<Index, (&'static str, String)>,
}

/// For each data block, a key that is not less than any of its own, and where it is.
type Index = Vec<(Vec<u8>, Range<u64>)>;

/// A filter of a table.
#[derive(Debug)]
pub struct Piece {
    /// It has the keys of the data blocks that start in these bytes of the file.
    pub blocks: Range<u64>,
    /// Without bytes it holds no key.
    pub filter: Foreign,
}

/// The location of a block: its first byte, and its bytes without its trailer.
#[derive(Clone, Copy, Default)]
struct Handle {
    offset: u64,
    size: u64,
}

/// Bytes after a block: its compression, and a checksum.
const TRAILER: u64 = 5;
/// The most bytes of keys in memory for a byte of their block, and a key's overhead beyond its own bytes.
const SPREAD: u64 = 32;
const KEPT: u64 = 64;
/// Bytes after a key: its sequence number and its type.
const VERSION: usize = 8;
/// Magics at the end of a file; the first one is also RocksDB's in format version 0.
const LEVELDB: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
const ROCKSDB: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();
/// The bytes of the longest footer.
const FOOTER: u64 = 53;
/// In place of the handles, from format version 6 on.
const EXTENDED: [u8; 4] = [0x3e, 0, 0x7a, 0];

/// Returns whether a file whose last bytes these are is a table.
pub fn is_table(tail: &[u8]) -> bool {
    tail.ends_with(&LEVELDB) || tail.ends_with(&ROCKSDB)
}

impl Table {
    /// Reads the filters and, if it can, the index of a file of `length` bytes; `read` fills bytes from an offset on. No
    /// block may have more than `most` bytes.
    ///
    /// Cost: reads the end of the file and those blocks; a RocksDB index compressed by anything but Snappy is left out.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn open(
        length: u64,
        most: u64,
        read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Self, TableError> {
        let mut tail = vec![0; length.min(FOOTER) as usize];
        read(length - tail.len() as u64, &mut tail)?;
        if !is_table(&tail) {
            return Err(TableError::NotTable);
        }
        let footer = Footer::parse(&tail, length)?;
        let file = File { length, most, read, footer };
        let content = file.block(file.footer.metaindex)?;
        let metaindex = entries(&content, plain)?;
        let is_filter = |name: &[u8]| name.windows(6).any(|six| six == b"filter");
        let filters: Vec<_> = metaindex.iter().filter(|(name, _)| is_filter(name)).collect();
        let (name, mut handle) = match filters[..] {
            [(name, handle)] => (name, *handle),
            [] => return Err(TableError::NoFilter),
            _ => return Err(unsupported("filters", filters.len())),
        };
        let place = Handle::read(&mut handle)?;
        let content = file.block(place)?;
        let (format, shift, pieces) = match &name[..] {
            b"filter.leveldb.BuiltinBloomFilter2" => {
                let (shift, pieces) = leveldb_pieces(&content, place.offset)?;
                (Format::LevelDb, Some(shift), pieces)
            }
            b"fullfilter.rocksdb.BuiltinBloomFilter" => {
                // Where newer filters have 0xff or 0xfe, older ones have the number of probes.
                let format = match content.iter().nth_back(4) {
                    Some(0..=0x7f) => Format::RocksDbLegacy,
                    _ => Format::RocksDb,
                };
                let filter = Foreign::decode(format, content.into())?;
                (format, None, vec![Piece { blocks: 0..length, filter }])
            }
            name => return Err(unsupported("a filter", name.escape_ascii())),
        };
        let index = match file.index(&metaindex) {
            // Without it, a filter for all keys still answers.
            Err(TableError::Unsupported { what, found }) if shift.is_none() => Err((what, found)),
            index => Ok(index?),
        };
        Ok(Self { format, pieces, shift, index })
    }

    /// Returns the format of its filters.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns its filters, in the order of the file.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns its filter if it has a single one for all keys.
    pub fn into_filter(mut self) -> Result<Foreign, Self> {
        match self.shift {
            None if self.pieces.len() == 1 => Ok(self.pieces.remove(0).filter),
            _ => Err(self),
        }
    }

    /// Returns where in the file the data block is that has this key, if any has; `None` after the last key. Keys
    /// are compared byte by byte, as by the default comparators of both systems.
    ///
    /// # Errors
    /// [`TableError::Unsupported`] if the index was not read.
    pub fn block_of(&self, key: &[u8]) -> Result<Option<Range<u64>>, TableError> {
        let index = self.index.as_ref().map_err(|(what, found)| unsupported(what, found))?;
        let at = index.partition_point(|(last, _)| last.as_slice() < key);
        Ok(index.get(at).map(|(_, block)| block.clone()))
    }

    /// Returns the number of the filter that is queried for a key; `None` after the last key of the table.
    fn piece_of(&self, key: &[u8]) -> Result<Option<usize>, TableError> {
        let Some(shift) = self.shift else { return Ok(Some(0)) };
        let block = self.block_of(key)?;
        Ok(block.map(|block| block.start.checked_shr(shift).unwrap_or(0) as usize))
    }

    /// Returns whether the table may have a key, as its system answers without reading a data block.
    ///
    /// # Errors
    /// The filter's errors.
    pub fn contains(&self, key: &[u8]) -> Result<bool, TableError> {
        let Some(number) = self.piece_of(key)? else { return Ok(false) };
        match self.pieces.get(number) {
            Some(piece) => Ok(piece.filter.contains(Key::Bytes(key))?),
            None => Ok(true),
        }
    }
}

/// Returns the keys of a data block, without their versions; `block` is all of it with its trailer.
///
/// # Errors
/// [`TableError::Short`], [`TableError::Unsupported`].
pub fn keys(block: &[u8]) -> Result<Vec<Vec<u8>>, TableError> {
    let (content, [compression, ..]) =
        block.split_last_chunk::<{ TRAILER as usize }>().ok_or(TableError::Short)?;
    let content = decompressed(content.to_vec(), *compression, 0, u64::MAX)?;
    let entries = entries(&content, plain)?;
    entries.iter().map(|(key, _)| Ok(user_key(key)?.to_vec())).collect()
}

fn unsupported(what: &'static str, found: impl ToString) -> TableError {
    TableError::Unsupported { what, found: found.to_string() }
}

/// The content of a footer.
struct Footer {
    checksum: u8,
    /// Mixed into checksums, with the place of a block; 0 if not.
    context: u32,
    metaindex: Handle,
    /// Absent where the metaindex has it.
    index: Option<Handle>,
}

impl Footer {
    fn parse(tail: &[u8], length: u64) -> Result<Self, TableError> {
        /// Bytes of two handles with their padding.
        const HANDLES: usize = 40;
        const CRC32C: u8 = 1;
        let with_both = |checksum, mut handles: &[u8]| {
            let metaindex = Handle::read(&mut handles)?;
            let index = Some(Handle::read(&mut handles)?);
            Ok(Self { checksum, context: 0, metaindex, index })
        };
        let (rest, magic) = tail.split_last_chunk::<8>().ok_or(TableError::Short)?;
        if *magic == LEVELDB {
            return with_both(CRC32C, last(rest, HANDLES)?);
        }
        let (rest, version) = rest.split_last_chunk().ok_or(TableError::Short)?;
        let version = u32::from_le_bytes(*version);
        let rest = last(rest, 1 + HANDLES)?;
        let (checksum, handles) = rest.split_first().ok_or(TableError::Short)?;
        match version {
            1..=5 => with_both(*checksum, handles),
            6..=7 => {
                let handles = handles.strip_prefix(&EXTENDED).ok_or(TableError::Short)?;
                let numbers = handles.as_chunks().0;
                let [expected, context, size] = [0, 1, 2].map(|i| u32::from_le_bytes(numbers[i]));
                let start = length - FOOTER;
                let mut zeroed = last(tail, FOOTER as usize)?.to_vec();
                zeroed[5..9].fill(0);
                let sum = checksum_of(*checksum, &zeroed)?.wrapping_add(modifier(context, start));
                if sum != expected {
                    return Err(TableError::Damaged { offset: start });
                }
                let size = u64::from(size);
                let offset = start.checked_sub(TRAILER + size).ok_or(TableError::Short)?;
                let metaindex = Handle { offset, size };
                Ok(Self { checksum: *checksum, context, metaindex, index: None })
            }
            other => Err(unsupported("format version", other)),
        }
    }
}

/// The number added to the checksum of a block that starts at an offset.
fn modifier(context: u32, offset: u64) -> u32 {
    if context == 0 { 0 } else { context ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}

/// The checksum of a block with the byte of its compression.
fn checksum_of(kind: u8, bytes: &[u8]) -> Result<u32, TableError> {
    Ok(match kind {
        1 => crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8),
        2 => XxHash32::oneshot(0, bytes),
        3 => XxHash64::oneshot(0, bytes) as u32,
        4 => {
            let (last, rest) = bytes.split_last().ok_or(TableError::Short)?;
            XxHash3_64::oneshot(rest) as u32 ^ u32::from(*last).wrapping_mul(0x6b90_83d9)
        }
        other => return Err(unsupported("checksums of kind", other)),
    })
}

/// CRC-32C, a byte at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut value, mut bit) = (byte as u32, 0);
            while bit < 8 {
                value = (value >> 1) ^ if value & 1 == 1 { 0x82f6_3b78 } else { 0 };
                bit += 1;
            }
            table[byte] = value;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

/// A file that is being opened.
struct File<R> {
    length: u64,
    most: u64,
    read: R,
    footer: Footer,
}

impl<R: Fn(u64, &mut [u8]) -> io::Result<()>> File<R> {
    /// Where a block ends with its trailer, inside the file.
    fn end(&self, block: Handle) -> Result<u64, TableError> {
        block.end().filter(|&end| end <= self.length).ok_or(TableError::Short)
    }

    /// The content of a block.
    fn block(&self, block: Handle) -> Result<Vec<u8>, TableError> {
        let Handle { offset, size } = block;
        self.end(block)?;
        if size > self.most {
            return Err(TableError::TooLarge { offset, bytes: size, limit: self.most });
        }
        let mut content = vec![0; (size + TRAILER) as usize];
        (self.read)(offset, &mut content)?;
        let sum = content.split_off(content.len() - 4);
        let found = u32::from_le_bytes(sum.try_into().expect("4 bytes"));
        let expected = checksum_of(self.footer.checksum, &content)?;
        if found != expected.wrapping_add(modifier(self.footer.context, offset)) {
            return Err(TableError::Damaged { offset });
        }
        let compression = content.pop().ok_or(TableError::Short)?;
        decompressed(content, compression, offset, self.most)
    }

    /// Reads the index.
    fn index(&self, metaindex: &[(Vec<u8>, &[u8])]) -> Result<Index, TableError> {
        let find = |name: &str| {
            let found = metaindex.iter().find(|(key, _)| key == name.as_bytes());
            found.map(|&(_, mut handle)| Handle::read(&mut handle)).transpose()
        };
        let index = match self.footer.index {
            Some(index) => index,
            None => find("rocksdb.index")?.ok_or(TableError::Short)?,
        };
        let properties =
            find("rocksdb.properties")?.map(|handle| self.block(handle)).transpose()?;
        let properties = properties.as_deref().map(|block| entries(block, plain)).transpose()?;
        let property = |name: &str| {
            let mut properties = properties.iter().flatten();
            let found = properties.find(|(key, _)| key == name.as_bytes());
            found.map_or(Ok(0), |&(_, mut value)| varint(&mut value))
        };
        let by_prefixes = (&b"rocksdb.block.based.table.whole.key.filtering"[..], &b"0"[..]);
        if properties.iter().flatten().any(|(name, value)| (&name[..], *value) == by_prefixes) {
            return Err(TableError::PrefixesOnly);
        }
        let content = self.block(index)?;
        if property("rocksdb.block.based.table.index.type")? != 0 {
            return Err(unsupported("an index", "in partitions, or hashed"));
        }
        let bare = property("rocksdb.index.key.is.user.key")? != 0;
        let delta = property("rocksdb.index.value.is.delta.encoded")? != 0;
        let mut before = Handle::default();
        let next = |rest: &mut &[u8], shared, length| {
            if !delta {
                let mut value = plain(rest, shared, length)?;
                return Handle::read(&mut value);
            }
            // A key that shares nothing comes with its offset; others only with the difference in size from the block
            // before, which they follow directly.
            before = match shared {
                0 => Handle::read(rest)?,
                _ => {
                    let size = before.size.checked_add_signed(unzigzag(varint(rest)?));
                    let (offset, size) = before.end().zip(size).ok_or(TableError::Short)?;
                    Handle { offset, size }
                }
            };
            Ok(before)
        };
        let index = entries_with(&content, !delta, next)?;
        let entry = |(key, handle): (Vec<u8>, Handle)| {
            let key = if bare { key } else { user_key(&key)?.to_vec() };
            Ok((key, handle.offset..self.end(handle)?))
        };
        index.into_iter().map(entry).collect()
    }
}

/// The filters in LevelDB's block: filter 0 | filter 1 | … | offset of each u32 | offset of the offsets u32 | shift u8.
///
/// Data blocks end at byte `end` of the file. There is a filter for each 2^shift bytes in which one may start.
fn leveldb_pieces(content: &[u8], end: u64) -> Result<(u32, Vec<Piece>), TableError> {
    /// LevelDB has 11, as goleveldb by default. Then filters take no more memory than the file has bytes.
    const LEAST_SHIFT: u8 = 8;
    const { assert!(size_of::<Piece>() <= 1 << LEAST_SHIFT) }
    let (rest, &[shift]) = content.split_last_chunk().ok_or(TableError::Short)?;
    let (_, at) = rest.split_last_chunk().ok_or(TableError::Short)?;
    let offsets = rest.get(u32::from_le_bytes(*at) as usize..).ok_or(TableError::Short)?;
    let offsets: Vec<_> =
        offsets.as_chunks().0.iter().map(|offset| u32::from_le_bytes(*offset)).collect();
    let start = |number: usize| (number as u64).checked_shl(shift.into()).unwrap_or(u64::MAX);
    let piece = |(number, ends): (usize, &[u32])| {
        let piece = content.get(ends[0] as usize..ends[1] as usize).ok_or(TableError::Short)?;
        let filter = Foreign::decode(Format::LevelDb, piece.to_vec().into())?;
        Ok(Piece { blocks: start(number)..start(number + 1), filter })
    };
    // One more offset locates the offsets.
    let filters = offsets.len().saturating_sub(1);
    if shift < LEAST_SHIFT || filters as u64 > (end >> shift.min(63)) + 1 {
        let found = format!("for each {} bytes, {filters} of them", 1u128 << shift.min(127));
        return Err(unsupported("filters", found));
    }
    let pieces = offsets.windows(2).enumerate().map(piece).collect::<Result<_, TableError>>()?;
    Ok((shift.into(), pieces))
}

/// The block at `offset`, decompressed.
fn decompressed(block: Vec<u8>, kind: u8, offset: u64, most: u64) -> Result<Vec<u8>, TableError> {
    match kind {
        0 => Ok(block),
        1 => {
            /// The maximum bytes of text per byte of Snappy: three bytes copy up to 64.
            const EXPANDS: u64 = 22;
            let bytes = snap::raw::decompress_len(&block).map_err(|_| TableError::Short)? as u64;
            if bytes > EXPANDS * block.len() as u64 {
                return Err(TableError::Short);
            }
            if bytes > most {
                return Err(TableError::TooLarge { offset, bytes, limit: most });
            }
            snap::raw::Decoder::new().decompress_vec(&block).map_err(|_| TableError::Short)
        }
        4 | 5 => Err(unsupported("blocks compressed by", "LZ4")),
        7 => Err(unsupported("blocks compressed by", "Zstandard")),
        other => Err(unsupported("compression of kind", other)),
    }
}

impl Handle {
    fn read(bytes: &mut &[u8]) -> Result<Self, TableError> {
        let [offset, size] = [varint(bytes)?, varint(bytes)?];
        Ok(Self { offset, size })
    }

    /// Where the block ends with its trailer; `None` if that overflows.
    fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)?.checked_add(TRAILER)
    }
}

fn last(bytes: &[u8], length: usize) -> Result<&[u8], TableError> {
    bytes.len().checked_sub(length).map(|from| &bytes[from..]).ok_or(TableError::Short)
}

/// Seven bits per byte, the lowest first.
fn varint(bytes: &mut &[u8]) -> Result<u64, TableError> {
    let next = || bytes.split_off_first().copied().ok_or(TableError::Short);
    read_varint(next)?.ok_or(TableError::Short)
}

/// The key without its version.
fn user_key(key: &[u8]) -> Result<&[u8], TableError> {
    key.len().checked_sub(VERSION).map(|end| &key[..end]).ok_or(TableError::Short)
}

/// A value as in most blocks: as many bytes as its length.
fn plain<'a>(rest: &mut &'a [u8], _: u64, length: u64) -> Result<&'a [u8], TableError> {
    let length = usize::try_from(length).map_err(|_| TableError::Short)?;
    let (value, after) = rest.split_at_checked(length).ok_or(TableError::Short)?;
    *rest = after;
    Ok(value)
}

/// The keys of a block of entries, with their values.
fn entries<'a, T>(
    content: &'a [u8],
    value: impl FnMut(&mut &'a [u8], u64, u64) -> Result<T, TableError>,
) -> Result<Vec<(Vec<u8>, T)>, TableError> {
    entries_with(content, true, value)
}

/// A key repeats the first `shared` bytes of the one before. `value` reads what follows the key.
///
/// Keys with their overhead use at most [`SPREAD`] times the bytes of the block, and 1 MiB: four bytes can repeat a key
/// of any length, but both systems write each sixteenth key in full by default.
fn entries_with<'a, T>(
    content: &'a [u8],
    lengths: bool,
    mut value: impl FnMut(&mut &'a [u8], u64, u64) -> Result<T, TableError>,
) -> Result<Vec<(Vec<u8>, T)>, TableError> {
    let (rest, restarts) = content.split_last_chunk().ok_or(TableError::Short)?;
    let restarts = 4 * u64::from(u32::from_le_bytes(*restarts));
    let end = (rest.len() as u64).checked_sub(restarts).ok_or(TableError::Short)?;
    let mut rest = &rest[..end as usize];
    let (mut found, mut key) = (Vec::new(), Vec::new());
    let mut room = SPREAD * content.len() as u64 + (1 << 20);
    while !rest.is_empty() {
        let (shared, unshared) = (varint(&mut rest)?, varint(&mut rest)?);
        let length = if lengths { varint(&mut rest)? } else { 0 };
        if shared > key.len() as u64 {
            return Err(TableError::Short);
        }
        key.truncate(shared as usize);
        key.extend(plain(&mut rest, shared, unshared)?);
        room = room.checked_sub(key.len() as u64 + KEPT).ok_or_else(|| {
            unsupported("keys in a block", "that take more than 32 times its bytes")
        })?;
        found.push((key.clone(), value(&mut rest, shared, length)?));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/tables");
        std::fs::read(format!("{folder}/{name}")).unwrap()
    }

    fn open(file: &[u8]) -> Result<Table, TableError> {
        open_up_to(1 << 20, file)
    }

    fn open_up_to(most: u64, file: &[u8]) -> Result<Table, TableError> {
        Table::open(file.len() as u64, most, |offset, bytes| {
            bytes.copy_from_slice(&file[offset as usize..][..bytes.len()]);
            Ok(())
        })
    }

    fn key(number: u32) -> String {
        format!("user-{number:06}")
    }

    /// The samples have the keys of even numbers below 4000.
    fn check(table: &Table) {
        let passes = |number: &u32| table.contains(key(*number).as_bytes()).unwrap();
        assert!((0..4000).step_by(2).all(|number| passes(&number)));
        let passing = (1..4000).step_by(2).filter(passes);
        // 10 bits per key let 0.8 to 1 % pass: 2000 keys mean 20, and 20 + 6 · √20 < 47.
        assert!((1..47).contains(&passing.count()));
    }

    #[test]
    fn tables_of_both_systems_answer_for_their_keys() {
        let leveldb = open(&sample("leveldb.ldb")).unwrap();
        check(&leveldb);
        assert_eq!(leveldb.format(), Format::LevelDb);
        assert!(leveldb.pieces().len() > 10 && leveldb.pieces()[1].blocks == (2048..4096));
        assert!(!leveldb.contains(b"w").unwrap(), "after the last key");
        let rocksdb = open(&sample("rocksdb.sst")).unwrap();
        check(&rocksdb);
        let filter = rocksdb.into_filter().unwrap();
        assert_eq!(filter.format(), Format::RocksDb);
        assert!(leveldb.into_filter().is_err());
    }

    /// The sample of format version 5 with a footer and checksums of version 6.
    fn version_6(file: &[u8], context: u32) -> Vec<u8> {
        let length = file.len() as u64;
        let Footer { checksum, metaindex, index, .. } =
            Footer::parse(&file[file.len() - 53..], length).unwrap();
        let at = |handle: Handle| handle.offset as usize..(handle.offset + handle.size) as usize;
        let mut entries = entries(&file[at(metaindex)], plain).unwrap();
        let (mut handle, index) = (Vec::new(), index.unwrap());
        crate::bytes::varint(&mut handle, index.offset);
        crate::bytes::varint(&mut handle, index.size);
        entries.push((b"rocksdb.index".to_vec(), &handle));
        // All blocks keep their places; the metaindex moves after them.
        let mut new = file[..file.len() - FOOTER as usize].to_vec();
        let start = new.len();
        for (name, value) in &entries {
            new.extend([0, name.len() as u8, value.len() as u8]);
            new.extend_from_slice(name);
            new.extend_from_slice(value);
        }
        new.extend([0, 0, 0, 0, 1, 0, 0, 0]);
        let size = new.len() - start;
        new.extend([0; 5]);
        let mut blocks: Vec<_> =
            entries.iter().map(|&(_, mut value)| Handle::read(&mut value).unwrap()).collect();
        blocks.push(Handle { offset: start as u64, size: size as u64 });
        for block in blocks {
            let end = at(block).end;
            let sum = checksum_of(checksum, &new[at(block).start..=end]).unwrap();
            let sum = sum.wrapping_add(modifier(context, block.offset));
            new[end + 1..end + 5].copy_from_slice(&sum.to_le_bytes());
        }
        let numbers = [0, context, size as u32].map(u32::to_le_bytes);
        let mut footer = [&[checksum][..], &EXTENDED, numbers.as_flattened()].concat();
        footer.resize(41, 0);
        footer.extend(6u32.to_le_bytes());
        footer.extend(ROCKSDB);
        let sum = checksum_of(checksum, &footer).unwrap();
        let sum = sum.wrapping_add(modifier(context, new.len() as u64));
        footer[5..9].copy_from_slice(&sum.to_le_bytes());
        new.extend(footer);
        new
    }

    #[test]
    fn footers_of_version_6_are_read_and_checked() {
        for context in [0, 0xdead_beef] {
            let file = version_6(&sample("rocksdb.sst"), context);
            let table = open(&file).unwrap();
            assert!(table.block_of(b"user-000100").unwrap().is_some());
            check(&table);
            for at in file.len() - 53..file.len() {
                let mut damaged = file.clone();
                damaged[at] ^= 4;
                assert!(open(&damaged).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn damaged_tables_are_refused() {
        for name in ["leveldb.ldb", "rocksdb.sst"] {
            let file = sample(name);
            for end in (0..file.len()).step_by(97) {
                let cut = open(&file[..end]);
                assert!(matches!(cut, Err(TableError::NotTable)), "{name}: {end} bytes");
            }
            let table = open(&file).unwrap();
            let last = table.block_of(b"user-003998").unwrap().unwrap().end as usize;
            let (mut refused, mut all) = (0, 0);
            for at in last..file.len() {
                for bit in [0, 3, 7] {
                    let mut changed = file.clone();
                    changed[at] ^= 1 << bit;
                    all += 1;
                    match open(&changed) {
                        Err(_) => refused += 1,
                        // In unread bytes or the footer's padding: no difference.
                        Ok(table) => check(&table),
                    }
                }
            }
            assert!(refused * 10 > all * 9, "{name}: {refused} of {all}");
        }
    }

    #[test]
    fn a_block_above_the_limit_is_not_read() {
        let error = open_up_to(1000, &sample("rocksdb.sst")).unwrap_err();
        assert!(matches!(error, TableError::TooLarge { limit: 1000, .. }), "{error}");
    }

    #[test]
    fn blocks_of_snappy_are_read_up_to_the_limit() {
        let text = b"key".repeat(100);
        let block = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        assert_eq!(decompressed(block.clone(), 1, 7, 300).unwrap(), text);
        let error = decompressed(block, 1, 7, 299).unwrap_err();
        assert!(
            matches!(error, TableError::TooLarge { offset: 7, bytes: 300, limit: 299 }),
            "{error}"
        );
        assert!(decompressed(vec![], 4, 7, 0).unwrap_err().to_string().contains("by LZ4"));
        // Four bytes that claim to be 2^20.
        let error = decompressed(vec![0x80, 0x80, 0x40, 0], 1, 7, u64::MAX).unwrap_err();
        assert!(matches!(error, TableError::Short), "{error}");
    }

    /// Two bytes for each MiB.
    #[test]
    fn keys_that_repeat_a_long_one_take_no_more_memory_than_a_block_has() {
        let mut block = vec![0, 0x80, 0x80, 0x40, 0];
        block.resize(block.len() + (1 << 20), b'k');
        // With all of the key before, and nothing more.
        let again = [0x80, 0x80, 0x40, 0, 0];
        block.extend(again.repeat(100));
        block.extend([0; 4]);
        block.extend(1u32.to_le_bytes());
        assert!(matches!(entries(&block, plain), Err(TableError::Unsupported { .. })));
        let few = [&block[..5 + (1 << 20)], &again.repeat(16), &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
        assert_eq!(entries(&few, plain).unwrap().len(), 17);
        // As many entries as there can be, each as short as it can be.
        let short = [&[0, 0, 0].repeat(1 << 20)[..], &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
        assert!(entries(&short, plain).unwrap().len() == 1 << 20);
        // An impossible length.
        let block = [&[255, 255, 255, 255, 15][..], &[0; 8], &[1], &[0; 4]].concat();
        assert!(matches!(keys(&block), Err(TableError::Short)));
    }

    /// Four bytes for each filter, which has a hundred in memory.
    #[test]
    fn there_is_a_filter_for_each_part_of_a_file_in_which_blocks_start() {
        let block = |filters: u32, shift: u8| {
            let offsets = vec![0; 4 * filters as usize];
            [&offsets[..], &[0; 4], &[shift]].concat()
        };
        let pieces = |filters, shift, end| leveldb_pieces(&block(filters, shift), end);
        assert_eq!(pieces(11, 11, 20_480).unwrap().1.len(), 11);
        assert!(pieces(0, 200, 0).unwrap().1.is_empty());
        for (filters, shift, end) in [(12, 11, 20_480), (3, 64, u64::MAX), (1, 7, 1 << 20)] {
            let error = pieces(filters, shift, end).unwrap_err();
            assert!(matches!(error, TableError::Unsupported { .. }), "{error}");
        }
    }

    /// A table of RocksDB with a property, and an index whose blocks end behind everything.
    fn with_property(property: &str, value: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let number = |number: usize| [number as u8 | 0x80, (number >> 7) as u8];
        let mut put = |content: &[u8]| {
            let offset = file.len();
            file.extend_from_slice(content);
            file.push(0);
            let sum = checksum_of(1, &file[offset..]).unwrap();
            file.extend(sum.to_le_bytes());
            [number(offset), number(content.len())].concat()
        };
        let block = |entries: &[(&str, &[u8])]| {
            let entry = |(name, value): &(&str, &[u8])| {
                [&[0, name.len() as u8, value.len() as u8], name.as_bytes(), value].concat()
            };
            [entries.iter().flat_map(entry).collect(), vec![0, 0, 0, 0, 1, 0, 0, 0]].concat()
        };
        let filter = put(&[&[0; 64][..], &[255, 0, 6, 0, 0]].concat());
        let properties = put(&block(&[(property, value)]));
        // The second block follows one of 2^64 - 1 bytes.
        let first = [&[0, 9][..], b"a        ", &[0], &[255; 9], &[1]].concat();
        let index =
            put(&[&first[..], &[1, 8], b"b       ", &[0], &[0, 0, 0, 0, 1, 0, 0, 0]].concat());
        let metaindex = put(&block(&[
            ("fullfilter.rocksdb.BuiltinBloomFilter", &filter),
            ("rocksdb.properties", &properties),
        ]));
        let mut footer = [vec![1], metaindex, index].concat();
        footer.resize(41, 0);
        [file, footer, 5u32.to_le_bytes().to_vec(), ROCKSDB.to_vec()].concat()
    }

    #[test]
    fn tables_that_cannot_be_asked_are_refused() {
        let file = with_property("rocksdb.index.value.is.delta.encoded", &[1]);
        assert!(matches!(open(&file), Err(TableError::Short)));
        let file = with_property("rocksdb.block.based.table.whole.key.filtering", b"0");
        assert!(matches!(open(&file), Err(TableError::PrefixesOnly)));
    }

    #[test]
    fn checksums_are_those_of_the_standards() {
        // RFC 3720, B.4, and the check value of the catalogue of CRCs.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        // As `ChecksumModifierForContext` of RocksDB: from both halves of the offset, if there is a context.
        assert_eq!(modifier(0xdead_beef, (3 << 32) + 0xffff), 0xdead_beef ^ 0x1_0002);
        assert_eq!(modifier(0, 0xffff), 0);
    }
}
