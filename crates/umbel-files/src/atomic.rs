//! Files that appear whole or not at all.
//!
//! On Linux the new file has no name until it is complete and synced (`O_TMPFILE`), so that even
//! SIGKILL leaves nothing behind; elsewhere, and on file systems without that, it is a temporary
//! file next to the target. Replacing a file takes two steps on Linux, a link next to it and a
//! rename. The link is named by the number of its file, so that one left by a SIGKILL between the two
//! is known as such, and removed when a file next to it is replaced; no file of somebody else is.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use umbel_sets::PageWriter;

/// What to do about a file that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to write.
    Keep,
    /// Replace it.
    Replace,
}

/// Refuses a target that exists and must be kept, or cannot be made: before the work, not after it.
pub fn check_target(path: &Path, existing: Existing) -> Result<()> {
    let target = target_of(path);
    let meta = fs::metadata(&target);
    let is_link = meta.is_err() && path.is_symlink();
    match meta {
        Ok(meta) if meta.is_dir() => {
            let text = format!("{}: is a directory; name a file", path.display());
            Err(io::Error::new(io::ErrorKind::IsADirectory, text).into())
        }
        meta if existing == Existing::Keep
            && (is_link || meta.as_ref().is_ok_and(Metadata::is_file)) =>
        {
            bail!("{}: already exists; replace it with --force", path.display())
        }
        Err(_) if !folder(&target).is_dir() => {
            let text = format!(
                "{}: the folder {} does not exist; create it first",
                path.display(),
                folder(&target).display()
            );
            Err(io::Error::new(io::ErrorKind::NotFound, text).into())
        }
        _ => Ok(()),
    }
}

/// The file that `path` leads to, or that is made if it is written to: a link stands for its target, also when that does
/// not exist.
fn target_of(path: &Path) -> PathBuf {
    /// More than these in a row are a circle.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    // What a link in /proc shows need not be a path.
    for _ in 0..if path.exists() { 0 } else { MOST_LINKS } {
        match fs::read_link(&target) {
            // A path from the root replaces all of it.
            Ok(next) => target = folder(&target).join(next),
            Err(_) => break,
        }
    }
    fs::canonicalize(&target).unwrap_or(target)
}

