//! Files that only their owner may read: secrets.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use umbel_io::Access;

use crate::atomic::{self, Existing};
use crate::report::say;

/// Reads a secret. A warning says so if others than its owner may read or change the file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    let mut file = File::open(path).with_context(name)?;
    let meta = file.metadata().with_context(name)?;
    // The mode of a pipe, such as a shell's <(…), is meaningless.
    if let Some(what) = umbel_io::others_may(&meta).filter(|_| meta.is_file()) {
        say(&format!(
            "umbel: warning: {0}: other users may {what} this secret; if they did, make a new one; otherwise: chmod 600 {0}",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(name)?;
    Ok(bytes)
}

/// Writes the text of a secret to a new file with mode 0600. One that exists is never replaced: filters made with a lost
/// secret answer nobody.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<()> {
    check_new(path)?;
    let text = format!("{text}\n");
    atomic::write_for(path, Existing::Keep, Access::private(), text.as_bytes()).map(drop)
}

/// Writes the text of a new secret, and to a second file what others get of it: both, or after an error neither.
pub(crate) fn write_pair(path: &Path, text: &str, public: &Path, shown: &str) -> Result<()> {
    let whole = public.exists();
    check_new(path).map_err(|error| match whole {
        true => error,
        false => anyhow!(
            "{error}; or remove it, if a run was interrupted before it wrote {}",
            public.display()
        ),
    })?;
    check_new(public)?;
    write_new(path, text)?;
    // Half a key pair is useless, and would be in the way.
    atomic::write(public, Existing::Keep, |out| Ok(writeln!(out, "{shown}")?))
        .map(drop)
        .inspect_err(|_| drop(fs::remove_file(path)))
}

/// Refuses a file that exists, or cannot be made.
pub(crate) fn check_new(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        bail!(
            "{}: already exists, and secrets and keys are never replaced; name another file",
            path.display()
        );
    }
    atomic::check_target(path, Existing::Keep)
}
