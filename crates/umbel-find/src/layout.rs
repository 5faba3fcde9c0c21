//! The file of an index: FORMAT.md has every byte.
//!
//! ```text
//! header, 64 bytes | settings | roots | files | groups, 8 bytes each | blocks, 32 bytes each | columns, 4 bytes each | rows of the groups
//! ```
//! All of it is in pages with checksums. Whoever looks something up reads it up to the groups, and of the rest the rows of the
//! keys and what is needed of the blocks that are found.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::IndexError;
use crate::matrix::{Group, WIDTH};
use crate::pages::{self, DATA, PAGE, Pages};
use crate::settings::Settings;
use crate::stamp::Stamp;

/// The first bytes of an index.
pub const MAGIC: [u8; 8] = *b"\x89UMIDX\r\n";

const VERSION: u16 = 1;
const HEADER: u64 = 64;
const GROUP: u64 = 8;
const BLOCK: u64 = 32;
const COLUMN: u64 = 4;

/// A file of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// From the folder of the index, or from the root.
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    /// Bytes of its text, decompressed.
    pub(crate) text: u64,
    /// The first record of a table, which names its columns.
    pub(crate) header: Option<Vec<u8>>,
    /// Its first block among all, and the number of its blocks.
    pub(crate) first: u32,
    pub(crate) blocks: u32,
}

/// A block of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it starts in the text, and the lines before it.
    pub(crate) start: u64,
    pub(crate) lines: u64,
    /// Where reading starts: an offset of the file, and the offset of the text that is there.
    pub(crate) point: (u64, u64),
}

/// An index that is open.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) pages: Pages,
    pub(crate) settings: Settings,
    /// What was named when it was made.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) files: Vec<Entry>,
    pub(crate) groups: Vec<Group>,
    /// Where blocks and columns are among the data.
    blocks: u64,
    columns: u64,
}

/// What an index is written from, besides the rows of its groups.
pub(crate) struct Plan<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) roots: &'a [PathBuf],
    pub(crate) files: &'a [Entry],
    pub(crate) blocks: &'a [Block],
    /// The rows of each group, and its blocks in the order of their columns.
    pub(crate) groups: &'a [(u32, Vec<u32>)],
}

impl Plan<'_> {
    /// The data before the rows of the groups.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut lists = Vec::new();
        let entries = self.settings.entries();
        put_number(&mut lists, entries.len());
        for (name, value) in &entries {
            put_bytes(&mut lists, name.as_bytes());
            put_bytes(&mut lists, value.as_bytes());
        }
        put_number(&mut lists, self.roots.len());
        self.roots.iter().for_each(|root| put_bytes(&mut lists, root.as_os_str().as_bytes()));
        for file in self.files {
            put_bytes(&mut lists, file.path.as_os_str().as_bytes());
            put_bytes(&mut lists, file.header.as_deref().unwrap_or_default());
            let Stamp { size, modified, changed, device, inode, sum } = file.stamp;
            let header = u64::from(file.header.is_some());
            let numbers = [size, modified as u64, changed as u64, device, inode, sum, file.text];
            for number in numbers.into_iter().chain([u64::from(file.blocks), header]) {
                lists.extend_from_slice(&number.to_le_bytes());
            }
        }
        let rows: u64 =
            self.groups.iter().map(|(rows, blocks)| group(*rows, blocks.len(), 0).bytes()).sum();
        let tables = self.groups.len() as u64 * GROUP + self.blocks.len() as u64 * (BLOCK + COLUMN);
        let data = HEADER + lists.len() as u64 + tables + rows;
        let mut all = Vec::new();
        all.extend_from_slice(&MAGIC);
        all.extend_from_slice(&VERSION.to_le_bytes());
        all.extend_from_slice(&[0; 6]);
        let counts = [self.files.len(), self.groups.len(), self.blocks.len()];
        for number in [data, lists.len() as u64].into_iter().chain(counts.map(|count| count as u64))
        {
            all.extend_from_slice(&number.to_le_bytes());
        }
        all.resize(HEADER as usize, 0);
        all.extend_from_slice(&lists);
        for (rows, blocks) in self.groups {
            all.extend_from_slice(&rows.to_le_bytes());
            put_number(&mut all, blocks.len());
        }
        for Block { start, lines, point } in self.blocks {
            for number in [*start, *lines, point.0, point.1] {
                all.extend_from_slice(&number.to_le_bytes());
            }
        }
        for block in self.groups.iter().flat_map(|(_, blocks)| blocks) {
            all.extend_from_slice(&block.to_le_bytes());
        }
        all
    }
}

fn group(rows: u32, columns: usize, place: u64) -> Group {
    Group { rows, columns: columns as u32, place }
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
        Some(PathBuf::from(OsStr::from_bytes(self.list()?)))
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.list()?.to_vec()).ok()
    }
}

