//! Files that appear whole or not at all.
//!
//! On Linux the new file has no name until it is complete and synced (`O_TMPFILE`), so that even
//! SIGKILL leaves nothing behind; elsewhere, and on file systems without that, it is a temporary
//! file next to the target. Replacing a file takes two steps on Linux, a link next to it and a
//! rename; a link left by a SIGKILL between the two is removed when the file is replaced again.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

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
        Ok(meta) if meta.is_dir() => bail!("{}: is a directory; name a file", path.display()),
        meta if existing == Existing::Keep
            && (is_link || meta.as_ref().is_ok_and(Metadata::is_file)) =>
        {
            bail!("{}: already exists; replace it with --force", path.display())
        }
        Err(_) if !folder(&target).is_dir() => {
            bail!(
                "{}: the folder {} does not exist; create it first",
                path.display(),
                folder(&target).display()
            )
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
    write_by(path, existing, &mut once)
}

/// As [`write()`]; calls `write` once. Compiled once, and not for every caller.
fn write_by(path: &Path, existing: Existing, write: &mut Fill<'_>) -> Result<File> {
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
    let permissions = before.map(|meta| meta.permissions());
    let context = || format!("{}: nothing was written", path.display());
    let file = match nameless(dir) {
        Some(file) => {
            let file = fill(file, write).with_context(context)?;
            prepare(&file, permissions).with_context(context)?;
            nameless::give_name(&file, &target, existing).with_context(context)?;
            file
        }
        None => {
            let temporary = tempfile::Builder::new()
                .prefix(".umbel-")
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
                .tempfile_in(dir)
                .with_context(context)?;
            let (file, name) = temporary.into_parts();
            let file = fill(file, write).with_context(context)?;
            prepare(&file, permissions).with_context(context)?;
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
    let mut out = BufWriter::with_capacity(1 << 18, file);
    write(&mut out)?;
    Ok(out.into_inner().map_err(io::IntoInnerError::into_error)?)
}

fn prepare(file: &File, permissions: Option<Permissions>) -> io::Result<()> {
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// A file in `dir` that has no name yet, where the system can do that.
fn nameless(dir: &Path) -> Option<File> {
    nameless::open(dir)
}

#[cfg(target_os = "linux")]
mod nameless {
    use std::ffi::OsString;
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
    use nix::unistd::linkat;

    use super::*;

    pub(super) fn open(dir: &Path) -> Option<File> {
        // Naming goes through /proc.
        if !Path::new("/proc/self/fd").is_dir() {
            return None;
        }
        OpenOptions::new()
            .write(true)
            .mode(0o666)
            .custom_flags(OFlag::O_TMPFILE.bits())
            .open(dir)
            .ok()
    }

    pub(super) fn give_name(file: &File, target: &Path, existing: Existing) -> io::Result<()> {
        let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let link =
            |name: &Path| linkat(AT_FDCWD, &open, AT_FDCWD, name, AtFlags::AT_SYMLINK_FOLLOW);
        if existing == Existing::Keep {
            return Ok(link(target)?);
        }
        // A link cannot replace a file: link next to the target, then rename over it. The lock shows
        // other processes that the linked file is about to be renamed.
        file.lock()?;
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".umbel-new");
        let beside = target.with_file_name(name);
        while let Err(error) = link(&beside) {
            if error != Errno::EEXIST {
                return Err(error.into());
            }
            remove_orphan(&beside)?;
        }
        fs::rename(&beside, target).inspect_err(|_| {
            let _ = fs::remove_file(&beside);
        })
    }

    /// Waits until the file at `path` is renamed, or removes it if no process is left to do that.
    fn remove_orphan(path: &Path) -> io::Result<()> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        file.lock()?;
        // A file is removed only under its lock: if it still has its name, it keeps it.
        let (ours, named) = (file.metadata()?, fs::symlink_metadata(path));
        match named {
            Ok(named) if is_same(&ours, &named) => fs::remove_file(path),
            _ => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nameless {
    use super::*;

    pub(super) fn open(_: &Path) -> Option<File> {
        None
    }

    pub(super) fn give_name(_: &File, _: &Path, _: Existing) -> io::Result<()> {
        unreachable!("no file is nameless here")
    }
}
