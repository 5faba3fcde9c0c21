//! Files that only their owner may read: secrets.

use std::fs::{self, OpenOptions};
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
