//! The file of an index: FORMAT.md documents every byte.
//!
//! ```text
//! header | header | catalog, places, rows of groups | catalog, places, rows of more groups | …
//! catalog = settings | roots | headers | files | groups, 16 bytes each | blocks, 40 bytes each | columns, 4 bytes each
//! ```
//! All of it is in pages with checksums. An update appends the new parts and a full catalog, and then overwrites the
//! older of the two headers, which locates the catalog: so the bytes that a reader uses do not change. A look-up reads
//! everything before the blocks, and of the rest only the rows of the keys and what is needed for the blocks found.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use umbel_io::ReadAt;

use super::matrix::{Group, WIDTH};
use super::pages::{DATA, PAGE, Pages};
use super::{IndexError, VERSION};

/// The first bytes of an index.
pub const MAGIC: [u8; 8] = *b"\x89UMIDX\r\n";

/// Whether the file at `path` begins like an index; false if it cannot be read, or only once.
pub fn is_index(path: &Path) -> bool {
    // Opening a pipe would wait for a writer.
    path.is_file() && File::open(path).and_then(|file| begins_as_index(&file)).unwrap_or(false)
}

/// As [`is_index`], for an open file; what is read from it next stays the same.
pub(crate) fn begins_as_index(file: &impl ReadAt) -> io::Result<bool> {
    let mut start = [0; MAGIC.len()];
    match file.read_exact_at(&mut start, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| start == MAGIC),
    }
}

/// The highest number of a compression.
const MOST_COMPRESSION: u8 = 5;
const HEADER: usize = 72;
const GROUP: u64 = 16;
const BLOCK: u64 = 40;
const COLUMN: u64 = 4;

/// Pages of headers.
pub const HEADERS: u64 = 2;

/// In place of the number of a block, for a column whose block is gone.
pub const GONE: u32 = u32::MAX;

/// The most bytes of text of all files: the range of file lengths. Offsets and line numbers then do not overflow.
const MOST_TEXT: u64 = i64::MAX as u64;
/// The most bytes that a decoder needs to start: 32 KiB of text, a few more if it does not compress, and room for other
/// writers.
const MOST_RESUME: u32 = 1 << 16;

/// The name of a setting: a field whose values are keys. Part of the format.
pub const FIELD: &str = "field";
/// The name of a setting: a step of normalization of these values. Part of the format.
pub const NORMALIZATION: &str = "normalization";

/// The size of a file that could not be read: it has no blocks, and is tried again whenever the index is used.
pub const UNREADABLE: u64 = u64::MAX;

/// Shows whether a file is still the one that was indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Its bytes.
    pub size: u64,
    /// Nanoseconds since 1970, modulo 2⁶⁴: a file system may have years beyond 2262.
    pub modified: i64,
    /// When anything about it last changed, as above.
    pub changed: i64,
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// XXH3-64 of eight samples.
    pub sum: u64,
}

/// A file of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// From the folder of the index, or from the root.
    pub path: PathBuf,
    /// How it was when it was read.
    pub stamp: Stamp,
    /// How it is compressed: 0 not, then gzip, zstd, xz, bzip2, lz4.
    pub compression: u8,
    /// Bytes of its text, decompressed.
    pub text: u64,
    /// The first record of a table, which names its columns.
    pub header: Option<Arc<[u8]>>,
    /// Its first block among all.
    pub first: u32,
    /// The number of its blocks.
    pub blocks: u32,
}

/// A block of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Where it starts in the text.
    pub start: u64,
    /// The lines before it.
    pub lines: u64,
    /// Where reading starts: an offset in the file, and the text's offset there.
    pub point: (u64, u64),
    /// Where the data has the preceding text that the decoder needs; 0 if it needs none.
    pub resume: u64,
}

