//! Files that appear whole or not at all, and who may replace them.
//!
//! [`NewFile`] documents the steps on each system.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::pages::PageWriter;
use crate::{Access, NewFile, State};

/// How to treat a file that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to write.
    Keep,
    /// Replace it.
    Replace,
}

/// Refuses a target that exists and must be kept, or cannot be created: before the work, not after it.
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
        // Otherwise this would only show when the finished file gets its name.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            Err(error).with_context(|| path.display().to_string())
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

/// The file that `path` leads to, or that writing to it would create: a link counts as its target, even if that does
/// not exist.
pub fn target_of(path: &Path) -> PathBuf {
    /// More links than this in a row are a circle.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    // A link in /proc need not contain a path.
    for _ in 0..if path.exists() { 0 } else { MOST_LINKS } {
        match fs::read_link(&target) {
            // An absolute path replaces all of it.
            Ok(next) => target = folder(&target).join(next),
            Err(_) => break,
        }
    }
    crate::canonical(&target).unwrap_or(target)
}

/// Whether both paths lead to one file, or would if it was created.
pub fn is_same_path(left: &Path, right: &Path) -> bool {
    match (State::at(left), State::at(right)) {
        (Ok(left), Ok(right)) => left.id == right.id,
        _ => would_be(left) == would_be(right),
    }
}

