//! The files that are named: themselves, or those in folders.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use umbel_files::inputs::{self, Room};

/// Adds the regular files at and under `path`, in the order of their names; links in folders are not followed.
pub(crate) fn files(path: &Path, found: &mut Vec<PathBuf>, room: &mut Room) -> Result<()> {
    let name = || path.display().to_string();
    let meta = fs::metadata(path).with_context(name)?;
    if meta.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    if !meta.is_dir() {
        bail!(
            "{}: is neither a file nor a folder; an index is of files that can be read again",
            name()
        );
    }
    let first = found.len();
    inputs::files_of_folder(path, found, room)?;
    // What is being written beside its place is not there yet.
    let is_written = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".umbel-"))
    };
    let others = found.split_off(first);
    found.extend(others.into_iter().filter(|path| !is_written(path)));
    Ok(())
}

/// Leaves out what comes again, of files under several of the paths that were named.
pub(crate) fn keep_first(paths: &mut Vec<PathBuf>) {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_unstable_by_key(|&number| (&paths[number], number));
    let mut again = vec![false; paths.len()];
    for two in order.windows(2) {
        again[two[1]] = paths[two[0]] == paths[two[1]];
    }
    let mut again = again.into_iter();
    paths.retain(|_| again.next() == Some(false));
}

/// Whether an error says that there is no such file: it is gone, or a folder on the way to it is, maybe for a file.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The folder that an index is in, which the paths of its files start from.
pub(crate) fn of_index(index: &Path) -> PathBuf {
    index.parent().map(Path::to_owned).unwrap_or_default()
}

/// How an index in `folder` names a file or a folder: from there, if it is under it, and from the root otherwise.
pub(crate) fn stored(path: &Path, folder: &Path) -> Result<PathBuf> {
    let name = || path.display().to_string();
    let whole = umbel_system::canonical(path).with_context(name)?;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let here = umbel_system::canonical(here).with_context(|| here.display().to_string())?;
    Ok(match whole.strip_prefix(&here) {
        Ok(under) => under.to_owned(),
        Err(_) => whole,
    })
}
