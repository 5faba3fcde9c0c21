//! What lists of files take of the memory cap.

use std::path::{Path, PathBuf};

use umbel_sets::{Error, Options};

use crate::opened::Index;
use crate::text;

/// What is left for lists beside the cap.
const FREE: u64 = 4 << 20;
/// What a job needs besides lists.
const LEAST: u64 = 8 << 20;

/// Bytes that an index of these files is made in, `size` bytes of which are read.
pub(crate) fn of_paths(paths: &[PathBuf], size: u64) -> u64 {
    /// Of a file with one block, and of each block more.
    const EACH: u64 = 560;
    const BLOCK: u64 = 200;
    let files: u64 = paths.iter().map(|path| EACH + 4 * path.as_os_str().len() as u64).sum();
    files + size / text::BLOCK as u64 * BLOCK
}

/// Bytes of the files of an index that is open.
pub(crate) fn of_index(index: &Index) -> u64 {
    const EACH: u64 = 260;
    index.files.iter().map(|file| EACH + 2 * file.path.as_os_str().len() as u64).sum()
}

/// Bytes of the path of a file that is searched, and again of one that is in no index.
pub(crate) fn of_search(path: &Path) -> u64 {
    96 + 2 * path.as_os_str().len() as u64
}

/// What lists leave of the cap; others, of `later` bytes, may follow.
///
/// # Errors
/// [`Error::Memory`] if that is too little; with what is enough for the others, too.
pub(crate) fn without(lists: u64, later: u64, options: &Options) -> Result<Options, Error> {
    let least = |lists: u64| (lists + LEAST).next_multiple_of(1 << 20);
    let (lists, cap) = (lists.saturating_sub(FREE), options.memory);
    if lists > 0 && cap < least(lists) {
        return Err(Error::Memory { cap, least: least(lists + later) });
    }
    Ok(Options { memory: cap - lists, ..options.clone() })
}
