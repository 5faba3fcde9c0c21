//! Files that appear whole or not at all.
//!
//! On Linux the new file has no name until it is complete and synced (`O_TMPFILE`), so that even
//! SIGKILL leaves nothing behind; elsewhere, and on file systems without that, it is a temporary
//! file next to the target. Replacing a file takes two steps on Linux, a link next to it and a
//! rename. The link is named by the number of its file, so that one left by a SIGKILL between the two
//! is known as such, and removed when a file next to it is replaced; no file of somebody else is.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
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
        // Otherwise it would be found out when there is something to name.
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
    let mut once = |file| fill(file, write.take().expect("called once"));
    write_by(path, existing, &mut once, &mut |_| Ok(()), None)
}

/// As [`write()`]; `write` gets the file itself, so that the system can copy parts of other files into it.
pub fn write_file(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<File> {
    let mut write = Some(write);
    let mut once = |file| {
        write.take().expect("called once")(&file)?;
        Ok(file)
    };
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
    let mut once = |file| fill(file, write.take().expect("called once"));
    let mut checked = |mut file: &File| {
        file.rewind().with_context(|| path.display().to_string())?;
        check.take().expect("called once")(file)
    };
    write_by(path, existing, &mut once, &mut checked, None)
}

/// As [`write()`], for a file with the permissions of `mode`.
pub fn write_with_mode(path: &Path, existing: Existing, mode: u32, bytes: &[u8]) -> Result<File> {
    let mut write = |file| fill(file, |out| Ok(out.write_all(bytes)?));
    let permissions = Permissions::from_mode(mode);
    write_by(path, existing, &mut write, &mut |_| Ok(()), Some(permissions))
}

/// As [`write_checked`]; calls each function once. A file that is replaced leaves its owner and its permissions, unless
/// others are given. Compiled once, and not for every caller.
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
        return write(file).with_context(|| path.display().to_string());
    }
    let dir = folder(&target);
    // Nobody else reads what replaces a private file, not even while it is written.
    let mode = if permissions.is_some() || before.is_some() { 0o600 } else { 0o666 };
    let context = || format!("{}: nothing was written", path.display());
    let mut complete = |file: File| {
        let file = write(file).with_context(context)?;
        let permissions = match (&permissions, &before) {
            (None, Some(before)) => Some(inherited(&file, before).with_context(context)?),
            (given, _) => given.clone(),
        };
        if let Some(permissions) = permissions {
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
    sync_folder_of(&target).with_context(|| {
        format!(
            "{}: was written, but its folder could not be synced: a crash of the system may bring the old file back",
            path.display()
        )
    })?;
    Ok(file)
}

/// Makes the name of a new file durable: to sync the file itself need not do that.
///
/// # Errors
/// Those of the system.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(folder(&target_of(path)))?.sync_all()
}

/// Gives `file` the owner of the file `before`, as far as we may, and returns the permissions to give it: the same, without
/// those to act as its owner, and for another group only what everybody may.
fn inherited(file: &File, before: &Metadata) -> io::Result<Permissions> {
    let (user, group) = (Some(before.uid()), Some(before.gid()));
    if fchown(file, user, group).is_err() {
        let _ = fchown(file, None, group);
    }
    let mode = before.mode() & 0o777;
    let same_group = file.metadata()?.gid() == before.gid();
    Ok(Permissions::from_mode(if same_group { mode } else { mode & !(!mode << 3 & 0o070) }))
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

/// Writes the content of a file, and gives it back.
type Fill<'a> = dyn FnMut(File) -> Result<File> + 'a;

fn fill(file: File, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<File> {
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
            // Somebody may put a named pipe or a link there meanwhile.
            let flags = (OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits();
            let open = || OpenOptions::new().read(true).custom_flags(flags).open(entry.path());
            if entry.metadata().is_ok_and(is_link)
                && let Ok(file) = open()
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    /// What replaces a file that only its owner may read.
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

    #[test]
    fn a_file_keeps_its_owner_and_loses_the_right_to_act_as_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        // Only the system's owner may give files away.
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