/// An index that is open.
#[derive(Debug)]
pub struct Index<F> {
    /// Its pages.
    pub pages: Pages<F>,
    /// The definition of its keys, as names and values.
    pub settings: Vec<(String, String)>,
    /// The paths named when it was made.
    pub roots: Vec<PathBuf>,
    /// The headers of its files, each once.
    pub headers: Vec<Arc<[u8]>>,
    /// Its files, in the order of their blocks.
    pub files: Vec<Entry>,
    /// Where the filters of blocks are.
    pub groups: Vec<Group>,
    /// How many updates it has had since it was written.
    pub generation: u64,
    /// Where blocks and columns are among the data.
    blocks: u64,
    columns: u64,
    /// For each group, the columns of all groups before it.
    before: Vec<u64>,
}

/// The content of an index to write, besides the rows of its groups.
pub struct Plan<'a> {
    /// The definition of its keys, as names and values.
    pub settings: &'a [(String, String)],
    /// The paths named.
    pub roots: &'a [PathBuf],
    /// All files.
    pub files: &'a [Entry],
    /// All blocks.
    pub blocks: &'a [Block],
    /// Groups with their places, and their blocks in the order of their columns.
    pub groups: &'a [(Group, Vec<u32>)],
}

impl Plan<'_> {
    /// The catalog, and the bytes of its lists.
    pub fn encode(&self) -> (Vec<u8>, u64) {
        let mut all = Vec::new();
        put_number(&mut all, self.settings.len());
        for (name, value) in self.settings {
            put_bytes(&mut all, name.as_bytes());
            put_bytes(&mut all, value.as_bytes());
        }
        put_number(&mut all, self.roots.len());
        self.roots.iter().for_each(|root| put_bytes(&mut all, root.as_os_str().as_encoded_bytes()));
        let (mut headers, mut number_of) = (Vec::new(), HashMap::new());
        for header in self.files.iter().filter_map(|file| file.header.as_deref()) {
            number_of.entry(header).or_insert_with(|| {
                headers.push(header);
                headers.len() as u64
            });
        }
        put_number(&mut all, headers.len());
        headers.iter().for_each(|header| put_bytes(&mut all, header));
        for file in self.files {
            put_bytes(&mut all, file.path.as_os_str().as_encoded_bytes());
            let Stamp { size, modified, changed, device, inode, sum } = file.stamp;
            let header = file.header.as_deref().map_or(0, |header| number_of[header]);
            let format = u64::from(file.compression);
            let numbers = [size, modified as u64, changed as u64, device, inode, sum, file.text];
            let numbers = numbers.into_iter().chain([u64::from(file.blocks), header, format]);
            numbers.for_each(|number| all.extend_from_slice(&number.to_le_bytes()));
        }
        let lists = all.len() as u64;
        for (group, _) in self.groups {
            all.extend_from_slice([group.rows, group.columns].map(u32::to_le_bytes).as_flattened());
            all.extend_from_slice(&group.place.to_le_bytes());
        }
        for &Block { start, lines, point, resume } in self.blocks {
            let numbers = [start, lines, point.0, point.1, resume];
            all.extend_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
        }
        let columns = self.groups.iter().flat_map(|(_, blocks)| blocks);
        all.extend(columns.flat_map(|block| block.to_le_bytes()));
        (all, lists)
    }

    /// The data of a header: the catalog is at a place of a file of `pages` pages.
    pub fn header(&self, generation: u64, pages: u64, catalog: u64, lists: u64) -> Vec<u8> {
        let [files, groups, blocks] =
            [self.files.len(), self.groups.len(), self.blocks.len()].map(|count| count as u64);
        let version = u64::from(VERSION);
        let numbers = [version, generation, pages, catalog, lists, files, groups, blocks];
        let all = [&MAGIC[..], numbers.map(u64::to_le_bytes).as_flattened()].concat();
        debug_assert_eq!(all.len(), HEADER);
        all
    }
}

fn put_number(to: &mut Vec<u8>, number: usize) {
    to.extend_from_slice(&u32::try_from(number).expect("fewer than 2³²").to_le_bytes());
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len());
    to.extend_from_slice(bytes);
}

/// Takes values from the front of some bytes.
struct Taken<'a>(&'a [u8]);