/// The absolute path of a file that does not exist.
fn would_be(path: &Path) -> PathBuf {
    let target = target_of(path);
    match (crate::canonical(folder(&target)), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target,
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes `path` through `write`, which fills a file that takes its name only when complete.
///
/// A target that is not a regular file, such as a pipe or /dev/null, is written to directly. Returns the
/// file written; one that replaced another is locked as long as it is open.
pub fn write(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<File> {
    let write = |file| fill(file, Box::new(write));
    write_by(path, existing, Box::new(write), Box::new(|_| Ok(())), None)
}

/// As [`write()`]; `write` gets the file itself: the system can then copy parts of other files into it.
pub fn write_file(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    let write = |file| write(&file).map(|()| file);
    write_by(path, existing, Box::new(write), Box::new(|_| Ok(())), None)
}

/// As [`write()`]; `check` reads the file from its start before it takes its name, and may refuse it.
pub fn write_checked(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    check: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    let write = |file| fill(file, Box::new(write));
    let check = |mut file: &File| {
        file.rewind().with_context(|| path.display().to_string())?;
        check(file)
    };
    write_by(path, existing, Box::new(write), Box::new(check), None)
}

/// As [`write()`], for a file that may be read only as `access` allows.
pub fn write_for(path: &Path, existing: Existing, access: Access, bytes: &[u8]) -> Result<File> {
    let write = |file| fill(file, Box::new(|out| Ok(out.write_all(bytes)?)));
    write_by(path, existing, Box::new(write), Box::new(|_| Ok(())), Some(access))
}

/// As [`write_checked`]. A replaced file passes on its owner and its permissions, unless the new one gets an `access` of
/// its own. Compiled once, not for every caller.
fn write_by(
    path: &Path,
    existing: Existing,
    write: Box<dyn FnOnce(File) -> Result<File> + '_>,
    check: Box<Check<'_>>,
    access: Option<Access>,
) -> Result<File> {
    check_target(path, existing)?;
    let target = target_of(path);
    let before = fs::metadata(&target).ok();
    if before.as_ref().is_some_and(|meta| !meta.is_file()) {
        let file = OpenOptions::new()
            .write(true)
            .open(&target)
            .with_context(|| path.display().to_string())?;
        return write(file).with_context(|| path.display().to_string());
    }
    let dir = folder(&target);
    let context = || format!("{}: nothing was written", path.display());
    // The replacement of a private file is never readable by others, not even while it is written.
    let private = access.is_some() || before.is_some();
    let (file, new) = NewFile::in_folder(dir, private).with_context(context)?;
    if let Some(access) = access {
        access.set(&file).with_context(context)?;
    }
    let file = write(file).with_context(context)?;
    if let Some(before) = before.filter(|_| access.is_none()) {
        crate::inherit(&file, &before).with_context(context)?;
    }
    file.sync_all().with_context(context)?;
    check(&file)?;
    new.give_name(&file, &target, existing == Existing::Replace).with_context(context)?;
    sync_folder_of(&target).with_context(|| {
        format!(
            "{}: was written, but its folder could not be synced: a system crash may bring the old file back",
            path.display()
        )
    })?;
    Ok(file)
}

/// Makes the name of a new file durable: syncing the file itself may not do that.
///
/// # Errors
/// System errors.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    crate::sync_folder(folder(&target_of(path)))
}

/// Keeps others from changing the file that `path` names, which `open` opens and has opened as `file`, as long as what this
/// gives is open. If another process does so, `wait` locks the file after waiting, or refuses to wait.
pub fn lock(
    mut file: File,
    path: &Path,
    open: &dyn Fn() -> Result<File>,
    wait: &mut dyn FnMut(&File) -> io::Result<()>,
) -> Result<File> {
    let context = || path.display().to_string();
    let mut writable = false;
    loop {
        match crate::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => wait(&file).with_context(context)?,
            // NFS only locks files that are open for writing.
            Err(TryLockError::Error(error)) if crate::locks_only_writable(&error) && !writable => {
                writable = true;
                let options = OpenOptions::new().read(true).write(true).open(path);
                file = options.with_context(context)?;
                continue;
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(context),
        }
        // While we waited the file may have been replaced by a newer one.
        let ours = State::of(&file).with_context(context)?;
        let named = State::at(path).with_context(context)?;
        if ours.id == named.id {
            return Ok(file);
        }
        (file, writable) = (open()?, false);
    }
}

/// Replaces the file at `path` as [`write()`] does, and returns what `work` returns.
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
pub type Fill<'a> = dyn FnOnce(&mut (dyn Write + Send)) -> Result<()> + 'a;

/// Reads a file that was written, and may refuse it.
pub type Check<'a> = dyn FnOnce(&File) -> Result<()> + 'a;

fn fill(file: File, write: Box<Fill<'_>>) -> Result<File> {
    let mut out = PageWriter::new(1 << 18, file);
    write(&mut out)?;
    Ok(out.into_inner().map_err(|(error, _)| error)?)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs::Permissions;
    #[cfg(unix)]
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use super::*;

    /// The replacement of a file that only its owner may read.
    #[cfg(unix)]
    #[test]
    fn a_private_file_is_replaced_in_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut met = 0;
        write(&path, Existing::Replace, |out| {
            out.write_all(b"new")?;
            for open in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
                let beside = fs::read_link(open.path()).is_ok_and(|at| at.starts_with(dir.path()));
                if beside && let Ok(meta) = fs::metadata(open.path()) {
                    assert_eq!(meta.mode() & 0o777, 0o600);
                    met += 1;
                }
            }
            Ok(())
        })
        .unwrap();
        assert!(met == 1 || !cfg!(target_os = "linux"), "{met}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_owner_and_loses_the_right_to_act_as_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        // Only root may give files away.
        let owner = chown(&path, Some(12345), Some(54321)).is_ok().then_some((12345, 54321));
        fs::set_permissions(&path, Permissions::from_mode(0o6775)).unwrap();
        write(&path, Existing::Replace, |out| Ok(out.write_all(b"new")?)).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o775);
        assert!(owner.is_none_or(|owner| owner == (meta.uid(), meta.gid())), "{meta:?}");
    }

    #[test]
    fn a_name_that_is_too_long_is_told_before_the_work() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x".repeat(256));
        let error = check_target(&path, Existing::Replace).unwrap_err();
        assert!(format!("{error:#}").contains("too long"), "{error:#}");
        let longest = dir.path().join("x".repeat(255));
        check_target(&longest, Existing::Replace).unwrap();
        write(&longest, Existing::Replace, |out| Ok(out.write_all(b"new")?)).unwrap();
        write(&longest, Existing::Replace, |out| Ok(out.write_all(b"newer")?)).unwrap();
        assert_eq!(fs::read(&longest).unwrap(), b"newer");
    }
}
