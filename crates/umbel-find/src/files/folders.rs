//! The named files, and the files in named folders.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use umbel_io::{NewFile, atomic};
use umbel_sets::sources::{self, Room};

/// Adds the regular files at and under `path`, in the order of their names; links in folders are not followed.
pub(crate) fn files(
    path: &Path,
    found: &mut Vec<PathBuf>,
    room: &mut Room,
    unreadable: &mut Vec<(PathBuf, String)>,
) -> Result<()> {
    let name = || path.display().to_string();
    let meta = fs::metadata(path).with_context(name)?;
    if meta.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    if !meta.is_dir() {
        bail!("{}: is neither a file nor a folder; save it as a file first", name());
    }
    let first = found.len();
    sources::files_of_folder(path, found, room, &mut |path, error| {
        unreadable.push((path.to_owned(), format!("{error:#}")));
        Ok(())
    })?;
    // A file still being written next to its target does not count yet.
    let others = found.split_off(first);
    found.extend(others.into_iter().filter(|path| !NewFile::is_beside(path)));
    Ok(())
}

/// Drops repeated files, which are under several of the named paths.
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

/// Whether an error means that the file does not exist: it is gone, or a folder in its path is gone or now a file.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The folder of an index, from which it keeps the paths under it; others are kept from the root. Kept paths have no
/// links and no `..`: one file has one path, however it and the index are named.
pub(crate) struct Base {
    /// As its user names it; empty if only the index's name is given.
    named: PathBuf,
    /// From the root.
    whole: PathBuf,
    /// Paths that were a file or a folder when kept and are now a link, and where each leads.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl Base {
    /// The folder of an index, which need not exist. A link counts as the index that it leads to.
    pub(crate) fn of_index(index: &Path) -> Result<Self> {
        let is_link = index.is_symlink();
        let index = if is_link { atomic::target_of(index) } else { index.to_owned() };
        let named = index.parent().map(Path::to_owned).unwrap_or_default();
        let here = if named.as_os_str().is_empty() { Path::new(".") } else { &named };
        let whole = canonical(here)?;
        Ok(Self { named, whole, moved: Vec::new() })
    }

    /// Bytes of its name.
    pub(crate) fn length(&self) -> u64 {
        self.named.as_os_str().len() as u64
    }

    /// How a path from the root is kept.
    pub(crate) fn kept<'a>(&self, whole: &'a Path) -> &'a Path {
        whole.strip_prefix(&self.whole).unwrap_or(whole)
    }

    /// How a path that a user names is kept.
    pub(crate) fn keep(&self, path: &Path) -> Result<PathBuf> {
        let whole = canonical(path)?;
        let kept = self.kept(&whole);
        Ok(if kept.as_os_str().is_empty() { PathBuf::from(".") } else { kept.to_owned() })
    }

    /// How a path that is kept is shown, and opened.
    pub(crate) fn shown(&self, kept: &Path) -> PathBuf {
        match self.named.join(kept) {
            here if here.as_os_str().is_empty() => PathBuf::from("."),
            path => path,
        }
    }

    /// How a path that is [shown](Self::shown) is kept.
    pub(crate) fn kept_of<'a>(&self, shown: &'a Path) -> &'a Path {
        shown.strip_prefix(&self.named).unwrap_or(shown)
    }

    /// Adds the files at and under `root`, which is kept, from the root of the system.
    pub(crate) fn files(
        &mut self,
        root: &Path,
        found: &mut Vec<PathBuf>,
        room: &mut Room,
        unreadable: &mut Vec<(PathBuf, String)>,
    ) -> Result<()> {
        let (was, is) = (self.whole.join(root), canonical(&self.shown(root))?);
        let first = unreadable.len();
        files(&is, found, room, unreadable)?;
        for (path, _) in &mut unreadable[first..] {
            *path = self.shown(self.kept(path));
        }
        if was != is {
            self.moved.push((was, is));
        }
        Ok(())
    }

    /// How the path of a file would be kept now, after all [files](Self::files) were listed.
    pub(crate) fn kept_now<'a>(&self, kept: &'a Path) -> Cow<'a, Path> {
        for (was, is) in &self.moved {
            if let Ok(under) = self.whole.join(kept).strip_prefix(was) {
                return self.kept(&is.join(under)).to_owned().into();
            }
        }
        self.kept(kept).into()
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    umbel_io::canonical(path).with_context(|| path.display().to_string())
}