impl<'a> Taken<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().expect("4 bytes")))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().expect("8 bytes")))
    }

    fn list(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }

    fn path(&mut self) -> Option<PathBuf> {
        umbel_io::path_from(self.list()?.to_vec())
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.list()?.to_vec()).ok()
    }
}

impl<F: ReadAt> Index<F> {
    /// Opens an index: reads and checks its files and groups, but neither blocks nor rows.
    ///
    /// # Errors
    /// An [`IndexError`].
    pub fn open(file: F, length: u64) -> Result<Self, IndexError> {
        let mut start = [0; 10];
        let start = &mut start[..length.min(10) as usize];
        file.read_exact_at(start, 0)?;
        if !start.starts_with(&MAGIC) {
            return Err(IndexError::NotIndex);
        }
        let version = start.get(8..10).map_or(VERSION, |two| u16::from_le_bytes([two[0], two[1]]));
        if version != VERSION {
            return Err(IndexError::Version(version));
        }
        let mut pages = Pages::new(file, length)?;
        // A header that was being written when the system failed does not count: the other one has the old state. A
        // header that cannot be read now may be the newer one.
        let header = |page: u64| match pages.take(page * DATA as u64, HEADER as u64) {
            Ok(bytes) => Ok(parse_header(&bytes)),
            Err(error @ IndexError::Io(_)) => Err(error),
            Err(_) => Ok(None),
        };
        let headers = (0..HEADERS).map(header).collect::<Result<Vec<_>, _>>()?;
        let damaged = || IndexError::Damaged { page: 0 };
        let newest = headers.into_iter().flatten().max_by_key(|header| header[0]);
        let [generation, count, catalog, lists, files, groups, blocks] =
            newest.ok_or_else(damaged)?;
        if count > pages.count() {
            let expected = count.checked_mul(PAGE as u64);
            return Err(IndexError::Length { found: pages.count() * PAGE as u64, expected });
        }
        pages.keep(count);
        let data = count.checked_mul(DATA as u64).ok_or_else(damaged)?;
        let tables = groups.checked_mul(GROUP).zip(blocks.checked_mul(BLOCK));
        let places = tables.and_then(|(of_groups, of_blocks)| {
            let blocks_at = catalog.checked_add(lists)?.checked_add(of_groups)?;
            Some((blocks_at, blocks_at.checked_add(of_blocks)?))
        });
        let places = places.filter(|&(_, at)| at <= data && blocks <= u64::from(u32::MAX));
        let (blocks_at, columns_at) = places.ok_or_else(damaged)?;
        let read = pages.take(catalog, lists + groups * GROUP)?;
        let (lists, table) = read.split_at(lists as usize);
        let Lists { settings, roots, headers, files } =
            Lists::parse(lists, files, blocks).ok_or_else(damaged)?;
        let groups = parse_groups(table, blocks, data).ok_or_else(damaged)?;
        let mut end = 0;
        let first = |group: &Group| {
            end += u64::from(group.columns);
            end - u64::from(group.columns)
        };
        let before = groups.iter().map(first).collect();
        Ok(Self {
            pages,
            settings,
            roots,
            headers,
            files,
            groups,
            generation,
            blocks: blocks_at,
            columns: columns_at,
            before,
        })
    }

    /// Checks all pages, that each block has one column, and by `is_start` the decoders' data; returns how many bits of
    /// filters are set.
    ///
    /// # Errors
    /// An [`IndexError`].
    pub fn check(&self, is_start: &dyn Fn(&[u8]) -> bool) -> Result<u64, IndexError> {
        for page in 0..HEADERS {
            // Nothing was written into the second one before the first update.
            if self.generation > 0 || page == 0 || !self.pages.is_empty(page)? {
                self.pages.take(page * DATA as u64, HEADER as u64)?;
            }
        }
        let mut has = vec![false; self.block_count() as usize];
        let mut set = 0;
        for (number, group) in self.groups.iter().enumerate() {
            for block in self.columns(number)?.into_iter().filter(|&block| block != GONE) {
                if std::mem::replace(&mut has[block as usize], true) {
                    return Err(IndexError::Damaged { page: self.columns / DATA as u64 });
                }
            }
            const PIECE: u64 = 1 << 20;
            for start in (0..group.bytes()).step_by(PIECE as usize) {
                let length = PIECE.min(group.bytes() - start);
                let bytes = self.pages.take(group.place + start, length)?;
                set += bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            }
        }
        if has.contains(&false) {
            return Err(IndexError::Damaged { page: self.columns / DATA as u64 });
        }
        for file in &self.files {
            for block in self.blocks_of(file)?.iter().filter(|block| block.resume > 0) {
                if !is_start(&self.resume(block.resume)?) {
                    return Err(IndexError::Damaged { page: block.resume / DATA as u64 });
                }
            }
        }
        Ok(set)
    }

