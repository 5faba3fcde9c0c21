//! Files without a name, on Linux.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;
use tempfile::TempPath;

use super::BESIDE;
use super::unix::mode;

/// A file that has no name yet, where the system can do that.
pub(super) fn make(folder: &Path, private: bool) -> Option<File> {
    // Naming goes through /proc.
    if !Path::new("/proc/self/fd").is_dir() {
        return None;
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .mode(mode(private))
        .custom_flags(OFlag::O_TMPFILE.bits())
        .open(folder)
        .ok()
}

/// Gives such a file a name.
pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
    let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(linkat(AT_FDCWD, &open, AT_FDCWD, name, AtFlags::AT_SYMLINK_FOLLOW)?)
}

/// Gives a locked one a name next to the target.
pub(super) fn link_beside(file: &File, target: &Path) -> io::Result<TempPath> {
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    remove_orphans(folder);
    let prefix = format!("{BESIDE}{:x}-", file.metadata()?.ino());
    let linked = tempfile::Builder::new().prefix(&prefix).make_in(folder, |name| link(file, name));
    Ok(linked?.into_temp_path())
}

/// Removes links in a folder left behind by dead processes. Links that cannot be removed stay.
fn remove_orphans(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(BESIDE)?.split_once('-'));
        let Some(number) = number.and_then(|(hex, _)| u64::from_str_radix(hex, 16).ok()) else {
            continue;
        };
        // A copy, or another program's file of that name, has another number.
        let is_link = |meta: Metadata| meta.is_file() && meta.ino() == number;
        // Meanwhile a named pipe or a link may have been put there.
        let flags = (OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits();
        let open = || OpenOptions::new().read(true).custom_flags(flags).open(entry.path());
        if entry.metadata().is_ok_and(is_link)
            && let Ok(file) = open()
            && file.try_lock().is_ok()
        {
            // If it was renamed in the meantime, the name is free and nothing is removed.
            let _ = fs::remove_file(entry.path());
        }
    }
}
