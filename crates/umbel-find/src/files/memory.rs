//! The part of the memory cap that lists of files use.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use umbel_sets::sources::Room;
use umbel_sets::{Error, Resources};

use super::opened::Index;
use super::text;

/// Bytes for lists in addition to the cap.
const FREE: u64 = 4 << 20;
/// Bytes that a job needs besides lists.
const LEAST: u64 = 8 << 20;

/// Bytes per block, while an index is made.
const BLOCK: u64 = 200;

/// Bytes per file with one block, while an index is made, and per byte of its path.
const MADE: [u64; 2] = [560, 4];
/// Bytes per file of an open index, and per byte of its path.
const OPEN: [u64; 2] = [260, 2];
/// Bytes per searched file and per byte of its path, and again for one in no index.
const SEARCHED: [u64; 2] = [96, 2];

fn of([each, byte]: [u64; 2], path: &Path) -> u64 {
    each + byte * path.as_os_str().len() as u64
}

/// Bytes for the blocks of `size` bytes of plain text.
fn of_blocks(size: u64) -> u64 {
    size / text::BLOCK as u64 * BLOCK
}

/// Bytes of memory to index these files, if `size` bytes of them are read.
pub(crate) fn of_paths(paths: &[PathBuf], size: u64) -> u64 {
    let files: u64 = paths.iter().map(|path| of(MADE, path)).sum();
    files + of_blocks(size)
}

/// Room for the paths of a new index, next to lists of this many bytes.
pub(crate) fn room_of_paths(resources: &Resources, lists: u64) -> Room {
    Room::new(resources.memory, MADE).beside(lists)
}

/// Bytes of the files of an index that is open.
pub(crate) fn of_index(index: &Index) -> u64 {
    let files = index.files.iter().map(|file| of(OPEN, &file.path));
    let headers = index.headers.iter().map(|header| 2 * header.len() as u64);
    files.chain(headers).sum()
}

/// Bytes of an index that is brought up to date, besides its paths: its blocks may stay, and one per path is counted
/// there.
pub(crate) fn of_old(index: &Index) -> u64 {
    let more = u64::from(index.block_count()).saturating_sub(index.files.len() as u64);
    of_index(index) + more * BLOCK
}

/// Memory known only when files are read: the number of blocks of compressed text, and the headers of tables.
pub(crate) struct Unforeseen {
    cap: u64,
    /// The expected bytes of lists.
    lists: u64,
    /// Bytes of `bytes` that are within that, or available in addition.
    room: u64,
    bytes: AtomicU64,
    headers: Mutex<HashSet<Arc<[u8]>>>,
}

impl Unforeseen {
    /// Of `lists` for files of `size` bytes, which leave `left` of the cap. A thread uses its share for records, an
    /// eighth, and keys, a quarter: an eighth of all can be spared.
    pub(crate) fn new(cap: u64, lists: u64, size: u64, left: u64) -> Self {
        let room = of_blocks(size) + FREE.saturating_sub(lists) + left / 8;
        Self { cap, lists, room, bytes: AtomicU64::new(0), headers: Mutex::default() }
    }

    /// One more block of a file.
    ///
    /// # Errors
    /// [`Error::Memory`] if it does not fit; the error names a cap for twice as many.
    pub(crate) fn block(&self) -> Result<(), Error> {
        self.add(BLOCK)
    }

    /// A header, which is kept once for all files that have it.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn header(&self, header: Vec<u8>) -> Result<Arc<[u8]>, Error> {
        let mut headers = self.headers.lock().expect("no worker panics");
        if let Some(same) = headers.get(&header[..]) {
            return Ok(same.clone());
        }
        self.add(3 * header.len() as u64)?;
        let header: Arc<[u8]> = header.into();
        headers.insert(header.clone());
        Ok(header)
    }

    fn add(&self, more: u64) -> Result<(), Error> {
        let bytes = self.bytes.fetch_add(more, Ordering::Relaxed) + more;
        if bytes > self.room {
            return Err(Error::Memory { cap: self.cap, least: least(self.lists + 16 * bytes) });
        }
        Ok(())
    }
}

/// The least cap for lists of this many bytes.
fn least(lists: u64) -> u64 {
    (lists + LEAST).next_multiple_of(1 << 20)
}

/// Bytes of the path of a file that is searched.
pub(crate) fn of_search(path: &Path) -> u64 {
    of(SEARCHED, path)
}

/// Room for the paths of files that are searched, next to lists of this many bytes.
pub(crate) fn room_of_search(resources: &Resources, lists: u64) -> Room {
    Room::new(resources.memory, SEARCHED).beside(lists)
}

/// The cap less these lists; others, of `later` bytes, may follow.
///
/// # Errors
/// [`Error::Memory`] if that is too little; it names a cap that is also enough for the others.
pub(crate) fn without(lists: u64, later: u64, resources: &Resources) -> Result<Resources, Error> {
    let (lists, cap) = (lists.saturating_sub(FREE), resources.memory);
    if lists > 0 && cap < least(lists) {
        return Err(Error::Memory { cap, least: least(lists + later) });
    }
    Ok(Resources { memory: cap - lists, ..resources.clone() })
}