/// Whether both are of the same file.
pub fn is_same(left: &Metadata, right: &Metadata) -> bool {
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

/// Whether both paths lead to one file, or would if it were made.
pub fn is_same_path(left: &Path, right: &Path) -> bool {
    match (fs::metadata(left), fs::metadata(right)) {
        (Ok(left), Ok(right)) => is_same(&left, &right),
        _ => would_be(left) == would_be(right),
    }
}

/// The path of a file that does not exist, from the root.
fn would_be(path: &Path) -> PathBuf {
    let target = target_of(path);
    match (fs::canonicalize(folder(&target)), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target,
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes `path` through `write`, which fills a file that takes its name only when complete.
///
/// A target that is no regular file, such as a pipe or /dev/null, is written to as it is. Gives the file
/// written; one that replaced another is locked as long as it is open.
pub fn write(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<File> {
    let mut write = Some(write);
    let mut once = |out: &mut (dyn Write + Send)| write.take().expect("called once")(out);
    write_by(path, existing, &mut once, &mut |_| Ok(()), None)
}

/// As [`write()`]; `check` reads the file from its start before it takes its name, and may refuse it.
pub fn write_checked(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    check: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    let (mut write, mut check) = (Some(write), Some(check));
    let mut once = |out: &mut (dyn Write + Send)| write.take().expect("called once")(out);
    let mut checked = |mut file: &File| {
        file.rewind().with_context(|| path.display().to_string())?;
        check.take().expect("called once")(file)
    };
    write_by(path, existing, &mut once, &mut checked, None)
}

/// As [`write()`], for a file that only its owner may read.
pub fn write_private(path: &Path, existing: Existing, bytes: &[u8]) -> Result<()> {
    let mut write = |out: &mut (dyn Write + Send)| Ok(out.write_all(bytes)?);
    let owner_only = Permissions::from_mode(0o600);
    write_by(path, existing, &mut write, &mut |_| Ok(()), Some(owner_only)).map(drop)
}

/// As [`write_checked`]; calls each function once. A file that is replaced leaves its permissions, unless others are
/// given. Compiled once, and not for every caller.
fn write_by(
    path: &Path,
    existing: Existing,
    write: &mut Fill<'_>,
    check: &mut dyn FnMut(&File) -> Result<()>,
    permissions: Option<Permissions>,
) -> Result<File> {
    check_target(path, existing)?;
    let target = target_of(path);
    let before = fs::metadata(&target).ok();
    if before.as_ref().is_some_and(|meta| !meta.is_file()) {
        let file = OpenOptions::new()
            .write(true)
            .open(&target)
            .with_context(|| path.display().to_string())?;
        return fill(file, write).with_context(|| path.display().to_string());
    }
    let dir = folder(&target);
    let mode = permissions.as_ref().map_or(0o666, PermissionsExt::mode);
    let permissions = permissions.or_else(|| before.map(|meta| meta.permissions()));
    let context = || format!("{}: nothing was written", path.display());
    let mut complete = |file: File| {
        let file = fill(file, write).with_context(context)?;
        if let Some(permissions) = permissions.clone() {
            file.set_permissions(permissions).with_context(context)?;
        }
        file.sync_all().with_context(context)?;
        check(&file)?;
        Ok::<_, anyhow::Error>(file)
    };
    let file = match nameless::open(dir, mode) {
        Some(file) => {
            let file = complete(file)?;
            nameless::give_name(&file, &target, existing).with_context(context)?;
            file
        }
        None => {
            let temporary = tempfile::Builder::new()
                .prefix(BESIDE)
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(dir)
                .with_context(context)?;
            let (file, name) = temporary.into_parts();
            let file = complete(file)?;
            match existing {
                Existing::Keep => name.persist_noclobber(&target),
                Existing::Replace => {
                    file.lock().with_context(context)?;
                    name.persist(&target)
                }
            }
            .map_err(|error| error.error)
            .with_context(context)?;
            file
        }
    };
    // The new name itself must survive a crash.
    File::open(dir).and_then(|dir| dir.sync_all()).with_context(context)?;
    Ok(file)
}

/// What names of files next to a target begin with.
const BESIDE: &str = ".umbel-";

/// Replaces the file at `path` as [`write()`] does, and gives what `work` gives.
pub fn replace<T>(
    path: &Path,
    work: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
) -> Result<T> {
    let mut result = None;
    write(path, Existing::Replace, |out| {
        result = Some(work(out)?);
        Ok(())
    })?;
    Ok(result.expect("it is there when the file is"))
}

/// Writes the content of a file.
type Fill<'a> = dyn FnMut(&mut (dyn Write + Send)) -> Result<()> + 'a;

fn fill(file: File, write: &mut Fill<'_>) -> Result<File> {
    let mut out = PageWriter::new(1 << 18, file);
    write(&mut out)?;
    Ok(out.into_inner().map_err(|(error, _)| error)?)
}

#[cfg(target_os = "linux")]
mod nameless {
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
    use nix::unistd::linkat;

    use super::*;

    /// A file in `dir` that has no name yet, where the system can do that.
    pub(super) fn open(dir: &Path, mode: u32) -> Option<File> {
        // Naming goes through /proc.
        if !Path::new("/proc/self/fd").is_dir() {
            return None;
        }
        OpenOptions::new()
            .read(true)
            .write(true)
            .mode(mode)
            .custom_flags(OFlag::O_TMPFILE.bits())
            .open(dir)
            .ok()
    }

    pub(super) fn give_name(file: &File, target: &Path, existing: Existing) -> io::Result<()> {
        let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let link =
            |name: &Path| Ok(linkat(AT_FDCWD, &open, AT_FDCWD, name, AtFlags::AT_SYMLINK_FOLLOW)?);
        if existing == Existing::Keep {
            return link(target);
        }
        // A link cannot replace a file: link next to the target, then rename over it.
        // The lock shows other processes that it is about to be renamed.
        file.lock()?;
        remove_orphans(folder(target));
        let prefix = format!("{BESIDE}{:x}-", file.metadata()?.ino());
        let linked = tempfile::Builder::new().prefix(&prefix).make_in(folder(target), link)?;
        linked.into_temp_path().persist(target).map_err(|error| error.error)
    }

    /// Removes the links in `dir` that no process is left to rename. What cannot be removed stays.
    fn remove_orphans(dir: &Path) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(BESIDE)?.split_once('-'));
            let Some(number) = number.and_then(|(hex, _)| u64::from_str_radix(hex, 16).ok()) else {
                continue;
            };
            // A copy, or what somebody else named so, has another number.
            let is_link = |meta: Metadata| meta.is_file() && meta.ino() == number;
            if entry.metadata().is_ok_and(is_link)
                && let Ok(file) = File::open(entry.path())
                && file.try_lock().is_ok()
            {
                // If it was renamed meanwhile, nothing has this name.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nameless {
    use super::*;

    pub(super) fn open(_: &Path, _: u32) -> Option<File> {
        None
    }

    pub(super) fn give_name(_: &File, _: &Path, _: Existing) -> io::Result<()> {
        unreachable!("no file is nameless here")
    }
}