    fn said<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.settings.iter().filter(move |entry| entry.0 == name).map(|entry| entry.1.as_str())
    }

    /// The fields whose values are keys; empty if keys are words.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.said(FIELD)
    }

    /// Whether keys are changed before they are compared, which requires knowing the rules.
    pub fn is_normalized(&self) -> bool {
        self.said(NORMALIZATION).next().is_some()
    }

    /// The number of its blocks.
    pub fn block_count(&self) -> u32 {
        self.files.last().map_or(0, |last| last.first + last.blocks)
    }

    /// The blocks of a file: they start in order, all within its text; reading starts at or before each, and no more
    /// lines are before it than bytes.
    ///
    /// # Errors
    /// Read errors, and `Damaged` for other blocks.
    pub fn blocks_of(&self, file: &Entry) -> Result<Vec<Block>, IndexError> {
        let place = self.blocks + u64::from(file.first) * BLOCK;
        let bytes = self.pages.take(place, u64::from(file.blocks) * BLOCK)?;
        let block = |bytes: &[u8]| {
            let mut taken = Taken(bytes);
            let mut next = || taken.u64().expect("40 bytes");
            Block { start: next(), lines: next(), point: (next(), next()), resume: next() }
        };
        let blocks: Vec<_> = bytes.chunks_exact(BLOCK as usize).map(block).collect();
        let possible = |block: &Block| block.lines.max(block.point.1) <= block.start;
        let starts = blocks.iter().map(|block| block.start);
        match starts.chain([file.text]).is_sorted() && blocks.iter().all(possible) {
            true => Ok(blocks),
            false => Err(IndexError::Damaged { page: place / DATA as u64 }),
        }
    }

    /// The encoded data that a decoder needs to start somewhere.
    ///
    /// # Errors
    /// Read errors.
    pub fn resume(&self, place: u64) -> Result<Vec<u8>, IndexError> {
        let length = self.pages.take(place, 4)?;
        let length = u32::from_le_bytes(length.try_into().expect("4 bytes"));
        if length > MOST_RESUME {
            return Err(IndexError::Damaged { page: place / DATA as u64 });
        }
        self.pages.take(place, 4 + u64::from(length))
    }

    /// The blocks of the columns of a group; [`GONE`] where there is none.
    ///
    /// # Errors
    /// Read errors.
    pub fn columns(&self, number: usize) -> Result<Vec<u32>, IndexError> {
        let place = self.columns + self.before[number] * COLUMN;
        let columns = u64::from(self.groups[number].columns);
        let bytes = self.pages.take(place, columns * COLUMN)?;
        let number = |bytes: &[u8]| Taken(bytes).u32().expect("4 bytes");
        let columns: Vec<_> = bytes.chunks_exact(COLUMN as usize).map(number).collect();
        match columns.iter().all(|&block| block < self.block_count() || block == GONE) {
            true => Ok(columns),
            false => Err(IndexError::Damaged { page: place / DATA as u64 }),
        }
    }
}

/// The start of a catalog.
struct Lists {
    settings: Vec<(String, String)>,
    roots: Vec<PathBuf>,
    headers: Vec<Arc<[u8]>>,
    files: Vec<Entry>,
}

