//! Files that only their owner may read: secrets.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::atomic::{self, Existing};

/// Writes a new file with mode 0600. One that exists is never replaced: filters made with a lost secret answer nobody.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    check_new(path)?;
    atomic::write_private(path, Existing::Keep, bytes)
}

/// Refuses a file that exists, or cannot be made.
pub(crate) fn check_new(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        bail!(
            "{}: already exists, and a secret, like what goes with it, is never replaced; name another file",
            path.display()
        );
    }
    atomic::check_target(path, Existing::Keep)
}