impl Index {
    /// Opens an index: reads and checks what it has of files and groups, and neither blocks nor rows.
    ///
    /// # Errors
    /// An [`IndexError`].
    pub(crate) fn open(mut file: File) -> Result<Self, IndexError> {
        let mut start = Vec::new();
        file.by_ref().take(10).read_to_end(&mut start)?;
        if !start.starts_with(&MAGIC) {
            return Err(IndexError::NotIndex);
        }
        let version = start.get(8..10).map_or(VERSION, |two| u16::from_le_bytes([two[0], two[1]]));
        if version != VERSION {
            return Err(IndexError::Version(version));
        }
        let pages = Pages::new(file)?;
        let header = pages.take(0, HEADER)?;
        let damaged = || IndexError::Damaged { page: 0 };
        let mut numbers = Taken(&header[16..]);
        let mut number = || numbers.u64().ok_or_else(damaged);
        let [data, lists, files, groups, blocks] =
            [number()?, number()?, number()?, number()?, number()?];
        if pages::count(data) != pages.count() {
            let expected = pages::count(data).checked_mul(PAGE as u64);
            return Err(IndexError::Length { found: pages.count() * PAGE as u64, expected });
        }
        let tables = groups.checked_mul(GROUP).zip(blocks.checked_mul(BLOCK + COLUMN));
        let rows_at = tables
            .and_then(|(groups, blocks)| {
                HEADER.checked_add(lists)?.checked_add(groups)?.checked_add(blocks)
            })
            .filter(|&at| at <= data && blocks <= u64::from(u32::MAX))
            .ok_or_else(damaged)?;
        let read = pages.take(HEADER, lists + groups * GROUP)?;
        let (lists, table) = read.split_at(lists as usize);
        let (settings, roots, files) = parse(lists, files, blocks).ok_or_else(damaged)?;
        let groups = parse_groups(table, rows_at, blocks, data).ok_or_else(damaged)?;
        let at = HEADER + read.len() as u64;
        Ok(Self { pages, settings, roots, files, groups, blocks: at, columns: at + blocks * BLOCK })
    }

    /// Checks all pages, and that each block has one column; returns how many bits of filters are set.
    pub(crate) fn check(&self) -> Result<u64, IndexError> {
        let mut has = vec![false; self.block_count() as usize];
        let mut set = 0;
        for (number, group) in self.groups.iter().enumerate() {
            for block in self.columns(number)? {
                if std::mem::replace(&mut has[block as usize], true) {
                    return Err(IndexError::Damaged { page: self.columns / DATA as u64 });
                }
            }
            const PIECE: u64 = 1 << 20;
            for start in (0..group.bytes()).step_by(PIECE as usize) {
                let bytes =
                    self.pages.take(group.place + start, PIECE.min(group.bytes() - start))?;
                set += bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            }
        }
        for file in &self.files {
            let blocks = self.blocks(file.first, file.blocks)?;
            let ends = blocks.iter().map(|block| block.start).chain([file.text]);
            if !ends.is_sorted() {
                return Err(IndexError::Damaged { page: self.blocks / DATA as u64 });
            }
        }
        Ok(set)
    }

    pub(crate) fn block_count(&self) -> u32 {
        self.files.last().map_or(0, |last| last.first + last.blocks)
    }

    /// Some blocks.
    pub(crate) fn blocks(&self, first: u32, count: u32) -> Result<Vec<Block>, IndexError> {
        let place = self.blocks + u64::from(first) * BLOCK;
        let bytes = self.pages.take(place, u64::from(count) * BLOCK)?;
        let block = |bytes: &[u8]| {
            let mut taken = Taken(bytes);
            let mut next = || taken.u64().expect("32 bytes");
            Block { start: next(), lines: next(), point: (next(), next()) }
        };
        Ok(bytes.chunks_exact(BLOCK as usize).map(block).collect())
    }

    /// The blocks of the columns of a group.
    pub(crate) fn columns(&self, number: usize) -> Result<Vec<u32>, IndexError> {
        let before: u64 = self.groups[..number].iter().map(|group| u64::from(group.columns)).sum();
        let place = self.columns + before * COLUMN;
        let columns = u64::from(self.groups[number].columns);
        let bytes = self.pages.take(place, columns * COLUMN)?;
        let number = |bytes: &[u8]| Taken(bytes).u32().expect("4 bytes");
        let columns: Vec<_> = bytes.chunks_exact(COLUMN as usize).map(number).collect();
        match columns.iter().all(|&block| block < self.block_count()) {
            true => Ok(columns),
            false => Err(IndexError::Damaged { page: place / DATA as u64 }),
        }
    }
}

fn parse(lists: &[u8], files: u64, blocks: u64) -> Option<(Settings, Vec<PathBuf>, Vec<Entry>)> {
    let mut taken = Taken(lists);
    let mut entries = Vec::new();
    for _ in 0..taken.u32()? {
        entries.push((taken.text()?, taken.text()?));
    }
    let settings = Settings::from_entries(&entries)?;
    let mut roots = Vec::new();
    for _ in 0..taken.u32()? {
        roots.push(taken.path()?);
    }
    let (mut all, mut first) = (Vec::new(), 0);
    for _ in 0..files {
        let (path, header) = (taken.path()?, taken.list()?.to_vec());
        let mut next = || taken.u64();
        let (size, modified, changed) = (next()?, next()? as i64, next()? as i64);
        let (device, inode, sum, text) = (next()?, next()?, next()?, next()?);
        let stamp = Stamp { size, modified, changed, device, inode, sum };
        let blocks = u32::try_from(next()?).ok()?;
        let header = match next()? {
            0 if header.is_empty() => None,
            1 => Some(header),
            _ => return None,
        };
        all.push(Entry { path, stamp, text, header, first, blocks });
        first = first.checked_add(blocks)?;
    }
    (u64::from(first) == blocks && taken.0.is_empty()).then_some((settings, roots, all))
}

fn parse_groups(table: &[u8], rows_at: u64, blocks: u64, data: u64) -> Option<Vec<Group>> {
    let mut taken = Taken(table);
    let (mut groups, mut place, mut columns) = (Vec::new(), rows_at, 0);
    while !taken.0.is_empty() {
        let group = Group { rows: taken.u32()?, columns: taken.u32()?, place };
        if group.rows < 8
            || !group.rows.is_multiple_of(8)
            || !(1..=WIDTH as u32).contains(&group.columns)
        {
            return None;
        }
        place = place.checked_add(group.bytes())?;
        columns += u64::from(group.columns);
        groups.push(group);
    }
    (columns == blocks && place == data).then_some(groups)
}
