//! Files that only their owner may read: secrets.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes a new file with mode 0600. One that exists is never replaced: filters made with a lost secret answer nobody.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = || path.display().to_string();
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{}: already exists, and a secret is never replaced; name another file", name())
        }
        file => file.with_context(name)?,
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(fs::remove_file(path))).with_context(name)
}

/// Replaces a file by another one with mode 0600, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = || path.display().to_string();
    // Through a link, the file it leads to is replaced.
    let path = &fs::canonicalize(path).with_context(name)?;
    let mut new = path.clone().into_os_string();
    new.push(".new");
    let new = Path::new(&new);
    // Left by a run that was killed.
    let _ = fs::remove_file(new);
    write_new(new, bytes)?;
    fs::rename(new, path).with_context(name)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(name)
}