impl Lists {
    fn parse(lists: &[u8], count: u64, blocks: u64) -> Option<Self> {
        let mut taken = Taken(lists);
        let settings = (0..taken.u32()?).map(|_| Some((taken.text()?, taken.text()?)));
        let settings = settings.collect::<Option<_>>()?;
        let roots = (0..taken.u32()?).map(|_| taken.path()).collect::<Option<_>>()?;
        let headers = (0..taken.u32()?).map(|_| taken.list().map(Arc::from));
        let headers = headers.collect::<Option<Vec<Arc<[u8]>>>>()?;
        let (mut files, mut first, mut texts) = (Vec::new(), 0, 0u64);
        for _ in 0..count {
            let path = taken.path()?;
            let mut next = || taken.u64();
            let (size, modified, changed) = (next()?, next()? as i64, next()? as i64);
            let (device, inode, sum, text) = (next()?, next()?, next()?, next()?);
            let stamp = Stamp { size, modified, changed, device, inode, sum };
            let blocks = u32::try_from(next()?).ok()?;
            let header = match next()? {
                0 => None,
                number => Some(headers.get(usize::try_from(number - 1).ok()?)?.clone()),
            };
            let compression = u8::try_from(next()?).ok().filter(|one| *one <= MOST_COMPRESSION)?;
            files.push(Entry { path, stamp, compression, text, header, first, blocks });
            first = first.checked_add(blocks)?;
            texts = texts.checked_add(text).filter(|&bytes| bytes <= MOST_TEXT)?;
        }
        let all = u64::from(first) == blocks && taken.0.is_empty();
        all.then_some(Self { settings, roots, headers, files })
    }
}

/// Groups do not share rows, so all together have no more bytes than the data.
fn parse_groups(table: &[u8], blocks: u64, data: u64) -> Option<Vec<Group>> {
    let mut taken = Taken(table);
    let (mut groups, mut columns, mut bytes) = (Vec::new(), 0, 0u64);
    while !taken.0.is_empty() {
        let group = Group { rows: taken.u32()?, columns: taken.u32()?, place: taken.u64()? };
        if group.rows < 8
            || !group.rows.is_multiple_of(8)
            || !(1..=WIDTH as u32).contains(&group.columns)
            || group.place.checked_add(group.bytes())? > data
        {
            return None;
        }
        columns += u64::from(group.columns);
        bytes = bytes.checked_add(group.bytes())?;
        groups.push(group);
    }
    (columns >= blocks && bytes <= data).then_some(groups)
}

/// The numbers of a header: generation, pages, place of the catalog, bytes of its lists, files, groups, blocks.
fn parse_header(bytes: &[u8]) -> Option<[u64; 7]> {
    let numbers: &[[u8; 8]; 8] = bytes.strip_prefix(&MAGIC)?.as_chunks().0.try_into().ok()?;
    let [version, numbers @ ..] = numbers.map(u64::from_le_bytes);
    (version == u64::from(VERSION)).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index whose page 1 cannot be read.
    #[derive(Debug)]
    struct Failing(&'static [u8]);

    impl ReadAt for Failing {
        fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            let page = offset..offset + bytes.len() as u64;
            if (page.start..page.end).contains(&(PAGE as u64)) {
                return Err(io::Error::other("the disk"));
            }
            bytes.copy_from_slice(&self.0[page.start as usize..page.end as usize]);
            Ok(())
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_may_be_the_newer_one() {
        let index = include_bytes!("../../../../testdata/find/words.index");
        let error = Index::open(Failing(index), index.len() as u64).unwrap_err();
        assert!(matches!(error, IndexError::Io(_)), "{error}");
    }

    /// Otherwise 16 bytes each would make all of a file be read and copied again.
    #[test]
    fn groups_share_no_rows() {
        let size = [8u32, 64].map(u32::to_le_bytes);
        let group = |place: u64| [size.as_flattened(), &place.to_le_bytes()].concat();
        let table = |places: [u64; 2]| places.map(group).concat();
        assert_eq!(parse_groups(&table([0, 64]), 2, 128).unwrap().len(), 2);
        assert!(parse_groups(&table([0, 0]), 2, 127).is_none());
        assert!(parse_groups(&table([0, 65]), 2, 128).is_none());
    }
}
